/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's side of cooperative copies.
 */
#include "coop_send.h"
#include "coop_copy.h"
#include "coop_shelf.h"
#include "../../core/types/module.h"
#include "../rndv/rndv.h"
#include "../../core/send_req.h"

#include <string.h>

/* A count of each conn, for messages of data in runs. A message that the receiver could not take
 * from a shelf adds COOP_REFUSED, and a message that it could takes 1 off. From COOP_REFUSED_MAX
 * on, only one such message in COOP_REFUSED_AGAIN goes to a shelf, and UCP sends the others. */
#define COOP_REFUSED       2
#define COOP_REFUSED_MAX   16
#define COOP_REFUSED_AGAIN 64

/* The request of a copy has none any more. */
static void coop_free_send(ri_coop_t *coop)
{
    ri_conn_t *conn = coop->send->conn;
    uint64_t bit    = 1ul << coop->number;

    conn->coop.slots &= ~bit;
    conn->coop.shelf_used = coop->by_shelf;
    if (coop->offered) {
        conn->coop.unread |= bit; /* until the receiver clears busy */
    }
    coop->send->proto_state = NULL;
    ri_coop_copy_free(coop);
}

/* Describe the data of a send. */
static void coop_describe(const ri_send_req_t *req, ri_wire_rts_t *rts)
{
    if (ri_dt_is_spread(&req->data)) {
        rts->flags        = RI_WIRE_RTS_SPREAD;
        rts->num_segments = 1;
        rts->segments[0]  = (ri_segment_t){.length = req->data.length};
    } else {
        rts->num_segments = ri_dt_segments(&req->data, rts->segments,
                                           RI_WIRE_SEGMENTS_MAX);
    }
}

/* The receiver has matched a message: it says in the slot whether it waits for long ones. Without a
 * ring of its own no record would take that back. */
static void coop_note_hint(const ri_coop_t *coop)
{
    ri_conn_t *conn = coop->send->conn;
    uint32_t hint   = atomic_load_explicit(&coop->slot->hint, memory_order_relaxed);
    const ri_stream_t *stream;

    /* A hint for a later message is newer. How many messages came after each is compared, as the
     * latest hint may be more than half of all numbers ago. */
    if (!(hint & RI_RING_HINT_SAID) ||
        (conn->tx_sn - coop->send->sn > conn->tx_sn - conn->coop.hinted)) {
        return;
    }
    conn->coop.hinted = coop->send->sn;
    ucs_list_for_each(stream, &conn->peer->streams, peer_list) {
        if (stream->ring != NULL) {
            ri_peer_note_hint(conn->peer, (uint8_t)hint);
            return;
        }
    }
}

int ri_coop_send_learn_target(ri_coop_t *coop)
{
    if (coop->awaits_nack) {
        return 0;
    }
    if (!coop->known) {
        coop->memory.address = atomic_load_explicit(&coop->slot->address,
                                                    memory_order_acquire);
        coop->known          = (coop->memory.address != 0);
        if (coop->known) {
            coop_note_hint(coop);
            coop->in_row = (ri_slot_method(coop->slot) == RI_RING_SLOT_METHOD_ROW);
        }
    }
    return coop->known;
}

void ri_coop_send_end(ri_coop_t *coop, ri_coop_state_t state)
{
    ri_send_req_t *req  = coop->send;
    ucs_status_t status = UCS_OK;

    if (state != RI_COOP_DONE) {
        coop->worker->counters.rx_malformed += (state == RI_COOP_BROKEN);
        status = UCS_ERR_CONNECTION_RESET;
        ri_coop_send_give_up(req);
    } else if (ri_slot_failed(coop->slot) != 0) {
        coop->awaits_nack = 1;
        return;
    } else {
        if (coop->spread && (req->conn->coop.refused > 0)) {
            --req->conn->coop.refused;
        }
        coop_free_send(coop);
    }
    ri_send_end_wait(req, RI_SEND_WAIT_MATCH, status);
}

/* Sender: @return The number of a slot that is free, or -1. */
static int coop_find_slot(const ri_conn_t *conn)
{
    int i;

    for (i = 0; i < RI_RING_SLOTS; ++i) {
        if (!(conn->coop.slots & (1ul << i)) &&
            !ri_slot_is_busy(&conn->ring->control->slots[i])) {
            return i;
        }
    }
    return -1;
}

int ri_coop_send_has_slot(const ri_conn_t *conn)
{
    return (conn->ring != NULL) && (coop_find_slot(conn) >= 0);
}

int ri_coop_send_try_spread(ri_conn_t *conn)
{
    return (conn->coop.refused < COOP_REFUSED_MAX) ||
           (++conn->coop.untried % COOP_REFUSED_AGAIN == 0);
}

unsigned ri_coop_send_take(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    (void)terms;
    return ri_coop_send_has_slot(req->conn) ? 0 : RI_SEND_LACKS_SLOT;
}

ucs_status_t ri_coop_send_start(ri_send_req_t *req, const ri_rtr_t *rtr)
{
    ri_conn_t *conn   = req->conn;
    ri_rndv_rts_t rts = {.rts.flags = 0};
    int number        = (conn->ring != NULL) ? coop_find_slot(conn) : -1;
    uint64_t address  = (rtr != NULL) ? rtr->address : 0;
    ucs_status_t status;
    ri_coop_t *coop;

    coop_describe(req, &rts.rts);
    coop = (number >= 0) ?
                   ri_coop_copy_new(conn->worker, &conn->ring->control->slots[number],
                                    req->data.length) :
                   NULL;
    if (coop == NULL) {
        if (rtr != NULL) {
            ri_rtr_table_end(rtr, RI_RING_GRANT_FAILED);
        }
        return ri_rndv_send(req, &rts.rts);
    }

    coop->is_send        = 1;
    coop->send           = req;
    coop->number         = number;
    coop->known          = (address != 0);
    coop->offered        = (address != 0);
    coop->memory.address = address;
    coop->spread         = ri_dt_is_spread(&req->data);
    coop->shelf_only     = coop->spread;
    coop->num_segments   = rts.rts.num_segments;
    memcpy(coop->segments, rts.rts.segments, sizeof(coop->segments));
    conn->coop.slots |= 1ul << number;
    conn->coop.unread &= ~(1ul << number); /* a free slot's last copy was read */
    req->proto_state = coop;
    ri_coop_copy_attach(coop);

    ri_slot_init(coop->slot, req->id, address);
    if (rtr != NULL) {
        ri_rtr_table_end(rtr, RI_RING_GRANT_SLOT);
    }
    rts.rts.slot = number + 1;
    rts.rts.flags |= (coop->offered ? RI_WIRE_RTS_OFFERED : 0) |
                     (conn->row.on ? RI_WIRE_RTS_ROW : 0);
    status = ri_rndv_send(req, &rts.rts);
    if (UCS_STATUS_IS_ERR(status) && (req->proto_state != NULL)) {
        ri_slot_release(coop->slot); /* nobody was told; the copy ends with the request */
    }
    return status;
}

void ri_coop_send_offered(ri_send_req_t *req, uint64_t address)
{
    ri_coop_t *coop = req->proto_state;

    atomic_store_explicit(&coop->slot->address, address, memory_order_release);
    coop->offered        = 1;
    coop->known          = 1;
    coop->memory.address = address;
}

void ri_coop_send_answered(ri_send_req_t *req)
{
    ri_coop_t *coop = req->proto_state;

    if (coop != NULL) {
        req->conn->coop.refused += coop->spread ? COOP_REFUSED : 0;
        ri_slot_release(coop->slot);
        coop_free_send(coop);
    }
}

void ri_coop_send_give_up(ri_send_req_t *req)
{
    ri_coop_t *coop = req->proto_state;
    uint32_t dropped;

    if (coop == NULL) {
        return;
    }
    /* Before the slot is withdrawn: a receiver that waits for its turn must not ask for data that
     * nobody sends any more. One that has not matched the message yet looks at the slot only. */
    if (ri_slot_done(coop->slot) < coop->total) {
        ri_slot_fail(coop->slot, RI_RING_SLOT_ABANDONED);
    }
    if (coop->shelf_only || !ri_slot_withdraw(coop->slot)) {
        ri_coop_copy_fail(coop, 0, &dropped);
        ri_slot_add_done(coop->slot, dropped);
    }
    coop_free_send(coop);
}

ri_coop_t *ri_coop_send_of(const ri_send_req_t *req)
{
    return (req->proto->forget == ri_coop_send_give_up) ? req->proto_state : NULL;
}

/* @return The next copy of a conn's sends, or the first one; NULL: there is none. */
static ri_coop_t *coop_next_send(const ri_conn_t *conn, ri_coop_t *after)
{
    ucs_list_link_t *head = &conn->worker->coop.list;
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

/* The ring of a conn is about to be unmapped. */
static void coop_ring_closes(ri_conn_t *conn)
{
    ri_coop_t *coop;

    while ((conn->coop.slots != 0) && ((coop = coop_next_send(conn, NULL)) != NULL)) {
        ri_coop_send_give_up(coop->send);
    }
    conn->coop.unread = 0;
    ri_coop_shelf_close(conn);
}

int ri_coop_send_let_go(ri_conn_t *conn)
{
    ri_coop_t *coop = (conn->coop.slots != 0) ? coop_next_send(conn, NULL) : NULL;
    ri_coop_t *next;

    for (; coop != NULL; coop = next) {
        next = coop_next_send(conn, coop);
        if (!coop->offered && ri_slot_withdraw(coop->slot)) {
            coop->send->withdrawn = 1;
            coop_free_send(coop); /* the receiver reads or asks for it all */
        }
    }
    return (conn->coop.slots == 0) && !ri_coop_send_is_unread(conn);
}

uint64_t ri_coop_send_done(const ri_conn_t *conn)
{
    uint64_t done = 0;
    unsigned i;

    for (i = 0; (conn->coop.slots >> i) != 0; ++i) {
        if (conn->coop.slots & (1ul << i)) {
            done += ri_slot_done(&conn->ring->control->slots[i]);
        }
    }
    return done;
}

int ri_coop_send_is_unread(const ri_conn_t *conn)
{
    unsigned i;

    for (i = 0; (conn->coop.unread >> i) != 0; ++i) {
        if ((conn->coop.unread & (1ul << i)) &&
            ri_slot_is_busy(&conn->ring->control->slots[i])) {
            return 1;
        }
    }
    return 0;
}

int ri_coop_send_outlives_loss(const ri_send_req_t *req)
{
    return req->proto_state == NULL; /* a copy that has begun needs the ring, too */
}

static ucs_status_t coop_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    (void)terms;
    return ri_coop_send_start(req, NULL);
}

static const char *coop_why(const ri_select_param_t *facts)
{
    return facts->exchanges ? "both send at once, the first copies" :
           facts->in_row    ? "one of several, each side copies whole ones" :
                              "two copy faster than one";
}

const ri_send_proto_t ri_send_proto_coop = {.name          = "coop",
                                            .called        = "coop",
                                            .moves         = "both sides copy",
                                            .why           = coop_why,
                                            .wire_type     = RI_WIRE_RTS,
                                            .answer        = RI_SEND_ANSWER_ALWAYS,
                                            .take          = ri_coop_send_take,
                                            .start         = coop_start,
                                            .answered      = ri_coop_send_answered,
                                            .forget        = ri_coop_send_give_up,
                                            .outlives_loss = ri_coop_send_outlives_loss,
                                            RI_SEND_COUNTS(tx_coop)};

static void coop_conn_loses(ri_conn_t *conn)
{
    ri_coop_send_let_go(conn); /* the receiver reads these alone */
}

static int coop_ring_stops(ri_conn_t *conn)
{
    return !ri_coop_send_let_go(conn);
}

static int coop_conn_is_needed(const ri_conn_t *conn, ri_conn_need_t need)
{
    return (need == RI_CONN_NEED_MEMORY) && ri_conn_goes_on(conn) &&
           ri_coop_send_is_unread(conn);
}

const ri_module_t ri_module_coop_send = {.name           = "coop_send",
                                         .conn_loses     = coop_conn_loses,
                                         .conn_is_needed = coop_conn_is_needed,
                                         .ring_tx_stops  = coop_ring_stops,
                                         .ring_tx_closes = coop_ring_closes};
