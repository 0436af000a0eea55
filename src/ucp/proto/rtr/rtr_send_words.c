/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs that have come are kept; then what is told of used ones, to a receiver that asks (REVOKE) or
 * when the conn closes.
 */
#include "rtr_send_words.h"
#include "../../core/conn.h"
#include "../../core/types/module.h"
#include "../../link/control.h"
#include "../../link/way.h"
#include "rtr_known.h"
#include "rtr_layout.h"
#include "rtr_net.h"
#include "rtr_send_untold.h"

#include <stdlib.h>

int ri_rtr_send_words_open(ri_conn_t *conn)
{
    const ri_plane_t *plane = conn->peer->way.ep->plane;

    if (!ri_rtr_net_on ||
        !(plane->capabilities & (RI_PLANE_NOTIFY | RI_PLANE_MESSAGES)) ||
        (conn->rtr.words != NULL)) {
        return 0;
    }
    ri_rtr_known_open(conn);
    if (conn->rtr.table == NULL) {
        return 0;
    }
    conn->rtr.untold = calloc(1, sizeof(*conn->rtr.untold));
    if (conn->rtr.untold == NULL) {
        return 0;
    }
    conn->rtr.words = calloc(1, sizeof(*conn->rtr.words));
    if (conn->rtr.words == NULL) {
        free(conn->rtr.untold);
        conn->rtr.untold = NULL;
    }
    return conn->rtr.words != NULL;
}

int ri_rtr_send_words_note(ri_conn_t *conn, const ri_plane_ep_t *way,
                           const ri_wire_msg_t *msg)
{
    if ((conn->rtr.words == NULL) || (conn->status != UCS_OK) ||
        !(conn->flags & RI_CONN_WAY) || (way == NULL) ||
        (msg->way != conn->peer->way.number) ||
        !ri_rtr_table_note(&conn->rtr.words->word[msg->entry], msg->generation,
                           RI_RING_GRANT_OUT)) {
        ++conn->worker->counters.rx_stale;
        return 0;
    }
    return 1;
}

void ri_rtr_send_words_add(ri_conn_t *conn, const ri_wire_msg_t *msg, ri_rtr_kind_t kind,
                           uint64_t length)
{
    ri_rtr_t rtr    = {.tag        = msg->tag,
                       .mask       = msg->mask,
                       .address    = msg->address,
                       .length     = length,
                       .recv_id    = msg->value,
                       .ahead      = msg->ahead,
                       .generation = msg->generation,
                       .index      = msg->entry,
                       .kind       = kind,
                       .grid       = NULL,
                       .grant      = &conn->rtr.words->word[msg->entry],
                       .seen       = msg->seen,
                       .key        = msg->key,
                       .way        = msg->way};
    uint32_t sn     = 0;
    uint32_t req_id = 0;
    ri_rtr_fate_t fate;

    if (msg->type == RI_WIRE_RTR_GRID) {
        rtr.grid = ri_rtr_known_keep_grid(&conn->rtr.grids, RI_WIRE_RTR_ENTRIES,
                                          rtr.index, &msg->grid);
        if (rtr.grid == NULL) {
            return; /* the RTR is as good as lost */
        }
    }
    if (msg->type == RI_WIRE_RTR_LAYOUT) {
        rtr.layout = ri_rtr_layout_find_net(conn, msg);
        if (rtr.layout == NULL) {
            return;
        }
    }
    fate = ri_rtr_table_add(conn->rtr.table, &rtr, msg->seen, &sn, &req_id);
    /* A message that was announced by RTS is read by the receiver, or asked for. The receiver does
     * not wait for a write. */
    ri_trace(&conn->worker->trace, RI_TRACE_RTR_IN, rtr.tag, fate);
}

void ri_rtr_send_words_handle_rtr(ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    if (ri_rtr_send_words_note(conn, ri_way_use_ep_that(conn->peer, RI_PLANE_NOTIFY),
                               msg)) {
        ri_rtr_send_words_add(conn, msg, RI_RTR_KEY, msg->rtr_length);
    }
}

/* @return Whether an RTR is not used and never will be. */
static int words_withdraw(ri_ring_grant_t *grant, uint32_t generation)
{
    return ri_rtr_table_note(grant, generation, RI_RING_GRANT_FREE) ||
           ri_grant_change(grant, generation, RI_RING_GRANT_FREE) ||
           (ri_grant_state(grant, generation) == RI_RING_GRANT_FREE);
}

/* @return The RTRs that the conn of a REVOKE knows, or has known; NULL: it has used none. */
static ri_rtr_words_t *words_of(const ri_peer_t *peer, const ri_conn_t *conn,
                                uint32_t conn_id)
{
    ri_rtr_words_t *words;

    if (conn != NULL) {
        return conn->rtr.words;
    }
    ucs_list_for_each(words, &peer->rtr.words, list) {
        if (words->conn_id == conn_id) {
            return words;
        }
    }
    return NULL;
}

static int words_have_used(const ri_rtr_words_t *words)
{
    uint64_t word;
    uint32_t state;
    unsigned i;

    for (i = 0; i < RI_WIRE_RTR_ENTRIES; ++i) {
        word  = atomic_load_explicit(&words->word[i].word, memory_order_relaxed);
        state = (uint32_t)word;
        if ((state != RI_RING_GRANT_FREE) && (state != RI_RING_GRANT_OUT)) {
            return 1;
        }
    }
    return 0;
}

void ri_rtr_send_words_conn_ends(ri_conn_t *conn)
{
    ri_rtr_words_t *words = conn->rtr.words;
    ri_rtr_words_t *old;

    if ((words == NULL) || !words_have_used(words)) {
        return;
    }
    old = words_of(conn->peer, NULL, conn->id);
    if (old != NULL) { /* ids come again */
        ucs_list_del(&old->list);
        free(old);
    }
    conn->rtr.words = NULL;
    words->conn_id  = conn->id;
    ucs_list_add_tail(&conn->peer->rtr.words, &words->list);
}

void ri_rtr_send_words_handle_revoke(ri_worker_t *worker, ri_conn_t *conn,
                                     const ri_wire_msg_t *msg)
{
    ri_peer_t *peer   = ri_map_get(&worker->peers, msg->uid);
    ri_wire_msg_t ans = {.type       = RI_WIRE_REVOKED,
                         .id         = msg->stream_id,
                         .generation = msg->generation,
                         .entry      = msg->entry};
    ri_rtr_words_t *words;
    int withdrawn;

    if (!ri_wire_uid_is_valid(msg->uid) || (peer == NULL) ||
        ((conn != NULL) && (conn->peer != peer))) {
        ++worker->counters.rx_stale;
        return;
    }
    words     = words_of(peer, conn, msg->id);
    withdrawn = (words == NULL) ||
                words_withdraw(&words->word[msg->entry], msg->generation);
    ans.flags = withdrawn ? 0 : RI_WIRE_REVOKED_USED;
    ri_control_send_message(peer, &ans);
}

static void words_peer_made(ri_worker_t *worker, ri_peer_t *peer)
{
    (void)worker;
    ucs_list_head_init(&peer->rtr.words);
}

static void words_peer_freed(ri_worker_t *worker, ri_peer_t *peer)
{
    (void)worker;
    while (!ucs_list_is_empty(&peer->rtr.words)) {
        free(ucs_list_extract_head(&peer->rtr.words, ri_rtr_words_t, list));
    }
}

static void words_conn_freed(ri_conn_t *conn)
{
    free(conn->rtr.words);
    free(conn->rtr.untold);
    free(conn->rtr.grids);
}

const ri_module_t ri_module_rtr_send_words = {.name        = "rtr_send_words",
                                              .way_opened  = ri_rtr_send_words_open,
                                              .conn_tells  = ri_rtr_send_untold_tell,
                                              .peer_made   = words_peer_made,
                                              .peer_freed  = words_peer_freed,
                                              .conn_closes = ri_rtr_send_words_conn_ends,
                                              .conn_freed  = words_conn_freed};
