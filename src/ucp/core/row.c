/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "row.h"
#include "send_req.h"
#include "types/peer_types.h"

/* Messages in a row after which another one is expected. */
#define ROW_LONG 4

/* Messages go both ways if one direction has at most as many as the other one has, times this. */
#define ROW_MUTUAL 4

/* Count a message of one direction, *which. */
static void row_count(ri_peer_t *peer, uint32_t *which)
{
    if (++*which >= RI_ROW_COUNTED) {
        peer->row.sent /= 2;
        peer->row.received /= 2;
    }
}

int ri_row_is_mutual(const ri_peer_t *peer)
{
    return ri_max(peer->row.sent, peer->row.received) <=
           ROW_MUTUAL * ri_min(peer->row.sent, peer->row.received);
}

int ri_row_ask(const ri_send_req_t *req)
{
    ri_conn_t *conn = req->conn;
    int follows     = ri_send_has_announced(conn, 0);
    int is_one;

    if (!follows) {
        conn->row.last   = conn->row.length;
        conn->row.length = 0;
    }
    ++conn->row.length;
    is_one       = follows || (conn->row.last >= ROW_LONG);
    conn->row.on = is_one && !ri_row_is_mutual(conn->peer);
    return is_one;
}

void ri_row_note_send(ri_peer_t *peer)
{
    row_count(peer, &peer->row.sent);
}

void ri_row_note_receive(ri_peer_t *peer)
{
    row_count(peer, &peer->row.received);
}
