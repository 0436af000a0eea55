/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Pages are held by io_uring, which pins the buffers that are registered with it, for long and as
 * drivers of adapters do: the kernel neither moves nor merges such pages, and a fork leaves them to
 * the parent. It takes memory that can be written, and not every file's. All other memory is held
 * by a pipe into which it was spliced; a fork may take such a page away from its parent when that
 * writes to it, but what is held so is only read, or a file's.
 *
 * The system's calls are made directly: where the program watches its memory (as UCX does), the C
 * library's would tell it, in the middle of its own registration.
 */
#include "pages.h"

#include "counters.h"
#include "settings.h"
#include "util.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGES_SLOTS      16384       /* buffers of a ring, as many as there may be */
#define PAGES_BUFFER     (1UL << 30) /* and the longest one */
#define PAGES_PRESENT    (1UL << 63)
#define PAGES_SWAPPED    (1UL << 62) /* or on the way to another place */
#define PAGES_FRAME      ((1UL << 55) - 1)
#define PAGES_CHUNK      512
#define PAGES_REPORTS    10
#define PAGES_WRONG_BYTE 0xdb /* what is read where the program has nothing any more */

struct sh_pages {
    size_t size; /* of this */
    uintptr_t begin;
    size_t count;
    int slot; /* of the ring; -1: none */
    unsigned num_slots;
    int pipe; /* that holds them; -1: none */
    pthread_mutex_t lock;
    void *other; /* in place of memory with other pages */
    uint64_t frames[];
};

static struct {
    int on;
    int map;  /* /proc/self/pagemap */
    int ring; /* -1: there is none */
    pthread_mutex_t lock;
    uint8_t used[PAGES_SLOTS];
    unsigned next;
    unsigned reports;
} pages = {.map = -1, .ring = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static void *pages_map(size_t size)
{
    long memory = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return (memory == -1) ? NULL : (void *)memory;
}

static void pages_unmap(void *memory, size_t size)
{
    if (memory != NULL) {
        syscall(SYS_munmap, memory, size);
    }
}

/* Read entries of the map. @return 0, or -1. */
static int pages_entries(uintptr_t begin, size_t count, uint64_t *entries)
{
    ssize_t size = (ssize_t)(count * sizeof(*entries));

    return (pread(pages.map, entries, (size_t)size,
                  (off_t)(begin / SH_PAGE * sizeof(*entries))) == size) ?
                   0 :
                   -1;
}

/* A ring whose table of buffers is empty. @return -1: there is none. */
static int pages_ring(void)
{
    struct io_uring_params params       = {0};
    struct io_uring_rsrc_register table = {.nr    = PAGES_SLOTS,
                                           .flags = IORING_RSRC_REGISTER_SPARSE};
    int ring                            = (int)syscall(SYS_io_uring_setup, 1, &params);

    if ((ring >= 0) && (syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS2,
                                &table, sizeof(table)) != 0)) {
        close(ring);
        ring = -1;
    }
    return ring;
}

/* @return Why pages cannot be compared, or NULL: they can. */
static const char *pages_open(void)
{
    static volatile char here;
    uint64_t entry;

    here      = 1;
    pages.map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if ((pages.map < 0) || pages_entries((uintptr_t)&here, 1, &entry)) {
        return "/proc/self/pagemap cannot be read";
    }
    if (!(entry & PAGES_FRAME)) {
        return "/proc/self/pagemap shows numbers of pages to CAP_SYS_ADMIN only";
    }
    pages.ring = pages_ring();
    return (pages.ring < 0) ? "io_uring is forbidden, or older than that of Linux 5.19" :
                              NULL;
}

void sh_pages_start(void)
{
    const char *reason;

    if (!sh_settings.check_pages) {
        return;
    }
    reason = pages_open();
    if (reason != NULL) {
        fprintf(stderr, "softhca: pages are not compared: %s\n", reason);
        sh_pages_stop();
    }
    pages.on = (reason == NULL);
}

void sh_pages_stop(void)
{
    if (pages.map >= 0) {
        close(pages.map);
    }
    if (pages.ring >= 0) {
        close(pages.ring);
    }
    memset(&pages, 0, sizeof(pages));
    pages.map = pages.ring = -1;
    pthread_mutex_init(&pages.lock, NULL);
}

/* Take slots that follow each other. @return The first one, or -1: there are none. */
static int pages_take_slots(unsigned count)
{
    unsigned i, run = 0;
    int first = -1;

    pthread_mutex_lock(&pages.lock);
    for (i = 0; (i < 2 * PAGES_SLOTS) && (run < count); ++i) {
        unsigned slot = (pages.next + i) % PAGES_SLOTS;

        run   = pages.used[slot] ? 0 : ((slot == 0) ? 1 : run + 1);
        first = (int)(slot + 1 - run);
    }
    if (run < count) {
        first = -1;
    } else {
        memset(&pages.used[first], 1, count);
        pages.next = (unsigned)first + count;
    }
    pthread_mutex_unlock(&pages.lock);
    return first;
}

/* Fill slots with pieces of memory, or with none. @return 0, or an errno value. */
static int pages_update(unsigned slot, unsigned count, uintptr_t begin, size_t length)
{
    struct io_uring_rsrc_update2 update = {0};
    struct iovec piece                  = {0};
    unsigned i;
    long done;

    for (i = 0; i < count; ++i) {
        piece.iov_len  = sh_min(length, PAGES_BUFFER);
        piece.iov_base = (piece.iov_len == 0) ? NULL : (void *)begin;
        begin += piece.iov_len;
        length -= piece.iov_len;
        update.offset = slot + i;
        update.data   = (uintptr_t)&piece;
        update.nr     = 1;
        done = syscall(SYS_io_uring_register, pages.ring, IORING_REGISTER_BUFFERS_UPDATE,
                       &update, sizeof(update));
        if (done != 1) {
            return (done < 0) ? errno : EFAULT;
        }
    }
    return 0;
}

static void pages_free_slots(sh_pages_t *held)
{
    pages_update((unsigned)held->slot, held->num_slots, 0, 0);
    pthread_mutex_lock(&pages.lock);
    memset(&pages.used[held->slot], 0, held->num_slots);
    pthread_mutex_unlock(&pages.lock);
    held->slot = -1;
}

/* @return 0, or an errno value. */
static int pages_hold_by_ring(sh_pages_t *held)
{
    size_t length = held->count * SH_PAGE;
    int error;

    held->num_slots = (unsigned)((length + PAGES_BUFFER - 1) / PAGES_BUFFER);
    held->slot      = pages_take_slots(held->num_slots);
    if (held->slot < 0) {
        return ENOSPC;
    }
    error = pages_update((unsigned)held->slot, held->num_slots, held->begin, length);
    if (error) {
        pages_free_slots(held);
    }
    return error;
}

/* @return 0, or an errno value. */
static int pages_hold_by_pipe(sh_pages_t *held)
{
    struct iovec rest = {(void *)held->begin, held->count * SH_PAGE};
    ssize_t done      = 1;
    int ends[2];

    if ((rest.iov_len > INT32_MAX) || pipe2(ends, O_CLOEXEC)) {
        return ENOSPC;
    }
    if (fcntl(ends[1], F_SETPIPE_SZ, (int)rest.iov_len) >= (int)rest.iov_len) {
        while ((rest.iov_len > 0) && (done > 0)) {
            done          = vmsplice(ends[1], &rest, 1, SPLICE_F_NONBLOCK);
            rest.iov_base = (char *)rest.iov_base + sh_max(done, 0);
            rest.iov_len -= (size_t)sh_max(done, 0);
        }
    }
    close(ends[1]);
    if (rest.iov_len > 0) {
        close(ends[0]);
        return ENOSPC;
    }
    held->pipe = ends[0];
    return 0;
}

/* @return 0, or -1: some are not to be known. */
static int pages_take_down(sh_pages_t *held)
{
    size_t i;

    if (pages_entries(held->begin, held->count, held->frames)) {
        return -1;
    }
    for (i = 0; i < held->count; ++i) {
        if (!(held->frames[i] & PAGES_PRESENT)) {
            return -1;
        }
        held->frames[i] &= PAGES_FRAME;
    }
    return 0;
}

int sh_pages_hold(void *addr, size_t length, sh_pages_t **result)
{
    uintptr_t begin = (uintptr_t)addr & ~(uintptr_t)(SH_PAGE - 1);
    size_t count    = ((uintptr_t)addr + length - begin + SH_PAGE - 1) / SH_PAGE;
    size_t size     = sizeof(sh_pages_t) + count * sizeof(uint64_t);
    sh_pages_t *held;
    int error;

    *result = NULL;
    if (!pages.on || (length == 0)) {
        return 0;
    }
    held = pages_map(size);
    if (held == NULL) {
        return ENOMEM;
    }
    held->size  = size;
    held->begin = begin;
    held->count = count;
    held->slot = held->pipe = -1;
    pthread_mutex_init(&held->lock, NULL);
    error = pages_hold_by_ring(held);
    if (error == ENOMEM) {
        pages_unmap(held, size);
        return ENOMEM; /* the limit of locked memory, as with adapters */
    }
    if (error) {
        error = pages_hold_by_pipe(held);
    }
    if (error || pages_take_down(held)) {
        sh_count(page_unknown, 1);
        sh_pages_release(held, 1);
        return 0;
    }
    *result = held;
    return 0;
}

void sh_pages_release(sh_pages_t *held, int own)
{
    if (held == NULL) {
        return;
    }
    if (own && (held->slot >= 0)) {
        pages_free_slots(held);
    }
    if (held->pipe >= 0) {
        close(held->pipe);
    }
    pages_unmap(held->other, held->count * SH_PAGE);
    pages_unmap(held, held->size);
}

/* A page that is not there may be on the way to another place, for which a page that is held does
 * not go, or be taken out of the table for a while. @return Whether it is the one. */
static int pages_is_same(uintptr_t page, uint64_t frame, uint64_t entry)
{
    struct iovec byte, here = {(void *)page, 1};
    char buffer;

    if (!(entry & PAGES_PRESENT) && (entry & PAGES_SWAPPED)) {
        byte = (struct iovec){&buffer, 1};
        if ((process_vm_readv(getpid(), &byte, 1, &here, 1, 0) != 1) ||
            pages_entries(page, 1, &entry)) {
            return 0;
        }
    }
    return (entry & PAGES_PRESENT) && ((entry & PAGES_FRAME) == frame);
}

/* @return The first page that is another one, or 0. */
static uintptr_t pages_find_other(const sh_pages_t *held, size_t first, size_t count)
{
    uint64_t entries[PAGES_CHUNK];
    size_t i, part;

    for (; count > 0; first += part, count -= part) {
        uintptr_t begin = held->begin + first * SH_PAGE;

        part = sh_min(count, PAGES_CHUNK);
        if (pages_entries(begin, part, entries)) {
            return begin;
        }
        for (i = 0; i < part; ++i) {
            if (!pages_is_same(begin + i * SH_PAGE, held->frames[first + i],
                               entries[i])) {
                return begin + i * SH_PAGE;
            }
        }
    }
    return 0;
}

/* @return Memory of the region's own, or NULL without memory. */
static char *pages_other(sh_pages_t *held)
{
    pthread_mutex_lock(&held->lock);
    if (held->other == NULL) {
        held->other = pages_map(held->count * SH_PAGE);
        if (held->other != NULL) {
            memset(held->other, PAGES_WRONG_BYTE, held->count * SH_PAGE);
        }
    }
    pthread_mutex_unlock(&held->lock);
    return held->other;
}

void *sh_pages_check(sh_pages_t *held, void *memory, size_t length)
{
    size_t offset = (uintptr_t)memory - held->begin;
    uintptr_t page;
    char *other;

    if (length == 0) {
        return memory;
    }
    sh_count(page_checks, 1);
    page = pages_find_other(held, offset / SH_PAGE,
                            (offset + length - 1) / SH_PAGE - offset / SH_PAGE + 1);
    if (page == 0) {
        return memory;
    }
    sh_count(page_stale, 1);
    if (__atomic_add_fetch(&pages.reports, 1, __ATOMIC_RELAXED) <= PAGES_REPORTS) {
        fprintf(stderr,
                "softhca: stale registration in process %d: %zu bytes at %p, of a region "
                "of %zu pages at %p; the page at %p is not the one that was registered\n",
                (int)getpid(), length, memory, held->count, (void *)held->begin,
                (void *)page);
    }
    other = pages_other(held);
    return (other == NULL) ? memory : other + offset;
}
