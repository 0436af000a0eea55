/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A window that this library has taken over. All of its memory is in one file that every process of
 * the window maps: first the control memory of each rank, then the memory of the ranks. So an
 * origin reads, writes and locks by itself, and a target need not be in the library. Memory that
 * the program has made is not in the file, and is reached by means of libucxri.so (remote.h).
 *
 * A window of several hosts has such a file on each of them. A rank of another host is asked for
 * what is about its control memory (rank_command.h).
 *
 * The MPI has a window, too, of this process alone, and of its memory. Its handle is what the
 * program knows, and has the name, the info, the attributes and the error handler. No operation is
 * passed to it, and to make and free it takes no other rank.
 */
#ifndef RI_WIN_WINDOW_H
#define RI_WIN_WINDOW_H

#include <assert.h>

#include "attached.h"
#include "weak_mpi.h"
#include "../ucp/core/types/window_ops.h"
#include "../ucs/base.h"
#include "../uct/shm/gate.h"
#include "../uct/shm/host.h"

/* Locks of accumulates: each guards the bytes of every 64th piece of 4 KB. */
#define RI_WINDOW_STRIPES     64
#define RI_WINDOW_STRIPE_SIZE 4096

/* Rounds of a barrier. */
#define RI_WINDOW_ROUNDS 16

/* A number alone in its cache line. */
typedef struct ri_window_word {
    _Alignas(RI_CACHE_LINE) _Atomic(uint32_t) value;
} ri_window_word_t;

/* By this a rank tells another one how many epochs it has opened to that rank, and completed there.
 * It lies in the control memory of the one that is told. The numbers are never set back, so that
 * nothing has to be cleared between two epochs. */
typedef struct ri_window_cell {
    _Alignas(RI_CACHE_LINE) _Atomic(uint32_t) posted;
    _Atomic(uint32_t) completed;
} ri_window_cell_t;

/* The control memory of a rank; a cell for each other rank is behind it. All zero at first. */
typedef struct ri_window_control {
    _Alignas(RI_CACHE_LINE) ri_gate_t lock; /* of this target */
    _Alignas(RI_CACHE_LINE)
            ri_gate_t all; /* of the host: that of its first rank is used */
    ri_window_word_t rounds[RI_WINDOW_ROUNDS];
    ri_window_word_t stripes[RI_WINDOW_STRIPES]; /* who holds it: rank + 1; 0: nobody */
    ri_window_cell_t cells[];
} ri_window_control_t;

/* A rank's part of a window, as all ranks know it. */
typedef struct ri_window_part {
    char *base; /* in this process; with a reach, in the process that has it */
    MPI_Aint size;
    MPI_Aint disp_unit;
    ri_window_control_t *control; /* NULL: the rank is on another host */
    int first;                    /* the first rank on its host */
    ri_host_process_t process;
    void *reach; /* leads to memory that only its own process has; NULL: it is mapped here */
    uint64_t region;                  /* number of that memory there */
    const ri_window_reach_ops_t *ops; /* of the reach */
    /* of the reach of a rank on another host, else NULL */
    const ri_window_net_ops_t *net;
} ri_window_part_t;

/* A wait of a rank for others. Set window, and all else to zero. */
typedef struct ri_window_wait {
    struct ri_window *window;
    int only;       /* the rank that is waited for, plus 1; 0: any may be needed for it */
    int from;       /* the rank that ends the wait, plus 1; 0: it is not known */
    unsigned looks; /* at what is waited for */
    unsigned pauses;  /* in which the MPI has progressed */
    uint64_t look_at; /* when it is looked whether they live, in ns */
} ri_window_wait_t;

/*
 * The access epoch of this process (ri_window_t.access). Legal changes, which
 * ri_window_set_access() asserts:
 *
 *   NONE, FENCED -> NONE        a target is locked, or a fence says that nothing follows it
 *   NONE, FENCED -> FENCED      a fence
 *   FENCED, FENCE -> FENCE      an operation; several threads may be at their first one
 *   FENCE -> NONE, FENCED       the next fence
 *   NONE, FENCED -> START, LOCK_ALL
 *   START, LOCK_ALL -> NONE     the epoch ends
 */
typedef enum ri_window_access {
    RI_WINDOW_NONE,   /* or targets are locked, each on its own */
    RI_WINDOW_FENCED, /* a fence has been passed, and nothing has followed it */
    RI_WINDOW_FENCE,  /* operations have followed a fence */
    RI_WINDOW_START,  /* of the targets that have is_started */
    RI_WINDOW_LOCK_ALL,
    RI_WINDOW_ACCESS_LAST
} ri_window_access_t;

/*
 * The exposure epoch of a window: in which the ranks that have is_exposed access this process.
 *
 *   NOT_EXPOSED -> EXPOSED   MPI_Win_post()
 *   EXPOSED -> NOT_EXPOSED   the end of MPI_Win_wait(), or of an MPI_Win_test() that says yes
 */
typedef enum ri_window_exposure {
    RI_WINDOW_NOT_EXPOSED,
    RI_WINDOW_EXPOSED,
    RI_WINDOW_EXPOSURE_LAST
} ri_window_exposure_t;

/* How a target is locked by this process (ri_window_target_t.lock): UNLOCKED becomes one of the
 * others, which each become UNLOCKED (epoch_set_lock() of epoch.c). */
typedef enum ri_window_lock {
    RI_WINDOW_UNLOCKED,
    RI_WINDOW_SHARED,
    RI_WINDOW_EXCLUSIVE,
    RI_WINDOW_NOCHECK /* the program has seen to it by itself */
} ri_window_lock_t;

/* This process's state for another rank. */
typedef struct ri_window_target {
    uint32_t posted;    /* epochs that it has opened for the rank */
    uint32_t started;   /* epochs of the rank that it has started */
    uint32_t completed; /* epochs at the rank that it has completed */
    uint32_t waited;    /* completions of the rank that it has waited for */
    char is_started;    /* the rank is a target of the present access epoch */
    char is_exposed; /* the rank may access this process in the present exposure epoch */
    /* Puts that were posted, and as many of them as are settled. Threads count at the same time. */
    _Atomic(uint32_t) num_posted;
    _Atomic(uint32_t) num_settled;
    _Atomic(char) lock; /* ri_window_lock_t, changed by epoch_set_lock() */
} ri_window_target_t;

typedef struct ri_window {
    MPI_Win handle;
    MPI_Group group; /* of all ranks */
    int rank;
    int size;
    ri_window_part_t *parts;
    int *hosts; /* the first rank on each, in rising order */
    int num_hosts;
    _Atomic(int) access;     /* ri_window_access_t, changed by ri_window_set_access() */
    _Atomic(int) num_locks;  /* targets that are locked, each on its own */
    int is_lock_all_nocheck; /* MPI_Win_lock_all() with MPI_MODE_NOCHECK */
    ri_window_exposure_t exposure; /* changed by ri_window_set_exposure() */
    int flavor;                    /* the attributes */
    int model;
    int disp_unit;
    uint32_t barriers; /* that it has passed */
    ri_window_target_t *targets;
    void *file; /* all memory that all ranks have mapped */
    size_t file_size;
    const ri_window_ops_t *ops; /* for memory that they have not; NULL: there is none */
    void *shown;            /* what other hosts reach of this process; NULL: nothing */
    ri_attached_t attached; /* memory of this rank, of a dynamic window */
    ri_window_wait_t test;  /* of MPI_Win_test(), from one call to the next one */
} ri_window_t;

/** @return Whether the access epoch may change from one state to another, see
 * ri_window_access_t. */
static inline int ri_window_may_become(ri_window_access_t from, ri_window_access_t to)
{
    switch (from) {
    case RI_WINDOW_NONE:
        return to != RI_WINDOW_FENCE;
    case RI_WINDOW_FENCED:
        return 1;
    case RI_WINDOW_FENCE:
        return (to == RI_WINDOW_FENCE) || (to == RI_WINDOW_FENCED) ||
               (to == RI_WINDOW_NONE);
    default:
        return to == RI_WINDOW_NONE;
    }
}

/** Change the access epoch, as ri_window_access_t allows it. */
static inline void ri_window_set_access(ri_window_t *window, ri_window_access_t access)
{
    assert(ri_window_may_become((ri_window_access_t)atomic_load_explicit(
                                        &window->access, memory_order_relaxed),
                                access));
    atomic_store_explicit(&window->access, access, memory_order_relaxed);
}

/** @return Whether the exposure epoch may change from one state to another, see
 * ri_window_exposure_t. */
static inline int ri_window_exposure_may_become(ri_window_exposure_t from,
                                                ri_window_exposure_t to)
{
    return from != to;
}

/** Change the exposure epoch, as ri_window_exposure_t allows it. */
static inline void ri_window_set_exposure(ri_window_t *window,
                                          ri_window_exposure_t exposure)
{
    assert(ri_window_exposure_may_become(window->exposure, exposure));
    window->exposure = exposure;
}

/** A pause in a wait: lets the MPI progress, and now and then gives the processor away and looks
 * whether the ranks live. @return An MPI error class: MPI_ERR_OTHER if one has died. */
int ri_window_pause(ri_window_wait_t *wait);

/** Call this again and again in a wait, which may be over soon: lets the other thread of the
 * core go on, and pauses when it was called often. @a arg is a ri_window_wait_t. @return As
 * ri_window_pause(). */
int ri_window_wait(void *arg);

/** Wait until @a word, which @a rank counts up, is at least @a value. @return An MPI error
 * class. */
int ri_window_wait_word(ri_window_t *window, int rank, _Atomic(uint32_t) *word,
                        uint32_t value);

/** @return Whether all of the bytes, at least one, are memory of this rank that others may use:
 * wire input. @a arg is the window. Any thread may call it. */
int ri_window_has(void *arg, uint64_t address, size_t length);

/** Serve ranks of other hosts, in a call that needs nothing of them: a program may look by such
 * calls for what they do. */
static inline void ri_window_serve(const ri_window_t *window)
{
    if (ri_unlikely(window->shown != NULL)) {
        window->ops->serve();
    }
}

/** Report an error by the error handler of a window. @return @a error. */
int ri_window_error(const ri_window_t *window, int error);

/** End a call: report an error, if there is one. @return @a error. */
static inline int ri_window_end(const ri_window_t *window, int error)
{
    return ri_likely(error == MPI_SUCCESS) ? MPI_SUCCESS : ri_window_error(window, error);
}

/** @return The window of a handle, or NULL: it is the MPI's. Any thread may call it. */
ri_window_t *ri_window_find(MPI_Win handle);

/** Let a window be found, by its handle. @return 0 if there is no memory. */
int ri_window_add(ri_window_t *window);

/** Let a window not be found any more. */
void ri_window_remove(ri_window_t *window);

#endif
