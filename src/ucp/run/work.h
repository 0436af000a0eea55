/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Work of progress besides its usual looks, when there is attention (worker_progress.c): the only
 * list of it. Whoever has something to be done sets worker->attention, and has a line here with two
 * functions: whether there is something, and one that gets on with it. The first is asked before
 * each call of the second, and after a round to see whether attention is still needed; so it should
 * be inline and look at a word or two. The second calls back: what a later line is about may be
 * gone when it is asked.
 *
 * The order is that of the calls: messages that wait for room go before what was asked for after
 * them, and a flush or close is looked at when these have gone.
 */
#ifndef RI_WORK_H
#define RI_WORK_H

#include "ep_op.h"
#include "pending.h"
#include "../core/activity.h"
#include "../core/conn_life.h"
#include "../link/control.h"
#include "../link/way.h"
#include "../proto/pool/pool_send.h"
#include "../proto/rtr/rtr_send_host.h"
#include "../proto/rtr/rtr.h"
#include "../proto/rtr/rtr_lost.h"
#include "../rma/posts.h"

/* name, whether there is something to be done, what does it */
/* clang-format off */
#define RI_WORKS(_w) \
    _w(full, ri_activity_was_full, ri_activity_note_progress) /* a send has found no room */ \
    _w(pending, ri_pending_has_work, ri_pending_progress) /* sends wait for room in a ring */ \
    _w(control, ri_control_has_work, ri_control_progress) /* UCX had no memory for a message */ \
    _w(ways, ri_way_has_untold, ri_way_tell_gone)         /* ends of ways are gone */ \
    _w(ep_ops, ri_ep_ops_has_work, ri_ep_ops_progress)    /* flushes and closes wait */ \
    _w(posts, ri_posts_has_work, ri_posts_progress)       /* puts by mail may not be over */ \
    _w(timeouts, ri_conn_has_timeouts, ri_conn_check_timeouts) /* peers may never answer */ \
    _w(asks, ri_control_has_asks, ri_control_progress_asks) /* peers may have to be asked */ \
    _w(rtr_send_host, ri_rtr_send_host_has_work, ri_rtr_send_host_progress) /* late RTRs */ \
    _w(rtr, ri_rtr_has_work, ri_rtr_progress)             /* receives are to be offered */ \
    _w(rtr_lost, ri_rtr_lost_has_work, ri_rtr_lost_break) /* streams may have lost a message */ \
    _w(pool_send, ri_pool_send_has_work, ri_pool_send_progress) /* UCX had no memory for data */
/* clang-format on */

#endif
