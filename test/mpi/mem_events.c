/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whether UCX's libucm notices in an MPI process that memory goes away, from inside of the
 * MPI and of malloc as well: what the library's registration cache depends on.
 *
 * Run: mpiexec -n 1 mem_events
 *
 * Each rank looks for itself. There is no message.
 */

/* MAP_ANONYMOUS, madvise */
#define _GNU_SOURCE

#include "mpitest.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

/* Of ucm/api/ucm.h, which this program does not need to be built */
enum {
    VM_MAPPED   = 1 << 16,
    VM_UNMAPPED = 1 << 17
};
typedef union {
    struct {
        void *address;
        size_t size;
    } vm;
    char space[256];
} ucm_event;
typedef void (*ucm_handler)(int type, ucm_event *event, void *arg);

enum {
    LENGTH = 1 << 20,
    BLOCKS = 100
};

/* The range that is looked for, and whether one event had all of it */
static volatile uintptr_t from, to;
static atomic_int seen;

/* Must not use malloc */
static void handle(int type, ucm_event *event, void *arg)
{
    uintptr_t start = (uintptr_t)event->vm.address;

    (void)arg;
    if ((type == VM_UNMAPPED) && (start <= from) && (start + event->vm.size >= to)) {
        seen = 1;
    }
}

static void expect(const void *address, size_t length)
{
    from = (uintptr_t)address;
    to   = from + length;
    seen = 0;
}

static void check(const char *what)
{
    mt_stage("%s", what);
    if (!seen) {
        mt_fail("libucm does not notice %s", what);
    }
}

static char *map(size_t length)
{
    char *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                   0);

    if (p == MAP_FAILED) {
        mt_fail("no memory");
    }
    memset(p, 1, length);
    return p;
}

static void calls(void)
{
    char *p = map(2 * LENGTH), *q;
    int id  = shmget(IPC_PRIVATE, LENGTH, IPC_CREAT | 0600);

    expect(p, 2 * LENGTH);
    mmap(p, 2 * LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
         -1, 0);
    check("mmap over something");
    expect(p, 2 * LENGTH);
    madvise(p, 2 * LENGTH, MADV_DONTNEED);
    check("madvise DONTNEED");
    expect(p, 2 * LENGTH);
    madvise(p, 2 * LENGTH, MADV_FREE);
    check("madvise FREE");
    expect(p + LENGTH, LENGTH);
    mremap(p, 2 * LENGTH, LENGTH, 0);
    check("mremap that shortens");
    expect(p, LENGTH);
    q = mremap(p, LENGTH, 64 * LENGTH, MREMAP_MAYMOVE);
    check("mremap that moves");
    expect(q, 64 * LENGTH);
    munmap(q, 64 * LENGTH);
    check("munmap");

    p = (id < 0) ? NULL : shmat(id, NULL, 0);
    if ((p != NULL) && (p != (void *)-1)) {
        expect(p, LENGTH);
        shmdt(p);
        check("shmdt");
    }
    if (id >= 0) {
        shmctl(id, IPC_RMID, NULL);
    }
}

/* What the C library does by itself; its malloc may be another one, which does not. */
static void blocks(void)
{
    char *volatile p = mt_alloc(64 * LENGTH);
    char *volatile keep;
    char *all[BLOCKS];
    uintptr_t page;

    memset(p, 1, 64 * LENGTH);
    expect(p, 64 * LENGTH);
    p = realloc(p, 80 * LENGTH);
    check("realloc of a large block");
    expect(p, 80 * LENGTH);
    free(p);
    check("free of a large block");

    for (int i = 0; i < BLOCKS; i++) {
        all[i] = mt_alloc(100000);
        memset(all[i], 1, 100000);
    }
    keep = mt_alloc(64);
    page = ((uintptr_t)all[BLOCKS / 2] + 4096) & ~(uintptr_t)4095;
    expect((void *)page, 4096);
    for (int i = 0; i < BLOCKS; i++) {
        free(all[i]);
    }
    malloc_trim(0);
    check("malloc_trim");
    free(keep);
}

int main(int argc, char **argv)
{
    int (*set)(int events, int priority, ucm_handler handler, void *arg);
    void (*unset)(int events, ucm_handler handler, void *arg);
    int events = VM_UNMAPPED | VM_MAPPED;
    void *ucm;

    mt_start(&argc, &argv, "mem_events",
             "libucm's events of memory that goes away, in an MPI process", NULL, 0,
             MPI_THREAD_SINGLE, 1);
    ucm = dlopen("libucm.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (ucm == NULL) {
        mt_skip("this MPI does not use UCX here");
    }
    *(void **)&set   = dlsym(ucm, "ucm_set_event_handler");
    *(void **)&unset = dlsym(ucm, "ucm_unset_event_handler");
    if ((set == NULL) || (unset == NULL)) {
        mt_fail("libucm has no ucm_set_event_handler");
    }
    if (set(events, 1000, handle, NULL) != 0) {
        events = VM_UNMAPPED; /* all there is if Open MPI's own hooks are in use */
        if (set(events, 1000, handle, NULL) != 0) {
            mt_fail("libucm has no events here");
        }
    }
    calls();
    blocks();
    unset(events, handle, NULL);
    return mt_pass("%s", (events & VM_MAPPED) ? "" : "no events of new memory");
}
