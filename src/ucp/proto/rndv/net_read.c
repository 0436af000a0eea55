/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A read has memory of its own until it has ended, as its receive's stream may be gone by then.
 *
 * Data that is not read to where it belongs is read in parts, each of which is unpacked while the
 * next ones are on their way, if the layout of the receive is known: other types want their data in
 * order, or as a whole.
 */
#include "net_read.h"
#include "../../core/memory.h"
#include "../../core/types/module.h"
#include "../../core/recv_req.h"
#include "am_rndv.h"
#include "../../link/net_transfer.h"
#include "../../link/recv_memory.h"
#include "rndv.h"
#include "send_keys.h"

#include <stdlib.h>
#include <string.h>

/* Parts at most, and their bytes; none but the last one is shorter. */
#define NET_READ_PARTS      8
#define NET_READ_PART_BYTES 65536

typedef struct net_read net_read_t;

typedef struct net_read_part {
    ri_net_transfer_t op;
    net_read_t *read;
    size_t offset;
    size_t length;
} net_read_part_t;

/* A read that is under way. */
struct net_read {
    ri_recv_req_t *recv;
    ri_stream_t *stream;
    uint64_t started; /* for the timeline, as ri_timeline_now() */
    uint32_t req_id;  /* of the send, or pool buffer */
    uint8_t wire_type;
    uint16_t rts_flags;
    int direct;             /* into the memory of the receive */
    int unpacks;            /* each part is unpacked when it is there */
    ri_recv_memory_t place; /* that is read into */
    ucs_status_t status;    /* of the parts that have ended, or could not be started */
    ucs_status_t unpack_status; /* of those that were unpacked */
    unsigned num_parts;         /* that have not ended */
    net_read_part_t parts[];    /* NET_READ_PARTS if it unpacks, else one */
};

static void net_read_end(ri_net_transfer_t *op, int ending);

static void net_read_free(net_read_t *read)
{
    ri_recv_memory_close(&read->place);
    free(read);
}

/* @return The bytes of a part; the last one has what is left. */
static size_t net_read_part_length(const net_read_t *read)
{
    size_t length = read->recv->info.length;
    size_t even   = (length + NET_READ_PARTS - 1) / NET_READ_PARTS;

    return read->unpacks ? ri_max(even, (size_t)NET_READ_PART_BYTES) : length;
}

/* Start all parts. @return UCS_INPROGRESS: net_read_end() is called for some; or, if none is under
 * way, as the plane's read. */
static ucs_status_t net_read_start_parts(net_read_t *read, ri_plane_ep_t *ep,
                                         ri_transfer_t *transfer)
{
    size_t length         = read->recv->info.length;
    size_t even           = net_read_part_length(read);
    net_read_part_t *part = read->parts;
    size_t offset;

    for (offset = 0; (offset < length) && (read->status == UCS_OK); ++part) {
        part->read       = read;
        part->offset     = offset;
        part->length     = ri_min(even, length - offset);
        transfer->offset = offset;
        transfer->length = part->length;
        transfer->op     = &part->op.super;
        ri_net_transfer_init(&part->op, read->stream->worker, read->stream->peer,
                             net_read_end);
        read->status = ep->plane->ops->read(ep, transfer);
        if (read->status == UCS_INPROGRESS) {
            read->status = UCS_OK;
            ++read->num_parts;
            ri_net_transfer_started(&part->op, 0);
        } else if (read->status == UCS_OK) {
            read->unpacks = 0; /* the part is there: all is unpacked at the end */
        }
        offset += part->length;
    }
    return (read->num_parts > 0) ? UCS_INPROGRESS : read->status;
}

/* @return As net_read_start_parts(). */
static ucs_status_t net_read_start(net_read_t *read, ri_plane_ep_t *ep,
                                   const ri_wire_rts_t *rts)
{
    uint32_t local_keys[RI_WIRE_SEGMENTS_MAX], remote_keys[RI_WIRE_SEGMENTS_MAX];
    ri_segment_t local[RI_WIRE_SEGMENTS_MAX];
    ri_transfer_t transfer = {.local       = local,
                              .remote      = rts->segments,
                              .num_remote  = rts->num_segments,
                              .local_keys  = local_keys,
                              .remote_keys = remote_keys};
    ucs_status_t status;
    size_t i;

    status = ri_recv_memory_open(&read->place, ep->plane, read->recv, read->direct, local,
                                 &transfer.num_local);
    if (status != UCS_OK) {
        return status;
    }
    for (i = 0; i < transfer.num_local; ++i) {
        local_keys[i] = read->place.keys.memory[i].local_key;
    }
    memcpy(remote_keys, &rts->segments[rts->num_segments],
           rts->num_segments * sizeof(remote_keys[0]));
    return net_read_start_parts(read, ep, &transfer);
}

/* All data is there. @return What becomes of the receive. */
static ucs_status_t net_read_finish(net_read_t *read)
{
    ri_recv_req_t *recv = read->recv;
    ri_stream_t *stream = read->stream;
    ri_wire_rts_t rts   = {.flags = read->rts_flags};

    stream->counters.rx_read_bytes += recv->info.length;
    ri_rndv_answer(stream, read->wire_type, read->req_id, &rts);
    return read->unpacks ? read->unpack_status :
                           ri_recv_memory_finish(&read->place, recv);
}

/* The data cannot be read by the way of that number. @return What becomes of the receive. */
static ucs_status_t net_read_failed(ri_recv_req_t *recv, ri_stream_t *stream,
                                    uint32_t req_id, uint8_t wire_type, uint32_t way)
{
    uint32_t flags = ri_wire_nack_flag(wire_type);

    ri_net_transfer_failed(stream->worker, stream->peer, way);
    if (ri_way_use_ep(stream->peer) == NULL) {
        flags |= RI_WIRE_NACK_WAY;
    }
    return ri_am_rndv_ask(recv, stream, req_id, flags);
}

ucs_status_t ri_net_read_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                              const ri_arrival_t *arrival, int direct)
{
    const ri_wire_rts_t *rts = arrival->data;
    ri_plane_ep_t *ep        = ri_way_use_ep_that(stream->peer, RI_PLANE_READ);
    uint32_t way             = stream->peer->way.number;
    ucs_status_t status      = UCS_ERR_UNREACHABLE;
    int unpacks              = !direct && ri_dt_is_spread(&recv->data) &&
                  ri_memory_of_recv_is_host(recv);
    size_t parts     = (unpacks ? NET_READ_PARTS : 1) * sizeof(net_read_part_t);
    net_read_t *read = (ep != NULL) ? calloc(1, sizeof(*read) + parts) : NULL;

    if (read != NULL) {
        read->recv      = recv;
        read->stream    = stream;
        read->req_id    = arrival->req_id;
        read->wire_type = arrival->wire_type;
        read->rts_flags = rts->flags;
        read->direct    = direct;
        read->unpacks   = unpacks;
        read->started   = ri_timeline_now(&stream->worker->timeline);
        status          = net_read_start(read, ep, rts);
        if (status == UCS_INPROGRESS) {
            ++stream->num_transfers;
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

/* All parts have ended, in the stream or behind its end. */
static void net_read_end_all(net_read_t *read, uint32_t way, int ending)
{
    ri_recv_req_t *recv = read->recv;
    ri_stream_t *stream = read->stream;
    ucs_status_t status = read->status;
    ri_wire_rts_t rts   = {.flags = read->rts_flags};

    ri_trace(&stream->worker->trace, RI_TRACE_RECV_READ, recv->info.length, status);
    ri_timeline_copied(&stream->worker->timeline, read->started, RI_TIMELINE_COPY_NET,
                       (status == UCS_OK) ? recv->info.length : 0, stream->peer->uid);
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
        status = net_read_failed(recv, stream, read->req_id, read->wire_type, way);
    }
    net_read_free(read); /* before the memory is the application's */
    if (status != UCS_INPROGRESS) {
        ri_recv_complete(recv, status);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
}

/* A part has ended. */
static void net_read_end(ri_net_transfer_t *op, int ending)
{
    net_read_part_t *part = ri_container_of(op, net_read_part_t, op);
    net_read_t *read      = part->read;

    if (op->status != UCS_OK) {
        read->status = op->status;
    } else if (read->unpacks && (read->unpack_status == UCS_OK)) {
        read->unpack_status = ri_dt_unpack_part(&read->recv->data, part->offset,
                                                (char *)read->place.stage + part->offset,
                                                part->length);
    }
    if (--read->num_parts == 0) {
        net_read_end_all(read, op->way, ending);
    }
}

static int net_read_stream_is_needed(const ri_stream_t *stream, ri_stream_need_t need)
{
    return (need != RI_STREAM_NEED_PEER) && (stream->num_transfers > 0);
}

const ri_module_t ri_module_net_read = {.name             = "net_read",
                                        .stream_is_needed = net_read_stream_is_needed};
