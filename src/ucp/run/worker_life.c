/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Creation step by step, with the way back of each. Destruction in two halves: before stock's
 * worker is destroyed, and after.
 */
#include "worker_life.h"
#include "flush.h"
#include "report.h"
#include "worker_progress.h"
#include "../core/rma.h"
#include "../in/am_in.h"
#include "../link/am.h"
#include "../link/bounce.h"
#include "../link/control.h"
#include "../link/gone.h"
#include "../link/planes.h"
#include "../link/net_transfer.h"
#include "../link/channel_life.h"
#include "../link/ring_life.h"
#include "../proto/coop/coop_recv.h"
#include "../proto/rndv/rndv.h"
#include "../proto/rndv/ud_ends.h"
#include "../proto/rtr/rtr_written.h"
#include "../../ucs/log.h"
#include "../../ucs/settings.h"
#include "../../uct/shm/host.h"
#include "../link/pool.h"
#include "../link/release.h"
#include "../proto/rndv/rndv_recv.h"
#include "../match/match.h"
#include "../match/sender_map.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What each call of progress looks at is in the first cache line of a worker. */
_Static_assert(offsetof(ri_worker_t, context) == RI_CACHE_LINE,
               "the first line of a worker");

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
    param.cb  = ri_am_in;
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

    worker->host     = (ri_config.ring_peers > 0) ? ri_host_id() : 0;
    worker->rings.in = calloc(2 * max_rings + 1, sizeof(*worker->rings.in));
    if (worker->rings.in == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    worker->rings.max = max_rings;
    return UCS_OK;
}

/* Channels generate no events either. */
static ucs_status_t worker_init_channels(ri_worker_t *worker)
{
    unsigned max = (worker->context->features & UCP_FEATURE_WAKEUP) ?
                           0 :
                           ri_min(ri_config.ib_eager_peers, WORKER_MAX_RINGS);

    ucs_list_head_init(&worker->channels.out);
    ucs_list_head_init(&worker->channels.kept);
    ucs_list_head_init(&worker->am_buffers.all);
    worker->channels.in = calloc(2 * max + 1, sizeof(*worker->channels.in));
    if (worker->channels.in == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    worker->channels.max = max;
    return UCS_OK;
}

static void worker_init_lists(ri_worker_t *worker)
{
    ucs_list_head_init(&worker->pending_conns);
    ucs_list_head_init(&worker->ep_ops);
    ucs_list_head_init(&worker->control);
    ucs_list_head_init(&worker->asking.conns);
    ucs_list_head_init(&worker->asking.next);
    ucs_list_head_init(&worker->coops);
    ucs_list_head_init(&worker->net.ways);
    ucs_list_head_init(&worker->net.done);
    ucs_list_head_init(&worker->net.again);
    ucs_list_head_init(&worker->conns);
    ucs_list_head_init(&worker->streams);
    ucs_list_head_init(&worker->bounce.list);
    ucs_list_head_init(&worker->rtr.late_conns);
    ucs_list_head_init(&worker->rtr.queue);
    ucs_list_head_init(&worker->rtr.full);
    ucs_list_head_init(&worker->rtr.writing);
    ucs_list_head_init(&worker->rtr.notified);
    ucs_list_head_init(&worker->rtr.stalled_self);
}

ucs_status_t ri_worker_create(ri_context_t *context, ucp_worker_h stock,
                              ri_worker_t **worker_p)
{
    ri_worker_t *worker;
    ucs_status_t status;

    worker = aligned_alloc(RI_CACHE_LINE, RI_CACHE_LINES(sizeof(*worker)));
    if (worker == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    memset(worker, 0, sizeof(*worker));

    worker->stock       = stock;
    worker->context     = context;
    worker->countdown   = RI_WORKER_HOUSEKEEPING;
    worker->stock_looks = RI_WORKER_STOCK_LOOKS;
    worker->gone.timer  = -1;
    worker->host_memory = (context->memory_types == UCS_BIT(UCS_MEMORY_TYPE_HOST));
    worker_init_lists(worker);
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
    ri_log_on_error = ri_report_traces;
    status          = worker_init_rings(worker);
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
    free(worker->channels.in);
err_rings:
    free(worker->rings.in);
err_trace:
    ri_trace_cleanup(&worker->trace);
err:
    ri_map_cleanup(&worker->peers);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
    return status;
}

void ri_worker_destroy(ri_worker_t *worker)
{
    ri_msg_t *msg, *tmp;

    ri_report_worker(worker);
    ri_context_remove_worker(worker->context, worker);

    ri_rndv_discard_all(worker); /* as long as there are usable conns */
    ri_ud_ends_worker(worker);
    ri_coop_recv_end_all(worker);
    ri_rtr_written_end_all(worker);
    ri_channel_life_end_all(worker);
    ri_net_transfer_end_all(worker);
    ri_release_flush_all(worker);
    ri_planes_withdraw(worker); /* sends end now that a peer may be about to read */
    while (!ucs_list_is_empty(&worker->conns)) {
        ri_conn_t *conn = ucs_list_head(&worker->conns, ri_conn_t, list);

        ri_ring_life_close(conn);
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
    }
    ri_flush_abort_worker(worker);
    /* Callbacks of receives that end here may still do anything. */
    while (worker->num_rings > 0) {
        ri_ring_life_free(worker->rings.in[0]);
    }
    ri_rndv_recv_abort_all(worker, 0, UCS_ERR_CONNECTION_RESET);
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
    free(worker->rings.in);
    free(worker->channels.in);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}
