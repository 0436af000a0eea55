/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How a QP is made and destroyed, and how it gets into the error state; other steps are in
 * qp_modify.c. Indices are given in turn, so that a number comes back late. sh_qp_end_epoch() makes
 * older requests void by the guard in the segment, and waits for a responder that is copying,
 * unless that one's process has died. To destroy a QP, sh_proc.lock and sq_lock are held. Its
 * completions and events are removed when both are free again, as the program may first have to
 * acknowledge events.
 */
#include "agent.h"
#include "counters.h"
#include "export.h"
#include "fabric.h"
#include "faults.h"
#include "fetch.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Numbers 0 and 1 are the subnet management's. */
#define QP_FIRST 2

/* How often an epoch's end is tried before the peer's life is doubted, and how long until
 * it does not matter any more. */
#define QP_GUARD_TRIES 1000
#define QP_GUARD_LIMIT 1000000

static sh_qp_t *qp_own(struct ibv_qp *qp)
{
    return (sh_qp_t *)(void *)qp;
}

sh_qp_t *sh_qp_find(uint32_t qpn)
{
    uint32_t index = sh_qpn_index(qpn);

    if ((sh_qpn_slot(qpn) != sh_fabric_slot()) || (index >= SH_MAX_QPS)) {
        return NULL;
    }
    return sh_proc.qps[index];
}

static int qp_check_caps(const struct ibv_qp_init_attr *attr)
{
    const struct ibv_qp_cap *cap = &attr->cap;

    return (attr->send_cq == NULL) || (attr->recv_cq == NULL) ||
           ((attr->qp_type != IBV_QPT_RC) && (attr->qp_type != IBV_QPT_UD)) ||
           (cap->max_send_wr > SH_MAX_WR) || (cap->max_recv_wr > SH_MAX_WR) ||
           (cap->max_send_sge > SH_MAX_SGE) || (cap->max_recv_sge > SH_MAX_SGE) ||
           (cap->max_inline_data > SH_MAX_INLINE);
}

/* Work requests have sizes; so more is granted than was asked for, as devices do. */
static void qp_grant(struct ibv_qp_init_attr *attr)
{
    static const uint32_t inline_sizes[] = {0, 28, 60, 124, SH_MAX_INLINE};
    struct ibv_qp_cap *cap               = &attr->cap;
    unsigned i                           = 0;

    cap->max_send_wr = sh_roundup_pow2(sh_max(cap->max_send_wr, 1u));
    while (inline_sizes[i] < cap->max_inline_data) {
        ++i;
    }
    cap->max_inline_data = inline_sizes[i];
    cap->max_send_sge    = sh_max(cap->max_send_sge, 1u);
    if (attr->srq != NULL) {
        cap->max_recv_wr  = 0;
        cap->max_recv_sge = 0;
    } else {
        cap->max_recv_wr = sh_roundup_pow2(sh_max(cap->max_recv_wr, 1u));
    }
}

static int qp_init_queues(sh_qp_t *qp)
{
    const struct ibv_qp_cap *cap = &qp->init.cap;

    qp->sq.size       = cap->max_send_wr;
    qp->sq.max_wr     = cap->max_send_wr;
    qp->sq.max_sge    = cap->max_send_sge;
    qp->sq.max_inline = cap->max_inline_data;
    qp->sq.ring       = malloc(qp->sq.size * sizeof(*qp->sq.ring));
    if (qp->sq.ring == NULL) {
        return ENOMEM;
    }
    if (sh_rq_init(&qp->rq, cap->max_recv_wr, cap->max_recv_sge)) {
        free(qp->sq.ring);
        return ENOMEM;
    }
    return 0;
}

/* Give the QP a number. With sh_proc.lock held. */
static int qp_insert(sh_qp_t *qp)
{
    uint32_t i, index;

    for (i = 0; i < SH_MAX_QPS; ++i) {
        index = (sh_proc.next_qp + i) % SH_MAX_QPS;
        if ((index >= QP_FIRST) && (sh_proc.qps[index] == NULL)) {
            break;
        }
    }
    if (i == SH_MAX_QPS) {
        return ENOMEM;
    }
    sh_proc.next_qp    = index + 1;
    sh_proc.qps[index] = qp;
    qp->super.qp_num   = sh_qpn(sh_fabric_slot(), index);
    qp->super.handle   = index;
    qp->sq.epoch       = sh_fabric_inbox()->guards[index] / 2;
    qp->uid            = sh_proc.next_uid++;
    sh_faults_init(qp, qp->uid);
    return 0;
}

static void qp_free(sh_qp_t *qp)
{
    free(qp->held);
    free(qp->stage);
    free(qp->sq.ring);
    sh_rq_cleanup(&qp->rq);
    free(qp);
}

static void qp_use(sh_qp_t *qp, unsigned difference)
{
    __atomic_fetch_add(&((sh_pd_t *)(void *)qp->super.pd)->users, difference,
                       __ATOMIC_RELAXED);
    __atomic_fetch_add(&((sh_cq_t *)(void *)qp->super.send_cq)->users, difference,
                       __ATOMIC_RELAXED);
    __atomic_fetch_add(&((sh_cq_t *)(void *)qp->super.recv_cq)->users, difference,
                       __ATOMIC_RELAXED);
    if (qp->super.srq != NULL) {
        __atomic_fetch_add(&((sh_srq_t *)(void *)qp->super.srq)->users, difference,
                           __ATOMIC_RELAXED);
    }
}

static void qp_init_super(sh_qp_t *qp, struct ibv_pd *pd,
                          const struct ibv_qp_init_attr *attr)
{
    qp->super.context    = pd->context;
    qp->super.qp_context = attr->qp_context;
    qp->super.pd         = pd;
    qp->super.send_cq    = attr->send_cq;
    qp->super.recv_cq    = attr->recv_cq;
    qp->super.srq        = attr->srq;
    qp->super.qp_type    = attr->qp_type;
    qp->super.state      = IBV_QPS_RESET;
    qp->answers_end      = &qp->answers;
    qp->requests_end     = &qp->requests;
    pthread_mutex_init(&qp->super.mutex, NULL);
    pthread_cond_init(&qp->super.cond, NULL);
    sh_mutex_init(&qp->sq_lock);
}

SH_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    sh_qp_t *qp;
    int error;

    if (qp_check_caps(attr)) {
        errno = EINVAL;
        return NULL;
    }
    if (!sh_context_valid(pd->context)) {
        errno = EIO;
        return NULL;
    }
    qp = calloc(1, sizeof(*qp));
    if (qp == NULL) {
        return NULL;
    }
    qp_grant(attr);
    qp->init = *attr;
    error    = qp_init_queues(qp);
    if (error) {
        free(qp);
        errno = error;
        return NULL;
    }
    qp_init_super(qp, pd, attr);
    sh_control_lock();
    error = qp_insert(qp);
    sh_control_unlock();
    if (error) {
        qp_free(qp);
        errno = error;
        return NULL;
    }
    qp_use(qp, 1);
    return &qp->super;
}

struct ibv_qp *sh_create_qp_ex(struct ibv_context *context,
                               struct ibv_qp_init_attr_ex *attr)
{
    /* What the program cannot do without is refused, so that it does without */
    if ((attr->comp_mask &
         ~(uint32_t)(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS)) ||
        !(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || (attr->pd->context != context) ||
        ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
         (attr->create_flags != 0))) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    /* The short structure is the beginning of the long one */
    return ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *)(void *)attr);
}

void sh_qp_end_epoch(sh_qp_t *qp)
{
    uint32_t *guard = &sh_fabric_inbox()->guards[sh_qpn_index(qp->super.qp_num)];
    uint32_t epoch  = (qp->sq.epoch + 1) & 0x7fffffff;
    uint32_t open;
    unsigned tries;

    for (tries = 1;; ++tries) {
        open = qp->sq.epoch * 2;
        if (__atomic_compare_exchange_n(guard, &open, epoch * 2, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            break;
        }
        /* A responder copies at this moment. Its process may have been killed over it. */
        if ((open != qp->sq.epoch * 2 + 1) || (tries > QP_GUARD_LIMIT) ||
            (((tries % QP_GUARD_TRIES) == 0) &&
             !sh_fabric_alive(sh_qpn_slot(qp->attr.dest_qp_num),
                              qp->sq.peer_generation))) {
            __atomic_store_n(guard, epoch * 2, __ATOMIC_RELEASE);
            break;
        }
        sh_sleep_ns(2000);
    }
    sh_fetch_end(&qp->fetch);
    qp->sq.epoch = epoch;
}

static void qp_flush_rq(sh_qp_t *qp)
{
    sh_cq_t *cq      = (sh_cq_t *)(void *)qp->super.recv_cq;
    struct ibv_wc wc = {0};
    sh_recv_wqe_t *wqe;
    int again;

    if (qp->super.srq != NULL) {
        sh_async_event(qp->super.context, IBV_EVENT_QP_LAST_WQE_REACHED, &qp->super);
        return;
    }
    wc.status = IBV_WC_WR_FLUSH_ERR;
    wc.opcode = IBV_WC_RECV;
    wc.qp_num = qp->super.qp_num;
    pthread_mutex_lock(&qp->rq.lock);
    /* With rxe some may come back twice, but its queues have more room, too */
    again = sh_settings.like_rxe &&
            (cq->tail - cq->head + qp->rq.tail - qp->rq.head < (uint64_t)cq->super.cqe);
    while (qp->rq.head < qp->rq.tail) {
        wqe      = sh_rq_at(&qp->rq, qp->rq.head);
        wc.wr_id = wqe->wr_id;
        sh_cq_push(cq, qp, &wc, 0, 1);
        qp->rq.head += !again;
        again = 0;
    }
    pthread_mutex_unlock(&qp->rq.lock);
}

void sh_qp_error(sh_qp_t *qp, int event)
{
    if (qp->super.state == IBV_QPS_ERR) {
        return;
    }
    qp->super.state   = IBV_QPS_ERR;
    qp->attr.qp_state = IBV_QPS_ERR;
    sh_qp_end_epoch(qp);
    sh_responder_purge(qp);
    qp->sq.timer_at = 0;
    if (event >= 0) {
        sh_async_event(qp->super.context, (enum ibv_event_type)event, &qp->super);
    }
    sh_sq_flush(qp);
    qp_flush_rq(qp);
}

SH_EXPORT int ibv_destroy_qp(struct ibv_qp *super)
{
    sh_qp_t *qp = qp_own(super);

    if (sh_context_valid(super->context)) {
        sh_control_lock();
        sh_agent_catch_up();
        pthread_mutex_lock(&qp->sq_lock);
        super->state = IBV_QPS_RESET;
        sh_qp_end_epoch(qp);
        sh_responder_purge(qp);
        sh_agent_unattend(qp);
        sh_sq_unwanted(qp);
        sh_proc.qps[sh_qpn_index(super->qp_num)] = NULL;
        pthread_mutex_unlock(&qp->sq_lock);
        sh_control_unlock();
        sh_cq_purge((sh_cq_t *)(void *)super->send_cq, qp);
        sh_cq_purge((sh_cq_t *)(void *)super->recv_cq, qp);
        sh_async_remove(super->context, super, &super->mutex, &super->cond,
                        &qp->async_events, &super->events_completed);
        qp_use(qp, -1u);
    }
    qp_free(qp);
    return 0;
}

SH_EXPORT int ibv_query_qp(struct ibv_qp *super, struct ibv_qp_attr *attr, int mask,
                           struct ibv_qp_init_attr *init)
{
    sh_qp_t *qp = qp_own(super);

    (void)mask; /* all of it is had for the same price */
    pthread_mutex_lock(&qp->sq_lock);
    *attr              = qp->attr;
    attr->qp_state     = super->state;
    attr->cur_qp_state = super->state;
    attr->cap          = qp->init.cap;
    attr->sq_psn       = qp->sq.psn;
    attr->rq_psn       = qp->epsn;
    *init              = qp->init;
    pthread_mutex_unlock(&qp->sq_lock);
    return 0;
}

SH_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    (void)qp;
    return NULL;
}

SH_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op,
                                         uint32_t flags)
{
    (void)qp;
    (void)op;
    (void)flags;
    return 0;
}
