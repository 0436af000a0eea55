/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Control messages: what the two sides tell each other outside the sequence of messages.
 * (protocol.md sections 5 to 9)
 */
#ifndef RI_CONTROL_H
#define RI_CONTROL_H

#include "../core/worker.h"

/** Ask the receiver of @a conn for its id; at most once. UCX keeps back what is sent by the
 * endpoint after that, until the receiver has answered and this worker has made progress. */
void ri_control_ask(ri_conn_t *conn);

/** The same, when progress has been made for a while without an answer: messages that are sent now
 * must arrive even if the application makes no progress. With a ring meanwhile it is not needed. */
void ri_control_ask_later(ri_conn_t *conn);

/** Count a call of progress, and ask what is due. There are conns in worker->to_ask. */
void ri_control_progress_asks(ri_worker_t *worker);

/** Ask the receiver of @a conn whether what was sent before has arrived, unless that was
 * asked already: when it has, messages may take the ring again. */
void ri_control_ask_order(ri_conn_t *conn);

/**
 * Send one of the messages that consist of a base header: SYNC_ACK, RING_REFUSE, BYE,
 * FIN, ORDER_REQ, ORDER_ACK, RESET, WRITTEN, RING_REQ.
 *
 * @param conn   The way to take.
 * @param id     Of the conn or stream addressed.
 */
void ri_control_send(ri_conn_t *conn, ri_wire_type_t type, uint32_t id, uint32_t value);

/** Tell the sender of @a stream its id, if there is a way to. */
void ri_control_ack(ri_stream_t *stream);

/** Tell the sender of @a stream of the ring made for it. */
void ri_control_offer_ring(ri_conn_t *conn, ri_stream_t *stream);

/** Ask the sender of @a stream to give its ring back. */
void ri_control_stop_ring(ri_conn_t *conn, ri_stream_t *stream);

/**
 * Tell the sender of @a stream SYNC_ACK, FIN, ORDER_ACK or RESET; as soon as there is a way, if
 * there is none yet.
 */
void ri_control_answer(ri_stream_t *stream, ri_wire_type_t type, uint32_t value);

/** Send PLANE_REQ or PLANE_ACK, which is complete but for @a id. */
void ri_control_send_plane(ri_conn_t *conn, uint32_t id, ri_wire_plane_t *msg);

/** Ask the sender of @a stream for data that could not be read. @a flags: RI_WIRE_NACK_* */
void ri_control_nack(ri_stream_t *stream, uint32_t req_id, uint32_t recv_id,
                     uint32_t flags);

/** Give pool buffers back to a peer. @a conn_id is one of its conns; the peer may be gone
 * afterwards. */
void ri_control_release(ri_peer_t *peer, uint32_t conn_id, const uint32_t *ids,
                        unsigned count);

/** Tell the sender of @a stream where to write the data of an RTS. @a key: of that memory,
 * if the RTS has keys. */
void ri_control_cts(ri_stream_t *stream, uint32_t req_id, uint32_t recv_id,
                    const void *address, uint32_t key);

/** Send a control message on a conn, by its channel or by active message. */
void ri_control_send_on(ri_conn_t *conn, const void *message, size_t length);

/** Send a control message to a peer, likewise; as soon as there is a way, if there is
 * none yet. */
void ri_control_send_message(ri_peer_t *peer, const void *message, size_t length);

/** Handle a control message that passed validation. */
void ri_control_handle(ri_worker_t *worker, ri_stream_t *stream, const ri_wire_msg_t *msg,
                       ucp_ep_h reply_ep);

/** A peer has got its first way out: send what is owed to it. */
void ri_control_flush_owed(ri_worker_t *worker, ri_peer_t *peer);

/** Send what had to wait because stock had no memory for it. */
void ri_control_progress(ri_worker_t *worker);

/** @return Whether anything waits so that @a conn was to carry. */
int ri_control_is_waiting(const ri_conn_t *conn);

/** Forget what waits in a list: peer->owed, worker->control. */
void ri_control_drop(ucs_list_link_t *list);

#endif
