/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "conn.h"
#include "config.h"
#include "ep_op.h"
#include "worker.h"
#include "../preload/stock.h"
#include "../proto/control.h"
#include "../proto/coop.h"
#include "../proto/eager.h"
#include "../proto/hybrid.h"
#include "../proto/planes.h"
#include "../proto/ring_channel.h"
#include "../proto/rndv.h"
#include "../proto/rtr.h"
#include "../proto/select.h"
#include "../tag/send.h"

#include <math.h>
#include <stdlib.h>

/* A peer is given up after so many progress calls at least. */
#define CONN_TIMEOUT_CALLS 16

ri_map_t ri_conn_map = RI_MAP_INITIALIZER;

ri_peer_t *ri_peer_get(ri_worker_t *worker, uint64_t uid)
{
    ri_peer_t *peer = ri_map_get(&worker->peers, uid);

    if (peer != NULL) {
        return peer;
    }

    peer = malloc(sizeof(*peer));
    if (peer == NULL) {
        return NULL;
    }
    peer->uid          = uid;
    peer->plane_ep     = NULL;
    peer->rdma_ep      = NULL;
    peer->rdma         = RI_RDMA_NONE;
    peer->gone         = 0;
    peer->waited       = 0;
    peer->hint_is_news = 0;
    peer->ready        = 0;
    peer->failed       = 0;
    ucs_list_head_init(&peer->conns);
    ucs_list_head_init(&peer->streams);
    ucs_list_head_init(&peer->owed);
    peer->num_releases = 0;
    ucs_list_head_init(&peer->releasing_link);
    if (ri_map_put(&worker->peers, uid, peer) != UCS_OK) {
        free(peer);
        return NULL;
    }
    return peer;
}

/* Nobody is left to speak with. What is owed is owed to the senders of its streams. */
static void peer_check_unused(ri_worker_t *worker, ri_peer_t *peer)
{
    if (ucs_list_is_empty(&peer->conns) && ucs_list_is_empty(&peer->streams)) {
        ri_control_drop(&peer->owed);
        ucs_list_del(&peer->releasing_link);
        ri_planes_disconnect(peer);
        ri_planes_disconnect_rdma(peer);
        ri_map_remove(&worker->peers, peer->uid);
        free(peer);
    }
}

ri_conn_t *ri_peer_way_out(ri_peer_t *peer)
{
    ri_conn_t *reply   = NULL;
    ri_conn_t *closing = NULL;
    ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if ((conn->status != UCS_OK) || (conn->flags & RI_CONN_BYE)) {
            continue;
        }
        if (conn->flags & RI_CONN_CLOSING) {
            closing = conn;
        } else if (conn->flags & RI_CONN_USER) {
            return conn;
        } else {
            reply = conn;
        }
    }
    return (reply != NULL) ? reply : closing;
}

ucs_status_t ri_conn_set_peer(ri_conn_t *conn, uint64_t uid)
{
    ri_peer_t *peer = ri_peer_get(conn->worker, uid);

    if (peer == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    conn->peer = peer;
    ucs_list_add_tail(&peer->conns, &conn->peer_list);
    ri_control_flush_owed(conn->worker, peer);
    return UCS_OK;
}

/* An endpoint that stock has made for a reply is handed to the application later, and
 * stock re-uses the memory of closed ones. @return The conn, if it still fits. */
static ri_conn_t *conn_reuse(ri_worker_t *worker, ucp_ep_h ep, uint64_t uid,
                             uint32_t flags)
{
    ri_conn_t *conn = ri_conn_find(ep);

    if (conn == NULL) {
        return NULL;
    }
    if ((conn->worker != worker) || (conn->status != UCS_OK) ||
        (conn->flags & RI_CONN_CLOSING) ||
        ((uid != 0) && (conn->peer != NULL) && (conn->peer->uid != uid))) {
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
        return NULL;
    }

    conn->flags |= flags;
    if ((uid != 0) && (conn->peer == NULL)) {
        ri_conn_set_peer(conn, uid);
    }
    return conn;
}

ucs_status_t ri_conn_create(ri_worker_t *worker, ucp_ep_h ep, uint64_t uid,
                            ucs_status_t address_status, uint32_t flags,
                            ri_conn_t **conn_p)
{
    ri_conn_t *conn = conn_reuse(worker, ep, uid, flags);
    ucs_status_t status;

    if (conn != NULL) {
        *conn_p = conn;
        return UCS_OK;
    }

    conn = aligned_alloc(RI_CACHE_LINE, (sizeof(*conn) + RI_CACHE_LINE - 1) &
                                                ~(size_t)(RI_CACHE_LINE - 1));
    if (conn == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    *conn        = (ri_conn_t){0};
    conn->ep     = ep;
    conn->worker = worker;
    conn->flags  = flags | ((address_status == UCS_ERR_NO_ELEM)     ? RI_CONN_NO_PEER :
                            (address_status == UCS_ERR_UNSUPPORTED) ? RI_CONN_VERSION :
                                                                      0);
    conn->status = UCS_OK;
    ucs_list_head_init(&conn->pending);
    ucs_list_head_init(&conn->pending_link);
    ucs_list_head_init(&conn->asking_link);
    ucs_list_head_init(&conn->late_link);
    ucs_list_head_init(&conn->sends);
    ucs_list_head_init(&conn->lent);
    conn->serial = ++worker->conn_serial;
    conn->id     = ri_id_alloc(&worker->conn_ids, conn);
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
    if ((uid == worker->uid) && worker->host_memory) {
        conn->flags |= RI_CONN_SELF;
    } else if (uid != 0) {
        status = ri_conn_set_peer(conn, uid);
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
    ri_id_free(&worker->conn_ids, conn->id);
err_free:
    free(conn);
    return status;
}

void ri_conn_update_fast(ri_conn_t *conn)
{
    int healthy = (conn->status == UCS_OK) &&
                  !(conn->flags & (RI_CONN_SELF | RI_CONN_NO_PEER | RI_CONN_VERSION |
                                   RI_CONN_CLOSING)) &&
                  conn->worker->host_memory;

    if (!healthy || (conn->remote_id == 0) || !ucs_list_is_empty(&conn->pending)) {
        conn->fast_max = 0;
    } else if (conn->ring != NULL) {
        conn->fast_max = (conn->flags & RI_CONN_NO_RING) ? 0 : conn->ring_max + 1;
    } else if (conn->flags & RI_CONN_AM_READY) {
        conn->fast_max = ri_config.eager_thresh + 1;
    } else {
        conn->fast_max = ri_min((size_t)RI_SELECT_SHORT, ri_config.am_inline) + 1;
    }
}

void ri_conn_queue_pending(ri_conn_t *conn)
{
    ri_conn_update_fast(conn);
    conn->worker->attention = 1;
    if (ucs_list_is_empty(&conn->pending_link)) {
        ucs_list_add_tail(&conn->worker->pending_conns, &conn->pending_link);
    }
}

static void conn_dequeue_pending(ri_conn_t *conn)
{
    ucs_list_del(&conn->pending_link);
    ucs_list_head_init(&conn->pending_link);
}

void ri_conn_progress_pending(ri_conn_t *conn)
{
    ri_worker_t *worker = conn->worker;
    uint32_t id         = conn->id;

    while (!ucs_list_is_empty(&conn->pending)) {
        if (!ri_eager_retry_ring(ucs_list_head(&conn->pending, ri_send_req_t, pending))) {
            return;
        }
        /* The send's callback may have closed the endpoint, or failed it. */
        if ((ri_id_get(&worker->conn_ids, id) != conn) || (conn->status != UCS_OK)) {
            return;
        }
    }
    if (conn->flags & RI_CONN_RING_STOP) {
        if (!ri_coop_let_go(conn)) {
            return;
        }
        ri_ring_channel_close(conn);
    }
    conn_dequeue_pending(conn);
    ri_conn_update_fast(conn);
}

void ri_conn_say_bye(ri_conn_t *conn)
{
    /* An error mode without failure handling (that of MPIs) makes sending to a process
     * that has ended a fatal error, and peers that close at the same time are the rule
     * there. The stream then stays until the other worker ends. A record in the ring is
     * always safe. */
    int safe = (conn->flags & RI_CONN_PEER_MODE) && (conn->remote_id != 0) &&
               (conn->status == UCS_OK) && !(conn->flags & RI_CONN_BYE);

    ri_ring_channel_close(conn);
    if (safe) {
        conn->flags |= RI_CONN_BYE;
        ri_control_send(conn, RI_WIRE_BYE, conn->remote_id, conn->tx_sn);
    }
}

void ri_conn_destroy(ri_conn_t *conn, ucs_status_t status)
{
    ri_worker_t *worker = conn->worker;

    ri_trace(&worker->trace, RI_TRACE_CONN_CLOSE, conn->id, conn->tx_sn);
    ri_map_remove(&ri_conn_map, (uintptr_t)conn->ep);
    ri_id_free(&worker->conn_ids, conn->id);
    ucs_list_del(&conn->list);
    ri_hybrid_conn_closed(conn);
    if (conn->peer != NULL) {
        ucs_list_del(&conn->peer_list);
        peer_check_unused(worker, conn->peer);
        conn->peer = NULL;
    }
    ri_conn_stop_timeout(conn);

    while (!ucs_list_is_empty(&conn->sends)) {
        ri_send_abort(ucs_list_head(&conn->sends, ri_send_req_t, list), status);
    }
    ri_ep_ops_abort(conn, status);
    conn_dequeue_pending(conn);
    ri_ring_channel_close(conn); /* what was waiting for room is given up already */
    ri_conn_counters_add(&worker->counters.conns, &conn->counters);
    ucs_list_del(&conn->late_link);
    free(conn->rtrs);
    free(conn);
}

void ri_conn_fail(ri_conn_t *conn, ucs_status_t status)
{
    ri_worker_t *worker = conn->worker;
    uint32_t id         = conn->id;

    if (conn->status != UCS_OK) {
        return;
    }

    ri_trace(&conn->worker->trace, RI_TRACE_CONN_FAIL, conn->id, status);
    conn->status = status;
    ri_conn_stop_timeout(conn);
    ri_ring_channel_close(conn);
    ri_conn_update_fast(conn);
    ri_hybrid_conn_failed(conn);

    conn_dequeue_pending(conn);

    /* A completion callback may start new sends, which fail at once, or close the
     * endpoint, after which the conn is gone. */
    while ((ri_id_get(&worker->conn_ids, id) == conn) &&
           !ucs_list_is_empty(&conn->sends)) {
        ri_send_abort(ucs_list_head(&conn->sends, ri_send_req_t, list), status);
    }
}

void ri_conn_say_lost(ri_conn_t *conn)
{
    ri_conn_t *other;

    if (!(conn->flags & RI_CONN_LOST) || (conn->flags & RI_CONN_BYE) ||
        (conn->remote_id == 0)) {
        return;
    }
    other = (conn->peer != NULL) ? ri_peer_way_out(conn->peer) : NULL;
    conn->flags |= RI_CONN_BYE;
    ri_control_send((other != NULL) ? other : conn, RI_WIRE_BYE, conn->remote_id,
                    conn->lost_sn - 1);
}

void ri_conn_lose(ri_conn_t *conn, uint32_t sn, ucs_status_t status)
{
    ri_worker_t *worker = conn->worker;
    uint32_t id         = conn->id;

    if (conn->status != UCS_OK) {
        return;
    }
    conn->flags |= RI_CONN_LOST;
    conn->lost_sn = sn;
    if (conn->remote_id == 0) {
        ri_control_ask(conn); /* told with the answer */
    }
    ri_conn_fail(conn, status);
    if (ri_id_get(&worker->conn_ids, id) == conn) {
        ri_conn_say_lost(conn);
    }
}

void ri_conn_say_over(ri_conn_t *conn)
{
    conn->flags |= RI_CONN_LOST;
    conn->lost_sn = conn->tx_sn + 1;
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

/* No endpoint to the peer is left that works: it is taken to be gone. What it has written
 * is still read, and then its rings end, with what was on its way. What was asked of it will
 * not come. */
static void peer_check_failed(ri_worker_t *worker, uint64_t uid, ucs_status_t status)
{
    ri_peer_t *peer = (uid != 0) ? ri_map_get(&worker->peers, uid) : NULL;
    ri_stream_t *stream;

    if ((peer == NULL) || (ri_peer_way_out(peer) != NULL)) {
        return;
    }
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        stream->ring_dead = 1;
    }
    peer->failed = 1;
    ri_rndv_abort_all(worker, uid, status);
    ri_rtr_peer_failed(worker, uid);
}

void ri_conn_tell_failure(ri_worker_t *worker, uint32_t id, ucs_status_t status)
{
    ri_conn_t *conn = ri_id_get(&worker->conn_ids, id);
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

    conn->flags &= ~RI_CONN_LOST;
    ri_conn_fail(conn, status);
    while ((uid != 0) && ((reply = conn_find_reply(worker, uid)) != NULL)) {
        ri_conn_destroy(reply, status);
    }
    peer_check_failed(worker, uid, status);
    ri_conn_tell_failure(worker, id, status);
}

/* What is not printed at one level may be at a more severe one later. */
static int conn_is_news(_Atomic(int) *reported, ri_log_level_t level)
{
    return (level <= ri_log_level) && !atomic_exchange(reported, 1);
}

void ri_conn_report_unusable(ri_log_level_t level, ucs_status_t why)
{
    static _Atomic(int) reported_none, reported_version, reported_silent;

    if ((why == UCS_ERR_NO_ELEM) && conn_is_news(&reported_none, level)) {
        ri_log(level, "a peer runs without ucxri, so tag messages to it fail: "
                      "set UCX_RNDV_SCHEME=recv_init and LD_PRELOAD=libucxri.so "
                      "for all processes of the job, or for none");
    } else if ((why == UCS_ERR_UNSUPPORTED) && conn_is_news(&reported_version, level)) {
        ri_log(level,
               "a peer has another version of ucxri (this one speaks wire version %u), "
               "so tag messages to it fail: "
               "preload the same libucxri.so in all processes of the job, or in none",
               RI_WIRE_VERSION);
    } else if ((why == UCS_ERR_TIMED_OUT) && conn_is_news(&reported_silent, level)) {
        ri_log(level,
               "a peer has not answered for %g s: if it runs without ucxri, "
               "set UCX_RNDV_SCHEME=recv_init and LD_PRELOAD=libucxri.so "
               "for all processes of the job, or for none; "
               "if it is only late, raise UCXRI_CONNECT_TIMEOUT",
               ri_config.connect_timeout);
    }
}

void ri_conn_start_timeout(ri_conn_t *conn)
{
    ri_worker_t *worker = conn->worker;

    if (!(conn->flags & RI_CONN_BY_SOCKADDR) || (conn->remote_id != 0) ||
        isinf(ri_config.connect_timeout)) {
        return;
    }
    conn->asked       = 0;
    conn->checked_at  = ri_time();
    worker->attention = 1;
    ucs_list_add_tail(&worker->asking, &conn->asking_link);
}

void ri_conn_stop_timeout(ri_conn_t *conn)
{
    ucs_list_del(&conn->asking_link);
    ucs_list_head_init(&conn->asking_link);
}

/* The answer of the peer is noticed by progress only, and may take some calls. So the time
 * in which the application does not call progress must not count, or only a little. */
static int conn_timed_out(ri_conn_t *conn, double now)
{
    conn->asked += ri_min(now - conn->checked_at,
                          ri_config.connect_timeout / CONN_TIMEOUT_CALLS);
    conn->checked_at = now;
    return conn->asked >= ri_config.connect_timeout;
}

void ri_conn_check_timeouts(ri_worker_t *worker)
{
    size_t count = ucs_list_length(&worker->asking);
    double now   = ri_time();
    ri_conn_t *conn;

    /* One round, from the head: callbacks may close any conn, or let one ask. */
    for (; (count > 0) && !ucs_list_is_empty(&worker->asking); --count) {
        conn = ucs_list_extract_head(&worker->asking, ri_conn_t, asking_link);
        ucs_list_add_tail(&worker->asking, &conn->asking_link);
        if (conn_timed_out(conn, now)) {
            ri_conn_report_unusable(RI_LOG_LEVEL_ERROR, UCS_ERR_TIMED_OUT);
            ri_conn_fail(conn, UCS_ERR_UNREACHABLE);
        }
    }
}

ri_stream_t *ri_stream_find(ri_worker_t *worker, uint64_t uid, uint32_t conn_id)
{
    ri_peer_t *peer = ri_map_get(&worker->peers, uid);
    ri_stream_t *stream;

    if (peer == NULL) {
        return NULL;
    }
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        if (stream->remote_conn_id == conn_id) {
            return stream;
        }
    }
    return NULL;
}

ri_stream_t *ri_stream_get(ri_worker_t *worker, const ri_wire_hello_t *hello)
{
    ri_stream_t *stream = ri_stream_find(worker, hello->uid, hello->conn_id);
    ri_peer_t *peer;

    if ((stream != NULL) && (stream->remote_serial == hello->serial)) {
        return stream;
    }
    peer = ri_peer_get(worker, hello->uid);
    if (peer == NULL) {
        return NULL;
    }

    stream = calloc(1, sizeof(*stream));
    if (stream == NULL) {
        goto err_peer;
    }
    stream->id = ri_id_alloc(&worker->stream_ids, stream);
    if (stream->id == 0) {
        free(stream);
        goto err_peer;
    }

    stream->worker         = worker;
    stream->peer           = peer;
    stream->remote_conn_id = hello->conn_id;
    stream->remote_serial  = hello->serial;
    stream->next_sn        = 1;
    stream->am_left        = ri_max(ri_config.ring_after, 1u);
    stream->same_host      = (hello->host != 0) && (hello->host == worker->host);
    ucs_list_head_init(&stream->early);
    ucs_list_head_init(&stream->assembling);
    ucs_list_head_init(&stream->fetching);
    ucs_list_head_init(&stream->rtrs);
    ucs_list_add_tail(&worker->streams, &stream->list);
    ucs_list_add_head(&peer->streams, &stream->peer_list);
    ri_trace(&worker->trace, RI_TRACE_STREAM_NEW, hello->uid, stream->id);
    return stream;

err_peer:
    peer_check_unused(worker, peer);
    return NULL;
}

static void stream_discard(ri_worker_t *worker, ucs_list_link_t *msgs)
{
    ri_msg_t *msg, *tmp;

    ucs_list_for_each_safe(msg, tmp, msgs, list) {
        ucs_list_del(&msg->list);
        ri_msg_discard(worker, msg);
    }
}

void ri_stream_destroy(ri_stream_t *stream)
{
    ri_worker_t *worker = stream->worker;

    stream_discard(worker, &stream->early);
    stream_discard(worker, &stream->assembling);
    ++stream->busy; /* callbacks must not free it */
    ri_rtr_abort(stream, UCS_ERR_CONNECTION_RESET);
    ri_rndv_abort(stream, UCS_ERR_CONNECTION_RESET);
    ri_rndv_drop_written(stream);
    ri_id_free(&worker->stream_ids, stream->id);
    ucs_list_del(&stream->list);
    ucs_list_del(&stream->peer_list);
    peer_check_unused(worker, stream->peer);
    ri_stream_counters_add(&worker->counters.streams, &stream->counters);
    free(stream);
}

void ri_stream_break(ri_stream_t *stream, const char *why)
{
    ri_worker_t *worker = stream->worker;

    if (stream->broken) {
        return;
    }

    ri_trace(&worker->trace, RI_TRACE_STREAM_BREAK, stream->id, stream->next_sn);
    ri_warn("a connection from worker 0x%lx ends because of %s: its messages are dropped "
            "from now on",
            stream->peer->uid, why);
    stream->broken    = 1;
    stream->same_host = 0; /* no ring any more */
    stream->ring_dead = 1;
    stream_discard(worker, &stream->early);
    stream_discard(worker, &stream->assembling);
    stream->num_early = 0;
    ri_control_answer(stream, RI_WIRE_RESET, stream->remote_serial);
    ri_rtr_withdraw(stream); /* after that no slot becomes ready for one */
    if (stream->ring != NULL) {
        ri_coop_close_slots(stream);
    }
    ++stream->busy; /* callbacks must not free it: the caller uses it */
    ri_rtr_abort(stream, UCS_ERR_CONNECTION_RESET);
    ri_rndv_abort(stream, UCS_ERR_CONNECTION_RESET);
    --stream->busy;
}

void ri_stream_check_closed_slow(ri_stream_t *stream)
{
    if ((stream->busy == 0) && (stream->ring == NULL)) {
        ++stream->busy; /* callbacks must not free it */
        ri_rndv_abort_written(stream, UCS_ERR_CONNECTION_RESET);
        --stream->busy;
    }
    if ((stream->busy == 0) && (stream->num_msgs == 0) && (stream->ring == NULL) &&
        ucs_list_is_empty(&stream->fetching) && (stream->num_coops == 0) &&
        (stream->num_reads == 0) && (stream->next_sn == stream->closed_sn + 1)) {
        if ((stream->num_early > 0) || !ucs_list_is_empty(&stream->assembling)) {
            ri_warn("a connection from worker 0x%lx ends because its sender could not "
                    "send a message: %zu that followed are dropped",
                    stream->peer->uid, stream->num_early);
        }
        ri_stream_destroy(stream);
    }
}
