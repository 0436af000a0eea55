/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sender-initiated rendezvous, the receiver reads: when the RTS is matched, it reads the data by a
 * data plane straight into its place, in stages for generic data, or by a bounce buffer into memory
 * that is not the host's, and says so (FIN). (protocol.md section 8)
 */
#include "../../core/types/fetch_proto.h"
#include "am_rndv.h"
#include "../../link/bounce.h"
#include "../../link/net_transfer.h"
#include "net_read.h"
#include "read_generic.h"
#include "rndv.h"
#include "../../core/memory.h"
#include "../../link/local.h"
#include "send_keys.h"
#include "../../../ucs/clock.h"

#include <stdlib.h>

/* How data is read. */
typedef enum get_how {
    GET_DIRECT,  /* into the memory of the receive, in stages for generic data */
    GET_BOUNCED, /* into other memory, and it is placed from there */
    GET_NOT      /* the sender is asked to send it by UCP */
} get_how_t;

static ucs_status_t get_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    ri_rndv_rts_t rts = {.rts.flags = 0};

    (void)terms;
    ri_send_keys_describe(req, &rts.rts);
    return ri_rndv_send(req, &rts.rts);
}

/* Read into one place or a list of them. */
static ucs_status_t get_read_direct(ri_recv_req_t *recv, ri_plane_ep_t *ep,
                                    ri_transfer_t *transfer)
{
    size_t max = recv->data.is_iov ? recv->data.count : 1;
    ri_segment_t few[RI_WIRE_SEGMENTS_MAX];
    ri_segment_t *local = few;
    ucs_status_t status;

    if (max > RI_WIRE_SEGMENTS_MAX) {
        local = malloc(max * sizeof(*local));
        if (local == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
    }
    transfer->local     = local;
    transfer->num_local = ri_dt_segments(&recv->data, local, max);
    status              = ep->plane->ops->read(ep, transfer);
    if (local != few) {
        free(local);
    }
    return status;
}

/* Read what only UCP can place. @return As ri_read_generic(). */
static ucs_status_t get_read_bounced(ri_recv_req_t *recv, ri_plane_ep_t *ep,
                                     ri_transfer_t *transfer, ucs_status_t *place_status)
{
    void *stage        = malloc(transfer->length);
    ri_segment_t local = {(uintptr_t)stage, transfer->length};
    ucs_status_t status;

    if (stage == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    transfer->local     = &local;
    transfer->num_local = 1;
    status              = ep->plane->ops->read(ep, transfer);
    if (status == UCS_OK) {
        *place_status = ri_bounce(recv, stage, transfer->length);
    }
    free(stage);
    return status;
}

/* Read the data of a message by the plane, as far as it can be done. */
static ucs_status_t get_read(ri_recv_req_t *recv, ri_peer_t *peer, get_how_t how,
                             ri_transfer_t *transfer, ucs_status_t *place_status)
{
    ri_plane_ep_t *ep = peer->local.ep;

    if ((how == GET_NOT) || (ep == NULL)) {
        return UCS_ERR_UNSUPPORTED;
    }
    if (how == GET_BOUNCED) {
        return get_read_bounced(recv, ep, transfer, place_status);
    }
    return (recv->data.generic != NULL) ?
                   ri_read_generic(recv, peer, transfer, place_status) :
                   get_read_direct(recv, ep, transfer);
}

/* Whether a sender has given memory back that was just read. Its ring tells at no cost that it has
 * not; else its plane has to be looked at. */
static int get_is_withdrawn(const ri_stream_t *stream)
{
    return ((stream->ring == NULL) || ri_ring_rx_is_left(stream->ring)) &&
           ri_local_is_gone(stream->peer);
}

/* Start the receive of an RTS or POOL. Within a host the data is read within the call. What the
 * plane fails to move the sender is asked to send by UCP; if its process is gone, the receive ends
 * with UCS_ERR_CONNECTION_RESET. @return As `start` of ri_fetch_proto_t. */
static ucs_status_t get_fetch(ri_recv_req_t *recv, ri_stream_t *stream,
                              const ri_arrival_t *arrival, get_how_t how)
{
    const ri_wire_rts_t *rts  = arrival->data;
    int is_pool               = (arrival->wire_type == RI_WIRE_POOL);
    int has_ring              = (stream->ring != NULL);
    ri_worker_t *worker       = stream->worker;
    size_t length             = recv->info.length;
    uint64_t start            = ri_timeline_now(&worker->timeline);
    ucs_status_t place_status = UCS_OK;
    ri_transfer_t transfer    = {.remote     = rts->segments,
                                 .num_remote = rts->num_segments,
                                 .length     = length,
                                 .verify     = !is_pool &&
                                           !has_ring}; /* a pool is never given back */
    ucs_status_t status;
    uint64_t begin;

    /* ri_net_read_recv() says so if there is no way. */
    if ((rts->flags & RI_WIRE_RTS_KEYS) &&
        ((how != GET_NOT) || (ri_way_use_ep(stream->peer) == NULL))) {
        return ri_net_read_recv(recv, stream, arrival, how == GET_DIRECT);
    }
    begin  = ri_clock_ticks();
    status = get_read(recv, stream->peer, how, &transfer, &place_status);
    /* Memory of a pool was just written in any case, and to unpack data takes time of its own. */
    if ((status == UCS_OK) && !is_pool && (how == GET_DIRECT) &&
        ri_dt_is_contig(&recv->data)) {
        ri_peer_note_read(stream->peer, length, ri_clock_ticks() - begin,
                          RI_PEER_READ_ALONE);
    }
    if ((status == UCS_OK) && !is_pool && has_ring && get_is_withdrawn(stream)) {
        status = UCS_ERR_UNREACHABLE;
    }
    if (status == UCS_ERR_UNREACHABLE) {
        ri_local_fail(worker, stream->peer);
    }
    ri_trace(&worker->trace, RI_TRACE_RECV_READ, length, status);
    ri_timeline_copied(&worker->timeline, start, RI_TIMELINE_COPY_READ,
                       (status == UCS_OK) ? length : 0, stream->peer->uid);
    if ((status != UCS_OK) && ri_local_is_gone(stream->peer)) {
        return UCS_ERR_CONNECTION_RESET; /* nobody is left to be asked */
    }
    if (status != UCS_OK) {
        return ri_am_rndv_ask(recv, stream, arrival->req_id,
                              ri_wire_nack_flag(arrival->wire_type));
    }
    stream->counters.rx_read_bytes += length;
    ri_rndv_answer(stream, arrival->wire_type, arrival->req_id, rts);
    return place_status;
}

const ri_send_proto_t ri_send_proto_rndv_get = {.name      = "rndv_get",
                                                .called    = "get",
                                                .moves     = "the receiver reads",
                                                .moves_net = "the receiver reads by RDMA",
                                                .wire_type = RI_WIRE_RTS,
                                                .answer    = RI_SEND_ANSWER_ALWAYS,
                                                .take      = ri_send_keys_take,
                                                .start     = get_start,
                                                .forget    = ri_send_keys_forget,
                                                RI_SEND_COUNTS(tx_rndv)};

static ucs_status_t get_fetch_direct(ri_recv_req_t *recv, ri_stream_t *stream,
                                     const ri_fetch_terms_t *terms)
{
    return get_fetch(recv, stream, terms->arrival, GET_DIRECT);
}

static ucs_status_t get_fetch_bounced(ri_recv_req_t *recv, ri_stream_t *stream,
                                      const ri_fetch_terms_t *terms)
{
    return get_fetch(recv, stream, terms->arrival, GET_BOUNCED);
}

static ucs_status_t get_fetch_by_am(ri_recv_req_t *recv, ri_stream_t *stream,
                                    const ri_fetch_terms_t *terms)
{
    return get_fetch(recv, stream, terms->arrival, GET_NOT);
}

const ri_fetch_proto_t ri_fetch_proto_get = {.name = "get", .start = get_fetch_direct};

const ri_fetch_proto_t ri_fetch_proto_bounce = {.name  = "bounce",
                                                .start = get_fetch_bounced};

const ri_fetch_proto_t ri_fetch_proto_am = {.name = "am", .start = get_fetch_by_am};
