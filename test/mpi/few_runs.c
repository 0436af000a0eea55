/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Long messages of types of long runs: a few ones anywhere, as arrays of a structure that lie apart, or
 * many at regular places, as blocks of an array of three dimensions. A network can move such data
 * without a copy. Gaps between the runs stay as they are.
 *
 * Run: mpiexec -n 2..8 few_runs [--seed N] [--iters ROUNDS]
 *
 * In each round every rank sends messages of one type to the next rank, which receives them in
 * another type, posted before or after, and one of no data. Some receives are contiguous, and some
 * have room for more.
 *
 * With --early N, rank 1 then receives messages of N types, in runs of unequal lengths, and computes
 * after it has posted each receive. Most of the data has to come meanwhile, without a call of MPI.
 */

#include "mpitest.h"

#include <stdlib.h>
#include <string.h>

enum {
    FEW_MAX  = 20, /* more than can be listed */
    RUNS_MAX = 400,
    LONG_MIN = 8192, /* the shortest run that a receiver within a host offers */
    GRID     = 8192, /* the longest run of a grid: many messages have a multiple of it */
    MESSAGES = 3,    /* of a type: Open MPI's are looked at when they are used again */
    GAP_BYTE = 0x5a,
    TAG      = 3
};

static long iters = 30;
static long early;

/* Runs in the order of their bytes in the message. */
typedef struct {
    int count;
    int lengths[RUNS_MAX];
    MPI_Aint places[RUNS_MAX];
    size_t bytes; /* of the message */
    size_t hull;
    MPI_Datatype type;
} runs_t;

/* Cut @a bytes into up to @a max runs and place them in any order, with gaps. What may be in one run
 * only is contiguous. */
static runs_t runs_make(mt_rng_t *rng, size_t bytes, uint64_t max)
{
    runs_t runs = {.count = 1 + (int)mt_below(rng, max), .bytes = bytes};
    int order[RUNS_MAX];
    size_t left = bytes;

    for (int i = 0; i < runs.count; i++) {
        size_t even = left / (size_t)(runs.count - i);

        runs.lengths[i] = (int)((i + 1 == runs.count) ? left : even - mt_below(rng, 500));
        left -= (size_t)runs.lengths[i];
        order[i] = i;
    }
    mt_shuffle(rng, order, runs.count);
    for (int i = 0; i < runs.count; i++) {
        runs.hull += ((max > 1) && mt_chance(rng, 80)) ? mt_below(rng, 6000) : 0;
        runs.places[order[i]] = (MPI_Aint)runs.hull;
        runs.hull += (size_t)runs.lengths[order[i]];
    }
    runs.hull += 100;
    MPI_Type_create_hindexed(runs.count, runs.lengths, runs.places, MPI_BYTE, &runs.type);
    MPI_Type_commit(&runs.type);
    return runs;
}

/* Cut @a bytes into runs of some 8 to 64 KB, and place them in any order, with gaps. */
static runs_t runs_make_unequal(mt_rng_t *rng, size_t bytes)
{
    runs_t runs = {.count = 0, .bytes = bytes};
    int order[RUNS_MAX];
    size_t length;

    for (size_t left = bytes; left > 0; left -= length) {
        length = LONG_MIN + mt_below(rng, mt_chance(rng, 50) ? 2000 : 57000);
        if ((left < length + LONG_MIN) || (runs.count + 1 == RUNS_MAX)) {
            length = left;
        }
        order[runs.count]          = runs.count;
        runs.lengths[runs.count++] = (int)length;
    }
    mt_shuffle(rng, order, runs.count);
    for (int i = 0; i < runs.count; i++) {
        runs.hull += mt_below(rng, 6000);
        runs.places[order[i]] = (MPI_Aint)runs.hull;
        runs.hull += (size_t)runs.lengths[order[i]];
    }
    runs.hull += 100;
    MPI_Type_create_hindexed(runs.count, runs.lengths, runs.places, MPI_BYTE, &runs.type);
    MPI_Type_commit(&runs.type);
    return runs;
}

/* Runs of one length at regular places, in planes of rows, upwards or downwards; of @a bytes, or a few
 * more. */
static runs_t runs_make_grid(mt_rng_t *rng, size_t bytes)
{
    int length   = mt_chance(rng, 50) ? GRID / 2 : GRID;
    int all      = (int)((bytes + (size_t)length - 1) / (size_t)length);
    int rows     = 1 + (int)mt_below(rng, 8);
    MPI_Aint row = length + (MPI_Aint)(mt_chance(rng, 80) ? 16 * mt_below(rng, 100) : 0);
    MPI_Aint plane = 0;
    MPI_Aint first = 0;
    runs_t runs    = {.count = 0};
    MPI_Datatype planes;
    int num;

    while (all % rows != 0) {
        rows--;
    }
    num   = all / rows;
    plane = rows * row + (MPI_Aint)mt_below(rng, 3000);
    if (mt_chance(rng, 30)) { /* from the last plane on */
        first = (num - 1) * plane;
        plane = -plane;
    }
    for (int i = 0; i < all; i++) {
        runs.lengths[i] = length;
        runs.places[i]  = first + i / rows * plane + i % rows * row;
    }
    runs.count = all;
    runs.bytes = (size_t)all * (size_t)length;
    runs.hull  = (size_t)(num * (plane < 0 ? -plane : plane) + 100);
    MPI_Type_create_hvector(rows, length, row, MPI_BYTE, &planes);
    MPI_Type_create_hvector(num, 1, plane, planes, &runs.type);
    MPI_Type_free(&planes);
    planes = runs.type;
    MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){first}, planes, &runs.type);
    MPI_Type_free(&planes);
    MPI_Type_commit(&runs.type);
    return runs;
}

static char *runs_memory(const runs_t *runs)
{
    char *memory = mt_alloc(runs->hull);

    memset(memory, GAP_BYTE, runs->hull);
    return memory;
}

static void runs_fill(const runs_t *runs, char *memory, uint64_t key)
{
    char *packed  = mt_alloc(runs->bytes);
    size_t offset = 0;

    mt_fill(packed, runs->bytes, key);
    for (int i = 0; i < runs->count; i++) {
        memcpy(memory + runs->places[i], packed + offset, (size_t)runs->lengths[i]);
        offset += (size_t)runs->lengths[i];
    }
    free(packed);
}

/* All bytes of the memory, of which the first @a bytes of the runs have come. Clears it. */
static void runs_check(const runs_t *runs, char *memory, size_t bytes, uint64_t key)
{
    size_t offset = 0;

    for (int i = 0; (i < runs->count) && (offset < bytes); i++) {
        size_t length = (size_t)runs->lengths[i];

        length = (length > bytes - offset) ? bytes - offset : length;
        if (mt_diff_at(memory + runs->places[i], length, key, offset) >= 0) {
            mt_fail("run %d of %d is wrong", i, runs->count);
        }
        memset(memory + runs->places[i], GAP_BYTE, length);
        offset += length;
    }
    for (size_t i = 0; i < runs->hull; i++) {
        if (memory[i] != GAP_BYTE) {
            mt_fail("byte %zu is not of the message and was written", i);
        }
    }
}

/* What both sides of a message know. */
static uint64_t message_key(int round, int from, int i)
{
    return mt_key((uint64_t)round, (uint64_t)from, (uint64_t)i, 1);
}

static size_t message_bytes(int round, int from)
{
    mt_rng_t rng = mt_rng(message_key(round, from, MESSAGES));

    size_t bytes = 40000 + mt_below(&rng, mt_chance(&rng, 50) ? 200000 : 1500000);

    return mt_chance(&rng, 60) ? bytes / GRID * GRID : bytes;
}

static void run_round(int round)
{
    int to           = (mt_rank + 1) % mt_size;
    int from         = (mt_rank + mt_size - 1) % mt_size;
    mt_rng_t rng     = mt_rng(mt_key((uint64_t)round, (uint64_t)mt_rank, 7, 7));
    size_t length    = message_bytes(round, from);
    size_t sent      = message_bytes(round, mt_rank);
    size_t room      = length + (mt_chance(&rng, 30) ? 9000 : 0);
    runs_t out       = ((sent % GRID == 0) && mt_chance(&rng, 30)) ?
                               runs_make_grid(&rng, sent) :
                               runs_make(&rng, sent, mt_chance(&rng, 40) ? 1 : FEW_MAX);
    runs_t in        = mt_chance(&rng, 40) ?
                               runs_make_grid(&rng, room) :
                       mt_chance(&rng, 50) ?
                               runs_make_unequal(&rng, room) :
                               runs_make(&rng, room, mt_chance(&rng, 40) ? 1 : FEW_MAX);
    int is_early     = mt_chance(&rng, 50);
    int waits        = mt_chance(&rng,
                                 50); /* with its send, until the other side may be early */
    char *source     = runs_memory(&out);
    char *memory     = runs_memory(&in);
    MPI_Request recv = MPI_REQUEST_NULL;
    MPI_Request send;
    MPI_Status status;

    for (int i = 0; i < MESSAGES; i++) {
        mt_stage("round %d, message %d", round, i);
        runs_fill(&out, source, message_key(round, mt_rank, i));
        if (is_early) {
            MPI_Irecv(memory, 1, in.type, from, TAG, MPI_COMM_WORLD, &recv);
        }
        if (is_early || waits) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Isend(source, 1, out.type, to, TAG, MPI_COMM_WORLD, &send);
        if (!is_early && !waits) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        if (!is_early) {
            MPI_Irecv(memory, 1, in.type, from, TAG, MPI_COMM_WORLD, &recv);
        }
        MPI_Wait(&recv, &status);
        mt_expect_status(&status, from, TAG, length);
        runs_check(&in, memory, length, message_key(round, from, i));
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    mt_stage("round %d, no data", round);
    MPI_Sendrecv(source, 0, out.type, to, TAG, memory, 0, in.type, from, TAG,
                 MPI_COMM_WORLD, &status);
    mt_expect_status(&status, from, TAG, 0);
    MPI_Type_free(&out.type);
    MPI_Type_free(&in.type);
    free(source);
    free(memory);
}

/* Compute until the last byte of a receive is there, or for 2 s. @return Whether it is. */
static int early_computes(const runs_t *in, const char *memory, uint64_t key)
{
    const volatile char *last = memory + in->places[in->count - 1] +
                                in->lengths[in->count - 1] - 1;
    double until = MPI_Wtime() + 2;
    char *packed = mt_alloc(in->bytes);
    char wanted;

    mt_fill(packed, in->bytes, key);
    wanted = packed[in->bytes - 1];
    free(packed);
    while ((*last != wanted) && (MPI_Wtime() < until)) {}
    return *last == wanted;
}

/* A message of rank 0, @a number counts those of its types. @return Whether it came while rank 1
 * computed; of the first one, which tells Open MPI's types, that is not tried. */
static int early_message(const runs_t *in, char *memory, const runs_t *out, char *source,
                         int number)
{
    uint64_t key  = mt_key((uint64_t)number, in->bytes, 5, 5);
    int is_there  = 0;
    int is_posted = 0;
    MPI_Request recv;

    mt_stage("early message %d", number);
    if (mt_rank == 0) {
        runs_fill(out, source, key);
        MPI_Recv(&is_posted, 1, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(source, 1, out->type, 1, TAG, MPI_COMM_WORLD);
    } else if (mt_rank == 1) {
        MPI_Irecv(memory, 1, in->type, 0, TAG, MPI_COMM_WORLD, &recv);
        MPI_Send(&is_posted, 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD);
        is_there = (number > 0) && early_computes(in, memory, key);
        MPI_Wait(&recv, MPI_STATUS_IGNORE);
        runs_check(in, memory, in->bytes, key);
    }
    return is_there;
}

static void run_early(void)
{
    mt_rng_t rng = mt_rng(mt_key(1, 2, 3, 4));
    int there    = 0;

    for (int i = 0; i < (int)early; i++) {
        size_t bytes = 300000 + mt_below(&rng, 1000000);
        runs_t in    = runs_make_unequal(&rng, bytes);
        runs_t out   = runs_make(&rng, bytes, mt_chance(&rng, 50) ? 1 : FEW_MAX);
        char *source = runs_memory(&out);
        char *memory = runs_memory(&in);

        for (int k = 0; k < MESSAGES; k++) {
            there += early_message(&in, memory, &out, source, k);
        }
        MPI_Type_free(&out.type);
        MPI_Type_free(&in.type);
        free(source);
        free(memory);
    }
    if ((mt_rank == 1) && (there < early * (MESSAGES - 1) / 2)) {
        mt_fail("%d of %ld messages came while their receiver computed", there,
                early * (MESSAGES - 1));
    }
}

int main(int argc, char **argv)
{
    static const mt_opt_t opts[] = {
            {"iters", &iters, "rounds, each with new types"},
            {"early", &early, "types in which rank 1 then receives while it computes"}};

    mt_start(&argc, &argv, "few_runs", "long messages of long runs", opts, MT_LEN(opts),
             MPI_THREAD_SINGLE, 2);
    for (int round = 0; round < (int)iters; round++) {
        run_round(round);
    }
    run_early();
    return mt_pass("%ld rounds", iters);
}
