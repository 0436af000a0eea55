/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Queue pairs are made when they are needed, up to a limit, and one that has failed is replaced
 * after a time. The oldest idle one is taken first.
 */
#include "ud_pool.h"

#if HAVE_VERBS

#include "../device/events.h"
#include "../device/footprint.h"
#include "ud_qp.h"
#include "../../../ucs/settings.h"
#include "../../../ucs/log.h"
#include "../../../ucs/clock.h"
#include "../../../ucs/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The longest pause before another queue pair is tried to be made, in seconds. */
#define POOL_BACKOFF_MAX 10.0

double ri_ud_pool_backoff = 0.1;

unsigned ri_ud_pool_depth(const ri_ib_device_t *device)
{
    unsigned depth = RI_UD_WINDOW_MIN;

    while ((2 * depth <= ri_config.ud_window) && (2 * depth <= RI_UD_WINDOW_MAX) &&
           (2 * depth <= ri_min(device->max_wr, device->max_cqe))) {
        depth *= 2;
    }
    return depth;
}

size_t ri_ud_pool_qp_bytes(const ri_ib_device_t *device, unsigned depth,
                           unsigned piece_size)
{
    size_t state = 2 * sizeof(uint32_t);

    return sizeof(ri_ud_qp_t) + depth * (RI_UD_GRH_SIZE + state) + piece_size +
           ri_ib_footprint_queues(1, 1, depth,
                                  ri_min(device->max_sge, (unsigned)RI_UD_SGE_MAX));
}

void ri_ud_pool_init(ri_ud_pool_t *pool, ri_ib_device_t *device, unsigned max,
                     unsigned depth, unsigned piece_size, uint64_t *bytes)
{
    pool->device     = device;
    pool->depth      = depth;
    pool->piece_size = piece_size;
    pool->max_sge    = ri_min(device->max_sge, (unsigned)RI_UD_SGE_MAX);
    pool->max        = max;
    pool->count      = 0;
    pool->failures   = 0;
    pool->bytes      = bytes;
    ucs_list_head_init(&pool->idle);
}

/* @param may_write  Memory may be posted that is not the pool's own. */
static void pool_destroy_qp(ri_ud_pool_t *pool, ri_ud_qp_t *qp, int may_write)
{
    if (qp->qp != NULL) {
        qp->is_left = !ri_ib_events_end_qp(pool->device, qp->qp, may_write);
        qp->qp      = NULL;
    }
}

static void pool_destroy(ri_ud_pool_t *pool, ri_ud_qp_t *qp)
{
    --pool->count;
    *pool->bytes -= qp->bytes;
    pool_destroy_qp(pool, qp, 0);
    if ((qp->cq != NULL) && !qp->is_left) {
        ri_ib_events_end_cq(pool->device, qp->cq);
    }
    ri_ud_buffer_end(&qp->fixed, !qp->is_left);
    ri_ud_buffer_end(&qp->bounce, !qp->is_left);
    free(qp->held);
    free(qp);
}

static int pool_create_verbs(ri_ud_pool_t *pool, ri_ud_qp_t *qp)
{
    struct ibv_qp_init_attr init = {
            .cap     = {.max_send_wr  = 1, /* not all drivers like none at all */
                        .max_send_sge = 1,
                        .max_recv_wr  = pool->depth,
                        .max_recv_sge = pool->max_sge},
            .qp_type = IBV_QPT_UD,
    };

    qp->cq = ri_verbs.create_cq(pool->device->context, pool->depth, NULL, NULL, 0);
    if (qp->cq == NULL) {
        return errno;
    }
    init.send_cq = qp->cq;
    init.recv_cq = qp->cq;
    qp->qp       = ri_verbs.create_qp(pool->device->pd, &init);
    return (qp->qp == NULL) ? errno :
                              ri_ud_qp_activate(pool->device, qp->qp, qp->qkey, 0);
}

static ri_ud_qp_t *pool_create(ri_ud_pool_t *pool)
{
    ri_ud_qp_t *qp = calloc(1, sizeof(*qp));
    int ret        = ENOMEM;

    if (qp == NULL) {
        return NULL;
    }
    ++pool->count;
    qp->qkey     = ri_ud_qp_random_key();
    qp->sequence = ri_random();
    qp->held     = malloc(2 * pool->depth * sizeof(*qp->held));
    if ((qp->held != NULL) &&
        (ri_ud_buffer_init(pool->device, pool->depth * RI_UD_GRH_SIZE + pool->piece_size,
                           &qp->fixed) == UCS_OK)) {
        qp->where = qp->held + pool->depth;
        ret       = pool_create_verbs(pool, qp);
    }
    if (ret != 0) {
        ri_debug("no further queue pair for datagrams: %s", strerror(ret));
        pool_destroy(pool, qp);
        return NULL;
    }
    qp->bytes = ri_ud_pool_qp_bytes(pool->device, pool->depth, pool->piece_size);
    *pool->bytes += qp->bytes;
    return qp;
}

ucs_status_t ri_ud_pool_add_bounce(ri_ud_pool_t *pool, ri_ud_qp_t *qp)
{
    size_t bytes        = (size_t)pool->depth * pool->piece_size;
    ucs_status_t status = ri_ud_buffer_init(pool->device, bytes, &qp->bounce);

    if (status == UCS_OK) {
        qp->bytes += bytes;
        *pool->bytes += bytes;
    }
    return status;
}

void ri_ud_pool_cleanup(ri_ud_pool_t *pool)
{
    while (!ucs_list_is_empty(&pool->idle)) {
        pool_destroy(pool, ucs_list_extract_head(&pool->idle, ri_ud_qp_t, list));
    }
    assert(pool->count == 0);
}

/* Whether the pool may try to make one more. With none at all nobody can wait, so it always
 * tries. */
static int pool_may_create(const ri_ud_pool_t *pool)
{
    return (pool->count < pool->max) && ((pool->failures == 0) || (pool->count == 0) ||
                                         (ri_clock_now() >= pool->retry));
}

/* A queue pair could not be made: those that there are have to do for now. Others may give back
 * what the device has run out of. */
static void pool_note_failure(ri_ud_pool_t *pool)
{
    double wait = ri_ud_pool_backoff * (1u << ri_min(pool->failures, 16u));

    ++pool->failures;
    pool->retry = ri_clock_now() + ri_min(wait, POOL_BACKOFF_MAX);
}

ri_ud_qp_t *ri_ud_pool_take(ri_ud_pool_t *pool)
{
    ri_ud_qp_t *qp;

    while (!ucs_list_is_empty(&pool->idle)) {
        qp = ucs_list_extract_head(&pool->idle, ri_ud_qp_t, list);
        if (!qp->is_dirty || ri_ud_pool_reset(pool, qp)) {
            return qp;
        }
        pool_destroy(pool, qp);
    }
    if (!pool_may_create(pool)) {
        return NULL;
    }
    qp = pool_create(pool);
    if (qp == NULL) {
        pool_note_failure(pool);
    } else {
        pool->failures = 0;
    }
    return qp;
}

void ri_ud_pool_put(ri_ud_pool_t *pool, ri_ud_qp_t *qp)
{
    if ((qp->qp == NULL) || qp->is_failed) {
        pool_destroy(pool, qp);
    } else {
        ucs_list_add_tail(&pool->idle, &qp->list);
    }
}

void ri_ud_pool_failed(ri_ud_pool_t *pool, const ri_ib_event_t *event)
{
    ri_ud_qp_t *qp, *tmp;

    ucs_list_for_each_safe(qp, tmp, &pool->idle, list) {
        qp->is_dirty |= (qp->qp->qp_num == event->qp);
        if (qp->cq == event->cq) {
            ucs_list_del(&qp->list);
            pool_destroy(pool, qp);
        }
    }
}

void ri_ud_pool_moved(ri_ud_pool_t *pool)
{
    ri_ud_qp_t *qp;

    ucs_list_for_each(qp, &pool->idle, list) {
        qp->is_dirty = 1;
    }
}

int ri_ud_pool_reset(ri_ud_pool_t *pool, ri_ud_qp_t *qp)
{
    uint32_t qkey = qp->qkey;
    struct ibv_wc wc;
    int ret, is_reset;

    if (qp->qp == NULL) {
        return 0;
    }
    while (qp->qkey == qkey) {
        qp->qkey = ri_ud_qp_random_key();
    }
    ret      = ri_ud_qp_reset(qp->qp);
    is_reset = (ret == 0);
    ++qp->use;
    qp->is_dirty = 0;
    if (!qp->is_failed) {
        /* Not all drivers forget what has ended, and there is room for one window only */
        while (ibv_poll_cq(qp->cq, 1, &wc) > 0) {}
        if (ret == 0) {
            ret = ri_ud_qp_activate(pool->device, qp->qp, qp->qkey, 0);
        }
    }
    if (ret != 0) {
        ri_info("a queue pair for datagrams cannot be reset: %s", strerror(ret));
    }
    if ((ret != 0) || qp->is_failed) {
        pool_destroy_qp(pool, qp, !is_reset);
    }
    return qp->qp != NULL;
}

#endif
