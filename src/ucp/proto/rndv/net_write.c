/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A write keeps its request, and the keys of the data, until the network is done with the memory.
 * If it fails, its way is given up, and the data goes by an active message.
 */
#include "net_write.h"
#include "am_rndv.h"
#include "../../link/control.h"
#include "../../link/net_transfer.h"
#include "rndv.h"
#include "../../core/send_req.h"
#include "../../link/way.h"

#include <stdlib.h>

/* A write that is under way. */
typedef struct net_write {
    ri_net_transfer_t op;
    ri_send_req_t *req; /* the send, which waits, whatever becomes of its conn */
    ri_keys_t *keys;    /* of its data */
    uint32_t recv_id;
} net_write_t;

static void net_write_free(net_write_t *write)
{
    ri_keys_free(write->keys);
    free(write);
}

/* All is written: tell the receiver. */
static void net_write_finish(ri_send_req_t *req, uint32_t recv_id)
{
    ri_conn_t *conn = req->conn;

    conn->counters.tx_written_bytes += req->data.length;
    ri_control_send(conn, RI_WIRE_WRITTEN, conn->remote_id, recv_id);
    ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_OK);
}

/* A write has ended. */
static void net_write_end(ri_net_transfer_t *op, int ending)
{
    net_write_t *write  = ri_container_of(op, net_write_t, op);
    ri_send_req_t *req  = write->req;
    uint32_t recv_id    = write->recv_id;
    ucs_status_t status = op->status;

    ri_trace(&op->worker->trace, RI_TRACE_SEND_WRITE, req->data.length, status);
    if (status != UCS_OK) {
        ri_net_transfer_lost_way(op, req->conn);
    }
    net_write_free(write);
    if (req->conn == NULL) {
        ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_OK); /* the send has failed */
    } else if (status == UCS_OK) {
        net_write_finish(req, recv_id);
    } else if (ending) {
        ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_ERR_CANCELED);
    } else {
        ri_send_drop_wait(req, RI_SEND_WAIT_WRITE);
        ri_send_begin_wait(req, RI_SEND_WAIT_MATCH);
        ri_am_rndv_send_data(req, recv_id);
    }
}

ucs_status_t ri_net_write_start(ri_send_req_t *req, uint32_t recv_id, uint64_t address,
                                uint32_t key)
{
    ri_worker_t *worker = req->super.worker;
    ri_peer_t *peer     = req->conn->peer;
    ri_plane_ep_t *ep   = ri_way_use_ep_that(peer, RI_PLANE_WRITE);
    ucs_status_t status = UCS_ERR_UNREACHABLE;
    net_write_t *write;

    if ((ep == NULL) || (peer->way.number != req->way)) {
        return UCS_ERR_UNREACHABLE;
    }
    write = malloc(sizeof(*write));
    if (write != NULL) {
        ri_net_transfer_init(&write->op, worker, peer, net_write_end);
        write->req     = req;
        write->keys    = req->keys;
        write->recv_id = recv_id;
        status         = ri_net_transfer_write(&write->op, req, ep, address, key);
    }
    if (status == UCS_INPROGRESS) {
        ri_net_transfer_started(&write->op, req->data.length);
        req->keys = NULL;
        ri_send_drop_wait(req, RI_SEND_WAIT_MATCH); /* further answers are stale */
        ri_send_begin_wait(req, RI_SEND_WAIT_WRITE);
        return UCS_INPROGRESS;
    }
    ri_trace(&worker->trace, RI_TRACE_SEND_WRITE, req->data.length, status);
    free(write);
    ri_way_fail_and_tell(worker, peer); /* and so does the receiver */
    return UCS_ERR_UNREACHABLE;
}
