/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A send is complete when req->waiting is 0. Stock's callback and the end of a write always come,
 * so a send that fails waits for these.
 */
#include "send_req.h"
#include "conn.h"
#include "req_life.h"
#include "timeline_notes.h"
#include "../wire/wire.h"

int ri_send_always_ends_now(const ri_send_req_t *req)
{
    (void)req;
    return 1;
}

void ri_send_req_init(ri_send_req_t *req, ri_conn_t *conn, uint64_t tag)
{
    req->conn        = conn;
    req->tag         = tag;
    req->sn          = conn->tx_sn + 1; /* if it gets one */
    req->id          = 0;
    req->waiting     = 0;
    req->wire_type   = 0;
    req->target      = RI_SEND_TARGET_NONE;
    req->withdrawn   = 0;
    req->exchanges   = 0;
    req->failure     = UCS_OK;
    req->proto       = NULL;
    req->keys        = NULL;
    req->proto_state = NULL;

    req->in_stock[RI_AM_MESSAGE] = NULL;
    req->in_stock[RI_AM_DATA]    = NULL;
    ucs_list_add_tail(&conn->sends, &req->list);
}

#define SEND_PAIR(_one, _other) (RI_SEND_WAIT_##_one | RI_SEND_WAIT_##_other)

int ri_send_may_wait_for(uint8_t waiting)
{
    static const uint8_t pairs[] = {SEND_PAIR(RING, MATCH),  SEND_PAIR(STOCK, MATCH),
                                    SEND_PAIR(STOCK, DATA),  SEND_PAIR(STOCK, WRITE),
                                    SEND_PAIR(MATCH, WRITE), SEND_PAIR(MATCH, CONN),
                                    SEND_PAIR(DATA, WRITE),  SEND_PAIR(WRITE, CONN)};
    uint8_t one, with;
    unsigned i;

    for (one = 1; one < RI_SEND_WAIT_LAST; one <<= 1) {
        with = one;
        for (i = 0; i < sizeof(pairs); ++i) {
            with |= (pairs[i] & one) ? pairs[i] : 0;
        }
        if ((waiting & one) && (waiting & ~with)) {
            return 0;
        }
    }
    return waiting < RI_SEND_WAIT_LAST;
}

int ri_send_has_announced(const ri_conn_t *conn, int in_pieces)
{
    const ucs_list_link_t *at;
    const ri_send_req_t *req;

    for (at = conn->sends.prev; at != &conn->sends; at = at->prev) {
        req = ucs_container_of(at, ri_send_req_t, list);
        if (conn->tx_sn + 1 - req->sn > RI_SEND_LATEST) {
            break;
        }
        if ((req->wire_type == RI_WIRE_RTS) && (req->waiting & RI_SEND_WAIT_MATCH) &&
            (!in_pieces || !ri_dt_is_spread(&req->data))) {
            return 1;
        }
    }
    return 0;
}

void ri_send_forget(ri_send_req_t *req)
{
    if ((req->proto != NULL) && (req->proto->forget != NULL)) {
        req->proto->forget(req);
    }
    if (req->conn != NULL) {
        ucs_list_del(&req->list);
        req->conn = NULL;
    }
    if (req->id != 0) {
        ri_id_free(&req->super.worker->ids.sends, req->id);
        req->id = 0;
    }
}

static void send_complete(ri_send_req_t *req, ucs_status_t status)
{
    ri_conn_t *conn = req->conn;

    ri_send_forget(req);
    if ((conn != NULL) && ri_unlikely(conn->flags & RI_CONN_LOST)) {
        ri_conn_say_lost(conn); /* perhaps that was the last one */
    }
    ri_dt_finish(&req->data);
    ri_trace(&req->super.worker->trace, RI_TRACE_SEND_DONE, req->tag, status);
    ri_timeline_send_end(req, status);
    ri_req_complete_send(&req->super, status);
}

void ri_send_end_wait(ri_send_req_t *req, uint8_t what, ucs_status_t status)
{
    ri_send_drop_wait(req, what);
    if (ri_unlikely(status != UCS_OK)) {
        /* Only stock's callback and the end of a write are sure to come, and must find the
         * request: whatever else the send waits for may never come. */
        req->failure = (req->failure == UCS_OK) ? status : req->failure;
        ri_send_drop_wait(req,
                          RI_SEND_WAIT_RING | RI_SEND_WAIT_MATCH | RI_SEND_WAIT_CONN);
    }
    if (req->waiting == 0) {
        send_complete(req, req->failure);
    }
}

void ri_send_abort(ri_send_req_t *req, ucs_status_t status)
{
    if (req->waiting & RI_SEND_WAIT_RING) {
        ucs_list_del(&req->pending);
    }
    ri_send_forget(req);
    if (req->waiting & (RI_SEND_WAIT_RING | RI_SEND_WAIT_MATCH | RI_SEND_WAIT_WRITE |
                        RI_SEND_WAIT_CONN)) {
        ri_send_end_wait(req, RI_SEND_WAIT_RING | RI_SEND_WAIT_MATCH | RI_SEND_WAIT_CONN,
                         status);
    }
}

int ri_send_is_needed(const ri_send_req_t *req)
{
    return ri_wire_rows[req->wire_type].lends || (req->waiting & RI_SEND_WAIT_WRITE);
}
