/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The first messages of a connection, in pieces. (protocol.md section 4)
 *
 * Until the receiver has answered, UCP holds back any active message that is not short,
 * and with it the sender's message, which the application may expect to be delivered
 * without its further help. So a message of that time is cut into pieces that fit short
 * active messages. Where even those are refused (a transport without them, a full
 * queue), the rest goes in one piece and waits as the whole would have done.
 */
#ifndef RI_FRAG_H
#define RI_FRAG_H

#include "../../core/worker.h"

/**
 * Send a request's message in pieces.
 *
 * @return UCS_OK, UCS_INPROGRESS (RI_SEND_WAIT_STOCK is set), UCS_ERR_NO_RESOURCE if not even the
 *         first piece can go at once and nothing was sent, or another error. If some pieces were
 *         sent before the error, the number is lost (ri_conn_lose()): the conn has failed and has
 *         let go of the request, and may be gone.
 */
ucs_status_t ri_frag_send(ri_send_req_t *req);

/** FIRST: start to assemble a message of @a stream; what has come is copied. Without memory, or
 * with too many at once, the stream is broken, which calls back. */
void ri_frag_first(ri_stream_t *stream, const ri_wire_msg_t *wire);

/** FRAG: go on with the message that FIRST has begun; when it is complete it is delivered, which
 * calls back. A stream that is not busy may be gone afterwards. A piece of no such message is
 * counted and ignored. */
void ri_frag_next(ri_worker_t *worker, const ri_wire_msg_t *wire);

#endif
