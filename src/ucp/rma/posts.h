/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts of a conn that were posted to the mailbox of their target and not waited for (mail.h). They
 * are settled before anything that has to come behind them: a flush, a fence, a message on the
 * endpoint, its close; and by progress, when the target has done them or has had its time.
 */
#ifndef RI_POSTS_H
#define RI_POSTS_H

#include "mail.h"
#include "../core/conn.h"
#include "../core/worker.h"

/* How many workers have conns with such puts, in all of the process. */
extern _Atomic(unsigned) ri_posts_workers;

/** Note that a put of a conn was posted by @a reach. Puts that were posted by another reach
 * are settled. The worker is locked, in this function and in those below. */
void ri_posts_note(ri_conn_t *conn, ri_reach_t *reach);

/** What ri_posts_settle() does if the conn has posted puts. */
void ri_posts_settle_slow(ri_conn_t *conn);

/** Settle all posted puts of a conn: they are over when this returns. */
static inline void ri_posts_settle(ri_conn_t *conn)
{
    if (ri_unlikely(conn->flags & RI_CONN_POSTED)) {
        ri_posts_settle_slow(conn);
    }
}

/** Settle the posted puts of all conns of a worker: they are over when this returns. */
void ri_posts_settle_all(ri_worker_t *worker);

/** Settle the puts of a conn, or with NULL those of the worker, for a flush; also what was stored
 * into mapped memory is seen by others before this process reads on. @return UCS_OK; or why puts to
 * a target were lost, from then on: it is gone, or its memory is. */
ucs_status_t ri_posts_flush(ri_worker_t *worker, ri_conn_t *conn);

/** @return Whether there is something for ri_posts_progress(). */
static inline int ri_posts_has_work(const ri_worker_t *worker)
{
    return !ucs_list_is_empty((ucs_list_link_t *)&worker->rma.posted);
}

/** Look at posted puts. Those that are over need no settling any more. Those that are not over
 * after some calls are settled. */
void ri_posts_progress(ri_worker_t *worker);

#endif
