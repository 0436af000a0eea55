/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * What becomes of a request: whether it is its turn, and whether QP, region and receive
 * queue allow it.
 */
#include "copy.h"
#include "counters.h"
#include "fabric.h"
#include "faults.h"
#include "link.h"
#include "responder.h"
#include "util.h"

#include <string.h>

int sh_check_refuse(sh_request_t *req, enum ibv_wc_status remote,
                    enum ibv_wc_status local, int event)
{
    req->answer       = SH_ANSWER_NAK;
    req->value        = remote;
    req->wc.status    = local;
    req->event        = event;
    req->qp->rnr_sent = 1;
    return 1;
}

static int check_rnr(sh_request_t *req)
{
    req->answer       = SH_ANSWER_RNR;
    req->value        = req->qp->attr.min_rnr_timer;
    req->qp->rnr_sent = 1;
    return 1;
}

/* The list of a request's memory. @return 0, or -1 if it makes no sense. */
static int check_parse(sh_request_t *req)
{
    const sh_msg_t *msg = &req->msg;
    uint64_t payload    = msg->size - sizeof(*msg);
    uint64_t total      = 0;
    sh_sge_t sge;
    unsigned i;

    if (msg->flags & SH_MSG_INLINE) {
        return ((msg->num_sge == 0) && (msg->length == payload) &&
                (payload <= SH_MAX_INLINE)) ?
                       0 :
                       -1;
    }
    if ((msg->num_sge > SH_MAX_SGE) || (payload != msg->num_sge * sizeof(sge))) {
        return -1;
    }
    for (i = 0; i < msg->num_sge; ++i) {
        memcpy(&sge, req->payload + i * sizeof(sge), sizeof(sge));
        if (sge.length > SH_MAX_MSG_SIZE) {
            return -1;
        }
        req->remote_iov[i].iov_base = (void *)(uintptr_t)sge.address;
        req->remote_iov[i].iov_len  = sge.length;
        total += sge.length;
    }
    req->num_remote = msg->num_sge;
    return ((total == msg->length) && (total <= SH_MAX_MSG_SIZE)) ? 0 : -1;
}

/* Whether the queue pair can answer one more read or atomic. The requester has to know the limit;
 * an adapter that has answered some of them already may let one pass. rxe uses its places again, if
 * it has any. @return 0, or 1 if the request was refused. */
static int check_resources(sh_request_t *req)
{
    unsigned places = req->qp->attr.max_dest_rd_atomic;

    if ((places > 0) && (sh_settings.like_rxe || (req->msg.hop_limit <= places))) {
        return 0;
    }
    return sh_check_refuse(req, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_ACCESS_ERR,
                           IBV_EVENT_QP_REQ_ERR);
}

/* Find the memory that the request names by its rkey.
 * @return 0, or 1 if the request was refused. */
static int check_region(sh_request_t *req, unsigned access, uint64_t length)
{
    void *local;
    sh_mr_t *mr;

    if (!(req->qp->attr.qp_access_flags & access)) {
        return sh_check_refuse(req, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_ACCESS_ERR,
                               IBV_EVENT_QP_REQ_ERR);
    }
    if (length == 0) {
        return 0; /* no memory, no key */
    }
    mr = sh_mr_get(req->qp->super.pd, req->msg.rkey, req->msg.remote_address, length,
                   access, &local);
    if (mr == NULL) {
        return sh_check_refuse(req, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR,
                               IBV_EVENT_QP_ACCESS_ERR);
    }
    req->mrs[req->num_mrs++]   = mr;
    req->local_iov[0].iov_base = local;
    req->local_iov[0].iov_len  = length;
    req->num_local             = 1;
    return 0;
}

/* Take a receive for a request. @return 0, or 1 if it was refused. */
static int check_take(sh_request_t *req)
{
    if (sh_faults_rnr(req->qp) || sh_rq_take(req->qp, &req->recv)) {
        return check_rnr(req);
    }
    req->has_recv    = 1;
    req->wc.wr_id    = req->recv.wr_id;
    req->wc.qp_num   = req->qp->super.qp_num;
    req->wc.src_qp   = req->msg.src_qpn;
    req->wc.slid     = req->msg.slid;
    req->wc.byte_len = (uint32_t)req->msg.length;
    req->wc.opcode   = IBV_WC_RECV;
    req->wc.wc_flags = sh_settings.ethernet ? IBV_WC_GRH : 0;
    if (req->msg.flags & SH_MSG_IMM) {
        req->wc.wc_flags |= IBV_WC_WITH_IMM;
        req->wc.imm_data = req->msg.imm;
    }
    return 0;
}

static int check_send(sh_request_t *req)
{
    const struct ibv_pd *pd = (req->qp->super.srq != NULL) ? req->qp->super.srq->pd :
                                                             req->qp->super.pd;
    uint64_t left           = req->msg.length;
    const struct ibv_sge *sge;
    unsigned i;

    if (check_take(req)) {
        return 1;
    }
    if (left > sh_rq_capacity(&req->recv)) {
        return sh_settings.like_rxe ?
                       sh_check_refuse(req, IBV_WC_REM_OP_ERR, IBV_WC_LOC_QP_OP_ERR, -1) :
                       sh_check_refuse(req, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR,
                                       -1);
    }
    for (i = 0; (i < req->recv.num_sge) && (left > 0); ++i) {
        sge         = &req->recv.sge[i];
        req->mrs[i] = sh_mr_get(pd, sge->lkey, sge->addr, sge->length,
                                IBV_ACCESS_LOCAL_WRITE, &req->local_iov[i].iov_base);
        if (req->mrs[i] == NULL) {
            return sh_check_refuse(req, IBV_WC_REM_OP_ERR,
                                   sh_settings.like_rxe ? IBV_WC_LOC_QP_OP_ERR :
                                                          IBV_WC_LOC_PROT_ERR,
                                   -1);
        }
        ++req->num_mrs;
        req->local_iov[i].iov_len = sh_min(left, sge->length);
        left -= req->local_iov[i].iov_len;
    }
    req->num_local = i;
    return 0;
}

static int check_write(sh_request_t *req)
{
    if (check_region(req, IBV_ACCESS_REMOTE_WRITE, req->msg.length)) {
        return 1;
    }
    if (req->msg.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
        if (check_take(req)) {
            return 1;
        }
        req->wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    }
    return 0;
}

static int check_read(sh_request_t *req)
{
    if (check_resources(req) ||
        check_region(req, IBV_ACCESS_REMOTE_READ, req->msg.length)) {
        return 1;
    }
    req->reads = 1;
    if (req->due != 0) {
        req->due   = sh_link_respond(sh_context(req->qp->super.context)->device->index,
                                     req->due, req->msg.length, &req->qp->sent);
        req->place = sh_answer_reserve(req->qp);
    }
    sh_link_count(req->msg.length, 128u << req->qp->attr.path_mtu);
    return 0;
}

static int check_atomic(sh_request_t *req)
{
    uint64_t value;
    sh_pieces_t pieces = {req->local_iov, 1};

    if (req->msg.remote_address % sizeof(value)) {
        return sh_check_refuse(req, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_ACCESS_ERR,
                               IBV_EVENT_QP_REQ_ERR);
    }
    if (check_resources(req) ||
        check_region(req, IBV_ACCESS_REMOTE_ATOMIC, sizeof(value))) {
        return 1;
    }
    sh_fabric_atomic_lock();
    if (sh_copy_get(pieces, 0, &value, sizeof(value))) {
        sh_fabric_atomic_unlock();
        return sh_check_refuse(req, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR,
                               IBV_EVENT_QP_ACCESS_ERR);
    }
    req->value = value;
    if (req->msg.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        value += req->msg.value;
    } else if (value == req->msg.value) {
        value = req->msg.swap;
    }
    sh_copy_put(pieces, 0, &value, sizeof(value));
    sh_fabric_atomic_unlock();
    req->done = req->msg.length; /* nothing is left to copy */
    return 0;
}

/* Whether a real device would take a packet from this QP. */
static int check_listens(const sh_qp_t *qp, const sh_msg_t *msg)
{
    return ((qp->super.state == IBV_QPS_RTR) || (qp->super.state == IBV_QPS_RTS) ||
            (qp->super.state == IBV_QPS_SQD)) &&
           (msg->src_qpn == qp->attr.dest_qp_num) &&
           (msg->dlid == sh_context_lid(qp->super.context)) &&
           (msg->slid == sh_device_lid_of(&qp->attr.ah_attr));
}

/* Check the number of a request. @return 0 if it is its turn, 1 to answer, -1 to drop. */
static int check_sequence(sh_request_t *req)
{
    sh_qp_t *qp   = req->qp;
    uint32_t diff = sh_psn_add(req->msg.psn, -qp->epsn);

    if (diff == 0) {
        return 0;
    }
    if (diff < 0x800000) {
        /* One before it was refused or lost, and will come again */
        req->answer = SH_ANSWER_NOTHING;
        return qp->rnr_sent ? -1 : 1;
    }
    /* Executed and answered already, or a connection with numbers that do not fit */
    req->answer = SH_ANSWER_NOTHING;
    return 1;
}

int sh_check_request(sh_request_t *req)
{
    sh_qp_t *qp = req->qp;
    int ret;

    req->answer = SH_ANSWER_ACK;
    req->event  = -1;
    if (!check_listens(qp, &req->msg)) {
        req->answer = SH_ANSWER_NOTHING;
        return 1;
    }
    ret = check_sequence(req);
    if (ret) {
        return ret;
    }
    if (check_parse(req)) {
        sh_count(malformed, 1);
        return -1;
    }
    req->in_turn = 1;
    qp->rnr_sent = 0;
    if (!qp->established) {
        qp->established = 1;
        if (qp->super.state == IBV_QPS_RTR) {
            sh_async_event(qp->super.context, IBV_EVENT_COMM_EST, &qp->super);
        }
    }
    switch (req->msg.opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        return check_send(req);
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return check_write(req);
    case IBV_WR_RDMA_READ:
        return check_read(req);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return check_atomic(req);
    default:
        sh_count(malformed, 1);
        return sh_check_refuse(req, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_QP_OP_ERR,
                               IBV_EVENT_QP_REQ_ERR);
    }
}
