/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of a conn's RTRs (match/rtr_table.h) is made when the peer can send some. Without
 * memory for it none is taken. Long messages alone look into it.
 */
#include "rtr_known.h"
#include "../../../ucs/settings.h"
#include "../../core/types/module.h"

#include <stdlib.h>

/* Messages without an RTR in a row, after which the receiver is not early any more. */
#define KNOWN_EXCEPTIONS 4

void ri_rtr_known_open(ri_conn_t *conn)
{
    if ((ri_config.rtr == UCS_NO) || (conn->rtr.table != NULL)) {
        return;
    }
    conn->rtr.table = malloc(sizeof(*conn->rtr.table));
    if (conn->rtr.table != NULL) {
        ri_rtr_table_reset(conn->rtr.table, conn->tx_sn);
    }
}

const ri_rtr_t *ri_rtr_known_find(ri_conn_t *conn, uint64_t tag, size_t length)
{
    return ((conn->rtr.table != NULL) && (length > ri_config.eager_thresh)) ?
                   ri_rtr_table_find(conn->rtr.table, tag) :
                   NULL;
}

int ri_rtr_known_is_expected(ri_conn_t *conn, int is_there)
{
    ri_rtr_table_t *rtrs = conn->rtr.table;

    if (rtrs == NULL) {
        return 0;
    }
    if (is_there) {
        rtrs->expected = KNOWN_EXCEPTIONS;
        return 0;
    }
    rtrs->expected -= (rtrs->expected > 0);
    return rtrs->expected > 0;
}

int ri_rtr_known_is_used(const ri_rtr_t *rtr)
{
    uint32_t state = (rtr != NULL) ? ri_grant_state(rtr->grant, rtr->generation) :
                                     (uint32_t)RI_RING_GRANT_FREE;

    return (state != RI_RING_GRANT_FREE) && (state != RI_RING_GRANT_OUT);
}

const ri_wire_grid_t *ri_rtr_known_keep_grid(ri_wire_grid_t **grids_p, unsigned max,
                                             unsigned index, const ri_wire_grid_t *grid)
{
    if (*grids_p == NULL) {
        *grids_p = calloc(max, sizeof(**grids_p));
        if (*grids_p == NULL) {
            return NULL;
        }
    }
    (*grids_p)[index] = *grid;
    return &(*grids_p)[index];
}

/* The ring of a stream is about to go, and with it the grants of RTRs that came by it. */
static void known_ring_rx_closes(ri_stream_t *stream)
{
    ri_conn_t *conn;

    ucs_list_for_each(conn, &stream->peer->conns, peer_list) {
        if (conn->rtr.table != NULL) {
            ri_rtr_table_drop(conn->rtr.table, stream->ring->control);
        }
    }
    free(stream->rtr.grids);
    stream->rtr.grids = NULL;
}

static void known_conn_freed(ri_conn_t *conn)
{
    ucs_list_del(&conn->rtr.late_link);
    free(conn->rtr.table);
}

const ri_module_t ri_module_rtr_known = {.name           = "rtr_known",
                                         .conn_can_write = ri_rtr_known_open,
                                         .ring_rx_closes = known_ring_rx_closes,
                                         .conn_freed     = known_conn_freed};
