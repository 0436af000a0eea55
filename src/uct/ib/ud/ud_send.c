/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends of the ud plane. Each is a state machine (ud_tx.h) that says which pieces go next; here
 * they are put into work requests, in chains, and sends take turns. A send ends when its state
 * machine has, and the device has done all that it was given of it: until then it reads the memory
 * of the message.
 *
 * A piece whose memory has more parts than a work request takes is copied to the place's own
 * memory.
 */
#include "ud_send.h"

#if HAVE_VERBS

#include "ud_control.h"
#include "ud_data.h"
#include "ud_heard.h"
#include "../../../ucs/log.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define SEND_POLL_BATCH 16

/* Chains of a transfer that are posted before another one's turn comes. What goes on at the
 * same time is more memory and more queues for both sides to go through. */
#define SEND_TURN 8

static int send_is_out(const ri_ud_plane_t *plane, const ri_ud_send_t *send)
{
    return plane->data.ended >= send->last;
}

static void send_failed(ri_ud_plane_t *plane, const struct ibv_wc *wc)
{
    ri_ud_data_t *data = &plane->data;
    ri_ud_send_t *send = data->owners[((uint32_t)wc->wr_id - 1) & (data->depth - 1)];

    ri_info("a transfer by datagrams fails: %s", ri_verbs_status_string(wc->status));
    ri_ud_data_flush(plane);
    if (wc->status != IBV_WC_WR_FLUSH_ERR) {
        ri_ud_send_cancel(send, UCS_ERR_INVALID_ADDR);
    }
}

void ri_ud_send_poll(ri_ud_plane_t *plane)
{
    ri_ud_data_t *data = &plane->data;
    struct ibv_wc wcs[SEND_POLL_BATCH];
    int i, count;

    if (data->posted == data->ended) {
        return;
    }
    do {
        count = ibv_poll_cq(data->cq, SEND_POLL_BATCH, wcs);
        if (ri_unlikely(count < 0)) {
            ri_ud_data_flush(plane);
            ri_ud_base_broken(plane, "a completion queue cannot be read");
        }
        for (i = 0; i < count; ++i) {
            if ((wcs[i].wr_id >> 32) != data->use) {
                continue; /* of before a reset */
            }
            if (ri_likely(wcs[i].status == IBV_WC_SUCCESS)) {
                data->ended += (uint32_t)wcs[i].wr_id - (uint32_t)data->ended;
                plane->sends_changed = 1;
            } else {
                send_failed(plane, &wcs[i]);
            }
        }
    } while (count == SEND_POLL_BATCH);
}

void ri_ud_send_time(ri_ud_plane_t *plane)
{
    ri_ud_send_t *send, *tmp;

    plane->sends_changed = 0;
    ucs_list_for_each_safe(send, tmp, &plane->sending, super.list) {
        if (!send_is_out(plane, send)) {
            continue;
        }
        send->tx.is_known = send->super.ep->is_known;
        ri_ud_tx_time(&send->tx, plane->now);
        if (send->tx.status != UCS_INPROGRESS) {
            ucs_list_del(&send->super.list);
            ucs_list_del(&send->super.ep_list);
            ri_ud_base_end(&send->super, send->tx.status);
            ri_ud_heard_sent(send);
        }
    }
}

/* Describe a piece. */
static void send_build(ri_ud_plane_t *plane, ri_ud_send_t *send, uint32_t piece,
                       uint32_t number, struct ibv_send_wr *wr, struct ibv_sge *sges)
{
    ri_ud_data_t *data = &plane->data;
    uint32_t size      = send->super.ep->mtu;
    uint64_t length    = send->super.memory.segments[send->super.memory.count - 1].end;
    uint32_t part      = ri_ud_transfer_piece_length(length, size, piece);
    uint32_t place     = (number - 1) & (data->depth - 1);
    uint8_t *bounce;

    wr->num_sge = ri_ud_memory_sges(&send->super.memory, (uint64_t)piece * size, part,
                                    sges, ri_ud_data_max_sge(plane));
    if (wr->num_sge == 0) {
        bounce = data->bounce.data + (size_t)place * plane->mtu;
        ri_ud_memory_get(&send->super.memory, (uint64_t)piece * size, bounce, part);
        sges->addr   = (uintptr_t)bounce;
        sges->length = part;
        sges->lkey   = data->bounce.mr->lkey;
        wr->num_sge  = 1;
    }
    wr->wr_id             = ((uint64_t)data->use << 32) | number;
    wr->next              = wr + 1;
    wr->sg_list           = sges;
    wr->opcode            = IBV_WR_SEND_WITH_IMM;
    wr->send_flags        = 0;
    wr->imm_data          = htonl(send->tx.sequence + piece);
    wr->wr.ud.ah          = send->super.ep->port->ah;
    wr->wr.ud.remote_qpn  = send->qp;
    wr->wr.ud.remote_qkey = send->tx.qkey;
    data->owners[place]   = send;
}

/* Post what comes next of a transfer, with one call. */
static void send_post_chain(ri_ud_plane_t *plane, ri_ud_send_t *send, unsigned room)
{
    ri_ud_data_t *data      = &plane->data;
    struct ibv_send_wr *bad = NULL;
    uint32_t pieces[RI_UD_CHAIN];
    unsigned count, i;
    int ret;

    count = ri_ud_tx_take(&send->tx, pieces, ri_min(room, RI_UD_CHAIN));
    if (count == 0) {
        return;
    }
    for (i = 0; i < count; ++i) {
        send_build(plane, send, pieces[i], ++data->posted, &plane->send_wrs[i],
                   &plane->send_sges[i * RI_UD_SGE_MAX]);
    }
    plane->send_wrs[count - 1].next       = NULL;
    plane->send_wrs[count - 1].send_flags = IBV_SEND_SIGNALED;
    send->last                            = data->posted;
    ret = ibv_post_send(data->qp, plane->send_wrs, &bad);
    if (ri_unlikely(ret != 0)) {
        /* Those that were not sent count as lost */
        ri_debug("datagrams cannot be posted: %s", strerror(ret));
        ri_ud_data_flush(plane);
    }
}

/* Room that is worth a chain. */
static unsigned send_min_room(const ri_ud_data_t *data)
{
    return ri_max(ri_min(RI_UD_CHAIN, data->depth / 4), 1u);
}

void ri_ud_send_post(ri_ud_plane_t *plane)
{
    ri_ud_data_t *data = &plane->data;
    ri_ud_send_t *send;
    unsigned room;
    int any;

    do {
        any = 0;
        ucs_list_for_each(send, &plane->sending, super.list) {
            if (ri_ud_tx_is_ready(&send->tx)) {
                any = 1;
                break;
            }
        }
        room = data->depth - (data->posted - data->ended);
        if (!any || plane->ib.is_broken ||
            ((room < data->depth) && (room < send_min_room(data)))) {
            return;
        }
        if (++send->turn == SEND_TURN) {
            send->turn = 0;
            ucs_list_del(&send->super.list);
            ucs_list_add_tail(&plane->sending, &send->super.list);
        }
        send_post_chain(plane, send, room);
    } while (1);
}

static ri_ud_send_t *send_find(ri_ud_ep_t *ep, uint32_t number)
{
    ri_ud_send_t *send;

    ucs_list_for_each(send, &ep->sends, super.ep_list) {
        if (send->super.number == number) {
            return send;
        }
    }
    return NULL;
}

void ri_ud_send_message(ri_ud_ep_t *ep, const ri_ud_message_t *message)
{
    ri_ud_send_t *send = send_find(ep, message->number);

    ep->is_known                   = 1;
    ri_ud_plane(ep)->sends_changed = 1;
    if ((send == NULL) && (message->type == RI_UD_ACK)) {
        ri_ud_heard_again(ep, message->number);
    }
    /* Others of transfers that are over are not worth counting */
    if ((send != NULL) && !ri_ud_tx_message(&send->tx, message)) {
        ++ri_ud_plane(ep)->counters.ud_dropped;
    }
}

void ri_ud_send_cancel(ri_ud_send_t *send, ucs_status_t status)
{
    if (send->tx.status == UCS_INPROGRESS) {
        ri_ud_tx_end(&send->tx, status);
        ri_ud_plane(send->super.ep)->sends_changed = 1;
    }
}

static void send_tx_tell(ri_ud_tx_t *tx, ri_ud_message_t *message)
{
    ri_ud_send_t *send = ri_container_of(tx, ri_ud_send_t, tx);

    message->number = send->super.number;
    ri_ud_control_send(send->super.ep, message);
}

/* Check wire input. */
static ucs_status_t send_check(ri_ud_ep_t *ep, const ri_ud_target_t *target,
                               uint64_t length)
{
    const char *wrong = ri_ud_wire_check_target(target);

    if ((wrong == NULL) && (target->piece_size != ep->mtu)) {
        wrong = "its pieces have another length than those of this way";
    }
    if ((wrong == NULL) && (target->length != length)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if ((wrong == NULL) && (send_find(ep, target->number) != NULL)) {
        wrong = "another message is being sent to it";
    }
    if (wrong != NULL) {
        ri_info("no transfer by datagrams: the receiver's target cannot be used: %s",
                wrong);
        return UCS_ERR_INVALID_PARAM;
    }
    return UCS_OK;
}

void ri_ud_send_heard(ri_plane_ep_t *super, uint32_t number)
{
    ri_ud_send_t *send = send_find(ri_container_of(super, ri_ud_ep_t, super), number);

    if (send != NULL) {
        ri_ud_send_cancel(send, UCS_OK);
    }
}

ucs_status_t ri_ud_send(ri_plane_ep_t *super, const ri_ud_list_t *list,
                        const ri_ud_target_t *target, ri_ud_op_t *op)
{
    ri_ud_ep_t *ep       = ri_container_of(super, ri_ud_ep_t, super);
    ri_ud_plane_t *plane = ri_ud_plane(ep);
    ri_ud_data_t *data   = &plane->data;
    ucs_status_t status;
    ri_ud_send_t *send;

    if ((ep->state != RI_UD_EP_CONNECTED) || plane->ib.is_broken) {
        return UCS_ERR_UNREACHABLE;
    }
    status = send_check(ep, target, list->length);
    if (status != UCS_OK) {
        return status;
    }
    send = calloc(1, sizeof(*send));
    if (send == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    status = ri_ud_base_begin(&send->super, ep, list, op);
    if (status != UCS_OK) {
        free(send);
        return status;
    }
    if ((send->super.memory.count > ri_ud_data_max_sge(plane)) &&
        (data->bounce.mr == NULL)) {
        status = ri_ud_buffer_init(plane->ib.device, (size_t)data->depth * plane->mtu,
                                   &data->bounce);
        if (status != UCS_OK) {
            ri_ud_memory_cleanup(&send->super.memory);
            free(send);
            return status;
        }
    }
    send->super.is_send = 1;
    send->super.number  = target->number;
    send->qp            = target->qp;
    send->last          = data->ended;
    send->tx.times      = &plane->times;
    send->tx.counters   = &plane->counters;
    send->tx.count      = ri_ud_transfer_count_pieces(target->length, target->piece_size);
    send->tx.granted    = target->granted;
    send->tx.sequence   = target->sequence;
    send->tx.qkey       = target->qkey;
    send->tx.tell       = send_tx_tell;
    ri_ud_tx_init(&send->tx);
    ++plane->counters.ud_sends;
    ucs_list_add_tail(&plane->sending, &send->super.list);
    ucs_list_add_tail(&ep->sends, &send->super.ep_list);
    ri_ud_send_post(plane);
    return UCS_INPROGRESS;
}

#endif
