/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rdma_read.h"
#include "am_rndv.h"
#include "bounce.h"
#include "planes.h"
#include "rndv.h"
#include "../core/memory.h"

#include <stdlib.h>
#include <string.h>

/* Memory that is registered, in pieces. */
struct ri_keys {
    size_t count;
    ri_plane_memory_t memory[RI_WIRE_SEGMENTS_MAX];
};

/* A read that is under way. */
typedef struct rdma_read {
    ri_plane_op_t op;
    ucs_list_link_t list; /* in worker->reads_done, when it has ended */
    ucs_status_t status;  /* then */
    ri_plane_t *plane;
    ri_recv_req_t *recv;
    ri_stream_t *stream;
    uint32_t req_id; /* of the send, or pool buffer */
    uint8_t wire_type;
    uint16_t rts_flags;
    ri_keys_t keys; /* of the memory that is read into */
    void *stage;    /* that memory, if it is not the receive's own */
} rdma_read_t;

static void rdma_release(ri_plane_t *plane, ri_keys_t *keys)
{
    while (keys->count > 0) {
        plane->ops->release(plane, &keys->memory[--keys->count]);
    }
}

/* Register pieces of memory: all or none. */
static ucs_status_t rdma_register(ri_plane_t *plane, const ri_segment_t *segments,
                                  size_t count, ri_keys_t *keys)
{
    ucs_status_t status;

    for (keys->count = 0; keys->count < count; ++keys->count) {
        status = plane->ops->reg(plane, (void *)segments[keys->count].address,
                                 segments[keys->count].length,
                                 &keys->memory[keys->count]);
        if (status != UCS_OK) {
            rdma_release(plane, keys);
            return status;
        }
    }
    return UCS_OK;
}

int ri_rdma_read_prepare(ri_send_req_t *req)
{
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
    ri_keys_t *keys = malloc(sizeof(*keys));
    size_t count;

    if (keys == NULL) {
        return 0;
    }
    count = ri_rndv_segments(&req->data, segments, RI_WIRE_SEGMENTS_MAX);
    if (rdma_register(req->super.worker->rdma, segments, count, keys) != UCS_OK) {
        free(keys);
        return 0;
    }
    req->keys = keys;
    return 1;
}

void ri_rdma_read_put_keys(const ri_send_req_t *req, ri_wire_rts_t *rts)
{
    uint32_t keys[RI_WIRE_SEGMENTS_MAX];
    size_t i;

    for (i = 0; i < req->keys->count; ++i) {
        keys[i] = req->keys->memory[i].remote_key;
    }
    rts->flags |= RI_WIRE_RTS_KEYS;
    memcpy(&rts->segments[rts->num_segments], keys, i * sizeof(keys[0]));
}

void ri_rdma_read_forget(ri_send_req_t *req)
{
    rdma_release(req->super.worker->rdma, req->keys);
    free(req->keys);
    req->keys = NULL;
}

static void rdma_read_free(rdma_read_t *read)
{
    rdma_release(read->plane, &read->keys);
    free(read->stage);
    free(read);
}

/* The plane's callback. What follows may end the way to the peer, so it waits for progress. */
static void rdma_read_done(ri_plane_op_t *op, ucs_status_t status)
{
    rdma_read_t *read = ri_container_of(op, rdma_read_t, op);

    read->status = status;
    ucs_list_add_tail(&read->stream->worker->reads_done, &read->list);
}

/* Find the memory to read into: the receive's own if the network can write it there, else some
 * to be unpacked from. */
static ucs_status_t rdma_read_place(rdma_read_t *read, ri_segment_t *local, size_t *count)
{
    ri_recv_req_t *recv = read->recv;

    *count = 0;
    if (ri_memory_of_recv_is_host(recv) && (recv->data.generic == NULL)) {
        *count = ri_rndv_segments(&recv->data, local, RI_WIRE_SEGMENTS_MAX);
    }
    if (*count == 0) {
        read->stage = malloc(recv->info.length);
        if (read->stage == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
        local[0] = (ri_segment_t){(uintptr_t)read->stage, recv->info.length};
        *count   = 1;
    }
    return rdma_register(read->plane, local, *count, &read->keys);
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
                              .op          = &read->op};
    ucs_status_t status    = rdma_read_place(read, local, &transfer.num_local);
    size_t i;

    if (status != UCS_OK) {
        return status;
    }
    for (i = 0; i < transfer.num_local; ++i) {
        local_keys[i] = read->keys.memory[i].local_key;
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
    ucs_status_t status = UCS_OK;

    stream->counters.rx_read_bytes += recv->info.length;
    ri_rndv_answer(stream, read->wire_type, read->req_id, &rts);
    if (read->stage != NULL) {
        status = ri_memory_of_recv_is_host(recv) ?
                         ri_dt_unpack(&recv->data, read->stage, recv->info.length) :
                         ri_bounce(recv, read->stage, recv->info.length);
    }
    return status;
}

/* The data cannot be read. @return What becomes of the receive. */
static ucs_status_t rdma_read_failed(ri_recv_req_t *recv, ri_stream_t *stream,
                                     uint32_t req_id, uint8_t wire_type)
{
    ri_peer_t *peer = stream->peer;

    if ((peer->rdma_ep != NULL) &&
        (peer->rdma_ep->plane->ops->check(peer->rdma_ep) != UCS_OK)) {
        ri_planes_rdma_failed(stream->worker, peer);
    }
    return ri_am_rndv_ask(recv, stream, req_id,
                          (wire_type == RI_WIRE_POOL) ? RI_WIRE_NACK_POOL : 0);
}

ucs_status_t ri_rdma_read_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                               const ri_arrival_t *arrival)
{
    const ri_wire_rts_t *rts = arrival->data;
    ri_plane_ep_t *ep        = stream->peer->rdma_ep;
    ucs_status_t status      = UCS_ERR_UNREACHABLE;
    rdma_read_t *read        = (ep != NULL) ? calloc(1, sizeof(*read)) : NULL;

    if (read != NULL) {
        read->op.done   = rdma_read_done;
        read->plane     = ep->plane;
        read->recv      = recv;
        read->stream    = stream;
        read->req_id    = arrival->req_id;
        read->wire_type = arrival->wire_type;
        read->rts_flags = rts->flags;
        status          = rdma_read_start(read, ep, rts);
        if (status == UCS_INPROGRESS) {
            ++stream->num_reads;
            ++stream->worker->num_reads;
            stream->worker->attention = 1;
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
    return rdma_read_failed(recv, stream, arrival->req_id, arrival->wire_type);
}

/* A read has ended. @a ending: the worker ends, and nothing can be asked of anybody. */
static void rdma_read_end(rdma_read_t *read, int ending)
{
    ri_recv_req_t *recv = read->recv;
    ri_stream_t *stream = read->stream;
    uint32_t req_id     = read->req_id;
    uint8_t wire_type   = read->wire_type;
    ucs_status_t status = read->status;
    ri_wire_rts_t rts   = {.flags = read->rts_flags};

    ri_trace(&stream->worker->trace, RI_TRACE_RECV_READ, recv->info.length, status);
    --stream->num_reads;
    --stream->worker->num_reads;
    ++stream->busy; /* callbacks must not free it */
    if (stream->broken) {
        rdma_read_free(read);
        status = UCS_ERR_CONNECTION_RESET;
    } else if (status == UCS_OK) {
        status = rdma_read_finish(read);
        rdma_read_free(read);
    } else if (ending) {
        rdma_read_free(read);
        ri_rndv_answer(stream, wire_type, req_id, &rts);
        status = UCS_ERR_CONNECTION_RESET;
    } else {
        rdma_read_free(read);
        status = rdma_read_failed(recv, stream, req_id, wire_type);
    }
    if (status != UCS_INPROGRESS) {
        ri_deliver_received(recv, status);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
}

static unsigned rdma_read_end_done(ri_worker_t *worker, int ending)
{
    unsigned count = 0;

    while (!ucs_list_is_empty(&worker->reads_done)) {
        rdma_read_end(ucs_list_extract_head(&worker->reads_done, rdma_read_t, list),
                      ending);
        ++count;
    }
    return count;
}

unsigned ri_rdma_read_progress(ri_worker_t *worker)
{
    worker->rdma->ops->progress(worker->rdma);
    return rdma_read_end_done(worker, 0);
}

/* @return A stream of which something is being read, or NULL. */
static ri_stream_t *rdma_read_find(ri_worker_t *worker)
{
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        if (stream->num_reads > 0) {
            return stream;
        }
    }
    return NULL;
}

void ri_rdma_read_end_all(ri_worker_t *worker)
{
    ri_stream_t *stream;

    while ((stream = rdma_read_find(worker)) != NULL) {
        ri_planes_disconnect_rdma(stream->peer);
        rdma_read_end_done(worker, 1);
    }
}
