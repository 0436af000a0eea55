/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of a worker: its order of work, and what is looked at how often. The fast path is
 * inline.
 */
#ifndef RI_WORKER_PROGRESS_H
#define RI_WORKER_PROGRESS_H

#include "../../ucs/settings.h"
#include "../../ucs/stock.h"
#include "../core/worker.h"
#include "../in/ring_in.h"
#include "../rma/serve.h"
#include "../rma/window_net.h"
#include "../../ucs/clock.h"

/* Progress calls between rounds of housekeeping. */
#define RI_WORKER_HOUSEKEEPING 65536

/** All of ri_worker_progress(), whatever there is to do. Called by a callback of progress, it only
 * serves other processes and calls stock's. Calls back. @return Number of events, own and
 * stock's. */
unsigned ri_worker_progress_full(ri_worker_t *worker);

/** Progress of a worker of whose rings @a due is what ri_ring_in_find_due() says, and not 0;
 * nothing else is known to be under way. Calls back. @return Number of events, own and stock's. */
unsigned ri_worker_progress_rings(ri_worker_t *worker, unsigned due);

/** @return Whether there is own work that only progress gets on with: something is queued,
 * or a time-out is running. */
int ri_worker_has_work(ri_worker_t *worker);

/**
 * Do now what is otherwise done once in thousands of progress calls: a trace that was asked for by
 * signal, looks for peers that are gone, for conns that were left and are not needed any more, and
 * for idle ways, and transfers that have ended. Calls back.
 */
void ri_worker_housekeeping(ri_worker_t *worker);

/* Calls of stock's progress in which more is expected after it found something. */
#define RI_WORKER_STOCK_CREDIT 256

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
    return count + ri_window_net_progress();
}

/** Ticks between two calls of progress (ri_clock_ticks()), some 10 us, from which on they are not
 * those of a loop that waits. A variable for tests. */
extern uint64_t ri_worker_slow_ticks;

/** @return Whether this call of progress is one of many in a row, so that another one will look at
 * what this one does not. The clock takes as long as several looks at a ring: it is read in every
 * second call that would skip stock. */
static inline int ri_worker_is_in_loop(ri_worker_t *worker)
{
    uint64_t now, gap;

    if ((worker->stock_skipped % 2) == 0) {
        return 1;
    }
    now                   = ri_clock_ticks();
    gap                   = now - worker->skipped_ticks;
    worker->skipped_ticks = now;
    return gap < ri_worker_slow_ticks;
}

/** Count a call of progress. @return Whether stock is to be looked at in it: while messages come
 * through rings it is less often, unless something comes that way as well, or calls come seldom: a
 * process that computes calls progress once in a while, and what waits for it should not wait for
 * eight calls. */
static inline int ri_worker_is_stock_due(ri_worker_t *worker)
{
    if (worker->ring_credit > 0) {
        --worker->ring_credit;
        if ((worker->stock_credit == 0) &&
            (++worker->stock_skipped < ri_config.progress_skip) &&
            ri_worker_is_in_loop(worker)) {
            ++worker->counters.stock_skipped;
            return 0;
        }
    }
    worker->stock_skipped = 0;
    return 1;
}

/** @return Whether there is work in each call of progress, or once in many calls, besides rings and
 * stock. */
static inline int ri_worker_is_busy(const ri_worker_t *worker)
{
    return ((worker->num_channel_ends | worker->num_coops | worker->num_transfers |
             worker->linger | worker->attention) != 0) ||
           (worker->countdown <= 1);
}

/** One call of progress. The worker is locked if it has a lock. Calls back; any conn or stream may
 * be gone afterwards. @return Number of events, own and stock's. */
static ri_inline unsigned ri_worker_progress(ri_worker_t *worker)
{
    unsigned count, due;

    if (ri_unlikely(ri_worker_is_busy(worker) || worker->progressing ||
                    ri_serve_is_due())) {
        return ri_worker_progress_full(worker);
    }
    --worker->countdown;
    worker->polls += (worker->num_rings > 0);
    due = ri_ring_in_find_due(worker, worker->num_rings);
    if (ri_unlikely(due > 0)) {
        return ri_worker_progress_rings(worker, due);
    }
    if (!ri_worker_is_stock_due(worker)) {
        return 0;
    }
    worker->progressing = 1;
    count               = ri_worker_progress_stock(worker);
    worker->progressing = 0;
    return count;
}

#endif
