/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Payload that is at hand, for a receive into memory that the processor must not write
 * (GPU memory). Stock can write it: the payload is sent to this very worker as a stock tag
 * message, and received by stock into the receive's memory. Stock's own tag matching is
 * not used for anything else on a worker of this library.
 */
#ifndef RI_BOUNCE_H
#define RI_BOUNCE_H

#include "../core/worker.h"

/** Get ready for @ref ri_bounce: make an endpoint to the own worker, unless it is there. The
 * endpoint ends with stock's worker. @return UCS_OK, or UCX's error; nothing is there then, and
 * it may be tried again. */
ucs_status_t ri_bounce_init(ri_worker_t *worker);

/**
 * Have stock place @a length bytes at @a data in the memory of @a recv. They are copied first, so
 * @a data is the caller's again when the call returns. The receive is long enough, and @ref
 * ri_bounce_init has succeeded.
 *
 * @return UCS_OK or an error if it ended within the call, and the caller completes the receive.
 *         UCS_INPROGRESS if it will end by @ref ri_recv_complete, which is not called within the
 *         call.
 */
ucs_status_t ri_bounce(ri_recv_req_t *recv, const void *data, size_t length);

#endif
