/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Posting work requests: the program's thread checks and copies them, and starts those
 * that nothing keeps waiting.
 */
#include "agent.h"
#include "counters.h"
#include "fabric.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define POST_ATOMIC_SIZE 8

static void post_count(enum ibv_wr_opcode opcode)
{
    switch (opcode) {
    case IBV_WR_SEND:
        sh_count(wr_send, 1);
        break;
    case IBV_WR_SEND_WITH_IMM:
        sh_count(wr_send_imm, 1);
        break;
    case IBV_WR_RDMA_WRITE:
        sh_count(wr_write, 1);
        break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        sh_count(wr_write_imm, 1);
        break;
    case IBV_WR_RDMA_READ:
        sh_count(wr_read, 1);
        break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        sh_count(wr_cmp_swap, 1);
        break;
    default:
        sh_count(wr_fetch_add, 1);
    }
}

static int post_is_atomic(const struct ibv_send_wr *wr)
{
    return (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) ||
           (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD);
}

static uint64_t post_length(const struct ibv_send_wr *wr)
{
    uint64_t length = 0;
    int i;

    for (i = 0; i < wr->num_sge; ++i) {
        length += wr->sg_list[i].length;
    }
    return length;
}

/* What a device's library finds wrong. @return 0, or an errno value. */
static int post_check(const sh_qp_t *qp, const struct ibv_send_wr *wr)
{
    if ((wr->num_sge < 0) || ((uint32_t)wr->num_sge > qp->sq.max_sge)) {
        return EINVAL;
    }
    switch (wr->opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        break;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        if (qp->super.qp_type != IBV_QPT_RC) {
            return EINVAL;
        }
        break;
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        if ((qp->super.qp_type != IBV_QPT_RC) || (wr->send_flags & IBV_SEND_INLINE)) {
            return EINVAL;
        }
        break;
    default:
        return EOPNOTSUPP;
    }
    if (post_is_atomic(wr) && (post_length(wr) != POST_ATOMIC_SIZE)) {
        return EINVAL;
    }
    if ((wr->send_flags & IBV_SEND_INLINE) && (post_length(wr) > qp->sq.max_inline)) {
        return EINVAL;
    }
    return ((qp->super.qp_type == IBV_QPT_UD) && (wr->wr.ud.ah == NULL)) ? EINVAL : 0;
}

static void post_fill_inline(sh_send_wqe_t *wqe, const struct ibv_send_wr *wr)
{
    unsigned offset = 0;
    int i;

    for (i = 0; i < wr->num_sge; ++i) {
        if (wr->sg_list[i].length > 0) {
            memcpy(wqe->data + offset, (const void *)(uintptr_t)wr->sg_list[i].addr,
                   wr->sg_list[i].length);
            offset += wr->sg_list[i].length;
        }
    }
    wqe->inline_size = offset;
}

static void post_fill(const sh_qp_t *qp, sh_send_wqe_t *wqe, const struct ibv_send_wr *wr)
{
    int i;

    wqe->wr_id       = wr->wr_id;
    wqe->opcode      = (uint8_t)wr->opcode;
    wqe->flags       = wr->send_flags;
    wqe->imm         = wr->imm_data;
    wqe->status      = IBV_WC_SUCCESS;
    wqe->started     = 0;
    wqe->num_sge     = 0;
    wqe->inline_size = 0;
    wqe->length      = post_length(wr);
    if (qp->super.qp_type == IBV_QPT_UD) {
        wqe->ah          = ((const sh_ah_t *)(const void *)wr->wr.ud.ah)->attr;
        wqe->remote_qpn  = wr->wr.ud.remote_qpn;
        wqe->remote_qkey = wr->wr.ud.remote_qkey;
    } else if (post_is_atomic(wr)) {
        wqe->remote_address = wr->wr.atomic.remote_addr;
        wqe->rkey           = wr->wr.atomic.rkey;
        wqe->compare_add    = wr->wr.atomic.compare_add;
        wqe->swap           = wr->wr.atomic.swap;
    } else {
        wqe->remote_address = wr->wr.rdma.remote_addr;
        wqe->rkey           = wr->wr.rdma.rkey;
        wqe->compare_add    = 0;
        wqe->swap           = 0;
    }
    if (wr->send_flags & IBV_SEND_INLINE) {
        post_fill_inline(wqe, wr);
        return;
    }
    for (i = 0; i < wr->num_sge; ++i) {
        /* Entries without bytes need no key */
        if (wr->sg_list[i].length > 0) {
            wqe->sge[wqe->num_sge++] = wr->sg_list[i];
        }
    }
}

/* With sq_lock held. @return 0, or an errno value and the request that was wrong. */
static int post_list(sh_qp_t *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
    int error = 0;

    for (; wr != NULL; wr = wr->next) {
        error = post_check(qp, wr);
        if (!error &&
            (qp->sq.tail - __atomic_load_n(&qp->sq.released, __ATOMIC_ACQUIRE) >=
             qp->sq.max_wr)) {
            error = ENOMEM;
        }
        if (error) {
            *bad_wr = wr;
            break;
        }
        post_fill(qp, sh_sq_at(&qp->sq, qp->sq.tail), wr);
        ++qp->sq.tail;
        post_count(wr->opcode);
    }
    return error;
}

static int post_send(sh_qp_t *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
    struct ibv_qp *super = &qp->super;
    int error            = EINVAL;

    pthread_mutex_lock(&qp->sq_lock);
    if (super->state >= IBV_QPS_RTS) {
        error = post_list(qp, wr, bad_wr);
        if ((super->state == IBV_QPS_ERR) || (super->state == IBV_QPS_SQE)) {
            sh_sq_flush(qp);
        } else {
            sh_sq_progress(qp);
        }
    } else {
        *bad_wr = wr;
    }
    pthread_mutex_unlock(&qp->sq_lock);
    sh_fabric_wake();
    return error;
}

int sh_post_send(struct ibv_qp *super, struct ibv_send_wr *wr,
                 struct ibv_send_wr **bad_wr)
{
    sh_qp_t *qp = (sh_qp_t *)(void *)super;
    uint64_t before;
    int error;

    if (!sh_context_valid(super->context)) {
        *bad_wr = wr;
        return EIO;
    }
    sh_count(post_send, 1);
    if (super->qp_type != IBV_QPT_UD) {
        return post_send(qp, wr, bad_wr);
    }
    /* Datagrams are copied here, which takes its time */
    before = sh_agent_enter();
    error  = post_send(qp, wr, bad_wr);
    sh_agent_meanwhile();
    sh_agent_leave(before);
    return error;
}

/* In the error state all receives come back at once. With rq.lock held. */
static void post_flush_recv(sh_qp_t *qp)
{
    struct ibv_wc wc = {0};

    wc.status = IBV_WC_WR_FLUSH_ERR;
    wc.opcode = IBV_WC_RECV;
    wc.qp_num = qp->super.qp_num;
    while (qp->rq.head < qp->rq.tail) {
        wc.wr_id = sh_rq_at(&qp->rq, qp->rq.head++)->wr_id;
        sh_cq_push((sh_cq_t *)(void *)qp->super.recv_cq, qp, &wc, 0, 1);
    }
}

int sh_post_recv(struct ibv_qp *super, struct ibv_recv_wr *wr,
                 struct ibv_recv_wr **bad_wr)
{
    sh_qp_t *qp = (sh_qp_t *)(void *)super;
    int error   = EINVAL;

    sh_count(post_recv, 1);
    pthread_mutex_lock(&qp->rq.lock);
    if ((super->state == IBV_QPS_RESET) || (super->srq != NULL) ||
        !sh_context_valid(super->context)) {
        *bad_wr = wr;
    } else {
        error = sh_rq_post(&qp->rq, wr, bad_wr);
        if (super->state == IBV_QPS_ERR) {
            post_flush_recv(qp);
        }
    }
    pthread_mutex_unlock(&qp->rq.lock);
    return error;
}
