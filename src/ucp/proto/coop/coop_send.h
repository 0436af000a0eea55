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

/** A long message in runs, which only a shelf can take, is about to be sent. @return Whether to
 * send it by ri_coop_send_start(). The answer is no if the receiver could not take such messages of
 * late, but some are tried all the same (COOP_REFUSED_AGAIN). */
int ri_coop_send_try_spread(ri_conn_t *conn);

/** The step `take` (core/types/send_proto.h) of protocols by which both sides copy. @return 0, or
 * RI_SEND_LACKS_SLOT: no slot is free. */
unsigned ri_coop_send_take(ri_send_req_t *req, const ri_send_terms_t *terms);

/**
 * Send the RTS of @a req, whose id and wire_type are set, with a slot of the conn's ring. If no
 * slot is free, or there is no memory, the RTS has no slot. Nothing is copied within the call.
 *
 * @param rtr  The RTR that was taken for the message (its grant is RI_RING_GRANT_SHARING), or NULL.
 *             With a slot the grant becomes SLOT, and the sender may write the receive's memory
 *             from then on. Without a slot the grant becomes FAILED.
 *
 * @return As ri_rndv_send(). After an error the copy still belongs to the request, and
 *         ri_coop_send_give_up() frees it.
 */
ucs_status_t ri_coop_send_start(ri_send_req_t *req, const ri_rtr_t *rtr);

/** An RTR has told where the receive's memory is, after the RTS of @a req was sent with a slot. The
 * caller has taken the RTR. The sender may write the memory from here on. */
void ri_coop_send_offered(ri_send_req_t *req, uint64_t address);

/** @return The copy of a send whose protocol was chosen, which is its proto_state. NULL: the RTS
 * has no slot (any more), or the protocol is none by which both sides copy. */
ri_coop_t *ri_coop_send_of(const ri_send_req_t *req);

/** FIN or NACK has come, so the receiver does not use the request's slot any more. If there is a
 * slot, the copy is freed, and the slot is free for other messages. */
void ri_coop_send_answered(ri_send_req_t *req);

/** The request ends, or goes on without its slot. If there is a slot, it tells the receiver that
 * the rest is not copied, and the copy is freed. The receiver ends what it is reading now. */
void ri_coop_send_give_up(ri_send_req_t *req);

/** The conn of a request has lost a number that came after its RTS, and its ring is about to be
 * closed.
 * @return Whether the receiver can get the message without the ring. */
int ri_coop_send_outlives_loss(const ri_send_req_t *req);

/** The ring of a conn is to be given up: withdraw the slots of messages of which nothing has been
 * claimed. The receiver reads those messages, or asks for them, without a slot. @return 1: no copy
 * needs the ring any more. 0: slots of copies that have begun are left, and the ring has to
 * stay. */
int ri_coop_send_let_go(ri_conn_t *conn);

/** @return How much has been copied, by either side, of the messages that have a slot of the conn's
 * ring now, in units of the slots (uct/shm/slot.h). */
uint64_t ri_coop_send_done(const ri_conn_t *conn);

/** @return Whether a message of the conn has a slot whose receiver may not know yet that all is
 * copied, although the send is complete. Then the receiver still needs the ring. */
int ri_coop_send_is_unread(const ri_conn_t *conn);

/** Look in the slot where the receiver's memory is, unless that is known. @return Whether it is
 * known, so that progress may copy. If not, the sender has to wait. */
int ri_coop_send_learn_target(ri_coop_t *coop);

/** The copy of a send has ended, as @a state says: the copy is freed, and the send ends. But if all
 * is copied, and the slot says that a part has failed, both stay and wait for FIN or NACK. It may
 * call the application; the conn may be gone afterwards. */
void ri_coop_send_end(ri_coop_t *coop, ri_coop_state_t state);

#endif
