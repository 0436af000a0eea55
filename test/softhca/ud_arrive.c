/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Datagrams that have arrived. They are given their receives one by one, and their data are
 * written for many of them with one call of the kernel, straight from the ring that they came
 * by. All with sh_proc.lock held.
 */
#include "copy.h"
#include "counters.h"
#include "objects.h"
#include "util.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <string.h>
#include <unistd.h>

#define ARRIVE_DATAGRAMS 32
#define ARRIVE_PIECES    96

#define ARRIVE_IPV4_WHOLE 0x4000 /* may not be cut */

typedef struct arrival {
    sh_qp_t *qp;
    sh_recv_wqe_t wqe;
    struct ibv_wc wc;
    uint64_t due;
    int is_solicited;
    uint32_t offset; /* of the data in the receive: behind the header, if there is none */
    uint32_t length;
    unsigned local; /* its first piece */
    unsigned num_local;
    struct ibv_grh grh;
} arrival_t;

static struct {
    arrival_t list[ARRIVE_DATAGRAMS];
    unsigned count;
    struct iovec
            local[3 *
                  ARRIVE_DATAGRAMS]; /* each may have a header, and data in two pieces */
    unsigned num_local;
    struct iovec remote[ARRIVE_PIECES];
    unsigned num_remote;
    unsigned num_pieces; /* of all receives */
    sh_mr_t *mrs[ARRIVE_PIECES];
    unsigned num_mrs;
} arrive;

static void arrive_grh(const sh_msg_t *msg, struct ibv_grh *grh)
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
static void arrive_ipv4(const sh_msg_t *msg, void *grh)
{
    const uint16_t *words;
    struct iphdr ip = {.version = 4, .ihl = sizeof(ip) / 4, .protocol = IPPROTO_UDP};
    uint32_t sum    = 0;
    unsigned i;

    ip.ttl      = msg->hop_limit;
    ip.frag_off = htons(ARRIVE_IPV4_WHOLE);
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

/* Find the memory of a piece, among the last ones that are in use already first: datagrams of a
 * message have a region in common. @return NULL for a bad key. */
static void *arrive_find(const struct ibv_pd *pd, const struct ibv_sge *sge)
{
    unsigned i, tries;
    sh_mr_t *mr;
    void *base;

    for (i = arrive.num_mrs, tries = 2; (i > 0) && (tries > 0); --tries) {
        base = sh_mr_again(arrive.mrs[--i], pd, sge->lkey, sge->addr, sge->length,
                           IBV_ACCESS_LOCAL_WRITE);
        if (base != NULL) {
            return base;
        }
    }
    mr = sh_mr_get(pd, sge->lkey, sge->addr, sge->length, IBV_ACCESS_LOCAL_WRITE, &base);
    if (mr == NULL) {
        return NULL;
    }
    arrive.mrs[arrive.num_mrs++] = mr;
    return base;
}

/* Where the data of a datagram go. @return 0, or -1 for a bad key. */
static int arrive_places(const arrival_t *arrival)
{
    const sh_qp_t *qp        = arrival->qp;
    const struct ibv_pd *pd  = (qp->super.srq != NULL) ? qp->super.srq->pd : qp->super.pd;
    const sh_recv_wqe_t *wqe = &arrival->wqe;
    uint32_t offset          = arrival->offset;
    uint32_t left            = arrival->length;
    uint32_t part;
    unsigned i;
    char *base;

    for (i = 0; i < wqe->num_sge; ++i) {
        base = arrive_find(pd, &wqe->sge[i]);
        if (base == NULL) {
            return -1;
        }
        if (offset >= wqe->sge[i].length) {
            offset -= wqe->sge[i].length;
            continue;
        }
        part = sh_min(wqe->sge[i].length - offset, left);
        if (part > 0) {
            sh_pieces_append(arrive.remote, &arrive.num_remote, base + offset, part);
        }
        offset = 0;
        left -= part;
    }
    return 0;
}

static void arrive_put_mrs(void)
{
    while (arrive.num_mrs > 0) {
        sh_mr_put(arrive.mrs[--arrive.num_mrs]);
    }
}

/* Write some datagrams. @return 0, or -1 if that could not be done of all of them. */
static int arrive_write(const arrival_t *list, unsigned count)
{
    const arrival_t *last = &list[count - 1];
    uint64_t length       = 0;
    int error             = 0;
    unsigned i;

    arrive.num_remote = 0;
    for (i = 0; (i < count) && !error; ++i) {
        error = arrive_places(&list[i]);
        length += list[i].length;
    }
    if (!error && (length > 0)) {
        error = process_vm_writev(getpid(), &arrive.local[list->local],
                                  last->local + last->num_local - list->local,
                                  arrive.remote, arrive.num_remote, 0) != (ssize_t)length;
    }
    arrive_put_mrs();
    return error ? -1 : 0;
}

/* Complete one. @return The queue that is locked now. */
static sh_cq_t *arrive_complete(const arrival_t *arrival, sh_cq_t *locked)
{
    sh_cq_t *cq = (sh_cq_t *)(void *)arrival->qp->super.recv_cq;

    if (cq != locked) {
        sh_cq_unlock(locked);
        pthread_mutex_lock(&cq->lock);
    }
    sh_cq_add(cq, arrival->qp, &arrival->wc, 0, arrival->is_solicited, arrival->due);
    if (arrival->wc.status == IBV_WC_SUCCESS) {
        return cq;
    }
    sh_cq_unlock(cq);
    pthread_mutex_lock(&arrival->qp->sq_lock);
    sh_qp_error(arrival->qp, -1);
    pthread_mutex_unlock(&arrival->qp->sq_lock);
    return NULL;
}

void sh_ud_flush(void)
{
    sh_cq_t *locked = NULL;
    arrival_t *arrival;
    unsigned i;
    int error;

    if (arrive.count == 0) {
        return;
    }
    error = arrive_write(arrive.list, arrive.count);
    for (i = 0; i < arrive.count; ++i) {
        arrival = &arrive.list[i];
        if (error && arrive_write(arrival, 1)) {
            arrival->wc.status = sh_settings.like_rxe ? IBV_WC_WR_FLUSH_ERR :
                                                        IBV_WC_LOC_PROT_ERR;
        }
        locked = arrive_complete(arrival, locked);
    }
    sh_cq_unlock(locked);
    arrive.count = arrive.num_pieces = arrive.num_local = 0;
}

static void arrive_wc(arrival_t *arrival, const sh_msg_t *msg)
{
    struct ibv_wc *wc = &arrival->wc;

    memset(wc, 0, sizeof(*wc));
    wc->wr_id    = arrival->wqe.wr_id;
    wc->opcode   = IBV_WC_RECV;
    wc->byte_len = (uint32_t)(SH_GRH_SIZE + msg->length);
    wc->qp_num   = arrival->qp->super.qp_num;
    wc->src_qp   = msg->src_qpn;
    wc->slid     = msg->slid;
    wc->sl       = msg->sl;
    if (msg->flags & SH_MSG_GLOBAL) {
        wc->wc_flags |= IBV_WC_GRH;
    }
    if (msg->flags & SH_MSG_IMM) {
        wc->wc_flags |= IBV_WC_WITH_IMM;
        wc->imm_data = msg->imm;
    }
}

static void arrive_local(arrival_t *arrival, void *base, size_t length)
{
    if (length > 0) {
        arrive.local[arrive.num_local++] = (struct iovec){base, length};
        ++arrival->num_local;
        arrival->length += (uint32_t)length;
    }
}

/* Note what is to be written. */
static void arrive_data(arrival_t *arrival, const sh_msg_t *msg,
                        const struct iovec data[2])
{
    unsigned from = sh_settings.ipv4 ? SH_IPV4_OFFSET : 0;

    arrival->offset = SH_GRH_SIZE;
    if (msg->flags & SH_MSG_GLOBAL) {
        if (sh_settings.ipv4) {
            arrive_ipv4(msg, &arrival->grh);
        } else {
            arrive_grh(msg, &arrival->grh);
        }
        arrival->offset = from;
        arrive_local(arrival, (char *)&arrival->grh + from, SH_GRH_SIZE - from);
    }
    arrive_local(arrival, data[0].iov_base, data[0].iov_len);
    arrive_local(arrival, data[1].iov_base, data[1].iov_len);
}

int sh_ud_accept(sh_qp_t *qp, const sh_msg_t *msg, const struct iovec data[2],
                 uint64_t due)
{
    arrival_t *arrival = &arrive.list[arrive.count];
    int is_too_long;

    if (sh_rq_take(qp, &arrival->wqe)) {
        return -1;
    }
    is_too_long = sh_rq_capacity(&arrival->wqe) < SH_GRH_SIZE + msg->length;
    if (is_too_long && !sh_settings.like_rxe) {
        sh_rq_untake(qp, &arrival->wqe);
        return -1;
    }
    arrival->qp           = qp;
    arrival->due          = due;
    arrival->is_solicited = msg->flags & SH_MSG_SOLICITED;
    arrival->local        = arrive.num_local;
    arrival->offset = arrival->length = arrival->num_local = 0;
    arrive_wc(arrival, msg);
    if (is_too_long) {
        arrival->wc.status = IBV_WC_REM_INV_REQ_ERR;
    } else {
        arrive_data(arrival, msg, data);
    }
    arrive.num_pieces += arrival->wqe.num_sge;
    sh_count(copies, 1);
    sh_count(copied_bytes, msg->length);
    if ((++arrive.count == ARRIVE_DATAGRAMS) ||
        (arrive.num_pieces > ARRIVE_PIECES - SH_MAX_SGE)) {
        sh_ud_flush();
    }
    return 0;
}
