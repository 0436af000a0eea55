/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Datagrams that have arrived. They are given their receives one by one, and their data are
 * written for many of them with one call of the kernel, straight from the ring that they came
 * by, or from the sender's memory. All with sh_proc.lock held.
 */
#include "copy.h"
#include "counters.h"
#include "fetch.h"
#include "ud.h"
#include "util.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <string.h>
#include <unistd.h>

#define ARRIVE_DATAGRAMS SH_ARRIVALS
#define ARRIVE_PIECES    96

#define ARRIVE_IPV4_WHOLE 0x4000 /* may not be cut */

typedef struct arrival {
    sh_qp_t *qp;
    sh_recv_wqe_t wqe;
    struct ibv_wc wc;
    uint64_t due;
    int is_solicited;
    uint32_t
            offset; /* in the receive, of what is here: behind the header, if there is none */
    uint32_t length;
    unsigned local; /* its first piece */
    unsigned num_local;
    struct ibv_grh grh;
    /* If the data are to be fetched */
    uint32_t fetched; /* number of bytes that are fetched */
    uint32_t sender;  /* its QP; 0: they are here */
    uint32_t epoch;
    pid_t pid;
    unsigned from; /* the first piece */
    unsigned num_from;
    int is_lost;
} arrival_t;

static struct {
    arrival_t list[ARRIVE_DATAGRAMS];
    unsigned count;
    struct iovec
            local[3 *
                  ARRIVE_DATAGRAMS]; /* each may have a header, and data in two pieces */
    unsigned num_local;
    struct iovec remote[ARRIVE_PIECES]; /* where they go */
    unsigned num_remote;
    struct iovec from[ARRIVE_PIECES]; /* in the sender's memory, as it listed them */
    unsigned num_from;
    struct iovec merged[ARRIVE_PIECES]; /* pieces that belong together, as one */
    unsigned num_merged;
    struct iovec to[ARRIVE_PIECES]; /* where they go */
    unsigned num_to;
    unsigned num_pieces; /* of all receives */
    sh_mr_t *mrs[2 * ARRIVE_PIECES];
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
 * that of IPv4 is at the end of the place for one. What is before it stays as it was, or is made
 * zeros. */
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
    memset(grh, 0, SH_IPV4_OFFSET);
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

/* Add a part of a receive to a list. @return 0, or -1 for a bad key. */
static int arrive_places(const arrival_t *arrival, uint32_t offset, uint32_t left,
                         struct iovec *list, unsigned *count)
{
    const sh_qp_t *qp        = arrival->qp;
    const struct ibv_pd *pd  = (qp->super.srq != NULL) ? qp->super.srq->pd : qp->super.pd;
    const sh_recv_wqe_t *wqe = &arrival->wqe;
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
        sh_pieces_append(list, count, base + offset, part);
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

/* Find where datagrams go, and where the data are that are to be fetched. @return 0, or -1. */
static int arrive_prepare(const arrival_t *list, unsigned count)
{
    unsigned i, j;

    arrive.num_remote = arrive.num_to = arrive.num_merged = 0;
    for (i = 0; i < count; ++i) {
        /* Also for a datagram without data all keys must be right */
        if (arrive_places(&list[i], list[i].offset, list[i].length, arrive.remote,
                          &arrive.num_remote) ||
            ((list[i].fetched > 0) &&
             arrive_places(&list[i], SH_GRH_SIZE, list[i].fetched, arrive.to,
                           &arrive.num_to))) {
            return -1;
        }
        for (j = list[i].from; j < list[i].from + list[i].num_from; ++j) {
            sh_pieces_append(arrive.merged, &arrive.num_merged, arrive.from[j].iov_base,
                             arrive.from[j].iov_len);
        }
    }
    return 0;
}

/* Write what is in the ring. @return 0, or -1: not everything. */
static int arrive_put(const arrival_t *list, unsigned count)
{
    const arrival_t *last = &list[count - 1];
    uint64_t length = sh_pieces_length((sh_pieces_t){arrive.remote, arrive.num_remote});

    return (length > 0) &&
           (process_vm_writev(getpid(), &arrive.local[list->local],
                              last->local + last->num_local - list->local, arrive.remote,
                              arrive.num_remote, 0) != (ssize_t)length);
}

/* Write some datagrams, of one sender if their data are fetched. @return SH_COPY_OK etc. */
static int arrive_write(const arrival_t *list, unsigned count)
{
    int result = SH_COPY_OK;

    if (arrive_prepare(list, count) || arrive_put(list, count)) {
        result = SH_COPY_LOCAL;
    } else if (arrive.num_to > 0) {
        result = sh_fetch(list->pid, list->sender, list->epoch,
                          (sh_pieces_t){arrive.merged, arrive.num_merged},
                          (sh_pieces_t){arrive.to, arrive.num_to});
    }
    arrive_put_mrs();
    return result;
}

/* One whose data are not to be had is not received, nor are those behind it that have taken
 * receives of the same queue: their order is that of the queue. Its sender has gone this moment. */
static void arrive_lose(unsigned first)
{
    sh_rq_t *rq = sh_qp_rq(arrive.list[first].qp);
    unsigned i;

    for (i = arrive.count; i > first; --i) {
        arrival_t *arrival = &arrive.list[i - 1];

        if ((sh_qp_rq(arrival->qp) == rq) && !arrival->is_lost) {
            arrival->is_lost = 1;
            sh_rq_untake(arrival->qp, &arrival->wqe);
            sh_count(ud_drops, 1);
        }
    }
}

/* Write the datagrams from one on that have the same sender. @return The first of the next
 * sender. */
static unsigned arrive_write_run(unsigned first)
{
    const arrival_t *list = arrive.list;
    unsigned end          = first;
    unsigned i;
    int result;

    while ((end < arrive.count) && (list[end].sender == list[first].sender) &&
           (list[end].epoch == list[first].epoch)) {
        ++end;
    }
    if (arrive_write(&list[first], end - first) == SH_COPY_OK) {
        return end;
    }
    for (i = first; i < end; ++i) {
        result = list[i].is_lost ? SH_COPY_OK : arrive_write(&list[i], 1);
        if (result == SH_COPY_LOCAL) {
            arrive.list[i].wc.status = sh_settings.like_rxe ? IBV_WC_WR_FLUSH_ERR :
                                                              IBV_WC_LOC_PROT_ERR;
        } else if (result != SH_COPY_OK) {
            arrive_lose(i);
        }
    }
    return end;
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
    unsigned i;

    if (arrive.count == 0) {
        return;
    }
    for (i = 0; i < arrive.count;) {
        i = arrive_write_run(i);
    }
    for (i = 0; i < arrive.count; ++i) {
        if (!arrive.list[i].is_lost) {
            locked = arrive_complete(&arrive.list[i], locked);
        }
    }
    sh_cq_unlock(locked);
    arrive.count = arrive.num_pieces = arrive.num_local = arrive.num_from = 0;
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
static void arrive_data(arrival_t *arrival, pid_t pid, const sh_msg_t *msg,
                        const struct iovec data[2])
{
    unsigned from = (sh_settings.ipv4 && !sh_settings.like_rxe) ? SH_IPV4_OFFSET : 0;

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
    if (msg->flags & SH_MSG_FETCH) {
        arrival->fetched  = (uint32_t)msg->length;
        arrival->sender   = msg->src_qpn;
        arrival->epoch    = msg->epoch;
        arrival->pid      = pid;
        arrival->num_from = sh_ud_pieces(msg, &arrive.from[arrive.num_from]);
        arrive.num_from += arrival->num_from;
    } else {
        arrive_local(arrival, data[0].iov_base, data[0].iov_len);
        arrive_local(arrival, data[1].iov_base, data[1].iov_len);
    }
}

int sh_ud_accept(sh_qp_t *qp, pid_t pid, const sh_msg_t *msg, const struct iovec data[2],
                 uint64_t due)
{
    arrival_t *arrival = &arrive.list[arrive.count];
    int is_too_long;

    if (((msg->flags & SH_MSG_FETCH) && !sh_fetch_is_there(msg->src_qpn, msg->epoch)) ||
        sh_rq_take(qp, &arrival->wqe)) {
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
    arrival->from         = arrive.num_from;
    arrival->offset = arrival->length = arrival->num_local = arrival->num_from = 0;
    arrival->fetched = arrival->sender = arrival->epoch = 0;
    arrival->is_lost                                    = 0;
    arrive_wc(arrival, msg);
    if (is_too_long) {
        arrival->wc.status = IBV_WC_REM_INV_REQ_ERR;
    } else {
        arrive_data(arrival, pid, msg, data);
    }
    arrive.num_pieces += arrival->wqe.num_sge;
    sh_count(copies, 1);
    sh_count(copied_bytes, msg->length);
    if ((++arrive.count == ARRIVE_DATAGRAMS) ||
        (arrive.num_pieces > ARRIVE_PIECES - SH_MAX_SGE) ||
        (arrive.num_from > ARRIVE_PIECES - SH_MAX_SGE)) {
        sh_ud_flush();
    }
    return 0;
}
