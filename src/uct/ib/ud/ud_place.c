/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where pieces land. The landings of a receive are posted in order, each with memory for one piece:
 *
 *   the message         | piece 0 | piece 1 | piece 2 | 3  |     the places of the pieces
 *                            ^         ^
 *   receive queue       [ landing 0  ][ landing 1 ][ landing 2 ][ landing 3 ]
 *                                                |          |
 *                                                v          v
 *   own memory                             | bounce 2 | last piece |
 *
 * Landing n has the place of piece n. It has own memory instead in two cases: the place is in more
 * parts than a receive takes (landing 2: its part of qp->bounce), or it is shorter than a piece,
 * and so than what may land there (landing 3, the last one: the end of qp->fixed). In front of a
 * piece each receive has place for the GRH, in qp->fixed, too.
 *
 * A piece lands in the landing that is next, wherever it belongs. So what landing 0 holds may be
 * piece 1. When the first landings of the window hold the first pieces in any order, the state
 * machine (ud_rx.h) has those moved that are not at their places: cycle by cycle, by way of
 * plane->piece. What is in own memory is copied to its place then, too.
 */
#include "ud_place.h"

#if HAVE_VERBS

#include "../../../ucs/log.h"

#include <string.h>

static ri_ud_recv_t *place_recv(ri_ud_rx_t *rx)
{
    return ri_container_of(rx, ri_ud_recv_t, rx);
}

static ri_ud_plane_t *place_plane(const ri_ud_recv_t *recv)
{
    return ri_ud_plane(recv->super.ep);
}

static uint32_t place_index(const ri_ud_recv_t *recv, uint32_t landing)
{
    return landing & (recv->rx.depth - 1);
}

/* Describe the place of a landing. @return The number of segments; 0: the landing must have memory
 * of its own. That is so for the last piece if it is shorter than others, which may land there. */
static unsigned place_describe(ri_ud_recv_t *recv, uint32_t landing, struct ibv_sge *sges)
{
    uint64_t offset = (uint64_t)landing * recv->rx.piece_size;

    if (recv->rx.length - offset < recv->rx.piece_size) {
        return 0;
    }
    return ri_ud_memory_sges(&recv->super.memory, offset, recv->rx.piece_size, sges,
                             ri_ud_place_max_sge(place_plane(recv)));
}

/* @return The own memory of a landing that is not posted with its place. */
static uint8_t *place_own(ri_ud_recv_t *recv, uint32_t landing, uint32_t *lkey)
{
    uint64_t offset = (uint64_t)landing * recv->rx.piece_size;
    ri_ud_qp_t *qp  = recv->qp;

    if (recv->rx.length - offset < recv->rx.piece_size) {
        *lkey = qp->fixed.mr->lkey;
        return qp->fixed.data + recv->rx.depth * RI_UD_GRH_SIZE;
    }
    *lkey = qp->bounce.mr->lkey;
    return qp->bounce.data + (size_t)place_index(recv, landing) * recv->rx.piece_size;
}

void ri_ud_place_flush(ri_ud_plane_t *plane, ri_ud_recv_t *recv)
{
    struct ibv_recv_wr *bad = NULL;
    unsigned count          = plane->num_recvs;
    int ret;

    plane->num_recvs = 0;
    if ((count == 0) || (recv->qp->qp == NULL)) {
        return;
    }
    plane->recv_wrs[count - 1].next = NULL;
    ret                             = ibv_post_recv(recv->qp->qp, plane->recv_wrs, &bad);
    if (ri_unlikely(ret != 0)) {
        ri_info("a transfer by datagrams ends: posting failed: %s", strerror(ret));
        recv->failure = UCS_ERR_UNREACHABLE;
    }
}

void ri_ud_place_post(ri_ud_rx_t *rx, uint32_t landing)
{
    ri_ud_recv_t *recv   = place_recv(rx);
    ri_ud_plane_t *plane = place_plane(recv);
    uint32_t index       = place_index(recv, landing);
    struct ibv_recv_wr *wr;
    struct ibv_sge *sges;

    if (plane->num_recvs == RI_UD_CHAIN) {
        ri_ud_place_flush(plane, recv);
    }
    wr             = &plane->recv_wrs[plane->num_recvs];
    sges           = &plane->recv_sges[plane->num_recvs * RI_UD_SGE_MAX];
    sges[0].addr   = (uintptr_t)(recv->qp->fixed.data + index * RI_UD_GRH_SIZE);
    sges[0].length = RI_UD_GRH_SIZE;
    sges[0].lkey   = recv->qp->fixed.mr->lkey;
    wr->wr_id      = ((uint64_t)recv->qp->use << 32) | landing;
    wr->next       = wr + 1;
    wr->sg_list    = sges;
    wr->num_sge    = 1 + place_describe(recv, landing, sges + 1);
    if (wr->num_sge == 1) {
        sges[1].addr   = (uintptr_t)place_own(recv, landing, &sges[1].lkey);
        sges[1].length = rx->piece_size;
        wr->num_sge    = 2;
    }
    ++plane->num_recvs;
}

/*
 * Which memory a piece comes from, by where it is and where it goes:
 *
 *   from      the landing's memory   source
 *   NONE      -                      plane->piece
 *   landing   own                    the own memory
 *   landing   its place              the place: if it is in one part, itself; else a copy of it
 *
 * To its own place from there (from == to) nothing is to be done; to NONE the piece is copied to
 * plane->piece.
 */
void ri_ud_place_move(ri_ud_rx_t *rx, uint32_t from, uint32_t to, uint32_t piece)
{
    ri_ud_recv_t *recv   = place_recv(rx);
    ri_ud_plane_t *plane = place_plane(recv);
    uint32_t length      = ri_ud_transfer_piece_length(rx->length, rx->piece_size, piece);
    uint8_t between[4096], *data = between;
    struct ibv_sge sges[RI_UD_SGE_MAX];
    int is_direct = (from != RI_UD_NONE) && (place_describe(recv, from, sges) > 0);
    uint32_t lkey;

    if (is_direct && (from == to)) {
        return;
    }
    if (from == RI_UD_NONE) {
        data = plane->piece;
    } else if (!is_direct) {
        data = place_own(recv, from, &lkey);
    } else if (to == RI_UD_NONE) {
        ri_ud_memory_get(&recv->super.memory, (uint64_t)from * rx->piece_size,
                         plane->piece, length);
        return;
    } else if (recv->super.memory.count == 1) {
        data = (uint8_t *)(uintptr_t)sges[0].addr;
    } else {
        ri_ud_memory_get(&recv->super.memory, (uint64_t)from * rx->piece_size, between,
                         length);
    }
    if (to == RI_UD_NONE) {
        memcpy(plane->piece, data, length);
    } else {
        ri_ud_memory_put(&recv->super.memory, (uint64_t)to * rx->piece_size, data,
                         length);
    }
}

#endif
