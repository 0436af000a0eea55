/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sender-initiated rendezvous, the sender writes: when the RTS is matched, the receiver says
 * where the data belongs (CTS); the sender writes it there by a data plane and says so
 * (WRITTEN). (protocol.md section 8)
 *
 * The receive's memory is the sender's to write from CTS until WRITTEN, or until RNDV_DATA if
 * the write has failed. The sender writes within the handler of CTS only, or starts it there
 * (rdma_write.h), and a request takes one CTS. How a receive ends otherwise is said at
 * ri_rndv_abort().
 */
#ifndef RI_SEND_RNDV_PUT_H
#define RI_SEND_RNDV_PUT_H

#include "../../core/worker.h"
#include "../../order/recv_start.h"

/** Receiver: as ri_rndv_recv(), when RI_FETCH_PUT was chosen: let the sender write.
 * UCS_ERR_NO_ELEM: the receive's memory cannot be registered. */
ucs_status_t ri_send_rndv_put_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                                   const ri_arrival_t *arrival);

/** Sender: CTS. */
void ri_send_rndv_put_handle_cts(ri_worker_t *worker, ri_conn_t *conn,
                                 const ri_wire_msg_t *msg);

/** Receiver: WRITTEN. A stream that is not busy may be gone afterwards. */
void ri_send_rndv_put_handle_written(ri_stream_t *stream, const ri_wire_msg_t *msg);

#endif
