/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Non-overtaking under bursts of small and large messages with the same tag.
 *
 * Run: mpiexec -n 2..4 order [--seed N] [--iters ROUNDS] [--burst N] [--max-size BYTES]
 *
 * In each round every rank sends a burst to every other rank. The receives are all posted
 * before the sends, all after them, or half and half, with the tag or with ANY_TAG. Each
 * receive must get the first message that fits and that no earlier receive got, so the
 * message of each receive is known when it is posted, whatever the timing.
 */

#include "mpitest.h"

#include <stdlib.h>

enum {
    EARLY,
    LATE,
    HALF,
    ONE_BY_ONE,
    TIMINGS
};
enum {
    NUM_TAGS = 3
};

typedef struct {
    int tag;
    size_t size;
    uint64_t key;
    int taken;
} message_t;

typedef struct {
    char *buf;
    size_t size;
    int peer, index, any_tag;
} receive_t;

static const char *const timings[TIMINGS] = {"early", "late", "half", "one by one"};

static long iters    = 25;
static long burst    = 40;
static long max_size = 1 << 20;

/* The messages of one sender to one receiver in this round, in order. */
static message_t *plan(int round, int src, int dst, size_t *largest)
{
    mt_rng_t rng   = mt_rng(mt_key((uint64_t)round, (uint64_t)src, (uint64_t)dst, 1));
    message_t *msg = mt_alloc((size_t)burst * sizeof(*msg));
    int same_tag   = mt_chance(&rng, 50);
    size_t limit   = mt_chance(&rng, 50) ? 16384 : (size_t)max_size;

    limit    = (limit > (size_t)max_size) ? (size_t)max_size : limit;
    *largest = 0;
    for (long i = 0; i < burst; i++) {
        msg[i].tag = same_tag ? 5 : 5 + (int)mt_below(&rng, NUM_TAGS);
        /* A large one among small ones is what invites overtaking. */
        msg[i].size  = mt_chance(&rng, 15) ? limit - mt_below(&rng, limit / 2 + 1) :
                                             mt_rand_size(&rng, limit / 16);
        msg[i].key   = mt_rand(&rng);
        msg[i].taken = 0;
        *largest     = (msg[i].size > *largest) ? msg[i].size : *largest;
    }
    return msg;
}

static void check(const receive_t *recv, message_t *const *plans, MPI_Status *status)
{
    const message_t *plan = plans[recv->peer];
    const message_t *msg  = &plan[recv->index];
    int count;

    MPI_Get_count(status, MPI_BYTE, &count);
    for (long i = 0; i < burst; i++) {
        if ((i != recv->index) && (plan[i].size == (size_t)count) && (count > 3) &&
            (mt_diff(recv->buf, (size_t)count, plan[i].key) < 0)) {
            mt_fail("order: message %ld of peer %d (tag %d, size %d) came for number %d "
                    "(tag %d, size %zu) in a receive with %s tag",
                    i, recv->peer, plan[i].tag, count, recv->index, msg->tag, msg->size,
                    recv->any_tag ? "any" : "exact");
        }
    }
    mt_expect_status(status, recv->peer, msg->tag, msg->size);
    mt_expect(recv->buf, msg->size, msg->key, recv->peer, msg->tag);
    mt_buf_guard(recv->buf, msg->size, recv->size, recv->peer, msg->tag);
    free(recv->buf);
}

/* Decide what to receive from this peer, and note which message that has to bring. */
static void choose(mt_rng_t *rng, message_t *plan, size_t largest, int peer,
                   receive_t *recv)
{
    long first = 0;
    long i;

    while (plan[first].taken) {
        first++;
    }

    recv->peer    = peer;
    recv->any_tag = mt_chance(rng, 40);
    recv->index   = (int)first;
    if (!recv->any_tag) {
        /* The tag of any message to come; the first with this tag is the one due. */
        i = first + (long)mt_below(rng, (uint64_t)(burst - first));
        while (plan[recv->index].taken ||
               (plan[recv->index].tag != plan[plan[i].taken ? first : i].tag)) {
            recv->index++;
        }
    }
    plan[recv->index].taken = 1;
    /* The exact size often: protocols differ for buffers that are larger. */
    recv->size = mt_chance(rng, 60) ? plan[recv->index].size : largest;
    recv->buf  = mt_buf_alloc(recv->size);
}

static void post(mt_rng_t *rng, message_t **plans, const size_t *largest, int peer,
                 receive_t *recv, MPI_Request *request)
{
    choose(rng, plans[peer], largest[peer], peer, recv);
    MPI_Irecv(recv->buf, (int)recv->size, MPI_BYTE, peer,
              recv->any_tag ? MPI_ANY_TAG : plans[peer][recv->index].tag, MPI_COMM_WORLD,
              request);
}

static void send_bursts(int round, mt_rng_t *rng, char **bufs, MPI_Request *requests,
                        int blocking)
{
    int n = 0;

    for (int shift = 1; shift < mt_size; shift++) {
        int peer = (mt_rank + shift) % mt_size;
        size_t largest;
        message_t *msg = plan(round, mt_rank, peer, &largest);

        for (long i = 0; i < burst; i++, n++) {
            bufs[n]     = mt_alloc(msg[i].size);
            requests[n] = MPI_REQUEST_NULL;
            mt_fill(bufs[n], msg[i].size, msg[i].key);
            if (blocking && mt_chance(rng, 30)) {
                MPI_Send(bufs[n], (int)msg[i].size, MPI_BYTE, peer, msg[i].tag,
                         MPI_COMM_WORLD);
            } else if (mt_chance(rng, 15)) {
                MPI_Issend(bufs[n], (int)msg[i].size, MPI_BYTE, peer, msg[i].tag,
                           MPI_COMM_WORLD, &requests[n]);
            } else {
                MPI_Isend(bufs[n], (int)msg[i].size, MPI_BYTE, peer, msg[i].tag,
                          MPI_COMM_WORLD, &requests[n]);
            }
        }
        free(msg);
    }
}

/* Waits for the receives of a round, of which some may have ended. */
static void wait_receives(message_t **plans, receive_t *receives, MPI_Request *reqs,
                          int total)
{
    MPI_Status status;
    int index;

    for (int i = 0; i < total; i++) {
        MPI_Waitany(total, reqs, &index, &status);
        if (index == MPI_UNDEFINED) {
            break;
        }
        check(&receives[index], plans, &status);
    }
}

static void run_round(int round)
{
    mt_rng_t rng        = mt_rng(mt_key((uint64_t)round, (uint64_t)mt_rank, 0, 2));
    int timing          = (int)(mt_key((uint64_t)round, 0, 0, 3) % TIMINGS);
    int total           = (int)burst * (mt_size - 1);
    int early           = (timing == EARLY) ? total : (timing == HALF) ? total / 2 : 0;
    message_t **plans   = mt_alloc((size_t)mt_size * sizeof(*plans));
    size_t *largest     = mt_alloc((size_t)mt_size * sizeof(*largest));
    receive_t *receives = mt_alloc((size_t)total * sizeof(*receives));
    int *peers          = mt_alloc((size_t)total * sizeof(*peers));
    char **bufs         = mt_alloc((size_t)total * sizeof(*bufs));
    MPI_Request *reqs   = mt_alloc(2 * (size_t)total * sizeof(*reqs));
    MPI_Request *out    = reqs + total;
    MPI_Status status;

    for (int i = 0; i < mt_size; i++) {
        plans[i] = plan(round, i, mt_rank, &largest[i]);
    }
    for (int i = 0; i < total; i++) {
        peers[i] = (mt_rank + 1 + i % (mt_size - 1)) % mt_size;
        reqs[i]  = MPI_REQUEST_NULL;
    }
    mt_shuffle(&rng, peers, total);

    mt_stage("round %d, receives %s", round, timings[timing]);
    for (int i = 0; i < early; i++) {
        post(&rng, plans, largest, peers[i], &receives[i], &reqs[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    send_bursts(round, &rng, bufs, out, timing == EARLY);
    if (timing == LATE) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = early; i < total; i++) {
        post(&rng, plans, largest, peers[i], &receives[i], &reqs[i]);
        if (timing == ONE_BY_ONE) {
            mt_stage("round %d, receive %d one by one", round, i);
            MPI_Wait(&reqs[i], &status);
            check(&receives[i], plans, &status);
        }
    }

    mt_stage("round %d, waiting for receives that were %s", round, timings[timing]);
    wait_receives(plans, receives, reqs, total);
    mt_stage("round %d, waiting for sends", round);
    MPI_Waitall(total, out, MPI_STATUSES_IGNORE);

    for (int i = 0; i < total; i++) {
        free(bufs[i]);
    }
    for (int i = 0; i < mt_size; i++) {
        free(plans[i]);
    }
    free(plans);
    free(largest);
    free(receives);
    free(peers);
    free(bufs);
    free(reqs);

    /* ANY_TAG receives of a slow peer must not meet messages of the next round. */
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {
            {"iters", &iters, "number of rounds"},
            {"burst", &burst, "messages per pair and round"},
            {"max-size", &max_size, "largest message"},
    };

    mt_start(&argc, &argv, "order", "no message overtakes another", opts, MT_LEN(opts),
             MPI_THREAD_SINGLE, 2);
    for (int i = 0; i < (int)iters; i++) {
        run_round(i);
    }
    return mt_pass("rounds=%ld burst=%ld:", iters, burst);
}
