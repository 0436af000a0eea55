/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives of the ud plane begin here: with a queue pair of the pool, or behind others that wait
 * for one.
 */
#ifndef RI_UD_QUEUE_H
#define RI_UD_QUEUE_H

#include "ud_base.h"

#if HAVE_VERBS

/** recv() of the plane. @return See recv() of ri_ud_ops_t. */
ucs_status_t ri_ud_queue_recv(ri_plane_ep_t *super, const ri_ud_list_t *list,
                              int is_offer, ri_ud_op_t *op, ri_ud_target_t *target);

/** Give queue pairs to receives that wait. Others may end for that, and so does one that there is
 * no memory for. If there is no queue pair, and none can be made, all that wait end. */
void ri_ud_queue_serve(ri_ud_plane_t *plane);

/** Call op->ready() of receives that have got a queue pair. They may begin and cancel others,
 * and end ways. @return How many were called. */
unsigned ri_ud_queue_tell(ri_ud_plane_t *plane);

#endif

#endif
