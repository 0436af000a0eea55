/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * In the order of a life: creation, the end, then failure, which ends sends first, and the loss of
 * a number, which ends them too but lets the peer receive what was sent before.
 */
#include "conn_life.h"
#include "types/module.h"
#include "send_req.h"
#include "types/worker_types.h"
#include "../../ucs/clock.h"
#include "../../ucs/log.h"
#include "../../ucs/settings.h"

#include <assert.h>
#include <stdlib.h>

/* Progress calls after which a peer is given up, at least. */
#define CONN_TIMEOUT_CALLS 16

/* An endpoint that stock has made for a reply is handed to the application later, and
 * stock re-uses the memory of closed ones. @return The conn, if it still fits. */
static ri_conn_t *conn_reuse(ri_worker_t *worker, ucp_ep_h ep,
                             const ri_wire_worker_t *remote, uint32_t flags)
{
    ri_conn_t *conn = ri_conn_find(ep);
    uint64_t uid    = remote->uid;

    if (conn == NULL) {
        return NULL;
    }
    if (conn->worker != worker) {
        /* The thread of that worker may be at it, so it stays until that worker ends */
        ri_map_remove(&ri_conn_map, (uintptr_t)ep);
        return NULL;
    }
    if ((conn->status != UCS_OK) || (conn->flags & RI_CONN_CLOSING) ||
        ((uid != 0) && (conn->peer != NULL) && (conn->peer->uid != uid))) {
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
        return NULL;
    }

    conn->flags |= flags;
    if ((uid != 0) && (conn->peer == NULL)) {
        ri_conn_set_peer(conn, remote);
    }
    return conn;
}

/* @return A conn without a peer, of which nobody knows yet, or NULL: there is no memory. */
static ri_conn_t *conn_alloc(ri_worker_t *worker, ucp_ep_h ep, uint32_t flags)
{
    ri_conn_t *conn = aligned_alloc(RI_CACHE_LINE, RI_CACHE_LINES(sizeof(*conn)));

    if (conn == NULL) {
        return NULL;
    }
    *conn        = (ri_conn_t){0};
    conn->ep     = ep;
    conn->worker = worker;
    conn->am_id  = worker->self.am_id - 1; /* until the peer says otherwise */
    conn->flags  = flags;
    conn->status = UCS_OK;
    ucs_list_head_init(&conn->pending);
    ucs_list_head_init(&conn->pending_link);
    ucs_list_head_init(&conn->asking.link);
    ucs_list_head_init(&conn->rtr.late_link);
    ucs_list_head_init(&conn->sends);
    ucs_list_head_init(&conn->lent);
    ucs_list_head_init(&conn->rma.ops[RI_RMA_GET]);
    ucs_list_head_init(&conn->rma.ops[RI_RMA_PUT]);
    ucs_list_head_init(&conn->rma.behind_link);
    conn->serial = ++worker->conn_serial;
    return conn;
}

ucs_status_t ri_conn_create(ri_worker_t *worker, ucp_ep_h ep,
                            const ri_wire_worker_t *remote, ucs_status_t address_status,
                            uint32_t flags, ri_conn_t **conn_p)
{
    ri_conn_t *conn = conn_reuse(worker, ep, remote, flags);
    uint64_t uid    = remote->uid;
    ucs_status_t status;

    if (conn != NULL) {
        *conn_p = conn;
        return UCS_OK;
    }

    conn = conn_alloc(worker, ep,
                      flags | ((address_status == UCS_ERR_NO_ELEM)     ? RI_CONN_NO_PEER :
                               (address_status == UCS_ERR_UNSUPPORTED) ? RI_CONN_VERSION :
                                                                         0));
    if (conn == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    conn->id = ri_id_alloc(&worker->ids.conns, conn);
    if (conn->id == 0) {
        status = UCS_ERR_EXCEEDS_LIMIT;
        goto err_free;
    }
    status = ri_map_put(&ri_conn_map, (uintptr_t)ep, conn);
    if (status != UCS_OK) {
        goto err_id;
    }

    ucs_list_add_tail(&worker->conns, &conn->list);
    ri_trace(&worker->trace, RI_TRACE_CONN_NEW, uid, conn->id);
    if ((uid == worker->self.uid) && worker->host_memory) {
        conn->flags |= RI_CONN_SELF;
    } else if (uid != 0) {
        status = ri_conn_set_peer(conn, remote);
        if (status != UCS_OK) {
            goto err_map;
        }
    }
    *conn_p = conn;
    return UCS_OK;

err_map:
    ucs_list_del(&conn->list);
    ri_map_remove(&ri_conn_map, (uintptr_t)ep);
err_id:
    ri_id_free(&worker->ids.conns, conn->id);
err_free:
    free(conn);
    return status;
}

void ri_conn_destroy(ri_conn_t *conn, ucs_status_t status)
{
    ri_worker_t *worker = conn->worker;

    ri_trace(&worker->trace, RI_TRACE_CONN_CLOSE, conn->id, conn->tx_sn);
    if (conn->flags & RI_CONN_LEFT) {
        --worker->closes.num_left;
    } else if (ri_conn_find(conn->ep) == conn) {
        ri_map_remove(&ri_conn_map, (uintptr_t)conn->ep);
    }
    ri_id_free(&worker->ids.conns, conn->id);
    ucs_list_del(&conn->list);
    RI_MODULES_TELL(conn_closes, conn);
    if (conn->peer != NULL) {
        ucs_list_del(&conn->peer_list);
        ri_peer_check_unused(worker, conn->peer);
        conn->peer = NULL;
    }
    ri_conn_stop_timeout(conn);

    while (!ucs_list_is_empty(&conn->sends)) {
        ri_send_abort(ucs_list_head(&conn->sends, ri_send_req_t, list), status);
    }
    RI_MODULES_TELL(conn_closed, conn, status);
    ri_conn_dequeue_pending(conn);
    RI_MODULES_TELL(conn_freed, conn);
    ri_counters_conn_add(&worker->counters.conns, &conn->counters);
    free(conn);
}

/* Messages that were sent before a lost number are received as ever, so the peer may need their
 * memory until it has answered. */
static int conn_outlives_loss(const ri_conn_t *conn, const ri_send_req_t *req)
{
    return ((int32_t)(req->sn - conn->end_sn) < 0) && ri_send_is_needed(req) &&
           ((req->proto->outlives_loss == NULL) || req->proto->outlives_loss(req));
}

/* @return The next send that ends now that the conn has failed, or NULL. */
static ri_send_req_t *conn_next_to_end(const ri_conn_t *conn, int all)
{
    ri_send_req_t *req;

    ucs_list_for_each(req, &conn->sends, list) {
        if (all || !conn_outlives_loss(conn, req)) {
            return req;
        }
    }
    return NULL;
}

/* A completion callback may start new sends, which fail at once, or close the endpoint, after
 * which the conn is gone. @return Whether it is there still. */
static int conn_end_sends(ri_conn_t *conn, int all, ucs_status_t status)
{
    ri_worker_t *worker = conn->worker;
    uint32_t id         = conn->id;
    ri_send_req_t *req;

    while ((ri_id_get(&worker->ids.conns, id) == conn) &&
           ((req = conn_next_to_end(conn, all)) != NULL)) {
        ri_send_abort(req, status);
    }
    return ri_id_get(&worker->ids.conns, id) == conn;
}

/* A conn fails, once. */
static void conn_set_failed(ri_conn_t *conn, ucs_status_t status)
{
    assert((conn->status == UCS_OK) && (status != UCS_OK));
    conn->status = status;
}

void ri_conn_fail(ri_conn_t *conn, ucs_status_t status)
{
    int is_first = (conn->status == UCS_OK);

    ri_conn_stop_timeout(conn);
    if (is_first) {
        ri_trace(&conn->worker->trace, RI_TRACE_CONN_FAIL, conn->id, status);
        conn_set_failed(conn, status);
    }
    RI_MODULES_TELL(conn_fails, conn, is_first);
    ri_conn_update_fast(conn);
    if (is_first) {
        ri_conn_dequeue_pending(conn);
    }
    conn_end_sends(conn, 1, status); /* also what a lost number had left */
}

/* @return The number of the first message that is lost: @a sn, or that of an earlier send that
 * waits for room in the ring, which is about to be closed. */
static uint32_t conn_first_lost(const ri_conn_t *conn, uint32_t sn)
{
    uint32_t first;

    if (ucs_list_is_empty((ucs_list_link_t *)&conn->pending)) {
        return sn;
    }
    first = ucs_list_head(&conn->pending, ri_send_req_t, pending)->sn;
    return ((int32_t)(first - sn) < 0) ? first : sn;
}

void ri_conn_lose(ri_conn_t *conn, uint32_t sn, ucs_status_t status)
{
    int is_first = (conn->status == UCS_OK);

    if (is_first) {
        ri_trace(&conn->worker->trace, RI_TRACE_CONN_FAIL, conn->id, status);
        ri_conn_set_life(conn, conn->flags | RI_CONN_LOST);
        conn->end_sn = conn_first_lost(conn, sn);
        RI_MODULES_TELL(conn_loses, conn);
        conn_set_failed(conn, status);
        ri_conn_stop_timeout(conn);
        ri_conn_update_fast(conn);
    } else if ((conn->flags & RI_CONN_LOST) && !(conn->flags & RI_CONN_BYE) &&
               ((int32_t)(sn - conn->end_sn) < 0)) {
        conn->end_sn = sn;
    } else {
        return;
    }

    if (!conn_end_sends(conn, 0, status)) {
        return;
    }
    if (is_first) {
        RI_MODULES_TELL(conn_stops, conn);
        ri_conn_dequeue_pending(conn);
    }
    ri_conn_say_lost(conn);
}

/* @return An endpoint of stock's own to a peer, or NULL. */
static ri_conn_t *conn_find_reply(ri_worker_t *worker, uint64_t uid)
{
    ri_peer_t *peer = ri_map_get(&worker->peers, uid);
    ri_conn_t *conn;

    if (peer != NULL) {
        ucs_list_for_each(conn, &peer->conns, peer_list) {
            if (!(conn->flags & RI_CONN_USER)) {
                return conn;
            }
        }
    }
    return NULL;
}

void ri_conn_tell_failure(ri_worker_t *worker, uint32_t id, ucs_status_t status)
{
    ri_conn_t *conn = ri_id_get(&worker->ids.conns, id);
    ucp_err_handler_cb_t cb;

    if ((conn == NULL) || (conn->err_cb == NULL) || (conn->flags & RI_CONN_CLOSING)) {
        return;
    }
    cb           = conn->err_cb;
    conn->err_cb = NULL; /* called once, as by stock */
    cb(conn->err_arg, conn->ep, status);
}

void ri_conn_endpoint_failed(ri_conn_t *conn, ucs_status_t status)
{
    ri_worker_t *worker = conn->worker;
    uint64_t uid        = (conn->peer != NULL) ? conn->peer->uid : 0;
    uint32_t id         = conn->id;
    ri_conn_t *reply;

    ri_conn_set_life(conn, conn->flags & ~(uint32_t)RI_CONN_LOST);
    ri_conn_fail(conn, status);
    while ((uid != 0) && ((reply = conn_find_reply(worker, uid)) != NULL)) {
        ri_conn_destroy(reply, status);
    }
    ri_peer_check_failed(worker, uid, status);
    ri_conn_tell_failure(worker, id, status);
}

void ri_conn_report_unusable(ucs_status_t why)
{
    static _Atomic(int) reported_none, reported_version, reported_silent;

    if ((why == UCS_ERR_NO_ELEM) && !atomic_exchange(&reported_none, 1)) {
        ri_error("a peer runs without ucxri, so tag messages to it fail: "
                 "set UCX_RNDV_SCHEME=recv_init and LD_PRELOAD=libucxri.so "
                 "for all processes of the job, or for none");
    } else if ((why == UCS_ERR_UNSUPPORTED) && !atomic_exchange(&reported_version, 1)) {
        ri_error("a peer has another version of ucxri (this one speaks wire version %u), "
                 "so tag messages to it fail: "
                 "preload the same libucxri.so in all processes of the job, or in none",
                 RI_WIRE_VERSION);
    } else if ((why == UCS_ERR_TIMED_OUT) && !atomic_exchange(&reported_silent, 1)) {
        ri_error("a peer has not answered for %g s: if it runs without ucxri, "
                 "set UCX_RNDV_SCHEME=recv_init and LD_PRELOAD=libucxri.so "
                 "for all processes of the job, or for none; "
                 "if it has another UCXRI_AM_ID, set the same for all; "
                 "if it is only late, raise UCXRI_CONNECT_TIMEOUT",
                 ri_config.connect_timeout);
    }
}

/* The answer of the peer is noticed by progress only, and may take some calls. So the time
 * in which the application does not call progress must not count, or only a little. */
static int conn_timed_out(ri_conn_t *conn, double now)
{
    conn->asking.time += ri_min(now - conn->asking.counted_at,
                                ri_config.connect_timeout / CONN_TIMEOUT_CALLS);
    conn->asking.counted_at = now;
    return conn->asking.time >= ri_config.connect_timeout;
}

void ri_conn_check_timeouts(ri_worker_t *worker)
{
    size_t count = ucs_list_length(&worker->asking.conns);
    double now   = ri_clock_now();
    ri_conn_t *conn;

    /* One round, from the head: callbacks may close any conn, or let one ask. */
    for (; (count > 0) && !ucs_list_is_empty(&worker->asking.conns); --count) {
        conn = ucs_list_extract_head(&worker->asking.conns, ri_conn_t, asking.link);
        ucs_list_add_tail(&worker->asking.conns, &conn->asking.link);
        if (conn_timed_out(conn, now)) {
            ri_conn_report_unusable(UCS_ERR_TIMED_OUT);
            ri_conn_fail(conn, UCS_ERR_UNREACHABLE);
        }
    }
}
