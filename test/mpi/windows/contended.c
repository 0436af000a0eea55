/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What all ranks do to the same elements: accumulates, locks, fetch_and_op and compare_and_swap.
 */

#include "windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Elements of an accumulate. Their bytes are more than a page, and not whole pages. */
#define COUNT 1100

/* Values that all ranks can compute of each other: small, so that sums and products are exact. */
static long value_of(int rank, int i, long round)
{
    return (long)(mt_mix(mt_key((uint64_t)rank, (uint64_t)i, (uint64_t)round, 5)) % 3) +
           1;
}

/* What the element i of all has to be, of values in ranks. */
static long expected_of(MPI_Op op, int i, long round)
{
    long value = value_of(0, i, round);

    for (int r = 1; r < mt_size; r++) {
        long other = value_of(r, i, round);

        if (op == MPI_SUM) {
            value += other;
        } else if (op == MPI_PROD) {
            value *= other;
        } else if (op == MPI_MIN) {
            value = (other < value) ? other : value;
        } else if (op == MPI_MAX) {
            value = (other > value) ? other : value;
        } else if (op == MPI_BAND) {
            value &= other;
        } else if (op == MPI_BOR) {
            value |= other;
        } else if (op == MPI_BXOR) {
            value ^= other;
        } else if (op == MPI_LAND) {
            value = value && other;
        } else if (op == MPI_LOR) {
            value = value || other;
        } else {
            value = !value != !other;
        }
    }
    return value;
}

/* What does not change an element. */
static long neutral_of(MPI_Op op)
{
    return (op == MPI_PROD) ? 1 :
           (op == MPI_MIN)  ? 100 :
           (op == MPI_BAND) ? 127 :
           (op == MPI_LAND) ? 1 :
                              0;
}

#define TYPE_CASE(_handle, _type) \
    if (type == (_handle)) { \
        *(_type *)at = (_type)value; \
        return; \
    }

static void put_value(void *at, MPI_Datatype type, long value)
{
    TYPE_CASE(MPI_INT8_T, int8_t)
    TYPE_CASE(MPI_INT16_T, int16_t)
    TYPE_CASE(MPI_INT32_T, int32_t)
    TYPE_CASE(MPI_INT64_T, int64_t)
    TYPE_CASE(MPI_UINT8_T, uint8_t)
    TYPE_CASE(MPI_UINT16_T, uint16_t)
    TYPE_CASE(MPI_UNSIGNED, unsigned)
    TYPE_CASE(MPI_UINT64_T, uint64_t)
    TYPE_CASE(MPI_FLOAT, float)
    TYPE_CASE(MPI_DOUBLE, double)
    mt_fail("no such type");
}

/* What was there before one's own sum: nothing, or sums of others. */
static void check_fetched(const char *old, int size, MPI_Datatype type, long round)
{
    char *value = mt_alloc(8);
    int is_there;

    for (int i = 0; i < COUNT; i++) {
        is_there = 0;
        for (int others = 0; !is_there && (others < (1 << mt_size)); others++) {
            long sum = 0;

            for (int r = 0; r < mt_size; r++) {
                sum += ((others >> r) & 1) ? value_of(r, i, round) : 0;
            }
            put_value(value, type, sum);
            is_there = !((others >> mt_rank) & 1) &&
                       !memcmp(value, old + (size_t)i * (size_t)size, (size_t)size);
        }
        if (!is_there) {
            mt_fail("element %d of %d bytes was never there", i, size);
        }
    }
    free(value);
}

/* All ranks combine with the elements of the last rank, in one call or element by element. */
static void accumulate_all(const win_t *win, MPI_Op op, MPI_Datatype type, long round)
{
    int target = mt_size - 1;
    char *mine = mt_alloc(COUNT * 8), *old = mt_alloc(COUNT * 8),
         *all = mt_alloc(COUNT * 8);
    int size, at;

    MPI_Type_size(type, &size);
    mt_stage("accumulate, elements of %d bytes, round %ld", size, round);
    if (mt_rank == target) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win->win);
        for (int i = 0; i < COUNT; i++) {
            put_value(win->memory + (size_t)i * (size_t)size, type, neutral_of(op));
        }
        MPI_Win_unlock(target, win->win);
    }
    for (int i = 0; i < COUNT; i++) {
        put_value(mine + (size_t)i * (size_t)size, type, value_of(mt_rank, i, round));
        put_value(all + (size_t)i * (size_t)size, type, expected_of(op, i, round));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win->win);
    if (round % 3 == 0) {
        MPI_Accumulate(mine, COUNT, type, target, 0, COUNT, type, op, win->win);
    } else if (round % 3 == 1) {
        MPI_Get_accumulate(mine, COUNT, type, old, COUNT, type, target, 0, COUNT, type,
                           op, win->win);
        MPI_Win_flush(target, win->win);
        if (op == MPI_SUM) {
            check_fetched(old, size, type, round);
        }
    } else {
        for (int i = 0; i < COUNT; i += 7) {
            at = (COUNT - i < 7) ? COUNT - i : 7;
            MPI_Accumulate(mine + (size_t)i * (size_t)size, at, type, target,
                           (MPI_Aint)i * size, at, type, op, win->win);
        }
    }
    MPI_Win_unlock_all(win->win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win->win);
    MPI_Get_accumulate(NULL, 0, type, old, COUNT, type, target, 0, COUNT, type, MPI_NO_OP,
                       win->win);
    MPI_Win_unlock(target, win->win);
    for (int i = 0; i < COUNT; i++) {
        if (memcmp(old + (size_t)i * (size_t)size, all + (size_t)i * (size_t)size,
                   (size_t)size)) {
            mt_fail("element %d of %d bytes is wrong", i, size);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(mine);
    free(old);
    free(all);
}

/* Pairs of a value and a rank, which have gaps in memory: the greatest, of the lowest rank. */
static void accumulate_pairs(const win_t *win, long round)
{
    struct {
        double value;
        int rank;
    } mine[40], now[40];
    int target = (int)(round % mt_size);

    mt_stage("pairs, round %ld", round);
    memset(mine, 0, sizeof(mine));
    for (int i = 0; i < MT_LEN(mine); i++) {
        mine[i].value = (mt_rank == target) ? -1 : (double)value_of(mt_rank, i, round);
        mine[i].rank  = mt_rank;
    }
    if (mt_rank == target) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win->win);
        memcpy(win->memory, mine, sizeof(mine));
        MPI_Win_unlock(target, win->win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win->win);
    if (round % 2) {
        MPI_Get_accumulate(mine, MT_LEN(mine), MPI_DOUBLE_INT, now, MT_LEN(now),
                           MPI_DOUBLE_INT, target, 0, MT_LEN(mine), MPI_DOUBLE_INT,
                           MPI_MAXLOC, win->win);
    } else {
        MPI_Accumulate(mine, MT_LEN(mine), MPI_DOUBLE_INT, target, 0, MT_LEN(mine),
                       MPI_DOUBLE_INT, MPI_MAXLOC, win->win);
    }
    MPI_Win_unlock(target, win->win);
    for (int i = 0; (round % 2) && (i < MT_LEN(now)); i++) {
        int who = now[i].rank;

        if ((who < 0) || (who >= mt_size) || (who == mt_rank && mt_rank != target) ||
            (now[i].value != ((who == target) ? -1 : (double)value_of(who, i, round)))) {
            mt_fail("pair %d was %g of rank %d before", i, now[i].value, who);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win->win);
    MPI_Get(now, MT_LEN(now), MPI_DOUBLE_INT, target, 0, MT_LEN(now), MPI_DOUBLE_INT,
            win->win);
    MPI_Win_unlock(target, win->win);
    for (int i = 0; i < MT_LEN(now); i++) {
        double most = -1;
        int who     = target;

        for (int r = 0; r < mt_size; r++) {
            if ((r != target) && ((double)value_of(r, i, round) > most)) {
                most = (double)value_of(r, i, round);
                who  = r;
            }
        }
        if ((now[i].value != most) || (now[i].rank != who)) {
            mt_fail("pair %d is %g of rank %d, not %g of rank %d", i, now[i].value,
                    now[i].rank, most, who);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void check_accumulates(win_kind_t kind, long rounds)
{
    const MPI_Op ops[]         = {MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX, MPI_BAND,
                                  MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
    const MPI_Datatype types[] = {MPI_INT8_T,  MPI_INT16_T,  MPI_INT32_T,  MPI_INT64_T,
                                  MPI_UINT8_T, MPI_UINT16_T, MPI_UNSIGNED, MPI_UINT64_T,
                                  MPI_FLOAT,   MPI_DOUBLE};
    win_t win                  = win_make(MPI_COMM_WORLD, COUNT * 8, 1, kind, 1);
    long round                 = 0;

    for (int o = 0; o < MT_LEN(ops); o++) {
        for (int t = 0; t < MT_LEN(types); t++) {
            if ((t < 8) || (o < 4)) { /* reals have no bits */
                accumulate_all(&win, ops[o], types[t], round++);
            }
        }
    }
    for (long r = 0; r < rounds; r++) {
        accumulate_pairs(&win, r);
    }
    win_free(&win);
}

/* A number that is read, changed and written under a lock, as if there were no atomics. */
static void lock_and_add(const win_t *win, int target, int slot)
{
    int64_t value;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win->win);
    MPI_Get(&value, 1, MPI_INT64_T, target, slot, 1, MPI_INT64_T, win->win);
    MPI_Win_flush(target, win->win);
    value++;
    MPI_Put(&value, 1, MPI_INT64_T, target, slot, 1, MPI_INT64_T, win->win);
    MPI_Win_unlock(target, win->win);
}

/* Two numbers of one rank, which others change under an exclusive lock, are equal for a reader. */
static void lock_and_compare(const win_t *win, int target, int is_all)
{
    int64_t value[2];

    if (is_all) {
        MPI_Win_lock_all(0, win->win);
    } else {
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win->win);
    }
    MPI_Get(&value[0], 1, MPI_INT64_T, target, 1, 1, MPI_INT64_T, win->win);
    MPI_Win_flush(target, win->win);
    MPI_Get(&value[1], 1, MPI_INT64_T, target, 2, 1, MPI_INT64_T, win->win);
    if (is_all) {
        MPI_Win_unlock_all(win->win);
    } else {
        MPI_Win_unlock(target, win->win);
    }
    if (value[0] != value[1]) {
        mt_fail("a reader has seen %ld and %ld", (long)value[0], (long)value[1]);
    }
}

static void lock_and_change(const win_t *win, int target)
{
    int64_t value;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win->win);
    for (int slot = 1; slot <= 2; slot++) {
        MPI_Get(&value, 1, MPI_INT64_T, target, slot, 1, MPI_INT64_T, win->win);
        MPI_Win_flush(target, win->win);
        value += mt_rank + 1;
        MPI_Put(&value, 1, MPI_INT64_T, target, slot, 1, MPI_INT64_T, win->win);
        MPI_Win_flush(target, win->win);
    }
    MPI_Win_unlock(target, win->win);
}

/* Locks of several targets at a time, always in the order of their ranks. */
static void lock_several(const win_t *win)
{
    int64_t one = 1;

    for (int r = 0; r < mt_size; r++) {
        MPI_Win_lock((r + mt_rank) % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, r, 0,
                     win->win);
        MPI_Accumulate(&one, 1, MPI_INT64_T, r, 3, 1, MPI_INT64_T, MPI_SUM, win->win);
    }
    MPI_Win_flush_all(win->win);
    for (int r = mt_size - 1; r >= 0; r--) {
        MPI_Win_unlock(r, win->win);
    }
}

void check_locks(win_kind_t kind, long rounds)
{
    win_t win = win_make(MPI_COMM_WORLD, 4 * 8, 8, kind, 0);
    int64_t value;

    for (long round = 0; round < rounds; round++) {
        mt_stage("locks, round %ld", round);
        lock_and_add(&win, (int)(round % mt_size), 0);
        if ((round + mt_rank) % 3 == 0) {
            lock_and_change(&win, 0);
        } else {
            lock_and_compare(&win, 0, (round + mt_rank) % 3 == 1);
        }
        if (round % 4 == 0) {
            lock_several(&win);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int slot = 0; slot <= 3; slot += 3) {
        int64_t sum = 0;

        for (int r = 0; r < mt_size; r++) {
            MPI_Win_lock(MPI_LOCK_SHARED, r, 0, win.win);
            MPI_Get(&value, 1, MPI_INT64_T, r, slot, 1, MPI_INT64_T, win.win);
            MPI_Win_unlock(r, win.win);
            sum += value;
        }
        if (sum != ((slot == 0) ? rounds : (rounds + 3) / 4 * mt_size) * mt_size) {
            mt_fail("%ld changes under locks are there", (long)sum);
        }
    }
    win_free(&win);
}

void check_progress(win_kind_t kind, long rounds)
{
    const int length = 1 << 20;
    win_t win        = win_make(MPI_COMM_WORLD, 64, 8, kind, 0);
    char *out        = mt_buf_alloc((size_t)length);
    char *in         = mt_buf_alloc((size_t)length);
    int partner      = mt_rank ^ 1;
    MPI_Request request;

    for (long round = 0; (round < rounds) && (partner < mt_size); round++) {
        int has_lock = (mt_rank % 2) == (round % 2);
        int target   = mt_rank & ~1;

        mt_stage("messages while a rank waits for a lock, round %ld", round);
        mt_fill(out, (size_t)length, mt_key((uint64_t)mt_rank, (uint64_t)round, 7, 7));
        if (has_lock) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win.win);
        } else {
            MPI_Irecv(in, length, MPI_BYTE, partner, 8, MPI_COMM_WORLD, &request);
        }
        MPI_Sendrecv(NULL, 0, MPI_BYTE, partner, 9, NULL, 0, MPI_BYTE, partner, 9,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (has_lock) { /* ends only if the other one progresses */
            MPI_Ssend(out, length, MPI_BYTE, partner, 8, MPI_COMM_WORLD);
            MPI_Win_unlock(target, win.win);
        } else {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win.win);
            MPI_Win_unlock(target, win.win);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            mt_expect(in, (size_t)length,
                      mt_key((uint64_t)partner, (uint64_t)round, 7, 7), partner, 8);
        }
    }
    free(out);
    free(in);
    win_free(&win);
}

/* Tickets by fetch_and_op: each number is given once. */
static void take_tickets(const win_t *win, long rounds)
{
    long all       = rounds * mt_size;
    char *mine     = mt_buf_alloc((size_t)all);
    char *taken    = mt_buf_alloc((size_t)all);
    int64_t ticket = 0, one = 1;

    mt_stage("tickets");
    MPI_Win_lock_all(0, win->win);
    for (long i = 0; i < rounds; i++) {
        MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, 0, MPI_SUM, win->win);
        MPI_Win_flush(0, win->win);
        if ((ticket < 0) || (ticket >= all)) {
            mt_fail("ticket %ld of %ld", (long)ticket, all);
        }
        mine[ticket]++;
    }
    MPI_Win_unlock_all(win->win);
    MPI_Reduce(mine, taken, (int)all, MPI_SIGNED_CHAR, MPI_SUM, 0, MPI_COMM_WORLD);
    for (long i = 0; (mt_rank == 0) && (i < all); i++) {
        if (taken[i] != 1) {
            mt_fail("ticket %ld was given %d times", i, taken[i]);
        }
    }
    free(mine);
    free(taken);
}

/* A lock by compare_and_swap, around a number that is changed without an atomic. */
static void swap_in_turn(const win_t *win, long rounds)
{
    int target = mt_size - 1;
    int free_ = 0, mine = mt_rank + 1, old;
    int64_t value;

    mt_stage("compare and swap");
    MPI_Win_lock_all(0, win->win);
    for (long i = 0; i < rounds; i++) {
        do {
            MPI_Compare_and_swap(&mine, &free_, &old, MPI_INT, target, 1, win->win);
            MPI_Win_flush(target, win->win);
            if (old != 0) {
                mt_idle();
            }
        } while (old != 0);
        MPI_Get(&value, 1, MPI_INT64_T, target, 2, 1, MPI_INT64_T, win->win);
        MPI_Win_flush(target, win->win);
        value++;
        MPI_Put(&value, 1, MPI_INT64_T, target, 2, 1, MPI_INT64_T, win->win);
        MPI_Win_flush(target, win->win);
        MPI_Compare_and_swap(&free_, &mine, &old, MPI_INT, target, 1, win->win);
        MPI_Win_flush(target, win->win);
        if (old != mine) {
            mt_fail("the lock of rank %d is taken by %d", mt_rank, old - 1);
        }
    }
    MPI_Win_unlock_all(win->win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win->win);
    MPI_Get(&value, 1, MPI_INT64_T, target, 2, 1, MPI_INT64_T, win->win);
    MPI_Win_unlock(target, win->win);
    if (value != rounds * mt_size) {
        mt_fail("%ld changes in turn are there, of %ld", (long)value, rounds * mt_size);
    }
}

void check_atomics(win_kind_t kind, long rounds)
{
    win_t win = win_make(MPI_COMM_WORLD, 3 * 8, 8, kind, 0);

    take_tickets(&win, rounds);
    swap_in_turn(&win, rounds);
    MPI_Barrier(MPI_COMM_WORLD);
    win_free(&win);
}

/* A file that all ranks see, on which rank 0 waits. @return Whether they do: a host of its own may
 * have files of its own. */
static int away_file(char *name, int size)
{
    int is_seen, all_see, fd;

    memset(name, 0, (size_t)size);
    if (mt_rank == 0) {
        snprintf(name, (size_t)size, "/tmp/ucxri-windows.XXXXXX");
        fd = mkstemp(name);
        if (fd < 0) {
            mt_fail("no file in /tmp");
        }
        close(fd);
    }
    MPI_Bcast(name, size, MPI_CHAR, 0, MPI_COMM_WORLD);
    is_seen = (access(name, F_OK) == 0);
    MPI_Allreduce(&is_seen, &all_see, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all_see;
}

void check_away(win_kind_t kind)
{
    win_t win     = win_make(MPI_COMM_WORLD, 64, 1, kind, 1);
    int64_t value = 7;
    char name[64];
    int is_there = away_file(name, sizeof(name));

    mt_stage("rank 0 is away");
    if ((mt_rank == 0) && is_there) {
        while (access(name, F_OK) == 0) { /* without MPI */
            usleep(1000);
        }
    } else if ((mt_rank == 1) && is_there) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win.win);
        MPI_Put(&value, 1, MPI_INT64_T, 2, 0, 1, MPI_INT64_T, win.win);
        MPI_Win_unlock(2, win.win);
        MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win.win);
        MPI_Accumulate(&value, 1, MPI_INT64_T, 2, 0, 1, MPI_INT64_T, MPI_SUM, win.win);
        MPI_Win_unlock(2, win.win);
        unlink(name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mt_rank == 0) {
        unlink(name);
    }
    win_free(&win);
}
