/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver says where (CTS), the sender writes within its handler and answers (WRITTEN or
 * NACK).
 */
#include "rndv_put.h"
#include "../../core/types/fetch_proto.h"
#include "../../core/recv_req.h"
#include "am_rndv.h"
#include "../../link/control.h"
#include "net_write.h"
#include "rndv.h"
#include "../../core/send_req.h"
#include "../../order/recv_start.h"
#include "net_expose.h"
#include "rndv_recv.h"
#include "send_keys.h"

static ucs_status_t put_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    /* with the segments: the receiver may have to read */
    ri_rndv_rts_t rts = {.rts.flags = RI_WIRE_RTS_PUT};

    (void)terms;
    ri_send_keys_describe(req, &rts.rts);
    return ri_rndv_send(req, &rts.rts);
}

/* Let the sender of an RTS write. It cannot if the RTS is of another way than there is now, or the
 * receive's memory cannot be registered. @return As `start` of ri_fetch_proto_t. */
static ucs_status_t put_fetch(ri_recv_req_t *recv, ri_stream_t *stream,
                              const ri_fetch_terms_t *terms)
{
    const ri_wire_rts_t *rts = terms->arrival->data;
    uint32_t req_id          = terms->arrival->req_id;
    uint32_t key             = 0;
    ucs_status_t status;

    status = ri_rndv_recv_wait(recv, stream);
    if (status != UCS_OK) {
        ri_control_answer(stream, RI_WIRE_FIN, req_id);
        return status;
    }
    if (rts->flags & RI_WIRE_RTS_KEYS) {
        if ((rts->way != (uint16_t)stream->peer->way.number) ||
            !ri_net_expose(recv, stream->peer)) {
            ri_rndv_recv_forget(recv);
            return UCS_ERR_NO_ELEM;
        }
        key = ri_net_expose_key(recv);
    }
    ri_rndv_recv_set_written(recv, RI_RECV_BY_CTS);
    ri_trace(&stream->worker->trace, RI_TRACE_RECV_CTS, recv->id, recv->info.length);
    ri_control_cts(stream, req_id, recv->id, recv->data.buffer, key);
    return UCS_INPROGRESS;
}

/* Write the data of a send to where its receiver says. */
static ucs_status_t put_write(ri_send_req_t *req, uint64_t address)
{
    ri_conn_t *conn   = req->conn;
    ri_plane_ep_t *ep = (conn->peer != NULL) ? conn->peer->local.ep : NULL;

    if ((ep == NULL) || !(conn->flags & RI_CONN_PLANE_WRITE)) {
        return UCS_ERR_UNREACHABLE;
    }
    return ri_rndv_write(req, ep, address);
}

void ri_rndv_put_handle_cts(ri_worker_t *worker, ri_conn_t *conn,
                            const ri_wire_msg_t *msg)
{
    ri_send_req_t *req = ri_rndv_find(worker, conn, msg->value);
    ucs_status_t status;

    if (req == NULL) {
        return;
    }
    if (req->proto->start != put_start) { /* the send is of another protocol */
        ++worker->counters.rx_stale;
        return;
    }

    if (req->keys != NULL) {
        if (ri_net_write_start(req, msg->recv_id, msg->address, msg->key) !=
            UCS_INPROGRESS) {
            ri_am_rndv_send_data(req, msg->recv_id);
        }
        return;
    }
    status = put_write(req, msg->address);
    if (status == UCS_OK) {
        ri_control_send(conn, RI_WIRE_WRITTEN, conn->remote_id, msg->recv_id);
        if (ri_id_get(&worker->ids.sends, msg->value) ==
            req) { /* the conn has not failed */
            ri_send_end_wait(req, RI_SEND_WAIT_MATCH, UCS_OK);
        }
        return;
    }
    if (status == UCS_ERR_UNREACHABLE) {
        ri_conn_clear_flags(conn, RI_CONN_PLANE_WRITE);
    }
    ri_am_rndv_send_data(req, msg->recv_id);
}

void ri_rndv_put_handle_written(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker = stream->worker;
    ri_recv_req_t *recv = ri_id_get(&worker->ids.recvs, msg->value);

    if ((recv == NULL) || (recv->rndv.stream != stream) ||
        (recv->rndv.written != RI_RECV_BY_CTS)) {
        ++worker->counters.rx_stale;
        return;
    }

    ++stream->busy;
    ri_trace(&worker->trace, RI_TRACE_RECV_WRITTEN, recv->id, recv->info.length);
    if (recv->keys != NULL) {
        ri_net_expose_close(recv);
    }
    ri_rndv_recv_forget(recv);
    ri_recv_complete(recv, UCS_OK);
    --stream->busy;
    ri_stream_check_closed(stream);
}

static const char *put_why(const ri_select_param_t *facts)
{
    return (facts->scheme == RI_SENDER_SCHEME_PUT) ? "SENDER_SCHEME is put" :
                                                     "the receiver cannot read";
}

const ri_send_proto_t ri_send_proto_rndv_put = {.name   = "rndv_put",
                                                .called = "put",
                                                .moves  = "the sender writes when told",
                                                .moves_net = "the sender writes by RDMA",
                                                .why       = put_why,
                                                .wire_type = RI_WIRE_RTS,
                                                .answer    = RI_SEND_ANSWER_ALWAYS,
                                                .take      = ri_send_keys_take,
                                                .start     = put_start,
                                                .forget    = ri_send_keys_forget,
                                                RI_SEND_COUNTS(tx_put)};

const ri_fetch_proto_t ri_fetch_proto_put = {
        .name = "put", .lacks = RI_FETCH_LACKS_PUT, .start = put_fetch};
