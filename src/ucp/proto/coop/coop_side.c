/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coop_side.h"

/* So many of the latest sends of a conn are looked at, if they are among as many messages: what was
 * announced long ago waits for a receive that is not posted. */
#define SIDE_SENDS 4

/* Whether a conn has announced something that its receiver can copy by itself. */
static int side_has_announced(const ri_conn_t *conn)
{
    const ucs_list_link_t *at = conn->sends.prev;
    const ri_send_req_t *req;
    unsigned i;

    for (i = 0; (i < SIDE_SENDS) && (at != &conn->sends); ++i, at = at->prev) {
        req = ucs_container_of(at, ri_send_req_t, list);
        if (conn->tx_sn - req->sn >= SIDE_SENDS) {
            break;
        }
        if ((req->wire_type == RI_WIRE_RTS) && (req->waiting & RI_SEND_WAIT_MATCH) &&
            !ri_dt_is_spread(&req->data)) {
            return 1;
        }
    }
    return 0;
}

int ri_coop_side_also_sends(const ri_coop_t *coop)
{
    const ri_conn_t *conn;

    ucs_list_for_each(conn, &coop->stream->peer->conns, peer_list) {
        if (side_has_announced(conn)) {
            return 1;
        }
    }
    return 0;
}
