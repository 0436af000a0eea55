/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How a receive gets the data of a matched RTS or POOL: the facts are collected, ri_select_fetch()
 * chooses, and what was chosen begins (core/types/fetch_proto.h). It is what such a message does
 * when it has met its receive (order/recv_start.h).
 */
#include "../core/activity.h"
#include "../core/exchange.h"
#include "../core/row.h"
#include "../core/memory.h"
#include "../link/planes.h"
#include "../order/arrival.h"
#include "../order/recv_start.h"
#include "rndv/rndv.h"
#include "select.h"
#include "coop/coop_recv.h"
#include "coop/coop_shelf.h"

/* Whether a receive may be told to a sender, see ri_select_fetch_t. */
static int fetch_can_answer(ri_stream_t *stream)
{
    const ri_conn_t *conn = ri_peer_usable_conn(stream->peer);

    return (conn != NULL) && !(conn->flags & RI_CONN_PEER_MODE);
}

/* @return The facts of a message and its receive, by which its fetch is chosen. */
static ri_select_fetch_t fetch_facts(const ri_recv_req_t *recv, ri_stream_t *stream,
                                     const ri_arrival_t *arrival)
{
    const ri_wire_rts_t *rts = arrival->data;
    int is_rts               = (arrival->wire_type == RI_WIRE_RTS);
    int keys                 = !!(rts->flags & RI_WIRE_RTS_KEYS);
    int put                  = is_rts && (rts->flags & RI_WIRE_RTS_PUT);
    int sends                = is_rts && (rts->flags & RI_WIRE_RTS_SENDS);
    int spread               = is_rts && (rts->flags & RI_WIRE_RTS_SPREAD);

    return (ri_select_fetch_t){.is_pool     = !is_rts,
                               .wants_put   = put,
                               .sends       = sends,
                               .has_keys    = keys,
                               .slot_named  = is_rts && (rts->slot != 0),
                               .can_answer  = put && fetch_can_answer(stream),
                               .sent_spread = spread,
                               .contig      = ri_dt_is_contig(&recv->data),
                               .spread      = ri_dt_is_spread(&recv->data),
                               .pieces = (keys || sends) && ri_dt_fits_net(&recv->data),
                               .has_address = (recv->data.buffer != NULL),
                               .host_memory = ri_memory_of_recv_is_host(recv),
                               .host_plane  = ri_planes_of(stream->peer->local.ep),
                               .net_plane   = ri_planes_of(stream->peer->way.ep),
                               .length      = arrival->length,
                               .room        = recv->data.length};
}

/* Look at the slot that an RTS names. */
static ri_coop_named_t fetch_look_at_slot(ri_select_fetch_t *facts,
                                          const ri_recv_req_t *recv, ri_stream_t *stream,
                                          const ri_arrival_t *arrival)
{
    ri_coop_named_t named = ri_coop_recv_find_named(recv, stream, arrival->req_id,
                                                    arrival->data);

    facts->slot_there = (named.slot != NULL);
    facts->shelf      = facts->slot_there && (facts->spread || facts->sent_spread) &&
                   ri_coop_shelf_is_there(stream);
    facts->slot_offered  = named.offered;
    facts->slot_is_other = (named.address != 0) &&
                           (named.address != (uintptr_t)recv->data.buffer);
    return named;
}

/* The chosen fetch has turned out to lack something. Change the facts, so that another one is
 * chosen. */
static void fetch_do_without(ri_select_fetch_t *facts, ri_fetch_lacks_t lacks)
{
    if (lacks == RI_FETCH_LACKS_SLOT) {
        facts->slot_named = 0;
    } else {
        facts->wants_put = 0;
    }
}

/* Get the data of a matched RTS or POOL into its receive, and tell the sender. If the receive is
 * too short, the sender is told only. */
static ucs_status_t fetch_start(ri_recv_req_t *recv, ri_stream_t *stream,
                                ri_arrival_t *arrival)
{
    ri_fetch_terms_t terms = {.arrival = arrival};
    const ri_fetch_proto_t *proto;
    ri_select_fetch_t facts;
    ri_coop_named_t named;
    ucs_status_t status;

    if (stream->broken) {
        return UCS_ERR_CONNECTION_RESET; /* the send has ended, its memory is not its own */
    }
    ri_activity_note_copy(stream->worker, arrival->length);
    facts = fetch_facts(recv, stream, arrival);
    ri_exchange_note(stream->peer);
    ri_row_note_receive(stream->peer);
    if (facts.slot_named) {
        named      = fetch_look_at_slot(&facts, recv, stream, arrival);
        terms.slot = &named;
    }
    for (;;) {
        proto  = ri_fetch_protos[ri_select_fetch(&facts)];
        status = proto->start(recv, stream, &terms);
        if ((proto->lacks == RI_FETCH_LACKS_NOTHING) || (status != UCS_ERR_NO_ELEM)) {
            return status;
        }
        fetch_do_without(&facts, (ri_fetch_lacks_t)proto->lacks);
    }
}

/* The bytes of an RTS or POOL that are kept with the message: all of it. */
static size_t fetch_size(const ri_arrival_t *arrival)
{
    return ri_wire_rts_length(arrival->data);
}

const ri_msg_ops_t ri_msg_ops_rts = {.start        = fetch_start,
                                     .size         = fetch_size,
                                     .discard      = ri_rndv_discard,
                                     .is_elsewhere = 1,
                                     .answers      = 1};
