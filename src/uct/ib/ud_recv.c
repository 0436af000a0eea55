/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ud_plane.h"

#if HAVE_VERBS

#include "../../ucs/settings.h"
#include "../../ucs/log.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define RECV_POLL_BATCH 32

/* With so many queues some may be left out of a poll. */
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

static uint32_t recv_index(const ri_ud_recv_t *recv, uint32_t slot)
{
    return slot & (recv->rx.depth - 1);
}

/* Entries of a receive that describe a piece: the first one is for the GRH. */
static unsigned recv_max_sge(const ri_ud_plane_t *plane)
{
    return plane->pool.max_sge - 1;
}

/* Describe a slot's place. @return The number of entries; 0: the slot must have memory of its
 * own. That is so for the last piece if it is shorter than others, which may land there. */
static unsigned recv_place(ri_ud_recv_t *recv, uint32_t slot, struct ibv_sge *sges)
{
    uint64_t offset = (uint64_t)slot * recv->rx.piece_size;

    if (recv->rx.length - offset < recv->rx.piece_size) {
        return 0;
    }
    return ri_ud_memory_sges(&recv->super.memory, offset, recv->rx.piece_size, sges,
                             recv_max_sge(recv_plane(recv)));
}

/* The memory of a slot that has not its place's. */
static uint8_t *recv_own(ri_ud_recv_t *recv, uint32_t slot, uint32_t *lkey)
{
    uint64_t offset = (uint64_t)slot * recv->rx.piece_size;
    ri_ud_qp_t *qp  = recv->qp;

    if (recv->rx.length - offset < recv->rx.piece_size) {
        *lkey = qp->fixed.mr->lkey;
        return qp->fixed.data + recv->rx.depth * RI_UD_GRH_SIZE;
    }
    *lkey = qp->bounce.mr->lkey;
    return qp->bounce.data + (size_t)recv_index(recv, slot) * recv->rx.piece_size;
}

/* Post what was put together. */
void ri_ud_recv_flush(ri_ud_plane_t *plane, ri_ud_recv_t *recv)
{
    struct ibv_recv_wr *bad = NULL;
    unsigned count          = plane->num_recvs;
    int ret;

    plane->num_recvs = 0;
    if ((count == 0) || (recv->qp->qp == NULL)) {
        return;
    }
    plane->recv_wrs[count - 1].next = NULL;
    ret                             = ibv_post_recv(recv->qp->qp, plane->recv_wrs, &bad);
    if (ri_unlikely(ret != 0)) {
        ri_info("a transfer by datagrams ends: posting failed: %s", strerror(ret));
        recv->failure = UCS_ERR_UNREACHABLE;
    }
}

static void recv_rx_post(ri_ud_rx_t *rx, uint32_t slot)
{
    ri_ud_recv_t *recv   = recv_of_rx(rx);
    ri_ud_plane_t *plane = recv_plane(recv);
    uint32_t index       = recv_index(recv, slot);
    struct ibv_recv_wr *wr;
    struct ibv_sge *sges;

    if (plane->num_recvs == RI_UD_CHAIN) {
        ri_ud_recv_flush(plane, recv);
    }
    wr             = &plane->recv_wrs[plane->num_recvs];
    sges           = &plane->recv_sges[plane->num_recvs * RI_UD_SGE_MAX];
    sges[0].addr   = (uintptr_t)(recv->qp->fixed.data + index * RI_UD_GRH_SIZE);
    sges[0].length = RI_UD_GRH_SIZE;
    sges[0].lkey   = recv->qp->fixed.mr->lkey;
    wr->wr_id      = ((uint64_t)recv->qp->use << 32) | slot;
    wr->next       = wr + 1;
    wr->sg_list    = sges;
    wr->num_sge    = 1 + recv_place(recv, slot, sges + 1);
    if (wr->num_sge == 1) {
        sges[1].addr   = (uintptr_t)recv_own(recv, slot, &sges[1].lkey);
        sges[1].length = rx->piece_size;
        wr->num_sge    = 2;
    }
    ++plane->num_recvs;
}

static void recv_rx_move(ri_ud_rx_t *rx, uint32_t from, uint32_t to, uint32_t piece)
{
    ri_ud_recv_t *recv   = recv_of_rx(rx);
    ri_ud_plane_t *plane = recv_plane(recv);
    uint32_t length      = ri_ud_piece_length(rx->length, rx->piece_size, piece);
    uint8_t between[4096], *data = between;
    struct ibv_sge sges[RI_UD_SGE_MAX];
    int is_direct = (from != RI_UD_NONE) && (recv_place(recv, from, sges) > 0);
    uint32_t lkey;

    if (is_direct && (from == to)) {
        return;
    }
    if (from == RI_UD_NONE) {
        data = plane->piece;
    } else if (!is_direct) {
        data = recv_own(recv, from, &lkey);
    } else if (to == RI_UD_NONE) {
        ri_ud_memory_get(&recv->super.memory, (uint64_t)from * rx->piece_size,
                         plane->piece, length);
        return;
    } else if (recv->super.memory.count == 1) {
        data = (uint8_t *)(uintptr_t)sges[0].addr;
    } else {
        ri_ud_memory_get(&recv->super.memory, (uint64_t)from * rx->piece_size, between,
                         length);
    }
    if (to == RI_UD_NONE) {
        memcpy(plane->piece, data, length);
    } else {
        ri_ud_memory_put(&recv->super.memory, (uint64_t)to * rx->piece_size, data,
                         length);
    }
}

static void recv_rx_tell(ri_ud_rx_t *rx, ri_ud_message_t *message)
{
    ri_ud_recv_t *recv = recv_of_rx(rx);

    /* A grant says that the memory is posted */
    ri_ud_recv_flush(recv_plane(recv), recv);
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
        .post  = recv_rx_post,
        .move  = recv_rx_move,
        .tell  = recv_rx_tell,
        .reset = recv_rx_reset,
};

/* Post a transfer's memory to its queue pair. */
ucs_status_t ri_ud_recv_post(ri_ud_recv_t *recv, ri_ud_qp_t *qp)
{
    ri_ud_plane_t *plane = recv_plane(recv);
    ri_ud_ep_t *ep       = recv->super.ep;
    int is_list          = recv->super.memory.count > 1;
    ucs_status_t status  = ri_ud_number_reserve(ep);

    if ((status == UCS_OK) && (recv->super.memory.count > recv_max_sge(plane)) &&
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
    ri_ud_recv_flush(plane, recv);
    ++plane->counters.ud_recvs;
    return UCS_OK;
}

static void recv_target(const ri_ud_recv_t *recv, ri_ud_target_t *target)
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
        ri_ud_wait_end(recv);
        break;
    default:
        ri_ud_number_cancel(ep, recv->super.number);
        recv->super.op->heard = recv->rx.has_begun;
        ucs_list_del(&recv->super.list);
        ri_ud_pool_reset(&recv_plane(recv)->pool, recv->qp);
        recv_release(recv);
        ri_ud_number_tell(ep, recv->super.number, RI_UD_CANCEL);
    }
    recv->state = RI_UD_RECV_ENDED;
    ri_ud_transfer_end(&recv->super, status);
}

/* See whether something has come to its end. */
void ri_ud_recv_check(ri_ud_recv_t *recv)
{
    if (ri_unlikely(recv->failure != UCS_OK)) {
        ri_ud_recv_cancel(recv, recv->failure);
    } else if (recv->rx.state == RI_UD_RX_FAILED) {
        ri_ud_recv_cancel(recv, UCS_ERR_UNREACHABLE);
    } else if (recv->rx.state == RI_UD_RX_DONE) {
        ri_ud_heard_received(recv->super.ep, recv->super.number);
        ucs_list_del(&recv->super.list);
        recv_release(recv);
        recv->state = RI_UD_RECV_ENDED;
        ri_ud_transfer_end(&recv->super, UCS_OK);
    }
}

/* @return Whether a datagram is a piece of the peer. */
static int recv_is_of_peer(ri_ud_recv_t *recv, const struct ibv_wc *wc, const void *grh)
{
    ri_ud_ep_t *ep = recv->super.ep;
    int is_of_peer = (wc->wc_flags & IBV_WC_WITH_IMM) &&
                     ri_ud_is_from(ep, ep->data_qp, wc, grh);

    ep->heard += is_of_peer;
    return is_of_peer;
}

static void recv_completed(ri_ud_recv_t *recv, const struct ibv_wc *wc)
{
    uint32_t slot = (uint32_t)wc->wr_id;
    const uint8_t *grh;

    if ((wc->wr_id >> 32) != recv->qp->use) {
        return; /* of before a reset */
    }
    grh = recv->qp->fixed.data + recv_index(recv, slot) * RI_UD_GRH_SIZE;
    switch (wc->status) {
    case IBV_WC_SUCCESS:
        ri_ud_rx_arrive(&recv->rx, slot, recv_is_of_peer(recv, wc, grh),
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

/* @return Whether there was something. */
int ri_ud_recv_poll(ri_ud_plane_t *plane, ri_ud_recv_t *recv)
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
        ri_ud_recv_flush(plane, recv);
    } while ((count == RECV_POLL_BATCH) && (recv->failure == UCS_OK));
    ri_ud_recv_check(recv);
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
        if (ri_ud_recv_poll(plane, recv)) {
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
        ri_ud_recv_flush(plane, recv);
        ri_ud_recv_check(recv);
    }
}

int ri_ud_revoke(ri_ud_op_t *op)
{
    ri_ud_recv_t *recv = ri_container_of((ri_ud_transfer_t *)op->transfer, ri_ud_recv_t,
                                         super);

    if (recv->state == RI_UD_RECV_ACTIVE) {
        ri_ud_recv_poll(recv_plane(recv),
                        recv); /* what is there was written to its memory */
    }
    if (recv->rx.has_begun) {
        return 0;
    }
    ri_ud_recv_cancel(recv, UCS_ERR_CANCELED);
    return 1;
}

void ri_ud_claim(ri_ud_op_t *op)
{
    ri_container_of((ri_ud_transfer_t *)op->transfer, ri_ud_recv_t, super)->is_offer = 0;
}

unsigned ri_ud_recv_tell_ready(ri_ud_plane_t *plane)
{
    unsigned count = 0;
    ri_ud_target_t target;
    ri_ud_recv_t *recv;

    while (!ucs_list_is_empty(&plane->ready)) {
        recv        = ucs_list_extract_head(&plane->ready, ri_ud_recv_t, super.list);
        recv->state = RI_UD_RECV_ACTIVE;
        ucs_list_add_tail(&plane->active, &recv->super.list);
        recv_target(recv, &target);
        recv->super.op->ready(recv->super.op, &target);
        ++count;
    }
    return count;
}

static void recv_free(ri_ud_recv_t *recv)
{
    ri_ud_memory_cleanup(&recv->super.memory);
    free(recv);
}

ucs_status_t ri_ud_recv(ri_plane_ep_t *super, const ri_ud_list_t *list, int is_offer,
                        ri_ud_op_t *op, ri_ud_target_t *target)
{
    ri_ud_ep_t *ep       = ri_container_of(super, ri_ud_ep_t, super);
    ri_ud_plane_t *plane = ri_ud_plane(ep);
    ri_ud_qp_t *qp       = NULL;
    ucs_status_t status;
    ri_ud_recv_t *recv;

    if ((ep->state != RI_UD_EP_CONNECTED) || plane->is_broken) {
        return UCS_ERR_UNREACHABLE;
    }
    if (ri_ud_count_pieces(list->length, ep->mtu) == 0) {
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
                              ri_ud_transfer_init(&recv->super, ep, list, op);
    if (status != UCS_OK) {
        free(recv);
        goto err_put;
    }
    recv->rx.length     = list->length;
    recv->rx.piece_size = ep->mtu;
    recv->is_offer      = is_offer;
    recv->failure       = UCS_OK;
    if (qp == NULL) {
        ri_ud_wait(plane, recv);
        return UCS_INPROGRESS;
    }
    status = ri_ud_recv_post(recv, qp);
    if (status != UCS_OK) {
        recv_free(recv);
        goto err_put;
    }
    recv->state = RI_UD_RECV_ACTIVE;
    ucs_list_add_tail(&plane->active, &recv->super.list);
    recv_target(recv, target);
    return UCS_OK;

err_put:
    if (qp != NULL) {
        ri_ud_pool_put(&plane->pool, qp);
    }
    return status;
}

#endif
