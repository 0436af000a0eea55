/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The fast part is in the header. Here is what is done now and then (housekeeping), what is done
 * when there is attention, and how often stock is asked.
 */
#include "worker_progress.h"
#include "close.h"
#include "work.h"
#include "../in/channel_in.h"
#include "../in/ring_in.h"
#include "../link/gone.h"
#include "../link/net_transfer.h"
#include "../link/release.h"
#include "../link/way.h"
#include "../link/way_idle.h"
#include "../proto/coop/coop.h"
#include "../proto/rtr/rtr_notified.h"
#include "../../ucs/clock.h"
#include "../../ucs/settings.h"

#include <stddef.h>

/* Polls for which more records are expected after one came through a ring. */
#define WORKER_RING_CREDIT 1024

/* While worker->linger counts down, the network is looked at in every such call. */
#define WORKER_LINGER_STEP 32

/* Stock's progress is cheap if this number of calls take no longer than the second number, each,
 * in seconds. */
#define WORKER_STOCK_CALLS 8
#define WORKER_STOCK_CHEAP 40e-9

/* Calls of a loop that waits follow each other within some 100 ns, or some us if each finds a
 * message; a program that computes calls progress once in some 10 us, or in a millisecond. */
uint64_t ri_worker_slow_ticks = 30000;

/* A member that each call touches is in the first cache line of a worker, which begins with one. */
#define WORKER_IN_LINE(_member) \
    _Static_assert(offsetof(ri_worker_t, _member) + \
                                   sizeof(((const ri_worker_t *)NULL)->_member) <= \
                           RI_CACHE_LINE, \
                   #_member)
WORKER_IN_LINE(stock);
WORKER_IN_LINE(rings_in);
WORKER_IN_LINE(num_rings);
WORKER_IN_LINE(num_channel_ends);
WORKER_IN_LINE(num_coops);
WORKER_IN_LINE(num_transfers);
WORKER_IN_LINE(linger);
WORKER_IN_LINE(attention);
WORKER_IN_LINE(ring_credit);
WORKER_IN_LINE(countdown);
WORKER_IN_LINE(polls);
WORKER_IN_LINE(stock_skipped);
WORKER_IN_LINE(stock_credit);
WORKER_IN_LINE(stock_looks);
WORKER_IN_LINE(stock_timed);
WORKER_IN_LINE(stock_cheap);
WORKER_IN_LINE(progressing);
WORKER_IN_LINE(guarded);
WORKER_IN_LINE(observed);

/* The rest of what there may be to do is not in the list: each call of progress looks at it, and
 * how often it does so depends on the others (ri_worker_progress_full()). */
static int worker_is_under_way(const ri_worker_t *worker)
{
    return (worker->num_coops > 0) || (worker->num_transfers > 0) || (worker->linger > 0);
}

int ri_worker_has_work(ri_worker_t *worker)
{
#define WORK_IS_THERE(_name, _has_work, _progress) || _has_work(worker)
    return worker_is_under_way(worker) RI_WORKS(WORK_IS_THERE);
#undef WORK_IS_THERE
}

void ri_worker_housekeeping(ri_worker_t *worker)
{
    worker->countdown   = RI_WORKER_HOUSEKEEPING;
    worker->stock_timed = 0;
    if (worker->trace.signals != ri_trace_signals) {
        worker->trace.signals = ri_trace_signals;
        ri_trace_dump(&worker->trace, "a worker, on SIGUSR2");
    }
    ri_gone_check(worker);
    if (ri_unlikely(worker->closes.num_left > 0)) {
        ri_close_check_left(worker);
    }
    ri_way_idle_check(worker);
    if ((worker->net.rc != NULL) || (worker->net.ud != NULL)) {
        ri_net_transfer_progress(worker);
        ri_rtr_notified_progress(worker);
    }
}

/* The part of progress that is not on the fast path: the list of work.h, and housekeeping. */
static void worker_progress_slow(ri_worker_t *worker)
{
#define WORK_PROGRESS(_name, _has_work, _progress) \
    if (_has_work(worker)) { \
        _progress(worker); \
    }
    RI_WORKS(WORK_PROGRESS)
#undef WORK_PROGRESS

    if (worker->countdown == 0) {
        ri_worker_housekeeping(worker);
        ri_release_flush_due(worker);
    }
    worker->attention = ri_worker_has_work(worker);
}

/* Nothing is under way, but a sender may not have heard yet that its message was received. */
static void worker_linger(ri_worker_t *worker)
{
    if ((--worker->linger % WORKER_LINGER_STEP) == 0) {
        ri_net_transfer_progress(worker);
        ri_way_check(worker);
    }
}

/* Progress of shared memory alone takes some 10 ns; that of a network, or a system call, several
 * times as much, and would make messages through rings late. @return Number of events. */
static unsigned worker_time_stock(ri_worker_t *worker)
{
    double start   = ri_clock_now();
    unsigned count = 0;
    int i;

    for (i = 0; i < WORKER_STOCK_CALLS; ++i) {
        count += ri_stock.worker_progress(worker->stock);
    }
    worker->stock_timed = 1;
    worker->stock_cheap = (ri_clock_now() - start <
                           WORKER_STOCK_CALLS * WORKER_STOCK_CHEAP);
    return count;
}

/* The rest of a call of progress: stock's, if it is due, and work that is done now and then.
 * @return Number of events. */
static inline unsigned worker_progress_rest(ri_worker_t *worker)
{
    unsigned count = ri_worker_is_stock_due(worker) ? ri_worker_progress_stock(worker) :
                                                      0;

    if (ri_unlikely((worker->countdown == 0) || worker->attention)) {
        worker_progress_slow(worker);
    }
    if (ri_unlikely((worker->num_rings > 0) && !worker->stock_timed)) {
        count += worker_time_stock(worker);
    }
    return count;
}

/* Where something has come by way of shared memory, more is expected. @return @a count. */
static inline unsigned worker_note_events(ri_worker_t *worker, unsigned count)
{
    worker->ring_credit = (count > 0) ? WORKER_RING_CREDIT : worker->ring_credit;
    return count;
}

/* Look at everything that each call looks at while it is under way. @return Number of events. */
static ri_noinline unsigned worker_progress_under_way(ri_worker_t *worker)
{
    unsigned count = 0;

    if (worker->num_channel_ends > 0) {
        /* No reason to look for active messages less often: those overtake long writes */
        count += ri_channel_in_progress(worker);
    }

    if (worker->num_coops > 0) {
        count += worker_note_events(worker, ri_coop_progress(worker));
    }
    if (worker->num_transfers > 0) {
        count += ri_net_transfer_progress(worker);
        count += ri_rtr_notified_progress(worker);
    } else if (ri_unlikely(worker->linger > 0)) {
        worker_linger(worker);
    }
    return count;
}

/* Whether a call that has found something in a ring, and has nothing else to do, leaves stock to
 * those that follow, without a look at the clock: the application waits for the message. Not if
 * the call before it has found something, too: there may be no others for long, and stock would
 * never have its turn. */
static inline int worker_leaves_stock(ri_worker_t *worker)
{
    int is_first = worker->countdown != worker->found_at - 1;

    worker->found_at = worker->countdown;
    return is_first && (worker->stock_credit == 0) && worker->stock_timed &&
           (ri_config.progress_skip > 1);
}

unsigned ri_worker_progress_rings(ri_worker_t *worker, unsigned due)
{
    unsigned count;

    worker->progressing = 1;
    count               = worker_note_events(worker, ri_ring_in_poll(worker, due));
    if (ri_unlikely(ri_worker_is_busy(worker))) {
        count += worker_progress_under_way(worker); /* of what has just come, too */
        count += worker_progress_rest(worker);
    } else if ((count > 0) && worker_leaves_stock(worker)) {
        ++worker->counters.stock_skipped;
    } else {
        count += worker_progress_rest(worker);
    }
    worker->progressing = 0;
    return count;
}

unsigned ri_worker_progress_full(ri_worker_t *worker)
{
    unsigned count = ri_serve();

    /* A callback may call progress, against UCX's rules: rings are in the middle of a
     * record then, and stock has to see to itself. */
    if (ri_unlikely(worker->progressing)) {
        return count + ri_stock.worker_progress(worker->stock);
    }

    worker->progressing = 1;
    worker->countdown -= (worker->countdown > 0);
    if (worker->num_rings > 0) {
        ++worker->polls;
        count += worker_note_events(worker, ri_ring_in_poll_all(worker));
    }
    count += worker_progress_under_way(worker);
    count += worker_progress_rest(worker);
    worker->progressing = 0;
    return count;
}
