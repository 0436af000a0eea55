/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A run is one transfer with what it has of a request. It begins and ends here for both
 * initiations.
 */
#include "ud_run.h"
#include "../../core/recv_req.h"
#include "../../link/planes.h"
#include "../../order/promises.h"

#include <stdlib.h>

static void run_done(ri_ud_op_t *ud, ucs_status_t status)
{
    ri_ud_run_t *run = ri_container_of(ud, ri_ud_run_t, ud);

    run->ended = 1;
    run->op.super.done(&run->op.super, status);
}

void ri_ud_run_init(ri_ud_run_t *run, ri_worker_t *worker, ri_peer_t *peer,
                    void (*end)(ri_net_transfer_t *op, int ending))
{
    ri_net_transfer_init(&run->op, worker, peer, end);
    run->ud.done  = run_done;
    run->ud.heard = 0;
    run->ops      = peer->way.ep->plane->ops->ud;
    run->ended    = 0;
}

void ri_ud_run_cancel(ri_ud_run_t *run)
{
    if (!run->ended) {
        run->ops->cancel(&run->ud);
    }
}

ri_plane_ep_t *ri_ud_run_way(const ri_peer_t *peer)
{
    ri_plane_ep_t *ep = (peer != NULL) ? ri_way_use_ep(peer) : NULL;

    return ((ep != NULL) && (ri_planes_of(ep) & RI_PLANE_MESSAGES)) ? ep : NULL;
}

ri_plane_ep_t *ri_ud_run_find_way(const ri_peer_t *peer, uint16_t way)
{
    ri_plane_ep_t *ep = ri_ud_run_way(peer);

    return ((ep != NULL) && ((uint16_t)peer->way.number == way)) ? ep : NULL;
}

void ri_ud_run_get_keys(const ri_keys_t *keys, uint32_t *local_keys)
{
    size_t i;

    for (i = 0; i < keys->count; ++i) {
        local_keys[i] = keys->memory[i].local_key;
    }
}

void ri_ud_run_free(struct ri_ud_recv_op *op)
{
    ri_recv_memory_close(&op->place);
    free(op);
}

/* A message was received, or will not be. */
static void run_recv_end(ri_net_transfer_t *rdma_op, int ending)
{
    struct ri_ud_recv_op *op = ri_container_of(rdma_op, struct ri_ud_recv_op, super.op);
    ri_worker_t *worker      = rdma_op->worker;

    ri_promises.room_is_back(worker); /* there is a queue pair more */
    if (op->recv == NULL) {
        ri_ud_run_free(op);
        return;
    }
    ri_trace(&worker->trace, RI_TRACE_RECV_WRITTEN, op->recv->id, rdma_op->status);
    op->calls->end(op, ending);
}

static void run_recv_ready(ri_ud_op_t *ud, const ri_ud_target_t *target)
{
    struct ri_ud_recv_op *op = ri_container_of(ud, struct ri_ud_recv_op, super.ud);

    if (op->recv != NULL) {
        op->calls->ready(op->recv, target);
    }
}

ucs_status_t ri_ud_run_recv(ri_recv_req_t *recv, ri_peer_t *peer, uint64_t length,
                            int direct, int is_offer, const ri_ud_recv_calls_t *calls,
                            ri_ud_target_t *target, struct ri_ud_recv_op **op_p)
{
    struct ri_ud_recv_op *op = calloc(1, sizeof(*op));
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
    uint32_t keys[RI_WIRE_SEGMENTS_MAX];
    ri_ud_list_t list = {.segments = segments, .keys = keys, .length = length};
    ucs_status_t status;

    if (op == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    ri_ud_run_init(&op->super, recv->super.worker, peer, run_recv_end);
    op->super.ud.ready = run_recv_ready;
    op->calls          = calls;
    op->recv           = recv;
    status = ri_recv_memory_open(&op->place, peer->way.ep->plane, recv, direct, segments,
                                 &list.count);
    if (status == UCS_OK) {
        ri_ud_run_get_keys(&op->place.keys, keys);
        status = op->super.ops->recv(peer->way.ep, &list, is_offer, &op->super.ud,
                                     target);
    }
    if (UCS_STATUS_IS_ERR(status)) {
        ri_ud_run_free(op);
        return status;
    }
    ri_net_transfer_started(&op->super.op, 0);
    *op_p = op;
    return status;
}

void ri_ud_run_leave(ri_recv_req_t *recv)
{
    struct ri_ud_recv_op *op = ri_recv_op(recv);

    if (op != NULL) {
        recv->rtr.op = NULL;
        op->recv     = NULL;
        ri_ud_run_cancel(&op->super);
    }
}
