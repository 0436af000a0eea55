/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Eager messages: the data goes with its header, through the pair's ring or channel, or as one
 * active message. Those without a request are in tag/send.[ch]. (protocol.md sections 4 and 6)
 */
#ifndef RI_EAGER_H
#define RI_EAGER_H

#include "../../core/worker.h"

/**
 * Put a message that waited into the ring.
 *
 * @return 0 if there is no room.
 */
int ri_eager_retry_ring(ri_send_req_t *req);

/** Send one active message, header and payload copied together. @return As
 * ri_am_send_buffer(). */
ucs_status_t ri_eager_send_copy(ri_send_req_t *req, const ri_send_terms_t *terms);

#endif
