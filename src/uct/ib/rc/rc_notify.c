/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives are posted for writes with an immediate, for as long as somebody listens. A notification
 * that comes before the end of its way is kept until it is taken.
 */
#include "rc_notify.h"

#if HAVE_VERBS

#include "../device/events.h"
#include "../device/plane_common.h"
#include "../../../ucs/settings.h"
#include "../../../ucs/log.h"
#include "../../../ucs/clock.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* Number of ways for whose completions there are places, at most, of some 2.5 KB each: they are
 * made at once, and a limit of ways that is larger than any job costs no more. */
#define NOTIFY_MAX_WAYS 4096

#define NOTIFY_POLL_BATCH 16

/* Flushing takes no time; a device that is at fault must not hang the process. Once it has taken
 * that long the next queue pairs are given less. Seconds. */
#define NOTIFY_STOP_TIMEOUT 1.0
#define NOTIFY_SLOW_TIMEOUT 0.01

/* A completion queue with *capacity places, or half as many and so on. Ways that there is no room
 * for have no notifications. */
static struct ibv_cq *notify_create_cq(ri_rc_plane_t *plane, unsigned *capacity)
{
    struct ibv_cq *cq;

    for (;;) {
        cq = ri_verbs.create_cq(plane->ib.device->context, *capacity, NULL, NULL, 0);
        if ((cq != NULL) || (*capacity / 2 < RI_RC_NOTIFY_RECEIVES)) {
            return cq;
        }
        *capacity /= 2;
    }
}

ucs_status_t ri_rc_notify_listen(ri_rc_plane_t *plane, ri_plane_notified_func_t func)
{
    unsigned ways     = ri_max(ri_min(ri_config.rc_max_peers, NOTIFY_MAX_WAYS), 1u);
    unsigned capacity = ri_min(plane->ib.device->max_cqe, ways * RI_RC_NOTIFY_RECEIVES);
    int error;

    plane->recv_cq = notify_create_cq(plane, &capacity);
    if (plane->recv_cq == NULL) {
        error = errno;
        ri_warn("no receive is offered by verbs: no completion queue of %u: %s%s",
                capacity, strerror(error), ri_ib_plane_cq_hint(error, capacity));
        return UCS_ERR_UNSUPPORTED;
    }
    plane->recv_capacity = capacity;
    plane->notified      = func;
    return UCS_OK;
}

void ri_rc_notify_cleanup(ri_rc_plane_t *plane)
{
    if (plane->recv_cq != NULL) {
        ri_ib_events_end_cq(plane->ib.device, plane->recv_cq);
    }
}

unsigned ri_rc_notify_receives(const ri_rc_plane_t *plane)
{
    int has = (plane->recv_cq != NULL) &&
              (RI_RC_NOTIFY_RECEIVES <= plane->ib.device->max_wr) &&
              (plane->recv_used + RI_RC_NOTIFY_RECEIVES <= plane->recv_capacity);

    return has ? RI_RC_NOTIFY_RECEIVES : 1; /* not all drivers like none at all */
}

static int notify_post(ri_rc_plane_t *plane, ri_rc_ep_t *ep, unsigned count)
{
    struct ibv_recv_wr wrs[RI_RC_NOTIFY_RECEIVES];
    struct ibv_recv_wr *bad = NULL;
    unsigned i;
    int ret;

    memset(wrs, 0, count * sizeof(wrs[0]));
    for (i = 0; i < count; ++i) {
        wrs[i].wr_id = ep->id;
        wrs[i].next  = (i + 1 < count) ? &wrs[i + 1] : NULL;
    }
    ret = ibv_post_recv(ep->qp, wrs, &bad);
    if (ri_unlikely(ret != 0)) {
        ri_info("no notifications by verbs: posting a receive failed: %s", strerror(ret));
        count = (bad != NULL) ? (unsigned)(bad - wrs) : 0;
    }
    ep->receives += count;
    plane->recv_used += count;
    return ret;
}

/* A way has no receives. */
static void notify_tell_short(ri_rc_plane_t *plane)
{
    if ((plane->recv_cq == NULL) || plane->recv_is_short_told) {
        return;
    }
    plane->recv_is_short_told = 1;
    ri_info("no receives are offered by verbs to some peers: a queue pair takes %u, the "
            "device allows %u, and %u of %u places for completions are in use",
            RI_RC_NOTIFY_RECEIVES, plane->ib.device->max_wr, plane->recv_used,
            plane->recv_capacity);
}

void ri_rc_notify_start(ri_rc_plane_t *plane, ri_rc_ep_t *ep)
{
    ep->super.notifications = 0;
    if (ri_rc_notify_receives(plane) != RI_RC_NOTIFY_RECEIVES) {
        notify_tell_short(plane);
    } else if (notify_post(plane, ep, RI_RC_NOTIFY_RECEIVES) == 0) {
        ep->super.notifications = RI_RC_NOTIFY_DEPTH;
    }
}

/* A receive has ended. @return Whether its way has to end, too. */
static int notify_completed(ri_rc_plane_t *plane, const struct ibv_wc *wc, ri_rc_ep_t *ep)
{
    --ep->receives;
    --plane->recv_used;
    if (ri_unlikely(wc->status != IBV_WC_SUCCESS)) {
        return 1;
    }
    if ((wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) && (ep->super.user != NULL)) {
        plane->notified(&ep->super, be32toh(wc->imm_data), wc->byte_len);
    }
    return (ep->state != RI_RC_FAILED) && !plane->ib.is_broken &&
           (ep->receives <= RI_RC_NOTIFY_DEPTH) &&
           (notify_post(plane, ep, RI_RC_NOTIFY_RECEIVES - ep->receives) != 0);
}

/* The end of a way polls, too, and may find others that are to end. There may be thousands, so they
 * have their turn in progress. */
static void notify_note_failed(ri_rc_plane_t *plane, ri_rc_ep_t *ep)
{
    if ((ep->state == RI_RC_CONNECTED) && ucs_list_is_empty(&ep->failing)) {
        ucs_list_add_tail(&plane->failing, &ep->failing);
    }
}

/* @return Number of completions, or negative: the queue cannot be read. */
static int notify_poll(ri_rc_plane_t *plane)
{
    struct ibv_wc wcs[NOTIFY_POLL_BATCH];
    int count = ibv_poll_cq(plane->recv_cq, NOTIFY_POLL_BATCH, wcs);
    ri_rc_ep_t *ep;
    int i;

    for (i = 0; i < count; ++i) {
        ep = ri_id_get(&plane->ib.ids, wcs[i].wr_id);
        if ((ep != NULL) && (ep->receives > 0) && notify_completed(plane, &wcs[i], ep)) {
            notify_note_failed(plane, ep);
        }
    }
    plane->recv_is_broken |= count < 0;
    return count;
}

/* Take what has completed, and if @a is_flushed what is about to. */
static void notify_drain(ri_rc_plane_t *plane, ri_rc_ep_t *ep, int is_flushed)
{
    double limit = plane->recv_is_slow ? NOTIFY_SLOW_TIMEOUT : NOTIFY_STOP_TIMEOUT;
    double start = ri_clock_now();

    while ((ep->receives > 0) && !plane->recv_is_broken) {
        if ((notify_poll(plane) <= 0) && !is_flushed) {
            break;
        }
        if ((ep->receives > 0) && (ri_clock_now() - start > limit)) {
            plane->recv_is_slow = 1;
            break;
        }
    }
}

void ri_rc_notify_stop(ri_rc_plane_t *plane, ri_rc_ep_t *ep)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    if (ep->receives == 0) {
        return;
    }
    /* Writes that were acknowledged may be there even if the device has failed since. */
    notify_drain(plane, ep, ri_verbs.modify_qp(ep->qp, &attr, IBV_QP_STATE) == 0);
    if (ep->receives > 0) {
        /* Their places in the completion queue are not used again. */
        ri_error("a queue pair did not end in order, and its peer may have written data "
                 "that this process does not know of: the connection ends");
        ep->receives   = 0;
        ep->super.lost = 1;
        ++plane->ib.super.lost;
    }
}

int ri_rc_notify_poll(ri_rc_plane_t *plane, unsigned *count_p)
{
    int count;

    do {
        count = notify_poll(plane);
        if (ri_unlikely(count < 0)) {
            return 0;
        }
        *count_p += count;
    } while (count == NOTIFY_POLL_BATCH);
    return 1;
}

#endif
