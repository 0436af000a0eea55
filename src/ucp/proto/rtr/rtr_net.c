/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An RTR gets an entry and a key, and is sent. What the device notifies is noted in the entry, and
 * taken in progress (rtr_notified.c).
 */
#include "rtr_net.h"
#include "../../../ucs/log.h"
#include "../../core/types/module.h"
#include "../../link/control.h"
#include "../../match/sender_map.h"
#include "../../order/deliver.h"
#include "../../../ucs/settings.h"
#include "../../link/way.h"
#include "rtr_entries.h"
#include "rtr_layout.h"
#include "rtr_state.h"

int ri_rtr_net_on = 1;

/* The plane's callback. Whatever follows waits for progress. */
static void rtr_net_notified(ri_plane_ep_t *ep, uint32_t immediate, size_t length)
{
    ri_rtr_entries_t *entries = ((ri_peer_t *)ep->user)->rtr.entries;
    unsigned index        = (immediate >> RI_WIRE_IMM_ENTRY_SHIFT) % RI_WIRE_RTR_ENTRIES;
    ri_rtr_entry_t *entry = (entries != NULL) ? &entries->entry[index] : NULL;

    if (entry == NULL) {
        return;
    }
    if ((entry->recv == NULL) || entry->notified ||
        (((immediate >> RI_WIRE_IMM_GEN_SHIFT) ^ entry->generation) &
         RI_WIRE_IMM_GEN_MASK)) {
        ri_deliver_malformed(entries->worker, "by notification", RI_WIRE_PLACED, length);
        return;
    }
    entry->notified  = 1;
    entry->immediate = immediate;
    entry->length    = length;
    ucs_list_add_tail(&entries->worker->rtr.notified, &entry->list);
}

void ri_rtr_net_listen(ri_worker_t *worker)
{
    if (ri_rtr_net_on && (ri_config.rtr != UCS_NO) && (worker->net.rc != NULL) &&
        (worker->net.rc->ops->listen != NULL) &&
        (worker->net.rc->ops->listen(worker->net.rc, rtr_net_notified) != UCS_OK)) {
        ri_debug("no receive is offered through a network");
    }
}

int ri_rtr_net_is_possible(const ri_stream_t *stream)
{
    const ri_peer_t *peer = stream->peer;

    /* Who sleeps while RTRs are out is not woken by what they bring. */
    return stream->way.any && (peer->local.ep == NULL) &&
           (ri_way_use_ep_that(peer, RI_PLANE_NOTIFY) != NULL) &&
           (peer->way.ep->notifications >= RI_WIRE_RTR_ENTRIES) &&
           (ri_config.rtr != UCS_NO) &&
           !(stream->worker->context->features & UCP_FEATURE_WAKEUP);
}

/* Memory that is registered for a grid, gaps and all, has at most the bytes of the
 * grid, times the first number, and no more than the second: its pages are pinned, also those that
 * the program has never touched. */
#define RTR_HULL_FACTOR 4
#define RTR_HULL_MAX    (256l << 20)

/* Where the memory of a receive is that may be offered. */
typedef struct rtr_net_place {
    uint64_t address; /* of its first run, or of its buffer with a layout */
    ri_wire_grid_t grid;
    ri_layout_t *layout; /* NULL: it is one run, or a grid */
    int64_t lo;          /* what is registered, from address */
    int64_t hi;
} rtr_net_place_t;

/* @return Whether a receive may be offered. */
static int rtr_net_find(const ri_recv_req_t *recv, const ri_stream_t *stream,
                        rtr_net_place_t *place)
{
    place->address = (uintptr_t)recv->data.buffer;
    place->grid    = ri_grid_run(recv->data.length);
    place->layout  = NULL;
    if (!ri_dt_is_contig(&recv->data) &&
        !ri_dt_grid(&recv->data, &place->address, &place->grid)) {
        place->layout = stream->way.layouts ? ri_dt_described(&recv->data) : NULL;
        if (place->layout == NULL) {
            return 0;
        }
        ri_layout_wire_hull(place->layout, recv->data.count, &place->lo, &place->hi);
    } else {
        ri_grid_hull(&place->grid, &place->lo, &place->hi);
    }
    return ((place->layout == NULL) && (ri_grid_runs(&place->grid) == 1)) ||
           ((place->hi - place->lo <= RTR_HULL_MAX) &&
            ((uint64_t)(place->hi - place->lo) / RTR_HULL_FACTOR <= recv->data.length));
}

int ri_rtr_net_takes(const ri_recv_req_t *recv, const ri_stream_t *stream)
{
    rtr_net_place_t place;

    return ri_dt_is_contig(&recv->data) ||
           (stream->way.grids && rtr_net_find(recv, stream, &place));
}

static void rtr_net_put(const ri_recv_req_t *recv, const ri_stream_t *stream,
                        const ri_rtr_entry_t *entry, const rtr_net_place_t *place,
                        const ri_wire_msg_t *named, int ahead)
{
    ri_wire_msg_t msg = {.type       = (place->layout != NULL) ? RI_WIRE_RTR_LAYOUT :
                                       entry->in_runs          ? RI_WIRE_RTR_GRID :
                                                                 RI_WIRE_RTR,
                         .count      = recv->data.count,
                         .slot       = named->slot,
                         .defined    = named->defined,
                         .grid       = place->grid,
                         .id         = stream->remote_conn_id,
                         .value      = recv->id,
                         .tag        = recv->tag,
                         .mask       = recv->mask,
                         .address    = place->address,
                         .rtr_length = recv->data.length,
                         .key        = entry->memory.remote_key,
                         .way        = stream->peer->way.number,
                         .seen       = entry->seen,
                         .generation = entry->generation,
                         .ahead      = ahead,
                         .entry      = recv->rtr.index};

    ri_control_send_message(stream->peer, &msg);
}

ucs_status_t ri_rtr_net_send(ri_recv_req_t *recv, ri_stream_t *stream, int ahead)
{
    ri_worker_t *worker       = recv->super.worker;
    ri_peer_t *peer           = stream->peer;
    ri_conn_t *conn           = ri_peer_usable_conn(peer);
    ri_wire_msg_t named       = {.slot = 0};
    ri_rtr_entries_t *entries = ri_rtr_entries_get(worker, peer);
    rtr_net_place_t place;
    ri_rtr_entry_t *entry;
    ucs_status_t status;

    if (!rtr_net_find(recv, stream, &place)) {
        return UCS_ERR_UNSUPPORTED;
    }
    if ((conn == NULL) || (conn->flags & RI_CONN_PEER_MODE) || (entries == NULL)) {
        return UCS_ERR_UNREACHABLE;
    }
    /* The end of a withdrawal must not depend on offers that are made meanwhile. */
    if ((entries->free == 0) || (worker->rtr.num_revoking > 0) || worker->rtr.recheck) {
        return UCS_ERR_NO_RESOURCE;
    }
    if (place.layout != NULL) {
        status = ri_rtr_layout_name_net(stream, conn, place.layout, &named);
        if (status != UCS_OK) {
            return status;
        }
    }
    entry  = &entries->entry[__builtin_ctz(entries->free)];
    status = worker->net.rc->ops->reg(worker->net.rc, (void *)(place.address + place.lo),
                                      place.hi - place.lo, &entry->memory);
    if (status != UCS_OK) {
        if (!ri_dt_is_contig(&recv->data)) { /* there may be a hole in it */
            ri_sender_map_credit(&worker->senders, recv->tag, recv->mask, stream->id, -1);
        }
        return status;
    }
    recv->id = ri_id_alloc(&worker->ids.recvs, recv);
    if (recv->id == 0) {
        worker->net.rc->ops->release(worker->net.rc, &entry->memory);
        return UCS_ERR_NO_MEMORY;
    }

    entries->free &= entries->free - 1;
    entry->recv    = recv;
    entry->tag     = recv->tag;
    entry->seen    = stream->next_sn - 1;
    entry->ended   = 0;
    entry->in_runs = (place.layout != NULL) || (ri_grid_runs(&place.grid) > 1);
    ++entry->generation;
    recv->rndv.stream = NULL;
    recv->rtr.index   = entry - entries->entry;
    recv->rtr.stream  = stream;
    ri_rtr_state_set(recv, RI_RTR_BY_KEY);
    ucs_list_add_tail(&stream->rtr.recvs, &recv->list);
    ++stream->rtr.num;
    ++worker->rtr.num_entries;
    ++worker->num_transfers;
    ++worker->counters.rtr_sent;
    worker->attention = 1;
    ri_trace(&worker->trace, RI_TRACE_RTR_SENT, recv->tag, recv->id);
    rtr_net_put(recv, stream, entry, &place, &named, ahead);
    return UCS_OK;
}

int ri_rtr_net_has(const ri_stream_t *stream)
{
    const ri_recv_req_t *recv;

    ucs_list_for_each(recv, &stream->rtr.recvs, list) {
        if ((recv->rtr.state == RI_RTR_BY_KEY) || (recv->rtr.state == RI_RTR_KEY_USED) ||
            (recv->rtr.state == RI_RTR_NAMED)) {
            return 1;
        }
    }
    return 0;
}

void ri_rtr_net_withdraw(ri_stream_t *stream)
{
    if (ri_rtr_net_has(stream)) {
        ri_way_fail_and_tell(stream->worker, stream->peer);
    }
}

static void rtr_net_stream_written(ri_stream_t *stream)
{
    stream->way.any = ri_rtr_net_on;
}

const ri_module_t ri_module_rtr_net = {.name                   = "rtr_net",
                                       .planes_opened          = ri_rtr_net_listen,
                                       .stream_will_be_written = rtr_net_stream_written};
