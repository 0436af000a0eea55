/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends of the ud plane: from memory by pieces into the work requests of the data queue pair
 * (ud_data.h).
 */
#ifndef RI_UD_SEND_H
#define RI_UD_SEND_H

#include "ud_base.h"

#if HAVE_VERBS

/** send() of the plane. @param target  Of the receiver: wire input. @return See send() of
 * ri_ud_ops_t. */
ucs_status_t ri_ud_send(ri_plane_ep_t *super, const ri_ud_list_t *list,
                        const ri_ud_target_t *target, ri_ud_op_t *op);

/** Take note of work requests that have ended. If there are any, sends may have ended
 * (sends_changed), for ri_ud_send_time() to find. If the queue cannot be read the plane is
 * broken. */
void ri_ud_send_poll(ri_ud_plane_t *plane);

/** Let time go by for all sends of which the device has done everything: those that have ended
 * get into plane->ended. */
void ri_ud_send_time(ri_ud_plane_t *plane);

/** Post pieces, as far as there are any that may be sent, and room for them. */
void ri_ud_send_post(ri_ud_plane_t *plane);

/** A control message for a send has come. @param message  Wire input. */
void ri_ud_send_message(ri_ud_ep_t *ep, const ri_ud_message_t *message);

/** End a send, if it has not ended: its protocol is told @a status when the device has done all
 * that it was given. The receiver is not told. */
void ri_ud_send_cancel(ri_ud_send_t *send, ucs_status_t status);

/** heard() of the plane: a send has ended well, as the receiver has said by another way. */
void ri_ud_send_heard(ri_plane_ep_t *super, uint32_t number);

#endif

#endif
