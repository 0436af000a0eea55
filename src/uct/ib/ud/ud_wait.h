/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that wait for a queue pair of the pool: those of one way in order, ways in turn.
 * ud_queue.h serves them. (protocol-ud.md, section 7)
 */
#ifndef RI_UD_WAIT_H
#define RI_UD_WAIT_H

#include "ud_base.h"

#if HAVE_VERBS

/** A new receive waits behind all others of its way. */
void ri_ud_wait_add(ri_ud_plane_t *plane, ri_ud_recv_t *recv);

/** A receive waits no more. If others of its way do, their turn is after that of all other ways.
 * The caller changes its state. */
void ri_ud_wait_remove(ri_ud_recv_t *recv);

#endif

#endif
