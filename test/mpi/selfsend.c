/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages of a rank to itself, by its own rank and by MPI_COMM_SELF.
 *
 * Run: mpiexec -n 1..4 selfsend [--seed N] [--iters N]
 *
 * All ways to receive, before and after the send, all sizes around the thresholds, and
 * cancels and order with both tags in use.
 */

#include "mpitest.h"

#include <stdlib.h>

enum {
    BURST = 32
};
enum {
    HOW_IRECV,
    HOW_RECV,
    HOW_MPROBE,
    HOW_PROBE,
    HOW_SENDRECV,
    HOWS
};

static const size_t sizes[] = {0,    1,    7,    8,     64,    256,    1024,    4096,
                               8000, 8192, 8193, 16384, 65536, 262144, 1 << 20, 4 << 20};
static const char *const hows[HOWS] = {"Irecv", "Recv", "Mprobe", "Probe", "Sendrecv"};

static long iters = 2;

static void run(MPI_Comm comm, size_t size, int how, int wild, int ssend, uint64_t key)
{
    char *out = mt_alloc(size);
    char *in  = mt_buf_alloc(size);
    int me, src, tag;
    MPI_Request send_req, recv_req = MPI_REQUEST_NULL;
    MPI_Message message;
    MPI_Status status;

    MPI_Comm_rank(comm, &me);
    src = wild ? MPI_ANY_SOURCE : me;
    tag = wild ? MPI_ANY_TAG : 9;
    mt_stage("%zu bytes to itself, %s, wildcards %d, synchronous %d, %s", size, hows[how],
             wild, ssend, (comm == MPI_COMM_SELF) ? "COMM_SELF" : "own rank");
    mt_fill(out, size, key);
    if (how == HOW_SENDRECV) {
        MPI_Sendrecv(out, (int)size, MPI_BYTE, me, 9, in, (int)size, MPI_BYTE, src, tag,
                     comm, &status);
    } else {
        if (how == HOW_IRECV) {
            MPI_Irecv(in, (int)size, MPI_BYTE, src, tag, comm, &recv_req);
        }
        if ((how == HOW_IRECV) && ssend) {
            MPI_Ssend(out, (int)size, MPI_BYTE, me, 9, comm);
            send_req = MPI_REQUEST_NULL;
        } else if (ssend) {
            MPI_Issend(out, (int)size, MPI_BYTE, me, 9, comm, &send_req);
        } else {
            MPI_Isend(out, (int)size, MPI_BYTE, me, 9, comm, &send_req);
        }
        if (how == HOW_MPROBE) {
            MPI_Mprobe(src, tag, comm, &message, &status);
            mt_expect_status(&status, me, 9, size);
            MPI_Mrecv(in, (int)size, MPI_BYTE, &message, &status);
        } else if (how == HOW_IRECV) {
            MPI_Wait(&recv_req, &status);
        } else {
            if (how == HOW_PROBE) {
                MPI_Probe(src, tag, comm, &status);
                mt_expect_status(&status, me, 9, size);
            }
            MPI_Recv(in, (int)size, MPI_BYTE, src, tag, comm, &status);
        }
        MPI_Wait(&send_req, MPI_STATUS_IGNORE);
    }

    mt_expect_status(&status, me, 9, size);
    mt_expect(in, size, key, me, 9);
    mt_buf_guard(in, size, size, me, 9);
    free(in);
    free(out);
}

/* A burst with one tag: half the receives early, one of them cancelled. */
static void burst(MPI_Comm comm, size_t size, uint64_t key)
{
    char *out[BURST], *in[BURST + 1];
    MPI_Request sends[BURST], recvs[BURST + 1];
    MPI_Status status;
    int me, flag;
    int gone = BURST / 4;

    MPI_Comm_rank(comm, &me);
    mt_stage("burst of %d messages of up to %zu bytes to itself", BURST, size);
    for (int i = 0; i <= BURST; i++) {
        in[i] = mt_buf_alloc(size);
    }
    for (int i = 0; i <= BURST / 2; i++) {
        MPI_Irecv(in[i], (int)size, MPI_BYTE, (i & 1) ? MPI_ANY_SOURCE : me,
                  (i & 2) ? MPI_ANY_TAG : 3, comm, &recvs[i]);
    }
    MPI_Cancel(&recvs[gone]);
    MPI_Wait(&recvs[gone], &status);
    MPI_Test_cancelled(&status, &flag);
    if (!flag) {
        mt_fail("receive without a message was not cancelled");
    }
    for (int i = 0; i < BURST; i++) {
        size_t n = size >> (i % 5);

        out[i] = mt_alloc(n);
        mt_fill(out[i], n, key + (uint64_t)i);
        MPI_Isend(out[i], (int)n, MPI_BYTE, me, 3, comm, &sends[i]);
    }
    for (int i = BURST / 2 + 1; i <= BURST; i++) {
        MPI_Irecv(in[i], (int)size, MPI_BYTE, (i & 1) ? MPI_ANY_SOURCE : me,
                  (i & 2) ? MPI_ANY_TAG : 3, comm, &recvs[i]);
    }
    for (int i = BURST; i >= 0; i--) {
        int index = i - (i > gone);

        if (i != gone) {
            MPI_Wait(&recvs[i], &status);
            mt_expect_status(&status, me, 3, size >> (index % 5));
            mt_expect(in[i], size >> (index % 5), key + (uint64_t)index, me, 3);
        }
    }
    mt_buf_guard(in[gone], 0, size, me, 3);
    MPI_Waitall(BURST, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < BURST; i++) {
        free(out[i]);
        free(in[i]);
    }
    free(in[BURST]);
}

int main(int argc, char **argv)
{
    const mt_opt_t opts[] = {{"iters", &iters, "repetitions"}};
    MPI_Comm comms[2]     = {MPI_COMM_WORLD, MPI_COMM_SELF};
    uint64_t key          = 0;

    mt_start(&argc, &argv, "selfsend", "messages to the own rank", opts, MT_LEN(opts),
             MPI_THREAD_SINGLE, 1);
    for (long i = 0; i < iters; i++) {
        for (int j = 0; j < 2 * MT_LEN(sizes); j++) {
            for (int how = 0; how < HOWS; how++) {
                for (int wild = 0; wild < 2; wild++) {
                    for (int ssend = 0; ssend < 2; ssend++) {
                        run(comms[j % 2], sizes[j / 2], how, wild, ssend,
                            mt_key(key++, (uint64_t)mt_rank, 0, 0));
                    }
                }
            }
            if (sizes[j / 2] <= 65536) {
                burst(comms[j % 2], sizes[j / 2], mt_key(key++, (uint64_t)mt_rank, 1, 0));
            }
        }
    }
    return mt_pass("messages per rank %llu:", (unsigned long long)key);
}
