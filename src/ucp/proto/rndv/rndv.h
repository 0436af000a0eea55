/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the rendezvous protocols that the sender starts have in common. The sender says
 * where the data is (RTS), as a message in sequence; what happens when it is matched is the
 * matter of send_rndv_get.h and send_rndv_put.h. FIN says that the sender is not needed any
 * more. What no plane can move comes by am_rndv.h. (protocol.md section 8)
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
 * by active message. The request waits for RI_SEND_WAIT_MATCH then.
 *
 * @return UCS_OK, UCS_INPROGRESS if stock has it in hand (RI_SEND_WAIT_STOCK), or an error.
 */
ucs_status_t ri_rndv_send(ri_send_req_t *req, const ri_wire_rts_t *rts);

/**
 * Sender: send a message in sequence, of req->wire_type, that speaks of data which is
 * elsewhere, through the ring or channel, or by active message.
 *
 * @param id       Of a request, receive or pool buffer.
 * @param payload  Instead of the data.
 * @param flags    RI_AM_FORCE_IMM or 0.
 *
 * @return UCS_OK, UCS_INPROGRESS if stock has it in hand (RI_SEND_WAIT_STOCK), or an error.
 */
ucs_status_t ri_rndv_send_payload(ri_send_req_t *req, uint32_t id, const void *payload,
                                  size_t length, unsigned flags);

/** Sender: likewise, by active message. */
ucs_status_t ri_rndv_send_payload_am(ri_send_req_t *req, uint32_t id, const void *payload,
                                     size_t length, unsigned flags);

/** Sender: write the data of @a req to where the receiver has said, @a address. @return What
 * the plane says. */
ucs_status_t ri_rndv_write(ri_send_req_t *req, ri_plane_ep_t *ep, uint64_t address);

/**
 * Receiver: get the data of a matched RTS or POOL into its receive, and tell the sender.
 *
 * @param stream   That the message came by.
 * @param arrival  It. If the receive is too short for it, the sender is told only.
 *
 * @return The status of the receive; UCS_INPROGRESS if it is completed later.
 */
ucs_status_t ri_rndv_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                          const ri_arrival_t *arrival);

/**
 * Receiver: take an RTS or POOL from memory that a hostile peer may change at any time.
 *
 * @param arrival  Its sn, wire_type, req_id and tag.
 *
 * @return 0 if it breaks the protocol; then nothing was done.
 */
int ri_rndv_receive(ri_stream_t *stream, ri_arrival_t *arrival, const void *payload,
                    size_t length);

/** Receiver: tell the sender that the data of an RTS or POOL is not needed any more. */
void ri_rndv_answer(ri_stream_t *stream, ri_wire_type_t type, uint32_t id,
                    const ri_wire_rts_t *rts);

/** Receiver: give up a message that nobody will receive. */
void ri_rndv_discard(const ri_msg_t *msg);

/** Receiver: the worker ends; give up all that are unexpected. */
void ri_rndv_discard_all(ri_worker_t *worker);

/** Receiver: let a receive wait for its data, under recv->id. @return UCS_OK or
 * UCS_ERR_NO_MEMORY. */
ucs_status_t ri_rndv_wait(ri_recv_req_t *recv, ri_stream_t *stream);

/** Receiver: likewise, under an id that it has. */
void ri_rndv_wait_as(ri_recv_req_t *recv, ri_stream_t *stream);

/** Receiver: it waits no more, and nobody writes its memory any more. */
void ri_rndv_forget(ri_recv_req_t *recv);

/**
 * Receiver: the stream ends; what still waits for its data ends with @a status.
 *
 * But not what the sender may still write by a plane that this side cannot stop: that must not
 * be handed back. The sender writes
 * only while it handles CTS. Its conn is open then, and when that ends, it says so: BYE, and
 * RING_CLOSE if there was a ring. If the stream has broken, the sender gets RESET, which ends
 * its conn. So these receives end by WRITTEN, RNDV_DATA, ri_rndv_abort_written(), or here
 * if a plane tells that the sender's process is gone, and after any of those nothing is
 * written. What no plane can tell about waits for ever if the sender is killed, as all other
 * receives do in an error mode in which the end of a peer is not noticed (in the other one
 * there is no CTS).
 */
void ri_rndv_abort(ri_stream_t *stream, ucs_status_t status);

/** Receiver: BYE has come and there is no ring (any more). */
void ri_rndv_abort_written(ri_stream_t *stream, ucs_status_t status);

/** Receiver: the stream is freed with its worker. What the sender may still write is never
 * completed: nobody will know when it is the application's again. */
void ri_rndv_drop_written(ri_stream_t *stream);

/** Receiver: as ri_rndv_abort() for all streams of a peer; @a uid 0: of the worker. */
void ri_rndv_abort_all(ri_worker_t *worker, uint64_t uid, ucs_status_t status);

/** Sender: @return Whether the peer has not got the data of all rendezvous yet. */
int ri_rndv_is_under_way(const ri_conn_t *conn);

/** Sender: @return The request that an answer is about, or NULL if it is for none (any
 * more). */
ri_send_req_t *ri_rndv_find(ri_worker_t *worker, ri_conn_t *conn, uint32_t id);

/** Sender: FIN. */
void ri_rndv_handle_fin(ri_worker_t *worker, ri_conn_t *conn, const ri_wire_msg_t *msg);

#endif
