/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Datagrams. Data of single and short ones travel in the message; those of the others are fetched by
 * the receiver (fetch.h). The sender is done when all is in the ring or fetched, and the receiver
 * drops what it cannot use, as a device does.
 */
#include "agent.h"
#include "copy.h"
#include "counters.h"
#include "fabric.h"
#include "faults.h"
#include "fetch.h"
#include "link.h"
#include "ud.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A datagram that others were to overtake goes when it has waited so long. */
#define UD_HELD_NS 5000000

/* A datagram that is late and finds its ring full tries again after that. */
#define UD_AGAIN_NS 1000000

#define UD_QKEY_OWN 0x80000000u /* the QP's own key is meant */

typedef struct ud_datagram {
    sh_qp_t *qp;
    union {
        sh_msg_t msg;
        uint8_t bytes[SH_MAX_MSG];
    };
} ud_datagram_t;

void sh_ud_header(const sh_qp_t *qp, const sh_send_wqe_t *wqe, sh_msg_t *msg)
{
    union ibv_gid gid;

    memset(msg, 0, sizeof(*msg));
    msg->type    = SH_MSG_DATAGRAM;
    msg->opcode  = wqe->opcode;
    msg->slid    = sh_context_lid(qp->super.context);
    msg->dlid    = sh_device_lid_of(&wqe->ah);
    msg->src_qpn = qp->super.qp_num;
    msg->epoch   = qp->sq.epoch;
    msg->dst_qpn = wqe->remote_qpn;
    msg->imm     = wqe->imm;
    msg->qkey    = (wqe->remote_qkey & UD_QKEY_OWN) ? qp->attr.qkey : wqe->remote_qkey;
    msg->sl      = wqe->ah.sl;
    msg->length  = wqe->length;
    msg->size    = (uint32_t)(sizeof(*msg) + wqe->length);
    if (wqe->opcode == IBV_WR_SEND_WITH_IMM) {
        msg->flags |= SH_MSG_IMM;
    }
    if (wqe->flags & IBV_SEND_SOLICITED) {
        msg->flags |= SH_MSG_SOLICITED;
    }
    if (wqe->ah.is_global) {
        msg->flags |= SH_MSG_GLOBAL;
        msg->hop_limit = wqe->ah.grh.hop_limit;
        sh_context_gid(qp->super.context, &gid);
        memcpy(msg->sgid, &gid, sizeof(msg->sgid));
        memcpy(msg->dgid, &wqe->ah.grh.dgid, sizeof(msg->dgid));
    }
}

/* Fetch the data. @return The status of the work request. */
static enum ibv_wc_status ud_gather(sh_qp_t *qp, const sh_send_wqe_t *wqe, void *data)
{
    struct iovec iov[SH_MAX_SGE];
    sh_pieces_t pieces        = {iov, wqe->num_sge};
    sh_mr_t *mrs[SH_MAX_SGE]  = {NULL};
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    unsigned i;

    if (wqe->flags & IBV_SEND_INLINE) {
        memcpy(data, wqe->data, wqe->inline_size);
        return IBV_WC_SUCCESS;
    }
    for (i = 0; i < wqe->num_sge; ++i) {
        mrs[i]         = sh_mr_get(qp->super.pd, wqe->sge[i].lkey, wqe->sge[i].addr,
                                   wqe->sge[i].length, 0, &iov[i].iov_base);
        iov[i].iov_len = wqe->sge[i].length;
        if (mrs[i] == NULL) {
            status = IBV_WC_LOC_PROT_ERR;
            break;
        }
    }
    if ((status == IBV_WC_SUCCESS) && (wqe->length > 0) &&
        sh_copy_get(pieces, 0, data, wqe->length)) {
        status = IBV_WC_LOC_PROT_ERR;
    }
    for (i = 0; i < wqe->num_sge; ++i) {
        sh_mr_put(mrs[i]);
    }
    return status;
}

/* A ring that is full is waited for before the datagram takes its turn on the link and meets its
 * faults, which it does once. @return Whether to wait. */
static int ud_ring_is_full(unsigned slot, size_t size)
{
    /* That of a process that has died stays full for ever */
    return (sh_fabric_room(slot, size) == EAGAIN) &&
           sh_fabric_alive(slot, sh_fabric_generation(slot));
}

/* @return Whether there was no room, and is to be. */
static int ud_send_now(ud_datagram_t *datagram)
{
    unsigned slot = sh_qpn_slot(datagram->msg.dst_qpn);

    return (sh_fabric_send(slot, &datagram->msg, datagram->bytes + sizeof(sh_msg_t)) ==
            EAGAIN) &&
           sh_fabric_alive(slot, sh_fabric_generation(slot));
}

/* Send a datagram whose memory is its own, or try again later: only the faults lose some. */
static void ud_send_delayed(void *data, int dropped)
{
    ud_datagram_t *datagram = data;

    if (dropped || !ud_send_now(datagram) ||
        sh_agent_at(sh_now() + UD_AGAIN_NS, ud_send_delayed, datagram, datagram->qp)) {
        free(datagram);
    }
}

static void ud_send_held(sh_qp_t *qp)
{
    ud_datagram_t *held = qp->held;

    qp->held = NULL;
    if (held != NULL) {
        ud_send_delayed(held, 0);
    }
}

static void ud_held_timeout(void *data, int dropped)
{
    sh_qp_t *qp = data;

    if (!dropped) {
        pthread_mutex_lock(&qp->sq_lock);
        ud_send_held(qp);
        pthread_mutex_unlock(&qp->sq_lock);
    }
}

static ud_datagram_t *ud_clone(const ud_datagram_t *datagram)
{
    ud_datagram_t *clone = malloc(sizeof(*clone));

    if (clone != NULL) {
        memcpy(clone, datagram, offsetof(ud_datagram_t, bytes) + datagram->msg.size);
    }
    return clone;
}

/* Send with what the fault injection makes of it. */
static void ud_send_faulty(sh_qp_t *qp, ud_datagram_t *datagram,
                           const sh_ud_fault_t *fault)
{
    ud_datagram_t *clone;

    if (fault->drop) {
        return;
    }
    if (((fault->hold > 0) && (qp->held == NULL)) || (fault->delay_ns > 0)) {
        clone = ud_clone(datagram);
        if (clone == NULL) {
            return;
        }
        if (fault->hold == 0) {
            if (sh_agent_at(sh_now() + fault->delay_ns, ud_send_delayed, clone, qp)) {
                free(clone);
            }
            return;
        }
        qp->held       = clone;
        qp->held_count = fault->hold;
        sh_agent_at(sh_now() + UD_HELD_NS, ud_held_timeout, qp, qp);
        return;
    }
    if (ud_send_now(datagram)) {
        /* Another thread was faster. What met its faults does not meet them again. */
        clone = ud_clone(datagram);
        if (clone != NULL) {
            ud_send_delayed(clone, 0);
        }
    }
    if (fault->dup) {
        ud_send_now(datagram);
    }
    if ((qp->held != NULL) && (--qp->held_count == 0)) {
        ud_send_held(qp);
    }
}

int sh_ud_may_drop(void)
{
    return (sh_settings.faults.ud_drop > 0) || (sh_settings.cut != NULL);
}

/* More than that they are dropped. */
static int ud_may_change(void)
{
    return (sh_settings.faults.ud_dup > 0) || (sh_settings.faults.ud_reorder > 0) ||
           (sh_settings.faults.ud_delay > 0);
}

int sh_ud_is_faulty(void)
{
    return ud_may_change() || (sh_settings.faults.ud_lose != 0) ||
           (sh_settings.faults.ud_lose_size != 0) || (sh_settings.faults.move_after != 0);
}

/* Whether a datagram is of the kind that gets lost, a number of each QP's. */
static int ud_is_of_kind(sh_qp_t *qp, const sh_msg_t *msg, const uint8_t *data)
{
    if ((sh_settings.faults.ud_lose == 0) || (msg->flags & SH_MSG_IMM) ||
        (msg->length < 2) || (data[1] != sh_settings.faults.ud_lose) ||
        (qp->sq.losses == sh_settings.faults.ud_lose_count)) {
        return 0;
    }
    ++qp->sq.losses;
    return 1;
}

/* Whether a datagram has the size of which a number in a row get lost. */
static int ud_is_of_size(sh_qp_t *qp, const sh_msg_t *msg)
{
    if ((sh_settings.faults.ud_lose_size == 0) ||
        (msg->length != sh_settings.faults.ud_lose_size)) {
        return 0;
    }
    if (qp->sq.lost_in_a_row == sh_settings.faults.ud_lose_each) {
        qp->sq.lost_in_a_row = 0;
        return 0;
    }
    ++qp->sq.lost_in_a_row;
    return 1;
}

static int ud_is_to_lose(sh_qp_t *qp, const sh_msg_t *msg, const uint8_t *data)
{
    if (!ud_is_of_kind(qp, msg, data) && !ud_is_of_size(qp, msg)) {
        return 0;
    }
    sh_count(fault_drops, 1);
    return 1;
}

int sh_ud_send(sh_qp_t *qp, sh_send_wqe_t *wqe, enum ibv_wc_status *status,
               uint64_t *gone)
{
    unsigned slot = sh_qpn_slot(wqe->remote_qpn);
    ud_datagram_t datagram;
    sh_ud_fault_t fault;
    const void *data;
    int error = 0;

    if (wqe->length > sh_settings.mtu) {
        *status = IBV_WC_LOC_LEN_ERR;
        return 0;
    }
    datagram.qp = qp;
    sh_ud_header(qp, wqe, &datagram.msg);
    datagram.msg.psn = qp->sq.psn;
    if (ud_ring_is_full(slot, datagram.msg.size)) {
        return EAGAIN;
    }
    *status = IBV_WC_SUCCESS;
    data    = sh_ud_stage(qp, qp->sq.next);
    if (data == NULL) {
        data    = datagram.bytes + sizeof(sh_msg_t);
        *status = ud_gather(qp, wqe, datagram.bytes + sizeof(sh_msg_t));
    }
    if (*status != IBV_WC_SUCCESS) {
        return 0;
    }
    sh_link_send(sh_context(qp->super.context)->device->index, &datagram.msg, wqe->length,
                 &qp->sent);
    if (ud_is_to_lose(qp, &datagram.msg, data)) {
        /* It is gone */
    } else if (sh_ud_may_drop() || ud_may_change()) {
        sh_faults_ud(qp, &fault);
        memmove(datagram.bytes + sizeof(sh_msg_t), data, wqe->length);
        ud_send_faulty(qp, &datagram, &fault);
    } else {
        /* Who is not there does not receive it; the sender cannot know */
        error = sh_fabric_send(slot, &datagram.msg, data);
    }
    if ((error == EAGAIN) && ud_ring_is_full(slot, datagram.msg.size)) {
        return EAGAIN; /* another thread was faster */
    }
    *gone      = datagram.msg.sent + datagram.msg.wire;
    qp->sq.psn = sh_psn_add(qp->sq.psn, 1);
    sh_link_count(wqe->length, sh_settings.mtu);
    return 0;
}

/* @return Whether the data are there, or the list of them is, as many as it says. */
static int ud_is_whole(const sh_msg_t *msg)
{
    const sh_sge_t *list = (const sh_sge_t *)(const void *)(msg + 1);
    uint64_t length      = 0;
    unsigned i;

    if (!(msg->flags & SH_MSG_FETCH)) {
        return msg->size == sizeof(*msg) + msg->length;
    }
    if ((msg->num_sge > SH_MAX_SGE) ||
        (msg->size != sizeof(*msg) + msg->num_sge * sizeof(*list))) {
        return 0;
    }
    for (i = 0; i < msg->num_sge; ++i) {
        if (list[i].length > msg->length) {
            return 0;
        }
        length += list[i].length;
    }
    return length == msg->length;
}

unsigned sh_ud_pieces(const sh_msg_t *msg, struct iovec *pieces)
{
    const sh_sge_t *list = (const sh_sge_t *)(const void *)(msg + 1);
    unsigned i, count = 0;

    for (i = 0; i < msg->num_sge; ++i) {
        sh_pieces_append(pieces, &count, (void *)(uintptr_t)list[i].address,
                         list[i].length);
    }
    return count;
}

/* @return Whether a datagram is for this queue pair, and can be received. */
static int ud_is_wanted(const sh_qp_t *qp, const sh_msg_t *msg)
{
    return (qp->super.qp_type == IBV_QPT_UD) && (qp->super.state >= IBV_QPS_RTR) &&
           (qp->super.state != IBV_QPS_ERR) && (msg->qkey == qp->attr.qkey) &&
           (msg->dlid == sh_context_lid(qp->super.context)) &&
           (msg->length <= sh_settings.mtu) && ud_is_whole(msg);
}

static void ud_deliver(sh_qp_t *qp, pid_t pid, const sh_msg_t *msg,
                       const struct iovec data[2], uint64_t due)
{
    if (!ud_is_wanted(qp, msg) || sh_ud_accept(qp, pid, msg, data, due)) {
        sh_count(ud_drops, 1);
    }
}

static void ud_deliver_later(void *data, int dropped)
{
    ud_datagram_t *datagram = data;
    struct iovec bytes[2]   = {
              {datagram->bytes + sizeof(sh_msg_t), datagram->msg.size - sizeof(sh_msg_t)}};

    --datagram->qp->late;
    if (!dropped) {
        ud_deliver(datagram->qp, 0, &datagram->msg, bytes, 0);
        sh_ud_flush();
    }
    free(datagram);
}

/* What has no receive yet may get one until its time has come; what follows is not to take it. */
static int ud_must_wait(sh_qp_t *qp)
{
    return (qp->late > 0) || sh_rq_is_empty(sh_qp_rq(qp));
}

/* Keep a datagram until its time has come. @return 0, or -1 if its data are not to be had. */
static int ud_keep(ud_datagram_t *datagram, pid_t pid, const sh_msg_t *msg,
                   const struct iovec data[2])
{
    uint8_t *bytes = datagram->bytes + sizeof(*msg);
    struct iovec from[SH_MAX_SGE], to = {bytes, msg->length};

    datagram->msg = *msg;
    if (!(msg->flags & SH_MSG_FETCH)) {
        memcpy(bytes, data[0].iov_base, data[0].iov_len);
        memcpy(bytes + data[0].iov_len, data[1].iov_base, data[1].iov_len);
        return 0;
    }
    if ((msg->length > SH_MAX_MTU) || !ud_is_whole(msg)) {
        return -1;
    }
    datagram->msg.flags &= (uint8_t)~SH_MSG_FETCH;
    datagram->msg.size = (uint32_t)(sizeof(*msg) + msg->length);
    return (sh_fetch(pid, msg->src_qpn, msg->epoch,
                     (sh_pieces_t){from, sh_ud_pieces(msg, from)},
                     (sh_pieces_t){&to, 1}) == SH_COPY_OK) ?
                   0 :
                   -1;
}

void sh_ud_receive(sh_qp_t *qp, pid_t pid, const sh_msg_t *msg,
                   const struct iovec data[2])
{
    ud_datagram_t *datagram;
    uint64_t due;

    due = sh_link_arrive(sh_context(qp->super.context)->device->index, msg, msg->length);
    if (sh_link_is_far(due)) { /* it would take a receive for so long, or memory */
        sh_count(ud_drops, 1);
        return;
    }
    if ((due == 0) || !ud_must_wait(qp)) {
        ud_deliver(qp, pid, msg, data, due);
        return;
    }
    datagram = malloc(sizeof(*datagram));
    if ((datagram == NULL) || ud_keep(datagram, pid, msg, data)) {
        sh_count(ud_drops, 1);
        free(datagram);
        return;
    }
    datagram->qp = qp;
    ++qp->late;
    if (sh_agent_at(due, ud_deliver_later, datagram, qp)) {
        --qp->late;
        free(datagram);
    }
}
