/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The sending side of a QP. A work request is started by the thread that posts it, if it
 * can be: a descriptor goes into the ring of the responder's process, whose agent fetches
 * the data. Whatever has to wait (an acknowledgement, a full ring, the limit of reads, a
 * fence, a timer) is gone on with by the own agent.
 *
 * Rings lose nothing. A request is sent again only if the responder refused it for want of
 * a receive, or if a real responder would have been silent: no such QP, not in a state to
 * receive, or dead. So a slow responder is never taken for a lost message.
 */
#include "agent.h"
#include "copy.h"
#include "counters.h"
#include "fabric.h"
#include "faults.h"
#include "link.h"
#include "ud.h"
#include "util.h"

/* How often the peer's life is looked at while something is outstanding, at least. */
#define REQUESTER_CHECK_NS 20000000UL

#define REQUESTER_RNR_ALWAYS   7
#define REQUESTER_RETRY_ALWAYS 7 /* if a fault asks for it */

/* The RNR timers' codes, in units of 10 us. */
static const uint32_t requester_rnr_timers[32] = {
        65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
        48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
        2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

static const enum ibv_wc_opcode requester_wc_opcodes[] = {
        [IBV_WR_RDMA_WRITE]           = IBV_WC_RDMA_WRITE,
        [IBV_WR_RDMA_WRITE_WITH_IMM]  = IBV_WC_RDMA_WRITE,
        [IBV_WR_SEND]                 = IBV_WC_SEND,
        [IBV_WR_SEND_WITH_IMM]        = IBV_WC_SEND,
        [IBV_WR_RDMA_READ]            = IBV_WC_RDMA_READ,
        [IBV_WR_ATOMIC_CMP_AND_SWP]   = IBV_WC_COMP_SWAP,
        [IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD};

static sh_cq_t *requester_cq(const sh_qp_t *qp)
{
    return (sh_cq_t *)(void *)qp->super.send_cq;
}

static int requester_is_atomic(const sh_send_wqe_t *wqe)
{
    return (wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) ||
           (wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD);
}

static int requester_is_read(const sh_send_wqe_t *wqe)
{
    return (wqe->opcode == IBV_WR_RDMA_READ) || requester_is_atomic(wqe);
}

/* 0: no timeout at all. */
static uint64_t requester_timeout(const sh_qp_t *qp)
{
    return (qp->attr.timeout == 0) ? 0 : 4096UL << (qp->attr.timeout & 31);
}

static void requester_timer(void *data, int dropped)
{
    sh_qp_t *qp = data;

    if (!dropped) {
        pthread_mutex_lock(&qp->sq_lock);
        qp->sq.timer_at = 0;
        pthread_mutex_unlock(&qp->sq_lock);
        sh_requester_attend(qp, sh_now());
    }
}

/* Have the agent look at the QP not later than at a time. */
static void requester_set_timer(sh_qp_t *qp, uint64_t time)
{
    if ((qp->sq.timer_at != 0) && (qp->sq.timer_at <= time)) {
        return;
    }
    if (!sh_agent_at(time, requester_timer, qp, qp)) {
        qp->sq.timer_at = time;
    }
}

/* Something was sent that is to be acknowledged. */
static void requester_expect(sh_qp_t *qp)
{
    uint64_t period;

    if (qp->sq.timer_at == 0) {
        period            = sh_max(requester_timeout(qp), REQUESTER_CHECK_NS);
        qp->sq.check_at   = sh_now() + period;
        qp->sq.check_head = qp->sq.head;
        requester_set_timer(qp, qp->sq.check_at);
    }
}

/* The last one was lost: after the timeout it is sent again. */
static void requester_lose(sh_qp_t *qp, uint64_t now)
{
    uint64_t timeout = requester_timeout(qp);

    if (!qp->sq.lost && (timeout != 0)) {
        qp->sq.lost     = 1;
        qp->sq.retry_at = now + timeout;
        requester_set_timer(qp, qp->sq.retry_at);
    }
}

void sh_sq_complete(sh_qp_t *qp, enum ibv_wc_status status)
{
    sh_sq_complete_at(qp, status, 0);
}

void sh_sq_complete_at(sh_qp_t *qp, enum ibv_wc_status status, uint64_t due)
{
    sh_send_wqe_t *wqe = sh_sq_at(&qp->sq, qp->sq.head);
    struct ibv_wc wc   = {0};

    if (requester_is_read(wqe) && wqe->started && (qp->sq.head < qp->sq.next) &&
        (qp->sq.rd_atomics > 0)) {
        --qp->sq.rd_atomics;
    }
    ++qp->sq.head;
    qp->sq.next = sh_max(qp->sq.next, qp->sq.head);
    if ((status == IBV_WC_SUCCESS) && !qp->init.sq_sig_all &&
        !(wqe->flags & IBV_SEND_SIGNALED)) {
        return;
    }
    wc.wr_id    = wqe->wr_id;
    wc.status   = status;
    wc.opcode   = requester_wc_opcodes[wqe->opcode];
    wc.qp_num   = qp->super.qp_num;
    wc.byte_len = (uint32_t)wqe->length;
    sh_cq_push_at(requester_cq(qp), qp, &wc, qp->sq.head, 0, due);
}

/* What a request waits for may be an acknowledgement. */
static void requester_set_wanted(sh_qp_t *qp, int wanted)
{
    if (wanted != qp->sq.wanted) {
        qp->sq.wanted = wanted;
        sh_agent_want(requester_cq(qp), wanted);
    }
}

static void requester_check_wanted(sh_qp_t *qp)
{
    requester_set_wanted(qp, (qp->sq.next < qp->sq.tail) || qp->attr.sq_draining);
}

void sh_sq_unwanted(sh_qp_t *qp)
{
    requester_set_wanted(qp, 0);
}

void sh_sq_flush(sh_qp_t *qp)
{
    while (qp->sq.head < qp->sq.tail) {
        sh_sq_complete(qp, IBV_WC_WR_FLUSH_ERR);
    }
    qp->sq.rd_atomics = 0;
    qp->sq.rnr_until  = 0;
    qp->sq.lost       = 0;
    qp->sq.stopped    = 0;
    requester_check_wanted(qp);
}

/* The keys are looked at when the work request is started, as a device would.
 * @return The status; the list is of addresses in memory then. */
static enum ibv_wc_status requester_translate(sh_qp_t *qp, const sh_send_wqe_t *wqe,
                                              sh_sge_t *list)
{
    unsigned access = requester_is_read(wqe) ? IBV_ACCESS_LOCAL_WRITE : 0;
    unsigned i;
    sh_mr_t *mr;
    void *local;

    for (i = 0; i < wqe->num_sge; ++i) {
        mr = sh_mr_get(qp->super.pd, wqe->sge[i].lkey, wqe->sge[i].addr,
                       wqe->sge[i].length, access, &local);
        if (mr == NULL) {
            return IBV_WC_LOC_PROT_ERR;
        }
        sh_mr_put(mr);
        list[i].address = (uint64_t)(uintptr_t)local;
        list[i].length  = wqe->sge[i].length;
    }
    return IBV_WC_SUCCESS;
}

/* Send the request for a work request. @return 0, EAGAIN or ENOENT. */
static int requester_send(sh_qp_t *qp, sh_send_wqe_t *wqe, const sh_sge_t *list)
{
    unsigned device  = sh_context(qp->super.context)->device->index;
    unsigned slot    = sh_qpn_slot(qp->attr.dest_qp_num);
    const void *data = list;
    sh_msg_t msg     = {0};
    int error;

    msg.type           = SH_MSG_REQUEST;
    msg.opcode         = wqe->opcode;
    msg.slid           = sh_context_lid(qp->super.context);
    msg.dlid           = sh_device_lid_of(&qp->attr.ah_attr);
    msg.src_qpn        = qp->super.qp_num;
    msg.dst_qpn        = qp->attr.dest_qp_num;
    msg.psn            = wqe->psn;
    msg.epoch          = qp->sq.epoch;
    msg.qkey           = requester_cq(qp)->want;
    msg.rkey           = wqe->rkey;
    msg.imm            = wqe->imm;
    msg.length         = wqe->length;
    msg.remote_address = wqe->remote_address;
    msg.value          = wqe->compare_add;
    msg.swap           = wqe->swap;
    msg.num_sge        = wqe->num_sge;
    msg.size           = sizeof(msg) + wqe->num_sge * sizeof(*list);
    if ((wqe->opcode == IBV_WR_SEND_WITH_IMM) ||
        (wqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)) {
        msg.flags |= SH_MSG_IMM;
    }
    if (wqe->flags & IBV_SEND_SOLICITED) {
        msg.flags |= SH_MSG_SOLICITED;
    }
    if (requester_is_read(wqe)) {
        msg.hop_limit = (uint8_t)(qp->sq.rd_atomics + 1);
    }
    if (wqe->flags & IBV_SEND_INLINE) {
        msg.flags |= SH_MSG_INLINE;
        msg.size = sizeof(msg) + wqe->inline_size;
        data     = wqe->data;
    }
    sh_link_send(device, &msg, requester_is_read(wqe) ? 0 : wqe->length, &qp->sent);
    error = sh_fabric_send(slot, &msg, data);
    if (!error) {
        sh_link_count(requester_is_read(wqe) ? 0 : wqe->length,
                      128u << qp->attr.path_mtu);
    }
    return error;
}

/* Start or repeat the next work request of an RC QP.
 * @return 0, or -1 if nothing can be sent any more for now. */
static int requester_next(sh_qp_t *qp)
{
    sh_send_wqe_t *wqe = sh_sq_at(&qp->sq, qp->sq.next);
    sh_sge_t list[SH_MAX_SGE];
    enum ibv_wc_status status;
    int error;

    if (((wqe->flags & IBV_SEND_FENCE) && (qp->sq.rd_atomics > 0)) ||
        (requester_is_read(wqe) && (qp->sq.rd_atomics > 0) &&
         (qp->sq.rd_atomics >= qp->attr.max_rd_atomic))) {
        return -1;
    }
    status = requester_translate(qp, wqe, list);
    if ((status == IBV_WC_SUCCESS) && (wqe->length > SH_MAX_MSG_SIZE)) {
        status = IBV_WC_LOC_LEN_ERR;
    }
    if ((status == IBV_WC_SUCCESS) && requester_is_read(wqe) &&
        (qp->attr.max_rd_atomic == 0)) {
        status = IBV_WC_LOC_QP_OP_ERR;
    }
    if ((status == IBV_WC_SUCCESS) && !wqe->started) {
        status = sh_faults_rc(qp);
    }
    if (status != IBV_WC_SUCCESS) {
        wqe->status    = status;
        qp->sq.stopped = 1;
        sh_agent_attend(qp);
        return -1;
    }
    if (!wqe->started) {
        wqe->started = 1;
        wqe->psn     = qp->sq.psn;
        qp->sq.psn   = sh_psn_add(qp->sq.psn, 1);
    }
    error = sh_faults_cut() ? ENOENT : requester_send(qp, wqe, list);
    if (error == EAGAIN) {
        sh_agent_stall(qp);
        return -1;
    }
    ++qp->sq.next;
    if (requester_is_read(wqe)) {
        ++qp->sq.rd_atomics;
    }
    qp->sq.peer_generation = sh_fabric_generation(sh_qpn_slot(qp->attr.dest_qp_num));
    if (error) {
        requester_lose(qp, sh_now());
        return -1;
    }
    requester_expect(qp);
    return 0;
}

/* Datagrams are complete when they have left. */
static int requester_next_ud(sh_qp_t *qp)
{
    sh_send_wqe_t *wqe = sh_sq_at(&qp->sq, qp->sq.next);
    enum ibv_wc_status status;
    uint64_t gone;

    if (sh_ud_burst(qp) > 0) {
        return 0;
    }
    if (sh_ud_send(qp, wqe, &status, &gone) == EAGAIN) {
        sh_agent_stall(qp);
        return -1;
    }
    if (status != IBV_WC_SUCCESS) {
        wqe->status    = status;
        qp->sq.stopped = 1;
        sh_agent_attend(qp);
        return -1;
    }
    ++qp->sq.next;
    ++qp->sq.count;
    sh_faults_move(qp);
    sh_sq_complete_at(qp, IBV_WC_SUCCESS, gone);
    return 0;
}

void sh_sq_progress(sh_qp_t *qp)
{
    if (qp->super.state != IBV_QPS_RTS) {
        requester_check_wanted(qp);
        return;
    }
    while ((qp->sq.next < qp->sq.tail) && !qp->sq.stopped && (qp->sq.rnr_until == 0) &&
           !qp->sq.lost) {
        if ((qp->super.qp_type == IBV_QPT_UD) ? requester_next_ud(qp) :
                                                requester_next(qp)) {
            break;
        }
    }
    requester_check_wanted(qp);
}

/* Begin again with the oldest one. */
static void requester_resend(sh_qp_t *qp)
{
    sh_count(retries, qp->sq.next - qp->sq.head);
    qp->sq.next       = qp->sq.head;
    qp->sq.rd_atomics = 0;
    qp->sq.lost       = 0;
    sh_sq_progress(qp);
}

/* The oldest one fails, and the QP with it. */
static void requester_fail(sh_qp_t *qp, enum ibv_wc_status status)
{
    sh_sq_complete(qp, status);
    if (qp->super.qp_type == IBV_QPT_UD) {
        /* Only the send queue stops */
        qp->super.state = qp->attr.qp_state = IBV_QPS_SQE;
        sh_sq_flush(qp);
    } else {
        sh_qp_error(qp, -1);
    }
}

/* Put the old value of an atomic into its list. */
static enum ibv_wc_status requester_atomic(sh_qp_t *qp, sh_send_wqe_t *wqe,
                                           uint64_t value)
{
    sh_sge_t list[SH_MAX_SGE];
    struct iovec iov[SH_MAX_SGE];
    sh_pieces_t pieces = {iov, wqe->num_sge};
    unsigned i;

    if (requester_translate(qp, wqe, list) != IBV_WC_SUCCESS) {
        return IBV_WC_LOC_PROT_ERR;
    }
    for (i = 0; i < wqe->num_sge; ++i) {
        iov[i].iov_base = (void *)(uintptr_t)list[i].address;
        iov[i].iov_len  = list[i].length;
    }
    return sh_copy_put(pieces, 0, &value, sizeof(value)) ? IBV_WC_LOC_PROT_ERR :
                                                           IBV_WC_SUCCESS;
}

/* Complete the oldest one, which was executed. @return 0, or -1 if that failed. */
static int requester_done(sh_qp_t *qp, const sh_msg_t *msg, int last)
{
    sh_send_wqe_t *wqe        = sh_sq_at(&qp->sq, qp->sq.head);
    enum ibv_wc_status status = IBV_WC_SUCCESS;

    if (requester_is_atomic(wqe) && last) {
        status = requester_atomic(qp, wqe, msg->value);
    }
    if (status != IBV_WC_SUCCESS) {
        requester_fail(qp, status);
        return -1;
    }
    sh_sq_complete(qp, IBV_WC_SUCCESS);
    return 0;
}

static void requester_rnr(sh_qp_t *qp, uint64_t code, uint64_t now)
{
    if (qp->attr.rnr_retry != REQUESTER_RNR_ALWAYS) {
        if (qp->sq.rnr_retries == 0) {
            requester_fail(qp, IBV_WC_RNR_RETRY_EXC_ERR);
            return;
        }
        --qp->sq.rnr_retries;
    }
    qp->sq.rnr_until = now + requester_rnr_timers[code % 32] * 10000UL;
    requester_set_timer(qp, qp->sq.rnr_until);
}

static void requester_judge(sh_qp_t *qp, const sh_msg_t *msg)
{
    uint64_t now = sh_now();

    switch (msg->answer) {
    case SH_ANSWER_RNR:
        requester_rnr(qp, msg->value, now);
        break;
    case SH_ANSWER_NAK:
        requester_fail(qp, ((msg->value > IBV_WC_SUCCESS) &&
                            (msg->value <= IBV_WC_GENERAL_ERR)) ?
                                   (enum ibv_wc_status)msg->value :
                                   IBV_WC_GENERAL_ERR);
        break;
    case SH_ANSWER_NOTHING:
        requester_lose(qp, now);
        break;
    default:
        break;
    }
}

static void requester_drained(sh_qp_t *qp)
{
    if ((qp->super.state == IBV_QPS_SQD) && qp->attr.sq_draining &&
        (qp->sq.head == qp->sq.next)) {
        qp->attr.sq_draining = 0;
        if (qp->attr.en_sqd_async_notify) {
            sh_async_event(qp->super.context, IBV_EVENT_SQ_DRAINED, &qp->super);
        }
    }
}

void sh_requester_answer(sh_qp_t *qp, const sh_msg_t *msg)
{
    uint64_t number;
    uint32_t diff;

    pthread_mutex_lock(&qp->sq_lock);
    if ((qp->super.qp_type != IBV_QPT_RC) ||
        ((qp->super.state != IBV_QPS_RTS) && (qp->super.state != IBV_QPS_SQD)) ||
        (msg->src_qpn != qp->attr.dest_qp_num) || (msg->epoch != qp->sq.epoch) ||
        (qp->sq.head == qp->sq.next)) {
        goto out;
    }
    diff   = sh_psn_add(msg->psn, -sh_sq_at(&qp->sq, qp->sq.head)->psn);
    number = qp->sq.head + diff; /* the work request that is answered */
    if (number >= qp->sq.next) {
        goto out;
    }
    if (msg->answer == SH_ANSWER_ACK) {
        ++number;
    } else if (msg->answer == SH_ANSWER_NOTHING) {
        number = qp->sq.head; /* which says nothing about those before */
    }
    if (number > qp->sq.head) {
        qp->sq.retries     = qp->attr.retry_cnt;
        qp->sq.rnr_retries = qp->attr.rnr_retry;
    }
    while (qp->sq.head < number) {
        if (requester_done(qp, msg, qp->sq.head + 1 == number)) {
            goto out;
        }
    }
    requester_judge(qp, msg);
    if (qp->sq.head == qp->sq.next) {
        qp->sq.lost = 0;
    }
    if (qp->sq.stopped) {
        sh_agent_attend(qp);
    }
    requester_drained(qp);
    sh_sq_progress(qp);
out:
    pthread_mutex_unlock(&qp->sq_lock);
}

/* A peer that has died does not answer. */
static void requester_check_peer(sh_qp_t *qp, uint64_t now)
{
    if ((qp->sq.head == qp->sq.next) || qp->sq.lost || (qp->sq.rnr_until != 0)) {
        return;
    }
    if (now >= qp->sq.check_at) {
        if ((qp->sq.check_head == qp->sq.head) &&
            !sh_fabric_alive(sh_qpn_slot(qp->attr.dest_qp_num), qp->sq.peer_generation)) {
            requester_lose(qp, now);
        }
        qp->sq.check_head = qp->sq.head;
        qp->sq.check_at   = now + sh_max(requester_timeout(qp), REQUESTER_CHECK_NS);
    }
    requester_set_timer(qp, qp->sq.check_at);
}

static void requester_attend_rc(sh_qp_t *qp, uint64_t now)
{
    if ((qp->sq.rnr_until != 0) && (now >= qp->sq.rnr_until)) {
        qp->sq.rnr_until = 0;
        requester_resend(qp);
    }
    if (qp->sq.lost && (now >= qp->sq.retry_at)) {
        if (qp->sq.retries == 0) {
            requester_fail(qp, IBV_WC_RETRY_EXC_ERR);
            return;
        }
        if ((qp->attr.retry_cnt != REQUESTER_RETRY_ALWAYS) ||
            !sh_settings.faults.retry_always) {
            --qp->sq.retries;
        }
        requester_resend(qp);
    }
    if (qp->sq.lost) {
        requester_set_timer(qp, qp->sq.retry_at);
    }
    if (qp->sq.rnr_until != 0) {
        requester_set_timer(qp, qp->sq.rnr_until);
    }
    requester_check_peer(qp, now);
}

void sh_requester_attend(sh_qp_t *qp, uint64_t now)
{
    pthread_mutex_lock(&qp->sq_lock);
    if (qp->sq.fatal && (qp->super.state != IBV_QPS_ERR)) {
        sh_qp_error(qp, IBV_EVENT_QP_FATAL);
    }
    if ((qp->super.state == IBV_QPS_RTS) || (qp->super.state == IBV_QPS_SQD)) {
        if (qp->sq.stopped && (qp->sq.head == qp->sq.next) &&
            (qp->sq.next < qp->sq.tail)) {
            requester_fail(qp, sh_sq_at(&qp->sq, qp->sq.head)->status);
        } else if (qp->super.qp_type == IBV_QPT_RC) {
            requester_attend_rc(qp, now);
        }
        sh_sq_progress(qp);
    }
    pthread_mutex_unlock(&qp->sq_lock);
}
