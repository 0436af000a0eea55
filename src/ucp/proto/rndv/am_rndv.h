/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * UCP moves the data by whatever protocol it chooses, its own rendezvous included: the
 * whole message (BULK), or the data of a rendezvous that no plane could move: the receiver
 * asks for it (NACK) and it comes as RNDV_DATA. (protocol.md sections 4 and 8)
 */
#ifndef RI_AM_RNDV_H
#define RI_AM_RNDV_H

#include "../../core/worker.h"

/**
 * Receiver: ask for the data of a matched RTS or POOL.
 *
 * @param req_id  Of the send, or of the pool buffer.
 * @param flags   RI_WIRE_NACK_*; RI_WIRE_NACK_POOL for a POOL.
 *
 * @return UCS_INPROGRESS: the receive waits (ri_rndv_recv_wait()), and is completed later; or an
 *         error, of which the sender knows: it was told that the data is not needed.
 */
ucs_status_t ri_am_rndv_ask(ri_recv_req_t *recv, ri_stream_t *stream, uint32_t req_id,
                            uint32_t flags);

/** Sender: send the data of an RTS by UCP to the receive @a recv_id. The request has a conn. It
 * ends RI_SEND_WAIT_MATCH, and further answers are stale; if the peer's process is gone the request
 * ends with an error. It may be complete afterwards, which calls back. */
void ri_am_rndv_send_data(ri_send_req_t *req, uint32_t recv_id);

/** Sender: handler of the NACK of an RTS: what was kept for the receiver is let go of, and the data
 * is sent as ri_am_rndv_send_data() says. */
void ri_am_rndv_handle_nack(ri_worker_t *worker, ri_conn_t *conn,
                            const ri_wire_msg_t *msg);

/**
 * Receiver: RNDV_DATA. Its receive completes, with an error if the length is not that of the RTS;
 * one that does not wait any more is counted and ignored. Calls back; a stream that is not busy may
 * be gone afterwards.
 *
 * @param desc  Descriptor of the data if UCP has left it at the sender, else NULL.
 *
 * @return UCS_INPROGRESS if UCP has got @a desc back already, to fetch the data; else UCS_OK.
 */
ucs_status_t ri_am_rndv_handle_data(ri_stream_t *stream, const ri_wire_msg_t *msg,
                                    void *desc);

#endif
