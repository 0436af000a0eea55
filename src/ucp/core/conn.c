/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a conn does while it lives: its peer becomes known, sends wait for its ring, and its failure
 * is told. How it begins and ends is in conn_life.c.
 */
#include "conn.h"
#include "types/worker_types.h"
#include "../../ucs/clock.h"
#include "../../ucs/settings.h"

#include <math.h>

ri_map_t ri_conn_map = RI_MAP_INITIALIZER;

ucs_status_t ri_conn_set_peer(ri_conn_t *conn, const ri_wire_worker_t *remote)
{
    ri_peer_t *peer = ri_peer_get(conn->worker, remote->uid);

    if (peer == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    if (remote->am_id != 0) {
        conn->am_id = remote->am_id - 1;
    }
    if (remote->rank != 0) {
        peer->rank = remote->rank;
    }
    conn->peer = peer;
    ucs_list_add_tail(&peer->conns, &conn->peer_list);
    RI_MODULES_TELL(peer_reached, conn->worker, peer);
    return UCS_OK;
}

int ri_conn_may_become(uint32_t from, uint32_t to, int works)
{
    uint32_t set   = to & ~from;
    uint32_t clear = from & ~to;

    if (clear != 0) {
        return (clear == RI_CONN_LOST) && (set == 0);
    }
    switch (set) {
    case 0:
    case RI_CONN_LEFT | RI_CONN_CLOSING:
        return 1;
    case RI_CONN_CLOSING:
        return !(from & RI_CONN_LEFT);
    case RI_CONN_LEFT:
        return !!(from & RI_CONN_CLOSING);
    case RI_CONN_LOST:
        return works;
    case RI_CONN_BYE:
        return works || (from & RI_CONN_LOST);
    default:
        return 0;
    }
}

/* Flags that need others, and those. */
static const struct {
    uint32_t flag, needs;
} conn_flags_need[] = {{RI_CONN_PLANE_READ, RI_CONN_PLANE_ASKED},
                       {RI_CONN_PLANE_REFUSED, RI_CONN_PLANE_ASKED},
                       {RI_CONN_PLANE_WRITE, RI_CONN_PLANE_ASKED},
                       {RI_CONN_PLANE_TOLD, RI_CONN_PLANE_ASKED},
                       {RI_CONN_WAY, RI_CONN_WAY_ASKED},
                       {RI_CONN_FENCED, RI_CONN_BEHIND_RMA}};

/* Flags that are changed at any time, and are cleared. */
#define CONN_FLAGS_CLEARED \
    (RI_CONN_PLANE_WANTED | RI_CONN_PLANE_READ | RI_CONN_PLANE_WRITE | \
     RI_CONN_WAY_ASKED | RI_CONN_WAY | RI_CONN_BEHIND_RMA | RI_CONN_FENCED | \
     RI_CONN_ORDER_ASKED | RI_CONN_UNTOLD | RI_CONN_POSTED)

/* Flags that are set at any time, and stay. */
#define CONN_FLAGS_STAY \
    (RI_CONN_ASKED | RI_CONN_PLANE_ASKED | RI_CONN_PLANE_REFUSED | RI_CONN_PLANE_TOLD | \
     RI_CONN_LONG | RI_CONN_CLOSING_TOLD | RI_CONN_TELLS | RI_CONN_AM_READY)

int ri_conn_flags_may_become(uint32_t from, uint32_t to)
{
    uint32_t set   = to & ~from;
    uint32_t clear = from & ~to;
    unsigned i;

    for (i = 0; i < sizeof(conn_flags_need) / sizeof(conn_flags_need[0]); ++i) {
        if (((set & conn_flags_need[i].flag) && !(to & conn_flags_need[i].needs)) ||
            ((clear & conn_flags_need[i].needs) && (to & conn_flags_need[i].flag))) {
            return 0;
        }
    }
    return !(set & ~(uint32_t)(CONN_FLAGS_CLEARED | CONN_FLAGS_STAY)) &&
           !(clear & ~(uint32_t)CONN_FLAGS_CLEARED);
}

void ri_conn_update_fast(ri_conn_t *conn)
{
    int healthy = (conn->status == UCS_OK) &&
                  !(conn->flags & (RI_CONN_SELF | RI_CONN_NO_PEER | RI_CONN_VERSION |
                                   RI_CONN_CLOSING | RI_CONN_UNTOLD | RI_CONN_POSTED)) &&
                  conn->worker->host_memory;

    if (!healthy || (conn->remote_id == 0) || !ucs_list_is_empty(&conn->pending) ||
        ((conn->channel != NULL) && (conn->flags & RI_CONN_NO_RING))) {
        conn->fast_max = 0;
    } else if (conn->ring != NULL) {
        conn->fast_max = (conn->flags & RI_CONN_NO_RING) ? 0 : conn->ring_limits.max + 1;
    } else if (conn->flags & RI_CONN_AM_READY) {
        conn->fast_max = ri_config.eager_thresh + 1;
    } else {
        conn->fast_max = ri_min((size_t)RI_WIRE_SHORT, ri_config.am_inline) + 1;
    }
}

void ri_conn_queue_pending(ri_conn_t *conn)
{
    ri_conn_update_fast(conn);
    conn->worker->attention = 1;
    if (ucs_list_is_empty(&conn->pending_link)) {
        ucs_list_add_tail(&conn->worker->pending_conns, &conn->pending_link);
    }
}

void ri_conn_dequeue_pending(ri_conn_t *conn)
{
    ucs_list_del(&conn->pending_link);
    ucs_list_head_init(&conn->pending_link);
}

/* Say BYE to the stream of a conn, up to the number in front of end_sn, if its id is known by now
 * and that was not said. */
static void conn_tell_lost(ri_conn_t *conn)
{
    ri_conn_t *other;

    if ((conn->flags & RI_CONN_BYE) || (conn->remote_id == 0)) {
        return;
    }
    other = (conn->peer != NULL) ? ri_peer_usable_conn(conn->peer) : NULL;
    ri_conn_set_life(conn, conn->flags | RI_CONN_BYE);
    RI_MODULES_TELL(conn_lost, conn, (other != NULL) ? other : conn);
}

int ri_conn_is_needed(const ri_conn_t *conn, ri_conn_need_t need)
{
    int is_needed;

    if (((need == RI_CONN_NEED_MEMORY) &&
         !ucs_list_is_empty((ucs_list_link_t *)&conn->pending)) ||
        ((need == RI_CONN_NEED_PEER) &&
         !ucs_list_is_empty((ucs_list_link_t *)&conn->sends))) {
        return 1;
    }
    RI_MODULES_ASK(is_needed, conn_is_needed, conn, need);
    return is_needed;
}

void ri_conn_say_lost(ri_conn_t *conn)
{
    /* After BYE the receiver lets nobody write its memory, and what cannot be sent again can only
     * be told by BYE. */
    if ((conn->flags & RI_CONN_LOST) && !ri_conn_is_needed(conn, RI_CONN_NEED_OPEN)) {
        conn_tell_lost(conn);
    }
}

void ri_conn_say_over(ri_conn_t *conn)
{
    uint32_t id         = conn->id;
    ri_worker_t *worker = conn->worker;

    if (!(conn->flags & RI_CONN_LOST)) {
        conn->end_sn = conn->tx_sn + 1;
        if (conn->remote_id == 0) { /* CONN_ACK will have it told */
            ri_conn_set_life(conn, conn->flags | RI_CONN_LOST);
        }
    }
    conn_tell_lost(conn);
    if ((ri_id_get(&worker->ids.conns, id) == conn) && (conn->flags & RI_CONN_BYE)) {
        ri_conn_set_life(conn, conn->flags & ~(uint32_t)RI_CONN_LOST);
    }
}

void ri_conn_start_timeout(ri_conn_t *conn)
{
    ri_worker_t *worker = conn->worker;

    if (!(conn->flags & RI_CONN_BY_SOCKADDR) || (conn->remote_id != 0) ||
        isinf(ri_config.connect_timeout)) {
        return;
    }
    conn->asking.time       = 0;
    conn->asking.counted_at = ri_clock_now();
    worker->attention       = 1;
    ucs_list_add_tail(&worker->asking.conns, &conn->asking.link);
}

void ri_conn_stop_timeout(ri_conn_t *conn)
{
    ucs_list_del(&conn->asking.link);
    ucs_list_head_init(&conn->asking.link);
}
