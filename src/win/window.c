/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of windows, which is short and is read without a lock. Then what a wait does.
 */
#include "window.h"
#include "../ucs/log.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* A wait that is over at once needs no more than looking. Then there is a pause after
 * every WAIT_LOOKS looks. The processor is given away in every fourth pause, which costs nothing if
 * no one else wants it. */
#define WAIT_LOOKS 200
#define WAIT_PAUSE 16
#define WAIT_YIELD 4

/* How often it is looked whether the other ranks live; ns. */
#define WAIT_LIVES UINT64_C(100000000)

/* An entry of the list, which is never freed: any thread may be reading it. The window is NULL if
 * the entry is free. */
typedef struct window_entry {
    _Atomic(MPI_Win) handle;
    _Atomic(ri_window_t *) window;
    struct window_entry *next;
} window_entry_t;

static _Atomic(window_entry_t *) windows;
static pthread_mutex_t windows_lock = PTHREAD_MUTEX_INITIALIZER;

ri_window_t *ri_window_find(MPI_Win handle)
{
    window_entry_t *entry = atomic_load_explicit(&windows, memory_order_acquire);

    while ((entry != NULL) &&
           (atomic_load_explicit(&entry->handle, memory_order_acquire) != handle)) {
        entry = entry->next;
    }
    return (entry == NULL) ? NULL :
                             atomic_load_explicit(&entry->window, memory_order_relaxed);
}

int ri_window_add(ri_window_t *window)
{
    window_entry_t *entry;

    pthread_mutex_lock(&windows_lock);
    entry = atomic_load_explicit(&windows, memory_order_relaxed);
    while ((entry != NULL) && (entry->window != NULL)) {
        entry = entry->next;
    }
    if (entry == NULL) {
        entry = calloc(1, sizeof(*entry));
        if (entry != NULL) {
            entry->handle = MPI_WIN_NULL;
            entry->next   = atomic_load_explicit(&windows, memory_order_relaxed);
            atomic_store_explicit(&windows, entry, memory_order_release);
        }
    }
    if (entry != NULL) {
        atomic_store_explicit(&entry->window, window, memory_order_relaxed);
        atomic_store_explicit(&entry->handle, window->handle, memory_order_release);
    }
    pthread_mutex_unlock(&windows_lock);
    return entry != NULL;
}

void ri_window_remove(ri_window_t *window)
{
    window_entry_t *entry;

    pthread_mutex_lock(&windows_lock);
    entry = atomic_load_explicit(&windows, memory_order_relaxed);
    while (entry->window != window) {
        entry = entry->next;
    }
    atomic_store(&entry->handle, MPI_WIN_NULL);
    atomic_store(&entry->window, NULL);
    pthread_mutex_unlock(&windows_lock);
}

int ri_window_has(void *arg, uint64_t address, size_t length)
{
    ri_window_t *window          = arg;
    const ri_window_part_t *part = &window->parts[window->rank];
    uint64_t base                = (uintptr_t)part->base;
    size_t size                  = (size_t)part->size;

    if (window->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        return ri_attached_has(&window->attached, address, length);
    }
    return (address >= base) && (length <= size) && (address - base <= size - length);
}

int ri_window_error(const ri_window_t *window, int error)
{
    PMPI_Win_call_errhandler(window->handle, error);
    return error;
}

/* Of a rank on another host it is only known that nothing gets there any more, and of one to which
 * nothing was sent not even that: with @a looks something is. */
static int window_is_gone(const ri_window_part_t *part, int looks)
{
    return (part->net != NULL) ? part->net->is_gone(part->reach, looks) :
                                 (ri_host_process_look(&part->process) == RI_HOST_GONE);
}

static void window_tell_gone(const ri_window_part_t *part, int rank)
{
    if (part->net != NULL) {
        ri_error("rank %d of a window has ended, or cannot be reached any more, and this "
                 "process waits for it",
                 rank);
    } else {
        ri_error("rank %d of a window has ended, and this process waits for it", rank);
    }
}

/* Whether those that are waited for live. */
static int window_lives(const ri_window_wait_t *wait)
{
    const ri_window_t *window = wait->window;
    int i;

    for (i = 0; i < window->size; ++i) {
        if ((i != window->rank) && ((wait->only == 0) || (wait->only == i + 1)) &&
            window_is_gone(&window->parts[i], wait->from == i + 1)) {
            window_tell_gone(&window->parts[i], i);
            return 0;
        }
    }
    return 1;
}

/* Let the MPI progress. MPICH does not in a probe of MPI_COMM_SELF, nor if a message is found: so
 * the tag is one that programs hardly use. */
static void window_progress(void)
{
    static _Atomic(int) tag = -1;
    int *value, flag;

    if (atomic_load_explicit(&tag, memory_order_relaxed) < 0) {
        flag = 0;
        PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
        atomic_store_explicit(&tag, flag ? *value : 32767, memory_order_relaxed);
    }
    PMPI_Iprobe(MPI_ANY_SOURCE, atomic_load_explicit(&tag, memory_order_relaxed),
                MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

int ri_window_pause(ri_window_wait_t *wait)
{
    struct timespec now;
    uint64_t ns;

    window_progress();
    if ((++wait->pauses % WAIT_YIELD) != 0) {
        return MPI_SUCCESS;
    }
    sched_yield();
    clock_gettime(CLOCK_MONOTONIC, &now);
    ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (wait->look_at == 0) {
        wait->look_at = ns + WAIT_LIVES;
    } else if (ns >= wait->look_at) {
        wait->look_at = ns + WAIT_LIVES;
        if (!window_lives(wait)) {
            return MPI_ERR_OTHER;
        }
    }
    return MPI_SUCCESS;
}

int ri_window_wait(void *arg)
{
    ri_window_wait_t *wait     = arg;
    const ri_window_ops_t *ops = wait->window->ops;

    if (ops != NULL) {
        ops->serve(); /* others may wait for this process */
    }
    ri_relax();
    if ((++wait->looks < WAIT_LOOKS) || ((wait->looks % WAIT_PAUSE) != 0)) {
        return MPI_SUCCESS;
    }
    return ri_window_pause(wait);
}

int ri_window_wait_word(ri_window_t *window, int rank, _Atomic(uint32_t) *word,
                        uint32_t value)
{
    ri_window_wait_t wait = {.window = window, .from = rank + 1};
    int error             = MPI_SUCCESS;

    while ((error == MPI_SUCCESS) &&
           ((int32_t)(atomic_load_explicit(word, memory_order_acquire) - value) < 0)) {
        error = ri_window_wait(&wait);
    }
    return error;
}
