/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives of the ud plane. Each is a state machine (ud_rx.h) that says which landings are posted
 * and which pieces are moved. Here is what it tells the sender, what becomes of completions, and
 * how it ends.
 *
 * A receive has a queue pair of the pool with a completion queue of its own. What completes there
 * with the number of an earlier use of the queue pair is of an earlier transfer and is left out.
 */
#include "ud_recv.h"

#if HAVE_VERBS

#include "ud_control.h"
#include "ud_heard.h"
#include "ud_number.h"
#include "ud_place.h"
#include "ud_wait.h"
#include "ud_way.h"
#include "../../../ucs/settings.h"
#include "../../../ucs/log.h"

#include <arpa/inet.h>
#include <string.h>

#define RECV_POLL_BATCH 32

/* One queue in the first number may be left out of a poll, and no more than the second number. */
#define RECV_POLL_FEW 4
#define RECV_SKIP_MAX 15

static ri_ud_recv_t *recv_of_rx(ri_ud_rx_t *rx)
{
    return ri_container_of(rx, ri_ud_recv_t, rx);
}

static ri_ud_plane_t *recv_plane(const ri_ud_recv_t *recv)
{
    return ri_ud_plane(recv->super.ep);
}

static void recv_rx_tell(ri_ud_rx_t *rx, ri_ud_message_t *message)
{
    ri_ud_recv_t *recv = recv_of_rx(rx);

    /* A grant says that the memory is posted */
    ri_ud_place_flush(recv_plane(recv), recv);
    message->number = recv->super.number;
    message->qkey   = (message->type == RI_UD_RESTART) ? recv->qp->qkey : 0;
    ri_ud_control_send(recv->super.ep, message);
}

static void recv_rx_reset(ri_ud_rx_t *rx)
{
    ri_ud_recv_t *recv   = recv_of_rx(rx);
    ri_ud_plane_t *plane = recv_plane(recv);

    plane->num_recvs = 0;
    if (!ri_ud_pool_reset(&plane->pool, recv->qp)) {
        recv->failure = UCS_ERR_UNREACHABLE;
    }
}

static const ri_ud_rx_ops_t recv_rx_ops = {
        .post  = ri_ud_place_post,
        .move  = ri_ud_place_move,
        .tell  = recv_rx_tell,
        .reset = recv_rx_reset,
};

ucs_status_t ri_ud_recv_post(ri_ud_recv_t *recv, ri_ud_qp_t *qp)
{
    ri_ud_plane_t *plane = recv_plane(recv);
    ri_ud_ep_t *ep       = recv->super.ep;
    int is_list          = recv->super.memory.count > 1;
    ucs_status_t status  = ri_ud_number_reserve(ep);

    if ((status == UCS_OK) && (recv->super.memory.count > ri_ud_place_max_sge(plane)) &&
        (qp->bounce.mr == NULL)) {
        status = ri_ud_pool_add_bounce(&plane->pool, qp);
    }
    if (status != UCS_OK) {
        return status;
    }
    recv->qp                = qp;
    recv->super.number      = ep->next_number++;
    recv->rx.ops            = &recv_rx_ops;
    recv->rx.times          = &plane->times;
    recv->rx.counters       = &plane->counters;
    recv->rx.depth          = plane->pool.depth;
    recv->rx.is_whole       = !ri_config.ud_repair;
    recv->rx.sequence       = qp->sequence;
    recv->rx.held           = qp->held;
    recv->rx.where          = qp->where;
    recv->rx.first_indirect = is_list ? 0 : recv->rx.length / recv->rx.piece_size;
    ucs_list_add_tail(&ep->recvs, &recv->super.ep_list);
    ri_ud_rx_init(&recv->rx);
    ri_ud_place_flush(plane, recv);
    ++plane->counters.ud_recvs;
    return UCS_OK;
}

/* Give the queue pair back; nothing is posted. */
static void recv_release(ri_ud_recv_t *recv)
{
    ri_ud_qp_t *qp = recv->qp;

    recv->qp     = NULL;
    qp->sequence = recv->rx.sequence + recv->rx.count;
    qp->is_dirty |= recv->rx.is_dirty;
    ri_ud_pool_put(&recv_plane(recv)->pool, qp);
    ucs_list_del(&recv->super.ep_list);
}

void ri_ud_recv_cancel(ri_ud_recv_t *recv, ucs_status_t status)
{
    ri_ud_ep_t *ep = recv->super.ep;

    switch (recv->state) {
    case RI_UD_RECV_ENDED:
        return; /* perhaps with its way */
    case RI_UD_RECV_WAITING:
        ri_ud_wait_remove(recv);
        break;
    default:
        ri_ud_number_cancel(ep, recv->super.number);
        recv->super.op->heard = recv->rx.has_begun;
        ucs_list_del(&recv->super.list);
        ri_ud_pool_reset(&recv_plane(recv)->pool, recv->qp);
        recv_release(recv);
        ri_ud_number_tell(ep, recv->super.number, RI_UD_CANCEL);
    }
    ri_ud_recv_set_state(recv, RI_UD_RECV_ENDED);
    ri_ud_base_end(&recv->super, status);
}

/* End a receive if it has come to its end. */
static void recv_check(ri_ud_recv_t *recv)
{
    if (ri_unlikely(recv->failure != UCS_OK)) {
        ri_ud_recv_cancel(recv, recv->failure);
    } else if (recv->rx.state == RI_UD_RX_FAILED) {
        ri_ud_recv_cancel(recv, UCS_ERR_UNREACHABLE);
    } else if (recv->rx.state == RI_UD_RX_DONE) {
        ri_ud_heard_received(recv->super.ep, recv->super.number);
        ucs_list_del(&recv->super.list);
        recv_release(recv);
        ri_ud_recv_set_state(recv, RI_UD_RECV_ENDED);
        ri_ud_base_end(&recv->super, UCS_OK);
    }
}

/* @return Whether a datagram is a piece of the peer. */
static int recv_is_of_peer(ri_ud_recv_t *recv, const struct ibv_wc *wc, const void *grh)
{
    ri_ud_ep_t *ep = recv->super.ep;
    int is_of_peer = (wc->wc_flags & IBV_WC_WITH_IMM) &&
                     ri_ud_way_is_from(ep, ep->data_qp, wc, grh);

    ep->heard += is_of_peer;
    return is_of_peer;
}

static void recv_completed(ri_ud_recv_t *recv, const struct ibv_wc *wc)
{
    uint32_t landing = (uint32_t)wc->wr_id;
    const uint8_t *grh;

    if ((wc->wr_id >> 32) != recv->qp->use) {
        return; /* of before a reset */
    }
    grh = recv->qp->fixed.data + (landing & (recv->rx.depth - 1)) * RI_UD_GRH_SIZE;
    switch (wc->status) {
    case IBV_WC_SUCCESS:
        ri_ud_rx_arrive(&recv->rx, landing, recv_is_of_peer(recv, wc, grh),
                        ntohl(wc->imm_data), wc->byte_len - RI_UD_GRH_SIZE);
        break;
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
        recv->failure = UCS_ERR_INVALID_ADDR;
        break;
    default:
        /* A datagram that was too long, for one, stops a queue pair */
        ri_debug("datagrams to queue pair %u: %s", wc->qp_num,
                 ri_verbs_status_string(wc->status));
        ri_ud_rx_restart(&recv->rx);
    }
}

/* Take what has come for a receive, which may end it. @return Whether there was something. */
static int recv_poll(ri_ud_plane_t *plane, ri_ud_recv_t *recv)
{
    struct ibv_wc wcs[RECV_POLL_BATCH];
    int i, count, any = 0;

    do {
        count = ibv_poll_cq(recv->qp->cq, RECV_POLL_BATCH, wcs);
        if (ri_unlikely(count < 0)) {
            recv->qp->is_failed = 1;
            recv->failure       = UCS_ERR_IO_ERROR;
        }
        any |= (count > 0);
        for (i = 0; (i < count) && (recv->failure == UCS_OK); ++i) {
            recv_completed(recv, &wcs[i]);
        }
        ri_ud_place_flush(plane, recv);
    } while ((count == RECV_POLL_BATCH) && (recv->failure == UCS_OK));
    recv_check(recv);
    return any;
}

/* A queue costs a call, and there may be many to which nothing comes at the moment. These are left
 * out some times, so that most of the calls are for others. */
void ri_ud_recv_progress(ri_ud_plane_t *plane, int all)
{
    unsigned most  = all ? 0 : ri_min(plane->num_active / RECV_POLL_FEW, RECV_SKIP_MAX);
    unsigned count = 0;
    ri_ud_recv_t *recv, *tmp;

    ucs_list_for_each_safe(recv, tmp, &plane->active, super.list) {
        ++count;
        if ((recv->skip > 0) && (most > 0)) {
            --recv->skip;
            continue;
        }
        recv->empty = ri_min(recv->empty + 1, most);
        recv->skip  = recv->empty;
        if (recv_poll(plane, recv)) {
            recv->empty = recv->skip = 0;
        }
    }
    plane->num_active = count;
}

void ri_ud_recv_time(ri_ud_plane_t *plane)
{
    ri_ud_recv_t *recv, *tmp;

    ucs_list_for_each_safe(recv, tmp, &plane->active, super.list) {
        ri_ud_rx_time(&recv->rx, plane->now);
        ri_ud_place_flush(plane, recv);
        recv_check(recv);
    }
}

int ri_ud_recv_withdraw(ri_ud_op_t *op)
{
    ri_ud_recv_t *recv = ri_container_of((ri_ud_transfer_t *)op->transfer, ri_ud_recv_t,
                                         super);

    if (recv->state == RI_UD_RECV_ACTIVE) {
        recv_poll(recv_plane(recv), recv); /* what is there was written to its memory */
    }
    if (recv->rx.has_begun) {
        return 0;
    }
    ri_ud_recv_cancel(recv, UCS_ERR_CANCELED);
    return 1;
}

void ri_ud_recv_claim(ri_ud_op_t *op)
{
    ri_container_of((ri_ud_transfer_t *)op->transfer, ri_ud_recv_t, super)->is_offer = 0;
}

static ri_ud_recv_t *recv_find(ri_ud_ep_t *ep, uint32_t number)
{
    ri_ud_recv_t *recv;

    ucs_list_for_each(recv, &ep->recvs, super.ep_list) {
        if (recv->super.number == number) {
            return recv;
        }
    }
    return NULL;
}

void ri_ud_recv_probe(ri_ud_ep_t *ep, ri_ud_message_t *message)
{
    ri_ud_plane_t *plane = ri_ud_plane(ep);
    ri_ud_recv_t *recv   = recv_find(ep, message->number);

    /* Take datagrams that came before the question: nobody may have looked since */
    if ((recv != NULL) && (recv->state == RI_UD_RECV_ACTIVE)) {
        recv_poll(plane, recv);
        recv = recv_find(ep, message->number);
    }
    if (recv != NULL) {
        ri_ud_rx_probe(&recv->rx, message, plane->now);
        ri_ud_place_flush(plane, recv);
        if (recv->state == RI_UD_RECV_ACTIVE) {
            recv_check(recv);
        }
    } else if (ri_ud_number_is_cancelled(ep, message->number)) {
        ri_ud_number_tell(ep, message->number, RI_UD_CANCEL);
    } else if ((int32_t)(ep->next_number - message->number) > 0) {
        ri_ud_number_tell(ep, message->number, RI_UD_ACK);
    } else {
        ++plane->counters.ud_dropped;
    }
}

#endif
