/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Receive queues and shared receive queues.
 */
#include "counters.h"
#include "export.h"
#include "objects.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More, for receives that are put back while the program posts. */
static uint32_t rq_size(uint32_t max_wr)
{
    return sh_roundup_pow2(max_wr + SH_ARRIVALS);
}

int sh_rq_init(sh_rq_t *rq, uint32_t max_wr, uint32_t max_sge)
{
    sh_mutex_init(&rq->lock);
    rq->max_wr  = max_wr;
    rq->max_sge = max_sge;
    rq->size    = rq_size(max_wr);
    rq->ring    = malloc(rq->size * sh_rq_stride(rq));
    return (rq->ring == NULL) ? ENOMEM : 0;
}

void sh_rq_cleanup(sh_rq_t *rq)
{
    free(rq->ring);
}

static void rq_copy(sh_recv_wqe_t *to, const sh_recv_wqe_t *from)
{
    memcpy(to, from, offsetof(sh_recv_wqe_t, sge) + from->num_sge * sizeof(*from->sge));
}

int sh_rq_post(sh_rq_t *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
    sh_recv_wqe_t *wqe;

    for (; wr != NULL; wr = wr->next) {
        if ((wr->num_sge < 0) || ((uint32_t)wr->num_sge > rq->max_sge)) {
            *bad_wr = wr;
            return EINVAL;
        }
        if (rq->tail - rq->head >= rq->max_wr) {
            *bad_wr = wr;
            return ENOMEM;
        }
        wqe          = sh_rq_at(rq, rq->tail);
        wqe->wr_id   = wr->wr_id;
        wqe->num_sge = (unsigned)wr->num_sge;
        if (wr->num_sge > 0) {
            memcpy(wqe->sge, wr->sg_list, wqe->num_sge * sizeof(*wqe->sge));
        }
        ++rq->tail;
        sh_count(wr_recv, 1);
    }
    return 0;
}

int sh_rq_take(sh_qp_t *qp, sh_recv_wqe_t *wqe)
{
    sh_rq_t *rq       = sh_qp_rq(qp);
    int limit_reached = 0;

    pthread_mutex_lock(&rq->lock);
    if (rq->head == rq->tail) {
        pthread_mutex_unlock(&rq->lock);
        return -1;
    }
    rq_copy(wqe, sh_rq_at(rq, rq->head++));
    if ((rq->limit > 0) && (rq->tail - rq->head < rq->limit)) {
        rq->limit     = 0;
        limit_reached = 1;
    }
    pthread_mutex_unlock(&rq->lock);
    if (limit_reached) {
        sh_async_event(qp->super.context, IBV_EVENT_SRQ_LIMIT_REACHED, qp->super.srq);
    }
    return 0;
}

void sh_rq_untake(sh_qp_t *qp, const sh_recv_wqe_t *wqe)
{
    sh_rq_t *rq = sh_qp_rq(qp);

    pthread_mutex_lock(&rq->lock);
    if ((rq->head > 0) && (rq->tail - rq->head < rq->size)) {
        rq_copy(sh_rq_at(rq, --rq->head), wqe);
    }
    pthread_mutex_unlock(&rq->lock);
}

uint64_t sh_rq_capacity(const sh_recv_wqe_t *wqe)
{
    uint64_t capacity = 0;
    unsigned i;

    for (i = 0; i < wqe->num_sge; ++i) {
        capacity += wqe->sge[i].length;
    }
    return capacity;
}

static sh_srq_t *srq_own(struct ibv_srq *srq)
{
    return (sh_srq_t *)(void *)srq;
}

int sh_post_srq_recv(struct ibv_srq *super, struct ibv_recv_wr *wr,
                     struct ibv_recv_wr **bad_wr)
{
    sh_srq_t *srq = srq_own(super);
    int error;

    sh_count(post_srq_recv, 1);
    pthread_mutex_lock(&srq->rq.lock);
    error = sh_rq_post(&srq->rq, wr, bad_wr);
    pthread_mutex_unlock(&srq->rq.lock);
    return error;
}

SH_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd,
                                         struct ibv_srq_init_attr *attr)
{
    sh_srq_t *srq;

    if ((attr->attr.max_wr < 1) || (attr->attr.max_wr > SH_MAX_WR) ||
        (attr->attr.max_sge > SH_MAX_SGE) || !sh_context_valid(pd->context)) {
        errno = EINVAL;
        return NULL;
    }
    srq = calloc(1, sizeof(*srq));
    if (srq == NULL) {
        return NULL;
    }
    attr->attr.max_wr = sh_min(sh_roundup_pow2(attr->attr.max_wr + 1) - 1,
                               (uint32_t)SH_MAX_WR);
    if (sh_rq_init(&srq->rq, attr->attr.max_wr, attr->attr.max_sge)) {
        free(srq);
        errno = ENOMEM;
        return NULL;
    }
    srq->super.context     = pd->context;
    srq->super.srq_context = attr->srq_context;
    srq->super.pd          = pd;
    pthread_mutex_init(&srq->super.mutex, NULL);
    pthread_cond_init(&srq->super.cond, NULL);
    __atomic_fetch_add(&((sh_pd_t *)(void *)pd)->users, 1, __ATOMIC_RELAXED);
    return &srq->super;
}

/* Make the queue larger or smaller. With the lock held. */
static int srq_resize(sh_rq_t *rq, uint32_t max_wr)
{
    sh_rq_t other = *rq;
    uint64_t i;

    if ((max_wr < 1) || (max_wr > SH_MAX_WR) || (rq->tail - rq->head > max_wr)) {
        return EINVAL;
    }
    other.size = rq_size(max_wr);
    other.ring = malloc(other.size * sh_rq_stride(rq));
    if (other.ring == NULL) {
        return ENOMEM;
    }
    for (i = rq->head; i < rq->tail; ++i) {
        rq_copy(sh_rq_at(&other, i), sh_rq_at(rq, i));
    }
    free(rq->ring);
    rq->ring   = other.ring;
    rq->size   = other.size;
    rq->max_wr = max_wr;
    return 0;
}

SH_EXPORT int ibv_modify_srq(struct ibv_srq *super, struct ibv_srq_attr *attr, int mask)
{
    sh_srq_t *srq = srq_own(super);
    int reached   = 0;
    int error     = 0;

    if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) {
        return EINVAL;
    }
    pthread_mutex_lock(&srq->rq.lock);
    if (mask & IBV_SRQ_MAX_WR) {
        error = srq_resize(&srq->rq, attr->max_wr);
    }
    if (!error && (mask & IBV_SRQ_LIMIT)) {
        if (attr->srq_limit > srq->rq.max_wr) {
            error = EINVAL;
        } else {
            srq->rq.limit = attr->srq_limit;
            if (srq->rq.tail - srq->rq.head < srq->rq.limit) {
                srq->rq.limit = 0;
                reached       = 1;
            }
        }
    }
    pthread_mutex_unlock(&srq->rq.lock);
    if (reached) {
        sh_async_event(super->context, IBV_EVENT_SRQ_LIMIT_REACHED, super);
    }
    return error;
}

SH_EXPORT int ibv_query_srq(struct ibv_srq *super, struct ibv_srq_attr *attr)
{
    sh_srq_t *srq = srq_own(super);

    pthread_mutex_lock(&srq->rq.lock);
    attr->max_wr    = srq->rq.max_wr;
    attr->max_sge   = srq->rq.max_sge;
    attr->srq_limit = srq->rq.limit;
    pthread_mutex_unlock(&srq->rq.lock);
    return 0;
}

SH_EXPORT int ibv_destroy_srq(struct ibv_srq *super)
{
    sh_srq_t *srq = srq_own(super);

    if (sh_context_valid(super->context)) {
        if (__atomic_load_n(&srq->users, __ATOMIC_RELAXED) != 0) {
            return EBUSY;
        }
        sh_async_remove(super->context, super, &super->mutex, &super->cond,
                        &srq->async_events, &super->events_completed);
        __atomic_fetch_sub(&((sh_pd_t *)(void *)super->pd)->users, 1, __ATOMIC_RELAXED);
    }
    sh_rq_cleanup(&srq->rq);
    free(srq);
    return 0;
}
