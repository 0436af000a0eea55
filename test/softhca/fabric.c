/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The directory and the own segment; messages are in peers.c. A process is known by its number and
 * the time when it began. It counts as dead if /proc has no such process, or a zombie, and whoever
 * joins or leaves removes what the dead have left. A segment is a sparse file: its owner allocates
 * the head, and each sender the ring that it writes to, so that a full /dev/shm is an error and not
 * a SIGBUS later. The right to execute an atomic is a word in the directory, which is taken from an
 * owner that is dead.
 */
#include "fabric.h"
#include "counters.h"
#include "settings.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FABRIC_DIR "/dev/shm"

static sh_directory_t *fabric_directory;
static sh_inbox_t *fabric_inbox; /* and the rings behind it */
static unsigned fabric_slot;
static uint32_t fabric_generation; /* never read back from shared memory */

static void fabric_name(char *name, size_t size, int slot)
{
    if (slot < 0) {
        snprintf(name, size, FABRIC_DIR "/softhca.%s.%u", sh_settings.fabric,
                 (unsigned)getuid());
    } else {
        snprintf(name, size, FABRIC_DIR "/softhca.%s.%u.%d", sh_settings.fabric,
                 (unsigned)getuid(), slot);
    }
}

void *sh_fabric_map(unsigned slot, size_t offset, size_t size)
{
    char name[128];
    struct stat st;
    void *memory = MAP_FAILED;
    int fd;

    fabric_name(name, sizeof(name), (int)slot);
    fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return NULL;
    }
    if (!fstat(fd, &st) && ((size_t)st.st_size == SH_SEGMENT_SIZE)) {
        /* Memory that is not there would be a SIGBUS at some later time */
        if (posix_fallocate(fd, (off_t)offset, (off_t)size)) {
            fprintf(stderr, "softhca: no space left in " FABRIC_DIR "\n");
        } else {
            memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                          (off_t)offset);
        }
    }
    close(fd);
    return (memory == MAP_FAILED) ? NULL : memory;
}

/* When the process began, in clock ticks since boot; 0 if it has ended. */
static uint64_t fabric_start_time(pid_t pid)
{
    char name[64], text[1024], *field;
    unsigned long long start = 0;
    char state;
    ssize_t length;
    int fd;

    snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    length = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (length <= 0) {
        return 0;
    }
    text[length] = 0;
    /* The second field is the program's name, in which anything can be */
    field = strrchr(text, ')');
    if ((field == NULL) ||
        (sscanf(field + 1,
                " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                "%*d %llu",
                &state, &start) != 2) ||
        (state == 'Z') || (state == 'X')) {
        return 0;
    }
    return start;
}

static int fabric_slot_alive(const sh_slot_t *slot)
{
    return (slot->pid != 0) && (slot->start_time != 0) &&
           (fabric_start_time((pid_t)slot->pid) == slot->start_time);
}

/* Open the directory's file and lock it. @return The file, or -1. */
static int fabric_lock(void)
{
    char name[128];
    struct stat opened, named;
    int fd;

    fabric_name(name, sizeof(name), -1);
    for (;;) {
        fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) {
            return -1;
        }
        while (flock(fd, LOCK_EX)) {
            if (errno != EINTR) {
                close(fd);
                return -1;
            }
        }
        /* The last process may have removed it in between */
        if (!fstat(fd, &opened) && !stat(name, &named) &&
            (opened.st_ino == named.st_ino)) {
            return fd;
        }
        close(fd);
    }
}

/* Closing is not enough: a mapping keeps what the lock is bound to. */
static void fabric_unlock(int fd)
{
    flock(fd, LOCK_UN);
    close(fd);
}

static int fabric_map_directory(int fd)
{
    struct stat st;
    void *memory;

    if (fstat(fd, &st)) {
        return errno;
    }
    if ((st.st_size != 0) && ((size_t)st.st_size != sizeof(sh_directory_t))) {
        fprintf(stderr, "softhca: another version uses fabric %s\n", sh_settings.fabric);
        return EPROTO;
    }
    if (posix_fallocate(fd, 0, sizeof(sh_directory_t))) {
        return ENOSPC;
    }
    memory = mmap(NULL, sizeof(sh_directory_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                  0);
    if (memory == MAP_FAILED) {
        return errno;
    }
    fabric_directory = memory;
    if (fabric_directory->magic == 0) {
        fabric_directory->magic   = SH_MAGIC;
        fabric_directory->version = SH_VERSION;
    }
    if ((fabric_directory->magic != SH_MAGIC) ||
        (fabric_directory->version != SH_VERSION)) {
        munmap(memory, sizeof(sh_directory_t));
        fabric_directory = NULL;
        return EPROTO;
    }
    return 0;
}

/* Free the slots of dead processes. @return The number of living ones. */
static unsigned fabric_clean(void)
{
    char name[128];
    unsigned slot, alive = 0;

    for (slot = 0; slot < SH_MAX_PROCS; ++slot) {
        if (fabric_directory->slots[slot].pid == 0) {
            continue;
        }
        if (fabric_slot_alive(&fabric_directory->slots[slot])) {
            ++alive;
            continue;
        }
        fabric_name(name, sizeof(name), (int)slot);
        unlink(name);
        __atomic_store_n(&fabric_directory->slots[slot].pid, 0, __ATOMIC_RELEASE);
    }
    return alive;
}

/* Make the own segment. Slots are taken in turn, so that numbers of QPs come back late. */
static int fabric_take_slot(void)
{
    unsigned i, slot = SH_MAX_PROCS;
    char name[128];
    void *memory;
    int fd;

    for (i = 0; (i < SH_MAX_PROCS) && (slot == SH_MAX_PROCS); ++i) {
        slot = (fabric_directory->next_slot + i) % SH_MAX_PROCS;
        if (fabric_directory->slots[slot].pid != 0) {
            slot = SH_MAX_PROCS;
        }
    }
    if (slot == SH_MAX_PROCS) {
        return EAGAIN;
    }
    fabric_name(name, sizeof(name), (int)slot);
    unlink(name);
    fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return errno;
    }
    if (ftruncate(fd, SH_SEGMENT_SIZE) || posix_fallocate(fd, 0, sizeof(sh_inbox_t))) {
        close(fd);
        unlink(name);
        return ENOSPC;
    }
    memory = mmap(NULL, SH_SEGMENT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) {
        unlink(name);
        return ENOMEM;
    }
    fabric_slot           = slot;
    fabric_inbox          = memory;
    fabric_inbox->magic   = SH_MAGIC;
    fabric_inbox->version = SH_VERSION;
    do { /* 0 is nobody's */
        fabric_generation = ++fabric_directory->last_generation;
    } while (fabric_generation == 0);
    fabric_inbox->generation = fabric_generation;

    fabric_directory->next_slot              = (slot + 1) % SH_MAX_PROCS;
    fabric_directory->slots[slot].generation = fabric_inbox->generation;
    fabric_directory->slots[slot].start_time = fabric_start_time(getpid());
    __atomic_store_n(&fabric_directory->slots[slot].pid, (uint32_t)getpid(),
                     __ATOMIC_RELEASE);
    return 0;
}

int sh_fabric_attach(void)
{
    int fd, error;

    fd = fabric_lock();
    if (fd < 0) {
        return errno;
    }
    error = fabric_map_directory(fd);
    if (!error) {
        fabric_clean();
        error = fabric_take_slot();
        if (error) {
            munmap(fabric_directory, sizeof(*fabric_directory));
            fabric_directory = NULL;
        }
    }
    fabric_unlock(fd);
    if (!error) {
#ifdef PR_SET_PTRACER
        /* Where Yama restricts access to the memory of other processes, they may have it */
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
        sh_peers_init();
    }
    return error;
}

void sh_fabric_leave(void)
{
    char name[128];
    int fd = fabric_lock();

    fabric_name(name, sizeof(name), (int)fabric_slot);
    unlink(name);
    __atomic_store_n(&fabric_directory->slots[fabric_slot].pid, 0, __ATOMIC_RELEASE);
    if (fd < 0) {
        return;
    }
    if (fabric_clean() == 0) {
        fabric_name(name, sizeof(name), -1);
        unlink(name);
    }
    fabric_unlock(fd);
}

void sh_fabric_detach(int forked)
{
    if (fabric_directory == NULL) {
        return;
    }
    if (!forked) {
        sh_fabric_leave();
    }
    sh_peers_cleanup(forked);
    munmap(fabric_inbox, SH_SEGMENT_SIZE);
    munmap(fabric_directory, sizeof(*fabric_directory));
    fabric_inbox     = NULL;
    fabric_directory = NULL;
}

unsigned sh_fabric_slot(void)
{
    return fabric_slot;
}

sh_inbox_t *sh_fabric_inbox(void)
{
    return fabric_inbox;
}

uint32_t sh_fabric_generation(unsigned slot)
{
    const sh_slot_t *entry = &fabric_directory->slots[slot];

    if (__atomic_load_n(&entry->pid, __ATOMIC_ACQUIRE) == 0) {
        return 0;
    }
    return __atomic_load_n(&entry->generation, __ATOMIC_RELAXED);
}

uint32_t sh_fabric_last_generation(unsigned slot)
{
    return __atomic_load_n(&fabric_directory->slots[slot].generation, __ATOMIC_RELAXED);
}

pid_t sh_fabric_pid(unsigned slot)
{
    return (pid_t)__atomic_load_n(&fabric_directory->slots[slot].pid, __ATOMIC_ACQUIRE);
}

int sh_fabric_alive(unsigned slot, uint32_t generation)
{
    return (generation != 0) && (sh_fabric_generation(slot) == generation) &&
           fabric_slot_alive(&fabric_directory->slots[slot]);
}

/* @return Whether a process with this generation lives, another one than this. Another process may
 * have its slot by now, so all of them are looked at. */
static int fabric_lives(uint32_t generation)
{
    unsigned slot;

    for (slot = 0; slot < SH_MAX_PROCS; ++slot) {
        if ((slot != fabric_slot) && sh_fabric_alive(slot, generation)) {
            return 1;
        }
    }
    return 0;
}

void sh_fabric_atomic_lock(void)
{
    uint32_t *word = &fabric_directory->atomic_owner;
    uint32_t owner;
    unsigned tries = 0;

    for (;;) {
        owner = 0;
        if (__atomic_compare_exchange_n(word, &owner, fabric_generation, 0,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            return;
        }
        sh_sleep_ns(2000);
        /* The owner may have been killed */
        if (((++tries % 1000) == 0) && !fabric_lives(owner)) {
            __atomic_compare_exchange_n(word, &owner, 0, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED);
        }
    }
}

void sh_fabric_atomic_unlock(void)
{
    __atomic_store_n(&fabric_directory->atomic_owner, 0, __ATOMIC_RELEASE);
}
