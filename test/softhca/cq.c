/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A completion whose time by the link model has not come, or whose datagram the receiver has still
 * to fetch, is in the ring already and cannot be polled yet. The ring is in the order of the
 * model's times, and no completion is due before an earlier one of the same queue of its QP. Unless
 * the oldest one is due, a poll does the agent's work before it takes cq->lock. Whoever adds a
 * completion to an armed queue gives the event. If that has to come later, a call of the agent
 * gives it; such a call has the queue as its owner, where others have a QP.
 */
#include "agent.h"
#include "counters.h"
#include "export.h"
#include "fetch.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So often an event looks whether a datagram was fetched. */
#define CQ_FETCH_NS 20000

static sh_cq_t *cq_own(struct ibv_cq *cq)
{
    return (sh_cq_t *)(void *)cq;
}

/* Give the event that the program armed for. With the lock held. */
static void cq_notify(sh_cq_t *cq, int solicited)
{
    if ((cq->armed == 0) || ((cq->armed == 1) && !solicited)) {
        return;
    }
    cq->armed = 0;
    if (cq->wanted) {
        cq->wanted = 0;
        sh_agent_want(cq, 0);
    }
    if (cq->super.channel != NULL) {
        sh_channel_event((sh_channel_t *)(void *)cq->super.channel, &cq->super);
    }
}

static void cq_overrun(sh_cq_t *cq, sh_qp_t *qp)
{
    if (!cq->overrun) {
        cq->overrun = 1;
        sh_async_event(cq->super.context, IBV_EVENT_CQ_ERR, &cq->super);
    }
    if (!qp->sq.fatal) {
        qp->sq.fatal = 1;
        sh_agent_attend(qp);
    }
}

static sh_cqe_t *cq_at(const sh_cq_t *cq, uint64_t count)
{
    return &cq->ring[count & (cq->size - 1)];
}

/* The oldest one has changed. With the lock held. */
static void cq_set_first_due(sh_cq_t *cq)
{
    __atomic_store_n(&cq->first_due,
                     (cq->head == cq->tail) ? UINT64_MAX : cq_at(cq, cq->head)->due,
                     __ATOMIC_RELEASE);
}

/* Make room for one that is due at a time: behind those that are due earlier, and all of the
 * same queue. With the lock held. */
static sh_cqe_t *cq_insert(sh_cq_t *cq, const sh_qp_t *qp, int is_send, uint64_t *due)
{
    uint64_t place = cq->tail++;
    const sh_cqe_t *before;

    for (; place > cq->head; --place) {
        before = cq_at(cq, place - 1);
        if (before->due <= *due) {
            break;
        }
        if ((before->qp == qp) && ((before->sq_count > 0) == is_send)) {
            *due = before->due;
            break;
        }
        *cq_at(cq, place) = *before;
    }
    return cq_at(cq, place);
}

/* @return When the program may see one, as far as that is known, or 0: at this time. */
static uint64_t cq_later(sh_cqe_t *cqe, uint64_t now)
{
    if (cqe->due > now) {
        return cqe->due;
    }
    return sh_fetch_is_done(&cqe->fetch, now) ? 0 : now + CQ_FETCH_NS;
}

static void cq_call(void *data, int dropped);

/* Look again then, unless that is to happen before anyway. With the lock held. */
static void cq_call_at(sh_cq_t *cq, uint64_t later, uint64_t now)
{
    if ((cq->call_at > now) && (cq->call_at <= later)) {
        return;
    }
    cq->call_at = later;
    if (sh_agent_at(later, cq_call, cq, (const sh_qp_t *)(void *)cq)) {
        cq->call_at = 0;
    }
}

/* Give the event that the program armed for, for what is due, and see to those that are later.
 * With the lock held. */
static void cq_notify_due(sh_cq_t *cq)
{
    uint64_t now = sh_now();
    uint64_t i, later;

    for (i = sh_max(cq->head, cq->armed_from); (i < cq->tail) && (cq->armed != 0); ++i) {
        later = cq_later(cq_at(cq, i), now);
        if (later != 0) {
            cq_call_at(cq, later, now);
            break;
        }
        cq_notify(cq, cq_at(cq, i)->solicited);
    }
}

static void cq_call(void *data, int dropped)
{
    sh_cq_t *cq = data;

    if (!dropped) {
        pthread_mutex_lock(&cq->lock);
        cq->call_at = 0;
        cq_notify_due(cq);
        pthread_mutex_unlock(&cq->lock);
    }
}

int sh_cq_add(sh_cq_t *cq, sh_qp_t *qp, const struct ibv_wc *wc, uint64_t sq_count,
              int solicited, uint64_t due)
{
    sh_cqe_t *cqe;

    if (cq->tail - cq->head >= (uint64_t)cq->super.cqe) {
        cq_overrun(cq, qp);
        return -1;
    }
    cqe            = cq_insert(cq, qp, sq_count > 0, &due);
    cqe->wc        = *wc;
    cqe->qp        = qp;
    cqe->sq_count  = sq_count;
    cqe->due       = due;
    cqe->solicited = solicited || (wc->status != IBV_WC_SUCCESS);
    cqe->fetch     = (sq_count > 0) ? qp->fetch : (sh_fetch_t){0};
    sh_count(completions, 1);
    cq_set_first_due(cq);
    if (cq->armed && ((due != 0) || (cqe->fetch.generation != 0))) {
        cq_notify_due(cq);
    } else {
        cq_notify(cq, cqe->solicited);
    }
    return 0;
}

int sh_cq_push_at(sh_cq_t *cq, sh_qp_t *qp, const struct ibv_wc *wc, uint64_t sq_count,
                  int solicited, uint64_t due)
{
    int result;

    pthread_mutex_lock(&cq->lock);
    result = sh_cq_add(cq, qp, wc, sq_count, solicited, due);
    pthread_mutex_unlock(&cq->lock);
    return result;
}

int sh_cq_push(sh_cq_t *cq, sh_qp_t *qp, const struct ibv_wc *wc, uint64_t sq_count,
               int solicited)
{
    return sh_cq_push_at(cq, qp, wc, sq_count, solicited, 0);
}

void sh_cq_purge(sh_cq_t *cq, const sh_qp_t *qp)
{
    uint64_t from, to;
    sh_cqe_t *cqe;

    pthread_mutex_lock(&cq->lock);
    for (from = to = cq->head; from < cq->tail; ++from) {
        cqe = &cq->ring[from & (cq->size - 1)];
        if ((cqe->qp == qp) && sh_settings.like_rxe) {
            cqe->qp       = NULL;
            cqe->sq_count = 0;
        }
        if (cqe->qp != qp) {
            cq->ring[to++ & (cq->size - 1)] = *cqe;
        }
    }
    cq->tail = to;
    cq_set_first_due(cq);
    pthread_mutex_unlock(&cq->lock);
}

/* Take the oldest completion if it is due, with the lock held. @return 0, or -1. */
static int cq_pop(sh_cq_t *cq, sh_cqe_t *cqe, uint64_t now)
{
    if ((cq->head == cq->tail) || (cq_later(cq_at(cq, cq->head), now) != 0)) {
        return -1;
    }
    *cqe = *cq_at(cq, cq->head++);
    cq_set_first_due(cq);
    if (cqe->sq_count > 0) {
        /* It and all before it have left the send queue */
        __atomic_store_n(&cqe->qp->sq.released, cqe->sq_count, __ATOMIC_RELEASE);
    }
    return 0;
}

static int cq_is_ready(const sh_cq_t *cq, uint64_t now)
{
    return __atomic_load_n(&cq->first_due, __ATOMIC_ACQUIRE) <= now;
}

/* A thread that polls does what the agent would have to be woken for. What is complete
 * comes first. @return The time. */
static uint64_t cq_help(const sh_cq_t *cq)
{
    uint64_t now = sh_now();

    sh_agent_polled(now);
    if (!cq_is_ready(cq, now)) {
        sh_agent_help(now);
    }
    return now;
}

static int cq_poll(struct ibv_cq *super, int max, struct ibv_wc *wc)
{
    sh_cq_t *cq = cq_own(super);
    uint64_t now;
    sh_cqe_t cqe;
    int count;

    sh_count(polls, 1);
    if (!sh_context_valid(super->context)) {
        return 0;
    }
    now = cq_help(cq);
    if (!cq_is_ready(cq, now)) {
        return 0;
    }
    pthread_mutex_lock(&cq->lock);
    for (count = 0; (count < max) && !cq_pop(cq, &cqe, now); ++count) {
        wc[count] = cqe.wc;
    }
    pthread_mutex_unlock(&cq->lock);
    if (count == 0) {
        /* The oldest one is not fetched yet: nor have we */
        sh_agent_help(now);
    }
    return count;
}

/* @return The position of the first completion that cannot be polled yet. */
static uint64_t cq_first_later(const sh_cq_t *cq)
{
    uint64_t now = sh_now();
    uint64_t i;

    for (i = cq->head; (i < cq->tail) && (cq_later(cq_at(cq, i), now) == 0); ++i) {}
    return i;
}

/* The specification has an event for later completions only, and so has rxe. Other adapters give
 * one for what has not been polled, too, and programs depend on it: UCX does not poll again after
 * arming. */
static int cq_req_notify(struct ibv_cq *super, int solicited_only)
{
    sh_cq_t *cq = cq_own(super);
    int armed   = solicited_only ? 1 : 2;
    int wants   = 0;

    if (!sh_context_valid(super->context)) {
        return 0; /* nothing comes; and see cq_ex_start() */
    }
    pthread_mutex_lock(&cq->lock);
    if (!cq->wanted) {
        cq->wanted = wants = 1;
    }
    cq->armed      = sh_max(cq->armed, armed);
    cq->armed_from = sh_settings.like_rxe ? cq_first_later(cq) : cq->head;
    cq_notify_due(cq);
    pthread_mutex_unlock(&cq->lock);
    /* Not with the lock: the agent may need it at once. The event may have come by now. */
    if (wants) {
        sh_agent_want(cq, 1);
    }
    sh_agent_alone();
    return 0;
}

void sh_cq_set_ops(struct ibv_context_ops *ops)
{
    ops->poll_cq       = cq_poll;
    ops->req_notify_cq = cq_req_notify;
}

static uint32_t cq_size(int cqe)
{
    return sh_roundup_pow2((uint32_t)cqe + 1);
}

static sh_cq_t *cq_create(struct ibv_context *context, int cqe, void *cq_context,
                          struct ibv_comp_channel *channel, int comp_vector)
{
    static unsigned count;
    sh_cq_t *cq;

    if ((cqe < 1) || (cqe > SH_MAX_CQE) || (comp_vector < 0) ||
        (comp_vector >= context->num_comp_vectors)) {
        errno = EINVAL;
        return NULL;
    }
    cq = calloc(1, sizeof(*cq));
    if (cq == NULL) {
        return NULL;
    }
    cq->first_due = UINT64_MAX;
    cq->size      = cq_size(cqe);
    cq->ring      = calloc(cq->size, sizeof(*cq->ring));
    if (cq->ring == NULL) {
        free(cq);
        errno = ENOMEM;
        return NULL;
    }
    cq->want             = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % SH_WANTS;
    cq->super.context    = context;
    cq->super.channel    = channel;
    cq->super.cq_context = cq_context;
    cq->super.cqe        = (int)cq->size - 1;
    sh_mutex_init(&cq->lock);
    pthread_mutex_init(&cq->super.mutex, NULL);
    pthread_cond_init(&cq->super.cond, NULL);
    if (channel != NULL) {
        __atomic_fetch_add(&channel->refcnt, 1, __ATOMIC_RELAXED);
    }
    return cq;
}

SH_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe,
                                       void *cq_context, struct ibv_comp_channel *channel,
                                       int comp_vector)
{
    sh_cq_t *cq = cq_create(context, cqe, cq_context, channel, comp_vector);

    return (cq == NULL) ? NULL : &cq->super;
}

struct ibv_cq_ex *sh_create_cq_ex(struct ibv_context *context,
                                  struct ibv_cq_init_attr_ex *attr)
{
    sh_cq_t *cq;

    if (attr->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    if ((attr->comp_mask & ~(uint32_t)IBV_CQ_INIT_ATTR_MASK_FLAGS) ||
        ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
         (attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED)) ||
        (attr->cqe > SH_MAX_CQE)) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    cq = cq_create(context, (int)attr->cqe, attr->cq_context, attr->channel,
                   (int)attr->comp_vector);
    if (cq == NULL) {
        return NULL;
    }
    sh_cq_set_ex(cq);
    return &cq->ex;
}

SH_EXPORT int ibv_resize_cq(struct ibv_cq *super, int cqe)
{
    sh_cq_t *cq = cq_own(super);
    sh_cqe_t *ring;
    uint32_t size;
    uint64_t i;

    if ((cqe < 1) || (cqe > SH_MAX_CQE)) {
        return EINVAL;
    }
    size = cq_size(cqe);
    ring = calloc(size, sizeof(*ring));
    if (ring == NULL) {
        return ENOMEM;
    }
    pthread_mutex_lock(&cq->lock);
    if (cq->tail - cq->head > (uint64_t)size - 1) {
        pthread_mutex_unlock(&cq->lock);
        free(ring);
        return EINVAL;
    }
    for (i = cq->head; i < cq->tail; ++i) {
        ring[i & (size - 1)] = cq->ring[i & (cq->size - 1)];
    }
    free(cq->ring);
    cq->ring   = ring;
    cq->size   = size;
    super->cqe = (int)size - 1;
    pthread_mutex_unlock(&cq->lock);
    return 0;
}

SH_EXPORT int ibv_destroy_cq(struct ibv_cq *super)
{
    sh_cq_t *cq = cq_own(super);

    if (sh_context_valid(super->context)) {
        if (__atomic_load_n(&cq->users, __ATOMIC_RELAXED) != 0) {
            return EBUSY;
        }
        if (cq->wanted) {
            sh_agent_want(cq, 0);
        }
        sh_control_lock();
        sh_agent_drop((const sh_qp_t *)(void *)cq);
        sh_control_unlock();
        if (super->channel != NULL) {
            sh_channel_remove((sh_channel_t *)(void *)super->channel, cq);
        }
        sh_async_remove(super->context, super, &super->mutex, &super->cond,
                        &cq->async_events, &super->async_events_completed);
    }
    if (super->channel != NULL) {
        __atomic_fetch_sub(&super->channel->refcnt, 1, __ATOMIC_RELAXED);
    }
    free(cq->ring);
    free(cq);
    return 0;
}

/*
 * The extended way to poll. The lock is held from the start of a successful poll to its
 * end.
 */
static sh_cq_t *cq_own_ex(struct ibv_cq_ex *cq)
{
    return (sh_cq_t *)(void *)cq;
}

static int cq_ex_take(sh_cq_t *cq)
{
    if (cq_pop(cq, &cq->current, sh_now())) {
        return ENOENT;
    }
    cq->ex.status = cq->current.wc.status;
    cq->ex.wr_id  = cq->current.wc.wr_id;
    return 0;
}

static int cq_ex_start(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
    sh_cq_t *cq = cq_own_ex(ex);
    uint64_t now;
    int error;

    if (attr->comp_mask != 0) {
        return EINVAL;
    }
    sh_count(polls, 1);
    if (!sh_context_valid(cq->super.context)) {
        return ENOENT; /* a thread of the parent may have had the lock */
    }
    now = cq_help(cq);
    pthread_mutex_lock(&cq->lock);
    error = cq_ex_take(cq);
    if (error) {
        pthread_mutex_unlock(&cq->lock);
        if (cq_is_ready(cq, now)) {
            sh_agent_help(now);
        }
    }
    return error;
}

static int cq_ex_next(struct ibv_cq_ex *ex)
{
    return cq_ex_take(cq_own_ex(ex));
}

static void cq_ex_end(struct ibv_cq_ex *ex)
{
    pthread_mutex_unlock(&cq_own_ex(ex)->lock);
}

static enum ibv_wc_opcode cq_ex_opcode(struct ibv_cq_ex *ex)
{
    return cq_own_ex(ex)->current.wc.opcode;
}

static uint32_t cq_ex_vendor_err(struct ibv_cq_ex *ex)
{
    return cq_own_ex(ex)->current.wc.vendor_err;
}

static uint32_t cq_ex_byte_len(struct ibv_cq_ex *ex)
{
    return cq_own_ex(ex)->current.wc.byte_len;
}

static __be32 cq_ex_imm_data(struct ibv_cq_ex *ex)
{
    return cq_own_ex(ex)->current.wc.imm_data;
}

static uint32_t cq_ex_qp_num(struct ibv_cq_ex *ex)
{
    return cq_own_ex(ex)->current.wc.qp_num;
}

static uint32_t cq_ex_src_qp(struct ibv_cq_ex *ex)
{
    return cq_own_ex(ex)->current.wc.src_qp;
}

static unsigned int cq_ex_wc_flags(struct ibv_cq_ex *ex)
{
    return cq_own_ex(ex)->current.wc.wc_flags;
}

static uint32_t cq_ex_slid(struct ibv_cq_ex *ex)
{
    return cq_own_ex(ex)->current.wc.slid;
}

static uint8_t cq_ex_sl(struct ibv_cq_ex *ex)
{
    return cq_own_ex(ex)->current.wc.sl;
}

static uint8_t cq_ex_path_bits(struct ibv_cq_ex *ex)
{
    return cq_own_ex(ex)->current.wc.dlid_path_bits;
}

void sh_cq_set_ex(sh_cq_t *cq)
{
    cq->ex.start_poll          = cq_ex_start;
    cq->ex.next_poll           = cq_ex_next;
    cq->ex.end_poll            = cq_ex_end;
    cq->ex.read_opcode         = cq_ex_opcode;
    cq->ex.read_vendor_err     = cq_ex_vendor_err;
    cq->ex.read_byte_len       = cq_ex_byte_len;
    cq->ex.read_imm_data       = cq_ex_imm_data;
    cq->ex.read_qp_num         = cq_ex_qp_num;
    cq->ex.read_src_qp         = cq_ex_src_qp;
    cq->ex.read_wc_flags       = cq_ex_wc_flags;
    cq->ex.read_slid           = cq_ex_slid;
    cq->ex.read_sl             = cq_ex_sl;
    cq->ex.read_dlid_path_bits = cq_ex_path_bits;
}
