/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Thousands of posted receives and thousands of unexpected messages.
 *
 * Run: mpiexec -n 2..4 many_requests [--seed N] [--count N]
 *
 * Every rank receives from its left neighbour and sends to its right one, all receives
 * first or all sends first, with one tag or a tag for each message, completed in many
 * orders and by Wait, Waitany, Waitsome, Testsome and Waitall. The time that matching
 * takes must not explode with the number: the runner's limit is the check.
 */

#include "mpitest.h"

#include <stdlib.h>

enum {
    FORWARD,
    REVERSE,
    RANDOM,
    ORDERS
};
enum {
    WAIT,
    WAITANY,
    WAITSOME,
    TESTSOME,
    WAITALL,
    METHODS
};

static const char *const orders[ORDERS]   = {"forward", "reverse", "random"};
static const char *const methods[METHODS] = {"Wait", "Waitany", "Waitsome", "Testsome",
                                             "Waitall"};
static long count                         = 10000;
static int left, right;
static char *send_buf, *recv_buf;
static MPI_Request *send_reqs, *recv_reqs;
static MPI_Status *statuses;
static int *list, *done;

enum {
    SLOT = 72
}; /* bytes per message in the buffers; messages are up to 64 */

static size_t size_of(int index)
{
    return mt_key((uint64_t)index, 5, 5, 5) % 65;
}

static void order_list(mt_rng_t *rng, int order)
{
    for (int i = 0; i < (int)count; i++) {
        list[i] = (order == REVERSE) ? (int)count - 1 - i : i;
    }
    if (order == RANDOM) {
        mt_shuffle(rng, list, (int)count);
    }
}

static void post_receives(int one_tag)
{
    for (int i = 0; i < (int)count; i++) {
        int index = one_tag ? i : list[i];

        MPI_Irecv(recv_buf + (size_t)index * SLOT, 64, MPI_BYTE, left,
                  one_tag ? 1 : index, MPI_COMM_WORLD, &recv_reqs[index]);
    }
}

static void start_sends(int one_tag, uint64_t key)
{
    for (int i = 0; i < (int)count; i++) {
        int index = one_tag ? i : list[i];
        char *buf = send_buf + (size_t)index * SLOT;

        mt_fill(buf, size_of(index), key + (uint64_t)(mt_rank * 100000 + index));
        MPI_Isend(buf, (int)size_of(index), MPI_BYTE, right, one_tag ? 1 : index,
                  MPI_COMM_WORLD, &send_reqs[index]);
    }
}

static void check(int index, int one_tag, uint64_t key, MPI_Status *status)
{
    char *buf = recv_buf + (size_t)index * SLOT;

    mt_expect_status(status, left, one_tag ? 1 : index, size_of(index));
    mt_expect(buf, size_of(index), key + (uint64_t)(left * 100000 + index), left,
              one_tag ? 1 : index);
}

static void complete(int method, int one_tag, uint64_t key)
{
    int remaining = (int)count;
    int n, index;

    switch (method) {
    case WAIT:
        for (int i = 0; i < (int)count; i++) {
            MPI_Wait(&recv_reqs[list[i]], &statuses[0]);
            check(list[i], one_tag, key, &statuses[0]);
        }
        break;
    case WAITANY:
        /* Waitany looks at the whole array each time: a window keeps this linear. */
        for (int base = 0; base < (int)count; base += 100) {
            int part = ((int)count - base < 100) ? (int)count - base : 100;

            for (int i = 0; i < part; i++) {
                MPI_Waitany(part, recv_reqs + base, &index, &statuses[0]);
                check(base + index, one_tag, key, &statuses[0]);
            }
        }
        break;
    case WAITALL:
        MPI_Waitall((int)count, recv_reqs, statuses);
        for (int i = 0; i < (int)count; i++) {
            check(i, one_tag, key, &statuses[i]);
        }
        break;
    default:
        while (remaining > 0) {
            if (method == WAITSOME) {
                MPI_Waitsome((int)count, recv_reqs, &n, done, statuses);
            } else {
                MPI_Testsome((int)count, recv_reqs, &n, done, statuses);
            }
            if (n == MPI_UNDEFINED) {
                mt_fail("%d receives are missing, and no request is active", remaining);
            }
            for (int i = 0; i < n; i++) {
                check(done[i], one_tag, key, &statuses[i]);
            }
            remaining -= n;
            if (n == 0) {
                mt_idle();
            }
        }
        break;
    }

    for (int i = 0; i < (int)count; i++) {
        if (recv_reqs[i] != MPI_REQUEST_NULL) {
            mt_fail("request %d is still active", i);
        }
    }
    MPI_Waitall((int)count, send_reqs, MPI_STATUSES_IGNORE);
}

static void run(int index, int expected, int one_tag, int order, int method)
{
    mt_rng_t rng = mt_rng(mt_key((uint64_t)index, (uint64_t)mt_rank, 0, 0));
    uint64_t key = mt_key((uint64_t)index, 0, 1, 0);

    mt_stage("%ld receives %s, %s, %s order, %s", count,
             expected ? "before the sends" : "after the sends",
             one_tag ? "one tag" : "a tag each", orders[order], methods[method]);
    if (expected) {
        order_list(&rng, mt_chance(&rng, 50) ? RANDOM : FORWARD);
        post_receives(one_tag);
        MPI_Barrier(MPI_COMM_WORLD);
        order_list(&rng, order);
        start_sends(one_tag, key);
    } else {
        order_list(&rng, FORWARD);
        start_sends(one_tag, key);
        MPI_Barrier(MPI_COMM_WORLD);
        order_list(&rng, order);
        post_receives(one_tag);
    }
    order_list(&rng, order);
    complete(method, one_tag, key);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {{"count", &count, "outstanding messages per rank"}};
    size_t n;
    int index = 0;

    mt_start(&argc, &argv, "many_requests", "long queues", opts, MT_LEN(opts),
             MPI_THREAD_SINGLE, 2);
    n         = (size_t)count;
    left      = (mt_rank + mt_size - 1) % mt_size;
    right     = (mt_rank + 1) % mt_size;
    send_buf  = mt_alloc(n * SLOT);
    recv_buf  = mt_alloc(n * SLOT);
    send_reqs = mt_alloc(n * sizeof(*send_reqs));
    recv_reqs = mt_alloc(n * sizeof(*recv_reqs));
    statuses  = mt_alloc(n * sizeof(*statuses));
    list      = mt_alloc(n * sizeof(*list));
    done      = mt_alloc(n * sizeof(*done));

    for (int expected = 0; expected < 2; expected++) {
        for (int one_tag = 0; one_tag < 2; one_tag++) {
            for (int order = 0; order < ORDERS; order++) {
                run(index, expected, one_tag, order, index % METHODS);
                index++;
            }
        }
    }
    for (int method = 0; method < METHODS; method++) {
        run(index++, 1, method % 2, REVERSE, method);
    }

    free(send_buf);
    free(recv_buf);
    free(send_reqs);
    free(recv_reqs);
    free(statuses);
    free(list);
    free(done);
    return mt_pass("count=%ld:", count);
}
