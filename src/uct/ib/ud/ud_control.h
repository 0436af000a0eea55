/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The queue pair of control messages: they are sent here, and polled for. ud_arrive.h knows what
 * they are for.
 */
#ifndef RI_UD_CONTROL_H
#define RI_UD_CONTROL_H

#include "ud_base.h"

#if HAVE_VERBS

/** A datagram has come. @param wc  Its completion. @param data  The GRH, then the datagram: wire
 * input, from anybody. It stays until the function returns. */
typedef void (*ri_ud_control_func_t)(ri_ud_plane_t *plane, const struct ibv_wc *wc,
                                     const uint8_t *data);

/** Make the queue pair and post its receives. @return UCS_OK, or UCS_ERR_UNSUPPORTED: then there is
 * nothing to be closed. */
ucs_status_t ri_ud_control_open(ri_ud_plane_t *plane);

/** Destroy the queue pair, if there is one. */
void ri_ud_control_close(ri_ud_plane_t *plane);

/** Call @a arrived for all datagrams that have come. If the queue cannot be read the plane is
 * broken. */
void ri_ud_control_poll(ri_ud_plane_t *plane, ri_ud_control_func_t arrived);

/** Make the queue pair ready anew, as something has failed, such as a datagram that was too
 * long. What is under way gets lost. If it cannot be made ready the plane is broken. */
void ri_ud_control_reset(ri_ud_plane_t *plane);

/** Send a control message to the remote side of a way, whose id is filled in. It may get lost,
 * and does if the way is not connected or there is no room. */
void ri_ud_control_send(ri_ud_ep_t *ep, ri_ud_message_t *message);

#endif

#endif
