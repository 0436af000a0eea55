/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What this process has announced of late is read off the sends of its conns. What that says of the
 * peer's messages is kept in ri_peer_t.exchange.
 */
#include "exchange.h"
#include "send_req.h"
#include "../../ucs/settings.h"

/* Number of messages of the peer's in succession that met none of this process's: there is no
 * exchange any more then. There is none at first. */
#define EXCHANGE_ALONE 4

/* Where there is no exchange, one message in this number is taken for one of an exchange, to see
 * whether there is one again. */
#define EXCHANGE_AGAIN 64

int ri_exchange_also_sends(const ri_peer_t *peer)
{
    const ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if (ri_send_has_announced(conn, 1)) {
            return 1;
        }
    }
    return 0;
}

int ri_exchange_is_crowded(const ri_worker_t *worker)
{
    return worker->num_rings >= worker->rings.crowd;
}

void ri_exchange_note(ri_peer_t *peer)
{
    if (ri_exchange_also_sends(peer)) {
        peer->exchange.met = EXCHANGE_ALONE;
    } else if (peer->exchange.met > 0) {
        --peer->exchange.met;
    }
}

int ri_exchange_is_on(ri_conn_t *conn, size_t length, int has_come)
{
    ri_peer_t *peer = conn->peer;
    int crowded;

    if ((peer == NULL) || (ri_config.rtr == UCS_YES)) {
        return 0; /* receives are offered to the sender instead */
    }
    crowded = ri_exchange_is_crowded(conn->worker);
    if (length <= ri_exchange_min(conn->ring_limits.contig, crowded)) {
        return 0;
    }
    if (crowded || !peer->hint.prompt) {
        return crowded;
    }
    if (has_come) {
        peer->exchange.met = EXCHANGE_ALONE;
    }
    return (peer->exchange.met > 0) || (++peer->exchange.untried % EXCHANGE_AGAIN == 0);
}
