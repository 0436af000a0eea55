/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's side of cooperative copies (coop.h).
 */
#ifndef RI_COOP_SEND_H
#define RI_COOP_SEND_H

#include "../../match/rtr_table.h"
#include "coop_copy.h"

/** @return Whether a slot of the conn's ring is free, if it has one. */
int ri_coop_send_has_slot(const ri_conn_t *conn);

/** A long message of data in runs, which only a shelf can take, is about to be sent. @return Whether to
 * try @ref ri_coop_send_start: unless the receiver could not take such messages of late, but for one
 * in so many. */
int ri_coop_send_try_spread(ri_conn_t *conn);

/** For `take` of protocols by which both sides copy. @return 0, or RI_SEND_LACKS_SLOT. */
unsigned ri_coop_send_take(ri_send_req_t *req, const ri_send_terms_t *terms);

/**
 * Send the RTS of @a req, whose id and wire_type are set, with a slot of the conn's ring. If none
 * is free, or there is no memory, the RTS goes without. Nothing is copied within the call.
 *
 * @param rtr  That was taken for it (RI_RING_GRANT_SHARING), NULL if there is none. Its grant is
 *             SLOT then, and the sender may write the receive's memory already; or it is FAILED, if
 *             the RTS has no slot.
 *
 * @return As ri_rndv_send(). After an error the copy is the request's still, and goes with it
 *         (ri_coop_send_give_up()).
 */
ucs_status_t ri_coop_send_start(ri_send_req_t *req, const ri_rtr_t *rtr);

/** The RTS is under way, has a slot (@ref ri_coop_send_of), and its receiver's memory is known now:
 * the sender may write it from here on. The caller has taken the RTR. */
void ri_coop_send_offer(ri_send_req_t *req, uint64_t address);

/** @return The copy of a send whose protocol was chosen, which is its proto_state. NULL: the RTS
 * has no slot (any more), or the protocol is none by which both sides copy. */
ri_coop_t *ri_coop_send_of(const ri_send_req_t *req);

/** FIN or NACK has come: the receiver is done with the request's slot, if it has one. The copy is
 * freed, and the slot is free for other messages. */
void ri_coop_send_answered(ri_send_req_t *req);

/** The request ends, or goes on without its slot, if it has one: the receiver gets no more than
 * what it is reading now, and is told so in the slot. The copy is freed. */
void ri_coop_send_give_up(ri_send_req_t *req);

/** The conn of the request, whose RTS is sent, has lost a later number, and its ring is about to be
 * closed: @return whether the receiver can get the message without it. */
int ri_coop_send_outlives_loss(const ri_send_req_t *req);

/** Take back slots with which nobody has begun: the receiver reads these messages alone. @return
 * Whether the ring is not needed any more by copies. */
int ri_coop_send_let_go(ri_conn_t *conn);

/** @return How much has been copied, by either side, of the messages that have a slot of the conn's
 * ring now, in units of the slots (uct/shm/slot.h). */
uint64_t ri_coop_send_done(const ri_conn_t *conn);

/** @return Whether the receiver needs the ring to learn that it has got a message
 * whose send is complete. */
int ri_coop_send_is_unread(const ri_conn_t *conn);

/** @return Whether progress may copy, as the receiver's memory is known, and if it was not before,
 * has just been learnt from the slot; if not, the sender has to wait for something else. */
int ri_coop_send_learn_target(ri_coop_t *coop);

/** The copy of a send has ended, as @a state says: it is freed, and the send ends. But if all is
 * copied, and the slot says that something has failed, both stay and wait for FIN or NACK. Calls
 * back; the conn may be gone afterwards. */
void ri_coop_send_end(ri_coop_t *coop, ri_coop_state_t state);

#endif
