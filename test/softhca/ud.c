/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Datagrams. The data travel in the message; the sender is done when it is in the ring, and
 * the receiver drops what it cannot use, as a device does.
 */
#include "agent.h"
#include "copy.h"
#include "counters.h"
#include "fabric.h"
#include "faults.h"
#include "link.h"
#include "util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>

/* A datagram that others were to overtake goes when it has waited so long. */
#define UD_HELD_NS 5000000

#define UD_IPV4_WHOLE 0x4000 /* may not be cut */

#define UD_QKEY_OWN 0x80000000u /* the QP's own key is meant */

typedef struct ud_datagram {
    sh_qp_t *qp;
    union {
        sh_msg_t msg;
        uint8_t bytes[SH_MAX_MSG];
    };
} ud_datagram_t;

/* Where a datagram goes: IB by its LID, RoCE by its GID. */
static uint16_t ud_dlid(const struct ibv_ah_attr *ah)
{
    union ibv_gid gid;
    unsigned i;

    if (!sh_settings.ethernet) {
        return ah->dlid;
    }
    for (i = 0; i < sh_settings.num_devices; ++i) {
        sh_device_gid(i, &gid);
        if (!memcmp(&gid, &ah->grh.dgid, sizeof(gid))) {
            return (uint16_t)(i + 1);
        }
    }
    return 0;
}

static void ud_header(sh_qp_t *qp, const sh_send_wqe_t *wqe, sh_msg_t *msg)
{
    sh_context_t *context = sh_context(qp->super.context);
    union ibv_gid gid;

    memset(msg, 0, sizeof(*msg));
    msg->type    = SH_MSG_DATAGRAM;
    msg->opcode  = wqe->opcode;
    msg->slid    = context->lid;
    msg->dlid    = ud_dlid(&wqe->ah);
    msg->src_qpn = qp->super.qp_num;
    msg->dst_qpn = wqe->remote_qpn;
    msg->psn     = qp->sq.psn;
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
        sh_device_gid(context->device->index, &gid);
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

static void ud_send_now(ud_datagram_t *datagram)
{
    sh_fabric_send(sh_qpn_slot(datagram->msg.dst_qpn), &datagram->msg,
                   datagram->bytes + sizeof(sh_msg_t));
}

static void ud_send_delayed(void *data, int dropped)
{
    if (!dropped) {
        ud_send_now(data);
    }
    free(data);
}

static void ud_send_held(sh_qp_t *qp)
{
    ud_datagram_t *held = qp->held;

    qp->held = NULL;
    if (held != NULL) {
        ud_send_now(held);
        free(held);
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
    ud_send_now(datagram);
    if (fault->dup) {
        ud_send_now(datagram);
    }
    if ((qp->held != NULL) && (--qp->held_count == 0)) {
        ud_send_held(qp);
    }
}

static int ud_faults_wanted(void)
{
    return (sh_settings.faults.ud_drop > 0) || (sh_settings.faults.ud_dup > 0) ||
           (sh_settings.faults.ud_reorder > 0) || (sh_settings.faults.ud_delay > 0);
}

/* A ring that is full is waited for before the datagram takes its turn on the link and meets its
 * faults, which it does once. @return Whether to wait. */
static int ud_must_wait(unsigned slot, size_t size)
{
    /* That of a process that has died stays full for ever */
    return (sh_fabric_room(slot, size) == EAGAIN) &&
           sh_fabric_alive(slot, sh_fabric_generation(slot));
}

int sh_ud_send(sh_qp_t *qp, sh_send_wqe_t *wqe, enum ibv_wc_status *status,
               uint64_t *gone)
{
    unsigned slot = sh_qpn_slot(wqe->remote_qpn);
    ud_datagram_t datagram;
    sh_ud_fault_t fault;
    int error = 0;

    if (wqe->length > sh_settings.mtu) {
        *status = IBV_WC_LOC_LEN_ERR;
        return 0;
    }
    datagram.qp = qp;
    ud_header(qp, wqe, &datagram.msg);
    *status = ud_gather(qp, wqe, datagram.bytes + sizeof(sh_msg_t));
    if (*status != IBV_WC_SUCCESS) {
        return 0;
    }
    if (ud_must_wait(slot, datagram.msg.size)) {
        return EAGAIN;
    }
    sh_link_send(sh_context(qp->super.context)->device->index, &datagram.msg, wqe->length,
                 &qp->sent);
    if (ud_faults_wanted()) {
        sh_faults_ud(qp, &fault);
        ud_send_faulty(qp, &datagram, &fault);
    } else {
        /* Who is not there does not receive it; the sender cannot know */
        error = sh_fabric_send(slot, &datagram.msg, datagram.bytes + sizeof(sh_msg_t));
    }
    if ((error == EAGAIN) && ud_must_wait(slot, datagram.msg.size)) {
        return EAGAIN; /* another thread was faster */
    }
    *gone      = datagram.msg.sent + datagram.msg.wire;
    qp->sq.psn = sh_psn_add(qp->sq.psn, 1);
    sh_link_count(wqe->length, sh_settings.mtu);
    return 0;
}

static void ud_grh(const sh_msg_t *msg, struct ibv_grh *grh)
{
    memset(grh, 0, sizeof(*grh));
    grh->version_tclass_flow = htonl(6u << 28);
    /* Base header and datagram header, data, and the check sum at the end; with RoCE that
     * is in a packet of UDP */
    grh->paylen =
            htons((uint16_t)((sh_settings.ethernet ? 8 : 0) + 12 + 8 + msg->length + 4));
    grh->next_hdr  = sh_settings.ethernet ? 0x11 : 0x1b;
    grh->hop_limit = msg->hop_limit;
    memcpy(&grh->sgid, msg->sgid, sizeof(grh->sgid));
    memcpy(&grh->dgid, msg->dgid, sizeof(grh->dgid));
}

/* A packet of RoCE v2 by IPv4, as rxe and other devices show it: there is no global header, and
 * that of IPv4 is at the end of the place for one. What is before it stays as it was. */
static void ud_ipv4(const sh_msg_t *msg, void *grh)
{
    const uint16_t *words;
    struct iphdr ip = {.version = 4, .ihl = sizeof(ip) / 4, .protocol = IPPROTO_UDP};
    uint32_t sum    = 0;
    unsigned i;

    ip.ttl      = msg->hop_limit;
    ip.frag_off = htons(UD_IPV4_WHOLE);
    ip.tot_len  = htons((uint16_t)(sizeof(ip) + 8 + 12 + 8 + msg->length + 4));
    memcpy(&ip.saddr, msg->sgid + 12, sizeof(ip.saddr));
    memcpy(&ip.daddr, msg->dgid + 12, sizeof(ip.daddr));
    words = (const uint16_t *)(const void *)&ip;
    for (i = 0; i < sizeof(ip) / sizeof(*words); ++i) {
        sum += words[i];
    }
    sum      = (sum & 0xffff) + (sum >> 16);
    ip.check = (uint16_t) ~(sum + (sum >> 16));
    memcpy((char *)grh + SH_IPV4_OFFSET, &ip, sizeof(ip));
}

/* Where a receive's list is in memory. @return The number of pieces, -1 for a bad key. */
static int ud_receive_pieces(sh_qp_t *qp, const sh_recv_wqe_t *wqe, struct iovec *iov,
                             sh_mr_t **mrs)
{
    const struct ibv_pd *pd = (qp->super.srq != NULL) ? qp->super.srq->pd : qp->super.pd;
    unsigned i;

    for (i = 0; i < wqe->num_sge; ++i) {
        mrs[i] = sh_mr_get(pd, wqe->sge[i].lkey, wqe->sge[i].addr, wqe->sge[i].length,
                           IBV_ACCESS_LOCAL_WRITE, &iov[i].iov_base);
        iov[i].iov_len = wqe->sge[i].length;
        if (mrs[i] == NULL) {
            return -1;
        }
    }
    return (int)wqe->num_sge;
}

/* @return 0, or -1 for an error of the receive. */
static int ud_scatter(sh_qp_t *qp, const sh_recv_wqe_t *wqe, const sh_msg_t *msg)
{
    struct iovec iov[SH_MAX_SGE];
    sh_mr_t *mrs[SH_MAX_SGE] = {NULL};
    sh_pieces_t pieces       = {iov, 0};
    struct {
        struct ibv_grh grh;
        uint8_t data[SH_MAX_MTU];
    } image;
    unsigned i, from = sh_settings.ipv4 ? SH_IPV4_OFFSET : 0;
    int count = ud_receive_pieces(qp, wqe, iov, mrs);
    int error = -1;

    if (count >= 0) {
        pieces.count = (unsigned)count;
        memcpy(image.data, msg + 1, msg->length);
        if (msg->flags & SH_MSG_GLOBAL) {
            if (sh_settings.ipv4) {
                ud_ipv4(msg, &image.grh);
            } else {
                ud_grh(msg, &image.grh);
            }
            error = sh_copy_put(pieces, from, (const char *)&image + from,
                                SH_GRH_SIZE - from + msg->length);
        } else {
            error = (msg->length == 0) ?
                            0 :
                            sh_copy_put(pieces, SH_GRH_SIZE, image.data, msg->length);
        }
        sh_count(copies, 1);
        sh_count(copied_bytes, msg->length);
    }
    for (i = 0; i < wqe->num_sge; ++i) {
        sh_mr_put(mrs[i]);
    }
    return error ? -1 : 0;
}

static void ud_deliver(sh_qp_t *qp, const sh_msg_t *msg)
{
    struct ibv_wc wc = {0};
    sh_recv_wqe_t wqe;
    uint64_t capacity = 0;

    if ((qp->super.qp_type != IBV_QPT_UD) || (qp->super.state < IBV_QPS_RTR) ||
        (qp->super.state == IBV_QPS_ERR) || (msg->qkey != qp->attr.qkey) ||
        (msg->dlid != sh_context(qp->super.context)->lid) ||
        (msg->length > sh_settings.mtu) || (msg->size != sizeof(*msg) + msg->length) ||
        sh_rq_take(qp, &wqe)) {
        sh_count(ud_drops, 1);
        return;
    }
    capacity = sh_rq_capacity(&wqe);
    if (capacity < SH_GRH_SIZE + msg->length) {
        sh_rq_untake(qp, &wqe);
        sh_count(ud_drops, 1);
        return;
    }
    wc.wr_id    = wqe.wr_id;
    wc.opcode   = IBV_WC_RECV;
    wc.byte_len = (uint32_t)(SH_GRH_SIZE + msg->length);
    wc.qp_num   = qp->super.qp_num;
    wc.src_qp   = msg->src_qpn;
    wc.slid     = msg->slid;
    wc.sl       = msg->sl;
    if (msg->flags & SH_MSG_GLOBAL) {
        wc.wc_flags |= IBV_WC_GRH;
    }
    if (msg->flags & SH_MSG_IMM) {
        wc.wc_flags |= IBV_WC_WITH_IMM;
        wc.imm_data = msg->imm;
    }
    if (ud_scatter(qp, &wqe, msg)) {
        wc.status = IBV_WC_LOC_PROT_ERR;
    }
    sh_cq_push((sh_cq_t *)(void *)qp->super.recv_cq, qp, &wc, 0,
               (msg->flags & SH_MSG_SOLICITED) || (wc.status != IBV_WC_SUCCESS));
    if (wc.status != IBV_WC_SUCCESS) {
        pthread_mutex_lock(&qp->sq_lock);
        sh_qp_error(qp, -1);
        pthread_mutex_unlock(&qp->sq_lock);
    }
}

static void ud_deliver_later(void *data, int dropped)
{
    ud_datagram_t *datagram = data;

    if (!dropped) {
        ud_deliver(datagram->qp, &datagram->msg);
    }
    free(datagram);
}

void sh_ud_receive(sh_qp_t *qp, const sh_msg_t *msg)
{
    ud_datagram_t *datagram;
    uint64_t due;

    if (!sh_settings.link.enabled) {
        ud_deliver(qp, msg);
        return;
    }
    due = sh_link_arrive(sh_context(qp->super.context)->device->index, msg, msg->length);
    datagram = malloc(sizeof(*datagram));
    if (datagram == NULL) {
        sh_count(ud_drops, 1);
        return;
    }
    datagram->qp = qp;
    memcpy(datagram->bytes, msg, msg->size);
    if (sh_agent_at(due, ud_deliver_later, datagram, qp)) {
        free(datagram);
    }
}
