/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rdma_write.h"
#include "am_rndv.h"
#include "../../link/control.h"
#include "../../link/planes.h"
#include "../../link/rdma.h"
#include "rndv.h"
#include "../../core/send_req.h"

#include <stdlib.h>

/* A write that is under way. */
typedef struct rdma_write {
    ri_rdma_op_t op;
    ri_send_req_t *req; /* it waits, whatever becomes of its conn */
    ri_keys_t *keys;    /* of its data */
    uint32_t recv_id;
} rdma_write_t;

int ri_rdma_write_open(ri_recv_req_t *recv, ri_peer_t *peer)
{
    ri_segment_t segment = {(uintptr_t)recv->data.buffer, recv->info.length};
    ri_plane_ep_t *ep    = ri_rdma_way_that(peer, RI_PLANE_WRITE);
    ri_keys_t *keys      = (ep != NULL) ? malloc(sizeof(*keys)) : NULL;

    if (keys == NULL) {
        return 0;
    }
    if (ri_rdma_register(ep->plane, &segment, 1, keys) != UCS_OK) {
        free(keys);
        return 0;
    }
    ri_rdma_use(recv->super.worker, peer);
    recv->keys = keys;
    recv->way  = peer->rdma_way;
    return 1;
}

uint32_t ri_rdma_write_key(const ri_recv_req_t *recv)
{
    return recv->keys->memory[0].remote_key;
}

static void rdma_write_release(ri_recv_req_t *recv)
{
    ri_rdma_free_keys(recv->keys);
    recv->keys = NULL;
}

void ri_rdma_write_close(ri_recv_req_t *recv)
{
    ri_planes_rdma_worked(recv->stream->peer, recv->way);
    rdma_write_release(recv);
}

void ri_rdma_write_revoke(ri_recv_req_t *recv)
{
    ri_peer_t *peer = recv->stream->peer;

    if (peer->rdma_way == recv->way) {
        ri_planes_rdma_failed(recv->super.worker, peer);
    }
    rdma_write_release(recv);
}

static void rdma_write_free(rdma_write_t *write)
{
    ri_rdma_free_keys(write->keys);
    free(write);
}

/* All is written: tell the receiver. */
static void rdma_write_finish(ri_send_req_t *req, uint32_t recv_id)
{
    ri_conn_t *conn = req->conn;

    conn->counters.tx_written_bytes += req->data.length;
    ri_control_send(conn, RI_WIRE_WRITTEN, conn->remote_id, recv_id);
    ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_OK);
}

/* A write has ended. */
static void rdma_write_end(ri_rdma_op_t *op, int ending)
{
    rdma_write_t *write = ri_container_of(op, rdma_write_t, op);
    ri_send_req_t *req  = write->req;
    uint32_t recv_id    = write->recv_id;
    ucs_status_t status = op->status;

    ri_trace(&op->worker->trace, RI_TRACE_SEND_WRITE, req->data.length, status);
    if (status != UCS_OK) {
        ri_rdma_op_lost_way(op, req->conn);
    }
    rdma_write_free(write);
    if (req->conn == NULL) {
        ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_OK); /* it has failed */
    } else if (status == UCS_OK) {
        rdma_write_finish(req, recv_id);
    } else if (ending) {
        ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_ERR_CANCELED);
    } else {
        req->waiting &= ~RI_SEND_WAIT_WRITE;
        req->waiting |= RI_SEND_WAIT_MATCH;
        ri_am_rndv_send_data(req, recv_id);
    }
}

ucs_status_t ri_rdma_write_start(ri_send_req_t *req, uint32_t recv_id, uint64_t address,
                                 uint32_t key)
{
    ri_worker_t *worker = req->super.worker;
    ri_peer_t *peer     = req->conn->peer;
    ri_plane_ep_t *ep   = (peer != NULL) ? ri_rdma_way_that(peer, RI_PLANE_WRITE) : NULL;
    ucs_status_t status = UCS_ERR_UNREACHABLE;
    rdma_write_t *write;

    if ((ep == NULL) || (peer->rdma_way != req->way)) {
        return UCS_ERR_UNREACHABLE;
    }
    write = malloc(sizeof(*write));
    if (write != NULL) {
        ri_rdma_op_init(&write->op, worker, peer, rdma_write_end);
        write->req     = req;
        write->keys    = req->keys;
        write->recv_id = recv_id;
        status         = ri_rdma_write(&write->op, req, ep, address, key, NULL);
    }
    if (status == UCS_INPROGRESS) {
        ri_rdma_op_started(&write->op);
        req->keys = NULL;
        req->waiting &= ~RI_SEND_WAIT_MATCH; /* further answers are stale */
        req->waiting |= RI_SEND_WAIT_WRITE;
        return UCS_INPROGRESS;
    }
    ri_trace(&worker->trace, RI_TRACE_SEND_WRITE, req->data.length, status);
    free(write);
    ri_planes_rdma_failed(worker, peer); /* and so does the receiver */
    return UCS_ERR_UNREACHABLE;
}
