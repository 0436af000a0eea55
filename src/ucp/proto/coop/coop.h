/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Cooperative copies: a long message between processes of one host is copied by both sides
 * at the same time, the receiver reading and the sender writing, as far as each of them is
 * in the library. Who copies what is decided in a slot of the ring (uct/shm/slot.h), which
 * the RTS names; there are no further messages unless something fails. (protocol.md
 * section 8)
 *
 * Who may touch what, and until when:
 *   - The sender writes only what it has claimed, and only within a call. The receive ends
 *     when all that was claimed is done, never before; so nobody writes its memory then.
 *   - The sender's memory is read likewise, and the send ends likewise.
 *   - A side that must end earlier claims what is left, which the other then cannot, and
 *     says why. The receiver also waits for what the sender has claimed, unless that
 *     process is gone.
 *   - The slot belongs to the sender until the RTS is sent, then to the receiver until it
 *     clears `busy`, or answers with FIN or NACK instead.
 */
#ifndef RI_COOP_H
#define RI_COOP_H

#include "../rtr/rtr_table.h"
#include "../../core/worker.h"

/** Sender: @return Whether a slot of the conn's ring is free, if it has one. */
int ri_coop_has_slot(const ri_conn_t *conn);

/**
 * Sender: send the RTS of @a req, whose id and wire_type are set. Nothing is copied within
 * the call.
 *
 * @param rtr  That was taken for it (RI_RING_GRANT_SHARING), and whose grant is then SLOT: the
 *             sender may write the receive's memory already; NULL: that is not known.
 *
 * @return As ri_rndv_send().
 */
ucs_status_t ri_coop_start(ri_send_req_t *req, const ri_rtr_t *rtr);

/** Sender: @return Whether the RTS would go through the ring. Once the sender may write, the
 * send may be complete before the RTS is read, which so must not come another way, when the
 * ring may be gone. */
int ri_coop_is_ring_open(const ri_conn_t *conn);

/** Sender: the RTS is under way, and the sender may write the receive's memory by now. */
void ri_coop_offer(ri_send_req_t *req, uint64_t address);

/** Sender: FIN or NACK has come: the receiver is done with the request's slot, if it has one. */
void ri_coop_answered(ri_send_req_t *req);

/** Sender: the request ends, or goes on without its slot, if it has one: the receiver gets no more
 * than what it is reading now. */
void ri_coop_give_up(ri_send_req_t *req);

/** Sender: likewise for all requests of a conn, whose ring is to be unmapped. */
void ri_coop_give_up_all(ri_conn_t *conn);

/** Sender: take back what nobody has begun with. @return Whether the ring is not needed any
 * more. */
int ri_coop_let_go(ri_conn_t *conn);

/** Sender: @return How much of all messages that both sides copy has been copied. */
uint64_t ri_coop_done(const ri_conn_t *conn);

/** Sender: @return Whether the receiver needs the ring to learn that it has got a message
 * whose send is complete. */
int ri_coop_is_unread(const ri_conn_t *conn);

/* The slot of an RTS, when that is matched. */
typedef struct ri_coop_offer {
    ri_ring_slot_t *slot; /* NULL: it is not there (any more) */
    uint64_t address;     /* of a receive, if the sender knew that first; else 0 */
    int offered;          /* the sender may have written by it */
} ri_coop_offer_t;

/** Receiver: look for the slot that an RTS names. */
ri_coop_offer_t ri_coop_find_offer(const ri_recv_req_t *recv, const ri_stream_t *stream,
                                   uint32_t req_id, const ri_wire_rts_t *rts);

/**
 * Receiver: an RTS was matched that is copied by both sides. Copies the first part.
 *
 * @param offer  Its slot, which is there.
 *
 * @return The status of the receive; UCS_INPROGRESS: it ends later; UCS_ERR_NO_ELEM: it is to
 *         be received as if it had no slot.
 */
ucs_status_t ri_coop_recv(ri_recv_req_t *recv, ri_stream_t *stream, uint32_t req_id,
                          const ri_wire_rts_t *rts, const ri_coop_offer_t *offer);

/** Receiver: no further message of a stream is matched. The sender writes no more into
 * receives that it knows of, when this returns; those that have their message end by
 * themselves. */
void ri_coop_close_slots(ri_stream_t *stream);

/** Receiver: the ring of a stream is to be unmapped: do that when the last copy that needs it
 * has ended. They end soon, in progress. */
void ri_coop_unmap(ri_stream_t *stream);

/** Receiver: the worker ends: end what is under way, and tell the senders. */
void ri_coop_end_all(ri_worker_t *worker);

/** Copy and see what was copied. @return Number of events. */
unsigned ri_coop_progress(ri_worker_t *worker);

#endif
