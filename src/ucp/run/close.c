/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a close waits for, for how long, and what is said to the peer. A conn that is still needed
 * stays as LEFT, without an endpoint.
 */
#include "close.h"
#include "../core/rma_order.h"
#include "../core/settings/stock_transport.h"
#include "../dt/mpi_abi.h"
#include "../../ucs/settings.h"
#include "../../ucs/log.h"
#include "../link/control.h"
#include "../proto/coop/coop_send.h"
#include "../link/pool.h"
#include "../link/ring_life.h"
#include "../proto/rndv/ud_ends.h"
#include "../../ucs/clock.h"
#include "../../ucs/hash.h"
#include "../link/release.h"
#include "flush.h"

#include <math.h>

/* Progress calls after which a close is given up, at least: the time in which the application
 * calls none must not count. */
#define CLOSE_CALLS 16

/* A look goes through all that was not received, so it is not taken more often than that. */
#define CLOSE_LOOK_TIME 1e-3

/* All conns are looked at no more often than that. */
#define CLOSE_NOTE_TIME 0.02

double ri_close_grace        = 0.2;
double ri_close_answer_grace = 0.01;
int ri_close_like_mpich      = 0;

/* Version 4.2 has the process manager's barrier in front of its closes. */
#define CLOSE_MPICH_WITHOUT 402

/* @return Whether the worker is that of a rank which calls UCX no more when its closes have
 * ended. */
static int close_is_last_call(const ri_worker_t *worker)
{
    unsigned version = ri_mpi_mpich_version();

    return (worker->context->features & UCP_FEATURE_TAG) &&
           (ri_close_like_mpich || ((version != 0) && (version < CLOSE_MPICH_WITHOUT)));
}

/* Error handling mode PEER ends a flush whose peer is gone, and an endpoint to the own worker is
 * flushed by it. */
void ri_close_begin(ri_conn_t *conn)
{
    const uint32_t others = RI_CONN_PEER_MODE | RI_CONN_SELF | RI_CONN_NO_PEER |
                            RI_CONN_VERSION;

    if (!(conn->flags & others) && (conn->status == UCS_OK) && (conn->peer != NULL) &&
        close_is_last_call(conn->worker) && ri_stock_transport_is_tcp(conn->ep)) {
        ri_conn_set_flags(conn, RI_CONN_TELLS);
    }
}

/* It waits for all that flushes wait for, as it would cancel those before it. */
int ri_close_must_wait(ri_conn_t *conn)
{
    return ri_flush_must_wait(conn->worker, conn, conn->worker->rma.seq) ||
           ri_conn_is_needed(conn, RI_CONN_NEED_MEMORY) || ri_ud_ends_remind(conn);
}

/* Whether the application has another endpoint to the peer of a conn. */
static int close_has_other(const ri_conn_t *conn)
{
    const ri_conn_t *other;

    ucs_list_for_each(other, &conn->peer->conns, peer_list) {
        if ((other != conn) && (other->flags & RI_CONN_USER) &&
            !(other->flags & RI_CONN_CLOSING)) {
            return 1;
        }
    }
    return 0;
}

/* Whether the sender of a stream may wait for a message that has no receive. Then it is there, so
 * that even an active message to it is safe in all error modes. */
static int close_is_awaited(const ri_stream_t *stream)
{
    return !stream->broken && ((stream->num_msgs > 0) || (stream->num_early > 0));
}

/* @return Whether the peer may be told that this process closes: it is the application's last
 * endpoint to it, and nothing of the peer is being received. */
static int close_may_tell(const ri_conn_t *conn)
{
    ri_stream_t *stream;

    if ((conn->peer == NULL) || (conn->status != UCS_OK) || close_has_other(conn)) {
        return 0;
    }
    ucs_list_for_each(stream, &conn->peer->streams, peer_list) {
        if (ri_stream_is_needed(stream, RI_STREAM_NEED_DATA)) {
            return 0;
        }
    }
    return 1;
}

/* Say CLOSING to those conns of the peer whose senders wait, or with TELLS to any conn of it.
 * @return Whether any was told. */
static int close_tell_conns(ri_conn_t *conn)
{
    ri_peer_t *peer = conn->peer;
    int tells       = !!(conn->flags & RI_CONN_TELLS);
    int told        = 0;
    ri_stream_t *stream;

    ucs_list_for_each(stream, &peer->streams, peer_list) {
        if (tells || close_is_awaited(stream)) {
            ri_control_send(conn, RI_WIRE_CLOSING, stream->remote_conn_id, 0);
            told = 1;
        }
    }
    if (tells && !told && (peer->closed_conn_id != 0)) {
        ri_control_send(conn, RI_WIRE_CLOSING, peer->closed_conn_id, 0);
        told = 1;
    }
    return told;
}

void ri_close_say_closing(ri_conn_t *conn)
{
    if ((conn->flags & (RI_CONN_CLOSING_TOLD | RI_CONN_SELF | RI_CONN_PEER_MODE)) ||
        !close_may_tell(conn)) {
        return;
    }
    if (ri_ring_send_closing(conn) || close_tell_conns(conn) ||
        !(conn->flags & RI_CONN_TELLS)) {
        ri_conn_set_flags(conn, RI_CONN_CLOSING_TOLD);
    }
}

/* @return Whether BYE is said, and is not yet. An error mode without failure handling (that of
 * MPIs) makes sending to a process that has ended a fatal error, and peers that close at the same
 * time are the rule there: the stream then stays until the other worker ends. With TELLS the flush
 * that follows sends to that process anyway, and BYE is for peers of which no conn is known. */
static int close_owes_bye(const ri_conn_t *conn)
{
    if ((conn->status != UCS_OK) || (conn->flags & RI_CONN_BYE)) {
        return 0;
    }
    return (conn->flags & RI_CONN_PEER_MODE) ||
           ((conn->flags & RI_CONN_TELLS) && !(conn->flags & RI_CONN_CLOSING_TOLD) &&
            close_may_tell(conn));
}

/* Say BYE, if the stream is known. Nothing is sent after it. */
static void close_say_bye(ri_conn_t *conn)
{
    if (close_owes_bye(conn) && (conn->remote_id != 0)) {
        ri_conn_set_life(conn, conn->flags | RI_CONN_BYE);
        ri_control_send(conn, RI_WIRE_BYE, conn->remote_id, conn->tx_sn);
    }
}

/* @return Whether a peer that is about to wait for an answer of this process has been told nothing
 * yet. Where neither a conn nor a stream of it is known, it is asked for one. */
static int close_owes_word(ri_conn_t *conn)
{
    if (!(conn->flags & RI_CONN_TELLS) ||
        (conn->flags & (RI_CONN_CLOSING_TOLD | RI_CONN_BYE)) ||
        (conn->status != UCS_OK) || (conn->peer == NULL) || close_has_other(conn)) {
        return 0;
    }
    if (ucs_list_is_empty(&conn->peer->streams)) {
        ri_control_ask(conn);
    }
    return 1;
}

int ri_close_say_bye(ri_conn_t *conn)
{
    ri_close_say_closing(conn);
    ri_release_flush_conn(conn);
    ri_ring_life_close(conn);
    close_say_bye(conn);
    return !ri_control_is_waiting(conn) && !close_owes_word(conn);
}

static uint64_t close_mix(uint64_t seen, uint64_t value)
{
    return ri_hash(seen, &value, sizeof(value));
}

/* A number that changes with all that the peer does about this process's messages, and with all
 * that comes from it. */
static uint64_t close_look(const ri_conn_t *conn)
{
    const ri_peer_t *peer = conn->peer;
    const ri_stream_t *stream;
    uint64_t seen;

    seen = close_mix(RI_HASH_START, ucs_list_length((ucs_list_link_t *)&conn->sends));
    seen = close_mix(seen, ucs_list_length((ucs_list_link_t *)&conn->lent));
    seen = close_mix(seen, ucs_list_length((ucs_list_link_t *)&conn->pending));
    seen = close_mix(seen, (conn->ring != NULL) ? ri_ring_tx_consumed(conn->ring) : 0);
    seen = close_mix(seen, conn->tx_sn); /* another message, with as many as before */
    seen = close_mix(seen, ri_coop_send_done(conn));
    if (peer != NULL) {
        seen = close_mix(seen, peer->closing);
        ucs_list_for_each(stream, &peer->streams, peer_list) {
            seen = close_mix(seen, stream->next_sn);
            seen = close_mix(seen, stream->num_early);
            seen = close_mix(seen, (stream->ring != NULL) ? stream->ring->pos : 0);
        }
    }
    return seen;
}

/* Note how far the peer of a conn is, unless it has not moved since that was noted. */
static void close_note(ri_conn_t *conn)
{
    uint64_t seen = close_look(conn);

    if (conn->close.seen != seen) {
        conn->close.seen  = seen;
        conn->close.since = conn->worker->closes.attended;
    }
}

/* An application may close one endpoint after the other. A peer that does not move while others are
 * waited for has had that time, too. */
static void close_note_all(ri_worker_t *worker)
{
    ri_conn_t *conn;

    ucs_list_for_each(conn, &worker->conns, list) {
        close_note(conn);
    }
    worker->closes.noted  = worker->closes.attended;
    worker->closes.is_any = 1;
}

/* Count time for all closes of a worker, of which one waits. */
static void close_attend(ri_worker_t *worker, double now)
{
    double most = ri_min(ri_close_grace, ri_config.close_timeout) / CLOSE_CALLS;

    worker->closes.attended += ri_min(now - worker->closes.checked, most);
    worker->closes.checked = now;
    if (worker->closes.attended - worker->closes.noted > CLOSE_NOTE_TIME) {
        close_note_all(worker);
    }
}

void ri_close_start_anew(ri_conn_t *conn, ri_close_wait_t *wait)
{
    close_note(conn);
    wait->idle    = 0;
    wait->checked = ri_clock_now();
    wait->seen    = conn->close.seen;
}

void ri_close_start_wait(ri_conn_t *conn, ri_close_wait_t *wait)
{
    ri_worker_t *worker = conn->worker;

    if (!worker->closes.is_any) {
        close_note_all(worker);
    }
    ri_close_start_anew(conn, wait);
    worker->closes.checked = wait->checked; /* what was before is no wait */
    /* With TELLS the peer has something to answer from now on */
    if (!(conn->flags & RI_CONN_TELLS)) {
        wait->idle = worker->closes.attended - conn->close.since;
    }
}

/* @return Whether the peer has said that it closes, too. */
static int close_is_peers_too(const ri_conn_t *conn)
{
    return (conn->peer != NULL) &&
           (conn->peer->closing ||
            ((conn->flags & RI_CONN_TELLS) && conn->peer->all_bye));
}

/* How long a close waits while nothing moves. */
static double close_limit(const ri_conn_t *conn)
{
    return close_is_peers_too(conn) ? ri_min(ri_close_grace, ri_config.close_timeout) :
                                      ri_config.close_timeout;
}

/* Look, and count the time. @return Whether nothing has moved for @a limit seconds. */
static int close_is_idle(ri_conn_t *conn, ri_close_wait_t *wait, double limit)
{
    double now = ri_clock_now();
    uint64_t seen;

    if (now - wait->checked < ri_min(CLOSE_LOOK_TIME, limit / CLOSE_CALLS)) {
        return 0;
    }
    close_attend(conn->worker, now);
    seen = close_look(conn);
    if (seen != wait->seen) {
        ri_close_start_anew(conn, wait);
        return 0;
    }
    wait->idle += ri_min(now - wait->checked, limit / CLOSE_CALLS);
    wait->checked = now;
    return !isinf(limit) && (wait->idle >= limit);
}

int ri_close_has_expired(ri_conn_t *conn, ri_close_wait_t *wait)
{
    int has_expired = ri_conn_is_needed(conn, RI_CONN_NEED_MEMORY) ?
                              close_is_idle(conn, wait, close_limit(conn)) :
                              ((conn->flags & RI_CONN_TELLS) &&
                               ri_close_is_unanswered(conn, wait));

    return has_expired && !ri_ud_ends_remind(conn);
}

int ri_close_is_unanswered(ri_conn_t *conn, ri_close_wait_t *wait)
{
    return close_is_peers_too(conn) && close_is_idle(conn, wait, ri_close_answer_grace);
}

/* Add what the peer of a conn has not received. */
static void close_count(const ri_conn_t *conn, size_t *count, size_t *bytes)
{
    const ri_pool_buffer_t *buffer;
    const ri_send_req_t *req;

    ucs_list_for_each(req, &conn->sends, list) {
        ++*count;
        *bytes += req->data.length;
    }
    ucs_list_for_each(buffer, &conn->lent, list) {
        ++*count;
        *bytes += buffer->length;
    }
}

/* Nothing is wrong if the peer computes for long; but a close that took so long is worth a line. */
void ri_close_report(const ri_conn_t *conn)
{
    static _Atomic(int) reported;
    size_t count = 0;
    size_t bytes = 0;

    close_count(conn, &count, &bytes);
    if (close_is_peers_too(conn)) {
        ri_info("a connection is closed before its peer, which closes it as well, has "
                "received all: %zu messages of %zu bytes in all are left",
                count, bytes);
    } else if (!atomic_exchange(&reported, 1)) {
        ri_warn("a connection is closed before its peer has received all: %zu messages "
                "of %zu bytes in all are left, as the peer has not moved for %g s "
                "(UCXRI_CLOSE_TIMEOUT). It can still receive them until this worker is "
                "destroyed. Reported once per process",
                count, bytes, ri_config.close_timeout);
    }
}

void ri_close_report_all(const ri_worker_t *worker)
{
    const ri_conn_t *conn;
    size_t conns = 0, count = 0, bytes = 0;

    ucs_list_for_each(conn, &worker->conns, list) {
        if ((conn->flags & RI_CONN_LEFT) && !close_is_peers_too(conn) &&
            ri_conn_is_needed(conn, RI_CONN_NEED_MEMORY)) {
            ++conns;
            close_count(conn, &count, &bytes);
        }
    }
    if (conns > 1) { /* one was told when it was closed */
        ri_warn("%zu peers have not received all that was sent to them before their "
                "connections were closed: %zu messages of %zu bytes in all",
                conns, count, bytes);
    }
}

void ri_close_leave_conn(ri_conn_t *conn)
{
    ri_map_remove(&ri_conn_map, (uintptr_t)conn->ep);
    conn->ep     = NULL;
    conn->err_cb = NULL;
    ri_conn_set_life(conn, conn->flags | RI_CONN_LEFT | RI_CONN_CLOSING);
    ++conn->worker->closes.num_left;
    ri_conn_update_fast(conn);
    ri_conn_stop_timeout(conn);
    ri_flush_abort(conn, UCS_ERR_CANCELED);
    ri_rma_conn_ends(conn);
}

void ri_close_leave(ri_conn_t *conn)
{
    ri_close_say_closing(conn);
    ri_release_flush_conn(conn);
    if ((conn->flags & RI_CONN_TELLS) && (conn->ring == NULL)) {
        close_say_bye(conn);
    }
    ri_close_leave_conn(conn);
}

/* @return A conn that was left and is not needed any more, or NULL. */
static ri_conn_t *close_find_done(ri_worker_t *worker)
{
    ri_conn_t *conn;

    ucs_list_for_each(conn, &worker->conns, list) {
        if ((conn->flags & RI_CONN_LEFT) &&
            !ri_conn_is_needed(conn, RI_CONN_NEED_MEMORY)) {
            return conn;
        }
    }
    return NULL;
}

void ri_close_check_left(ri_worker_t *worker)
{
    ri_conn_t *conn;

    /* Callbacks may close any conn. */
    while ((worker->closes.num_left > 0) && ((conn = close_find_done(worker)) != NULL)) {
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
    }
}
