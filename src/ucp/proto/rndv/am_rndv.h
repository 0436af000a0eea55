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
 * @param flags  RI_WIRE_NACK_*.
 *
 * @return UCS_INPROGRESS: the receive is completed later; or an error, of which the sender
 *         knows.
 */
ucs_status_t ri_am_rndv_ask(ri_recv_req_t *recv, ri_stream_t *stream, uint32_t req_id,
                            uint32_t flags);

/** Sender: send the data of an RTS to the receive @a recv_id. It ends RI_SEND_WAIT_MATCH;
 * the request may be complete afterwards. */
void ri_am_rndv_send_data(ri_send_req_t *req, uint32_t recv_id);

/** Sender: NACK. */
void ri_am_rndv_handle_nack(ri_worker_t *worker, ri_conn_t *conn,
                            const ri_wire_msg_t *msg);

/**
 * Receiver: RNDV_DATA.
 *
 * @param desc  Descriptor of the data if UCP has left it at the sender, else NULL.
 *
 * @return UCS_INPROGRESS if @a desc was kept.
 */
ucs_status_t ri_am_rndv_handle_data(ri_stream_t *stream, const ri_wire_msg_t *msg,
                                    void *desc);

#endif
