/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The operations that a flush waits for before stock is asked for it (ep_op.h). A close waits for
 * them, too, as it would cancel the flushes before it.
 */
#ifndef RI_FLUSH_H
#define RI_FLUSH_H

#include "../core/conn.h"
#include "../core/context.h"
#include "../core/rma_order.h"
#include "../core/worker.h"

/** @return Whether a flush has to wait for own work (sends that wait for room in a ring, writes
 * into channels), or for one-sided operations that were started up to @a rma (of worker->rma.seq;
 * rma_order.h) to end here: stock's would end too early. @a conn NULL: of the whole worker; what
 * closes have left in rings is not waited for then. */
int ri_flush_must_wait(ri_worker_t *worker, ri_conn_t *conn, uint64_t rma);

/** @return Whether stock has nothing to flush on an endpoint, or with @a conn NULL on any: there
 * are no messages, and all one-sided operations of stock are over. It would set up connections that
 * nobody needs then, and wait for peers that compute. */
static inline int ri_flush_is_needless(const ri_worker_t *worker, const ri_conn_t *conn)
{
    const uint64_t messages = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_STREAM;

    return !(worker->context->features & messages) && !ri_rma_wants_flush(worker, conn) &&
           ((conn == NULL) || (conn->status == UCS_OK));
}

/** End with @a status the flushes and closes of @a conn that wait, as it is about to go or to lose
 * its endpoint. Flushes of the worker, and what stock has already, go on. Calls back. */
void ri_flush_abort(ri_conn_t *conn, ucs_status_t status);

#endif
