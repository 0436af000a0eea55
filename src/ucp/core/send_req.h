/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Life of a send that has a request: started -> waits (RI_SEND_WAIT_*) -> complete, or aborted. What
 * its protocol keeps for it is the protocol's (send_proto.h).
 */
#ifndef RI_SEND_REQ_H
#define RI_SEND_REQ_H

#include "worker.h"

/** Fill a request, all but its data. It is in conn->sends from here on. */
void ri_send_req_init(ri_send_req_t *req, ri_conn_t *conn, uint64_t tag);

/**
 * Something that an unfinished send waited for has happened, or failed. The last one
 * completes it.
 *
 * @param what  One of RI_SEND_WAIT_*.
 */
void ri_send_end_wait(ri_send_req_t *req, uint8_t what, ucs_status_t status);

/** The endpoint of a send failed or is closed: what the send waits for from the peer will
 * not come. What is in UCX's hands ends as UCX says. */
void ri_send_abort(ri_send_req_t *req, ucs_status_t status);

/** @return Whether the peer may need the memory of a send that has not ended. */
int ri_send_is_needed(const ri_send_req_t *req);

/** A send ends: let go of its conn, its id, and what its protocol keeps. */
void ri_send_forget(ri_send_req_t *req);

/** A message has taken the next number: whatever RTR is for it is used up.
 * @param req_id  Of the request of an RTS, else 0. */
static inline void ri_send_log(ri_conn_t *conn, uint64_t tag, uint32_t req_id)
{
    if (ri_unlikely(conn->rtrs != NULL)) {
        ri_rtr_table_send(conn->rtrs, conn->tx_sn, tag, req_id);
    }
}

#endif
