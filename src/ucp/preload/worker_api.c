/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Interposed: workers and their addresses. (Flushes that wait are in blocking.c.)
 */
#include "guard.h"
#include "../../ucs/stock.h"
#include "../core/context.h"
#include "../run/ep_op.h"
#include "../run/report_file.h"
#include "../run/report_killed.h"
#include "../run/timeline_progress.h"
#include "../link/gone.h"
#include "../../ucs/log.h"
#include "../../ucs/rank.h"
#include "../run/worker_life.h"
#include "../run/worker_progress.h"
#include "../proto/pool/pool_send.h"
#include "../link/release.h"
#include "../rma/window_net.h"
#include "../rma/window_ranks.h"

#include <stdlib.h>
#include <string.h>

ucs_status_t ucp_worker_create(ucp_context_h stock_context,
                               const ucp_worker_params_t *params, ucp_worker_h *worker_p)
{
    ri_context_t *context;
    ri_worker_t *worker;
    ucs_status_t status;

    ri_stock_resolve();
    context = ri_context_find(stock_context);
    status  = ri_stock.worker_create(stock_context, params, worker_p);
    if ((status != UCS_OK) || (context == NULL)) {
        return status;
    }

    status = ri_worker_create(context, *worker_p, &worker);
    if (status != UCS_OK) {
        ri_error("cannot set up a worker: %s", ri_stock_status_string(status));
        ri_stock.worker_destroy(*worker_p);
        return status;
    }
    if (worker->multi) {
        atomic_fetch_add(&ri_multi_workers, 1);
    }
    if (params->field_mask & UCP_WORKER_PARAM_FIELD_EVENT_FD) {
        ri_gone_never_wake(worker);
    }
    return UCS_OK;
}

void ucp_worker_destroy(ucp_worker_h stock)
{
    ri_worker_t *worker = ri_worker_find(stock);

    ri_stock_resolve();
    if (worker == NULL) {
        ri_stock.worker_destroy(stock);
        return;
    }

    if (worker->multi) {
        atomic_fetch_sub(&ri_multi_workers, 1);
    }
    ri_worker_destroy(worker);
    ri_stock.worker_destroy(stock);
    ri_worker_free(worker);
    if (ri_worker_map.live == 0) {
        ri_window_net_end();
    }
}

/* One call of progress that is locked, timed, or noted. */
static ri_noinline unsigned worker_progress_observed(ri_worker_t *worker)
{
    uint64_t start;
    unsigned count;

    ri_worker_enter(worker);
    /* A callback may call progress: that is a part of the call around it */
    start = worker->progressing ? 0 : ri_timeline_now(&worker->timeline);
    count = ri_worker_progress(worker);
    ri_timeline_progress(worker, start, count);
    ri_report_file_tick(worker);
    ri_report_killed_tick(worker);
    ri_worker_leave(worker, (count > 0) ? RI_CALL_WORK : RI_CALL_IDLE);
    return count;
}

unsigned ucp_worker_progress(ucp_worker_h stock)
{
    ri_worker_t *worker = ri_worker_find(stock);

    if (ri_unlikely(worker == NULL)) {
        ri_stock_resolve();
        return ri_stock.worker_progress(stock);
    }
    return ri_likely(!worker->observed) ? ri_worker_progress(worker) :
                                          worker_progress_observed(worker);
}

/* Put this library's part in front of a stock address. The stock one is released. */
static ucs_status_t worker_address_wrap(ri_worker_t *worker, ucp_address_t **address_p,
                                        size_t *length_p)
{
    ri_wire_address_t *wrapped = malloc(sizeof(*wrapped) + *length_p);
    ri_wire_windows_t windows  = {};

    if (wrapped != NULL) {
        ri_wire_address_pack(wrapped, &(ri_wire_worker_t){.uid   = worker->self.uid,
                                                          .am_id = worker->self.am_id,
                                                          .rank  = ri_wire_address_rank(
                                                                   ri_rank_number())});
        wrapped->process = worker->self.process;
        /* Only the worker for messages is known to all ranks, or to none */
        if (worker->context->features & UCP_FEATURE_TAG) {
            windows = ri_window_ranks_use();
        }
        wrapped->window_job  = windows.job;
        wrapped->window_rank = windows.rank;
        memcpy(wrapped + 1, *address_p, *length_p);
        *length_p += sizeof(*wrapped);
    }
    ri_stock.worker_release_address(worker->stock, *address_p);
    *address_p = (ucp_address_t *)wrapped;
    return (wrapped == NULL) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

ucs_status_t ucp_worker_get_address(ucp_worker_h stock, ucp_address_t **address_p,
                                    size_t *address_length_p)
{
    ri_worker_t *worker = ri_worker_find(stock);
    ucs_status_t status;

    ri_stock_resolve();
    status = ri_stock.worker_get_address(stock, address_p, address_length_p);
    if ((status != UCS_OK) || (worker == NULL)) {
        return status;
    }
    return worker_address_wrap(worker, address_p, address_length_p);
}

ucs_status_t ucp_worker_query(ucp_worker_h stock, ucp_worker_attr_t *attr)
{
    ri_worker_t *worker = ri_worker_find(stock);
    ucs_status_t status;

    ri_stock_resolve();
    status = ri_stock.worker_query(stock, attr);
    if ((status != UCS_OK) || (worker == NULL) ||
        !(attr->field_mask & UCP_WORKER_ATTR_FIELD_ADDRESS)) {
        return status;
    }
    return worker_address_wrap(worker, &attr->address, &attr->address_length);
}

void ucp_worker_release_address(ucp_worker_h stock, ucp_address_t *address)
{
    const void *stock_address;
    ri_wire_worker_t of;

    ri_stock_resolve();
    if ((ri_worker_find(stock) != NULL) &&
        (ri_wire_address_parse(address, &stock_address, &of) != UCS_ERR_NO_ELEM)) {
        free(address);
    } else {
        ri_stock.worker_release_address(stock, address);
    }
}

ucs_status_t ucp_worker_address_query(ucp_address_t *address,
                                      ucp_worker_address_attr_t *attr)
{
    const void *stock_address;
    ri_wire_worker_t of;

    ri_stock_resolve();
    ri_wire_address_parse(address, &stock_address, &of);
    return ri_stock.worker_address_query((ucp_address_t *)stock_address, attr);
}

/* An application that arms wants to sleep: not while own work waits for progress. */
ucs_status_t ucp_worker_arm(ucp_worker_h stock)
{
    ri_worker_t *worker = ri_worker_find(stock);
    ucs_status_t status;

    ri_stock_resolve();
    if (worker == NULL) {
        return ri_stock.worker_arm(stock);
    }
    ri_worker_lock(worker);
    ri_release_flush_all(worker);
    status = (ri_worker_has_work(worker) || ri_gone_arm(worker)) ?
                     UCS_ERR_BUSY :
                     ri_stock.worker_arm(stock);
    ri_worker_unlock(worker);
    return status;
}

/* Not under the lock: another thread has to be able to send what this one waits for.
 * Stock arms through the PLT, so the arm above sees to own work. */
ucs_status_t ucp_worker_wait(ucp_worker_h stock)
{
    ri_stock_resolve();
    return ri_stock.worker_wait(stock);
}

ucs_status_ptr_t ucp_worker_flush_nbx(ucp_worker_h stock,
                                      const ucp_request_param_t *param)
{
    ri_worker_t *worker = ri_worker_find(stock);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    if (worker == NULL) {
        ri_req_disown(param);
        return ri_stock.worker_flush_nbx(stock, param);
    }
    ri_worker_lock(worker);
    ret = ri_ep_flush_worker(worker, param);
    ri_worker_unlock(worker);
    return ret;
}

ucs_status_ptr_t ucp_worker_flush_nb(ucp_worker_h stock, unsigned flags,
                                     ucp_send_callback_t cb)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags   = flags,
                                 .cb.send = (ucp_send_nbx_callback_t)(void (*)(void))cb};

    return ucp_worker_flush_nbx(stock, &param);
}
