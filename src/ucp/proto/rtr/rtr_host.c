/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An RTR within a host goes through the ring to the peer, with one of the grants of that ring. It
 * says where the memory is: an address, a grid, or a layout that was defined in the ring before.
 */
#include "rtr_host.h"
#include "../../../ucs/random.h"
#include "../../../ucs/settings.h"
#include "../../link/ring_life.h"
#include "rtr_layout.h"
#include "rtr_state.h"

#include <stdlib.h>

static int host_may_use(const ri_conn_t *conn)
{
    return (conn->status == UCS_OK) &&
           !(conn->flags & (RI_CONN_NO_RING | RI_CONN_CLOSING));
}

/* Where messages go one way only nothing else makes a ring the other way. */
static void host_ask_for_ring(const ri_peer_t *peer)
{
    ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if (host_may_use(conn) && (conn->flags & RI_CONN_USER)) {
            ri_ring_life_ask(conn);
            return;
        }
    }
}

/* A ring to the peer in which an RTR can go, with a free grant. Without one, *status_p says whether
 * there may be one later, as ri_rtr_host_send(). */
static ri_conn_t *host_find_conn(ri_peer_t *peer, ucs_status_t *status_p)
{
    ri_conn_t *conn;

    *status_p = UCS_ERR_UNSUPPORTED;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if ((conn->ring == NULL) || !host_may_use(conn)) {
            continue;
        }
        if (conn->rtr.grants == NULL) {
            conn->rtr.grants = calloc(1, sizeof(*conn->rtr.grants));
            if (conn->rtr.grants == NULL) {
                return NULL;
            }
            conn->rtr.grants->free       = ~0u;
            conn->rtr.grants->generation = (uint32_t)ri_random();
        }
        if (conn->rtr.grants->free != 0) {
            return conn;
        }
        *status_p = UCS_ERR_NO_RESOURCE;
    }
    if (*status_p == UCS_ERR_UNSUPPORTED) {
        host_ask_for_ring(peer);
    }
    return NULL;
}

int ri_rtr_host_find_place(const ri_recv_req_t *recv, const ri_stream_t *stream,
                           ri_rtr_place_t *place)
{
    place->address = (uintptr_t)recv->data.buffer;
    place->layout  = NULL;
    if (ri_dt_is_contig(&recv->data)) {
        return 1;
    }
    if (stream->plane.grids && ri_dt_grid(&recv->data, &place->address, &place->grid)) {
        return place->grid.run >= ri_config.dt_run_host;
    }
    place->layout = stream->plane.layouts ? ri_dt_described(&recv->data) : NULL;
    return (place->layout != NULL) &&
           (ri_dt_run_mean(&recv->data) >= ri_config.dt_run_host);
}

/* The payloads of an RTR in a ring, which begin in the same way. */
typedef union host_payload {
    ri_wire_rtr_t rtr;
    ri_wire_rtr_runs_t runs;
    ri_wire_rtr_layout_t layout;
} host_payload_t;

/* Say where the memory of a receive is. @return The length of the payload; 0: the ring has no room
 * for the definition of its layout; below 0: it cannot be said in this ring. */
static int host_put_place(ri_conn_t *conn, const ri_recv_req_t *recv,
                          const ri_rtr_place_t *place, host_payload_t *payload)
{
    ucs_status_t status;

    if (place->layout != NULL) {
        payload->layout.count = recv->data.count;
        status                = ri_rtr_layout_name(conn, place->layout, &payload->layout);
        return (status == UCS_OK)              ? (int)sizeof(payload->layout) :
               (status == UCS_ERR_NO_RESOURCE) ? 0 :
                                                 -1;
    }
    if (ri_dt_is_contig(&recv->data)) {
        return sizeof(payload->rtr);
    }
    payload->runs.grid = place->grid;
    return sizeof(payload->runs);
}

/* Write the RTR of a receive into a ring. @return As host_put_place(). */
static int host_put(ri_recv_req_t *recv, ri_conn_t *conn, const ri_stream_t *stream,
                    const ri_rtr_place_t *place, int ahead)
{
    host_payload_t msg = {.layout = {.rtr = {.mask       = recv->mask,
                                             .address    = place->address,
                                             .length     = recv->data.length,
                                             .seen       = stream->next_sn - 1,
                                             .ahead      = ahead,
                                             .grant      = recv->rtr.index,
                                             .generation = recv->rtr.generation}}};
    int length         = host_put_place(conn, recv, place, &msg);
    ri_ring_record_t *record;

    if (length <= 0) {
        return length;
    }
    record = ri_ring_tx_reserve(conn->ring, length);
    if (record == NULL) {
        return 0;
    }
    assert(conn->rtr.grants->recv[recv->rtr.index] == NULL);
    ri_grant_offer(&conn->ring->control->grants[recv->rtr.index], recv->rtr.generation);
    memcpy(ri_ring_payload(record, length), &msg, length);
    record->type  = RI_WIRE_RTR;
    record->hint  = ri_peer_take_hint(conn->peer);
    record->value = recv->id;
    record->extra = stream->remote_conn_id;
    record->tag   = recv->tag;
    ri_ring_tx_commit(conn->ring, record, length);
    ++conn->counters.tx_control;
    return length;
}

ucs_status_t ri_rtr_host_send(ri_recv_req_t *recv, ri_stream_t *stream,
                              const ri_rtr_place_t *place, int ahead)
{
    ri_worker_t *worker = recv->super.worker;
    ucs_status_t status;
    ri_conn_t *conn = host_find_conn(stream->peer, &status);
    ri_rtr_grants_t *grants;
    int length;

    if (conn == NULL) {
        return status;
    }
    recv->id = ri_id_alloc(&worker->ids.recvs, recv);
    if (recv->id == 0) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }
    recv->rndv.stream    = NULL; /* by its id, only PLACED is for it */
    grants               = conn->rtr.grants;
    recv->rtr.conn       = conn;
    recv->rtr.index      = __builtin_ctz(grants->free);
    recv->rtr.generation = ++grants->generation;
    length               = host_put(recv, conn, stream, place, ahead);
    if (length <= 0) {
        ri_id_free(&worker->ids.recvs, recv->id);
        recv->id       = 0;
        recv->rtr.conn = NULL;
        if (length < 0) {
            return UCS_ERR_UNSUPPORTED;
        }
        worker->rtr.retry = 1; /* nothing tells when there is room */
        worker->rtr.turns = UINT_MAX;
        worker->attention = 1;
        return UCS_ERR_NO_RESOURCE;
    }

    grants->free &= ~(1u << recv->rtr.index);
    grants->recv[recv->rtr.index] = recv;
    recv->rtr.stream              = stream;
    ri_rtr_state_set(recv, RI_RTR_BY_GRANT);
    ucs_list_add_tail(&stream->rtr.recvs, &recv->list);
    ++stream->rtr.num;
    ++worker->counters.rtr_sent;
    ri_trace(&worker->trace, RI_TRACE_RTR_SENT, recv->tag, recv->id);
    return UCS_OK;
}
