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
 * (net_write.h), and a request takes one CTS. How a receive ends otherwise is said at
 * ri_rndv_recv_abort().
 */
#ifndef RI_RNDV_PUT_H
#define RI_RNDV_PUT_H

#include "../../core/worker.h"
#include "../../order/recv_start.h"

/** Sender: handler of CTS: write the data where the receiver says, and say so (WRITTEN); if that
 * cannot be done, send it by UCP. A request takes one CTS. The send may be complete then, which
 * calls back. */
void ri_rndv_put_handle_cts(ri_worker_t *worker, ri_conn_t *conn,
                            const ri_wire_msg_t *msg);

/** Receiver: handler of WRITTEN: the data of a receive is in its memory, and it completes. One that
 * does not wait for that is counted and ignored. Calls back; a stream that is not busy may be gone
 * afterwards. */
void ri_rndv_put_handle_written(ri_stream_t *stream, const ri_wire_msg_t *msg);

#endif
