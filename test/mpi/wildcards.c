/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any-source receives from several ranks, mixed with exact ones and probe loops.
 *
 * Run: mpiexec -n 3..4 wildcards [--seed N] [--iters ROUNDS] [--messages N]
 *
 * In each round one rank receives from all others. A receive that names source and tag
 * uses a tag that no wildcard of that round can take before it, so that every receive has
 * a message. Messages of one source and tag must come in order; which source a wildcard
 * gets is free.
 */

#include "mpitest.h"

#include <stdlib.h>

enum {
    TAG_WILD  = 10,
    TAG_EXACT = 20,
    MAX_RANKS = 64
};
enum {
    HOW_IRECV,
    HOW_RECV,
    HOW_IPROBE,
    HOW_IMPROBE,
    HOW_MIXED,
    HOWS
};

static const char *const hows[HOWS] = {"Irecv", "Recv", "Iprobe", "Improbe", "mixed"};

static long iters    = 30;
static long messages = 40;
static long max_size = 256 * 1024;
static int next[MAX_RANKS][2]; /* the message due, by source and kind of tag */

static size_t message_size(int round, int src, int tag, int index)
{
    mt_rng_t rng = mt_rng(
            mt_key((uint64_t)round, (uint64_t)src, (uint64_t)tag, (uint64_t)index));

    return mt_chance(&rng, 10) ? mt_below(&rng, (uint64_t)max_size + 1) :
                                 mt_rand_size(&rng, 16384);
}

static uint64_t message_key(int round, int src, int tag, int index)
{
    return mt_key((uint64_t)round + 1000000, (uint64_t)src, (uint64_t)tag,
                  (uint64_t)index);
}

static int largest(int round, int tag)
{
    size_t max = 0;

    for (int src = 0; src < mt_size; src++) {
        for (int i = 0; i < (int)messages; i++) {
            size_t size = message_size(round, src, tag, i);

            max = (size > max) ? size : max;
        }
    }
    return (int)max;
}

static void check(int round, const char *buf, int room, MPI_Status *status)
{
    int src = status->MPI_SOURCE;
    int tag = status->MPI_TAG;
    int index;
    size_t size;

    if ((tag != TAG_WILD) && (tag != TAG_EXACT)) {
        mt_fail("a message with tag %d from %d was never sent", tag, src);
    }
    index = next[src][tag == TAG_EXACT]++;
    size  = message_size(round, src, tag, index);
    mt_expect_status(status, src, tag, size);
    mt_expect(buf, size, message_key(round, src, tag, index), src, tag);
    mt_buf_guard(buf, size, (size_t)room, src, tag);
}

/* Send both kinds alternately, by chance. */
static void send_all(int round, int root, mt_rng_t *rng)
{
    int total         = 2 * (int)messages;
    char **bufs       = mt_alloc((size_t)total * sizeof(*bufs));
    MPI_Request *reqs = mt_alloc((size_t)total * sizeof(*reqs));
    int sent[2]       = {0, 0};

    for (int i = 0; i < total; i++) {
        int exact = (sent[0] == (int)messages) ||
                    ((sent[1] < (int)messages) && mt_chance(rng, 50));
        int tag     = exact ? TAG_EXACT : TAG_WILD;
        size_t size = message_size(round, mt_rank, tag, sent[exact]);

        bufs[i] = mt_alloc(size);
        mt_fill(bufs[i], size, message_key(round, mt_rank, tag, sent[exact]));
        sent[exact]++;
        if (mt_chance(rng, 20)) {
            MPI_Issend(bufs[i], (int)size, MPI_BYTE, root, tag, MPI_COMM_WORLD, &reqs[i]);
        } else {
            MPI_Isend(bufs[i], (int)size, MPI_BYTE, root, tag, MPI_COMM_WORLD, &reqs[i]);
        }
    }
    MPI_Waitall(total, reqs, MPI_STATUSES_IGNORE);
    for (int i = 0; i < total; i++) {
        free(bufs[i]);
    }
    free(bufs);
    free(reqs);
}

static void receive_one(int round, int how, int exact_src, int room)
{
    int src = (exact_src < 0) ? MPI_ANY_SOURCE : exact_src;
    int tag = (exact_src < 0) ? TAG_WILD : TAG_EXACT;
    MPI_Message message;
    MPI_Status status;
    char *buf;
    int found = 0;

    switch (how) {
    case HOW_IPROBE:
        while (!found) {
            MPI_Iprobe(src, tag, MPI_COMM_WORLD, &found, &status);
            if (!found) {
                mt_idle();
            }
        }
        MPI_Get_count(&status, MPI_BYTE, &room);
        buf = mt_buf_alloc((size_t)room);
        MPI_Recv(buf, room, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                 &status);
        break;
    case HOW_IMPROBE:
        while (!found) {
            MPI_Improbe(src, tag, MPI_COMM_WORLD, &found, &message, &status);
            if (!found) {
                mt_idle();
            }
        }
        MPI_Get_count(&status, MPI_BYTE, &room);
        buf = mt_buf_alloc((size_t)room);
        MPI_Mrecv(buf, room, MPI_BYTE, &message, &status);
        break;
    default:
        buf = mt_buf_alloc((size_t)room);
        MPI_Recv(buf, room, MPI_BYTE, src, tag, MPI_COMM_WORLD, &status);
        break;
    }
    check(round, buf, room, &status);
    free(buf);
}

/* Receive everything with posted receives: exact and wildcard ones in random order. */
static void receive_posted(int round, mt_rng_t *rng, int *kinds, int total)
{
    MPI_Request *reqs = mt_alloc((size_t)total * sizeof(*reqs));
    char **bufs       = mt_alloc((size_t)total * sizeof(*bufs));
    int *rooms        = mt_alloc((size_t)total * sizeof(*rooms));
    MPI_Status *stats = mt_alloc((size_t)total * sizeof(*stats));

    for (int i = 0; i < total; i++) {
        int src = (kinds[i] < 0) ? MPI_ANY_SOURCE : kinds[i];
        int tag = (kinds[i] < 0) ? TAG_WILD : TAG_EXACT;

        rooms[i] = largest(round, tag) + (int)mt_below(rng, 100);
        bufs[i]  = mt_buf_alloc((size_t)rooms[i]);
        MPI_Irecv(bufs[i], rooms[i], MPI_BYTE, src, tag, MPI_COMM_WORLD, &reqs[i]);
        if (i == total / 2) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Waitall(total, reqs, stats);

    /* In the order of posting, the messages of one source and tag are in order too. */
    for (int i = 0; i < total; i++) {
        check(round, bufs[i], rooms[i], &stats[i]);
        free(bufs[i]);
    }
    free(reqs);
    free(bufs);
    free(rooms);
    free(stats);
}

/* Wildcards on source and tag that take all there is, in order by source and tag. */
static void receive_anything(int round, int total)
{
    int room  = largest(round, TAG_WILD);
    int other = largest(round, TAG_EXACT);
    MPI_Status status;
    char *buf;

    room = (other > room) ? other : room;
    for (int i = 0; i < total; i++) {
        buf = mt_buf_alloc((size_t)room);
        MPI_Recv(buf, room, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
        check(round, buf, room, &status);
        free(buf);
    }
}

static void receive_all(int round, int how, mt_rng_t *rng)
{
    int total  = 2 * (int)messages * (mt_size - 1);
    int *kinds = mt_alloc((size_t)total * sizeof(*kinds));
    int n      = 0;

    for (int src = 0; src < mt_size; src++) {
        next[src][0] = next[src][1] = 0;
        for (int i = 0; (src != mt_rank) && (i < (int)messages); i++) {
            kinds[n++] = src;
            kinds[n++] = -1;
        }
    }
    mt_shuffle(rng, kinds, total);

    if (how == HOW_IRECV) {
        receive_posted(round, rng, kinds, total);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (how == HOW_MIXED && mt_chance(rng, 50)) {
            receive_anything(round, total);
        } else {
            for (int i = 0; i < total; i++) {
                int one = (how == HOW_MIXED) ? 1 + (int)mt_below(rng, 3) : how;

                receive_one(round, one, kinds[i],
                            largest(round, (kinds[i] < 0) ? TAG_WILD : TAG_EXACT));
            }
        }
    }
    free(kinds);
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"iters", &iters, "number of rounds"},
            {"messages", &messages, "per sender, kind of tag and round"},
            {"max-size", &max_size, "largest message"},
    };

    mt_start(&argc, &argv, "wildcards", "any-source receives and probe loops", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 2);
    if (mt_size > MAX_RANKS) {
        mt_skip("at most %d ranks", MAX_RANKS);
    }

    for (int round = 0; round < (int)iters; round++) {
        mt_rng_t rng = mt_rng(mt_key((uint64_t)round, (uint64_t)mt_rank, 7, 7));
        int root     = round % mt_size;
        int how      = (round / mt_size) % HOWS;

        mt_stage("round %d: rank %d receives with %s", round, root, hows[how]);
        if (mt_rank == root) {
            receive_all(round, how, &rng);
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
            send_all(round, root, &rng);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return mt_pass("rounds=%ld messages=%ld:", iters, messages);
}
