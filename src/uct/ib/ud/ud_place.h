/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the pieces of a receive land: the memory of landings, which is posted here, and from which
 * pieces are moved to their places. ud_place.c has a picture.
 */
#ifndef RI_UD_PLACE_H
#define RI_UD_PLACE_H

#include "ud_base.h"

#if HAVE_VERBS

/** @return Segments of a receive that may describe a piece: the first one is for the GRH. */
static inline unsigned ri_ud_place_max_sge(const ri_ud_plane_t *plane)
{
    return plane->pool.max_sge - 1;
}

/** post() of ri_ud_rx_ops_t: put the memory of a landing behind all that is posted. It may not be
 * posted before ri_ud_place_flush(). */
void ri_ud_place_post(ri_ud_rx_t *rx, uint32_t landing);

/** Give the device what was put together for a receive. If that fails recv->failure is set. If the
 * queue pair is destroyed already, nothing is done. */
void ri_ud_place_flush(ri_ud_plane_t *plane, ri_ud_recv_t *recv);

/** move() of ri_ud_rx_ops_t: copy a piece from the memory of a landing to the place of a piece,
 * either of which may be RI_UD_NONE: plane->piece. */
void ri_ud_place_move(ri_ud_rx_t *rx, uint32_t from, uint32_t to, uint32_t piece);

#endif

#endif
