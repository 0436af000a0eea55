/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pending.h"
#include "../link/ring_life.h"
#include "../proto/eager/eager.h"

/* Send what waits for room in the ring; close the ring if that was asked for. */
static void pending_progress_conn(ri_conn_t *conn)
{
    ri_worker_t *worker = conn->worker;
    uint32_t id         = conn->id;

    while (!ucs_list_is_empty(&conn->pending)) {
        if (!ri_eager_retry_ring(ucs_list_head(&conn->pending, ri_send_req_t, pending))) {
            return;
        }
        /* The send's callback may have closed the endpoint, or failed it. */
        if ((ri_id_get(&worker->ids.conns, id) != conn) || (conn->status != UCS_OK)) {
            return;
        }
    }
    if (conn->flags & RI_CONN_RING_STOP) {
        if (ri_ring_life_withdraw(conn)) {
            return;
        }
        ri_ring_life_close(conn);
    }
    ri_conn_dequeue_pending(conn);
    ri_conn_update_fast(conn);
}

void ri_pending_progress(ri_worker_t *worker)
{
    size_t count = ucs_list_length(&worker->pending_conns);
    ri_conn_t *conn;

    /* One round, from the head: callbacks may remove any conn, or add some. */
    for (; (count > 0) && !ucs_list_is_empty(&worker->pending_conns); --count) {
        conn = ucs_list_extract_head(&worker->pending_conns, ri_conn_t, pending_link);
        ucs_list_add_tail(&worker->pending_conns, &conn->pending_link);
        pending_progress_conn(conn);
    }
}
