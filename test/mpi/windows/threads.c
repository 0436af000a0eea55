/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Threads of each process. Those of one number make, use and free windows together, while others do.
 */

#include "windows.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 3

typedef struct {
    int number;
    win_kind_t kind;
    long rounds;
    MPI_Comm comm;    /* of the threads of this number */
    const win_t *win; /* of all threads */
} thread_t;

/* A window of the threads of one number: each adds to all of the others. */
static void use_own_window(const thread_t *thread, long round)
{
    int64_t value = thread->number + round, *memory;
    MPI_Win win;

    win_allocate(thread->comm, 8, 8, thread->kind, MPI_INFO_NULL, &memory, &win);
    *memory = 0;
    MPI_Win_fence(0, win);
    for (int r = 0; r < mt_size; r++) {
        MPI_Accumulate(&value, 1, MPI_INT64_T, r, 0, 1, MPI_INT64_T, MPI_SUM, win);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (*memory != mt_size * value) {
        mt_fail("thread %d, round %ld: %ld, not %ld", thread->number, round,
                (long)*memory, (long)(mt_size * value));
    }
    win_end(&win, thread->kind, memory);
}

/* A rank of the common window for each thread of a process, as no rank may be locked twice. */
static void use_common_window(const thread_t *thread, long round)
{
    int target    = thread->number;
    int64_t value = 1;

    if (target < mt_size) {
        MPI_Win_lock((round % 3 == 0) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0,
                     thread->win->win);
        MPI_Accumulate(&value, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, MPI_SUM,
                       thread->win->win);
        MPI_Win_unlock(target, thread->win->win);
    }
}

static void *thread_main(void *arg)
{
    const thread_t *thread = arg;

    for (long round = 0; round < thread->rounds; round++) {
        use_common_window(thread, round);
        if (round % 4 == 0) {
            use_own_window(thread, round);
        }
    }
    return NULL;
}

void check_threads(win_kind_t kind, long rounds)
{
    pthread_t ids[THREADS];
    thread_t threads[THREADS];
    win_t win;

    if (mt_thread_level < MPI_THREAD_MULTIPLE) {
        mt_skip("the MPI has no threads");
    }
    mt_stage("threads");
    win = win_make(MPI_COMM_WORLD, 8, 8, kind, 0);
    for (int t = 0; t < THREADS; t++) {
        threads[t] = (thread_t){t, kind, rounds, MPI_COMM_NULL, &win};
        MPI_Comm_dup(MPI_COMM_WORLD, &threads[t].comm);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_create(&ids[t], NULL, thread_main, &threads[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(ids[t], NULL);
        MPI_Comm_free(&threads[t].comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if ((mt_rank < THREADS) && (*(int64_t *)win.memory != rounds * mt_size)) {
        mt_fail("%ld additions, not %ld", (long)*(int64_t *)win.memory, rounds * mt_size);
    }
    win_free(&win);
}
