/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which receive gets a queue pair of the pool. While others wait, a receive that was offered and
 * not used gives its own up, and so does one whose sender does not send. (protocol-ud.md, section
 * 7)
 */
#include "ud_queue.h"

#if HAVE_VERBS

#include "ud_number.h"
#include "ud_recv.h"
#include "ud_wait.h"

#include <stdlib.h>
#include <string.h>

/* How many times at least silent senders are looked for until the time is over. */
#define QUEUE_STALL_LOOKS 16

/* Time in which this process does not call progress hardly counts: it cannot have heard
 * anything. */
static uint64_t queue_waited(ri_ud_plane_t *plane)
{
    uint64_t waited = ri_min(plane->now - plane->stall_looked,
                             plane->times.stall / QUEUE_STALL_LOOKS);

    plane->stall_looked = plane->now;
    return waited;
}

/* Take the queue pair of a receive whose sender does not call progress, and so may keep it for
 * ever, while others wait. That sender is told, and asks for another way. @return Whether there
 * was one. */
static int queue_take_stalled(ri_ud_plane_t *plane)
{
    uint64_t waited = queue_waited(plane);
    ri_ud_recv_t *recv, *worst = NULL;
    uint32_t heard;

    ucs_list_for_each(recv, &plane->active, super.list) {
        /* Of the peer, not of the transfer: that may wait for its turn behind many others. */
        heard         = recv->super.ep->heard;
        recv->stalled = (heard == recv->seen) ? recv->stalled + waited : 0;
        recv->seen    = heard;
        if ((recv->stalled >= plane->times.stall) &&
            ((worst == NULL) || (recv->stalled > worst->stalled))) {
            worst = recv;
        }
    }
    if (worst == NULL) {
        return 0;
    }
    ++plane->counters.ud_reclaimed;
    ri_ud_recv_cancel(worst, UCS_ERR_CANCELED);
    return 1;
}

/* Withdraw an offer that nobody has used. @return Whether there was one. */
static int queue_withdraw_offer(ri_ud_plane_t *plane)
{
    ri_ud_recv_t *recv, *tmp;

    ucs_list_for_each_safe(recv, tmp, &plane->active, super.list) {
        if (recv->is_offer && ri_ud_recv_withdraw(recv->super.op)) {
            ++plane->counters.ud_reclaimed;
            return 1;
        }
    }
    return 0;
}

/* No queue pair exists, and none can be made: what waits would do so for ever. */
static void queue_end_all(ri_ud_plane_t *plane)
{
    ri_ud_recv_t *recv;
    ri_ud_ep_t *ep;

    while (!ucs_list_is_empty(&plane->waiting)) {
        ep   = ucs_list_head(&plane->waiting, ri_ud_ep_t, wait_list);
        recv = ucs_list_head(&ep->waiting, ri_ud_recv_t, super.list);
        ri_ud_recv_cancel(recv, UCS_ERR_NO_RESOURCE);
    }
}

void ri_ud_queue_serve(ri_ud_plane_t *plane)
{
    ucs_status_t status;
    ri_ud_recv_t *recv;
    ri_ud_qp_t *qp;
    ri_ud_ep_t *ep;

    while (!ucs_list_is_empty(&plane->waiting)) {
        qp = ri_ud_pool_take(&plane->pool);
        if (qp == NULL) {
            if (queue_withdraw_offer(plane) || queue_take_stalled(plane)) {
                continue;
            }
            if (plane->pool.count == 0) {
                queue_end_all(plane);
            }
            break;
        }
        ep   = ucs_list_head(&plane->waiting, ri_ud_ep_t, wait_list);
        recv = ucs_list_head(&ep->waiting, ri_ud_recv_t, super.list);
        ri_ud_wait_remove(recv);
        status = ri_ud_recv_post(recv, qp);
        if (status == UCS_OK) {
            ri_ud_recv_set_state(recv, RI_UD_RECV_READY);
            ucs_list_add_tail(&plane->ready, &recv->super.list);
        } else {
            ri_ud_pool_put(&plane->pool, qp);
            ri_ud_recv_set_state(recv, RI_UD_RECV_ENDED);
            ri_ud_base_end(&recv->super, status);
        }
    }
}

static void queue_target(const ri_ud_recv_t *recv, ri_ud_target_t *target)
{
    memset(target, 0, sizeof(*target));
    target->qp         = (recv->qp->qp == NULL) ? 0 : recv->qp->qp->qp_num;
    target->qkey       = recv->qp->qkey;
    target->number     = recv->super.number;
    target->sequence   = recv->rx.sequence;
    target->granted    = recv->rx.granted;
    target->piece_size = recv->rx.piece_size;
    target->length     = recv->rx.length;
}

unsigned ri_ud_queue_tell(ri_ud_plane_t *plane)
{
    unsigned count = 0;
    ri_ud_target_t target;
    ri_ud_recv_t *recv;

    while (!ucs_list_is_empty(&plane->ready)) {
        recv = ucs_list_extract_head(&plane->ready, ri_ud_recv_t, super.list);
        ri_ud_recv_set_state(recv, RI_UD_RECV_ACTIVE);
        ucs_list_add_tail(&plane->active, &recv->super.list);
        queue_target(recv, &target);
        recv->super.op->ready(recv->super.op, &target);
        ++count;
    }
    return count;
}

static void queue_free(ri_ud_recv_t *recv)
{
    ri_ud_memory_cleanup(&recv->super.memory);
    free(recv);
}

ucs_status_t ri_ud_queue_recv(ri_plane_ep_t *super, const ri_ud_list_t *list,
                              int is_offer, ri_ud_op_t *op, ri_ud_target_t *target)
{
    ri_ud_ep_t *ep       = ri_container_of(super, ri_ud_ep_t, super);
    ri_ud_plane_t *plane = ri_ud_plane(ep);
    ri_ud_qp_t *qp       = NULL;
    ucs_status_t status;
    ri_ud_recv_t *recv;

    if ((ep->state != RI_UD_EP_CONNECTED) || plane->ib.is_broken) {
        return UCS_ERR_UNREACHABLE;
    }
    if (ri_ud_transfer_count_pieces(list->length, ep->mtu) == 0) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (is_offer && (ep->num_cancelled >= RI_UD_CANCELLED_MAX)) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }
    if (ucs_list_is_empty(&plane->waiting)) {
        qp = ri_ud_pool_take(&plane->pool);
    }
    if ((qp == NULL) && (is_offer || (plane->pool.count == 0))) {
        return UCS_ERR_NO_RESOURCE;
    }
    recv   = calloc(1, sizeof(*recv));
    status = (recv == NULL) ? UCS_ERR_NO_MEMORY :
                              ri_ud_base_begin(&recv->super, ep, list, op);
    if (status != UCS_OK) {
        free(recv);
        goto err_put;
    }
    recv->rx.length     = list->length;
    recv->rx.piece_size = ep->mtu;
    recv->is_offer      = is_offer;
    recv->failure       = UCS_OK;
    if (qp == NULL) {
        ri_ud_wait_add(plane, recv);
        return UCS_INPROGRESS;
    }
    status = ri_ud_recv_post(recv, qp);
    if (status != UCS_OK) {
        queue_free(recv);
        goto err_put;
    }
    ri_ud_recv_set_state(recv, RI_UD_RECV_ACTIVE);
    ucs_list_add_tail(&plane->active, &recv->super.list);
    queue_target(recv, target);
    return UCS_OK;

err_put:
    if (qp != NULL) {
        ri_ud_pool_put(&plane->pool, qp);
    }
    return status;
}

#endif
