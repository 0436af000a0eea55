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

/** Send through the ring. @return UCS_OK, or UCS_INPROGRESS if it waits for room
 * (RI_SEND_WAIT_RING). */
ucs_status_t ri_eager_send_ring(ri_send_req_t *req);

/**
 * Put a message that waited into the ring.
 *
 * @return 0 if there is no room.
 */
int ri_eager_retry_ring(ri_send_req_t *req);

/** Send by the channel through a network, or, if its way has just failed, as the next. */
ucs_status_t ri_eager_send_rdma(ri_send_req_t *req, const ucp_request_param_t *param);

/** Send one active message, header and payload copied together. @return As
 * ri_am_send_buffer(). */
ucs_status_t ri_eager_send_copy(ri_send_req_t *req, const ucp_request_param_t *param);

/** Likewise, the payload from the application's buffer. */
ucs_status_t ri_eager_send_gather(ri_send_req_t *req);

#endif
