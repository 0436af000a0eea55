/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's side: announced (RTS), told where (TARGET), sent, or given up (ABANDON).
 */
#include "rndv_ud.h"
#include "../../link/control.h"
#include "../../link/net_transfer.h"
#include "rndv.h"
#include "../../core/send_req.h"
#include "ud_ends.h"
#include "../../core/activity.h"
#include "send_keys.h"

#include <stdlib.h>
#include <string.h>

/* Where a message is to go. */
typedef struct ud_goal {
    uint32_t recv_id;
    uint32_t way;
    int is_void; /* nowhere */
    uint8_t target[RI_PLANE_TARGET_SIZE];
} ud_goal_t;

/* A message that is being sent: the request's proto_state until it ends. */
struct ri_ud_send_op {
    ri_ud_run_t super;
    ri_send_req_t *req; /* the send, which waits, whatever becomes of its conn */
    ri_keys_t *keys;    /* of its data */
    uint32_t recv_id;
    int by_rtr;     /* its RTS is still to be answered, should this come to nothing */
    int has_next;   /* its RTS was answered, by next */
    ud_goal_t next; /* as TARGET said, which ended the transfer */
};

/* By where a message goes: where it may go next. */
static const uint8_t ud_may_become[RI_SEND_TARGET_LAST] = {
        [RI_SEND_TARGET_NONE]   = 1u << RI_SEND_TARGET_WANTED,
        [RI_SEND_TARGET_WANTED] = (1u << RI_SEND_TARGET_USED) |
                                  (1u << RI_SEND_TARGET_ABANDONED),
        [RI_SEND_TARGET_USED]      = 1u << RI_SEND_TARGET_ABANDONED,
        [RI_SEND_TARGET_ABANDONED] = 0,
};

int ri_rndv_ud_may_become(ri_send_target_t from, ri_send_target_t to)
{
    return (ud_may_become[from] >> to) & 1;
}

static ucs_status_t ud_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    ri_rndv_rts_t rts = {.rts.flags = RI_WIRE_RTS_SENDS, .rts.way = (uint16_t)req->way};

    (void)terms;
    ri_rndv_ud_set_target(req, RI_SEND_TARGET_WANTED);
    rts.rts.num_segments = 1;
    rts.rts.segments[0]  = (ri_segment_t){0, req->data.length};
    return ri_rndv_send(req, &rts.rts);
}

static void ud_tell_abandon(const ri_send_req_t *req, uint32_t recv_id)
{
    ri_conn_t *conn   = req->conn;
    ri_wire_msg_t msg = {.type    = RI_WIRE_ABANDON,
                         .id      = conn->remote_id,
                         .value   = req->id,
                         .recv_id = recv_id,
                         .sn      = req->sn};

    ri_control_send_message(conn->peer, &msg);
}

/* The message cannot be sent as the receiver has said, or perhaps it was: the receiver knows. */
static void ud_abandon(ri_send_req_t *req, uint32_t recv_id)
{
    ri_send_keys_forget(req);
    ri_rndv_ud_set_target(req, RI_SEND_TARGET_ABANDONED);
    ri_send_drop_wait(req, RI_SEND_WAIT_WRITE);
    ri_send_begin_wait(req, RI_SEND_WAIT_MATCH);
    ud_tell_abandon(req, recv_id);
}

static void ud_send_free(struct ri_ud_send_op *send)
{
    if (send->keys != NULL) {
        ri_keys_free(send->keys);
    }
    free(send);
}

static void ud_send_to(ri_send_req_t *req, const ud_goal_t *goal);

/* A message that was sent by an RTR has failed, as far as this side knows. Its RTS is there still,
 * and the receiver asks for the message when the RTS has its turn. The receiver may have the
 * message already, so it is told that this side does not know. */
static void ud_by_rtr_failed(struct ri_ud_send_op *send)
{
    ri_send_req_t *req = send->req;
    ud_goal_t next     = send->next;
    int has_next       = send->has_next;
    uint32_t recv_id   = send->recv_id;

    if (!(req->waiting & RI_SEND_WAIT_MATCH)) { /* answered in another way */
        ud_send_free(send);
        ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_OK);
        return;
    }
    req->keys  = send->keys;
    send->keys = NULL;
    ud_send_free(send);
    ri_send_drop_wait(req, RI_SEND_WAIT_WRITE);
    if (has_next) {
        ud_send_to(req, &next);
    } else {
        ud_tell_abandon(req, recv_id);
    }
}

/* A message was sent, or cannot be. */
static void ud_send_end(ri_net_transfer_t *op, int ending)
{
    struct ri_ud_send_op *send = ri_container_of(op, struct ri_ud_send_op, super.op);
    ri_send_req_t *req         = send->req;
    ri_conn_t *conn            = req->conn;
    uint32_t recv_id           = send->recv_id;
    ri_worker_t *worker        = op->worker;
    ucs_status_t status        = op->status;
    uint8_t wait               = RI_SEND_WAIT_WRITE;

    ri_trace(&worker->trace, RI_TRACE_SEND_WRITE, req->data.length, status);
    req->proto_state = NULL;
    ri_activity_note_message(worker);
    if (status == UCS_ERR_UNREACHABLE) {
        ri_net_transfer_lost_way(op, conn); /* others end with it, and are tried by UCP */
    }
    if ((req->conn != NULL) && (status != UCS_OK) && !ending && send->by_rtr) {
        ud_by_rtr_failed(send);
        return;
    }
    wait |= send->by_rtr ? RI_SEND_WAIT_MATCH : 0;
    ud_send_free(send);
    if (req->conn == NULL) {
        ri_send_end_wait(req, wait, UCS_OK); /* the send has failed */
    } else if (status == UCS_OK) {
        conn->counters.tx_written_bytes += req->data.length;
        ri_send_end_wait(req, wait, UCS_OK);
    } else if (ending) {
        ri_send_end_wait(req, RI_SEND_WAIT_WRITE, UCS_ERR_CANCELED);
    } else {
        ud_abandon(req, recv_id);
    }
}

/* @return As ri_ud_ops_t's send. */
static ucs_status_t ud_send(struct ri_ud_send_op *send, ri_plane_ep_t *ep,
                            const uint8_t *target_bytes)
{
    const ri_send_req_t *req = send->req;
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
    uint32_t keys[RI_WIRE_SEGMENTS_MAX];
    ri_ud_list_t list = {.segments = segments, .keys = keys, .length = req->data.length};
    ri_ud_target_t target;

    memcpy(&target, target_bytes, sizeof(target));
    list.count = ri_dt_segments(&req->data, segments, RI_WIRE_SEGMENTS_MAX);
    ri_ud_run_get_keys(send->keys, keys);
    return send->super.ops->send(ep, &list, &target, &send->super.ud);
}

/* @return The transfer if the message is on its way, or NULL. */
static struct ri_ud_send_op *ud_send_start(ri_send_req_t *req, const ud_goal_t *goal)
{
    ri_peer_t *peer            = req->conn->peer;
    ri_plane_ep_t *ep          = ri_ud_run_find_way(peer, (uint16_t)req->way);
    struct ri_ud_send_op *send = NULL;
    ucs_status_t status        = UCS_ERR_UNREACHABLE;

    if ((ep != NULL) && (peer->way.number == goal->way) && !goal->is_void) {
        send = calloc(1, sizeof(*send));
    }
    if (send != NULL) {
        ri_ud_run_init(&send->super, req->super.worker, peer, ud_send_end);
        send->req     = req;
        send->keys    = req->keys;
        send->recv_id = goal->recv_id;
        status        = ud_send(send, ep, goal->target);
    }
    if (status != UCS_INPROGRESS) {
        ri_trace(&req->super.worker->trace, RI_TRACE_SEND_WRITE, req->data.length,
                 status);
        free(send);
        return NULL;
    }
    ri_net_transfer_started(&send->super.op, req->data.length);
    req->keys        = NULL;
    req->proto_state = send;
    ri_send_begin_wait(req, RI_SEND_WAIT_WRITE);
    return send;
}

/* Send a message where TARGET says. */
static void ud_send_to(ri_send_req_t *req, const ud_goal_t *goal)
{
    if (ud_send_start(req, goal) != NULL) {
        ri_rndv_ud_set_target(req, RI_SEND_TARGET_USED);
        ri_send_drop_wait(req, RI_SEND_WAIT_MATCH); /* further answers are stale */
    } else {
        ud_abandon(req, goal->recv_id);
    }
}

void ri_rndv_ud_start_by_rtr(ri_send_req_t *req, const uint8_t *target, uint32_t recv_id)
{
    ud_goal_t goal = {.recv_id = recv_id, .way = req->conn->peer->way.number};
    struct ri_ud_send_op *send;

    memcpy(goal.target, target, sizeof(goal.target));
    send = ud_send_start(req, &goal);
    if (send != NULL) {
        send->by_rtr = 1;
    } else {
        ud_tell_abandon(req,
                        recv_id); /* or it would wait for a message that does not come */
    }
}

static void ud_get_goal(const ri_wire_msg_t *msg, ud_goal_t *goal)
{
    goal->recv_id = msg->recv_id;
    goal->way     = msg->way;
    goal->is_void = !!(msg->flags & RI_WIRE_TARGET_VOID);
    memcpy(goal->target, msg->target, sizeof(goal->target));
}

/* Whether the message of a request, which may be of any protocol, is being sent as datagrams. */
static int ud_is_sent(const ri_send_req_t *req)
{
    return (req->proto->forget == ri_rndv_ud_forget) && (req->proto_state != NULL);
}

/* TARGET has come while the message is being sent. @return Whether that made sense. */
static int ud_target_while_sent(ri_send_req_t *req, const ri_wire_msg_t *msg)
{
    struct ri_ud_send_op *send = req->proto_state;

    if (send->by_rtr ? (send->has_next || !(req->waiting & RI_SEND_WAIT_MATCH)) :
                       !(msg->flags & RI_WIRE_TARGET_VOID)) {
        return 0;
    }
    if (send->by_rtr) { /* the receiver has withdrawn the RTR before it heard of this */
        ud_get_goal(msg, &send->next);
        send->has_next = 1;
    }
    ri_ud_run_cancel(&send->super);
    return 1;
}

void ri_rndv_ud_handle_target(ri_worker_t *worker, ri_conn_t *conn,
                              const ri_wire_msg_t *msg)
{
    ri_send_req_t *req = ri_id_get(&worker->ids.sends, msg->value);
    ud_goal_t goal;

    if (msg->flags & RI_WIRE_TARGET_RECEIVED) {
        ri_ud_ends_handle(conn, msg);
    } else if ((req == NULL) || (req->conn != conn) || (req->wire_type != RI_WIRE_RTS) ||
               (req->sn != msg->sn)) {
        ++worker->counters.rx_stale;
    } else if (ud_is_sent(req)) {
        worker->counters.rx_stale += !ud_target_while_sent(req, msg);
    } else if ((req->target == RI_SEND_TARGET_WANTED) &&
               (req->waiting & RI_SEND_WAIT_MATCH)) {
        ud_get_goal(msg, &goal);
        ud_send_to(req, &goal);
    } else {
        ++worker->counters.rx_stale;
    }
}

void ri_rndv_ud_forget(ri_send_req_t *req)
{
    struct ri_ud_send_op *send = req->proto_state;

    ri_send_keys_forget(req);
    if (send != NULL) {
        ri_ud_run_cancel(&send->super);
    }
}

const ri_send_proto_t ri_send_proto_rndv_ud = {
        .name      = "rndv_ud",
        .called    = "put",
        .moves     = "datagrams into the receive",
        .because   = "no receive is known: it is matched first",
        .wire_type = RI_WIRE_RTS,
        .answer    = RI_SEND_ANSWER_ALWAYS,
        .take      = ri_send_keys_take,
        .start     = ud_start,
        .forget    = ri_rndv_ud_forget,
        RI_SEND_COUNTS(tx_ud)};
