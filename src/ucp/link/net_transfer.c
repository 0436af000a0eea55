/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers are started here, are noted when the plane says that they have ended, and end in
 * progress, where a callback may destroy the way.
 */
#include "net_transfer.h"
#include "way.h"
#include "../core/types/module.h"

/* The plane's callback. What follows may end the way to the peer, so it waits for progress. */
static void transfer_done(ri_plane_op_t *super, ucs_status_t status)
{
    ri_net_transfer_t *op = ri_container_of(super, ri_net_transfer_t, super);

    op->status = status;
    if (op->length > 0) {
        ri_timeline_copied(&op->worker->timeline, op->started, RI_TIMELINE_COPY_NET,
                           (status == UCS_OK) ? op->length : 0, op->peer->uid);
    }
    --op->peer->way.num_transfers;
    if (status == UCS_OK) {
        ri_way_worked(op->peer, op->way);
    }
    ucs_list_add_tail(&op->worker->net.done, &op->list);
}

void ri_net_transfer_init(ri_net_transfer_t *op, ri_worker_t *worker, ri_peer_t *peer,
                          void (*end)(ri_net_transfer_t *op, int ending))
{
    op->super.done = transfer_done;
    op->worker     = worker;
    op->peer       = peer;
    op->way        = peer->way.number;
    op->end        = end;
    op->length     = 0;
}

ri_transfer_t ri_net_transfer_from(ri_net_transfer_t *op, const ri_send_req_t *req,
                                   ri_net_source_t *source)
{
    ri_transfer_t transfer = {.local      = source->segments,
                              .length     = req->data.length,
                              .local_keys = source->keys,
                              .op         = &op->super};
    size_t i;

    transfer.num_local = ri_dt_segments(&req->data, source->segments,
                                        RI_WIRE_SEGMENTS_MAX);
    for (i = 0; i < transfer.num_local; ++i) {
        source->keys[i] = req->keys->memory[i].local_key;
    }
    return transfer;
}

ucs_status_t ri_net_transfer_write(ri_net_transfer_t *op, const ri_send_req_t *req,
                                   ri_plane_ep_t *ep, uint64_t address, uint32_t key)
{
    ri_segment_t remote = {address, req->data.length};
    ri_net_source_t source;
    ri_transfer_t transfer = ri_net_transfer_from(op, req, &source);

    transfer.remote      = &remote;
    transfer.num_remote  = 1;
    transfer.remote_keys = &key;
    return ep->plane->ops->write(ep, &transfer);
}

void ri_net_transfer_started(ri_net_transfer_t *op, uint64_t length)
{
    op->started = ri_timeline_now(&op->worker->timeline);
    op->length  = length;
    ri_way_use(op->worker, op->peer);
    ++op->peer->way.num_transfers;
    ++op->worker->num_transfers;
    op->worker->attention = 1;
}

void ri_net_transfer_failed(ri_worker_t *worker, ri_peer_t *peer, uint32_t way)
{
    ri_plane_ep_t *ep = peer->way.ep;

    if ((ep != NULL) && (peer->way.number == way) &&
        (ep->plane->ops->check(ep) != UCS_OK)) {
        ri_way_fail_and_tell(worker, peer);
    }
}

void ri_net_transfer_lost_way(const ri_net_transfer_t *op, const ri_conn_t *conn)
{
    if ((conn != NULL) && (conn->peer == op->peer) && (op->peer->way.number == op->way)) {
        ri_way_fail_and_tell(op->worker, op->peer); /* and so does the other side */
    }
}

void ri_net_transfer_again(ri_net_transfer_t *op)
{
    ++op->worker->num_transfers;
    op->worker->attention = 1;
    ucs_list_add_tail(&op->worker->net.again, &op->list);
}

static unsigned transfer_end_done(ri_worker_t *worker, int ending)
{
    unsigned count = 0;
    ri_net_transfer_t *op;

    if (ri_unlikely(!ucs_list_is_empty(&worker->net.again))) {
        ucs_list_splice_tail(&worker->net.done, &worker->net.again);
        ucs_list_head_init(&worker->net.again);
    }
    while (!ucs_list_is_empty(&worker->net.done)) {
        op = ucs_list_extract_head(&worker->net.done, ri_net_transfer_t, list);
        --worker->num_transfers;
        op->end(op, ending);
        ++count;
    }
    return count;
}

unsigned ri_net_transfer_progress(ri_worker_t *worker)
{
    if (worker->net.rc != NULL) {
        worker->net.rc->ops->progress(worker->net.rc);
    }
    if (worker->net.ud != NULL) {
        worker->net.ud->ops->progress(worker->net.ud);
    }
    return transfer_end_done(worker, 0);
}

/* @return A peer to or from which something is under way, or NULL. */
static ri_peer_t *transfer_find(ri_worker_t *worker)
{
    ri_stream_t *stream;
    ri_conn_t *conn;

    ucs_list_for_each(stream, &worker->streams, list) {
        if (stream->peer->way.num_transfers > 0) {
            return stream->peer;
        }
    }
    ucs_list_for_each(conn, &worker->conns, list) {
        if ((conn->peer != NULL) && (conn->peer->way.num_transfers > 0)) {
            return conn->peer;
        }
    }
    return NULL;
}

void ri_net_transfer_end_all(ri_worker_t *worker)
{
    ri_peer_t *peer;

    transfer_end_done(worker, 1);
    while ((peer = transfer_find(worker)) != NULL) {
        ri_way_end(worker, peer, RI_WAY_NONE);
        transfer_end_done(worker, 1);
    }
}

static ucs_status_t transfer_worker_made(ri_worker_t *worker)
{
    ucs_list_head_init(&worker->net.done);
    ucs_list_head_init(&worker->net.again);
    return UCS_OK;
}

const ri_module_t ri_module_net_transfer = {.name         = "net_transfer",
                                            .worker_made  = transfer_worker_made,
                                            .worker_stops = ri_net_transfer_end_all};
