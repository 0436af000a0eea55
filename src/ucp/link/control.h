/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Control messages: what the two sides tell each other outside the sequence of messages.
 * (protocol.md sections 5 to 9)
 *
 * A send that fails may make the application close any endpoint, in its error handler. So any conn
 * may be gone after a function that sends, and with it a peer that has no stream.
 */
#ifndef RI_CONTROL_H
#define RI_CONTROL_H

#include "../core/worker.h"

/** Ask the receiver of @a conn for its id; at most once. UCX keeps back what is sent by the
 * endpoint after that, until the receiver has answered and this worker has made progress. A peer
 * that may be one that never answers is waited for with a time-out. */
void ri_control_ask(ri_conn_t *conn);

/** Let progress ask the receiver of @a conn for its id as @ref ri_control_ask does, unless it has
 * made itself known after some calls. Not at once, as messages that are sent now must arrive
 * even if the application makes no progress. Does nothing if it was asked, or is to be asked. */
void ri_control_ask_later(ri_conn_t *conn);

/** Count a call of progress. When it was the last that ri_control_ask_later() waits for, empty
 * worker->asking.next, which is not empty, and ask on those conns that still need an answer: one
 * with a ring does not. */
void ri_control_progress_asks(ri_worker_t *worker);

/** @return Whether there is something for @ref ri_control_progress_asks. */
static inline int ri_control_has_asks(ri_worker_t *worker)
{
    return !ucs_list_is_empty(&worker->asking.next);
}

/** Ask the receiver of @a conn whether what was sent before has arrived, unless that was asked
 * already or its id is not known: when it has, messages may take the ring again. */
void ri_control_ask_order(ri_conn_t *conn);

/**
 * Send one of the messages that consist of a base header: SYNC_ACK, RING_REFUSE, BYE, FIN,
 * ORDER_REQ, ORDER_ACK, RESET, WRITTEN, RING_REQ, CLOSING. It goes by the ring if its type may and
 * that has room, else as by @ref ri_control_send_on.
 *
 * @param conn  The way to take.
 * @param id    Of the conn or stream addressed.
 */
void ri_control_send(ri_conn_t *conn, ri_wire_type_t type, uint32_t id, uint32_t value);

/** Tell the sender of @a stream its id, if there is a usable conn and it was not told yet
 * (stream->acked). */
void ri_control_ack(ri_stream_t *stream);

/** Tell the sender of @a stream, by @a conn, of the ring that was made for it. */
void ri_control_offer_ring(ri_conn_t *conn, ri_stream_t *stream);

/** Ask the sender of @a stream, by @a conn, to give its ring back. */
void ri_control_stop_ring(ri_conn_t *conn, ri_stream_t *stream);

/** Tell the sender of @a stream SYNC_ACK, FIN, ORDER_ACK or RESET; as soon as there is a usable
 * conn, if there is none yet. */
void ri_control_answer(ri_stream_t *stream, ri_wire_type_t type, uint32_t value);

/**
 * Ask the sender of @a stream for data that could not be read; as soon as there is a usable conn.
 *
 * @param req_id   Of its request, or of its pool buffer.
 * @param recv_id  Of the receive that waits for RNDV_DATA.
 * @param flags    RI_WIRE_NACK_*
 */
void ri_control_nack(ri_stream_t *stream, uint32_t req_id, uint32_t recv_id,
                     uint32_t flags);

/** Give pool buffers back to a peer, by the ring if that has room. @a conn_id is of the peer's
 * conn that they were lent by, @a count from 1 to RI_WIRE_RELEASE_MAX. The peer may be gone
 * afterwards. */
void ri_control_release(ri_peer_t *peer, uint32_t conn_id, const uint32_t *ids,
                        unsigned count);

/** Tell the sender of @a stream where to write the data of an RTS; as soon as there is a usable
 * conn. @a key: of that memory, if the RTS has keys. */
void ri_control_cts(ri_stream_t *stream, uint32_t req_id, uint32_t recv_id,
                    const void *address, uint32_t key);

/** Send a control message on a conn, by its channel or by active message. If the conn is LEFT,
 * another one to the peer carries it, now or when there is one, unless the message is about the
 * endpoint itself; then it is dropped. What UCX has no memory for is sent by progress. */
void ri_control_send_on(ri_conn_t *conn, const ri_wire_msg_t *msg);

/** @return Whether ri_control_send_payload() is worth a try. */
static inline int ri_control_has_room(const ri_conn_t *conn)
{
    return ucs_list_is_empty(
            &conn->worker->control); /* what waits for memory goes first */
}

/** Send a control message with a payload on a conn, by active message, if that is possible now.
 * @return UCS_OK, or why it was not sent. The error handler tells that an endpoint has failed. */
ucs_status_t ri_control_send_payload(ri_conn_t *conn, const ri_wire_msg_t *msg,
                                     const void *payload, size_t length);

/** Send a control message to a peer, by the channel of a usable conn or by active message; as
 * soon as there is such a conn, if there is none yet. */
void ri_control_send_message(ri_peer_t *peer, const ri_wire_msg_t *msg);

/** A peer has got its first usable conn: send what is owed to it, as long as it has one. The peer
 * may be gone afterwards. */
void ri_control_flush_owed(ri_worker_t *worker, ri_peer_t *peer);

/** Send, in order, what had to wait because stock had no memory, until stock has none again.
 * What has lost its conn goes by another one to the same peer, or waits for one; if the peer is
 * gone it is dropped. */
void ri_control_progress(ri_worker_t *worker);

/** @return Whether there is something for @ref ri_control_progress. */
static inline int ri_control_has_work(ri_worker_t *worker)
{
    return !ucs_list_is_empty(&worker->control);
}

/** @return Whether anything that @a conn was to carry waits because stock had no memory for it. */
int ri_control_is_waiting(const ri_conn_t *conn);

#endif
