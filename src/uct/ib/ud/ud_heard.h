/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who knows that a transfer has ended. A lost ACK is repaired by the sender's questions, as long as
 * the receiver is there to answer them. Before it goes it has to know that none will come, so
 * senders say what they know: DONE, for several transfers at a time, as nobody waits for it.
 */
#ifndef RI_UD_HEARD_H
#define RI_UD_HEARD_H

#include "ud_base.h"

#if HAVE_VERBS

/** Receiver: a message was received; the sender may not know. Only the numbers of the latest ones
 * are kept, 1024 at most, or as many as there is memory for. */
void ri_ud_heard_received(ri_ud_ep_t *ep, uint32_t number);

/** Receiver: DONE has come. @param message  Wire input. */
void ri_ud_heard_done(ri_ud_ep_t *ep, const ri_ud_message_t *message);

/** Receiver: unheard() of the plane. Copy the numbers of the first @a max messages of which the
 * sender has not said that it knows. @return The number of all of them. */
unsigned ri_ud_heard_list(ri_plane_ep_t *super, uint32_t *numbers, unsigned max);

/** Receiver: remind() of the plane. If it is time to, tell the sender again of the messages of
 * which it has not said that it knows. @return 0: that was in vain for long, and is not done any
 * more. 1: else, also if there are no such messages. */
int ri_ud_heard_remind(ri_plane_ep_t *super);

/** Sender: a send has ended, and is in no list of its way. If it has ended well tell the
 * receiver that this is known; later, with others, if other sends of the way are under way. */
void ri_ud_heard_sent(const ri_ud_send_t *send);

/** Sender: an ACK has come for what is no send here, any more: tell the receiver that this is
 * known. */
void ri_ud_heard_again(ri_ud_ep_t *ep, uint32_t number);

#endif

#endif
