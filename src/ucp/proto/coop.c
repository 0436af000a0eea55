/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coop.h"
#include "am_rndv.h"
#include "control.h"
#include "planes.h"
#include "rndv.h"
#include "../core/log.h"
#include "../core/memory.h"
#include "../tag/deliver.h"
#include "../tag/send.h"
#include "../../uct/shm/slot.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* How often the other side's last part is waited for before it is asked whether the process
 * still exists; then twice as often, and so on. */
#define COOP_POLLS     4096
#define COOP_POLLS_MAX (1u << 20)

/* While there is something to be read, one part in so many may be of a send. */
#define COOP_READS 16

/* Receiver: the worker cannot end while its memory may still be written; seconds. */
#define COOP_END_TIMEOUT 10

/* The memory of a ring that the stream has given up, while copies need its slots. */
typedef struct coop_ring {
    ri_ring_rx_t ring;
    unsigned users;
} coop_ring_t;

/* One side of a copy. */
struct ri_coop {
    ucs_list_link_t list; /* in worker->coops, oldest first */
    ri_worker_t *worker;
    ri_ring_slot_t *slot;
    uint32_t total;      /* units of the message */
    uint8_t is_send;     /* else a receive */
    uint8_t known;       /* memory is; always of a receive */
    uint8_t offered;     /* of a send: known before the receiver had the RTS */
    uint8_t exhausted;   /* nothing is left to be claimed */
    uint8_t broken;      /* what the slot says cannot be true */
    uint8_t settled;     /* of a send: all is done, but void; waits for NACK */
    uint8_t number;      /* of a send's slot */
    ucs_status_t status; /* of a receive: UCS_OK, or how it has to end */
    unsigned polls;      /* while it waits for the other side alone */
    unsigned next_check; /* so many of them until it is looked whether that exists */
    ri_send_req_t *send;
    ri_recv_req_t *recv;
    ri_stream_t *stream; /* of a receive */
    uint32_t req_id;     /* likewise: of the sender's request */
    coop_ring_t *ring;   /* likewise: NULL while the stream has it */
    ri_segment_t memory; /* of the receive */
    size_t num_segments; /* of the send */
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
};

/* What became of a copy. */
typedef enum coop_state {
    COOP_WAITS,  /* for the other side; nothing was to be done */
    COOP_WORKED, /* something was copied, more is to come */
    COOP_DONE,   /* nothing more comes, from either side */
    COOP_BROKEN, /* the other side breaks the protocol */
    COOP_GONE    /* ... does not exist any more */
} coop_state_t;

static ri_coop_t *coop_new(ri_worker_t *worker, ri_ring_slot_t *slot, size_t length)
{
    ri_coop_t *coop = calloc(1, sizeof(*coop));

    if (coop == NULL) {
        return NULL;
    }
    coop->worker        = worker;
    coop->slot          = slot;
    coop->total         = ri_slot_units(length);
    coop->next_check    = COOP_POLLS;
    coop->memory.length = length;
    return coop;
}

static void coop_attach(ri_coop_t *coop)
{
    ri_worker_t *worker = coop->worker;

    ucs_list_add_tail(&worker->coops, &coop->list);
    ++worker->num_coops;
    worker->attention = 1;
}

static void coop_detach_send(ri_coop_t *coop)
{
    ri_conn_t *conn = coop->send->conn;
    uint32_t bit    = 1u << coop->number;

    conn->coop_slots &= ~bit;
    if (coop->offered) {
        conn->coop_unread |= bit; /* until the receiver clears busy */
    }
    coop->send->coop = NULL;
}

static void coop_detach_recv(ri_coop_t *coop)
{
    coop_ring_t *ring = coop->ring;

    --coop->stream->num_coops;
    if ((ring != NULL) && (--ring->users == 0)) {
        ri_ring_rx_close(&ring->ring);
        free(ring);
    }
}

static void coop_free(ri_coop_t *coop)
{
    ucs_list_del(&coop->list);
    --coop->worker->num_coops;
    if (coop->is_send) {
        coop_detach_send(coop);
    } else {
        coop_detach_recv(coop);
    }
    free(coop);
}

static ri_peer_t *coop_peer(const ri_coop_t *coop)
{
    return coop->is_send ? coop->send->conn->peer : coop->stream->peer;
}

/* @return Whether the other process cannot be writing or reading any more. */
static int coop_is_peer_gone(const ri_coop_t *coop)
{
    const ri_peer_t *peer = coop_peer(coop);

    return (peer != NULL) && ri_planes_is_gone(peer);
}

/* Move a part that was claimed. */
static ucs_status_t coop_move(ri_coop_t *coop, const ri_slot_part_t *part)
{
    ri_peer_t *peer        = coop_peer(coop);
    ri_plane_ep_t *ep      = (peer != NULL) ? peer->plane_ep : NULL;
    ri_transfer_t transfer = {.local      = &coop->memory,
                              .num_local  = 1,
                              .remote     = coop->segments,
                              .num_remote = coop->num_segments,
                              .offset     = ri_slot_offset(part),
                              .length     = ri_slot_length(part, coop->memory.length)};
    ucs_status_t status;

    if (ep == NULL) {
        return UCS_ERR_UNREACHABLE;
    }
    if (!coop->is_send) {
        status = ep->plane->ops->read(ep, &transfer);
        coop->stream->counters.rx_read_bytes += (status == UCS_OK) ? transfer.length : 0;
    } else {
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
    return status;
}

/* This side cannot copy: leave nothing for either. @return UCS_OK or
 * UCS_ERR_INVALID_PARAM. */
static ucs_status_t coop_fail(ri_coop_t *coop, uint32_t why, uint32_t *count_p)
{
    ri_slot_side_t side = coop->is_send ? RI_SLOT_BACK : RI_SLOT_FRONT;
    ri_slot_part_t part = {0};
    ucs_status_t status;

    status          = ri_slot_claim(coop->slot, coop->total, side, 1, &part);
    coop->exhausted = 1;
    *count_p        = part.count;
    if (why != 0) {
        ri_slot_fail(coop->slot, why);
    }
    return status;
}

/* What does a failed copy mean for the next ones? */
static void coop_note_failure(ri_coop_t *coop, ucs_status_t status)
{
    ri_peer_t *peer = coop_peer(coop);

    ri_trace(&coop->worker->trace, RI_TRACE_COOP_FAIL, coop->is_send, status);
    if (coop->is_send) {
        coop->send->conn->flags &= ~RI_CONN_PLANE_WRITE;
    }
    if ((status == UCS_ERR_UNREACHABLE) && (peer != NULL)) {
        ri_planes_failed(coop->worker, peer);
    }
}

/* Claim a part and copy it. */
static coop_state_t coop_work(ri_coop_t *coop)
{
    ri_slot_side_t side = coop->is_send ? RI_SLOT_BACK : RI_SLOT_FRONT;
    uint32_t dropped    = 0;
    ri_slot_part_t part;
    ucs_status_t status;
    uint64_t done;

    if (ri_slot_claim(coop->slot, coop->total, side, 0, &part) != UCS_OK) {
        return COOP_BROKEN;
    }
    if (part.count == 0) {
        coop->exhausted = 1;
        return COOP_WAITS;
    }
    status = coop_move(coop, &part);
    if (status != UCS_OK) {
        coop_note_failure(coop, status);
        if (coop_fail(coop, RI_RING_SLOT_FAILED, &dropped) != UCS_OK) {
            return COOP_BROKEN;
        }
    }
    done = ri_slot_add_done(coop->slot, part.count + dropped);
    return (done < coop->total)  ? COOP_WORKED :
           (done == coop->total) ? COOP_DONE :
                                   COOP_BROKEN;
}

/* Only the other side has something to do, and does it within a call. */
static coop_state_t coop_wait(ri_coop_t *coop)
{
    uint64_t done = ri_slot_done(coop->slot);

    if (coop->broken || (done > coop->total)) {
        return COOP_BROKEN;
    }
    if (done == coop->total) {
        return COOP_DONE;
    }
    if (!coop->is_send && (ri_slot_failed(coop->slot) & RI_RING_SLOT_ABANDONED)) {
        return COOP_DONE; /* said by the sender outside a copy */
    }
    if (ri_likely(++coop->polls < coop->next_check)) {
        return COOP_WAITS;
    }
    coop->polls      = 0;
    coop->next_check = ri_min(2 * coop->next_check, COOP_POLLS_MAX);
    return coop_is_peer_gone(coop) ? COOP_GONE : COOP_WAITS;
}

static coop_state_t coop_step(ri_coop_t *coop, int may_copy)
{
    coop_state_t state = COOP_WAITS;

    if (!coop->exhausted && may_copy) {
        state = coop_work(coop);
    }
    /* A receiver may have read all of a send that has not had its turn. */
    return ((coop->exhausted || coop->is_send) && (state == COOP_WAITS)) ?
                   coop_wait(coop) :
                   state;
}

/* Sender: may it copy, or has it to wait for something else? */
static int coop_is_ready(ri_coop_t *coop)
{
    if (coop->settled) {
        return 0;
    }
    if (!coop->known) {
        coop->memory.address = atomic_load_explicit(&coop->slot->address,
                                                    memory_order_acquire);
        coop->known          = (coop->memory.address != 0);
    }
    return coop->known;
}

static void coop_end_send(ri_coop_t *coop, coop_state_t state)
{
    ri_send_req_t *req  = coop->send;
    ucs_status_t status = UCS_OK;

    if (state != COOP_DONE) {
        coop->worker->counters.rx_malformed += (state == COOP_BROKEN);
        status = UCS_ERR_CONNECTION_RESET;
        ri_coop_give_up(req);
    } else if (ri_slot_failed(coop->slot) != 0) {
        coop->settled = 1;
        return;
    } else {
        coop_free(coop);
    }
    ri_send_end_wait(req, RI_SEND_WAIT_MATCH, status);
}

/* A receive's copy has ended. @return The receive's status, or UCS_INPROGRESS if the data
 * comes another way. The slot and @a coop are not to be used any more. */
static ucs_status_t coop_end_recv(ri_coop_t *coop, coop_state_t state)
{
    ri_stream_t *stream = coop->stream;
    ri_recv_req_t *recv = coop->recv;
    uint32_t req_id     = coop->req_id;
    ucs_status_t status = coop->status;
    uint32_t failed     = ri_slot_failed(coop->slot);

    if ((state != COOP_DONE) || (failed & RI_RING_SLOT_ABANDONED) ||
        (failed && (stream->broken || coop_is_peer_gone(coop)))) {
        status = UCS_ERR_CONNECTION_RESET;
    }
    ri_trace(&coop->worker->trace, RI_TRACE_COOP_DONE, recv->info.length, failed);
    if (((status == UCS_OK) && !failed) || (failed & RI_RING_SLOT_ABANDONED) ||
        (state == COOP_BROKEN)) {
        ri_slot_release(coop->slot); /* or an answer does it */
    }
    coop_free(coop);
    if (state == COOP_BROKEN) {
        ri_deliver_breaking(stream, "a malformed slot in its ring", RI_WIRE_RTS, 0);
    }
    return ((status == UCS_OK) && failed) ? ri_am_rndv_ask(recv, stream, req_id, 0) :
                                            status;
}

/* A copy has ended in progress. */
static void coop_end(ri_coop_t *coop, coop_state_t state)
{
    ri_stream_t *stream = coop->stream;
    ri_recv_req_t *recv = coop->recv;
    ucs_status_t status;

    if (coop->is_send) {
        coop_end_send(coop, state);
        return;
    }
    ++stream->busy;
    status = coop_end_recv(coop, state);
    if (status != UCS_INPROGRESS) {
        ri_deliver_received(recv, status);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
}

/* Whether there is something to be read. */
static int coop_is_reading(ri_worker_t *worker)
{
    ri_coop_t *coop;

    ucs_list_for_each(coop, &worker->coops, list) {
        if (!coop->is_send && !coop->exhausted) {
            return 1;
        }
    }
    return 0;
}

/* Where messages go both ways each side does best to read its own. But a receiver that has
 * other things to do waits for its sender, so now and then sends have their turn. */
static int coop_is_turn_of_sends(ri_worker_t *worker)
{
    return !coop_is_reading(worker) || (++worker->coop_turn % COOP_READS == 0);
}

unsigned ri_coop_progress(ri_worker_t *worker)
{
    unsigned count  = worker->num_coops;
    unsigned events = 0;
    int sends       = coop_is_turn_of_sends(worker);
    coop_state_t state;
    ri_coop_t *coop;

    /* One round, from the oldest: callbacks may end others, or add some. One part in all, so
     * that the caller has its turn. */
    for (; (count > 0) && (worker->num_coops > 0); --count) {
        coop = ucs_list_extract_head(&worker->coops, ri_coop_t, list);
        ucs_list_add_tail(&worker->coops, &coop->list);
        if (coop->is_send && !coop_is_ready(coop)) {
            continue;
        }
        state = coop_step(coop, (events == 0) && (coop->is_send == sends));
        if (state == COOP_WAITS) {
            continue;
        }
        ++events;
        if (state != COOP_WORKED) {
            coop_end(coop, state);
        }
    }
    return events;
}

/* Sender: @return The number of a slot that is free, or -1. */
static int coop_find_slot(const ri_conn_t *conn)
{
    int i;

    for (i = 0; i < RI_RING_SLOTS; ++i) {
        if (!(conn->coop_slots & (1u << i)) &&
            !ri_slot_is_busy(&conn->ring->control->slots[i])) {
            return i;
        }
    }
    return -1;
}

int ri_coop_is_possible(const ri_conn_t *conn, size_t length)
{
    uint32_t planes = RI_CONN_PLANE_READ | RI_CONN_PLANE_WRITE;

    /* Without rings of its own, this worker may sleep, and nothing would wake it up. */
    return (conn->ring != NULL) && !(conn->flags & RI_CONN_NO_RING) &&
           ((conn->flags & planes) == planes) && (conn->peer != NULL) &&
           (conn->peer->plane_ep != NULL) && (conn->worker->max_rings > 0) &&
           (length <= RI_SLOT_LENGTH_MAX) && (coop_find_slot(conn) >= 0);
}

int ri_coop_is_ring_open(const ri_conn_t *conn)
{
    return (conn->ring != NULL) && ucs_list_is_empty((ucs_list_link_t *)&conn->pending) &&
           (ri_ring_tx_reserve(conn->ring, RI_WIRE_RTS_MAX) != NULL);
}

ucs_status_t ri_coop_start(ri_send_req_t *req, const ri_rtr_t *rtr)
{
    ri_conn_t *conn   = req->conn;
    ri_rndv_rts_t rts = {.rts.flags = 0};
    int number        = (conn->ring != NULL) ? coop_find_slot(conn) : -1;
    uint64_t address  = (rtr != NULL) ? rtr->address : 0;
    ucs_status_t status;
    ri_coop_t *coop;

    rts.rts.num_segments = ri_rndv_segments(&req->data, rts.rts.segments,
                                            RI_WIRE_SEGMENTS_MAX);
    coop = (number >= 0) ? coop_new(conn->worker, &conn->ring->control->slots[number],
                                    req->data.length) :
                           NULL;
    if (coop == NULL) {
        if (rtr != NULL) {
            ri_rtr_end(rtr, RI_RING_GRANT_FAILED);
        }
        return ri_rndv_send(req, &rts.rts);
    }

    coop->is_send        = 1;
    coop->send           = req;
    coop->number         = number;
    coop->known          = (address != 0);
    coop->offered        = (address != 0);
    coop->memory.address = address;
    coop->num_segments   = rts.rts.num_segments;
    memcpy(coop->segments, rts.rts.segments, sizeof(coop->segments));
    conn->coop_slots |= 1u << number;
    conn->coop_unread &= ~(1u << number); /* it was read: the slot was free */
    req->coop = coop;
    coop_attach(coop);

    ri_slot_init(coop->slot, req->id, address);
    if (rtr != NULL) {
        ri_rtr_end(rtr, RI_RING_GRANT_SLOT);
    }
    rts.rts.slot  = number + 1;
    rts.rts.flags = coop->offered ? RI_WIRE_RTS_OFFERED : 0;
    status        = ri_rndv_send(req, &rts.rts);
    if (UCS_STATUS_IS_ERR(status) && (req->coop != NULL)) {
        ri_slot_release(coop->slot); /* nobody was told */
        ri_coop_give_up(req);
    }
    return status;
}

void ri_coop_offer(ri_send_req_t *req, uint64_t address)
{
    ri_coop_t *coop = req->coop;

    atomic_store_explicit(&coop->slot->address, address, memory_order_release);
    coop->offered        = 1;
    coop->known          = 1;
    coop->memory.address = address;
}

void ri_coop_answered(ri_send_req_t *req)
{
    if (req->coop != NULL) {
        ri_slot_release(req->coop->slot);
        coop_free(req->coop);
    }
}

void ri_coop_give_up(ri_send_req_t *req)
{
    ri_coop_t *coop = req->coop;
    uint32_t dropped;

    if (!ri_slot_withdraw(coop->slot)) {
        coop_fail(coop, 0, &dropped);
        if ((dropped > 0) || (ri_slot_done(coop->slot) < coop->total)) {
            ri_slot_fail(coop->slot, RI_RING_SLOT_ABANDONED);
            ri_slot_add_done(coop->slot, dropped);
        }
    }
    coop_free(coop);
}

/* @return The next copy of a conn's sends, or the first one; NULL: there is none. */
static ri_coop_t *coop_next_send(const ri_conn_t *conn, ri_coop_t *after)
{
    ucs_list_link_t *head = &conn->worker->coops;
    ucs_list_link_t *at   = (after != NULL) ? after->list.next : head->next;
    ri_coop_t *coop;

    for (; at != head; at = at->next) {
        coop = ucs_container_of(at, ri_coop_t, list);
        if (coop->is_send && (coop->send->conn == conn)) {
            return coop;
        }
    }
    return NULL;
}

void ri_coop_give_up_all(ri_conn_t *conn)
{
    ri_coop_t *coop;

    while ((conn->coop_slots != 0) && ((coop = coop_next_send(conn, NULL)) != NULL)) {
        ri_coop_give_up(coop->send);
    }
    conn->coop_unread = 0;
}

int ri_coop_let_go(ri_conn_t *conn)
{
    ri_coop_t *coop = (conn->coop_slots != 0) ? coop_next_send(conn, NULL) : NULL;
    ri_coop_t *next;

    for (; coop != NULL; coop = next) {
        next = coop_next_send(conn, coop);
        if (!coop->offered && ri_slot_withdraw(coop->slot)) {
            coop_free(coop); /* the receiver reads it all, and says FIN */
        }
    }
    return (conn->coop_slots == 0) && !ri_coop_is_unread(conn);
}

int ri_coop_is_unread(const ri_conn_t *conn)
{
    unsigned i;

    for (i = 0; (conn->coop_unread >> i) != 0; ++i) {
        if ((conn->coop_unread & (1u << i)) &&
            ri_slot_is_busy(&conn->ring->control->slots[i])) {
            return 1;
        }
    }
    return 0;
}

/* Receiver: @return The slot that an RTS names, or NULL if it is not there any more. */
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
    ri_coop_t *coop = coop_new(stream->worker, slot, recv->info.length);

    if (coop != NULL) {
        coop->known          = 1;
        coop->recv           = recv;
        coop->stream         = stream;
        coop->req_id         = req_id;
        coop->memory.address = (uintptr_t)recv->data.buffer;
        coop->num_segments   = rts->num_segments;
        memcpy(coop->segments, rts->segments,
               rts->num_segments * sizeof(rts->segments[0]));
        ++stream->num_coops;
        coop_attach(coop);
    }
    return coop;
}

ucs_status_t ri_coop_recv(ri_recv_req_t *recv, ri_stream_t *stream, uint32_t req_id,
                          const ri_wire_rts_t *rts, int fits)
{
    ri_ring_slot_t *slot = coop_slot_of(stream, req_id, rts);
    uint64_t address     = (uintptr_t)recv->data.buffer;
    int usable           = fits && ri_dt_is_contig(&recv->data) && (address != 0) &&
                 ri_memory_of_recv_is_host(recv) &&
                 (recv->info.length <= RI_SLOT_LENGTH_MAX);
    uint64_t known = (slot != NULL) ?
                             atomic_load_explicit(&slot->address, memory_order_acquire) :
                             0;
    int offered    = (rts->flags & RI_WIRE_RTS_OFFERED) || recv->rtr_slot || (known != 0);
    coop_state_t state;
    ri_coop_t *coop;

    if (slot == NULL) {
        /* The send may have ended with all written, which nobody can tell any more. */
        return offered ? UCS_ERR_CONNECTION_RESET : UCS_ERR_NO_ELEM;
    }
    /* It is about to say so if it has just taken the RTR. */
    if (offered && (!usable || ((known != 0) && (known != address)))) {
        ri_deliver_breaking(stream, "a message for another receive", RI_WIRE_RTS, 0);
        return UCS_ERR_CONNECTION_RESET;
    }
    coop = (offered || (usable && (stream->peer->plane_ep != NULL))) ?
                   coop_new_recv(recv, stream, req_id, rts, slot) :
                   NULL;
    if (coop == NULL) {
        return offered ? UCS_ERR_NO_MEMORY : UCS_ERR_NO_ELEM;
    }
    if (known == 0) {
        atomic_store_explicit(&slot->address, address, memory_order_release);
    }

    state = coop_step(coop, 1);
    if (coop->exhausted && ri_slot_is_withdrawn(slot)) {
        coop_free(coop);
        return UCS_ERR_NO_ELEM;
    }
    return (state >= COOP_DONE) ? coop_end_recv(coop, state) : UCS_INPROGRESS;
}

/* Receiver: the sender gets no more. What it has claimed is waited for in progress. */
static void coop_stop_recv(ri_coop_t *coop)
{
    uint32_t dropped;

    if (coop->exhausted) {
        return;
    }
    coop->broken = (coop_fail(coop, 0, &dropped) != UCS_OK);
    if (dropped > 0) {
        coop->status = UCS_ERR_CONNECTION_RESET;
        ri_slot_fail(coop->slot, RI_RING_SLOT_FAILED);
        ri_slot_add_done(coop->slot, dropped);
    }
}

static ri_coop_t *coop_of_slot(const ri_stream_t *stream, const ri_ring_slot_t *slot)
{
    ri_coop_t *coop;

    ucs_list_for_each(coop, &stream->worker->coops, list) {
        if (coop->slot == slot) {
            return coop;
        }
    }
    return NULL;
}

/* Receiver: let the sender write no more of a message whose RTS has not been matched, and
 * wait for what it is writing just now. */
static void coop_close_slot(const ri_stream_t *stream, ri_ring_slot_t *slot, double start)
{
    uint64_t claimed = atomic_fetch_or_explicit(&slot->claimed, RI_RING_SLOT_WITHDRAWN,
                                                memory_order_acq_rel);
    uint32_t writing = (claimed & ~RI_RING_SLOT_WITHDRAWN) >> 32;

    while ((ri_slot_done(slot) < writing) && !ri_planes_is_gone(stream->peer)) {
        if (ri_time() - start > COOP_END_TIMEOUT) {
            ri_error("a peer that was writing a message does not go on; the memory of "
                     "its receive is given up");
            break;
        }
        sched_yield();
    }
}

void ri_coop_close_slots(ri_stream_t *stream)
{
    double start = ri_time();
    ri_ring_slot_t *slot;
    unsigned i;

    for (i = 0; i < RI_RING_SLOTS; ++i) {
        slot = &stream->ring->control->slots[i];
        if (!ri_slot_is_busy(slot) || (coop_of_slot(stream, slot) != NULL)) {
            continue;
        }
        if (atomic_load_explicit(&slot->address, memory_order_acquire) != 0) {
            coop_close_slot(stream, slot, start);
        }
        ri_slot_release(slot);
    }
}

void ri_coop_unmap(ri_stream_t *stream)
{
    coop_ring_t *ring;
    ri_coop_t *coop;

    ri_coop_close_slots(stream);
    if (stream->num_coops == 0) {
        ri_ring_rx_close(stream->ring);
        return;
    }

    ring = malloc(sizeof(*ring));
    if (ring != NULL) { /* else it stays mapped for ever */
        ring->ring  = *stream->ring;
        ring->users = 0;
    }
    ucs_list_for_each(coop, &stream->worker->coops, list) {
        if (!coop->is_send && (coop->stream == stream) && (coop->ring == NULL)) {
            coop_stop_recv(coop);
            coop->ring = ring;
            if (ring != NULL) {
                ++ring->users;
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

    ucs_list_for_each(coop, &worker->coops, list) {
        if (!coop->is_send) {
            return coop;
        }
    }
    return NULL;
}

void ri_coop_end_all(ri_worker_t *worker)
{
    coop_state_t state;
    ri_coop_t *coop;
    double start;

    while ((coop = coop_find_recv(worker)) != NULL) {
        coop_stop_recv(coop);
        start = ri_time();
        while ((state = coop_wait(coop)) == COOP_WAITS) {
            if (ri_time() - start > COOP_END_TIMEOUT) {
                ri_error("a peer that was writing a message does not go on; the memory "
                         "of its receive is given up");
                state = COOP_GONE;
                break;
            }
            sched_yield();
        }
        /* after the last look at the slot's count: the sender may use the slot again */
        if (!coop->stream->broken && (coop->status != UCS_OK)) {
            ri_control_answer(coop->stream, RI_WIRE_FIN, coop->req_id);
        }
        coop_end(coop, state);
    }
}
