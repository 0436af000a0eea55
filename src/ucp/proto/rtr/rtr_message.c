/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rtr_message.h"
#include "../../core/module.h"
#include "../../link/control.h"
#include "../../link/planes.h"
#include "../../link/rdma.h"
#include "../rndv/rndv.h"
#include "rtr_slots.h"
#include "rtr_state.h"
#include "rtr_used.h"
#include "../../../ucs/settings.h"
#include "../../order/deliver.h"
#include "../../../ucs/random.h"

#include <stdlib.h>

int ri_rtr_message_on = 1;

ri_rtr_slots_t *ri_rtr_slots_get(ri_worker_t *worker, ri_peer_t *peer)
{
    ri_rtr_slots_t *slots = peer->rtr_slots;
    uint32_t generation;
    unsigned i;

    if (slots == NULL) {
        slots = calloc(1, sizeof(*slots));
        if (slots == NULL) {
            return NULL;
        }
        slots->worker = worker;
        slots->free   = ~0u;
        ucs_list_head_init(&slots->full);
        ucs_list_head_init(&slots->full_link);
        generation = (uint32_t)ri_random();
        for (i = 0; i < RI_WIRE_RTR_SLOTS; ++i) {
            slots->slot[i].peer       = peer;
            slots->slot[i].generation = generation;
        }
        peer->rtr_slots = slots;
    }
    return slots;
}

/* The plane's callback. Whatever follows waits for progress. */
static void message_notified(ri_plane_ep_t *ep, uint32_t immediate, size_t length)
{
    ri_rtr_slots_t *slots = ((ri_peer_t *)ep->user)->rtr_slots;
    unsigned index        = (immediate >> RI_WIRE_IMM_SLOT_SHIFT) % RI_WIRE_RTR_SLOTS;
    ri_rtr_slot_t *slot   = (slots != NULL) ? &slots->slot[index] : NULL;

    if (slot == NULL) {
        return;
    }
    if ((slot->recv == NULL) || slot->notified ||
        (((immediate >> RI_WIRE_IMM_GEN_SHIFT) ^ slot->generation) &
         RI_WIRE_IMM_GEN_MASK)) {
        ri_deliver_malformed(slots->worker, "by notification", RI_WIRE_PLACED, length);
        return;
    }
    slot->notified  = 1;
    slot->immediate = immediate;
    slot->length    = length;
    ucs_list_add_tail(&slots->worker->rtr_notified, &slot->list);
}

void ri_rtr_message_listen(ri_worker_t *worker)
{
    if (ri_rtr_message_on && (ri_config.rtr != UCS_NO) && (worker->rdma != NULL) &&
        (worker->rdma->ops->listen != NULL) &&
        (worker->rdma->ops->listen(worker->rdma, message_notified) != UCS_OK)) {
        ri_debug("no receive is offered through a network");
    }
}

int ri_rtr_message_is_possible(const ri_stream_t *stream)
{
    const ri_peer_t *peer = stream->peer;

    /* Who sleeps while RTRs are out is not woken by what they bring. */
    return stream->rdma_write && (peer->plane_ep == NULL) &&
           (ri_rdma_way_that(peer, RI_PLANE_NOTIFY) != NULL) &&
           (peer->rdma_ep->notifications >= RI_WIRE_RTR_SLOTS) &&
           (ri_config.rtr != UCS_NO) &&
           !(stream->worker->context->features & UCP_FEATURE_WAKEUP);
}

/* Give the place of a slot back. */
static void message_free_slot(ri_rtr_slots_t *slots, ri_rtr_slot_t *slot)
{
    slots->free |= 1u << (slot - slots->slot);
    --slots->worker->num_reads;
}

/* A slot's RTR has ended. */
static void message_end_slot(ri_rtr_slot_t *slot)
{
    ri_rtr_slots_t *slots = slot->peer->rtr_slots;
    ri_worker_t *worker   = slots->worker;

    worker->rdma->ops->release(worker->rdma, &slot->memory);
    slot->recv = NULL;
    --worker->num_rtr_slots;
    if (slot->notified) {
        ucs_list_del(&slot->list);
        slot->notified = 0;
    }
    if (!slot->revoking) {
        message_free_slot(slots, slot);
        return;
    }
    slot->revoking = 0;
    slot->ended    = 1; /* what waits for the answer is looked after in progress */
    --worker->num_revoking;
    ucs_list_add_tail(&worker->rtr_notified, &slot->list);
}

void ri_rtr_message_release(ri_recv_req_t *recv)
{
    ri_rtr_slot_t *slot = ri_rtr_slot(recv);

    if (slot != NULL) {
        message_end_slot(slot);
        recv->rtr_index = RI_RTR_NO_SLOT;
    }
}

static void message_put(const ri_recv_req_t *recv, const ri_stream_t *stream,
                        const ri_rtr_slot_t *slot, int ahead)
{
    ri_wire_rtr_msg_t msg = {.base.type  = RI_WIRE_RTR,
                             .base.value = recv->id,
                             .tag        = recv->tag,
                             .mask       = recv->mask,
                             .address    = (uintptr_t)recv->data.buffer,
                             .length     = recv->data.length,
                             .key        = slot->memory.remote_key,
                             .way        = stream->peer->rdma_way,
                             .seen       = slot->seen,
                             .generation = slot->generation,
                             .ahead      = ahead,
                             .slot       = recv->rtr_index};

    ri_wire_set_id(&msg.base, stream->remote_conn_id);
    ri_control_send_message(stream->peer, &msg, sizeof(msg));
}

ucs_status_t ri_rtr_message_send(ri_recv_req_t *recv, ri_stream_t *stream, int ahead)
{
    ri_worker_t *worker   = recv->super.worker;
    ri_peer_t *peer       = stream->peer;
    const ri_conn_t *conn = ri_peer_way_out(peer);
    ri_rtr_slots_t *slots = ri_rtr_slots_get(worker, peer);
    ri_rtr_slot_t *slot;
    ucs_status_t status;

    if ((conn == NULL) || (conn->flags & RI_CONN_PEER_MODE) || (slots == NULL)) {
        return UCS_ERR_UNREACHABLE;
    }
    /* What is being taken back must not depend on what is offered meanwhile. */
    if ((slots->free == 0) || (worker->num_revoking > 0) || worker->rtr_recheck) {
        return UCS_ERR_NO_RESOURCE;
    }
    slot   = &slots->slot[__builtin_ctz(slots->free)];
    status = worker->rdma->ops->reg(worker->rdma, recv->data.buffer, recv->data.length,
                                    &slot->memory);
    if (status != UCS_OK) {
        return status;
    }
    recv->id = ri_id_alloc(&worker->recv_ids, recv);
    if (recv->id == 0) {
        worker->rdma->ops->release(worker->rdma, &slot->memory);
        return UCS_ERR_NO_MEMORY;
    }

    slots->free &= slots->free - 1;
    slot->recv  = recv;
    slot->tag   = recv->tag;
    slot->seen  = stream->next_sn - 1;
    slot->ended = 0;
    ++slot->generation;
    recv->stream     = NULL;
    recv->rtr_index  = slot - slots->slot;
    recv->rtr_stream = stream;
    ri_rtr_set(recv, RI_RTR_SENT);
    ucs_list_add_tail(&stream->rtrs, &recv->list);
    ++stream->num_rtrs;
    ++worker->num_rtr_slots;
    ++worker->num_reads;
    ++worker->counters.rtr_sent;
    worker->attention = 1;
    ri_trace(&worker->trace, RI_TRACE_RTR_SENT, recv->tag, recv->id);
    message_put(recv, stream, slot, ahead);
    return UCS_OK;
}

/* A write by the RTR of a slot has ended: that is the message. */
static void message_take(ri_rtr_slot_t *slot)
{
    ri_recv_req_t *recv  = slot->recv;
    ri_stream_t *stream  = recv->rtr_stream;
    uint32_t number      = ri_rtr_slot_number(slot);
    ri_arrival_t arrival = {.sn        = number,
                            .wire_type = RI_WIRE_PLACED,
                            .kind      = RI_MSG_PLACED,
                            .req_id    = recv->id,
                            .tag       = recv->tag,
                            .length    = ri_rtr_slot_length(slot)};

    ++stream->busy;
    ri_planes_rdma_worked(stream->peer, stream->peer->rdma_way);
    if (recv->rtr == RI_RTR_NAMED) {
        ri_rtr_used_written(recv, number, arrival.length);
        --stream->busy;
        ri_stream_check_closed(stream);
        return;
    }
    message_end_slot(slot);
    recv->rtr_index = RI_RTR_NO_SLOT;
    ri_rtr_set(recv, RI_RTR_WRITTEN);
    if ((arrival.length > recv->data.length) || (arrival.length == 0) ||
        ((int32_t)(number - stream->next_sn) < 0)) {
        ri_deliver_breaking(stream, "a notification that makes no sense", RI_WIRE_PLACED,
                            arrival.length);
    } else {
        ri_deliver(stream, &arrival);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
}

static unsigned message_take_all(ri_worker_t *worker)
{
    unsigned count = 0;
    ri_rtr_slot_t *slot;

    while (!ucs_list_is_empty(&worker->rtr_notified)) {
        slot = ucs_list_extract_head(&worker->rtr_notified, ri_rtr_slot_t, list);
        ++count;
        if (slot->ended) {
            slot->ended = 0;
            message_free_slot(slot->peer->rtr_slots, slot);
            ri_rtr_message_decided(worker, slot->tag);
        } else {
            slot->notified = 0;
            message_take(slot);
        }
    }
    return count;
}

unsigned ri_rtr_message_progress(ri_worker_t *worker)
{
    ri_planes_rdma_check(worker);
    if (ri_unlikely(worker->num_revoking > 0)) {
        ri_rtr_message_check_asked(worker);
    }
    return ucs_list_is_empty(&worker->rtr_notified) ? 0 : message_take_all(worker);
}

int ri_rtr_message_again(ri_stream_t *stream, ri_arrival_t *arrival)
{
    const ri_wire_rts_t *rts = arrival->data;
    ri_worker_t *worker      = stream->worker;

    if ((uint16_t)stream->peer->rdma_way == rts->way) {
        ri_planes_rdma_failed(worker, stream->peer);
    }
    message_take_all(worker);
    if (!stream->broken && ri_rtr_used_again(stream, arrival)) {
        return 1;
    }
    if (stream->broken || !ri_deliver_has(stream, arrival->sn)) {
        return 0;
    }
    ri_rndv_answer(stream, arrival->wire_type, arrival->req_id, rts);
    return 1;
}

int ri_rtr_message_has(const ri_stream_t *stream)
{
    const ri_recv_req_t *recv;

    ucs_list_for_each(recv, &stream->rtrs, list) {
        if ((recv->rtr == RI_RTR_SENT) || (recv->rtr == RI_RTR_PROMISED) ||
            (recv->rtr == RI_RTR_NAMED)) {
            return 1;
        }
    }
    return 0;
}

void ri_rtr_message_withdraw(ri_stream_t *stream)
{
    if (ri_rtr_message_has(stream)) {
        ri_planes_rdma_failed(stream->worker, stream->peer);
    }
}

void ri_rtr_message_settle(ri_stream_t *stream)
{
    ri_rtr_slot_t *slot, *next;
    ri_worker_t *worker = stream->worker;
    int any;

    do { /* each callback may do anything */
        any = 0;
        ucs_list_for_each_safe(slot, next, &worker->rtr_notified, list) {
            if (slot->ended && (slot->peer == stream->peer)) {
                ucs_list_del(&slot->list);
                slot->ended = 0;
                message_free_slot(slot->peer->rtr_slots, slot);
                ri_rtr_message_decided(worker, slot->tag);
                any = 1;
                break;
            }
        }
    } while (any);
}

void ri_rtr_message_way_ended(ri_peer_t *peer)
{
    ri_rtr_slots_t *slots = peer->rtr_slots;
    ri_rtr_slot_t *slot;
    unsigned i;

    ri_rtr_used_drop(peer);
    for (i = 0; (slots != NULL) && (i < RI_WIRE_RTR_SLOTS); ++i) {
        slot = &slots->slot[i];
        if ((slot->recv == NULL) || slot->notified) {
            continue;
        }
        if (slot->recv->rtr == RI_RTR_SENT) {
            ri_rtr_forget(slot->recv);
        } else { /* its message comes again, and nobody else may have the receive */
            ri_rtr_message_release(slot->recv);
        }
    }
}

void ri_rtr_message_forget_peer(ri_peer_t *peer)
{
    ri_rtr_slots_t *slots = peer->rtr_slots;
    unsigned i;

    ri_rtr_slots_forget(slots);
    for (i = 0; (slots != NULL) && (i < RI_WIRE_RTR_SLOTS); ++i) {
        assert(slots->slot[i].recv == NULL);
        if (slots->slot[i].ended) {
            ucs_list_del(&slots->slot[i].list);
            message_free_slot(slots, &slots->slot[i]);
        }
    }
    peer->rtr_slots = NULL;
    free(slots);
}

void ri_rtr_message_end_all(ri_worker_t *worker)
{
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        ri_rtr_message_withdraw(stream);
    }
    ri_deliver_drop_self(worker);
}

static void message_peer_freed(ri_worker_t *worker, ri_peer_t *peer)
{
    (void)worker;
    ri_rtr_message_forget_peer(peer);
}

static void message_stream_written(ri_stream_t *stream)
{
    stream->rdma_write = ri_rtr_message_on;
}

static void message_way_ended(ri_peer_t *peer, int is_lost)
{
    if (is_lost) {
        ri_rtr_message_way_lost(peer);
    }
    ri_rtr_message_way_ended(peer);
}

const ri_module_t ri_module_rtr_message = {.name           = "rtr_message",
                                           .planes_opened  = ri_rtr_message_listen,
                                           .stream_written = message_stream_written,
                                           .way_ended      = message_way_ended,
                                           .peer_freed     = message_peer_freed};
