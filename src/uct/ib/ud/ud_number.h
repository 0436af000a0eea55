/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a receiver knows of transfers by their numbers: those that are under way (ri_ud_ep_t.recvs),
 * and those that were cancelled, which are here. All others that were ever given out are complete.
 * (protocol-ud.md, section 6)
 */
#ifndef RI_UD_NUMBER_H
#define RI_UD_NUMBER_H

#include "ud_base.h"

#if HAVE_VERBS

/* Transfers of a way whose numbers are kept because they were cancelled, from which on it offers
 * nothing: in a PROBE for one, all of them are looked through. */
#define RI_UD_CANCELLED_MAX 65536

/** Make sure that the number of one more transfer of a way can be kept when it is cancelled,
 * besides those under way. @return UCS_OK, or UCS_ERR_NO_MEMORY. */
ucs_status_t ri_ud_number_reserve(ri_ud_ep_t *ep);

/** Keep the number of a transfer that is cancelled. There is room for it:
 * ri_ud_number_reserve(). */
void ri_ud_number_cancel(ri_ud_ep_t *ep, uint32_t number);

/** @return Whether a transfer was cancelled, and its number was not forgotten. */
int ri_ud_number_is_cancelled(const ri_ud_ep_t *ep, uint32_t number);

/** Send a message that says nothing but the number of a transfer. It may get lost.
 * @param type  RI_UD_ACK or RI_UD_CANCEL. */
void ri_ud_number_tell(ri_ud_ep_t *ep, uint32_t number, ri_ud_type_t type);

/** forget() of the plane: the sender will not ask for a number that was cancelled. Any number may
 * be given. */
void ri_ud_number_forget(ri_plane_ep_t *super, uint32_t number);

#endif

#endif
