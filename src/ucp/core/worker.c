/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "worker.h"
#include "../run/close.h"
#include "../run/ep_op.h"
#include "../link/gone.h"
#include "rma.h"
#include "../../ucs/settings.h"
#include "../../ucs/output.h"
#include "../../ucs/stock.h"
#include "../link/am.h"
#include "../link/bounce.h"
#include "../link/control.h"
#include "../proto/coop/coop.h"
#include "../proto/pool/hybrid.h"
#include "../link/planes.h"
#include "../proto/rtr/recv_rndv.h"
#include "../link/ring_channel.h"
#include "../proto/rndv/rndv.h"
#include "../link/rdma.h"
#include "../link/rdma_channel.h"
#include "../proto/rtr/rtr.h"
#include "../proto/rtr/rtr_message.h"
#include "../proto/rndv/ud_ends.h"
#include "../in/am_in.h"
#include "../../uct/shm/host.h"
#include "../../ucs/clock.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

/* After a record came through a ring, more are expected for so many polls. */
#define WORKER_RING_CREDIT 1024

/* Progress calls between rounds of housekeeping. */
#define WORKER_HOUSEKEEPING 65536

/* While worker->linger counts down, the network is looked at in every such call. */
#define WORKER_LINGER_STEP 32

/* Stock's progress is cheap if so many calls take no longer than that, each, in seconds. */
#define WORKER_STOCK_CALLS 8
#define WORKER_STOCK_CHEAP 40e-9

ri_map_t ri_worker_map = RI_MAP_INITIALIZER;
__thread ri_map_cache_t ri_worker_latest __attribute__((tls_model("initial-exec")));

/* Ask stock for what it made the worker as, and for the uid in its address. */
static ucs_status_t worker_query(ri_worker_t *worker)
{
    ucp_worker_attr_t attr = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE |
                                            UCP_WORKER_ATTR_FIELD_ADDRESS};
    ucp_worker_address_attr_t address_attr = {
            .field_mask = UCP_WORKER_ADDRESS_ATTR_FIELD_UID};
    ucs_status_t status;

    status = ri_stock.worker_query(worker->stock, &attr);
    if (status != UCS_OK) {
        return status;
    }
    status = ri_stock.worker_address_query(attr.address, &address_attr);
    ri_stock.worker_release_address(worker->stock, attr.address);
    worker->multi   = (attr.thread_mode == UCS_THREAD_MODE_MULTI);
    worker->timed   = ri_config.report;
    worker->guarded = worker->multi || worker->timed;
    worker->uid     = address_attr.worker_uid;
    worker->am_id   = ri_config.am_id + 1;
    return status;
}

/* Register the handler. Up to 1.16, stock leaves new slots uninitialised when the array of
 * handlers grows, so all of them are set first. The array grows to twice its length or to
 * what is asked for, whichever is more, and to an even number: the last slot comes first,
 * or there would be more behind it. */
static ucs_status_t worker_set_handler(ri_worker_t *worker)
{
    ucp_am_handler_param_t param = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                                                  UCP_AM_HANDLER_PARAM_FIELD_CB |
                                                  UCP_AM_HANDLER_PARAM_FIELD_ARG,
                                    .cb  = NULL,
                                    .arg = NULL};
    ucs_status_t status;
    unsigned count;

    if (!ri_stock_version_at_least(1, 17)) {
        for (count = (ri_config.am_id | 1) + 1; count > 0; --count) {
            param.id = count - 1;
            status   = ri_stock.worker_set_am_recv_handler(worker->stock, &param);
            if (status != UCS_OK) {
                return status;
            }
        }
    }

    param.id  = ri_config.am_id;
    param.cb  = ri_dispatch_am;
    param.arg = worker;
    return ri_stock.worker_set_am_recv_handler(worker->stock, &param);
}

static ucs_status_t worker_init_lock(ri_worker_t *worker)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&worker->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    return UCS_OK;
}

/* More than a host has processes; also bounds what a mistyped UCXRI_RING_PEERS costs. */
#define WORKER_MAX_RINGS 4096u

/* Rings generate no events, so they are not for applications that may sleep on the
 * worker's event file descriptor. */
static ucs_status_t worker_init_rings(ri_worker_t *worker)
{
    unsigned max_rings = (worker->context->features & UCP_FEATURE_WAKEUP) ?
                                 0 :
                                 ri_min(ri_config.ring_peers, WORKER_MAX_RINGS);

    worker->host  = (ri_config.ring_peers > 0) ? ri_host_id() : 0;
    worker->rings = calloc(2 * max_rings + 1, sizeof(*worker->rings));
    if (worker->rings == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    worker->max_rings = max_rings;
    return UCS_OK;
}

/* Channels generate no events either. */
static ucs_status_t worker_init_channels(ri_worker_t *worker)
{
    unsigned max = (worker->context->features & UCP_FEATURE_WAKEUP) ?
                           0 :
                           ri_min(ri_config.ib_eager_peers, WORKER_MAX_RINGS);

    ucs_list_head_init(&worker->channels_out);
    ucs_list_head_init(&worker->channels_kept);
    ucs_list_head_init(&worker->am_buffers.all);
    worker->channels_in = calloc(2 * max + 1, sizeof(*worker->channels_in));
    if (worker->channels_in == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    worker->max_channels = max;
    return UCS_OK;
}

ucs_status_t ri_worker_create(ri_context_t *context, ucp_worker_h stock,
                              ri_worker_t **worker_p)
{
    ri_worker_t *worker = calloc(1, sizeof(*worker));
    ucs_status_t status;

    if (worker == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    worker->stock       = stock;
    worker->context     = context;
    worker->countdown   = WORKER_HOUSEKEEPING;
    worker->stock_looks = RI_WORKER_STOCK_LOOKS;
    worker->gone_timer  = -1;
    worker->host_memory = (context->memory_types == UCS_BIT(UCS_MEMORY_TYPE_HOST));
    ucs_list_head_init(&worker->pending_conns);
    ucs_list_head_init(&worker->ep_ops);
    ucs_list_head_init(&worker->control);
    ucs_list_head_init(&worker->asking);
    ucs_list_head_init(&worker->to_ask);
    ucs_list_head_init(&worker->coops);
    ucs_list_head_init(&worker->ways);
    ucs_list_head_init(&worker->reads_done);
    ucs_list_head_init(&worker->reads_again);
    ucs_list_head_init(&worker->releasing);
    ucs_list_head_init(&worker->conns);
    ucs_list_head_init(&worker->streams);
    ucs_list_head_init(&worker->bounces);
    ucs_list_head_init(&worker->late_conns);
    ucs_list_head_init(&worker->rtr_queue);
    ucs_list_head_init(&worker->rtr_full);
    ucs_list_head_init(&worker->rtr_writing);
    ucs_list_head_init(&worker->rtr_notified);
    ucs_list_head_init(&worker->stalled_self);
    ri_sender_map_init(&worker->senders, context->sender_mask);
    ri_map_init(&worker->peers);
    ri_rma_init(worker);
    ri_id_table_init(&worker->conn_ids, RI_WIRE_ID_INDEX_BITS, RI_WIRE_ID_BITS);
    ri_id_table_init(&worker->stream_ids, RI_WIRE_ID_INDEX_BITS, RI_WIRE_ID_BITS);
    ri_id_table_init(&worker->req_ids, 24, 32);
    ri_id_table_init(&worker->recv_ids, 24, 32);
    ri_match_init(&worker->match);
    ri_pool_init(&worker->pool, ri_config.pool_size);
    ri_req_pool_init(worker);
    worker_init_lock(worker);

    status = worker_query(worker);
    if (status != UCS_OK) {
        goto err;
    }
    status = ri_trace_init(&worker->trace);
    if (status != UCS_OK) {
        goto err;
    }
    status = worker_init_rings(worker);
    if (status != UCS_OK) {
        goto err_trace;
    }
    status = worker_init_channels(worker);
    if (status != UCS_OK) {
        goto err_rings;
    }
    status = ri_map_put(&ri_worker_map, (uintptr_t)stock, worker);
    if (status != UCS_OK) {
        goto err_channels;
    }
    status = worker_set_handler(worker);
    if (status != UCS_OK) {
        goto err_map;
    }

    if (ri_config.report) {
        ri_report_start();
    }
    ri_planes_open(worker);
    ri_context_add_worker(context, worker);
    *worker_p = worker;
    return UCS_OK;

err_map:
    ri_map_remove(&ri_worker_map, (uintptr_t)stock);
err_channels:
    free(worker->channels_in);
err_rings:
    free(worker->rings);
err_trace:
    ri_trace_cleanup(&worker->trace);
err:
    ri_map_cleanup(&worker->peers);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
    return status;
}

void ri_worker_report(ri_worker_t *worker)
{
    FILE *stream;

    if (ri_config.stats) {
        stream = ri_output_open(ri_config.stats_dest);
        ri_worker_counters_dump(worker, stream);
        ri_output_close(stream);
    }
    if (worker->trace.entries != NULL) {
        ri_trace_dump(&worker->trace, "a worker at its end");
    }
    if (ri_config.report) {
        ri_report_add(worker);
    }
}

void ri_worker_enter_slow(ri_worker_t *worker)
{
    uint64_t now = worker->timed ? ri_report_ticks() : 0; /* waiting counts, too */

    ri_worker_lock(worker);
    if (worker->timed && (worker->calls.depth++ == 0)) {
        worker->calls.start = now;
    }
}

void ri_worker_leave_slow(ri_worker_t *worker, ri_call_t call)
{
    if (worker->timed && (--worker->calls.depth == 0)) {
        worker->calls.ticks[call] += ri_report_ticks() - worker->calls.start;
    }
    ri_worker_unlock(worker);
}

void ri_worker_destroy(ri_worker_t *worker)
{
    ri_msg_t *msg, *tmp;

    ri_worker_report(worker);
    ri_context_remove_worker(worker->context, worker);

    ri_rndv_discard_all(worker); /* as long as there are ways out */
    ri_ud_ends_worker(worker);
    ri_coop_end_all(worker);
    ri_rtr_message_end_all(worker);
    ri_rdma_channel_end_all(worker);
    ri_rdma_end_all(worker);
    ri_hybrid_flush_releases(worker);
    ri_planes_withdraw(worker); /* sends end now that a peer may be about to read */
    while (!ucs_list_is_empty(&worker->conns)) {
        ri_conn_t *conn = ucs_list_head(&worker->conns, ri_conn_t, list);

        ri_ring_channel_close(conn);
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
    }
    /* Callbacks of receives that end here may still do anything. */
    while (worker->num_rings > 0) {
        ri_ring_channel_free(worker->rings[0]);
    }
    ri_rndv_abort_all(worker, 0, UCS_ERR_CONNECTION_RESET);
    ucs_list_for_each_safe(msg, tmp, &worker->match.unexpected, list) {
        ri_match_remove_unexpected(&worker->match, msg);
        ri_msg_discard(worker, msg);
    }
    while (!ucs_list_is_empty(&worker->streams)) {
        ri_stream_destroy(ucs_list_head(&worker->streams, ri_stream_t, list));
    }
    ri_control_drop(&worker->control);
    ri_pool_unregister(&worker->pool);
    ri_planes_close(worker);
    worker->destroyed = 1;
    ri_map_remove(&ri_worker_map, (uintptr_t)worker->stock);
}

void ri_worker_free(ri_worker_t *worker)
{
    ri_gone_cleanup(worker);
    ri_map_cleanup(&worker->peers);
    ri_match_cleanup(&worker->match);
    ri_sender_map_cleanup(&worker->senders);
    ri_msg_pool_cleanup(worker);
    ri_am_buffers_cleanup(worker);
    ri_bounce_cleanup(worker);
    ri_pool_cleanup(&worker->pool);
    ri_req_pool_cleanup(worker);
    ri_rma_cleanup(worker);
    ri_id_table_cleanup(&worker->conn_ids);
    ri_id_table_cleanup(&worker->stream_ids);
    ri_id_table_cleanup(&worker->req_ids);
    ri_id_table_cleanup(&worker->recv_ids);
    ri_trace_cleanup(&worker->trace);
    free(worker->rings);
    free(worker->channels_in);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

int ri_worker_has_work(ri_worker_t *worker)
{
    return !ucs_list_is_empty(&worker->pending_conns) ||
           !ucs_list_is_empty(&worker->ep_ops) || !ucs_list_is_empty(&worker->control) ||
           !ucs_list_is_empty(&worker->asking) || !ucs_list_is_empty(&worker->to_ask) ||
           (worker->num_coops > 0) || (worker->num_reads > 0) || (worker->linger > 0) ||
           !ucs_list_is_empty(&worker->pool.unsent) || ri_rtr_has_work(worker) ||
           !ucs_list_is_empty(&worker->late_conns);
}

void ri_worker_housekeeping(ri_worker_t *worker)
{
    worker->countdown   = WORKER_HOUSEKEEPING;
    worker->stock_timed = 0;
    if (worker->trace_signals != ri_trace_signals) {
        worker->trace_signals = ri_trace_signals;
        ri_trace_dump(&worker->trace, "a worker, on SIGUSR2");
    }
    ri_gone_check(worker);
    if (ri_unlikely(worker->num_left > 0)) {
        ri_close_check_left(worker);
    }
    ri_planes_check_idle(worker);
    if ((worker->rdma != NULL) || (worker->ud != NULL)) {
        ri_rdma_progress(worker);
        ri_rtr_message_progress(worker);
    }
}

/* What is not on the fast path: messages that wait for room, flushes and closes,
 * time-outs. */
static void worker_progress_slow(ri_worker_t *worker)
{
    size_t count = ucs_list_length(&worker->pending_conns);
    ri_conn_t *conn;

    /* One round, from the head: callbacks may remove any conn, or add some. */
    for (; (count > 0) && !ucs_list_is_empty(&worker->pending_conns); --count) {
        conn = ucs_list_extract_head(&worker->pending_conns, ri_conn_t, pending_link);
        ucs_list_add_tail(&worker->pending_conns, &conn->pending_link);
        ri_conn_progress_pending(conn);
    }
    if (!ucs_list_is_empty(&worker->control)) {
        ri_control_progress(worker);
    }
    if (worker->ways_untold) {
        ri_planes_tell_gone(worker);
    }
    if (!ucs_list_is_empty(&worker->ep_ops)) {
        ri_ep_ops_progress(worker);
    }
    if (!ucs_list_is_empty(&worker->asking)) {
        ri_conn_check_timeouts(worker);
    }
    if (!ucs_list_is_empty(&worker->to_ask)) {
        ri_control_progress_asks(worker);
    }
    if (!ucs_list_is_empty(&worker->late_conns)) {
        ri_recv_rndv_progress(worker);
    }
    if (ri_rtr_has_work(worker)) {
        ri_rtr_progress(worker);
    }
    if (ri_unlikely(worker->rdma_lost)) {
        ri_rtr_message_break_lost(worker);
    }
    if (!ucs_list_is_empty(&worker->pool.unsent)) {
        ri_hybrid_progress(worker);
    }
    if (worker->countdown == 0) {
        ri_worker_housekeeping(worker);
        ri_hybrid_flush_due(worker);
    }
    worker->attention = ri_worker_has_work(worker);
}

/* Nothing is under way, but a sender may not have heard yet that its message was received. */
static void worker_linger(ri_worker_t *worker)
{
    if ((--worker->linger % WORKER_LINGER_STEP) == 0) {
        ri_rdma_progress(worker);
        ri_planes_rdma_check(worker);
    }
}

/* Progress of shared memory alone takes some 10 ns; that of a network, or a system call, several
 * times as much, and would make messages through rings late. @return Number of events. */
static unsigned worker_time_stock(ri_worker_t *worker)
{
    double start   = ri_time();
    unsigned count = 0;
    int i;

    for (i = 0; i < WORKER_STOCK_CALLS; ++i) {
        count += ri_stock.worker_progress(worker->stock);
    }
    worker->stock_timed = 1;
    worker->stock_cheap = (ri_time() - start < WORKER_STOCK_CALLS * WORKER_STOCK_CHEAP);
    return count;
}

unsigned ri_worker_progress_full(ri_worker_t *worker)
{
    unsigned count = 0;
    unsigned parts;

    /* A callback may call progress, against UCX's rules: rings are in the middle of a
     * record then, and stock has to see to itself. */
    if (ri_unlikely(worker->progressing)) {
        return ri_stock.worker_progress(worker->stock);
    }

    worker->progressing = 1;
    worker->countdown -= (worker->countdown > 0);
    if (worker->num_rings > 0) {
        ++worker->polls;
        count = ri_ring_channel_poll(worker);
        if (count > 0) {
            worker->ring_credit = WORKER_RING_CREDIT;
        }
    }
    if (worker->num_channels > 0) {
        /* No reason to look for active messages less often: those overtake long writes */
        count += ri_rdma_channel_progress(worker);
    }

    if (worker->num_coops > 0) {
        parts = ri_coop_progress(worker);
        count += parts;
        worker->ring_credit = (parts > 0) ? WORKER_RING_CREDIT : worker->ring_credit;
    }
    if (worker->num_reads > 0) {
        count += ri_rdma_progress(worker);
        count += ri_rtr_message_progress(worker);
    } else if (ri_unlikely(worker->linger > 0)) {
        worker_linger(worker);
    }

    /* While messages come through rings, stock is looked at less often, unless something comes
     * that way as well. */
    if ((worker->ring_credit > 0) && (worker->stock_credit == 0) &&
        (++worker->stock_skipped < ri_config.progress_skip)) {
        ++worker->counters.stock_skipped;
    } else {
        worker->stock_skipped = 0;
        count += ri_worker_progress_stock(worker);
    }
    worker->ring_credit -= (worker->ring_credit > 0);
    if (ri_unlikely((worker->num_rings > 0) && !worker->stock_timed)) {
        count += worker_time_stock(worker);
    }

    if (ri_unlikely((worker->countdown == 0) || worker->attention)) {
        worker_progress_slow(worker);
    }
    worker->progressing = 0;
    return count;
}
