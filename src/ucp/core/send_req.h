/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Life of a send that has a request: started -> waits (RI_SEND_WAIT_*) -> complete, or aborted.
 * What its protocol keeps for it is the protocol's (send_proto.h).
 */
#ifndef RI_SEND_REQ_H
#define RI_SEND_REQ_H

#include <assert.h>

#include "types/conn_types.h"
#include "types/request.h"

/** Fill a request that @ref ri_req_get has given, all but its data, callback and way. Its number is
 * the next one of @a conn, in case it takes that. It is in conn->sends from here on. */
void ri_send_req_init(ri_send_req_t *req, ri_conn_t *conn, uint64_t tag);

/* Number of the latest messages of a conn that are looked at: what was announced long ago waits for
 * a receive that is not posted. */
#define RI_SEND_LATEST 4

/** @return Whether one of the latest messages of a conn was announced, and is not known to be
 * matched; with @a in_pieces, one that its receiver can copy by itself. */
int ri_send_has_announced(const ri_conn_t *conn, int in_pieces);

/** @return Whether a send may wait for all of @a waiting (RI_SEND_WAIT_*) at the same time, see the
 * table in request.h. */
int ri_send_may_wait_for(uint8_t waiting);

/** Let a send wait for @a what (RI_SEND_WAIT_*), too. */
static inline void ri_send_begin_wait(ri_send_req_t *req, uint8_t what)
{
    req->waiting |= what;
    assert(ri_send_may_wait_for(req->waiting));
}

/** A send does not wait for @a what (RI_SEND_WAIT_*) any more, if it did. It is not completed, as
 * it waits for something else, or the caller goes on with it. */
static inline void ri_send_drop_wait(ri_send_req_t *req, uint8_t what)
{
    req->waiting &= (uint8_t)~what;
}

/**
 * Something that an unfinished send waited for has happened, or has failed. After a failure the
 * send waits only for stock and for writes that go on. When it waits for nothing any more it
 * completes, with the first failure: this calls back then, and the request must not be touched
 * afterwards; the conn may be gone.
 *
 * @param what    Some of RI_SEND_WAIT_*; what it does not wait for does no harm.
 * @param status  UCS_OK, or what has failed.
 */
void ri_send_end_wait(ri_send_req_t *req, uint8_t what, ucs_status_t status);

/** The endpoint of a send failed or is closed: it does without its conn, id and protocol, and
 * what it waits for from the peer will not come, so it ends with @a status. What is in UCX's
 * hands ends as UCX says, and a write when it has ended. A send whose call has not returned is
 * not completed: that call finds it without a conn. Else this calls back, and the request must
 * not be touched afterwards. */
void ri_send_abort(ri_send_req_t *req, ucs_status_t status);

/** The `can_end_now` of a protocol (send_proto.h) whose sends can always complete within the call,
 * or of which stock says by itself when they cannot. @return 1. */
int ri_send_always_ends_now(const ri_send_req_t *req);

/** @return Whether the peer, or a write that goes on, may need the memory of a send that has not
 * ended. */
int ri_send_is_needed(const ri_send_req_t *req);

/** A send ends: let go of its conn, its id, and what its protocol keeps. It is not completed, and
 * the state of its data is the caller's to end. It may be called again. */
void ri_send_forget(ri_send_req_t *req);

#endif
