/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rdma_read.h"
#include "../../core/recv_req.h"
#include "am_rndv.h"
#include "../../link/rdma.h"
#include "rndv.h"

#include <stdlib.h>
#include <string.h>

/* A read that is under way. */
typedef struct rdma_read {
    ri_rdma_op_t op;
    ri_recv_req_t *recv;
    ri_stream_t *stream;
    uint32_t req_id; /* of the send, or pool buffer */
    uint8_t wire_type;
    uint16_t rts_flags;
    ri_fetch_t fetch;
    ri_rdma_place_t place; /* that is read into */
} rdma_read_t;

int ri_rdma_read_prepare_in(ri_send_req_t *req, size_t size)
{
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
    ri_keys_t *keys = NULL;
    size_t count;

    if (ri_rdma_may_send(req->super.worker, req->conn->peer)) {
        keys = malloc(size);
    }
    if (keys == NULL) {
        return 0;
    }
    count = ri_dt_segments(&req->data, segments, RI_WIRE_SEGMENTS_MAX);
    if (ri_rdma_register_source(req->conn->peer->rdma_ep->plane, segments, count, keys) !=
        UCS_OK) {
        free(keys);
        return 0;
    }
    req->keys = keys;
    req->way  = req->conn->peer->rdma_way;
    return 1;
}

int ri_rdma_read_prepare(ri_send_req_t *req)
{
    return ri_rdma_read_prepare_in(req, sizeof(ri_keys_t));
}

unsigned ri_rdma_read_take(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    return ((terms->plane & RI_PLANE_KEYS) && !ri_rdma_read_prepare(req)) ?
                   RI_SEND_LACKS_KEYS :
                   0;
}

void ri_rdma_read_put_keys(const ri_send_req_t *req, ri_wire_rts_t *rts)
{
    uint32_t keys[RI_WIRE_SEGMENTS_MAX];
    size_t i;

    for (i = 0; i < req->keys->count; ++i) {
        keys[i] = req->keys->memory[i].remote_key;
    }
    rts->flags |= RI_WIRE_RTS_KEYS;
    rts->way = req->way;
    memcpy(&rts->segments[rts->num_segments], keys, i * sizeof(keys[0]));
}

void ri_rdma_read_forget(ri_send_req_t *req)
{
    if (req->keys != NULL) {
        ri_rdma_free_keys(req->keys);
        req->keys = NULL;
    }
}

static void rdma_read_free(rdma_read_t *read)
{
    ri_rdma_place_close(&read->place);
    free(read);
}

/* @return As the plane's read. */
static ucs_status_t rdma_read_start(rdma_read_t *read, ri_plane_ep_t *ep,
                                    const ri_wire_rts_t *rts)
{
    uint32_t local_keys[RI_WIRE_SEGMENTS_MAX], remote_keys[RI_WIRE_SEGMENTS_MAX];
    ri_segment_t local[RI_WIRE_SEGMENTS_MAX];
    ri_transfer_t transfer = {.local       = local,
                              .remote      = rts->segments,
                              .num_remote  = rts->num_segments,
                              .length      = read->recv->info.length,
                              .local_keys  = local_keys,
                              .remote_keys = remote_keys,
                              .op          = &read->op.super};
    ucs_status_t status;
    size_t i;

    status = ri_rdma_place_open(&read->place, ep->plane, read->recv,
                                read->fetch == RI_FETCH_GET, local, &transfer.num_local);
    if (status != UCS_OK) {
        return status;
    }
    for (i = 0; i < transfer.num_local; ++i) {
        local_keys[i] = read->place.keys.memory[i].local_key;
    }
    memcpy(remote_keys, &rts->segments[rts->num_segments],
           rts->num_segments * sizeof(remote_keys[0]));
    return ep->plane->ops->read(ep, &transfer);
}

/* All data is there. @return What becomes of the receive. */
static ucs_status_t rdma_read_finish(rdma_read_t *read)
{
    ri_recv_req_t *recv = read->recv;
    ri_stream_t *stream = read->stream;
    ri_wire_rts_t rts   = {.flags = read->rts_flags};

    stream->counters.rx_read_bytes += recv->info.length;
    ri_rndv_answer(stream, read->wire_type, read->req_id, &rts);
    return ri_rdma_place_finish(&read->place, recv);
}

/* The data cannot be read by the way of that number. @return What becomes of the receive. */
static ucs_status_t rdma_read_failed(ri_recv_req_t *recv, ri_stream_t *stream,
                                     uint32_t req_id, uint8_t wire_type, uint32_t way)
{
    uint32_t flags = (wire_type == RI_WIRE_POOL) ? RI_WIRE_NACK_POOL : 0;

    ri_rdma_op_failed(stream->worker, stream->peer, way);
    if (ri_rdma_way(stream->peer) == NULL) {
        flags |= RI_WIRE_NACK_WAY;
    }
    return ri_am_rndv_ask(recv, stream, req_id, flags);
}

static void rdma_read_end(ri_rdma_op_t *op, int ending);

ucs_status_t ri_rdma_read_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                               const ri_arrival_t *arrival, ri_fetch_t fetch)
{
    const ri_wire_rts_t *rts = arrival->data;
    ri_plane_ep_t *ep        = ri_rdma_way_that(stream->peer, RI_PLANE_READ);
    uint32_t way             = stream->peer->rdma_way;
    ucs_status_t status      = UCS_ERR_UNREACHABLE;
    rdma_read_t *read        = (ep != NULL) ? calloc(1, sizeof(*read)) : NULL;

    if (read != NULL) {
        ri_rdma_op_init(&read->op, stream->worker, stream->peer, rdma_read_end);
        read->recv      = recv;
        read->stream    = stream;
        read->req_id    = arrival->req_id;
        read->wire_type = arrival->wire_type;
        read->rts_flags = rts->flags;
        read->fetch     = fetch;
        status          = rdma_read_start(read, ep, rts);
        if (status == UCS_INPROGRESS) {
            ++stream->num_reads;
            ri_rdma_op_started(&read->op);
            return UCS_INPROGRESS;
        }
        if (status == UCS_OK) {
            status = rdma_read_finish(read);
            rdma_read_free(read);
            return status;
        }
        rdma_read_free(read);
    }
    ri_trace(&stream->worker->trace, RI_TRACE_RECV_READ, recv->info.length, status);
    return rdma_read_failed(recv, stream, arrival->req_id, arrival->wire_type, way);
}

/* A read has ended. */
static void rdma_read_end(ri_rdma_op_t *op, int ending)
{
    rdma_read_t *read   = ri_container_of(op, rdma_read_t, op);
    ri_recv_req_t *recv = read->recv;
    ri_stream_t *stream = read->stream;
    ucs_status_t status = op->status;
    ri_wire_rts_t rts   = {.flags = read->rts_flags};

    ri_trace(&stream->worker->trace, RI_TRACE_RECV_READ, recv->info.length, status);
    --stream->num_reads;
    ++stream->busy; /* callbacks must not free it */
    if (stream->broken) {
        status = UCS_ERR_CONNECTION_RESET;
    } else if (status == UCS_OK) {
        status = rdma_read_finish(read);
    } else if (ending) {
        ri_rndv_answer(stream, read->wire_type, read->req_id, &rts);
        status = UCS_ERR_CONNECTION_RESET;
    } else {
        status = rdma_read_failed(recv, stream, read->req_id, read->wire_type, op->way);
    }
    rdma_read_free(read); /* before the memory is the application's */
    if (status != UCS_INPROGRESS) {
        ri_recv_complete(recv, status);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
}
