/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cancelled receives in all states, and messages that are longer than their receive.
 *
 * Run: mpiexec -n 2..4 cancel_trunc [--seed N] [--iters N]
 *
 * Ranks work in pairs: an even rank sends to the next odd one; a rank without a partner
 * takes part in barriers only. A cancelled receive must not take a message, a receive
 * that was not cancelled must have one, and the buffer of a cancelled one stays as it
 * was. A truncated receive returns MPI_ERR_TRUNCATE, its sender succeeds, and the next
 * message is intact.
 */

#include "mpitest.h"

#include <stdlib.h>
#include <string.h>

enum {
    TAG  = 3,
    NOTE = 4
};

static const size_t sizes[] = {0, 1, 8, 100, 2048, 8192, 20000, 65536, 300000, 2 << 20};

static long iters = 6;
static int peer   = -1;
static int sender;
static MPI_Comm notes;
static long cancelled, received, truncated;

static void tell(void)
{
    MPI_Send(NULL, 0, MPI_BYTE, peer, NOTE, notes);
}

static void hear(void)
{
    MPI_Recv(NULL, 0, MPI_BYTE, peer, NOTE, notes, MPI_STATUS_IGNORE);
}

static void send_one(size_t size, uint64_t key, int ssend)
{
    char *buf = mt_alloc(size);
    MPI_Request req;

    mt_fill(buf, size, key);
    if (ssend) {
        MPI_Issend(buf, (int)size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &req);
    } else {
        MPI_Isend(buf, (int)size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &req);
    }
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    free(buf);
}

static void recv_one(size_t size, uint64_t key)
{
    char *buf = mt_buf_alloc(size);
    MPI_Status status;

    MPI_Recv(buf, (int)size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &status);
    mt_expect_status(&status, peer, TAG, size);
    mt_expect(buf, size, key, peer, TAG);
    mt_buf_guard(buf, size, size, peer, TAG);
    free(buf);
}

/* Cancel and wait; returns whether the cancel took effect. */
static int cancel(MPI_Request *req, MPI_Status *status)
{
    int flag;

    MPI_Cancel(req);
    MPI_Wait(req, status);
    MPI_Test_cancelled(status, &flag);
    cancelled += flag;
    received += !flag;
    return flag;
}

/* Nothing is sent yet: the cancel must succeed, and the next receive gets the message. */
static void cancel_unmatched(size_t size, uint64_t key, int any)
{
    char *buf = mt_buf_alloc(size);
    MPI_Status status;
    MPI_Request req;

    mt_stage("cancel of an unmatched receive of %zu bytes, wildcards %d", size, any);
    if (!sender) {
        MPI_Irecv(buf, (int)size, MPI_BYTE, (any & 1) ? MPI_ANY_SOURCE : peer,
                  (any & 2) ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &req);
        if (!cancel(&req, &status)) {
            mt_fail("a receive of %zu bytes without a message was not cancelled", size);
        }
        tell();
        recv_one(size, key);
        mt_buf_guard(buf, 0, size, peer, TAG);
    } else {
        hear();
        send_one(size, key, any & 1);
    }
    free(buf);
}

/* The receive is complete: the cancel must not take effect. */
static void cancel_complete(size_t size, uint64_t key)
{
    char *buf = mt_buf_alloc(size);
    MPI_Status status;
    MPI_Request req;
    int flag = 0;

    mt_stage("cancel of a complete receive of %zu bytes", size);
    if (!sender) {
        MPI_Irecv(buf, (int)size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &req);
        tell();
        while (!flag) {
            MPI_Request_get_status(req, &flag, MPI_STATUS_IGNORE);
            if (!flag) {
                mt_idle();
            }
        }
        if (cancel(&req, &status)) {
            mt_fail("a complete receive of %zu bytes was cancelled", size);
        }
        mt_expect_status(&status, peer, TAG, size);
        mt_expect(buf, size, key, peer, TAG);
    } else {
        hear();
        send_one(size, key, 0);
    }
    free(buf);
}

/* The cancel races with the message: both ends are right, but nothing may be lost. */
static void cancel_race(size_t size, uint64_t key, mt_rng_t *rng)
{
    char *buf = mt_buf_alloc(size);
    MPI_Status status;
    MPI_Request req;
    long spins = (long)mt_below(rng, 300);
    int flag   = 0;

    mt_stage("cancel of a receive of %zu bytes while its message comes", size);
    if (!sender) {
        MPI_Irecv(buf, (int)size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &req);
        tell();
        for (long i = 0; (i < spins) && !flag; i++) {
            MPI_Request_get_status(req, &flag, MPI_STATUS_IGNORE);
        }
        if (cancel(&req, &status)) {
            if (flag) {
                mt_fail("a complete receive of %zu bytes was cancelled", size);
            }
            recv_one(size, key);
            /* Only now could a late write of the cancelled receive show. */
            mt_buf_guard(buf, 0, size, peer, TAG);
        } else {
            mt_expect_status(&status, peer, TAG, size);
            mt_expect(buf, size, key, peer, TAG);
        }
    } else {
        hear();
        send_one(size, key, (int)mt_below(rng, 2));
    }
    free(buf);
}

/* Of several posted receives, one in the middle goes; the others keep their order. */
static void cancel_middle(size_t size, uint64_t key)
{
    enum {
        COUNT = 5,
        GONE  = 2
    };
    char *bufs[COUNT];
    MPI_Request reqs[COUNT];
    MPI_Status status;

    mt_stage("cancel of one of %d receives of %zu bytes", COUNT, size);
    if (!sender) {
        for (int i = 0; i < COUNT; i++) {
            bufs[i] = mt_buf_alloc(size);
            MPI_Irecv(bufs[i], (int)size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &reqs[i]);
        }
        if (!cancel(&reqs[GONE], &status)) {
            mt_fail("a receive of %zu bytes without a message was not cancelled", size);
        }
        tell();
        for (int i = 0; i < COUNT; i++) {
            if (i != GONE) {
                MPI_Wait(&reqs[i], &status);
                mt_expect_status(&status, peer, TAG, size);
                mt_expect(bufs[i], size, key + (uint64_t)(i - (i > GONE)), peer, TAG);
            }
        }
        mt_buf_guard(bufs[GONE], 0, size, peer, TAG);
        for (int i = 0; i < COUNT; i++) {
            free(bufs[i]);
        }
    } else {
        hear();
        for (int i = 0; i < COUNT - 1; i++) {
            send_one(size, key + (uint64_t)i, 0);
        }
    }
}

/* A persistent receive can be started again after a cancel. */
static void cancel_persistent(size_t size, uint64_t key)
{
    char *buf = mt_buf_alloc(size);
    MPI_Status status;
    MPI_Request req;

    mt_stage("cancel of a persistent receive of %zu bytes", size);
    if (!sender) {
        MPI_Recv_init(buf, (int)size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &req);
        for (int i = 0; i < 2; i++) {
            MPI_Start(&req);
            if (!cancel(&req, &status)) {
                mt_fail("persistent receive of %zu bytes was not cancelled", size);
            }
        }
        MPI_Start(&req);
        tell();
        MPI_Wait(&req, &status);
        mt_expect_status(&status, peer, TAG, size);
        mt_expect(buf, size, key, peer, TAG);
        MPI_Request_free(&req);
    } else {
        hear();
        send_one(size, key, 0);
    }
    free(buf);
}

static void expect_truncate(int rc, size_t size, size_t room)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(rc, &class);
    if (class != MPI_ERR_TRUNCATE) {
        mt_fail("a message of %zu bytes in a receive of %zu gave error class %d, not "
                "MPI_ERR_TRUNCATE (%d)",
                size, room, class, MPI_ERR_TRUNCATE);
    }
    truncated++;
}

/* A message of size bytes for a receive of room bytes, early or late; then one more. */
static void truncate_one(size_t size, size_t room, uint64_t key, int early, int ssend)
{
    char *buf = mt_buf_alloc(room);
    MPI_Status status;
    MPI_Request req;
    int rc;

    mt_stage("truncation of %zu bytes to %zu, receive %s", size, room,
             early ? "early" : "late");
    if (!sender) {
        if (early) {
            MPI_Irecv(buf, (int)room, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &req);
            tell();
            rc = MPI_Wait(&req, &status);
        } else {
            MPI_Probe(peer, TAG, MPI_COMM_WORLD, &status);
            mt_expect_status(&status, peer, TAG, size);
            rc = MPI_Recv(buf, (int)room, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &status);
        }
        expect_truncate(rc, size, room);
        if ((status.MPI_SOURCE != peer) || (status.MPI_TAG != TAG)) {
            mt_fail("status of a truncated receive says source %d, tag %d; expected %d, "
                    "%d",
                    status.MPI_SOURCE, status.MPI_TAG, peer, TAG);
        }
        recv_one(size, key + 1);
        mt_buf_guard(buf, room, room, peer, TAG);
    } else {
        if (early) {
            hear();
        }
        send_one(size, key, ssend);
        send_one(size, key + 1, ssend);
    }
    free(buf);
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {{"iters", &iters, "repetitions of the racing cases"}};
    mt_rng_t rng;

    mt_start(&argc, &argv, "cancel_trunc", "cancelled and truncated receives", opts,
             MT_LEN(opts), MPI_THREAD_SINGLE, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &notes);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    sender = mt_rank % 2 == 0;
    peer   = sender ? mt_rank + 1 : mt_rank - 1;
    rng    = mt_rng(mt_key((uint64_t)mt_rank, 1, 1, 1));

    for (int i = 0; (i < MT_LEN(sizes)) && (peer < mt_size); i++) {
        uint64_t key = mt_key((uint64_t)i, (uint64_t)(mt_rank / 2), 0, 0);

        for (int any = 0; any < 4; any++) {
            cancel_unmatched(sizes[i], key + (uint64_t)any, any);
        }
        cancel_complete(sizes[i], key + 10);
        cancel_middle(sizes[i], key + 20);
        cancel_persistent(sizes[i], key + 30);
        for (long j = 0; j < iters; j++) {
            cancel_race(sizes[i], key + 100 + (uint64_t)j, &rng);
        }
        for (int j = 0; j < 4; j++) {
            if (sizes[i] > 0) {
                truncate_one(sizes[i], sizes[i] - 1, key + 200, j & 1, j & 2);
                truncate_one(sizes[i], sizes[i] / 2, key + 210, j & 1, j & 2);
                truncate_one(sizes[i], 0, key + 220, j & 1, j & 2);
            }
        }
    }

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&notes);
    if (mt_rank == 1) {
        mt_stage("counts");
        if ((cancelled == 0) || (received == 0) || (truncated == 0)) {
            mt_fail("cancelled %ld, received %ld, truncated %ld", cancelled, received,
                    truncated);
        }
    }
    MPI_Bcast(&cancelled, 1, MPI_LONG, 1, MPI_COMM_WORLD);
    MPI_Bcast(&truncated, 1, MPI_LONG, 1, MPI_COMM_WORLD);
    return mt_pass("rank 1 cancelled %ld, truncated %ld:", cancelled, truncated);
}
