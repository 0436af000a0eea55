/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether RTRs pay: who sends to a receive, and what the application does meanwhile.
 */
#ifndef RI_RTR_LEARN_H
#define RI_RTR_LEARN_H

#include "../../order/recv_start.h"

/** For ri_promises_t: a message above the eager threshold was matched: note who has sent it,
 * whether an RTR was or would have been of use, and whether the application waited for it. */
void ri_rtr_learn(ri_recv_req_t *recv, const ri_stream_t *stream,
                  const ri_arrival_t *arrival);

/** For ri_promises_t: a message above the eager threshold came without an announcement, so that an
 * RTR would have been of no use: note whether the application waited for it. */
void ri_rtr_learn_waiting(ri_recv_req_t *recv, const ri_stream_t *stream);

#endif
