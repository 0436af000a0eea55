/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The parts of the program windows: each checks one side of MPI's windows.
 */
#ifndef WINDOWS_H
#define WINDOWS_H

#include "../mpitest.h"

/* Who makes the memory of a window. */
typedef enum {
    WIN_ALLOCATED, /* MPI_Win_allocate() */
    WIN_SHARED,    /* MPI_Win_allocate_shared() */
    WIN_CREATED    /* the program: MPI_Win_create() */
} win_kind_t;

/* A window, with its memory in this process. */
typedef struct {
    MPI_Win win;
    char *memory;
    MPI_Aint size; /* the same on all ranks */
    int disp_unit;
    win_kind_t kind;
} win_t;

/* Make a window, with the function of MPI for its kind. */
void win_allocate(MPI_Comm comm, MPI_Aint size, int disp_unit, win_kind_t kind,
                  MPI_Info info, void *memory_p, MPI_Win *win);

/* End a window that win_allocate() has made, and free its memory if that is the program's. */
void win_end(MPI_Win *win, win_kind_t kind, void *memory);

/* Make a window on a communicator. With is_apart the memory of the ranks need not be in a row. */
win_t win_make(MPI_Comm comm, MPI_Aint size, int disp_unit, win_kind_t kind,
               int is_apart);
void win_free(win_t *win);

/* Random operations of all ranks in epochs of all kinds; each rank has a part of all memory to
 * itself, and knows what has to be in it. */
void check_random(win_kind_t kind, long rounds, uint64_t key);

/* All ranks accumulate on the same elements, with all operations and types. */
void check_accumulates(win_kind_t kind, long rounds);

/* Locks keep others out; whoever waits gets them. */
void check_locks(win_kind_t kind, long rounds);

/* A rank that waits for a lock takes part in the messages of the rank that has it. */
void check_progress(win_kind_t kind, long rounds);

/* Rank 1 locks rank 2 while rank 0 does not call MPI: it must not need rank 0. Three ranks at least. */
void check_away(win_kind_t kind);

/* fetch_and_op and compare_and_swap, each of them by all ranks on one element. */
void check_atomics(win_kind_t kind, long rounds);

/* Post, start, complete and wait by random groups that overlap, without a barrier in between. */
void check_pscw(win_kind_t kind, long rounds, uint64_t key);

/* Fences with assertions, and messages between them. */
void check_fence(win_kind_t kind, long rounds, uint64_t key);

/* Memory that is attached and detached. */
void check_dynamic(long rounds, uint64_t key);

/* A put to memory that there is not. */
void check_bad_put(void);

/* Attributes, names, memory of other ranks, windows that overlap in time. */
void check_asked(win_kind_t kind);

/* Calls with odd arguments that are right. */
void check_odd(win_kind_t kind);

/* Wrong calls end in the error that MPI has for them. */
void check_errors(win_kind_t kind);

/* Threads that make, use and free windows of their own beside each other, and threads that lock ranks
 * of one window. Skips the program if the MPI has no threads. */
void check_threads(win_kind_t kind, long rounds);

/* The last rank is killed, and the others wait for it: 1 in a lock, 2 in start, 3 in wait, 4 in a
 * fence, 5 in test. The wait has to end in an error. It ends the process without MPI_Finalize, which would wait
 * as well. */
int check_killed(win_kind_t kind, long how) __attribute__((noreturn));

#endif
