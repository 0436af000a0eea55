/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The copy itself, which is the same at both sides but for its direction.
 */
#include "coop_copy.h"
#include "coop_row.h"
#include "coop_shelf.h"
#include "../rndv/read_generic.h"
#include "../../core/activity.h"
#include "../../link/local.h"

#include <stdlib.h>

/* How often the other side's last part is waited for before it is asked whether the process
 * still exists; then twice as often, and so on. */
#define COOP_POLLS     4096
#define COOP_POLLS_MAX (1u << 20)

/* The units that a side copies by the plane, at a time, of a message that also goes by a shelf.
 * More of them would let the other side wait until this one comes back to the shelf. */
#define COOP_BESIDE_SHELF 16u

/* Nothing is copied by the plane now. */
#define COOP_NONE UINT32_MAX

void ri_coop_copy_init(ri_coop_t *coop, ri_worker_t *worker, ri_ring_slot_t *slot,
                       size_t length)
{
    *coop = (ri_coop_t){.worker        = worker,
                        .slot          = slot,
                        .total         = ri_slot_units(length),
                        .next_check    = COOP_POLLS,
                        .memory.length = length};
}

ri_coop_t *ri_coop_copy_new(ri_worker_t *worker, ri_ring_slot_t *slot, size_t length)
{
    ri_coop_t *coop = malloc(sizeof(*coop));

    if (coop != NULL) {
        ri_coop_copy_init(coop, worker, slot, length);
    }
    return coop;
}

void ri_coop_copy_attach(ri_coop_t *coop)
{
    ri_worker_t *worker = coop->worker;

    ucs_list_add_tail(&worker->coop.list, &coop->list);
    ++worker->num_coops;
    worker->attention = 1;
}

void ri_coop_copy_free(ri_coop_t *coop)
{
    if (coop->worker->coop.next == &coop->list) {
        coop->worker->coop.next = coop->list.next;
    }
    ucs_list_del(&coop->list);
    --coop->worker->num_coops;
    free(coop);
}

int ri_coop_copy_is_peer_gone(const ri_coop_t *coop)
{
    const ri_peer_t *peer = ri_coop_side_peer(coop);

    return (peer != NULL) && ri_local_is_gone(peer);
}

/* Read a part from the sender's memory. */
static ucs_status_t coop_read(ri_coop_t *coop, ri_plane_ep_t *ep, ri_transfer_t *transfer)
{
    ri_transfer_t part         = *transfer; /* which is changed */
    ucs_status_t unpack_status = UCS_OK;    /* stays: a layout takes any part */

    return coop->spread ? ri_read_generic(coop->recv, coop->stream->peer, &part,
                                          &unpack_status) :
                          ep->plane->ops->read(ep, transfer);
}

/* Move a part that was claimed. */
static ucs_status_t coop_move(ri_coop_t *coop, const ri_slot_part_t *part)
{
    ri_peer_t *peer         = ri_coop_side_peer(coop);
    ri_plane_ep_t *ep       = (peer != NULL) ? peer->local.ep : NULL;
    ri_transfer_t transfer  = {.local      = &coop->memory,
                               .num_local  = 1,
                               .remote     = coop->segments,
                               .num_remote = coop->num_segments,
                               .offset     = ri_slot_offset(part),
                               .length     = ri_slot_length(part, coop->memory.length)};
    ri_timeline_t *timeline = &coop->worker->timeline;
    uint64_t start          = ri_timeline_now(timeline);
    ucs_status_t status;

    if (ep == NULL) {
        return UCS_ERR_UNREACHABLE;
    }
    if (!coop->is_send) {
        status = coop_read(coop, ep, &transfer);
        coop->stream->counters.rx_read_bytes += (status == UCS_OK) ? transfer.length : 0;
    } else {
        /* Of a receive all was counted when it was matched */
        ri_activity_note_copy(coop->worker, transfer.length);
        transfer.remote     = &coop->memory;
        transfer.num_remote = 1;
        transfer.local      = coop->segments;
        transfer.num_local  = coop->num_segments;
        status              = ep->plane->ops->write(ep, &transfer);
        coop->send->conn->counters.tx_written_bytes += (status == UCS_OK) ?
                                                               transfer.length :
                                                               0;
    }
    ++coop->worker->counters.coop_parts;
    ri_trace(&coop->worker->trace, RI_TRACE_COOP_PART, transfer.offset, transfer.length);
    ri_timeline_copied(timeline, start,
                       coop->is_send ? RI_TIMELINE_COPY_WRITE : RI_TIMELINE_COPY_READ,
                       transfer.length, peer->uid);
    return status;
}

ucs_status_t ri_coop_copy_fail(ri_coop_t *coop, uint32_t why, uint32_t *count_p)
{
    ri_slot_side_t side = coop->is_send ? RI_SLOT_BACK : RI_SLOT_FRONT;
    ri_slot_part_t part = {0};
    ucs_status_t status;

    status          = ri_slot_claim(coop->slot, coop->total, side, RI_SLOT_REST, &part);
    coop->exhausted = 1;
    *count_p        = part.count;
    if (why != 0) {
        ri_slot_fail(coop->slot, why);
    }
    return status;
}

/* Note a copy that has failed, by which later ones are chosen or refused. */
static void coop_note_failure(ri_coop_t *coop, ucs_status_t status)
{
    ri_peer_t *peer = ri_coop_side_peer(coop);

    ri_trace(&coop->worker->trace, RI_TRACE_COOP_FAIL, coop->is_send, status);
    if (coop->is_send) {
        ri_conn_clear_flags(coop->send->conn, RI_CONN_PLANE_WRITE);
    }
    if ((status == UCS_ERR_UNREACHABLE) && (peer != NULL)) {
        ri_local_fail(coop->worker, peer);
    }
}

/* Claim a part, of @a most units at the most, and copy it by the plane. */
static ri_coop_state_t coop_work(ri_coop_t *coop, uint32_t most)
{
    ri_slot_side_t side = coop->is_send ? RI_SLOT_BACK : RI_SLOT_FRONT;
    uint32_t dropped    = 0;
    ri_coop_state_t state;
    ri_slot_part_t part;
    ucs_status_t status;

    if (ri_slot_claim(coop->slot, coop->total, side, most, &part) != UCS_OK) {
        return RI_COOP_BROKEN;
    }
    if (part.count == 0) {
        coop->exhausted = 1;
        return RI_COOP_WAITS;
    }
    status = coop_move(coop, &part);
    if (status != UCS_OK) {
        coop_note_failure(coop, status);
        status = ri_coop_copy_fail(coop, RI_RING_SLOT_FAILED, &dropped);
    }
    /* Also if the slot is broken or closed: the other side may wait for what was claimed. */
    state = ri_coop_side_count(coop, part.count + dropped);
    return (status != UCS_OK) ? RI_COOP_BROKEN : state;
}

/* Whether this side has looked so often in vain for what the other one was to do. */
static int coop_is_in_vain(ri_coop_t *coop, unsigned most)
{
    return (coop->in_vain >= most) || (++coop->in_vain >= most);
}

/* @return What this side copies by the plane of a message that goes by no shelf, as
 * coop_by_plane().
 */
static uint32_t coop_by_plane_alone(ri_coop_t *coop)
{
    uint32_t method = coop->is_send ? ri_slot_method(coop->slot) :
                                      RI_RING_SLOT_METHOD_BOTH;
    int this_side   = coop->is_send ? (method == RI_RING_SLOT_METHOD_WRITE) :
                                      (coop->exchanged && !coop->by_writer);
    int other_side  = coop->is_send ? (method == RI_RING_SLOT_METHOD_READ) :
                                      (coop->exchanged && coop->by_writer);

    if (coop->in_row) {
        return ri_coop_row_most(coop);
    }
    if (other_side && !coop_is_in_vain(coop, ri_coop_side_patience(coop))) {
        return COOP_NONE;
    }
    return this_side ? RI_SLOT_CLAIM_ALONE : RI_SLOT_SHARE;
}

/* Whether no write of this sender's has failed: the receiver reads the rest of what it has. */
static int coop_can_write(const ri_coop_t *coop)
{
    return !!(coop->send->conn->flags & RI_CONN_PLANE_WRITE);
}

/* @return How many units this side may copy by the plane now, RI_SLOT_SHARE among them; or
 * COOP_NONE: it waits for the shelf, or the other side. A receiver that has a shelf begins by the
 * plane: until the sender has put something there it has nothing else to do. */
static uint32_t coop_by_plane(ri_coop_t *coop, int has_shelf)
{
    int begins = !coop->is_send && !coop->begun;

    coop->begun = 1;
    if (coop->shelf_only || (coop->is_send && (ri_coop_shelf_is_only_method(coop) ||
                                               !coop_can_write(coop)))) {
        return COOP_NONE;
    }
    if (!has_shelf) {
        return coop_by_plane_alone(coop);
    }
    if (begins && (coop->in_vain == 0)) {
        return RI_SLOT_CLAIM_MIN;
    }
    return !coop_is_in_vain(coop, RI_COOP_IN_VAIN_MAX) ? COOP_NONE :
           coop->by_shelf                              ? COOP_BESIDE_SHELF :
                                                         RI_SLOT_SHARE;
}

/* By way of the shelf. @return RI_COOP_WAITS if nothing can be put there or taken from there
 * now. */
static ri_coop_state_t coop_by_shelf(ri_coop_t *coop)
{
    return coop->is_send ? ri_coop_shelf_put(coop) : ri_coop_shelf_take(coop);
}

/* The sender of data in runs turns out to have no shelf for them, when the receiver waits for it:
 * the receiver is to ask for the data. @return What has become of the copy. */
static ri_coop_state_t coop_lacks_shelf(ri_coop_t *coop)
{
    uint32_t dropped;

    return (ri_coop_copy_fail(coop, RI_RING_SLOT_FAILED, &dropped) != UCS_OK) ?
                   RI_COOP_BROKEN :
                   ri_coop_side_count(coop, dropped);
}

/* Copy the next part: by way of the shelf if the other side is there, too. A receiver that was
 * there the last time may not have seen yet that the sender begins: it is waited for as if it
 * were. */
static ri_coop_state_t coop_copy_part(ri_coop_t *coop)
{
    int has_shelf = coop->is_send ? (!coop->exhausted && ri_coop_shelf_goes_by(coop)) :
                                    coop->takes;
    ri_coop_state_t state = has_shelf ? coop_by_shelf(coop) : RI_COOP_WAITS;
    uint32_t most;

    if ((state != RI_COOP_WAITS) || coop->exhausted) {
        return state;
    }
    if (coop->shelf_only && !has_shelf) {
        return coop_lacks_shelf(coop);
    }
    has_shelf = has_shelf || (coop->is_send && ri_coop_shelf_is_expected(coop));
    most      = coop_by_plane(coop, has_shelf);
    return (most == COOP_NONE) ? RI_COOP_WAITS : coop_work(coop, most);
}

ri_coop_state_t ri_coop_copy_wait(ri_coop_t *coop)
{
    uint64_t done = ri_slot_done(coop->slot);

    if (coop->broken || (done > coop->total)) {
        return RI_COOP_BROKEN;
    }
    if (done == coop->total) {
        return RI_COOP_DONE;
    }
    if (!coop->is_send && (ri_slot_failed(coop->slot) & RI_RING_SLOT_ABANDONED)) {
        return RI_COOP_DONE; /* said by the sender outside a copy */
    }
    if (!coop->is_send && ri_coop_side_is_withdrawn(coop)) {
        return RI_COOP_DONE;
    }
    if (ri_likely(++coop->polls < coop->next_check)) {
        return RI_COOP_WAITS;
    }
    coop->polls      = 0;
    coop->next_check = ri_min(2 * coop->next_check, COOP_POLLS_MAX);
    return ri_coop_copy_is_peer_gone(coop) ? RI_COOP_GONE : RI_COOP_WAITS;
}

ri_coop_state_t ri_coop_copy_step(ri_coop_t *coop, int may_copy)
{
    ri_coop_state_t state = RI_COOP_WAITS;

    if (may_copy) {
        state = coop_copy_part(coop);
    }
    /* A receiver may have read all of a send that has not had its turn, and parts from a shelf are
     * taken for each other. */
    return ((coop->exhausted || coop->is_send || coop->takes || coop->by_writer) &&
            (state == RI_COOP_WAITS)) ?
                   ri_coop_copy_wait(coop) :
                   state;
}
