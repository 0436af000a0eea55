/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The queue pair that sends the pieces of all transfers. It has one queue, so that the receiver can
 * tell a peer's datagrams from those of others by one number.
 */
#ifndef RI_UD_DATA_H
#define RI_UD_DATA_H

#include "ud_base.h"

#if HAVE_VERBS

/** Make the queue pair. @return UCS_OK, or UCS_ERR_UNSUPPORTED: then there is nothing to be
 * closed. */
ucs_status_t ri_ud_data_open(ri_ud_plane_t *plane);

/** Destroy the queue pair, if there is one. */
void ri_ud_data_close(ri_ud_plane_t *plane);

/** @return Segments that a work request may have. */
static inline unsigned ri_ud_data_max_sge(const ri_ud_plane_t *plane)
{
    return ri_min(plane->ib.device->max_sge, RI_UD_SGE_MAX);
}

/** If something is posted, take it back: what was not sent is lost, and sends may have ended
 * (sends_changed). When this returns the device uses nothing of it any more, unless it can neither
 * reset nor destroy the queue pair: then it may still read, and the plane is broken. */
void ri_ud_data_flush(ri_ud_plane_t *plane);

/** Do what ri_ud_data_flush() does, and make the queue pair ready anew even if nothing is
 * posted. If it cannot be made ready the plane is broken. */
void ri_ud_data_reset(ri_ud_plane_t *plane);

#endif

#endif
