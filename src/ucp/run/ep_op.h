/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Flush and close of endpoints. Stock knows nothing of messages that wait for room in a
 * ring, so while there are any, these operations wait for them first and are then handed
 * to stock. The worker is locked in all functions.
 */
#ifndef RI_EP_OP_H
#define RI_EP_OP_H

#include "../core/worker.h"

/** ucp_ep_flush_nbx of an endpoint of this library. It waits for what flush.h says, and is then
 * handed to stock. @return What the application's call returns; UCS_ERR_NO_MEMORY if there is no
 * request. */
ucs_status_ptr_t ri_ep_flush(ri_conn_t *conn, const ucp_request_param_t *param);

/** ucp_worker_flush_nbx of a worker of this library. @return As ri_ep_flush(). */
ucs_status_ptr_t ri_ep_flush_worker(ri_worker_t *worker,
                                    const ucp_request_param_t *param);

/** ucp_ep_close_nbx of an endpoint of this library. The conn is gone afterwards, unless the
 * operation has to wait, or stock refuses it (FORCE without error handling mode PEER). What ends
 * with it calls back. @return What the application's call returns; with UCS_ERR_NO_MEMORY the
 * endpoint stays, but counts as closing. */
ucs_status_ptr_t ri_ep_close(ri_conn_t *conn, const ucp_request_param_t *param);

/** Get on with the operations that wait, one round. Calls back; any conn may be gone afterwards. */
void ri_ep_ops_progress(ri_worker_t *worker);

/** @return Whether there is something for @ref ri_ep_ops_progress. */
static inline int ri_ep_ops_has_work(ri_worker_t *worker)
{
    return !ucs_list_is_empty(&worker->ep_ops);
}

#endif
