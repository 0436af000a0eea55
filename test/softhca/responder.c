/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The receiving side of an RC QP: the agent, or a thread that helps it, checks a request, moves its
 * data, and answers. With the link model that happens in steps: from the time of the first bit on
 * the data are copied, piece by piece, and what the program can see of the end, the last word and
 * the completion, comes at the time of the last bit. The answer says when it leaves, so it need not
 * wait, and no agent has to be woken at that time for what is only seen by who polls.
 */
#include "agent.h"
#include "copy.h"
#include "counters.h"
#include "fabric.h"
#include "link.h"
#include "responder.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

/* Between the pieces of a long message the agent can do other things. */
#define RESPONDER_PIECE 65536

/* The last aligned word of an RDMA write is written when all the rest is there: programs
 * poll it. */
#define RESPONDER_WORD 8

/* How long before its end a message is taken to have come in, so that the agent need not wake up
 * for that: if the QP fails in this time, both sides still see it complete. */
#define RESPONDER_AHEAD_NS 1000000

static void responder_schedule(sh_request_t *req, uint64_t earliest);

static void responder_release(sh_request_t *req)
{
    unsigned i;

    for (i = 0; i < req->num_mrs; ++i) {
        sh_mr_put(req->mrs[i]);
    }
    req->num_mrs = 0;
}

static void responder_recv_done(sh_request_t *req, enum ibv_wc_status status)
{
    if (req->has_recv) {
        req->has_recv  = 0;
        req->wc.status = status;
        sh_cq_push((sh_cq_t *)(void *)req->qp->super.recv_cq, req->qp, &req->wc, 0,
                   (req->msg.flags & SH_MSG_SOLICITED) || (status != IBV_WC_SUCCESS));
    }
}

/* Whether nobody can see the end of a request but by its completion, or at the requester. */
static int responder_is_seen_by_polls(const sh_request_t *req)
{
    return (req->due != 0) && (req->answer == SH_ANSWER_ACK) &&
           (req->reads || req->has_recv);
}

/* How much of a request is copied before its time has come. */
static uint64_t responder_body_length(const sh_request_t *req)
{
    uint64_t end;

    if ((req->msg.opcode != IBV_WR_RDMA_WRITE) || (req->msg.length == 0)) {
        return req->msg.length;
    }
    end = (uint64_t)(uintptr_t)req->local_iov[0].iov_base + req->msg.length;
    end = sh_min((end - 1) % RESPONDER_WORD + 1, req->msg.length);
    return req->msg.length - end;
}

/* Copy some bytes, if the requester still wants that.
 * @return SH_COPY_OK etc. */
static int responder_copy(sh_request_t *req, uint64_t length)
{
    sh_pieces_t remote = {req->remote_iov, req->num_remote};
    sh_pieces_t local  = {req->local_iov, req->num_local};
    uint32_t *guard, open = req->msg.epoch * 2;
    uint64_t began = 0;
    int result;

    if (length == 0) {
        return SH_COPY_OK;
    }
    if (req->msg.flags & SH_MSG_INLINE) {
        return sh_copy_put(local, req->done, req->payload + req->done, length);
    }
    guard = sh_fabric_guard(req->slot, sh_qpn_index(req->msg.src_qpn));
    if ((guard == NULL) ||
        !__atomic_compare_exchange_n(guard, &open, open + 1, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED)) {
        return SH_COPY_GONE;
    }
    if (req->due != 0) {
        began = sh_now();
    }
    result = sh_copy(req->pid, req->reads, remote, local, req->done, length);
    if ((req->due != 0) && (result == SH_COPY_OK)) {
        sh_link_copied(length, sh_now() - began);
    }
    __atomic_store_n(guard, req->msg.epoch * 2, __ATOMIC_RELEASE);
    return result;
}

/* The data could not be copied. @return 1 to finish the request, -1 to drop it. */
static int responder_copy_failed(sh_request_t *req, int result)
{
    int is_send = (req->msg.opcode == IBV_WR_SEND) ||
                  (req->msg.opcode == IBV_WR_SEND_WITH_IMM);

    switch (result) {
    case SH_COPY_LOCAL:
        return is_send ?
                       sh_check_refuse(req, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, -1) :
                       sh_check_refuse(req, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR,
                                       IBV_EVENT_QP_ACCESS_ERR);
    case SH_COPY_REMOTE:
        /* To the requester that is an error of its own; here nothing has come in */
        req->answer       = SH_ANSWER_NAK;
        req->value        = IBV_WC_LOC_PROT_ERR;
        req->qp->rnr_sent = 1;
        /* fall through */
    default:
        if (req->has_recv) {
            req->has_recv = 0;
            sh_rq_untake(req->qp, &req->recv);
        }
        return (result == SH_COPY_REMOTE) ? 1 : -1;
    }
}

/* Everything is there: tell the program and the requester. */
static void responder_finish(sh_request_t *req)
{
    sh_qp_t *qp = req->qp;
    int broken  = (req->answer == SH_ANSWER_NAK) && (req->value != IBV_WC_LOC_PROT_ERR);

    if (req->due != 0) {
        sh_count(late_ns, sh_now() - sh_min(req->due, sh_now()));
    }
    responder_release(req);
    if (req->answer == SH_ANSWER_ACK) {
        responder_recv_done(req, IBV_WC_SUCCESS);
    } else if (broken) {
        responder_recv_done(req, req->wc.status);
    }
    if (req->stage != RESPONDER_TOLD) {
        sh_answer_request(req);
    }
    if (broken) {
        sh_responder_flush_acks();
        pthread_mutex_lock(&qp->sq_lock);
        sh_qp_error(qp, req->event);
        pthread_mutex_unlock(&qp->sq_lock);
    }
}

static void responder_drop(sh_request_t *req)
{
    responder_release(req);
    if (req->place != NULL) {
        req->place->ready = 1;
        sh_answer_init(&req->place->msg, &req->msg, SH_ANSWER_NOTHING, 0, 0);
        sh_answer_send_ready(req->qp);
    }
}

/* The requests of a QP are begun and copied one after the other: this one leaves room for
 * the next. */
static void responder_leave(sh_request_t *req)
{
    sh_qp_t *qp = req->qp;

    if (req->left) {
        return;
    }
    req->left = 1;
    if ((req->stage != RESPONDER_BEGIN) && (req->answer == SH_ANSWER_ACK) &&
        req->in_turn) {
        qp->epsn = sh_psn_add(qp->epsn, 1);
    }
    if (req->due == 0) {
        return;
    }
    qp->requests = req->next;
    if (qp->requests == NULL) {
        qp->requests_end = &qp->requests;
    } else {
        responder_schedule(qp->requests, 0);
    }
}

static int responder_copy_piece(sh_request_t *req, uint64_t piece)
{
    int result = responder_copy(req, piece);

    if (result != SH_COPY_OK) {
        req->stage = RESPONDER_END;
        return responder_copy_failed(req, result);
    }
    req->done += piece;
    if ((req->done == req->msg.length) && (piece > 0)) {
        sh_count(copies, 1);
        sh_count(copied_bytes, req->msg.length);
    }
    return 0;
}

/* Copy what may be seen before the end.
 * @param time Set if there is another piece: others have their turn in between.
 * @return See sh_check_request(); 0 if this is done, or is to go on at the time. */
static int responder_body(sh_request_t *req, uint64_t *time)
{
    uint64_t body = responder_body_length(req);
    uint64_t piece;
    int ret = 0;

    *time = 0;
    if (req->done < body) {
        piece = body - req->done;
        if (req->due != 0) {
            piece = sh_min(piece, RESPONDER_PIECE);
        }
        ret = responder_copy_piece(req, piece);
        if ((ret == 0) && (req->done < body)) {
            *time = sh_now();
        }
    }
    return ret;
}

/* Answer before the time of the end. */
static void responder_tell(sh_request_t *req)
{
    sh_answer_request(req);
    responder_release(req); /* the program may end the regions now */
    req->stage = RESPONDER_TOLD;
}

/* Go on with a request as far as it is time for.
 * @return The time when to go on; 0 if the request has ended. */
static uint64_t responder_step(sh_request_t *req)
{
    uint64_t time;
    int ret = 0;

    if (req->stage == RESPONDER_BEGIN) {
        ret        = sh_check_request(req);
        req->stage = (ret == 0) ? RESPONDER_COPY : RESPONDER_END;
        if ((ret == 0) && (req->due != 0) && (req->place == NULL)) {
            req->place = sh_answer_reserve(req->qp); /* later ones may be told before */
        }
        if (req->reads) {
            responder_leave(req);
        }
    }
    if (req->stage == RESPONDER_COPY) {
        ret = responder_body(req, &time);
        if (time != 0) {
            return time;
        }
        if (ret == 0) {
            req->stage = RESPONDER_LAST;
        }
    }
    if ((req->stage == RESPONDER_LAST) && responder_is_seen_by_polls(req)) {
        if (req->due > sh_now() + RESPONDER_AHEAD_NS) {
            return req->due - RESPONDER_AHEAD_NS;
        }
        responder_tell(req);
    }
    responder_leave(req);
    if ((req->stage == RESPONDER_TOLD) && req->reads) {
        return 0;
    }
    if ((ret >= 0) && (req->due != 0) && !req->waited) {
        /* Even if it is late: the ends of earlier ones may wait for their turn, too */
        req->waited = 1;
        return req->due;
    }
    if (req->stage == RESPONDER_LAST) {
        ret = responder_copy_piece(req, req->msg.length - req->done);
    }
    if (ret < 0) {
        responder_drop(req);
    } else {
        responder_finish(req);
    }
    return 0;
}

static void responder_continue(void *data, int dropped)
{
    sh_request_t *req = data;
    uint64_t time     = 0;
    int error         = 0;

    if (dropped && (req->stage == RESPONDER_TOLD)) {
        responder_recv_done(req, IBV_WC_SUCCESS);
    } else if (dropped) {
        responder_recv_done(req, IBV_WC_WR_FLUSH_ERR);
        responder_release(req);
        sh_responder_nobody(req->slot, &req->msg);
    } else {
        time = responder_step(req);
    }
    if (time != 0) {
        error = (req->stage == RESPONDER_TOLD) ?
                        sh_agent_at_poll(time, responder_continue, req, req->qp,
                                         (sh_cq_t *)(void *)req->qp->super.recv_cq) :
                        sh_agent_at(time, responder_continue, req, req->qp);
    }
    if ((time == 0) || error) {
        free(req);
    }
}

/* It is its turn among the requests of the QP. */
static void responder_schedule(sh_request_t *req, uint64_t earliest)
{
    uint64_t start = req->due;

    if ((req->msg.opcode != IBV_WR_RDMA_READ) && (req->msg.length > 0)) {
        start -= sh_min(req->msg.wire, sh_settings.link.latency_ns + req->msg.wire);
        start -= sh_link_copy_time(sh_min(req->msg.length, RESPONDER_PIECE));
    }
    sh_agent_at(sh_max(start, earliest), responder_continue, req, req->qp);
}

static void responder_init(sh_request_t *req, sh_qp_t *qp, unsigned slot, pid_t pid,
                           const sh_msg_t *msg)
{
    size_t payload = msg->size - sizeof(*msg);

    memset(req, 0, offsetof(sh_request_t, recv));
    memset(&req->wc, 0, sizeof(req->wc));
    req->num_remote = 0;
    req->num_local  = 0;
    req->num_mrs    = 0;
    req->qp         = qp;
    req->slot       = slot;
    req->pid        = pid;
    req->msg        = *msg;
    memcpy(req->payload, msg + 1, payload);
}

void sh_responder_request(sh_qp_t *qp, unsigned slot, pid_t pid, const sh_msg_t *msg)
{
    static sh_request_t now; /* of the holder of sh_proc.lock */
    sh_request_t *req = &now;

    if (msg->size - sizeof(*msg) > sizeof(req->payload)) {
        sh_count(malformed, 1);
        return;
    }
    /* That of a stranger is refused, and others of the QP do not wait for its time */
    if (!sh_settings.link.enabled || (msg->src_qpn != qp->attr.dest_qp_num)) {
        responder_init(req, qp, slot, pid, msg);
        responder_step(req);
        return;
    }
    req = malloc(sizeof(*req));
    if (req == NULL) {
        return;
    }
    responder_init(req, qp, slot, pid, msg);
    req->due          = sh_link_arrive(sh_context(qp->super.context)->device->index, msg,
                              (msg->opcode == IBV_WR_RDMA_READ) ? 0 : msg->length);
    req->due          = sh_max(req->due, qp->last_due);
    qp->last_due      = req->due;
    *qp->requests_end = req;
    qp->requests_end  = &req->next;
    if (qp->requests == req) {
        responder_schedule(req, 0);
    }
}

void sh_responder_purge(sh_qp_t *qp)
{
    sh_request_t *req, *next;

    /* The first one is among the agent's calls */
    req              = (qp->requests == NULL) ? NULL : qp->requests->next;
    qp->requests     = NULL;
    qp->requests_end = &qp->requests;
    sh_agent_drop(qp);
    for (; req != NULL; req = next) {
        next = req->next;
        sh_responder_nobody(req->slot, &req->msg);
        free(req);
    }
    sh_answer_purge(qp);
}
