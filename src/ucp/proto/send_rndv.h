/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sender-initiated rendezvous over a data plane. The sender says where the data is (RTS),
 * as a message in sequence; when it is matched, the receiver reads the data straight into
 * its place and says so (FIN). What the plane fails to move is asked for (NACK) and comes
 * by UCP's protocols (RNDV_DATA). (protocol.md section 8)
 */
#ifndef RI_SEND_RNDV_H
#define RI_SEND_RNDV_H

#include "../core/worker.h"
#include "../tag/deliver.h"

/** @return Whether the data of a send can be described in an RTS. */
int ri_send_rndv_fits(const ri_dt_data_t *data);

/** Sender: send the RTS of @a req, whose id is set. @return UCS_OK, UCS_INPROGRESS if stock
 * has it in hand (RI_SEND_WAIT_STOCK), or an error. */
ucs_status_t ri_send_rndv_start(ri_send_req_t *req);

/**
 * Receiver: get the data of a matched RTS into its receive, and tell the sender.
 *
 * @param stream   That the RTS came by.
 * @param req_id   Of the sender's request.
 * @param rts      Its payload, checked.
 * @param fits     The receive can take the data; else the sender is told only.
 *
 * @return The status of the receive; UCS_INPROGRESS if the data comes by UCP: then it is
 *         completed later.
 */
ucs_status_t ri_send_rndv_recv(ri_recv_req_t *recv, ri_stream_t *stream, uint32_t req_id,
                               const ri_wire_rts_t *rts, int fits);

/** Receiver: give up a message that nobody will receive. */
void ri_send_rndv_discard(ri_stream_t *stream, uint32_t req_id);

/** Receiver: the worker ends; give up all that are unexpected. */
void ri_send_rndv_discard_all(ri_worker_t *worker);

/** Receiver: the stream ends; what still waits for RNDV_DATA ends with @a status. */
void ri_send_rndv_abort(ri_stream_t *stream, ucs_status_t status);

/** Receiver: likewise for all streams of a peer; @a uid 0: of the worker. */
void ri_send_rndv_abort_all(ri_worker_t *worker, uint64_t uid, ucs_status_t status);

/** Sender: @return Whether the peer has not got the data of all rendezvous yet. */
int ri_send_rndv_is_under_way(const ri_conn_t *conn);

/** Sender: FIN and NACK. */
void ri_send_rndv_handle_fin(ri_worker_t *worker, ri_conn_t *conn,
                             const ri_wire_msg_t *msg);
void ri_send_rndv_handle_nack(ri_worker_t *worker, ri_conn_t *conn,
                              const ri_wire_msg_t *msg);

/**
 * Receiver: RNDV_DATA.
 *
 * @param desc  Descriptor of the data if UCP has left it at the sender, else NULL.
 *
 * @return UCS_INPROGRESS if @a desc was kept.
 */
ucs_status_t ri_send_rndv_handle_data(ri_stream_t *stream, const ri_wire_msg_t *msg,
                                      void *desc);

#endif
