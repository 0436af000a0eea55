/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs that have come and are kept; a write by one with all that may become of it; then what is
 * told of used RTRs, to a receiver that asks (REVOKE) or when the conn closes.
 */
#include "rtr_send_net.h"
#include "../../../ucs/settings.h"
#include "../../core/activity.h"
#include "../../core/types/module.h"
#include "../../core/send_req.h"
#include "../../link/control.h"
#include "../../link/net_transfer.h"
#include "../../link/way.h"
#include "../rndv/rndv.h"
#include "../rndv/send_keys.h"
#include "rtr_known.h"
#include "rtr_layout.h"
#include "rtr_net.h"
#include "rtr_write.h"

#include <stdlib.h>
#include <string.h>

/* A write that is under way. Till it starts it is the request's proto_state. */
typedef struct rtr_send_net_write {
    ri_keys_t keys; /* of its data */
    ri_net_transfer_t op;
    ri_send_req_t *req; /* it waits, whatever becomes of its conn */
} rtr_send_net_write_t;

int ri_rtr_send_net_open(ri_conn_t *conn)
{
    const ri_plane_t *plane = conn->peer->way.ep->plane;

    if (!ri_rtr_net_on ||
        !(plane->capabilities & (RI_PLANE_NOTIFY | RI_PLANE_MESSAGES)) ||
        (conn->rtr.words != NULL)) {
        return 0;
    }
    ri_rtr_known_open(conn);
    if (conn->rtr.table == NULL) {
        return 0;
    }
    conn->rtr.untold = calloc(1, sizeof(*conn->rtr.untold));
    if (conn->rtr.untold == NULL) {
        return 0;
    }
    conn->rtr.words = calloc(1, sizeof(*conn->rtr.words));
    if (conn->rtr.words == NULL) {
        free(conn->rtr.untold);
        conn->rtr.untold = NULL;
    }
    return conn->rtr.words != NULL;
}

/* The count of untold writes has changed: the messages that follow go by it. */
static void rtr_send_net_note_untold(ri_conn_t *conn)
{
    if (conn->rtr.untold->count > 0) {
        ri_conn_set_flags(conn, RI_CONN_UNTOLD);
    } else {
        ri_conn_clear_flags(conn, RI_CONN_UNTOLD);
    }
    ri_conn_update_fast(conn);
}

void ri_rtr_send_net_untold(ri_conn_t *conn, uint32_t sn, const ri_rtr_t *rtr)
{
    ri_untold_t *untold = conn->rtr.untold;

    if (untold->count == RI_WIRE_RTR_ENTRIES) {
        return; /* a receiver that offers more than it may */
    }
    untold->write[untold->count].sn  = sn;
    untold->write[untold->count].rtr = ri_wire_used_rtr(rtr->index, rtr->generation);
    ++untold->count;
    rtr_send_net_note_untold(conn);
}

void ri_rtr_send_net_not_untold(ri_conn_t *conn, uint32_t sn)
{
    ri_untold_t *untold = conn->rtr.untold;
    unsigned i;

    for (i = 0; i < untold->count; ++i) {
        if (untold->write[i].sn == sn) {
            --untold->count;
            memmove(&untold->write[i], &untold->write[i + 1],
                    (untold->count - i) * sizeof(untold->write[0]));
            rtr_send_net_note_untold(conn);
            return;
        }
    }
}

/* A message of another form takes the next number: tell the receiver (USED) which of its receives
 * are being written for those before it, so that it need not wait for them. None is untold
 * afterwards. */
static void rtr_send_net_tell(ri_conn_t *conn)
{
    ri_untold_t *untold = conn->rtr.untold;
    ri_wire_msg_t msg   = {.type = RI_WIRE_USED, .id = conn->remote_id};
    unsigned i;

    for (i = 0; i < untold->count; ++i) {
        if (msg.used_count == 0) {
            msg.value = untold->write[i].sn;
        }
        msg.used[msg.used_count++] = untold->write[i].rtr;
        if ((msg.used_count == RI_WIRE_USED_MAX) || (i + 1 == untold->count) ||
            (untold->write[i + 1].sn != untold->write[i].sn + 1)) {
            ri_control_send_on(conn, &msg);
            memset(msg.used, 0, sizeof(msg.used));
            msg.used_count = 0;
        }
    }
    untold->count = 0;
    rtr_send_net_note_untold(conn);
}

/* Whether the immediate can tell how long the message is. */
static int rtr_send_net_can_tell_length(const ri_send_req_t *req, const ri_rtr_t *rtr)
{
    return ((req->data.length == rtr->length) &&
            ((rtr->grid == NULL) || (rtr->grid->run >= RI_GRID_RUN_MIN)) &&
            ((rtr->layout == NULL) || ri_rtr_layout_is_worth(rtr))) ||
           (!ri_rtr_table_is_in_runs(rtr) && ri_dt_is_contig(&req->data) &&
            (req->data.length <= req->conn->peer->way.ep->plane->notify_max));
}

/* The notification of a write has to tell the receiver all of the message. */
static uint64_t rtr_send_net_room(const ri_send_req_t *req, const ri_rtr_t *rtr)
{
    const ri_conn_t *conn = req->conn;

    /* The receiver takes the tag to be that of the RTR, which may have a mask. */
    return ((conn->flags & RI_CONN_WAY) && (conn->peer->way.number == rtr->way) &&
            (ri_way_use_ep(conn->peer) != NULL) && (req->tag == rtr->tag) &&
            (conn->tx_sn + 1 - rtr->seen < RI_WIRE_IMM_WINDOW) &&
            rtr_send_net_can_tell_length(req, rtr)) ?
                   rtr->length :
                   0;
}

/* With the RTR used there is no way back: what can fail comes before. */
static unsigned rtr_send_net_take(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    rtr_send_net_write_t *write = malloc(sizeof(*write));

    if (write == NULL) {
        return RI_SEND_LACKS_RTR;
    }
    if (!ri_send_keys_register(req, &write->keys)) {
        free(write);
        return RI_SEND_LACKS_RTR;
    }
    if (!ri_rtr_table_use(terms->rtr)) {
        ri_keys_release(&write->keys);
        free(write);
        return RI_SEND_LACKS_RTR;
    }
    req->proto_state = write;
    return 0;
}

static void rtr_send_net_forget(ri_send_req_t *req)
{
    rtr_send_net_write_t *write = req->proto_state;

    if (write != NULL) {
        req->proto_state = NULL;
        ri_keys_release(&write->keys);
        free(write);
    }
}

/* Send a message again that was written, perhaps. @return As ri_rndv_send(); after an error it can
 * be tried again, unless the conn has failed. */
static ucs_status_t rtr_send_net_send_again(ri_send_req_t *req, uint32_t way)
{
    ri_rndv_rts_t rts = {.rts.flags = RI_WIRE_RTS_AGAIN, .rts.way = (uint16_t)way};
    ri_conn_t *conn   = req->conn;
    uint64_t tag      = conn->tx_tag;
    ucs_status_t status;

    req->id = ri_id_alloc(&req->super.worker->ids.sends, req);
    if (req->id == 0) {
        return UCS_ERR_NO_MEMORY;
    }
    rts.rts.num_segments = ri_dt_segments(&req->data, rts.rts.segments,
                                          RI_WIRE_SEGMENTS_MAX);
    req->wire_type       = RI_WIRE_RTS;
    ri_send_begin_wait(req, RI_SEND_WAIT_MATCH);
    status = ri_rndv_send_payload_am(req, req->id, &rts.rts, ri_wire_rts_length(&rts.rts),
                                     0);
    if (req->conn == NULL) {
        return status; /* it has ended with its conn */
    }
    conn->tx_tag = tag; /* it is not the latest message */
    if (UCS_STATUS_IS_ERR(status)) {
        ri_id_free(&req->super.worker->ids.sends, req->id);
        req->id = 0;
        ri_send_drop_wait(req, RI_SEND_WAIT_MATCH);
    } else {
        ++conn->counters.tx_again;
        ri_send_drop_wait(req, RI_SEND_WAIT_WRITE);
    }
    return status;
}

uint32_t ri_rtr_send_net_immediate(const ri_send_req_t *req, const ri_rtr_t *rtr)
{
    return (req->sn & RI_WIRE_IMM_NUMBER) |
           ((req->data.length < rtr->length) ? RI_WIRE_IMM_SHORT : 0) |
           ((uint32_t)rtr->index << RI_WIRE_IMM_ENTRY_SHIFT) |
           ((rtr->generation & RI_WIRE_IMM_GEN_MASK) << RI_WIRE_IMM_GEN_SHIFT);
}

/* The way has failed: have the message read. Others that follow may have had their turn, and be
 * read by now; so it is not lost for want of memory, but sent when there is some. */
static void rtr_send_net_write_failed(ri_net_transfer_t *op, int ending)
{
    rtr_send_net_write_t *write = ri_container_of(op, rtr_send_net_write_t, op);
    ri_send_req_t *req          = write->req;
    ri_conn_t *conn             = req->conn;
    ucs_status_t status         = ending ? UCS_ERR_CANCELED : UCS_OK;

    if ((conn != NULL) && !ending) {
        status = rtr_send_net_send_again(req, op->way);
        if ((req->conn != NULL) && ri_net_transfer_may_try_again(status)) {
            op->end = rtr_send_net_write_failed;
            ri_net_transfer_again(op);
            return;
        }
    }
    free(write);
    if ((req->conn == NULL) || ending) {
        ri_send_end_wait(req, RI_SEND_WAIT_WRITE, status);
    } else if (UCS_STATUS_IS_ERR(status)) {
        ri_send_drop_wait(req, RI_SEND_WAIT_WRITE);
        ri_send_begin_wait(req, RI_SEND_WAIT_CONN);
        ri_conn_lose(conn, req->sn, status);
    }
}

/* A write has ended. */
static void rtr_send_net_write_end(ri_net_transfer_t *op, int ending)
{
    rtr_send_net_write_t *write = ri_container_of(op, rtr_send_net_write_t, op);
    ri_send_req_t *req          = write->req;
    ri_worker_t *worker         = op->worker;
    ucs_status_t status         = op->status;
    ri_conn_t *conn             = req->conn;

    ri_trace(&worker->trace, RI_TRACE_SEND_WRITE, req->data.length, status);
    if (status != UCS_OK) {
        ri_net_transfer_lost_way(op, conn);
    }
    ri_keys_release(&write->keys);
    ri_activity_note_message(worker);
    if (conn != NULL) {
        ri_rtr_send_net_not_untold(conn, req->sn);
    }
    if ((conn != NULL) && (status != UCS_OK)) {
        rtr_send_net_write_failed(op, ending);
        return;
    }
    free(write);
    if (conn != NULL) {
        conn->counters.tx_written_bytes += req->data.length;
    }
    ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_OK); /* without conn it has failed */
}

/* The way has failed before the write of a request has begun, or all of it. */
static ucs_status_t rtr_send_net_not_started(rtr_send_net_write_t *write,
                                             ucs_status_t why)
{
    ri_send_req_t *req  = write->req;
    ri_worker_t *worker = write->op.worker;
    ucs_status_t status;

    ri_trace(&worker->trace, RI_TRACE_SEND_WRITE, req->data.length, why);
    ri_way_fail_and_tell(worker, write->op.peer); /* and so does the receiver */
    ri_keys_release(&write->keys);
    status = rtr_send_net_send_again(req, write->op.way);
    if ((req->conn != NULL) && ri_net_transfer_may_try_again(status)) {
        ri_send_begin_wait(req, RI_SEND_WAIT_WRITE);
        write->op.end = rtr_send_net_write_failed;
        ri_net_transfer_again(&write->op);
        return UCS_OK;
    }
    free(write);
    return status;
}

/* Write. @return UCS_OK: the request waits for RI_SEND_WAIT_WRITE, or, if its message is sent
 * again, for the answer. */
static ucs_status_t rtr_send_net_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    rtr_send_net_write_t *write = req->proto_state;
    const ri_rtr_t *rtr         = terms->rtr;
    ri_conn_t *conn             = req->conn;
    ri_peer_t *peer             = conn->peer;
    ri_net_source_t source;
    ri_transfer_t transfer;
    ucs_status_t status;

    conn->tx_tag = req->tag;
    ri_rtr_table_end(rtr, RI_RING_GRANT_WRITTEN);
    ri_net_transfer_init(&write->op, conn->worker, peer, rtr_send_net_write_end);
    write->req       = req;
    req->proto_state = NULL;
    req->keys        = &write->keys; /* during the call */
    transfer         = ri_net_transfer_from(&write->op, req, &source);
    req->keys        = NULL;

    transfer.notify    = 1;
    transfer.immediate = ri_rtr_send_net_immediate(req, rtr);
    status             = ri_rtr_write(peer->way.ep, rtr, &transfer);
    if (ri_likely(status == UCS_INPROGRESS)) {
        ri_net_transfer_started(&write->op, req->data.length);
        ri_send_begin_wait(req, RI_SEND_WAIT_WRITE);
        ri_rtr_send_net_untold(conn, req->sn, rtr);
        return UCS_OK;
    }
    return rtr_send_net_not_started(write, status);
}

int ri_rtr_send_net_note(ri_conn_t *conn, const ri_plane_ep_t *way,
                         const ri_wire_msg_t *msg)
{
    if ((conn->rtr.words == NULL) || (conn->status != UCS_OK) ||
        !(conn->flags & RI_CONN_WAY) || (way == NULL) ||
        (msg->way != conn->peer->way.number) ||
        !ri_rtr_table_note(&conn->rtr.words->word[msg->entry], msg->generation,
                           RI_RING_GRANT_OUT)) {
        ++conn->worker->counters.rx_stale;
        return 0;
    }
    return 1;
}

void ri_rtr_send_net_add(ri_conn_t *conn, const ri_wire_msg_t *msg, ri_rtr_kind_t kind,
                         uint64_t length)
{
    ri_rtr_t rtr    = {.tag        = msg->tag,
                       .mask       = msg->mask,
                       .address    = msg->address,
                       .length     = length,
                       .recv_id    = msg->value,
                       .ahead      = msg->ahead,
                       .generation = msg->generation,
                       .index      = msg->entry,
                       .kind       = kind,
                       .grid       = NULL,
                       .grant      = &conn->rtr.words->word[msg->entry],
                       .seen       = msg->seen,
                       .key        = msg->key,
                       .way        = msg->way};
    uint32_t sn     = 0;
    uint32_t req_id = 0;
    ri_rtr_fate_t fate;

    if (msg->type == RI_WIRE_RTR_GRID) {
        rtr.grid = ri_rtr_known_keep_grid(&conn->rtr.grids, RI_WIRE_RTR_ENTRIES,
                                          rtr.index, &msg->grid);
        if (rtr.grid == NULL) {
            return; /* it is as good as lost */
        }
    }
    if (msg->type == RI_WIRE_RTR_LAYOUT) {
        rtr.layout = ri_rtr_layout_find_net(conn, msg);
        if (rtr.layout == NULL) {
            return;
        }
    }
    fate = ri_rtr_table_add(conn->rtr.table, &rtr, msg->seen, &sn, &req_id);
    /* What was offered by RTS the receiver reads, or asks for, who does not wait for anything. */
    ri_trace(&conn->worker->trace, RI_TRACE_RTR_IN, rtr.tag, fate);
}

void ri_rtr_send_net_handle_rtr(ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    if (ri_rtr_send_net_note(conn, ri_way_use_ep_that(conn->peer, RI_PLANE_NOTIFY),
                             msg)) {
        ri_rtr_send_net_add(conn, msg, RI_RTR_KEY, msg->rtr_length);
    }
}

/* @return Whether an RTR is not used and never will be. */
static int rtr_send_net_withdraw(ri_ring_grant_t *grant, uint32_t generation)
{
    return ri_rtr_table_note(grant, generation, RI_RING_GRANT_FREE) ||
           ri_grant_change(grant, generation, RI_RING_GRANT_FREE) ||
           (ri_grant_state(grant, generation) == RI_RING_GRANT_FREE);
}

/* What the conn that a REVOKE is addressed to knows of RTRs, or has known. @return NULL: it has
 * used none. */
static ri_rtr_words_t *rtr_send_net_words(const ri_peer_t *peer, const ri_conn_t *conn,
                                          uint32_t conn_id)
{
    ri_rtr_words_t *words;

    if (conn != NULL) {
        return conn->rtr.words;
    }
    ucs_list_for_each(words, &peer->rtr.words, list) {
        if (words->conn_id == conn_id) {
            return words;
        }
    }
    return NULL;
}

static int rtr_send_net_has_used(const ri_rtr_words_t *words)
{
    uint64_t word;
    uint32_t state;
    unsigned i;

    for (i = 0; i < RI_WIRE_RTR_ENTRIES; ++i) {
        word  = atomic_load_explicit(&words->word[i].word, memory_order_relaxed);
        state = (uint32_t)word;
        if ((state != RI_RING_GRANT_FREE) && (state != RI_RING_GRANT_OUT)) {
            return 1;
        }
    }
    return 0;
}

void ri_rtr_send_net_conn_ends(ri_conn_t *conn)
{
    ri_rtr_words_t *words = conn->rtr.words;
    ri_rtr_words_t *old;

    if ((words == NULL) || !rtr_send_net_has_used(words)) {
        return;
    }
    old = rtr_send_net_words(conn->peer, NULL, conn->id);
    if (old != NULL) { /* ids come again */
        ucs_list_del(&old->list);
        free(old);
    }
    conn->rtr.words = NULL;
    words->conn_id  = conn->id;
    ucs_list_add_tail(&conn->peer->rtr.words, &words->list);
}

void ri_rtr_send_net_handle_revoke(ri_worker_t *worker, ri_conn_t *conn,
                                   const ri_wire_msg_t *msg)
{
    ri_peer_t *peer   = ri_map_get(&worker->peers, msg->uid);
    ri_wire_msg_t ans = {.type       = RI_WIRE_REVOKED,
                         .id         = msg->stream_id,
                         .generation = msg->generation,
                         .entry      = msg->entry};
    ri_rtr_words_t *words;
    int withdrawn;

    if (!ri_wire_uid_is_valid(msg->uid) || (peer == NULL) ||
        ((conn != NULL) && (conn->peer != peer))) {
        ++worker->counters.rx_stale;
        return;
    }
    words     = rtr_send_net_words(peer, conn, msg->id);
    withdrawn = (words == NULL) ||
                rtr_send_net_withdraw(&words->word[msg->entry], msg->generation);
    ans.flags = withdrawn ? 0 : RI_WIRE_REVOKED_USED;
    ri_control_send_message(peer, &ans);
}

static void rtr_send_net_peer_made(ri_worker_t *worker, ri_peer_t *peer)
{
    (void)worker;
    ucs_list_head_init(&peer->rtr.words);
}

static void rtr_send_net_peer_freed(ri_worker_t *worker, ri_peer_t *peer)
{
    (void)worker;
    while (!ucs_list_is_empty(&peer->rtr.words)) {
        free(ucs_list_extract_head(&peer->rtr.words, ri_rtr_words_t, list));
    }
}

static int rtr_send_net_tells_itself(const ri_send_terms_t *terms)
{
    (void)terms;
    return 1;
}

static void rtr_send_net_conn_freed(ri_conn_t *conn)
{
    free(conn->rtr.words);
    free(conn->rtr.untold);
    free(conn->rtr.grids);
}

const ri_module_t ri_module_rtr_send_net = {.name        = "rtr_send_net",
                                            .way_opened  = ri_rtr_send_net_open,
                                            .conn_tells  = rtr_send_net_tell,
                                            .peer_made   = rtr_send_net_peer_made,
                                            .peer_freed  = rtr_send_net_peer_freed,
                                            .conn_closes = ri_rtr_send_net_conn_ends,
                                            .conn_freed  = rtr_send_net_conn_freed};

const ri_send_proto_t ri_send_proto_rtr_net = {.name   = "rtr_net",
                                               .called = "rtr",
                                               .moves = "one RDMA write into the receive",
                                               .because      = "it has an RTR",
                                               .wire_type    = RI_WIRE_PLACED,
                                               .answer       = RI_SEND_ANSWER_NEVER,
                                               .take         = rtr_send_net_take,
                                               .start        = rtr_send_net_start,
                                               .forget       = rtr_send_net_forget,
                                               .tells_itself = rtr_send_net_tells_itself,
                                               RI_SEND_COUNTS(tx_recv_rndv)};

const ri_rtr_ops_t ri_rtr_ops_key = {.room = rtr_send_net_room, .by_net = 1};
