/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends that wait for room in the ring of their conn, and rings that are to be closed when these
 * have gone (core/conn.h: ri_conn_queue_pending).
 */
#ifndef RI_PENDING_H
#define RI_PENDING_H

#include "../core/worker.h"

/** @return Whether there is something for @ref ri_pending_progress. */
static inline int ri_pending_has_work(ri_worker_t *worker)
{
    return !ucs_list_is_empty(&worker->pending_conns);
}

/** Put what waits into rings, as far as there is room, and close rings that were asked back and
 * are not needed any more. Calls back; any conn may be gone afterwards. */
void ri_pending_progress(ri_worker_t *worker);

#endif
