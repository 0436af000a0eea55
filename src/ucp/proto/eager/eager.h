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
 * Put a message that waited, the first of conn->pending, into the ring. Its send may be complete
 * then, which calls back; the conn may be gone afterwards.
 *
 * @return 0 if there is no room; then nothing has changed.
 */
int ri_eager_retry_ring(ri_send_req_t *req);

/** Send one active message, header and payload copied together. The request waits for
 * RI_SEND_WAIT_STOCK until UCP is done with it. @return As ri_am_send_buffer(); UCS_ERR_NO_MEMORY
 * also if there is no buffer. */
ucs_status_t ri_eager_send_copy(ri_send_req_t *req, const ri_send_terms_t *terms);

#endif
