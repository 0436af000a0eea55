/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Interposed, but left to stock: functions that make stock enter a worker. They are here
 * for three reasons only, explained in guard.h, request.h and rma/posts.h: to take the worker's
 * lock before stock takes its own (MULTI workers), to note that a block of request memory now
 * belongs to a stock operation, and to keep messages behind posted puts.
 */
#include "guard.h"
#include "../../ucs/stock.h"
#include "../../ucs/settings.h"
#include "../../ucs/log.h"
#include "../core/types/request.h"
#include "../rma/posts.h"

/* Lock the worker of an endpoint, if need be, to send a message by stock; posted puts are carried
 * out before it. @return What ri_guard_leave() takes. */
static ri_inline ri_worker_t *pass_enter_message(ucp_ep_h ep)
{
    ri_worker_t *guard = ri_guard_ep(ep);
    ri_conn_t *conn;

    if (ri_unlikely(atomic_load_explicit(&ri_posts_workers, memory_order_relaxed) > 0)) {
        conn = ri_conn_find(ep);
        if (conn != NULL) {
            ri_posts_settle(conn);
        }
    }
    return guard;
}

/* Whether an application asks for the active message id that this library has taken, which is
 * logged. */
static int am_id_is_taken(ucp_worker_h stock, unsigned id)
{
    if ((ri_worker_find(stock) == NULL) || (id != ri_config.am_id)) {
        return 0;
    }
    ri_error("the application uses active message id %u, which ucxri has taken: set "
             "UCXRI_AM_ID to another number",
             id);
    return 1;
}

ucs_status_t ucp_worker_set_am_handler(ucp_worker_h stock, uint16_t id,
                                       ucp_am_callback_t cb, void *arg, uint32_t flags)
{
    ri_stock_resolve();
    if (am_id_is_taken(stock, id)) {
        return UCS_ERR_INVALID_PARAM;
    }
    return ri_stock.worker_set_am_handler(stock, id, cb, arg, flags);
}

ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h stock,
                                            const ucp_am_handler_param_t *param)
{
    ri_stock_resolve();
    if ((param->field_mask & UCP_AM_HANDLER_PARAM_FIELD_ID) &&
        am_id_is_taken(stock, param->id)) {
        return UCS_ERR_INVALID_PARAM;
    }
    return ri_stock.worker_set_am_recv_handler(stock, param);
}

ucs_status_ptr_t ucp_am_send_nb(ucp_ep_h ep, uint16_t id, const void *buffer,
                                size_t count, ucp_datatype_t datatype,
                                ucp_send_callback_t cb, unsigned flags)
{
    ri_worker_t *guard = pass_enter_message(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ret = ri_stock.am_send_nb(ep, id, buffer, count, datatype, cb, flags);
    ri_guard_leave(guard);
    return ret;
}

ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void *header,
                                 size_t header_length, const void *buffer, size_t count,
                                 const ucp_request_param_t *param)
{
    ri_worker_t *guard = pass_enter_message(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ri_req_disown(param);
    ret = ri_stock.am_send_nbx(ep, id, header, header_length, buffer, count, param);
    ri_guard_leave(guard);
    return ret;
}

ucs_status_ptr_t ucp_am_recv_data_nbx(ucp_worker_h stock, void *data_desc, void *buffer,
                                      size_t count, const ucp_request_param_t *param)
{
    ri_worker_t *guard = ri_guard_worker(stock);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ri_req_disown(param);
    ret = ri_stock.am_recv_data_nbx(stock, data_desc, buffer, count, param);
    ri_guard_leave(guard);
    return ret;
}

void ucp_am_data_release(ucp_worker_h stock, void *data)
{
    ri_worker_t *guard = ri_guard_worker(stock);

    ri_stock_resolve();
    ri_stock.am_data_release(stock, data);
    ri_guard_leave(guard);
}

ucs_status_ptr_t ucp_stream_send_nb(ucp_ep_h ep, const void *buffer, size_t count,
                                    ucp_datatype_t datatype, ucp_send_callback_t cb,
                                    unsigned flags)
{
    ri_worker_t *guard = pass_enter_message(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ret = ri_stock.stream_send_nb(ep, buffer, count, datatype, cb, flags);
    ri_guard_leave(guard);
    return ret;
}

ucs_status_ptr_t ucp_stream_send_nbx(ucp_ep_h ep, const void *buffer, size_t count,
                                     const ucp_request_param_t *param)
{
    ri_worker_t *guard = pass_enter_message(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ri_req_disown(param);
    ret = ri_stock.stream_send_nbx(ep, buffer, count, param);
    ri_guard_leave(guard);
    return ret;
}

ucs_status_ptr_t ucp_stream_recv_nb(ucp_ep_h ep, void *buffer, size_t count,
                                    ucp_datatype_t datatype,
                                    ucp_stream_recv_callback_t cb, size_t *length,
                                    unsigned flags)
{
    ri_worker_t *guard = ri_guard_ep(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ret = ri_stock.stream_recv_nb(ep, buffer, count, datatype, cb, length, flags);
    ri_guard_leave(guard);
    return ret;
}

ucs_status_ptr_t ucp_stream_recv_nbx(ucp_ep_h ep, void *buffer, size_t count,
                                     size_t *length, const ucp_request_param_t *param)
{
    ri_worker_t *guard = ri_guard_ep(ep);
    ucs_status_ptr_t ret;

    ri_stock_resolve();
    ri_req_disown(param);
    ret = ri_stock.stream_recv_nbx(ep, buffer, count, length, param);
    ri_guard_leave(guard);
    return ret;
}
