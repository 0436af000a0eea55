/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Post, start, complete and wait, and fences.
 */

#include "windows.h"

#include <stdlib.h>
#include <string.h>

/* Whether rank origin accesses rank target in a round: all ranks compute the same. */
static int accesses(int origin, int target, uint64_t key, long round)
{
    return (origin != target) &&
           (mt_mix(mt_key(key, (uint64_t)origin, (uint64_t)target, (uint64_t)round)) %
                    3 !=
            0);
}

static int64_t token_of(int origin, int target, long round)
{
    return ((int64_t)round << 16) + (origin << 8) + target;
}

/* The ranks that this one accesses, or that access it. */
static MPI_Group group_of(MPI_Group all, int is_target, uint64_t key, long round)
{
    int *ranks = mt_alloc((size_t)mt_size * sizeof(int));
    int count  = 0;
    MPI_Group group;

    for (int r = 0; r < mt_size; r++) {
        if (is_target ? accesses(r, mt_rank, key, round) :
                        accesses(mt_rank, r, key, round)) {
            ranks[count++] = r;
        }
    }
    MPI_Group_incl(all, count, ranks, &group);
    free(ranks);
    return group;
}

/* Put a token of the round into each target, from memory that stays until the epoch is over. */
static void put_tokens(const win_t *win, int64_t *tokens, uint64_t key, long round)
{
    for (int r = 0; r < mt_size; r++) {
        if (accesses(mt_rank, r, key, round)) {
            tokens[r] = token_of(mt_rank, r, round);
            MPI_Put(&tokens[r], 1, MPI_INT64_T, r, mt_rank, 1, MPI_INT64_T, win->win);
        }
    }
}

/* What those who have accessed this rank have put; nobody else has put anything. */
static void check_tokens(int64_t *seen, uint64_t key, long round)
{
    for (int r = 0; r < mt_size; r++) {
        int64_t expected = accesses(r, mt_rank, key, round) ?
                                   token_of(r, mt_rank, round) :
                                   0;

        if (seen[r] != expected) {
            mt_fail("rank %d has put %ld, not %ld", r, (long)seen[r], (long)expected);
        }
        seen[r] = 0;
    }
}

void check_pscw(win_kind_t kind, long rounds, uint64_t key)
{
    win_t win       = win_make(MPI_COMM_WORLD, (MPI_Aint)mt_size * 8, 8, kind, 1);
    int64_t *tokens = mt_alloc((size_t)mt_size * sizeof(*tokens));
    MPI_Group all, targets, origins;
    int flag;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (long round = 0; round < rounds; round++) {
        mt_stage("post, start, complete, wait: round %ld", round);
        targets = group_of(all, 0, key, round);
        origins = group_of(all, 1, key, round);
        MPI_Win_post(origins, (round % 5 == 1) ? MPI_MODE_NOSTORE : 0, win.win);
        MPI_Win_start(targets, 0, win.win);
        put_tokens(&win, tokens, key, round);
        MPI_Win_complete(win.win);
        if (round % 2) {
            MPI_Win_wait(win.win);
        } else {
            for (flag = 0; !flag;) {
                MPI_Win_test(win.win, &flag);
                if (!flag) {
                    mt_idle();
                }
            }
        }
        check_tokens((int64_t *)win.memory, key, round);
        MPI_Group_free(&targets);
        MPI_Group_free(&origins);
    }
    MPI_Group_free(&all);
    free(tokens);
    win_free(&win);
}

/* A message to the next rank among one-sided operations. */
static void pass_on(long round)
{
    long from_left = -1;

    MPI_Sendrecv(&round, 1, MPI_LONG, (mt_rank + 1) % mt_size, 3, &from_left, 1, MPI_LONG,
                 (mt_rank + mt_size - 1) % mt_size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (from_left != round) {
        mt_fail("a message of round %ld in round %ld", from_left, round);
    }
}

void check_fence(win_kind_t kind, long rounds, uint64_t key)
{
    const int per_rank = 100;
    size_t part        = (size_t)per_rank * sizeof(int);
    win_t win = win_make(MPI_COMM_WORLD, (MPI_Aint)((size_t)mt_size * part), 4, kind, 0);
    int *out = mt_alloc(part), *in = mt_alloc(part);

    MPI_Win_fence(MPI_MODE_NOPRECEDE, win.win);
    for (long round = 0; round < rounds; round++) {
        int to = (int)(mt_mix(key + (uint64_t)round) % (uint64_t)mt_size);

        mt_stage("fence, round %ld", round);
        mt_fill(out, part, mt_key(key, (uint64_t)mt_rank, (uint64_t)round, 1));
        to = (to + mt_rank) % mt_size;
        MPI_Put(out, per_rank, MPI_INT, to, (MPI_Aint)mt_rank * per_rank, per_rank,
                MPI_INT, win.win);
        if (round % 3 == 0) {
            pass_on(round);
        }
        MPI_Win_fence(0, win.win);
        MPI_Get(in, per_rank, MPI_INT, to, (MPI_Aint)mt_rank * per_rank, per_rank,
                MPI_INT, win.win);
        MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win.win);
        mt_expect(in, part, mt_key(key, (uint64_t)mt_rank, (uint64_t)round, 1), to, -1);
        if (round % 4 == 3) {
            MPI_Win_fence(MPI_MODE_NOSUCCEED, win.win);
            MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win.win);
            MPI_Get(in, per_rank, MPI_INT, to, (MPI_Aint)mt_rank * per_rank, per_rank,
                    MPI_INT, win.win);
            MPI_Win_unlock(to, win.win);
            mt_expect(in, part, mt_key(key, (uint64_t)mt_rank, (uint64_t)round, 1), to,
                      -1);
            MPI_Win_fence(MPI_MODE_NOPRECEDE, win.win);
        }
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win.win);
    free(out);
    free(in);
    win_free(&win);
}
