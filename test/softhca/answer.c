/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Answers to requests, in the order of the requests.
 */
#include "counters.h"
#include "fabric.h"
#include "responder.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

/* QPs with an acknowledgement to send at the end of the batch. */
static sh_qp_t *answer_acks;

void sh_answer_init(sh_msg_t *answer, const sh_msg_t *msg, uint8_t judgement,
                    uint64_t value, uint64_t time)
{
    memset(answer, 0, sizeof(*answer));
    answer->size    = sizeof(*answer);
    answer->type    = SH_MSG_ANSWER;
    answer->answer  = judgement;
    answer->src_qpn = msg->dst_qpn;
    answer->dst_qpn = msg->src_qpn;
    answer->psn     = msg->psn;
    answer->qkey    = msg->qkey;
    answer->epoch   = msg->epoch;
    answer->value   = value;
    answer->sent    = time;
}

static void answer_transmit(sh_msg_t *answer)
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
    sh_answer_init(&answer, msg, SH_ANSWER_NOTHING, 0,
                   (msg->sent == 0) ? 0 : msg->sent + msg->wire);
    answer_transmit(&answer);
}

static void answer_unlist(sh_qp_t *qp)
{
    sh_qp_t **link;

    for (link = &answer_acks; *link != NULL; link = &(*link)->ack_next) {
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

    while ((qp = answer_acks) != NULL) {
        answer_acks    = qp->ack_next;
        qp->ack_wanted = 0;
        answer_transmit(&qp->ack);
    }
}

/* Send an answer behind all earlier ones. An acknowledgement may still be replaced by a
 * later one. */
static void answer_send(sh_qp_t *qp, sh_msg_t *answer)
{
    if (answer->sent != 0) {
        answer->sent    = sh_max(answer->sent, qp->last_answer + 1);
        qp->last_answer = answer->sent;
    }
    if ((answer->answer == SH_ANSWER_ACK) && (answer->value == 0) &&
        (answer->opcode == 0)) {
        if (!qp->ack_wanted) {
            qp->ack_wanted = 1;
            qp->ack_next   = answer_acks;
            answer_acks    = qp;
        }
        qp->ack = *answer;
        return;
    }
    if (qp->ack_wanted) {
        answer_unlist(qp);
        answer_transmit(&qp->ack);
    }
    answer_transmit(answer);
}

void sh_answer_send_ready(sh_qp_t *qp)
{
    sh_answer_t *place;

    while (((place = qp->answers) != NULL) && place->ready) {
        qp->answers = place->next;
        if (qp->answers == NULL) {
            qp->answers_end = &qp->answers;
        }
        answer_send(qp, &place->msg);
        free(place);
    }
}

sh_answer_t *sh_answer_reserve(sh_qp_t *qp)
{
    sh_answer_t *place = calloc(1, sizeof(*place));

    if (place != NULL) {
        *qp->answers_end = place;
        qp->answers_end  = &place->next;
    }
    return place;
}

void sh_answer_request(sh_request_t *req)
{
    sh_qp_t *qp        = req->qp;
    sh_answer_t *place = req->place;
    uint64_t time      = 0;
    sh_msg_t answer;

    if (req->due != 0) {
        /* A read's due time is at the requester already */
        time = req->due - (req->reads ? sh_settings.link.latency_ns : 0);
    }
    sh_answer_init(&answer, &req->msg, req->answer, req->value, time);
    /* What an atomic brings back must not be replaced */
    answer.opcode = (req->msg.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) ||
                    (req->msg.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD);
    if ((place == NULL) && (qp->answers != NULL)) {
        place = sh_answer_reserve(qp);
    }
    if (place == NULL) {
        answer_send(qp, &answer);
        return;
    }
    place->msg   = answer;
    place->ready = 1;
    sh_answer_send_ready(qp);
}

void sh_answer_purge(sh_qp_t *qp)
{
    sh_answer_t *answer;

    answer_unlist(qp);
    while ((answer = qp->answers) != NULL) {
        qp->answers = answer->next;
        free(answer);
    }
    qp->answers_end = &qp->answers;
}
