/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * The receiving side of an RC QP: the agent checks a request, moves its data, and answers.
 * With the link model that happens in steps: the data are copied piece by piece as they
 * would come in, and what the program can see of the end, the last word, the completion
 * and the answer, comes at the time of the last bit.
 */
#include "agent.h"
#include "copy.h"
#include "counters.h"
#include "fabric.h"
#include "faults.h"
#include "link.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

/* Between the pieces of a long message the agent can do other things. */
#define RESPONDER_PIECE 65536

/* The last aligned word of an RDMA write is written when all the rest is there: programs
 * poll it. */
#define RESPONDER_WORD 8

typedef enum responder_stage {
    RESPONDER_BEGIN, /* nothing was looked at */
    RESPONDER_COPY,  /* checked, and the data are being copied */
    RESPONDER_LAST,  /* but for the last word everything is there */
    RESPONDER_END    /* refused */
} responder_stage_t;

typedef struct responder_request {
    sh_qp_t *qp;
    unsigned slot;
    pid_t pid;
    uint64_t due;  /* link model: when all of it is there; 0 without */
    uint64_t done; /* bytes copied */
    struct responder_request *next;
    responder_stage_t stage;
    int left;    /* the next one may begin */
    int waited;  /* for its end */
    int in_turn; /* it had the number that was expected */
    int has_recv;
    int reads; /* data go to the requester */
    uint8_t answer;
    uint64_t value;     /* of the answer */
    int event;          /* async event of an error, or -1 */
    sh_answer_t *place; /* an answer's place in the order, if it takes time */
    sh_recv_wqe_t recv;
    struct ibv_wc wc;
    struct iovec remote_iov[SH_MAX_SGE];
    struct iovec local_iov[SH_MAX_SGE];
    unsigned num_remote;
    unsigned num_local;
    sh_mr_t *mrs[SH_MAX_SGE];
    unsigned num_mrs;
    sh_msg_t msg;
    uint8_t payload[sizeof(sh_sge_t) * SH_MAX_SGE];
} responder_request_t;

/* QPs with an acknowledgement to send at the end of the batch. */
static sh_qp_t *responder_acks;

static void responder_schedule(responder_request_t *req, uint64_t earliest);

static void responder_answer_init(sh_msg_t *answer, const sh_msg_t *msg,
                                  uint8_t judgement, uint64_t value, uint64_t time)
{
    memset(answer, 0, sizeof(*answer));
    answer->size    = sizeof(*answer);
    answer->type    = SH_MSG_ANSWER;
    answer->answer  = judgement;
    answer->src_qpn = msg->dst_qpn;
    answer->dst_qpn = msg->src_qpn;
    answer->psn     = msg->psn;
    answer->epoch   = msg->epoch;
    answer->value   = value;
    answer->sent    = time;
}

static void responder_transmit(sh_msg_t *answer)
{
    sh_count(acks, 1);
    if (answer->answer == SH_ANSWER_NAK) {
        sh_count(naks, 1);
    } else if (answer->answer == SH_ANSWER_RNR) {
        sh_count(rnr_naks, 1);
    }
    sh_fabric_send_kept(sh_qpn_slot(answer->dst_qpn), answer);
}

void sh_responder_nobody(unsigned slot, const sh_msg_t *msg)
{
    sh_msg_t answer;

    (void)slot;
    responder_answer_init(&answer, msg, SH_ANSWER_NOTHING, 0,
                          (msg->sent == 0) ? 0 : msg->sent + msg->wire);
    responder_transmit(&answer);
}

static void responder_unlist_ack(sh_qp_t *qp)
{
    sh_qp_t **link;

    for (link = &responder_acks; *link != NULL; link = &(*link)->ack_next) {
        if (*link == qp) {
            *link = qp->ack_next;
            break;
        }
    }
    qp->ack_wanted = 0;
}

void sh_responder_flush_acks(void)
{
    sh_qp_t *qp;

    while ((qp = responder_acks) != NULL) {
        responder_acks = qp->ack_next;
        qp->ack_wanted = 0;
        responder_transmit(&qp->ack);
    }
}

/* Send an answer behind all earlier ones. An acknowledgement may still be replaced by a
 * later one. */
static void responder_send(sh_qp_t *qp, sh_msg_t *answer)
{
    if (answer->sent != 0) {
        answer->sent    = sh_max(answer->sent, qp->last_answer + 1);
        qp->last_answer = answer->sent;
    }
    if ((answer->answer == SH_ANSWER_ACK) && (answer->value == 0) &&
        (answer->opcode == 0)) {
        if (!qp->ack_wanted) {
            qp->ack_wanted = 1;
            qp->ack_next   = responder_acks;
            responder_acks = qp;
        }
        qp->ack = *answer;
        return;
    }
    if (qp->ack_wanted) {
        responder_unlist_ack(qp);
        responder_transmit(&qp->ack);
    }
    responder_transmit(answer);
}

static void responder_send_ready(sh_qp_t *qp)
{
    sh_answer_t *place;

    while (((place = qp->answers) != NULL) && place->ready) {
        qp->answers = place->next;
        if (qp->answers == NULL) {
            qp->answers_end = &qp->answers;
        }
        responder_send(qp, &place->msg);
        free(place);
    }
}

static sh_answer_t *responder_reserve(sh_qp_t *qp)
{
    sh_answer_t *place = calloc(1, sizeof(*place));

    if (place != NULL) {
        *qp->answers_end = place;
        qp->answers_end  = &place->next;
    }
    return place;
}

/* Answer a request: at once, or when the reads before it are done. */
static void responder_answer(responder_request_t *req)
{
    sh_qp_t *qp        = req->qp;
    sh_answer_t *place = req->place;
    uint64_t time      = 0;
    sh_msg_t answer;

    if (req->due != 0) {
        /* A read's due time is at the requester already */
        time = req->due - (req->reads ? sh_settings.link.latency_ns : 0);
    }
    responder_answer_init(&answer, &req->msg, req->answer, req->value, time);
    /* What an atomic brings back must not be replaced */
    answer.opcode = (req->msg.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) ||
                    (req->msg.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD);
    if ((place == NULL) && (qp->answers != NULL)) {
        place = responder_reserve(qp);
    }
    if (place == NULL) {
        responder_send(qp, &answer);
        return;
    }
    place->msg   = answer;
    place->ready = 1;
    responder_send_ready(qp);
}

static void responder_release(responder_request_t *req)
{
    unsigned i;

    for (i = 0; i < req->num_mrs; ++i) {
        sh_mr_put(req->mrs[i]);
    }
    req->num_mrs = 0;
}

static void responder_recv_done(responder_request_t *req, enum ibv_wc_status status)
{
    if (req->has_recv) {
        req->has_recv  = 0;
        req->wc.status = status;
        sh_cq_push((sh_cq_t *)(void *)req->qp->super.recv_cq, req->qp, &req->wc, 0,
                   (req->msg.flags & SH_MSG_SOLICITED) || (status != IBV_WC_SUCCESS));
    }
}

/* The request is refused and breaks the connection.
 * @param remote The requester's status.
 * @param local  That of the receive that it took, if it did.
 * @return 1: nothing is to be copied. */
static int responder_refuse(responder_request_t *req, enum ibv_wc_status remote,
                            enum ibv_wc_status local, int event)
{
    req->answer       = SH_ANSWER_NAK;
    req->value        = remote;
    req->wc.status    = local;
    req->event        = event;
    req->qp->rnr_sent = 1;
    return 1;
}

static int responder_rnr(responder_request_t *req)
{
    req->answer       = SH_ANSWER_RNR;
    req->value        = req->qp->attr.min_rnr_timer;
    req->qp->rnr_sent = 1;
    return 1;
}

/* The list of a request's memory. @return 0, or -1 if it makes no sense. */
static int responder_parse(responder_request_t *req)
{
    const sh_msg_t *msg = &req->msg;
    uint64_t payload    = msg->size - sizeof(*msg);
    uint64_t total      = 0;
    sh_sge_t sge;
    unsigned i;

    if (msg->flags & SH_MSG_INLINE) {
        return ((msg->num_sge == 0) && (msg->length == payload) &&
                (payload <= SH_MAX_INLINE)) ?
                       0 :
                       -1;
    }
    if ((msg->num_sge > SH_MAX_SGE) || (payload != msg->num_sge * sizeof(sge))) {
        return -1;
    }
    for (i = 0; i < msg->num_sge; ++i) {
        memcpy(&sge, req->payload + i * sizeof(sge), sizeof(sge));
        if (sge.length > SH_MAX_MSG_SIZE) {
            return -1;
        }
        req->remote_iov[i].iov_base = (void *)(uintptr_t)sge.address;
        req->remote_iov[i].iov_len  = sge.length;
        total += sge.length;
    }
    req->num_remote = msg->num_sge;
    return ((total == msg->length) && (total <= SH_MAX_MSG_SIZE)) ? 0 : -1;
}

/* Find the memory that the request names by its rkey. @return 0, or -1. */
static int responder_region(responder_request_t *req, unsigned access, uint64_t length)
{
    void *local;
    sh_mr_t *mr;

    if (!(req->qp->attr.qp_access_flags & access)) {
        return -1;
    }
    if (length == 0) {
        return 0; /* no memory, no key */
    }
    mr = sh_mr_get(req->qp->super.pd, req->msg.rkey, req->msg.remote_address, length,
                   access, &local);
    if (mr == NULL) {
        return -1;
    }
    req->mrs[req->num_mrs++]   = mr;
    req->local_iov[0].iov_base = local;
    req->local_iov[0].iov_len  = length;
    req->num_local             = 1;
    return 0;
}

/* Take a receive for a request. @return 0, or 1 if it was refused. */
static int responder_take(responder_request_t *req)
{
    if (sh_faults_rnr(req->qp) || sh_rq_take(req->qp, &req->recv)) {
        return responder_rnr(req);
    }
    req->has_recv    = 1;
    req->wc.wr_id    = req->recv.wr_id;
    req->wc.qp_num   = req->qp->super.qp_num;
    req->wc.src_qp   = req->msg.src_qpn;
    req->wc.slid     = req->msg.slid;
    req->wc.byte_len = (uint32_t)req->msg.length;
    req->wc.opcode   = IBV_WC_RECV;
    if (req->msg.flags & SH_MSG_IMM) {
        req->wc.wc_flags = IBV_WC_WITH_IMM;
        req->wc.imm_data = req->msg.imm;
    }
    return 0;
}

static int responder_begin_send(responder_request_t *req)
{
    const struct ibv_pd *pd = (req->qp->super.srq != NULL) ? req->qp->super.srq->pd :
                                                             req->qp->super.pd;
    uint64_t left           = req->msg.length;
    const struct ibv_sge *sge;
    unsigned i;

    if (responder_take(req)) {
        return 1;
    }
    if (left > sh_rq_capacity(&req->recv)) {
        return responder_refuse(req, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR, -1);
    }
    for (i = 0; (i < req->recv.num_sge) && (left > 0); ++i) {
        sge         = &req->recv.sge[i];
        req->mrs[i] = sh_mr_get(pd, sge->lkey, sge->addr, sge->length,
                                IBV_ACCESS_LOCAL_WRITE, &req->local_iov[i].iov_base);
        if (req->mrs[i] == NULL) {
            return responder_refuse(req, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, -1);
        }
        ++req->num_mrs;
        req->local_iov[i].iov_len = sh_min(left, sge->length);
        left -= req->local_iov[i].iov_len;
    }
    req->num_local = i;
    return 0;
}

static int responder_begin_write(responder_request_t *req)
{
    if (responder_region(req, IBV_ACCESS_REMOTE_WRITE, req->msg.length)) {
        return responder_refuse(req, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR,
                                IBV_EVENT_QP_ACCESS_ERR);
    }
    if (req->msg.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
        if (responder_take(req)) {
            return 1;
        }
        req->wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    }
    return 0;
}

static int responder_begin_read(responder_request_t *req)
{
    if (responder_region(req, IBV_ACCESS_REMOTE_READ, req->msg.length)) {
        return responder_refuse(req, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR,
                                IBV_EVENT_QP_ACCESS_ERR);
    }
    req->reads = 1;
    if (req->due != 0) {
        req->due   = sh_link_respond(sh_context(req->qp->super.context)->device->index,
                                     sh_max(req->due, sh_now()), req->msg.length);
        req->place = responder_reserve(req->qp);
    }
    sh_link_count(req->msg.length, 128u << req->qp->attr.path_mtu);
    return 0;
}

static int responder_begin_atomic(responder_request_t *req)
{
    uint64_t value;
    sh_pieces_t pieces = {req->local_iov, 1};

    if (req->msg.remote_address % sizeof(value)) {
        return responder_refuse(req, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_ACCESS_ERR,
                                IBV_EVENT_QP_REQ_ERR);
    }
    if (responder_region(req, IBV_ACCESS_REMOTE_ATOMIC, sizeof(value))) {
        return responder_refuse(req, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR,
                                IBV_EVENT_QP_ACCESS_ERR);
    }
    sh_fabric_atomic_lock();
    if (sh_copy_get(pieces, 0, &value, sizeof(value))) {
        sh_fabric_atomic_unlock();
        return responder_refuse(req, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR,
                                IBV_EVENT_QP_ACCESS_ERR);
    }
    req->value = value;
    if (req->msg.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        value += req->msg.value;
    } else if (value == req->msg.value) {
        value = req->msg.swap;
    }
    sh_copy_put(pieces, 0, &value, sizeof(value));
    sh_fabric_atomic_unlock();
    req->done = req->msg.length; /* nothing is left to copy */
    return 0;
}

/* Whether a real device would take a packet from this QP. */
static int responder_listens(const sh_qp_t *qp, const sh_msg_t *msg)
{
    return ((qp->super.state == IBV_QPS_RTR) || (qp->super.state == IBV_QPS_RTS) ||
            (qp->super.state == IBV_QPS_SQD)) &&
           (msg->src_qpn == qp->attr.dest_qp_num) &&
           (sh_settings.ethernet || (msg->dlid == sh_context(qp->super.context)->lid));
}

/* Check the number of a request. @return 0 if it is its turn, 1 to answer, -1 to drop. */
static int responder_sequence(responder_request_t *req)
{
    sh_qp_t *qp   = req->qp;
    uint32_t diff = sh_psn_add(req->msg.psn, -qp->epsn);

    if (diff == 0) {
        return 0;
    }
    if (diff < 0x800000) {
        /* One before it was refused or lost, and will come again */
        req->answer = SH_ANSWER_NOTHING;
        return qp->rnr_sent ? -1 : 1;
    }
    /* Executed and answered already, or a connection with numbers that do not fit */
    req->answer = SH_ANSWER_NOTHING;
    return 1;
}

/* Check and prepare a request. @return 0 to copy, 1 to finish it now, -1 to drop it. */
static int responder_begin(responder_request_t *req)
{
    sh_qp_t *qp = req->qp;
    int ret;

    req->answer = SH_ANSWER_ACK;
    req->event  = -1;
    if (!responder_listens(qp, &req->msg)) {
        req->answer = SH_ANSWER_NOTHING;
        return 1;
    }
    ret = responder_sequence(req);
    if (ret) {
        return ret;
    }
    if (responder_parse(req)) {
        sh_count(malformed, 1);
        return -1;
    }
    req->in_turn = 1;
    qp->rnr_sent = 0;
    if (!qp->established) {
        qp->established = 1;
        if (qp->super.state == IBV_QPS_RTR) {
            sh_async_event(qp->super.context, IBV_EVENT_COMM_EST, &qp->super);
        }
    }
    switch (req->msg.opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        return responder_begin_send(req);
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return responder_begin_write(req);
    case IBV_WR_RDMA_READ:
        return responder_begin_read(req);
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return responder_begin_atomic(req);
    default:
        sh_count(malformed, 1);
        return responder_refuse(req, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_QP_OP_ERR,
                                IBV_EVENT_QP_REQ_ERR);
    }
}

/* How much of a request is copied before its time has come. */
static uint64_t responder_body_length(const responder_request_t *req)
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
static int responder_copy(responder_request_t *req, uint64_t length)
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
static int responder_copy_failed(responder_request_t *req, int result)
{
    int is_send = (req->msg.opcode == IBV_WR_SEND) ||
                  (req->msg.opcode == IBV_WR_SEND_WITH_IMM);

    switch (result) {
    case SH_COPY_LOCAL:
        return is_send ?
                       responder_refuse(req, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, -1) :
                       responder_refuse(req, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR,
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
static void responder_finish(responder_request_t *req)
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
    responder_answer(req);
    if (broken) {
        sh_responder_flush_acks();
        pthread_mutex_lock(&qp->sq_lock);
        sh_qp_error(qp, req->event);
        pthread_mutex_unlock(&qp->sq_lock);
    }
}

static void responder_drop(responder_request_t *req)
{
    responder_release(req);
    if (req->place != NULL) {
        req->place->ready = 1;
        responder_answer_init(&req->place->msg, &req->msg, SH_ANSWER_NOTHING, 0, 0);
        responder_send_ready(req->qp);
    }
}

/* The requests of a QP are begun and copied one after the other: this one leaves room for
 * the next. */
static void responder_leave(responder_request_t *req)
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

static int responder_copy_piece(responder_request_t *req, uint64_t piece)
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
 * @param time Set if it is too early for the next piece.
 * @return See responder_begin(); 0 if this is done, or is to go on at the time. */
static int responder_body(responder_request_t *req, uint64_t *time)
{
    uint64_t body = responder_body_length(req);
    uint64_t piece;
    int ret = 0;

    for (*time = 0; (req->done < body) && (ret == 0);) {
        piece = body - req->done;
        if (req->due != 0) {
            piece = sh_min(piece, RESPONDER_PIECE);
            /* Its last bit comes in so long before the message's */
            *time = req->due - (uint64_t)((double)(req->msg.length - req->done - piece) *
                                          sh_settings.link.ns_per_byte);
            *time -= sh_link_copy_time(piece);
            if (*time > sh_now()) {
                return 0;
            }
        }
        ret = responder_copy_piece(req, piece);
    }
    *time = 0;
    return ret;
}

/* Go on with a request as far as it is time for.
 * @return The time when to go on; 0 if the request has ended. */
static uint64_t responder_step(responder_request_t *req)
{
    uint64_t time;
    int ret = 0;

    if (req->stage == RESPONDER_BEGIN) {
        ret        = responder_begin(req);
        req->stage = (ret == 0) ? RESPONDER_COPY : RESPONDER_END;
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
    responder_leave(req);
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
    responder_request_t *req = data;
    uint64_t time            = 0;

    if (dropped) {
        responder_recv_done(req, IBV_WC_WR_FLUSH_ERR);
        responder_release(req);
        sh_responder_nobody(req->slot, &req->msg);
    } else {
        time = responder_step(req);
    }
    if ((time == 0) || sh_agent_at(time, responder_continue, req, req->qp)) {
        free(req);
    }
}

/* It is its turn among the requests of the QP. */
static void responder_schedule(responder_request_t *req, uint64_t earliest)
{
    uint64_t start = req->due;

    if ((req->msg.opcode != IBV_WR_RDMA_READ) && (req->msg.length > 0)) {
        start -= sh_min(req->msg.wire, sh_settings.link.latency_ns + req->msg.wire);
        start -= sh_link_copy_time(sh_min(req->msg.length, RESPONDER_PIECE));
    }
    sh_agent_at(sh_max(start, earliest), responder_continue, req, req->qp);
}

static void responder_init(responder_request_t *req, sh_qp_t *qp, unsigned slot,
                           pid_t pid, const sh_msg_t *msg)
{
    size_t payload = msg->size - sizeof(*msg);

    memset(req, 0, offsetof(responder_request_t, recv));
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
    static responder_request_t now; /* the agent's own */
    responder_request_t *req = &now;

    if (msg->size - sizeof(*msg) > sizeof(req->payload)) {
        sh_count(malformed, 1);
        return;
    }
    if (!sh_settings.link.enabled) {
        responder_init(req, qp, slot, pid, msg);
        responder_step(req);
        return;
    }
    req = malloc(sizeof(*req));
    if (req == NULL) {
        return;
    }
    responder_init(req, qp, slot, pid, msg);
    req->due          = sh_link_arrive(sh_context(qp->super.context)->device->index, msg);
    *qp->requests_end = req;
    qp->requests_end  = &req->next;
    if (qp->requests == req) {
        responder_schedule(req, 0);
    }
}

void sh_responder_purge(sh_qp_t *qp)
{
    responder_request_t *req, *next;
    sh_answer_t *answer;

    responder_unlist_ack(qp);
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
    while ((answer = qp->answers) != NULL) {
        qp->answers = answer->next;
        free(answer);
    }
    qp->answers_end = &qp->answers;
}
