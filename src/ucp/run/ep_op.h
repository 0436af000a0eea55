/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Flush and close of endpoints. Stock knows nothing of messages that wait for room in a
 * ring, so while there are any, these operations wait for them first and are then handed
 * to stock. The worker is locked in all of these.
 */
#ifndef RI_EP_OP_H
#define RI_EP_OP_H

#include "../core/worker.h"

/** ucp_ep_flush_nbx of an endpoint of this library. */
ucs_status_ptr_t ri_ep_flush(ri_conn_t *conn, const ucp_request_param_t *param);

/** ucp_worker_flush_nbx of a worker of this library. */
ucs_status_ptr_t ri_worker_flush(ri_worker_t *worker, const ucp_request_param_t *param);

/** @return Whether a flush has to wait for own work, or for one-sided operations that were
 * started up to @a rma (of worker->rma.seq; rma.h) to end here: stock's would end too early.
 * @a conn NULL: of the whole worker. */
int ri_flush_must_wait(ri_worker_t *worker, ri_conn_t *conn, uint64_t rma);

/** ucp_ep_close_nbx of an endpoint of this library; the conn is gone afterwards, unless
 * the operation has to wait. */
ucs_status_ptr_t ri_ep_close(ri_conn_t *conn, const ucp_request_param_t *param);

/** @return Whether a flush, or with @a conn NULL that of the whole worker, has to wait for own
 * work. */
int ri_ep_op_must_wait(ri_worker_t *worker, ri_conn_t *conn);

/** End the flushes that wait for @a conn, which is about to go. */
void ri_ep_ops_abort(ri_conn_t *conn, ucs_status_t status);

/** Get on with the operations that wait. */
void ri_ep_ops_progress(ri_worker_t *worker);

#endif
