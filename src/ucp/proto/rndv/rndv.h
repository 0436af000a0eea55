/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages of rendezvous, at both sides. The sender says where the data is (RTS, or POOL), as
 * a message in sequence; what happens when it is matched is chosen in proto/fetch.c, and receives
 * that wait for their data are in rndv_recv.h. FIN says that the sender is not needed any more.
 * What no plane can move comes by am_rndv.h. (protocol.md section 8)
 */
#ifndef RI_RNDV_H
#define RI_RNDV_H

#include "../../core/worker.h"
#include "../../order/recv_start.h"

/* Room for the payload of an RTS. */
typedef union ri_rndv_rts {
    ri_wire_rts_t rts;
    uint8_t bytes[RI_WIRE_RTS_MAX];
} ri_rndv_rts_t;

/**
 * Sender: send the RTS of @a req, whose id and wire_type are set, through the ring or channel, or
 * by active message. The request waits for RI_SEND_WAIT_MATCH then, whatever is returned.
 *
 * @return UCS_OK, UCS_INPROGRESS if stock has it in hand (RI_SEND_WAIT_STOCK), or an error; the
 *         conn may have failed then, and have let go of the request.
 */
ucs_status_t ri_rndv_send(ri_send_req_t *req, const ri_wire_rts_t *rts);

/**
 * Sender: send a message in sequence, of req->wire_type, that speaks of data which is elsewhere,
 * through the ring or channel, or by active message.
 *
 * @param id       Of a request, receive or pool buffer.
 * @param payload  Instead of the data; it is copied.
 * @param flags    RI_AM_FORCE_IMM or 0.
 *
 * @return As ri_rndv_send().
 */
ucs_status_t ri_rndv_send_payload(ri_send_req_t *req, uint32_t id, const void *payload,
                                  size_t length, unsigned flags);

/** Do what @ref ri_rndv_send_payload does, by active message even if there is a ring. @return As
 * ri_rndv_send_payload(). */
ucs_status_t ri_rndv_send_payload_am(ri_send_req_t *req, uint32_t id, const void *payload,
                                     size_t length, unsigned flags);

/** Sender: @return Whether an RTS would go through the ring now, if the conn has one. Once the
 * sender may write, the send may be complete before the RTS is read, which so must not come another
 * way, when the ring may be gone. */
int ri_rndv_is_ring_open(const ri_conn_t *conn);

/** Sender: write the data of @a req to where the receiver has said, @a address, by the plane within
 * the host, within the call. @return What the plane says; after an error part of it may be
 * written. */
ucs_status_t ri_rndv_write(ri_send_req_t *req, ri_plane_ep_t *ep, uint64_t address);

/** Count a write of all data of a send within a host, which has ended with @a status, and note it
 * in trace and timeline. @param start  ri_timeline_now() before it. */
void ri_rndv_note_write(const ri_send_req_t *req, uint64_t start, ucs_status_t status);

/**
 * Receiver: take an RTS or POOL from memory that a hostile peer may change at any time, and deliver
 * it, which calls back. The stream is kept by stream->busy.
 *
 * @param arrival  Its sn, wire_type, req_id and tag.
 *
 * @return 0 if it breaks the protocol; then nothing was done.
 */
int ri_rndv_receive(ri_stream_t *stream, ri_arrival_t *arrival, const void *payload,
                    size_t length);

/** Receiver: tell the sender that the data of an RTS or POOL is not needed any more: by FIN, or by
 * releasing the pool buffer, perhaps later. @a rts: only its flags matter, and only for a
 * POOL. */
void ri_rndv_answer(ri_stream_t *stream, ri_wire_type_t type, uint32_t id,
                    const ri_wire_rts_t *rts);

/** Receiver: an RTS or POOL is given up that nobody will receive: tell the sender, unless the
 * stream is broken. The message is the caller's to free. */
void ri_rndv_discard(const ri_msg_t *msg);

/** Receiver: the worker ends; give up and free all unexpected messages of which the sender has the
 * data (RTS, POOL). */
void ri_rndv_discard_all(ri_worker_t *worker);

/** Sender: @return Whether the peer may still need the memory of sends on a conn that have not
 * ended. */
int ri_rndv_is_under_way(const ri_conn_t *conn);

/** Sender: @return The request that an answer on @a conn is about, or NULL if it is for none (any
 * more), which is counted. */
ri_send_req_t *ri_rndv_find(ri_worker_t *worker, ri_conn_t *conn, uint32_t id);

/** Sender: handler of FIN: the receiver is done with an RTS. The send may be complete then, which
 * calls back. */
void ri_rndv_handle_fin(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg);

#endif
