/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rdma.h"
#include "bounce.h"
#include "planes.h"
#include "../core/memory.h"

#include <stdlib.h>

void ri_rdma_release(ri_keys_t *keys)
{
    while (keys->count > 0) {
        keys->plane->ops->release(keys->plane, &keys->memory[--keys->count]);
    }
}

void ri_rdma_free_keys(ri_keys_t *keys)
{
    ri_rdma_release(keys);
    free(keys);
}

typedef ucs_status_t (*rdma_reg_func_t)(ri_plane_t *plane, void *address, size_t length,
                                        ri_plane_memory_t *memory);

static ucs_status_t rdma_register(ri_plane_t *plane, rdma_reg_func_t reg,
                                  const ri_segment_t *segments, size_t count,
                                  ri_keys_t *keys)
{
    ucs_status_t status;

    keys->plane = plane;
    for (keys->count = 0; keys->count < count; ++keys->count) {
        status = reg(plane, (void *)segments[keys->count].address,
                     segments[keys->count].length, &keys->memory[keys->count]);
        if (status != UCS_OK) {
            ri_rdma_release(keys);
            return status;
        }
    }
    return UCS_OK;
}

ucs_status_t ri_rdma_register(ri_plane_t *plane, const ri_segment_t *segments,
                              size_t count, ri_keys_t *keys)
{
    return rdma_register(plane, plane->ops->reg, segments, count, keys);
}

ucs_status_t ri_rdma_register_source(ri_plane_t *plane, const ri_segment_t *segments,
                                     size_t count, ri_keys_t *keys)
{
    rdma_reg_func_t reg = (plane->ops->reg_source != NULL) ? plane->ops->reg_source :
                                                             plane->ops->reg;

    return rdma_register(plane, reg, segments, count, keys);
}

ucs_status_t ri_rdma_place_open(ri_rdma_place_t *place, ri_plane_t *plane,
                                const ri_recv_req_t *recv, int direct,
                                ri_segment_t *segments, size_t *count)
{
    *place = (ri_rdma_place_t){.stage = NULL};
    if (direct) {
        *count = ri_dt_segments(&recv->data, segments, RI_WIRE_SEGMENTS_MAX);
    } else {
        place->stage = malloc(recv->info.length);
        if (place->stage == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
        segments[0] = (ri_segment_t){(uintptr_t)place->stage, recv->info.length};
        *count      = 1;
    }
    return ri_rdma_register(plane, segments, *count, &place->keys);
}

ucs_status_t ri_rdma_place_finish(const ri_rdma_place_t *place, ri_recv_req_t *recv)
{
    if (place->stage == NULL) {
        return UCS_OK;
    }
    return ri_memory_of_recv_is_host(recv) ?
                   ri_dt_unpack(&recv->data, place->stage, recv->info.length) :
                   ri_bounce(recv, place->stage, recv->info.length);
}

void ri_rdma_place_close(ri_rdma_place_t *place)
{
    ri_rdma_release(&place->keys);
    free(place->stage);
}

/* The plane's callback. What follows may end the way to the peer, so it waits for progress. */
static void rdma_op_done(ri_plane_op_t *super, ucs_status_t status)
{
    ri_rdma_op_t *op = ri_container_of(super, ri_rdma_op_t, super);

    op->status = status;
    --op->peer->num_rdma;
    if (status == UCS_OK) {
        ri_planes_rdma_worked(op->peer, op->way);
    }
    ucs_list_add_tail(&op->worker->reads_done, &op->list);
}

void ri_rdma_op_init(ri_rdma_op_t *op, ri_worker_t *worker, ri_peer_t *peer,
                     void (*end)(ri_rdma_op_t *op, int ending))
{
    op->super.done = rdma_op_done;
    op->worker     = worker;
    op->peer       = peer;
    op->way        = peer->rdma_way;
    op->end        = end;
}

ucs_status_t ri_rdma_write(ri_rdma_op_t *op, const ri_send_req_t *req, ri_plane_ep_t *ep,
                           uint64_t address, uint32_t key, const uint32_t *immediate)
{
    ri_segment_t local[RI_WIRE_SEGMENTS_MAX];
    uint32_t local_keys[RI_WIRE_SEGMENTS_MAX];
    ri_segment_t remote    = {address, req->data.length};
    ri_transfer_t transfer = {.local       = local,
                              .remote      = &remote,
                              .num_remote  = 1,
                              .length      = req->data.length,
                              .local_keys  = local_keys,
                              .remote_keys = &key,
                              .op          = &op->super,
                              .notify      = (immediate != NULL),
                              .immediate   = (immediate != NULL) ? *immediate : 0};
    size_t i;

    transfer.num_local = ri_dt_segments(&req->data, local, RI_WIRE_SEGMENTS_MAX);
    for (i = 0; i < transfer.num_local; ++i) {
        local_keys[i] = req->keys->memory[i].local_key;
    }
    return ep->plane->ops->write(ep, &transfer);
}

void ri_rdma_op_started(ri_rdma_op_t *op)
{
    ri_rdma_use(op->worker, op->peer);
    ++op->peer->num_rdma;
    ++op->worker->num_reads;
    op->worker->attention = 1;
}

void ri_rdma_op_failed(ri_worker_t *worker, ri_peer_t *peer, uint32_t way)
{
    ri_plane_ep_t *ep = peer->rdma_ep;

    if ((ep != NULL) && (peer->rdma_way == way) &&
        (ep->plane->ops->check(ep) != UCS_OK)) {
        ri_planes_rdma_failed(worker, peer);
    }
}

void ri_rdma_op_lost_way(const ri_rdma_op_t *op, const ri_conn_t *conn)
{
    if ((conn != NULL) && (conn->peer == op->peer) && (op->peer->rdma_way == op->way)) {
        ri_planes_rdma_failed(op->worker, op->peer); /* and so does the other side */
    }
}

void ri_rdma_op_again(ri_rdma_op_t *op)
{
    ++op->worker->num_reads;
    op->worker->attention = 1;
    ucs_list_add_tail(&op->worker->reads_again, &op->list);
}

static unsigned rdma_end_done(ri_worker_t *worker, int ending)
{
    unsigned count = 0;
    ri_rdma_op_t *op;

    if (ri_unlikely(!ucs_list_is_empty(&worker->reads_again))) {
        ucs_list_splice_tail(&worker->reads_done, &worker->reads_again);
        ucs_list_head_init(&worker->reads_again);
    }
    while (!ucs_list_is_empty(&worker->reads_done)) {
        op = ucs_list_extract_head(&worker->reads_done, ri_rdma_op_t, list);
        --worker->num_reads;
        op->end(op, ending);
        ++count;
    }
    return count;
}

unsigned ri_rdma_progress(ri_worker_t *worker)
{
    if (worker->rdma != NULL) {
        worker->rdma->ops->progress(worker->rdma);
    }
    if (worker->ud != NULL) {
        worker->ud->ops->progress(worker->ud);
    }
    return rdma_end_done(worker, 0);
}

/* @return A peer to or from which something is under way, or NULL. */
static ri_peer_t *rdma_find(ri_worker_t *worker)
{
    ri_stream_t *stream;
    ri_conn_t *conn;

    ucs_list_for_each(stream, &worker->streams, list) {
        if (stream->peer->num_rdma > 0) {
            return stream->peer;
        }
    }
    ucs_list_for_each(conn, &worker->conns, list) {
        if ((conn->peer != NULL) && (conn->peer->num_rdma > 0)) {
            return conn->peer;
        }
    }
    return NULL;
}

void ri_rdma_end_all(ri_worker_t *worker)
{
    ri_peer_t *peer;

    rdma_end_done(worker, 1);
    while ((peer = rdma_find(worker)) != NULL) {
        ri_planes_disconnect_rdma(worker, peer);
        rdma_end_done(worker, 1);
    }
}
