/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Datagrams of a send queue that follow each other to one process: they take their turns on the
 * link together, also those that get lost. The data of longer ones stay where they are, and are
 * fetched by the receiver (fetch.h); those of shorter ones are fetched with one call of the kernel,
 * straight into the ring to it. What is special about one of them is left to sh_ud_send().
 */
#include "copy.h"
#include "counters.h"
#include "faults.h"
#include "fetch.h"
#include "link.h"
#include "ud.h"
#include "util.h"

#include <string.h>
#include <unistd.h>

#define BURST_DATAGRAMS 16
#define BURST_PIECES    96

/* From this number of bytes on, data are not copied twice. */
#define BURST_FETCH 512

/* With the lock of sh_fabric_begin() from that on. */
typedef struct burst {
    sh_qp_t *qp;
    unsigned slot;
    int may_fetch; /* nothing that the queue has sent to another process is still to be fetched */
    int fetches; /* there is one with data that stay */
    unsigned count;
    sh_msg_t msgs[BURST_DATAGRAMS];
    uint32_t lost; /* a bit for each that is not in the ring */
    struct iovec remote[BURST_PIECES];
    unsigned num_remote;
    struct iovec local[2 * BURST_DATAGRAMS];
    unsigned num_local;
    sh_mr_t *mrs[BURST_PIECES];
    unsigned num_mrs;
} burst_t;

/* Find the memory of a piece, which may be that of the last one. @return NULL for a bad key. */
static void *burst_find(burst_t *burst, const struct ibv_sge *sge)
{
    const struct ibv_pd *pd = burst->qp->super.pd;
    void *base              = NULL;

    if (burst->num_mrs > 0) {
        base = sh_mr_again(burst->mrs[burst->num_mrs - 1], pd, sge->lkey, sge->addr,
                           sge->length, 0);
    }
    if (base == NULL) {
        burst->mrs[burst->num_mrs] = sh_mr_get(pd, sge->lkey, sge->addr, sge->length, 0,
                                               &base);
        if (burst->mrs[burst->num_mrs] == NULL) {
            return NULL;
        }
        ++burst->num_mrs;
    }
    return base;
}

/* Tell the receiver where the data are. */
static void burst_describe(const sh_send_wqe_t *wqe, void *const *bases,
                           const struct iovec data[2])
{
    sh_sge_t list[SH_MAX_SGE];
    unsigned i;

    for (i = 0; i < wqe->num_sge; ++i) {
        list[i] = (sh_sge_t){(uintptr_t)bases[i], wqe->sge[i].length};
    }
    memcpy(data[0].iov_base, list, data[0].iov_len);
    memcpy(data[1].iov_base, (const char *)list + data[0].iov_len, data[1].iov_len);
}

static int burst_is_lost(const burst_t *burst)
{
    sh_ud_fault_t fault;

    if (!sh_ud_may_drop()) {
        return 0;
    }
    sh_faults_ud(burst->qp, &fault);
    return fault.drop;
}

/* Add a datagram. @return 0, or -1 if the burst ends before it. */
static int burst_add(burst_t *burst, const sh_send_wqe_t *wqe)
{
    unsigned num_remote = burst->num_remote;
    sh_msg_t *msg       = &burst->msgs[burst->count];
    struct iovec data[2];
    void *bases[SH_MAX_SGE];
    unsigned i;

    if ((sh_qpn_slot(wqe->remote_qpn) != burst->slot) || (wqe->length == 0) ||
        (wqe->length > sh_settings.mtu) || (wqe->flags & IBV_SEND_INLINE) ||
        (num_remote + wqe->num_sge > BURST_PIECES) ||
        (burst->num_mrs + wqe->num_sge > BURST_PIECES)) {
        return -1;
    }
    for (i = 0; i < wqe->num_sge; ++i) {
        bases[i] = burst_find(burst, &wqe->sge[i]);
        if (bases[i] == NULL) {
            return -1;
        }
    }
    sh_ud_header(burst->qp, wqe, msg);
    msg->psn = sh_psn_add(burst->qp->sq.psn, burst->count);
    if (burst->may_fetch && (wqe->length >= BURST_FETCH)) {
        msg->flags |= SH_MSG_FETCH;
        msg->num_sge = wqe->num_sge;
        msg->size    = (uint32_t)(sizeof(*msg) + wqe->num_sge * sizeof(sh_sge_t));
    }
    if (sh_fabric_place(burst->slot, msg->size, data)) {
        return -1;
    }
    ++burst->count;
    if (burst_is_lost(burst)) {
        sh_fabric_unplace(burst->slot, msg->size);
        burst->lost |= 1u << (burst->count - 1);
        return 0;
    }
    if (msg->flags & SH_MSG_FETCH) {
        burst->fetches = 1;
        burst_describe(wqe, bases, data);
        return 0;
    }
    for (i = 0; i < wqe->num_sge; ++i) {
        sh_pieces_append(burst->remote, &burst->num_remote, bases[i], wqe->sge[i].length);
    }
    for (i = 0; i < 2; ++i) {
        sh_pieces_append(burst->local, &burst->num_local, data[i].iov_base,
                         data[i].iov_len);
    }
    return 0;
}

/* Put those that are not lost into the ring. */
static void burst_put(burst_t *burst)
{
    sh_msg_t kept[BURST_DATAGRAMS];
    unsigned i, count = 0;

    if (burst->lost == 0) {
        sh_fabric_end(burst->slot, burst->msgs, burst->count,
                      burst->fetches ? &burst->qp->fetch : NULL);
        return;
    }
    for (i = 0; i < burst->count; ++i) {
        if (!(burst->lost & (1u << i))) {
            kept[count++] = burst->msgs[i];
        }
    }
    sh_fabric_end(burst->slot, kept, count, burst->fetches ? &burst->qp->fetch : NULL);
}

/* They have been sent. */
static void burst_complete(const burst_t *burst)
{
    sh_qp_t *qp = burst->qp;
    unsigned i;

    for (i = 0; i < burst->count; ++i) {
        sh_link_count(burst->msgs[i].length, sh_settings.mtu);
        ++qp->sq.next;
        sh_sq_complete_at(qp, IBV_WC_SUCCESS, burst->msgs[i].sent + burst->msgs[i].wire);
    }
    qp->sq.psn = sh_psn_add(qp->sq.psn, burst->count);
}

unsigned sh_ud_burst(sh_qp_t *qp)
{
    burst_t burst;
    uint64_t i;

    burst.qp    = qp;
    burst.slot  = sh_qpn_slot(sh_sq_at(&qp->sq, qp->sq.next)->remote_qpn);
    burst.count = burst.num_remote = burst.num_local = burst.num_mrs = 0;
    burst.fetches                                                    = 0;
    burst.lost                                                       = 0;
    burst.may_fetch = sh_fetch_is_done(&qp->fetch, sh_now()) ||
                      (qp->fetch.slot == burst.slot);
    if (sh_ud_is_faulty() || sh_fabric_begin(burst.slot)) {
        return 0;
    }
    for (i = qp->sq.next; (i < qp->sq.tail) && (burst.count < BURST_DATAGRAMS); ++i) {
        if (burst_add(&burst, sh_sq_at(&qp->sq, i))) {
            break;
        }
    }
    if (sh_copy_many(getpid(), (sh_pieces_t){burst.remote, burst.num_remote},
                     (sh_pieces_t){burst.local, burst.num_local})) {
        burst.count = burst.fetches = 0;
    }
    if (burst.count > 0) {
        sh_link_send_all(sh_context(qp->super.context)->device->index, burst.msgs,
                         burst.count, &qp->sent);
    }
    burst_put(&burst);
    while (burst.num_mrs > 0) {
        sh_mr_put(burst.mrs[--burst.num_mrs]);
    }
    burst_complete(&burst);
    return burst.count;
}
