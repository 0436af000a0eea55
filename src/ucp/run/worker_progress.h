/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of a worker: its order of work, and what is looked at how often. The fast path is
 * inline.
 */
#ifndef RI_WORKER_PROGRESS_H
#define RI_WORKER_PROGRESS_H

#include "../../ucs/stock.h"
#include "../core/worker.h"
#include "../rma/serve.h"

/* Progress calls between rounds of housekeeping. */
#define RI_WORKER_HOUSEKEEPING 65536

/** Progress of a worker with rings, or with work that is not on the fast path. Called by a callback
 * of progress, it only calls stock's. Calls back. @return Number of events, own and stock's. */
unsigned ri_worker_progress_full(ri_worker_t *worker);

/** @return Whether there is own work that only progress gets on with: something is queued,
 * or a time-out is running. */
int ri_worker_has_work(ri_worker_t *worker);

/**
 * Do now what is otherwise done once in thousands of progress calls: a trace that was asked for by
 * signal, looks for peers that are gone, for conns that were left and are not needed any more, and
 * for idle ways, and transfers that have ended. Calls back.
 */
void ri_worker_housekeeping(ri_worker_t *worker);

/* After stock's progress found something, more is expected there for so many calls. */
#define RI_WORKER_STOCK_CREDIT 256

/** @return Whether nothing is to be done about any ring that peers send into. */
static inline int ri_worker_rings_are_quiet(const ri_worker_t *worker)
{
    unsigned i;

    for (i = 0; i < worker->num_rings; ++i) {
        const ri_stream_t *stream = worker->rings_in[i];

        /* What its ring points to: the fewer loads wait for each other, the better */
        if ((ri_ring_rx_peek(&stream->ring_memory) != NULL) ||
            (stream->ring_state == RI_STREAM_RING_DEAD)) {
            return 0;
        }
    }
    return 1;
}

/* Stock's progress is called so often in a call; more often in one that waits for nothing else. */
#define RI_WORKER_STOCK_LOOKS      2
#define RI_WORKER_STOCK_LOOKS_WAIT 8

/** Call stock's progress; several times where it costs little and more is expected, which makes up
 * for what it takes to look at the rings. It calls back. @return Number of its events. */
static inline unsigned ri_worker_progress_stock(ri_worker_t *worker)
{
    unsigned count = ri_stock.worker_progress(worker->stock);
    unsigned looks = worker->stock_looks;

    if (worker->stock_credit > 0) {
        --worker->stock_credit;
        for (; (looks > 1) && (count == 0); --looks) {
            count = ri_stock.worker_progress(worker->stock);
        }
    }
    if (ri_unlikely(count > 0)) {
        worker->stock_credit = worker->stock_cheap ? RI_WORKER_STOCK_CREDIT : 0;
    }
    return count;
}

/** One call of progress. The worker is locked if it has a lock. Calls back; any conn or stream may
 * be gone afterwards. @return Number of events, own and stock's. */
static inline unsigned ri_worker_progress(ri_worker_t *worker)
{
    unsigned served = ri_serve();
    unsigned count;

    if (ri_unlikely(((worker->num_channels | worker->num_coops | worker->num_transfers |
                      worker->linger | worker->ring_credit | worker->attention) != 0) ||
                    worker->progressing || (worker->countdown <= 1) ||
                    !ri_worker_rings_are_quiet(worker))) {
        return served + ri_worker_progress_full(worker);
    }
    --worker->countdown;
    worker->polls += (worker->num_rings > 0);
    worker->progressing = 1;
    count               = ri_worker_progress_stock(worker);
    worker->progressing = 0;
    return served + count;
}

#endif
