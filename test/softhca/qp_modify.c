/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The states of a QP and the way between them.
 */
#include "agent.h"
#include "export.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct modify_step {
    enum ibv_qp_type type;
    enum ibv_qp_state from;
    enum ibv_qp_state to;
    int required;
    int optional;
} modify_step_t;

#define MODIFY_PATH  (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define MODIFY_RIGHT (IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | MODIFY_PATH)

/* All states lead to RESET and ERR, without attributes. */
static const modify_step_t modify_steps[] = {
        {IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT,
         IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
        {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_INIT, 0,
         IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
        {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR,
         IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
         IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
        {IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS,
         IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                 IBV_QP_MAX_QP_RD_ATOMIC,
         IBV_QP_CUR_STATE | MODIFY_RIGHT},
        {IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | MODIFY_RIGHT},
        {IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
        {IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | MODIFY_RIGHT},
        {IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_SQD, 0,
         IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PKEY_INDEX |
                 MODIFY_RIGHT},
        {IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT,
         IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0},
        {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_INIT, 0,
         IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
        {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
        {IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN,
         IBV_QP_CUR_STATE | IBV_QP_QKEY},
        {IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
        {IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
        {IBV_QPT_UD, IBV_QPS_SQD, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
        {IBV_QPT_UD, IBV_QPS_SQD, IBV_QPS_SQD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
        {IBV_QPT_UD, IBV_QPS_SQE, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY}};

static int modify_check_step(const sh_qp_t *qp, enum ibv_qp_state to, int mask)
{
    const modify_step_t *step;
    size_t i;

    mask &= ~IBV_QP_STATE;
    if ((to == IBV_QPS_RESET) ||
        ((to == IBV_QPS_ERR) && (qp->super.state != IBV_QPS_RESET))) {
        return (mask != 0) ? EINVAL : 0;
    }
    for (i = 0; i < sizeof(modify_steps) / sizeof(modify_steps[0]); ++i) {
        step = &modify_steps[i];
        if ((step->type == qp->super.qp_type) && (step->from == qp->super.state) &&
            (step->to == to)) {
            return (((mask & step->required) == step->required) &&
                    !(mask & ~(step->required | step->optional))) ?
                           0 :
                           EINVAL;
        }
    }
    return EINVAL;
}

static int modify_check_address(const struct ibv_ah_attr *ah)
{
    return (ah->port_num != 1) || (sh_settings.ethernet && !ah->is_global) ||
           (!sh_settings.ethernet && !ah->is_global && (ah->dlid == 0)) ||
           (ah->is_global && (ah->grh.sgid_index != 0));
}

static int modify_check_values(const struct ibv_qp_attr *attr, int mask)
{
    if (((mask & IBV_QP_PKEY_INDEX) && (attr->pkey_index != 0)) ||
        ((mask & IBV_QP_PORT) && (attr->port_num != 1)) ||
        ((mask & IBV_QP_AV) && modify_check_address(&attr->ah_attr)) ||
        ((mask & IBV_QP_PATH_MTU) &&
         ((attr->path_mtu < IBV_MTU_256) || (attr->path_mtu > IBV_MTU_4096) ||
          (128u << attr->path_mtu > sh_settings.mtu))) ||
        ((mask & IBV_QP_TIMEOUT) && (attr->timeout > 31)) ||
        ((mask & IBV_QP_RETRY_CNT) && (attr->retry_cnt > 7)) ||
        ((mask & IBV_QP_RNR_RETRY) && (attr->rnr_retry > 7)) ||
        ((mask & IBV_QP_MIN_RNR_TIMER) && (attr->min_rnr_timer > 31)) ||
        ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && (attr->max_rd_atomic > SH_MAX_RD_ATOM)) ||
        ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) &&
         (attr->max_dest_rd_atomic > SH_MAX_RD_ATOM)) ||
        ((mask & IBV_QP_DEST_QPN) && (attr->dest_qp_num > 0xffffff))) {
        return EINVAL;
    }
    return 0;
}

static void modify_take_path(sh_qp_t *qp, const struct ibv_qp_attr *attr, int mask)
{
    if (mask & IBV_QP_AV) {
        qp->attr.ah_attr = attr->ah_attr;
    }
    if (mask & IBV_QP_PATH_MTU) {
        qp->attr.path_mtu = attr->path_mtu;
    }
    if (mask & IBV_QP_DEST_QPN) {
        qp->attr.dest_qp_num = attr->dest_qp_num;
    }
    if (mask & IBV_QP_RQ_PSN) {
        qp->epsn = sh_psn_add(attr->rq_psn, 0);
    }
    if (mask & IBV_QP_SQ_PSN) {
        qp->sq.psn = sh_psn_add(attr->sq_psn, 0);
    }
    if (mask & IBV_QP_ALT_PATH) {
        qp->attr.alt_ah_attr    = attr->alt_ah_attr;
        qp->attr.alt_pkey_index = attr->alt_pkey_index;
        qp->attr.alt_port_num   = attr->alt_port_num;
        qp->attr.alt_timeout    = attr->alt_timeout;
    }
    if (mask & IBV_QP_PATH_MIG_STATE) {
        qp->attr.path_mig_state = attr->path_mig_state;
    }
}

static void modify_take(sh_qp_t *qp, const struct ibv_qp_attr *attr, int mask)
{
    modify_take_path(qp, attr, mask);
    if (mask & IBV_QP_ACCESS_FLAGS) {
        qp->attr.qp_access_flags = attr->qp_access_flags;
    }
    if (mask & IBV_QP_PKEY_INDEX) {
        qp->attr.pkey_index = attr->pkey_index;
    }
    if (mask & IBV_QP_PORT) {
        qp->attr.port_num = attr->port_num;
    }
    if (mask & IBV_QP_QKEY) {
        qp->attr.qkey = attr->qkey;
    }
    if (mask & IBV_QP_TIMEOUT) {
        qp->attr.timeout = attr->timeout;
    }
    if (mask & IBV_QP_RETRY_CNT) {
        qp->attr.retry_cnt = attr->retry_cnt;
        qp->sq.retries     = attr->retry_cnt;
    }
    if (mask & IBV_QP_RNR_RETRY) {
        qp->attr.rnr_retry = attr->rnr_retry;
        qp->sq.rnr_retries = attr->rnr_retry;
    }
    if (mask & IBV_QP_MIN_RNR_TIMER) {
        qp->attr.min_rnr_timer = attr->min_rnr_timer;
    }
    if (mask & IBV_QP_MAX_QP_RD_ATOMIC) {
        qp->attr.max_rd_atomic = attr->max_rd_atomic;
    }
    if (mask & IBV_QP_MAX_DEST_RD_ATOMIC) {
        qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
    }
    if (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) {
        qp->attr.en_sqd_async_notify = attr->en_sqd_async_notify;
    }
}

/* As new, but for the number. */
static void modify_reset(sh_qp_t *qp)
{
    qp->super.state = IBV_QPS_RESET;
    sh_qp_end_epoch(qp);
    sh_responder_purge(qp);
    sh_agent_unattend(qp);
    free(qp->held);
    qp->held = NULL;
    sh_ud_unstage(qp);
    memset(&qp->attr, 0, sizeof(qp->attr));
    qp->sq.released = qp->sq.head = qp->sq.next = qp->sq.tail = 0;
    sh_sq_unwanted(qp);
    qp->sq.psn        = 0;
    qp->sq.rd_atomics = 0;
    qp->sq.lost       = 0;
    qp->sq.stopped    = 0;
    qp->sq.fatal      = 0;
    qp->sq.rnr_until  = 0;
    qp->sq.timer_at   = 0;
    qp->sq.check_head = 0;
    qp->rnr_sent      = 0;
    qp->established   = 0;
    pthread_mutex_lock(&qp->rq.lock);
    qp->rq.head = qp->rq.tail;
    pthread_mutex_unlock(&qp->rq.lock);
    sh_cq_purge((sh_cq_t *)(void *)qp->super.send_cq, qp);
    sh_cq_purge((sh_cq_t *)(void *)qp->super.recv_cq, qp);
}

static void modify_enter(sh_qp_t *qp, enum ibv_qp_state to)
{
    enum ibv_qp_state from = qp->super.state;

    if (to == IBV_QPS_RESET) {
        modify_reset(qp);
        return;
    }
    if (to == IBV_QPS_ERR) {
        sh_qp_error(qp, -1);
        return;
    }
    qp->super.state   = to;
    qp->attr.qp_state = to;
    if ((to == IBV_QPS_SQD) && (from == IBV_QPS_RTS)) {
        qp->attr.sq_draining = 1;
        if (qp->sq.head == qp->sq.next) {
            qp->attr.sq_draining = 0;
            if (qp->attr.en_sqd_async_notify) {
                sh_async_event(qp->super.context, IBV_EVENT_SQ_DRAINED, &qp->super);
            }
        }
    }
    sh_sq_progress(qp);
}

SH_EXPORT int ibv_modify_qp(struct ibv_qp *super, struct ibv_qp_attr *attr, int mask)
{
    sh_qp_t *qp = (sh_qp_t *)(void *)super;
    enum ibv_qp_state to;
    int error;

    if (!sh_context_valid(super->context)) {
        return EIO;
    }
    sh_control_lock();
    sh_agent_catch_up();
    pthread_mutex_lock(&qp->sq_lock);
    to    = (mask & IBV_QP_STATE) ? attr->qp_state : super->state;
    error = modify_check_step(qp, to, mask);
    if (!error && (mask & IBV_QP_CUR_STATE) && (attr->cur_qp_state != super->state)) {
        error = EINVAL;
    }
    if (!error) {
        error = modify_check_values(attr, mask);
    }
    if (!error) {
        modify_take(qp, attr, mask);
        modify_enter(qp, to);
    }
    pthread_mutex_unlock(&qp->sq_lock);
    sh_control_unlock();
    return error;
}
