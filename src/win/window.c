/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of windows, which is short and is read without a lock: a window is freed by its program
 * while no thread uses it. Then what a wait does, and the barrier.
 */
#include "window.h"
#include "../ucs/log.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* A wait that is over at once needs no more than looking. Then the MPI progresses every so many
 * looks, and the processor is given away a little more seldom, which costs nothing if no one else
 * wants it. */
#define WAIT_LOOKS    200
#define WAIT_PROGRESS 16
#define WAIT_YIELD    64

/* How often the other ranks are looked for; ns. */
#define WAIT_LIVES UINT64_C(100000000)

static _Atomic(ri_window_t *) windows;
static pthread_mutex_t windows_lock = PTHREAD_MUTEX_INITIALIZER;

ri_window_t *ri_window_find(MPI_Win handle)
{
    ri_window_t *window = atomic_load_explicit(&windows, memory_order_acquire);

    while ((window != NULL) && (window->handle != handle)) {
        window = window->next;
    }
    return window;
}

void ri_window_add(ri_window_t *window)
{
    pthread_mutex_lock(&windows_lock);
    window->next = atomic_load_explicit(&windows, memory_order_relaxed);
    atomic_store_explicit(&windows, window, memory_order_release);
    pthread_mutex_unlock(&windows_lock);
}

void ri_window_remove(ri_window_t *window)
{
    ri_window_t *before;

    pthread_mutex_lock(&windows_lock);
    before = atomic_load_explicit(&windows, memory_order_relaxed);
    if (before == window) {
        atomic_store_explicit(&windows, window->next, memory_order_release);
    } else {
        while (before->next != window) {
            before = before->next;
        }
        before->next = window->next;
    }
    pthread_mutex_unlock(&windows_lock);
}

int ri_window_error(const ri_window_t *window, int error)
{
    PMPI_Win_call_errhandler(window->handle, error);
    return error;
}

/* Whether all ranks of a window live. */
static int window_lives(const ri_window_t *window)
{
    int i;

    for (i = 0; i < window->size; ++i) {
        if ((i != window->rank) &&
            (ri_host_process_look(&window->parts[i].process) == RI_HOST_GONE)) {
            ri_error("rank %d of a window has ended, and this process waits for it", i);
            return 0;
        }
    }
    return 1;
}

/* Let the MPI progress. MPICH does not in a probe of MPI_COMM_SELF, nor if a message is found: so the
 * tag is one that programs hardly use. */
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

int ri_window_wait(void *arg)
{
    ri_window_wait_t *wait = arg;
    struct timespec now;
    uint64_t ns;

    ri_relax();
    if (++wait->polls < WAIT_LOOKS) {
        return 0;
    }
    if ((wait->polls % WAIT_PROGRESS) == 0) {
        window_progress();
    }
    if ((wait->polls % WAIT_YIELD) != 0) {
        return 0;
    }
    sched_yield();
    clock_gettime(CLOCK_MONOTONIC, &now);
    ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (wait->look_at == 0) {
        wait->look_at = ns + WAIT_LIVES;
    } else if (ns >= wait->look_at) {
        wait->look_at = ns + WAIT_LIVES;
        if (!window_lives(wait->window)) {
            return MPI_ERR_OTHER;
        }
    }
    return 0;
}

int ri_window_wait_word(ri_window_t *window, ri_window_word_t *word, uint32_t value)
{
    ri_window_wait_t wait = {.window = window};
    int error             = 0;

    while ((error == 0) &&
           ((int32_t)(atomic_load_explicit(&word->value, memory_order_acquire) - value) <
            0)) {
        error = ri_window_wait(&wait);
    }
    return error;
}

/* In each round, a rank tells one and hears from one that is twice as far away as in the round
 * before: after the last round it has heard of all. */
int ri_window_barrier(ri_window_t *window)
{
    uint32_t number = ++window->barriers;
    int size        = window->size;
    int distance, to, error;
    unsigned round;

    for (distance = 1, round = 0; distance < size; distance *= 2, ++round) {
        to = (window->rank + distance) % size;
        atomic_store_explicit(&window->parts[to].page->rounds[round].value, number,
                              memory_order_release);
        error = ri_window_wait_word(
                window, &window->parts[window->rank].page->rounds[round], number);
        if (error != 0) {
            return error;
        }
    }
    return MPI_SUCCESS;
}
