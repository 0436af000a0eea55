/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's two tables come first (data by UCP at once, or by UCP's own rendezvous). Then what
 * the receiver asks for when a plane could not move announced data.
 */
#include "am_rndv.h"
#include "../../link/am.h"
#include "../../link/control.h"
#include "../../core/timeline_notes.h"
#include "../../core/send_req.h"
#include "../../link/local.h"
#include "rndv.h"
#include "../../order/deliver.h"
#include "../../link/release.h"
#include "../../link/way.h"
#include "rndv_recv.h"

#include <string.h>

/* Send the whole message. */
static ucs_status_t bulk_send(ri_send_req_t *req, uint32_t am_flags,
                              const ri_send_terms_t *terms)
{
    uint8_t header[RI_WIRE_HEADER_MAX];
    size_t header_length;

    header_length = ri_am_pack_header(req->conn, req->wire_type, req->sn, req->tag,
                                      req->id, header);
    ri_trace(&req->super.worker->trace, RI_TRACE_SEND_BULK, req->sn, req->data.length);
    return ri_am_send_direct(req, RI_AM_MESSAGE, header, header_length, am_flags,
                             terms->param);
}

static ucs_status_t bulk_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    return bulk_send(req, 0, terms);
}

static ucs_status_t bulk_start_rndv(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    return bulk_send(req, UCP_AM_SEND_FLAG_RNDV, terms);
}

ucs_status_t ri_am_rndv_ask(ri_recv_req_t *recv, ri_stream_t *stream, uint32_t req_id,
                            uint32_t flags)
{
    ucs_status_t status = ri_rndv_recv_wait(recv, stream);

    if (status != UCS_OK) {
        if (flags & RI_WIRE_NACK_POOL) {
            ri_release_buffer(stream, req_id, 1);
        } else {
            ri_control_answer(stream, RI_WIRE_FIN, req_id);
        }
        return status;
    }
    ++stream->worker->counters.rndv_fallback;
    ri_control_nack(stream, req_id, recv->id, flags);
    return UCS_INPROGRESS;
}

void ri_am_rndv_send_data(ri_send_req_t *req, uint32_t recv_id)
{
    static const ucp_request_param_t none = {.op_attr_mask = 0};
    ri_wire_base_t base                   = {.type = RI_WIRE_RNDV_DATA, .value = recv_id};
    const ri_peer_t *peer                 = req->conn->peer;
    ucs_status_t status;

    /* Over shared memory UCP would never notice. */
    if ((peer != NULL) && ri_local_is_gone(peer)) {
        ri_send_end_wait(req, RI_SEND_WAIT_MATCH, UCS_ERR_CONNECTION_RESET);
        return;
    }
    ri_wire_set_id(&base, req->conn->remote_id);
    ri_send_drop_wait(req, RI_SEND_WAIT_MATCH); /* a second NACK or CTS is stale */
    status = ri_am_send_direct(req, RI_AM_DATA, &base, sizeof(base), 0, &none);
    if (status != UCS_INPROGRESS) {
        ri_send_end_wait(req, RI_SEND_WAIT_DATA, status);
    }
}

void ri_am_rndv_handle_nack(ri_worker_t *worker, ri_conn_t *conn,
                            const ri_wire_msg_t *msg)
{
    ri_send_req_t *req = ri_rndv_find(worker, conn, msg->value);

    if (req != NULL) {
        if (req->keys != NULL) {
            ri_way_nacked(conn, req->way, msg->flags);
        } else if ((req->target == RI_SEND_TARGET_NONE) && !req->withdrawn &&
                   !ri_dt_is_spread(&req->data)) {
            ri_conn_clear_flags(conn, RI_CONN_PLANE_READ);
        }
        if (req->proto->answered != NULL) {
            req->proto->answered(req);
        }
        ri_am_rndv_send_data(req, msg->recv_id);
    }
}

ucs_status_t ri_am_rndv_handle_data(ri_stream_t *stream, const ri_wire_msg_t *msg,
                                    void *desc)
{
    ri_worker_t *worker = stream->worker;
    ri_recv_req_t *recv = ri_id_get(&worker->ids.recvs, msg->value);
    ri_msg_kind_t kind  = (desc != NULL) ? RI_MSG_AM_RNDV : RI_MSG_COPY;
    ucs_status_t status = UCS_ERR_IO_ERROR;
    ri_arrival_t arrival;

    if ((recv == NULL) || (recv->rndv.stream != stream)) {
        ++worker->counters.rx_stale;
        return UCS_OK;
    }

    ++stream->busy;
    /* others are counted with the NACK */
    worker->counters.rndv_fallback += (recv->rndv.written != RI_RECV_NOT_WRITTEN);
    ri_rndv_recv_forget(recv);
    arrival = (ri_arrival_t){.kind      = kind,
                             .wire_type = RI_WIRE_RNDV_DATA,
                             .tag       = recv->info.sender_tag,
                             .length    = msg->length,
                             .data      = msg->payload,
                             .desc      = desc};
    if (msg->length == recv->info.length) {
        status = ri_recv_start(recv, stream, &arrival);
    } else {
        ri_deliver_malformed_of(stream, "with the data of a rendezvous", msg->type,
                                msg->length);
        ri_dt_finish(&recv->data);
        ri_timeline_recv_end(recv, status);
    }
    if (status != UCS_INPROGRESS) {
        ri_req_complete_recv(recv, status);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
    return ((desc != NULL) && (arrival.desc == NULL)) ? UCS_INPROGRESS : UCS_OK;
}

const ri_send_proto_t ri_send_proto_bulk = {.name      = "bulk",
                                            .called    = "ucp",
                                            .moves     = "UCX, as it chooses",
                                            .wire_type = RI_WIRE_BULK,
                                            .asks      = RI_SEND_ASKS_PLANE,
                                            .start     = bulk_start,
                                            RI_SEND_COUNTS(tx_bulk)};

/* UCP knows when it was matched. */
const ri_send_proto_t ri_send_proto_bulk_rndv = {.name      = "bulk_rndv",
                                                 .called    = "ucp",
                                                 .moves     = "UCX, as it chooses",
                                                 .wire_type = RI_WIRE_BULK,
                                                 .answer    = RI_SEND_ANSWER_NEVER,
                                                 .asks      = RI_SEND_ASKS_PLANE,
                                                 .start     = bulk_start_rndv,
                                                 RI_SEND_COUNTS(tx_bulk)};
