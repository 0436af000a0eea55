/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Knowing when memory goes away: munmap, mremap, madvise, shmdt, brk and whatever else ends
 * what an address means, called by the application or from inside of malloc and free.
 *
 * The events are those of UCX's libucm, which patches the functions of the C library. With
 * libucm 1.13.1 and glibc 2.36, under MPICH and Open MPI as well as without an MPI, these
 * were seen (test_mem_events.cc has them as a table): munmap; mmap over something; mremap,
 * for the old place; madvise with DONTNEED, FREE and REMOVE; shmdt; shmat over something;
 * sbrk and brk; free, realloc and malloc_trim, as far as they unmap; and ends of threads.
 *
 * Not seen, and so not to be relied upon:
 *   - what an mremap with MREMAP_FIXED replaces, as libucm drops that address (and breaks
 *     the call);
 *   - a hole punched into a mapped file or a file made shorter: fallocate, ftruncate;
 *   - system calls that are made without the C library.
 */
#ifndef RI_MEM_EVENTS_H
#define RI_MEM_EVENTS_H

#include "../../../ucs/base.h"

/**
 * Something that was at @a start to @a end (not included) goes, or something new is there.
 *
 * Called by the thread that does it, inside of it: before old memory goes (after it, in brk
 * where Open MPI's own hooks are in use), and before the address of new memory is known to
 * the caller. The thread may hold locks of malloc: the function must neither use malloc or
 * free nor map or unmap memory, nor wait for a thread that may.
 */
typedef void (*ri_mem_events_func_t)(uintptr_t start, uintptr_t end, void *arg);

/* Somebody who wants to know. */
typedef struct ri_mem_events {
    ri_mem_events_func_t func;
    void *arg;
    int mask; /* the events of libucm that it has */

    /* The range that @ref ri_mem_events_start tries out, and how often it was in an event. */
    _Atomic(uintptr_t) probe_start;
    _Atomic(uintptr_t) probe_end;
    _Atomic(unsigned) probe_seen;
} ri_mem_events_t;

/**
 * Have @a func called from now on, until ri_mem_events_stop(); @a events stays in its place until
 * then. It is tried out whether all events really come.
 *
 * @return UCS_OK; UCS_ERR_UNSUPPORTED if some events do not come here, with the reason logged as a
 *         warning: nothing about memory can be known then, and @a func is not called any more.
 */
ucs_status_t ri_mem_events_start(ri_mem_events_t *events, ri_mem_events_func_t func,
                                 void *arg);

/** Have the function of @a events called no more; nothing is done if ri_mem_events_start() was not
 * called or has failed, or this was called before. When this returns, no call of the function is
 * under way. Not to be called by the function itself. */
void ri_mem_events_stop(ri_mem_events_t *events);

#endif
