/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A read has memory of its own until it has ended, as its receive's stream may be gone by then.
 */
#include "net_read.h"
#include "../../core/module.h"
#include "../../core/recv_req.h"
#include "am_rndv.h"
#include "../../link/net_transfer.h"
#include "../../link/place.h"
#include "rndv.h"
#include "send_keys.h"

#include <stdlib.h>
#include <string.h>

/* A read that is under way. */
typedef struct net_read {
    ri_net_transfer_t op;
    ri_recv_req_t *recv;
    ri_stream_t *stream;
    uint32_t req_id; /* of the send, or pool buffer */
    uint8_t wire_type;
    uint16_t rts_flags;
    int direct;       /* into the memory of the receive */
    ri_place_t place; /* that is read into */
} net_read_t;

static void net_read_free(net_read_t *read)
{
    ri_place_close(&read->place);
    free(read);
}

/* @return As the plane's read. */
static ucs_status_t net_read_start(net_read_t *read, ri_plane_ep_t *ep,
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

    status = ri_place_open(&read->place, ep->plane, read->recv, read->direct, local,
                           &transfer.num_local);
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
static ucs_status_t net_read_finish(net_read_t *read)
{
    ri_recv_req_t *recv = read->recv;
    ri_stream_t *stream = read->stream;
    ri_wire_rts_t rts   = {.flags = read->rts_flags};

    stream->counters.rx_read_bytes += recv->info.length;
    ri_rndv_answer(stream, read->wire_type, read->req_id, &rts);
    return ri_place_finish(&read->place, recv);
}

/* The data cannot be read by the way of that number. @return What becomes of the receive. */
static ucs_status_t net_read_failed(ri_recv_req_t *recv, ri_stream_t *stream,
                                    uint32_t req_id, uint8_t wire_type, uint32_t way)
{
    uint32_t flags = ri_wire_nack_flag(wire_type);

    ri_net_transfer_failed(stream->worker, stream->peer, way);
    if (ri_way_of(stream->peer) == NULL) {
        flags |= RI_WIRE_NACK_WAY;
    }
    return ri_am_rndv_ask(recv, stream, req_id, flags);
}

static void net_read_end(ri_net_transfer_t *op, int ending);

ucs_status_t ri_net_read_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                              const ri_arrival_t *arrival, int direct)
{
    const ri_wire_rts_t *rts = arrival->data;
    ri_plane_ep_t *ep        = ri_way_that(stream->peer, RI_PLANE_READ);
    uint32_t way             = stream->peer->way.number;
    ucs_status_t status      = UCS_ERR_UNREACHABLE;
    net_read_t *read         = (ep != NULL) ? calloc(1, sizeof(*read)) : NULL;

    if (read != NULL) {
        ri_net_transfer_init(&read->op, stream->worker, stream->peer, net_read_end);
        read->recv      = recv;
        read->stream    = stream;
        read->req_id    = arrival->req_id;
        read->wire_type = arrival->wire_type;
        read->rts_flags = rts->flags;
        read->direct    = direct;
        status          = net_read_start(read, ep, rts);
        if (status == UCS_INPROGRESS) {
            ++stream->num_transfers;
            ri_net_transfer_started(&read->op, recv->info.length);
            return UCS_INPROGRESS;
        }
        if (status == UCS_OK) {
            status = net_read_finish(read);
            net_read_free(read);
            return status;
        }
        net_read_free(read);
    }
    ri_trace(&stream->worker->trace, RI_TRACE_RECV_READ, recv->info.length, status);
    return net_read_failed(recv, stream, arrival->req_id, arrival->wire_type, way);
}

/* A read has ended. */
static void net_read_end(ri_net_transfer_t *op, int ending)
{
    net_read_t *read    = ri_container_of(op, net_read_t, op);
    ri_recv_req_t *recv = read->recv;
    ri_stream_t *stream = read->stream;
    ucs_status_t status = op->status;
    ri_wire_rts_t rts   = {.flags = read->rts_flags};

    ri_trace(&stream->worker->trace, RI_TRACE_RECV_READ, recv->info.length, status);
    --stream->num_transfers;
    ++stream->busy; /* callbacks must not free it */
    if (stream->broken) {
        status = UCS_ERR_CONNECTION_RESET;
    } else if (status == UCS_OK) {
        status = net_read_finish(read);
    } else if (ending) {
        ri_rndv_answer(stream, read->wire_type, read->req_id, &rts);
        status = UCS_ERR_CONNECTION_RESET;
    } else {
        status = net_read_failed(recv, stream, read->req_id, read->wire_type, op->way);
    }
    net_read_free(read); /* before the memory is the application's */
    if (status != UCS_INPROGRESS) {
        ri_recv_complete(recv, status);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
}

static int net_read_stream_is_needed(const ri_stream_t *stream, ri_stream_need_t need)
{
    return (need != RI_STREAM_NEED_PEER) && (stream->num_transfers > 0);
}

const ri_module_t ri_module_net_read = {.name             = "net_read",
                                        .stream_is_needed = net_read_stream_is_needed};
