/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's side of cooperative copies.
 */
#include "coop_recv.h"
#include "coop_exchange.h"
#include "coop_row.h"
#include "coop_shelf.h"
#include "../../core/recv_req.h"
#include "../rndv/am_rndv.h"
#include "../../link/control.h"
#include "../../link/quiesce.h"
#include "../../../ucs/clock.h"
#include "../../../ucs/log.h"
#include "../../core/memory.h"
#include "../../core/types/module.h"
#include "../../core/peer.h"
#include "../../order/deliver.h"

#include <stdlib.h>
#include <string.h>

/* The address that is named of a receive that only this side writes. */
#define COOP_NOWHERE 1

/* The memory of a ring that the stream has given up, while copies need its slots. */
struct ri_coop_ring {
    ri_ring_rx_t ring;
    unsigned users;
};

/* Where there was no memory to remember it: it stays mapped. */
static ri_coop_ring_t coop_ring_kept;

/* A copy has its stream no more, nor the memory of its ring. @a is_done: all of it was copied. */
static void coop_free_recv(ri_coop_t *coop, int is_done)
{
    ri_coop_ring_t *ring = coop->ring;

    ri_coop_exchange_leave(coop, is_done);
    ri_coop_shelf_leave(coop, is_done);
    --coop->stream->coop.num;
    if ((ring != NULL) && (ring != &coop_ring_kept) && (--ring->users == 0)) {
        ri_ring_rx_close(&ring->ring);
        free(ring);
    }
    ri_coop_copy_free(coop);
}

/* A copy has ended. The slot is not to be used any more. What the sender has withdrawn before
 * anything was copied it still has.
 * @return The receive's status, or UCS_INPROGRESS if the data has to come by another protocol. */
static ucs_status_t coop_outcome(const ri_coop_t *coop, ri_coop_state_t state)
{
    ucs_status_t status = coop->status;
    uint32_t failed     = ri_slot_failed(coop->slot);
    int withdrawn       = ri_coop_side_is_withdrawn(coop);

    if ((state != RI_COOP_DONE) || (failed & RI_RING_SLOT_ABANDONED) ||
        ((failed || withdrawn) &&
         (coop->stream->broken || ri_coop_copy_is_peer_gone(coop)))) {
        status = UCS_ERR_CONNECTION_RESET;
    }
    ri_trace(&coop->worker->trace, RI_TRACE_COOP_DONE, coop->recv->info.length, failed);
    if (((status == UCS_OK) && !failed) || (failed & RI_RING_SLOT_ABANDONED) ||
        withdrawn || (state == RI_COOP_BROKEN)) {
        ri_slot_release(coop->slot); /* or an answer does it */
    }
    return ((status == UCS_OK) && (failed || withdrawn)) ? UCS_INPROGRESS : status;
}

/* Complete a receive, or ask its sender for the data, by the outcome of a copy, which is freed.
 * @return The receive's status, or UCS_INPROGRESS. */
static ucs_status_t coop_conclude(ri_recv_req_t *recv, ri_stream_t *stream,
                                  uint32_t req_id, ri_coop_state_t state,
                                  ucs_status_t outcome)
{
    if (state == RI_COOP_BROKEN) {
        ri_deliver_breaking(stream, "a malformed slot in its ring", RI_WIRE_RTS, 0);
    }
    return (outcome == UCS_INPROGRESS) ? ri_am_rndv_ask(recv, stream, req_id, 0) :
                                         outcome;
}

/* A copy has ended, and is freed. @return The receive's status, or UCS_INPROGRESS if the data comes
 * by another protocol. */
static ucs_status_t coop_finish_recv(ri_coop_t *coop, ri_coop_state_t state)
{
    ri_stream_t *stream  = coop->stream;
    ri_recv_req_t *recv  = coop->recv;
    uint32_t req_id      = coop->req_id;
    ucs_status_t outcome = coop_outcome(coop, state);

    if ((outcome == UCS_OK) && !coop->exchanged && !coop->in_row &&
        !ri_coop_side_has_runs(coop)) {
        ri_peer_note_read(stream->peer, recv->info.length,
                          ri_clock_ticks() - coop->matched_at, RI_PEER_READ_BOTH);
    }
    coop_free_recv(coop, outcome == UCS_OK);
    return coop_conclude(recv, stream, req_id, state, outcome);
}

void ri_coop_recv_end(ri_coop_t *coop, ri_coop_state_t state)
{
    ri_stream_t *stream = coop->stream;
    ri_recv_req_t *recv = coop->recv;
    ucs_status_t status;

    ++stream->busy;
    status = coop_finish_recv(coop, state);
    if (status != UCS_INPROGRESS) {
        ri_recv_complete(recv, status);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
}

/* @return The slot that an RTS names, or NULL if it is not there any more. */
static ri_ring_slot_t *coop_slot_of(const ri_stream_t *stream, uint32_t req_id,
                                    const ri_wire_rts_t *rts)
{
    ri_ring_slot_t *slot;

    if ((stream->ring == NULL) || (rts->slot > RI_RING_SLOTS)) {
        return NULL;
    }
    slot = &stream->ring->control->slots[rts->slot - 1];
    return (ri_slot_is_busy(slot) &&
            (atomic_load_explicit(&slot->id, memory_order_relaxed) == req_id)) ?
                   slot :
                   NULL;
}

static ri_coop_t *coop_new_recv(ri_recv_req_t *recv, ri_stream_t *stream, uint32_t req_id,
                                const ri_wire_rts_t *rts, ri_ring_slot_t *slot)
{
    ri_coop_t *coop = ri_coop_copy_new(stream->worker, slot, recv->info.length);

    if (coop != NULL) {
        coop->known          = 1;
        coop->matched_at     = ri_clock_ticks();
        coop->recv           = recv;
        coop->stream         = stream;
        coop->req_id         = req_id;
        coop->number         = rts->slot - 1;
        coop->spread         = ri_dt_is_spread(&recv->data);
        coop->shelf_only     = !!(rts->flags & RI_WIRE_RTS_SPREAD);
        coop->memory.address = (uintptr_t)recv->data.buffer;
        coop->num_segments   = rts->num_segments;
        memcpy(coop->segments, rts->segments,
               rts->num_segments * sizeof(rts->segments[0]));
        ++stream->coop.num;
        ri_coop_copy_attach(coop);
        if (ri_coop_row_use(coop, rts) || ri_coop_exchange_use(coop)) {
            ri_coop_shelf_pass(stream);
        } else {
            ri_coop_shelf_use(coop);
        }
    }
    return coop;
}

ri_coop_named_t ri_coop_recv_find_named(const ri_recv_req_t *recv,
                                        const ri_stream_t *stream, uint32_t req_id,
                                        const ri_wire_rts_t *rts)
{
    ri_coop_named_t named = {.slot = coop_slot_of(stream, req_id, rts)};

    if (named.slot != NULL) {
        named.address = atomic_load_explicit(&named.slot->address, memory_order_acquire);
    }
    /* The sender is about to write the address if it has just taken the RTR. */
    named.offered = (rts->flags & RI_WIRE_RTS_OFFERED) || recv->rtr.slot ||
                    (named.address != 0);
    return named;
}

/* A copy that is waited for. */
typedef struct coop_ending {
    ri_coop_t *coop;
    ri_coop_state_t state;
} coop_ending_t;

static int coop_is_writing(void *arg)
{
    coop_ending_t *ending = arg;

    /* The parts that the sender has put on a shelf are to be taken */
    ending->state = ri_coop_copy_step(ending->coop, 1);
    return !ri_coop_side_has_ended(ending->state);
}

/* Leave nothing to be copied, for either side. @return Units that nobody will copy. */
static uint32_t coop_drop_rest(ri_coop_t *coop)
{
    uint32_t dropped;

    coop->broken = (ri_coop_copy_fail(coop, 0, &dropped) != UCS_OK);
    if (dropped > 0) {
        ri_slot_fail(coop->slot, RI_RING_SLOT_FAILED);
        ri_slot_add_done(coop->slot, dropped);
    }
    return dropped;
}

/* Wait, within limits, for what the sender is writing. @return What became of the copy. */
static ri_coop_state_t coop_quiesce(ri_coop_t *coop)
{
    coop_ending_t ending = {.coop = coop};

    return ri_quiesce(coop->stream->peer, coop_is_writing, &ending) ? ending.state :
                                                                      RI_COOP_GONE;
}

/* There is no memory to remember a copy, and the sender may be writing into the receive: it gets no
 * more, and is waited for. @return As coop_fetch(). */
static ucs_status_t coop_refuse(ri_recv_req_t *recv, ri_stream_t *stream, uint32_t req_id,
                                ri_ring_slot_t *slot)
{
    ri_coop_state_t state;
    ri_coop_t coop;

    ri_coop_copy_init(&coop, stream->worker, slot, recv->info.length);
    coop.recv   = recv;
    coop.stream = stream;
    coop_drop_rest(&coop);
    if (ri_slot_is_withdrawn(slot)) {
        return UCS_ERR_NO_ELEM;
    }
    state = coop_quiesce(&coop);
    return coop_conclude(recv, stream, req_id, state, coop_outcome(&coop, state));
}

/* An RTS was matched that is copied by both sides: copy the first part. The sender is told where
 * the receive is, if it did not know. Without memory, a sender that knows where it is gets no more
 * and is waited for, within limits (link/quiesce.h). @return As `start` of ri_fetch_proto_t. */
static ucs_status_t coop_fetch(ri_recv_req_t *recv, ri_stream_t *stream,
                               const ri_fetch_terms_t *terms)
{
    const ri_coop_named_t *named = terms->slot;
    ri_ring_slot_t *slot         = named->slot;
    uint32_t req_id              = terms->arrival->req_id;
    ri_coop_state_t state;
    ri_coop_t *coop;

    /* Before anything that tells the sender of the match, when it looks */
    atomic_store_explicit(&slot->hint, ri_peer_hint(stream->peer), memory_order_relaxed);
    coop = coop_new_recv(recv, stream, req_id, terms->arrival->data, slot);
    if (coop == NULL) {
        return named->offered ? coop_refuse(recv, stream, req_id, slot) : UCS_ERR_NO_ELEM;
    }
    if (named->address == 0) {
        stream->peer->hint.is_news = 0;
        atomic_store_explicit(&slot->address,
                              ri_coop_side_has_runs(coop) ? COOP_NOWHERE :
                                                            coop->memory.address,
                              memory_order_release);
    }

    if (coop->in_row && stream->worker->progressing && !ri_slot_is_withdrawn(slot)) {
        return UCS_INPROGRESS; /* when all of the row that is here has been matched */
    }
    state = ri_coop_copy_step(coop, 1);
    if ((coop->exhausted || coop->by_writer) && ri_slot_is_withdrawn(slot)) {
        coop_free_recv(coop, 0);
        return UCS_ERR_NO_ELEM;
    }
    return ri_coop_side_has_ended(state) ? coop_finish_recv(coop, state) : UCS_INPROGRESS;
}

const ri_fetch_proto_t ri_fetch_proto_coop = {
        .name = "coop", .lacks = RI_FETCH_LACKS_SLOT, .start = coop_fetch};

/* The sender gets no more. What it has claimed is waited for in progress. */
static void coop_stop_recv(ri_coop_t *coop)
{
    if (!coop->exhausted && (coop_drop_rest(coop) > 0)) {
        coop->status = UCS_ERR_CONNECTION_RESET;
    }
}

static ri_coop_t *coop_of_slot(const ri_stream_t *stream, const ri_ring_slot_t *slot)
{
    ri_coop_t *coop;

    ucs_list_for_each(coop, &stream->worker->coop.list, list) {
        if (coop->slot == slot) {
            return coop;
        }
    }
    return NULL;
}

/* The part that the sender was writing when its slot was closed. */
typedef struct coop_closing {
    const ri_ring_slot_t *slot;
    uint32_t writing; /* units */
} coop_closing_t;

static int coop_is_closing(void *arg)
{
    const coop_closing_t *closing = arg;

    return ri_slot_done(closing->slot) < closing->writing;
}

/* Let the sender write no more of a message whose RTS has not been matched, and
 * wait for what it is writing just now. */
static void coop_close_slot(const ri_stream_t *stream, ri_ring_slot_t *slot)
{
    uint64_t claimed = atomic_fetch_or_explicit(&slot->claimed, RI_RING_SLOT_WITHDRAWN,
                                                memory_order_acq_rel);
    coop_closing_t closing = {.slot    = slot,
                              .writing = (claimed & ~RI_RING_SLOT_WITHDRAWN) >> 32};

    ri_quiesce(stream->peer, coop_is_closing, &closing);
}

void ri_coop_recv_close_slots(ri_stream_t *stream)
{
    ri_ring_slot_t *slot;
    unsigned i;

    for (i = 0; i < RI_RING_SLOTS; ++i) {
        slot = &stream->ring->control->slots[i];
        if (!ri_slot_is_busy(slot) || (coop_of_slot(stream, slot) != NULL)) {
            continue;
        }
        if (atomic_load_explicit(&slot->address, memory_order_acquire) != 0) {
            coop_close_slot(stream, slot);
        }
        ri_slot_release(slot);
    }
}

/* The ring of a stream is to be unmapped: do that when the last copy that needs it has ended. They
 * end soon, in progress. */
static void coop_unmap(ri_stream_t *stream)
{
    ri_coop_ring_t *ring;
    ri_coop_t *coop;

    ri_coop_recv_close_slots(stream);
    ri_coop_shelf_drop(stream);
    if (stream->coop.num == 0) {
        ri_ring_rx_close(stream->ring);
        return;
    }

    ring = malloc(sizeof(*ring));
    if (ring != NULL) {
        ring->ring  = *stream->ring;
        ring->users = 0;
    }
    ucs_list_for_each(coop, &stream->worker->coop.list, list) {
        if (!coop->is_send && (coop->stream == stream) && (coop->ring == NULL)) {
            coop_stop_recv(coop);
            if (ring != NULL) {
                coop->ring = ring;
                ++ring->users;
            } else {
                coop->ring = &coop_ring_kept;
            }
        }
    }
    if ((ring != NULL) && (ring->users == 0)) { /* those were of an earlier ring */
        ri_ring_rx_close(&ring->ring);
        free(ring);
    }
}

static ri_coop_t *coop_find_recv(ri_worker_t *worker)
{
    ri_coop_t *coop;

    ucs_list_for_each(coop, &worker->coop.list, list) {
        if (!coop->is_send) {
            return coop;
        }
    }
    return NULL;
}

/* The copies of both sides. */
static ucs_status_t coop_worker_made(ri_worker_t *worker)
{
    ucs_list_head_init(&worker->coop.list);
    return UCS_OK;
}

/* End all receives that are being copied, and tell the senders. Each sender that is writing is
 * waited for, within limits. */
static void coop_worker_says(ri_worker_t *worker)
{
    ri_coop_state_t state;
    ri_coop_t *coop;

    /* Before the first one is waited for: no sender begins with another part. */
    ucs_list_for_each(coop, &worker->coop.list, list) {
        if (!coop->is_send) {
            coop_stop_recv(coop);
        }
    }
    while ((coop = coop_find_recv(worker)) != NULL) {
        coop_stop_recv(coop);
        state = coop_quiesce(coop);
        if ((state != RI_COOP_DONE) || (ri_slot_failed(coop->slot) != 0) ||
            ri_slot_is_withdrawn(coop->slot)) {
            coop->status =
                    UCS_ERR_CONNECTION_RESET; /* nobody is to ask for it any more */
        }
        /* after the last look at the slot's count: the sender may use the slot again */
        if (!coop->stream->broken && (coop->status != UCS_OK)) {
            ri_control_answer(coop->stream, RI_WIRE_FIN, coop->req_id);
        }
        ri_coop_recv_end(coop, state);
    }
}

static void coop_stream_breaks(ri_stream_t *stream)
{
    if (stream->ring != NULL) {
        ri_coop_recv_close_slots(stream);
    }
}

static int coop_stream_is_needed(const ri_stream_t *stream, ri_stream_need_t need)
{
    return (need != RI_STREAM_NEED_PEER) && (stream->coop.num > 0);
}

const ri_module_t ri_module_coop_recv = {.name             = "coop_recv",
                                         .worker_made      = coop_worker_made,
                                         .worker_says      = coop_worker_says,
                                         .stream_is_needed = coop_stream_is_needed,
                                         .stream_breaks    = coop_stream_breaks,
                                         .ring_rx_unmap    = coop_unmap};
