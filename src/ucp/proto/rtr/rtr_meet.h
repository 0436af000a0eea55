/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives with an RTR that meet a message: the one that it was for, or another one.
 */
#ifndef RI_RTR_MEET_H
#define RI_RTR_MEET_H

#include "../../order/recv_start.h"

/**
 * For ri_promises_t: a receive with an RTR has met a message of @a stream that is neither PLACED
 * nor USED. An RTR to another sender was withdrawn before.
 *
 * @param status  Set with 1 as the result.
 *
 * @return See ri_promises_t.meet (order/promises.h).
 */
int ri_rtr_meet(ri_recv_req_t *recv, ri_stream_t *stream, const ri_arrival_t *arrival,
                ucs_status_t *status);

/**
 * A receive has met its message while the sender was writing: see whether that has ended.
 *
 * @param failure  If the sender could not write: UCS_OK: the data is asked for; an error: the
 *                 receive ends so.
 *
 * @return Whether that has ended; then the receive is complete, with UCS_ERR_CONNECTION_RESET if
 *         the sender's process is gone, or waits for its data, and anything may have happened.
 */
int ri_rtr_meet_progress(ri_recv_req_t *recv, ucs_status_t failure);

#endif
