/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums of the sizes of what is allocated for a peer, as blocks of the heap: once by the kind of its
 * plane, for what ucxri_info prints, and once by what a peer has now. test/check/peer_memory.test
 * compares them with the heap.
 */
#include "peer_memory.h"
#include "../proto/coop/coop_methods.h"
#include "../core/conn.h"
#include "../core/stream.h"
#include "../match/rtr_table.h"
#include "../../ucs/settings.h"
#include "../../ucs/id_table.h"
#include "../proto/rtr/rtr_entries.h"
#include "../proto/rtr/rtr_state.h"

/* A conn and a stream have an id each, and endpoint and peer are found by maps. Tables of ids
 * double, so on average they have 3/2 slots for each. Maps have two, and keep the tables that they
 * have outgrown, which together are as large. */
#define MEMORY_TABLES \
    (2 * sizeof(ri_id_slot_t) * 3 / 2 + 2 * sizeof(ri_map_slot_t) * 2 * 2)

static size_t memory_conn(void)
{
    return ri_heap_block(RI_CACHE_LINES(sizeof(ri_conn_t)));
}

static size_t memory_targets(void)
{
    return ri_heap_block(RI_WIRE_RTR_ENTRIES * sizeof(*((ri_conn_t *)NULL)->rtr.targets));
}

/* Of as many RTRs as may be out. Only of senders that have such RTRs: no part of what is printed
 * for each peer. */
static size_t memory_grids(size_t rtrs)
{
    return ri_heap_block(rtrs * sizeof(ri_wire_grid_t));
}

/* The bits of a sender's ring that say which lines are dirty (ring.c). */
static size_t memory_ring(size_t size)
{
    return ri_heap_block((size / RI_RING_LINE + 63) / 64 * sizeof(uint64_t));
}

size_t ri_peer_memory_connected(unsigned kind)
{
    return memory_conn() + ri_heap_block(sizeof(ri_peer_t)) +
           ri_heap_block(sizeof(ri_stream_t)) + MEMORY_TABLES +
           ((kind == RI_WIRE_PLANE_CMA) ? memory_ring(ri_settings_ring_size(0)) : 0);
}

size_t ri_peer_memory_offers(unsigned kind)
{
    size_t table = ri_heap_block(sizeof(ri_rtr_table_t));

    if (kind == RI_WIRE_PLANE_CMA) {
        return table + ri_heap_block(sizeof(ri_rtr_grants_t));
    }
    return table + ri_heap_block(sizeof(ri_untold_t)) +
           ri_heap_block(sizeof(ri_rtr_words_t)) +
           ri_heap_block(sizeof(ri_rtr_entries_t)) +
           ((kind == RI_WIRE_PLANE_UD) ? memory_targets() : 0);
}

/* The size of the object that a pointer points to. */
#define MEMORY_OF(_p) (((_p) == NULL) ? 0 : ri_heap_block(sizeof(*(_p))))

size_t ri_peer_memory_now(const ri_peer_t *peer)
{
    size_t bytes = MEMORY_OF(peer) + MEMORY_OF(peer->rtr.entries) + MEMORY_TABLES;
    const ri_rtr_words_t *words;
    const ri_stream_t *stream;
    const ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        bytes += memory_conn() + MEMORY_OF(conn->rtr.table) +
                 MEMORY_OF(conn->rtr.untold) + MEMORY_OF(conn->rtr.words) +
                 MEMORY_OF(conn->rtr.grants) + MEMORY_OF(conn->rtr.ring_layouts_out) +
                 ri_layouts_in_bytes(conn->rtr.net_layouts_in) +
                 ((conn->rtr.targets == NULL) ? 0 : memory_targets()) +
                 ((conn->rtr.grids == NULL) ? 0 : memory_grids(RI_WIRE_RTR_ENTRIES)) +
                 ((conn->ring == NULL) ?
                          0 :
                          memory_ring(conn->ring->map_size - RI_RING_CONTROL_SIZE));
    }
    ucs_list_for_each(words, &peer->rtr.words, list) {
        bytes += MEMORY_OF(words);
    }
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        bytes += MEMORY_OF(stream) + MEMORY_OF(stream->coop.exchange) +
                 ri_layouts_in_bytes(stream->rtr.ring_layouts_in) +
                 MEMORY_OF(stream->rtr.net_layouts_out) +
                 ((stream->rtr.grids == NULL) ? 0 : memory_grids(RI_RING_GRANTS));
    }
    return bytes;
}
