/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First fence, then post, start, complete and wait, then locks.
 */
#include "epoch.h"
#include "rank_command.h"
#include "remote.h"

#include <stdlib.h>

static int epoch_access_kind(ri_window_t *window)
{
    return atomic_load_explicit(&window->access, memory_order_relaxed);
}

static ri_window_lock_t epoch_lock_of(ri_window_target_t *target)
{
    return (ri_window_lock_t)atomic_load_explicit(&target->lock, memory_order_relaxed);
}

static void epoch_set_lock(ri_window_target_t *target, ri_window_lock_t lock)
{
    assert((epoch_lock_of(target) == RI_WINDOW_UNLOCKED) != (lock == RI_WINDOW_UNLOCKED));
    atomic_store_explicit(&target->lock, (char)lock, memory_order_relaxed);
}

/* Whether there is no access epoch but those of single targets. */
static int epoch_may_lock(ri_window_t *window)
{
    int access = epoch_access_kind(window);

    return (access == RI_WINDOW_NONE) || (access == RI_WINDOW_FENCED);
}

static int epoch_has_locks(ri_window_t *window)
{
    return atomic_load_explicit(&window->num_locks, memory_order_relaxed) > 0;
}

/* Whether a new access epoch may begin. */
static int epoch_may_begin(ri_window_t *window)
{
    return epoch_may_lock(window) && !epoch_has_locks(window);
}

/* In each round, a rank tells one and hears from one that is twice as far away as in the round
 * before: after the last round it has heard of all. */
int ri_epoch_barrier(ri_window_t *window)
{
    uint32_t number = ++window->barriers;
    int size        = window->size;
    int distance, to, from, error;
    unsigned round;

    for (distance = 1, round = 0; distance < size; distance *= 2, ++round) {
        to    = (window->rank + distance) % size;
        from  = (window->rank - distance + size) % size;
        error = ri_command_write(window, to,
                                 offsetof(ri_window_control_t, rounds) +
                                         round * sizeof(ri_window_word_t),
                                 number);
        if (error == MPI_SUCCESS) {
            error = ri_window_wait_word(
                    window, from,
                    &window->parts[window->rank].control->rounds[round].value, number);
        }
        if (error != MPI_SUCCESS) {
            return error;
        }
    }
    return MPI_SUCCESS;
}

int ri_epoch_fence(ri_window_t *window, int mode)
{
    int access = epoch_access_kind(window);
    int both   = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    int error, lost;

    if ((!epoch_may_lock(window) && (access != RI_WINDOW_FENCE)) ||
        epoch_has_locks(window) || (window->exposure == RI_WINDOW_EXPOSED)) {
        return MPI_ERR_RMA_SYNC;
    }
    error = ri_remote_settle(window, -1);
    if ((mode & both) !=
        both) { /* the others wait for this process whatever has become of its puts */
        lost  = error;
        error = ri_epoch_barrier(window);
        error = (error == MPI_SUCCESS) ? lost : error;
    }
    ri_window_set_access(window,
                         (mode & MPI_MODE_NOSUCCEED) ? RI_WINDOW_NONE : RI_WINDOW_FENCED);
    return error;
}

/* The ranks within the window of the members of a group. @a ranks_p is the caller's to free. */
static int epoch_ranks(const ri_window_t *window, MPI_Group group, int **ranks_p,
                       int *count_p)
{
    int *members;
    int error, i;

    *ranks_p = NULL;
    error = (group == MPI_GROUP_NULL) ? MPI_ERR_GROUP : PMPI_Group_size(group, count_p);
    if ((error != MPI_SUCCESS) || (*count_p == 0)) {
        return error;
    }
    *ranks_p = malloc(2 * (size_t)*count_p * sizeof(**ranks_p));
    if (*ranks_p == NULL) {
        return MPI_ERR_NO_MEM;
    }
    members = *ranks_p + *count_p;
    for (i = 0; i < *count_p; ++i) {
        members[i] = i;
    }
    error = PMPI_Group_translate_ranks(group, *count_p, members, window->group, *ranks_p);
    for (i = 0; (i < *count_p) && (error == MPI_SUCCESS); ++i) {
        if (((*ranks_p)[i] < 0) || ((*ranks_p)[i] >= window->size)) {
            error = MPI_ERR_GROUP;
        }
    }
    if (error != MPI_SUCCESS) {
        free(*ranks_p);
        *ranks_p = NULL;
    }
    return error;
}

/* Where this rank's cell is in the control memory of each other one, and what is in it. */
#define EPOCH_POSTED    offsetof(ri_window_cell_t, posted)
#define EPOCH_COMPLETED offsetof(ri_window_cell_t, completed)

static size_t epoch_cell(const ri_window_t *window)
{
    return offsetof(ri_window_control_t, cells) +
           (size_t)window->rank * sizeof(ri_window_cell_t);
}

/* Wait for a number of another rank, unless there is an error. The caller counts and marks in any
 * case: numbers that are left out, and marks that stay, would be taken for those of the next epoch.
 * @return The error, or one of the wait. */
static int epoch_wait_unless(int error, ri_window_t *window, int rank,
                             _Atomic(uint32_t) *word, uint32_t value)
{
    return (error != MPI_SUCCESS) ? error :
                                    ri_window_wait_word(window, rank, word, value);
}

int ri_epoch_post(ri_window_t *window, MPI_Group group, int mode)
{
    int *ranks, count = 0, i, error, one;
    ri_window_target_t *target;

    if ((window->exposure == RI_WINDOW_EXPOSED) ||
        (epoch_access_kind(window) == RI_WINDOW_FENCE)) {
        return MPI_ERR_RMA_SYNC;
    }
    error = epoch_ranks(window, group, &ranks, &count);
    if (error != MPI_SUCCESS) {
        return error;
    }
    ri_window_set_exposure(window, RI_WINDOW_EXPOSED);
    for (i = 0; i < count; ++i) {
        target             = &window->targets[ranks[i]];
        target->is_exposed = 1;
        if (!(mode & MPI_MODE_NOCHECK)) {
            one   = ri_command_write(window, ranks[i], epoch_cell(window) + EPOCH_POSTED,
                                     ++target->posted);
            error = (error == MPI_SUCCESS) ? one : error;
        }
    }
    free(ranks);
    return error;
}

int ri_epoch_start(ri_window_t *window, MPI_Group group, int mode)
{
    ri_window_control_t *control = window->parts[window->rank].control;
    int *ranks, count = 0, i, error;
    ri_window_target_t *target;

    if (!epoch_may_begin(window)) {
        return MPI_ERR_RMA_SYNC;
    }
    error = epoch_ranks(window, group, &ranks, &count);
    if (error != MPI_SUCCESS) {
        return error;
    }
    ri_window_set_access(window, RI_WINDOW_START);
    for (i = 0; i < count; ++i) {
        target             = &window->targets[ranks[i]];
        target->is_started = 1;
        if (!(mode & MPI_MODE_NOCHECK)) {
            ++target->started;
            error = epoch_wait_unless(error, window, ranks[i],
                                      &control->cells[ranks[i]].posted, target->started);
        }
    }
    free(ranks);
    return error;
}

int ri_epoch_complete(ri_window_t *window)
{
    ri_window_target_t *target;
    int i, error, one;

    if (epoch_access_kind(window) != RI_WINDOW_START) {
        return MPI_ERR_RMA_SYNC;
    }
    error = ri_remote_settle(window, -1);
    for (i = 0; i < window->size; ++i) {
        target = &window->targets[i];
        if (target->is_started) {
            target->is_started = 0;
            one   = ri_command_write(window, i, epoch_cell(window) + EPOCH_COMPLETED,
                                     ++target->completed);
            error = (error == MPI_SUCCESS) ? one : error;
        }
    }
    ri_window_set_access(window, RI_WINDOW_NONE);
    return error;
}

int ri_epoch_wait(ri_window_t *window)
{
    ri_window_control_t *control = window->parts[window->rank].control;
    int error                    = MPI_SUCCESS;
    ri_window_target_t *target;
    int i;

    if (window->exposure == RI_WINDOW_NOT_EXPOSED) {
        return MPI_ERR_RMA_SYNC;
    }
    for (i = 0; i < window->size; ++i) {
        target = &window->targets[i];
        if (target->is_exposed) {
            target->is_exposed = 0;
            ++target->waited;
            error = epoch_wait_unless(error, window, i, &control->cells[i].completed,
                                      target->waited);
        }
    }
    ri_window_set_exposure(window, RI_WINDOW_NOT_EXPOSED);
    return error;
}

int ri_epoch_test(ri_window_t *window, int *flag)
{
    ri_window_control_t *control = window->parts[window->rank].control;
    const ri_window_target_t *target;
    int i;

    *flag = 0;
    if (window->exposure == RI_WINDOW_NOT_EXPOSED) {
        return MPI_ERR_RMA_SYNC;
    }
    for (i = 0; i < window->size; ++i) {
        target = &window->targets[i];
        if (target->is_exposed &&
            ((int32_t)(atomic_load_explicit(&control->cells[i].completed,
                                            memory_order_acquire) -
                       (target->waited + 1)) < 0)) {
            return ri_window_pause(&window->test);
        }
    }
    *flag = 1;
    return ri_epoch_wait(window);
}

/* The gate that keeps MPI_Win_lock_all(), of kind A, and exclusive locks of the ranks of a host
 * apart. */
static ri_command_gate_t epoch_gate_of_host(int rank, ri_gate_kind_t kind)
{
    return (ri_command_gate_t){.rank = rank, .is_all = 1, .kind = kind};
}

/* Pass the gate of the host of a rank, for an exclusive lock. A process that has locks already does
 * not wait in the row: who waits in front of it may wait for them. */
static int epoch_enter_host(ri_window_t *window, int rank)
{
    const ri_command_gate_t gate = epoch_gate_of_host(rank, RI_GATE_B);

    return ri_command_enter(window, &gate, epoch_has_locks(window));
}

/* Give the gate of the host of a rank back, if it was passed for a lock. */
static void epoch_leave_host(ri_window_t *window, ri_window_lock_t lock, int rank)
{
    const ri_command_gate_t gate = epoch_gate_of_host(rank, RI_GATE_B);

    if (lock == RI_WINDOW_EXCLUSIVE) {
        ri_command_leave(window, &gate);
    }
}

/* The gate of a target, for a lock. */
static ri_command_gate_t epoch_gate(ri_window_lock_t lock, int rank)
{
    return (ri_command_gate_t){.rank     = rank,
                               .kind     = (lock == RI_WINDOW_EXCLUSIVE) ? RI_GATE_B :
                                                                           RI_GATE_A,
                               .is_alone = (lock == RI_WINDOW_EXCLUSIVE)};
}

/* Give the gates of a target back, which were entered for a lock. */
static void epoch_leave(ri_window_t *window, ri_window_lock_t lock, int rank)
{
    ri_command_gate_t gate = epoch_gate(lock, rank);

    if (lock != RI_WINDOW_NOCHECK) {
        ri_command_leave(window, &gate);
    }
    epoch_leave_host(window, lock, rank);
}

/* Take the locks of a target, all or none. */
static int epoch_enter(ri_window_t *window, ri_window_lock_t lock, int rank)
{
    const ri_command_gate_t gate = epoch_gate(lock, rank);
    int error                    = MPI_SUCCESS;

    ri_window_serve(window);
    if (lock == RI_WINDOW_NOCHECK) {
        return MPI_SUCCESS;
    }
    if (lock == RI_WINDOW_EXCLUSIVE) {
        error = epoch_enter_host(window, rank);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = ri_command_enter(window, &gate, 0);
    if (error != MPI_SUCCESS) {
        epoch_leave_host(window, lock, rank);
    }
    return error;
}

int ri_epoch_lock(ri_window_t *window, int type, int rank, int mode)
{
    ri_window_target_t *target = &window->targets[rank];
    ri_window_lock_t lock;
    int error;

    if ((type != MPI_LOCK_SHARED) && (type != MPI_LOCK_EXCLUSIVE)) {
        return MPI_ERR_LOCKTYPE;
    }
    if (!epoch_may_lock(window) || (epoch_lock_of(target) != RI_WINDOW_UNLOCKED)) {
        return MPI_ERR_RMA_SYNC;
    }
    lock  = (mode & MPI_MODE_NOCHECK)    ? RI_WINDOW_NOCHECK :
            (type == MPI_LOCK_EXCLUSIVE) ? RI_WINDOW_EXCLUSIVE :
                                           RI_WINDOW_SHARED;
    error = epoch_enter(window, lock, rank);
    if (error == MPI_SUCCESS) {
        epoch_set_lock(target, lock);
        atomic_fetch_add(&window->num_locks, 1);
        ri_window_set_access(window, RI_WINDOW_NONE);
    }
    return error;
}

int ri_epoch_unlock(ri_window_t *window, int rank)
{
    ri_window_target_t *target = &window->targets[rank];
    ri_window_lock_t lock      = epoch_lock_of(target);
    int error;

    ri_window_serve(window);
    if (lock == RI_WINDOW_UNLOCKED) {
        return MPI_ERR_RMA_SYNC;
    }
    error = ri_remote_settle(window, rank);
    epoch_set_lock(target, RI_WINDOW_UNLOCKED);
    atomic_fetch_sub(&window->num_locks, 1);
    epoch_leave(window, lock, rank);
    return error;
}

/* Give the gates of the first hosts back. */
static void epoch_leave_hosts(ri_window_t *window, int count)
{
    ri_command_gate_t gate;

    while (count > 0) {
        gate = epoch_gate_of_host(window->hosts[--count], RI_GATE_A);
        ri_command_leave(window, &gate);
    }
}

/* Pass the gates of all hosts, all ranks in the same order. */
static int epoch_enter_hosts(ri_window_t *window)
{
    ri_command_gate_t gate;
    int i, error;

    for (i = 0; i < window->num_hosts; ++i) {
        gate  = epoch_gate_of_host(window->hosts[i], RI_GATE_A);
        error = ri_command_enter(window, &gate, 0);
        if (error != MPI_SUCCESS) {
            epoch_leave_hosts(window, i);
            return error;
        }
    }
    return MPI_SUCCESS;
}

int ri_epoch_lock_all(ri_window_t *window, int mode)
{
    int error = MPI_SUCCESS;

    if (!epoch_may_begin(window)) {
        return MPI_ERR_RMA_SYNC;
    }
    window->is_lock_all_nocheck = (mode & MPI_MODE_NOCHECK) != 0;
    if (!window->is_lock_all_nocheck) {
        error = epoch_enter_hosts(window);
    }
    if (error == MPI_SUCCESS) {
        ri_window_set_access(window, RI_WINDOW_LOCK_ALL);
    }
    return error;
}

int ri_epoch_unlock_all(ri_window_t *window)
{
    int error;

    if (epoch_access_kind(window) != RI_WINDOW_LOCK_ALL) {
        return MPI_ERR_RMA_SYNC;
    }
    error = ri_remote_settle(window, -1);
    ri_window_set_access(window, RI_WINDOW_NONE);
    if (!window->is_lock_all_nocheck) {
        epoch_leave_hosts(window, window->num_hosts);
    }
    return error;
}

int ri_epoch_flush_local(ri_window_t *window, int rank)
{
    int is_ok = (epoch_access_kind(window) == RI_WINDOW_LOCK_ALL);

    ri_window_serve(window);
    if (rank < 0) {
        is_ok = is_ok || epoch_has_locks(window);
    } else {
        is_ok = is_ok || (epoch_lock_of(&window->targets[rank]) != RI_WINDOW_UNLOCKED);
    }
    return is_ok ? ri_remote_settle_here(window, rank) : MPI_ERR_RMA_SYNC;
}

int ri_epoch_flush(ri_window_t *window, int rank)
{
    int error = ri_epoch_flush_local(window, rank);

    /* All who are told behind this fence see what was written */
    atomic_thread_fence(memory_order_seq_cst);
    return (error == MPI_SUCCESS) ? ri_remote_settle(window, rank) : error;
}

int ri_epoch_is_over(ri_window_t *window)
{
    return epoch_may_begin(window) && (window->exposure == RI_WINDOW_NOT_EXPOSED);
}
