/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ring_send.h"
#include "../core/peer.h"

#include <string.h>

/* Whatever the order towards other ways. */
static int ring_send_put_control(ri_conn_t *conn, ri_wire_type_t type, uint32_t id,
                                 uint32_t value, const void *payload, size_t length)
{
    ri_ring_record_t *record = ri_ring_tx_reserve(conn->ring, length);

    if (record == NULL) {
        return 0;
    }
    if (length > 0) {
        memcpy(record->payload, payload, length);
    }
    record->hint  = ri_peer_take_hint(conn->peer);
    record->type  = type;
    record->value = value;
    record->extra = id;
    record->tag   = 0;
    ri_ring_tx_commit(conn->ring, record, length);
    return 1;
}

int ri_ring_send_control(ri_conn_t *conn, ri_wire_type_t type, uint32_t id,
                         uint32_t value, const void *payload, size_t length)
{
    return (conn->ring != NULL) && !(conn->flags & RI_CONN_NO_RING) &&
           ring_send_put_control(conn, type, id, value, payload, length);
}

int ri_ring_send_closing(ri_conn_t *conn)
{
    return (conn->ring != NULL) &&
           ring_send_put_control(conn, RI_WIRE_CLOSING, 0, 0, NULL, 0);
}
