/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Creation step by step, with the way back of each. Destruction in two halves: before stock's
 * worker is destroyed, and after. What parts do at each step they do when they are told by the
 * table of modules (core/types/module.h); here is what belongs to no part: the objects, and what
 * core keeps for all of them.
 */
#include "worker_life.h"
#include "close.h"
#include "inert.h"
#include "report.h"
#include "report_file.h"
#include "worker_progress.h"
#include "../core/types/module.h"
#include "../in/am_in.h"
#include "../../ucs/settings.h"
#include "../../ucs/log.h"

#include <stdlib.h>
#include <string.h>

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
    worker->multi      = (attr.thread_mode == UCS_THREAD_MODE_MULTI);
    worker->timed      = ri_config.report;
    worker->guarded    = worker->multi || worker->timed;
    worker->self.uid   = address_attr.worker_uid;
    worker->self.am_id = ri_config.am_id + 1;
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

static void worker_init_lock(ri_worker_t *worker)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&worker->lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

/* The members of a worker that serve all parts. */
static void worker_init_core(ri_worker_t *worker)
{
    ucs_list_head_init(&worker->conns);
    ucs_list_head_init(&worker->streams);
    ucs_list_head_init(&worker->pending_conns);
    ucs_list_head_init(&worker->asking.conns);
    ri_map_init(&worker->peers);
    ri_id_table_init(&worker->ids.conns, RI_WIRE_ID_INDEX_BITS, RI_WIRE_ID_BITS);
    ri_id_table_init(&worker->ids.streams, RI_WIRE_ID_INDEX_BITS, RI_WIRE_ID_BITS);
    ri_id_table_init(&worker->ids.sends, 24, 32);
    ri_id_table_init(&worker->ids.recvs, 24, 32);
    ri_req_pool_init(worker);
    worker_init_lock(worker);
}

/* The worker is known to UCX: all that looks at workers, or is told of them, begins. */
static void worker_start(ri_worker_t *worker)
{
    ri_inert_note((worker->context->features & UCP_FEATURE_TAG) ? RI_INERT_NOT_AT_ALL :
                                                                  RI_INERT_ONE_SIDED);
    worker->watched = (worker->trace.entries != NULL);
    if (ri_config.report) {
        ri_report_start();
        ri_report_file_enter(worker);
    }
    ri_timeline_start(&worker->timeline, worker->self.uid);
    worker->observed = worker->guarded || (worker->timeline.entries != NULL);
    worker->unnoted  = (worker->trace.entries != NULL) ? -1 :
                       (worker->timeline.entries != NULL) ?
                                                         (int64_t)ri_config.eager_thresh :
                                                         INT64_MAX;
    RI_MODULES_TELL(worker_starts, worker);
    ri_context_add_worker(worker->context, worker);
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
    worker->host_memory = (context->memory_types == UCS_BIT(UCS_MEMORY_TYPE_HOST));
    worker_init_core(worker);
    RI_MODULES_TRY(status, worker_made, worker);
    if (status != UCS_OK) {
        goto err;
    }

    status = worker_query(worker);
    if (status != UCS_OK) {
        goto err;
    }
    status = ri_trace_init(&worker->trace);
    if (status != UCS_OK) {
        goto err;
    }
    ri_log_on_error = ri_report_traces;
    status          = ri_map_put(&ri_worker_map, (uintptr_t)stock, worker);
    if (status != UCS_OK) {
        goto err;
    }
    status = worker_set_handler(worker);
    if (status != UCS_OK) {
        goto err_map;
    }

    worker_start(worker);
    *worker_p = worker;
    return UCS_OK;

err_map:
    ri_map_remove(&ri_worker_map, (uintptr_t)stock);
err:
    ri_worker_free(worker);
    return status;
}

void ri_worker_destroy(ri_worker_t *worker)
{
    ri_report_worker(worker);
    ri_close_report_all(worker);
    ri_context_remove_worker(worker->context, worker);

    RI_MODULES_TELL(worker_says, worker);
    RI_MODULES_TELL(worker_stops, worker);
    while (!ucs_list_is_empty(&worker->conns)) {
        ri_conn_t *conn = ucs_list_head(&worker->conns, ri_conn_t, list);

        RI_MODULES_TELL(conn_stops, conn);
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
    }
    RI_MODULES_TELL(worker_ends, worker);
    while (!ucs_list_is_empty(&worker->streams)) {
        ri_stream_destroy(ucs_list_head(&worker->streams, ri_stream_t, list));
    }
    RI_MODULES_TELL(worker_closes, worker);
    worker->destroyed = 1;
    ri_map_remove(&ri_worker_map, (uintptr_t)worker->stock);
}

void ri_worker_free(ri_worker_t *worker)
{
    RI_MODULES_TELL(worker_freed, worker);
    ri_map_cleanup(&worker->peers);
    ri_msg_pool_cleanup(worker);
    ri_req_pool_cleanup(worker);
    ri_id_table_cleanup(&worker->ids.conns);
    ri_id_table_cleanup(&worker->ids.streams);
    ri_id_table_cleanup(&worker->ids.sends);
    ri_id_table_cleanup(&worker->ids.recvs);
    ri_trace_cleanup(&worker->trace);
    ri_timeline_stop(&worker->timeline);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}
