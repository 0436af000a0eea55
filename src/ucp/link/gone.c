/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who is waited for, whether its process exists, and what is done if it does not. The timer is for
 * applications that sleep until UCX has an event.
 */
#include "gone.h"
#include "../core/types/module.h"
#include "../core/send_req.h"
#include "../../ucs/log.h"
#include "am.h"
#include "local.h"
#include "way.h"
#include "../../ucs/clock.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

double ri_gone_interval = 0.05;
double ri_gone_sleep    = 0.2;

/* A peer may have ended in order, with its last messages still in UCX's hands. So it has to be
 * gone at this number of looks in a row, between which progress was called. */
#define GONE_LOOKS 2

/* Progress calls until the next look. */
#define GONE_CALLS 1024u

/* Whether there is anything that only the peer could end. */
static int gone_is_awaited(ri_peer_t *peer)
{
    ri_stream_t *stream;
    ri_conn_t *conn;

    if (peer->way.num_transfers > 0) {
        return 1;
    }
    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if (ri_conn_goes_on(conn) && ((conn->flags & RI_CONN_CLOSING) ||
                                      ri_conn_is_needed(conn, RI_CONN_NEED_PEER))) {
            return 1;
        }
    }
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        if (ri_stream_is_needed(stream, RI_STREAM_NEED_PEER)) {
            return 1;
        }
    }
    return 0;
}

/* Whether anything waits now that a peer on this host could end. */
static int gone_is_any_awaited(const ri_worker_t *worker)
{
    ri_stream_t *stream;
    ri_conn_t *conn;

    ucs_list_for_each(conn, &worker->conns, list) {
        if ((conn->peer != NULL) && ri_local_is_known(conn->peer) &&
            gone_is_awaited(conn->peer)) {
            return 1;
        }
    }
    ucs_list_for_each(stream, &worker->streams, list) {
        if (ri_local_is_known(stream->peer) && gone_is_awaited(stream->peer)) {
            return 1;
        }
    }
    return 0;
}

/* Look at a peer, once in each round. @return Whether it is given up. */
static int gone_look(ri_worker_t *worker, ri_peer_t *peer)
{
    if ((peer == NULL) || (peer->gone.round == worker->gone.round)) {
        return 0;
    }
    peer->gone.round = worker->gone.round;
    if (!gone_is_awaited(peer)) {
        peer->gone.looks = 0;
        return 0;
    }
    worker->gone.awaited |= ri_local_is_known(peer);
    if (!ri_local_is_gone(peer)) {
        peer->gone.looks = 0;
        return 0;
    }
    peer->gone.looks += (peer->gone.looks < GONE_LOOKS);
    worker->gone.hurry = 1;
    return peer->gone.looks == GONE_LOOKS;
}

/* @return A peer that is to be given up, or NULL. */
static ri_peer_t *gone_find(ri_worker_t *worker)
{
    ri_stream_t *stream;
    ri_conn_t *conn;

    ucs_list_for_each(conn, &worker->conns, list) {
        if (gone_look(worker, conn->peer)) {
            return conn->peer;
        }
    }
    ucs_list_for_each(stream, &worker->streams, list) {
        if (gone_look(worker, stream->peer)) {
            return stream->peer;
        }
    }
    return NULL;
}

/* @return A conn to a peer that is to fail, or NULL. In mode PEER the application waits for
 * UCX's own report. */
static ri_conn_t *gone_find_conn(ri_worker_t *worker, uint64_t uid)
{
    ri_peer_t *peer = ri_map_get(&worker->peers, uid);
    ri_conn_t *conn;

    if (peer != NULL) {
        ucs_list_for_each(conn, &peer->conns, peer_list) {
            if (ri_conn_goes_on(conn) && !(conn->flags & RI_CONN_PEER_MODE)) {
                return conn;
            }
        }
    }
    return NULL;
}

/* Do not wait for sends that UCX has in its hands: it does not notice that the peer is gone, and
 * may never end them. Nobody is left to read their data, so they end with the conn. */
static void gone_take_from_stock(ri_conn_t *conn)
{
    ri_send_req_t *req;

    ucs_list_for_each(req, &conn->sends, list) {
        if (req->waiting & (RI_SEND_WAIT_STOCK | RI_SEND_WAIT_DATA)) {
            ri_am_forget(req);
            ri_send_begin_wait(req, RI_SEND_WAIT_CONN);
        }
    }
}

static void gone_end(ri_worker_t *worker, uint64_t uid)
{
    ri_peer_t *peer;
    ri_conn_t *conn;

    /* Callbacks may close any conn, or free the peer. */
    while ((conn = gone_find_conn(worker, uid)) != NULL) {
        ri_info("the process of worker 0x%lx has ended: a connection to it fails", uid);
        ri_conn_set_life(conn, conn->flags & ~(uint32_t)RI_CONN_LOST);
        gone_take_from_stock(conn);
        ri_conn_fail(conn, UCS_ERR_CONNECTION_RESET);
    }
    /* Transfers through a network would wait until the device has tried often enough */
    peer = ri_map_get(&worker->peers, uid);
    if (peer != NULL) {
        ri_way_fail_and_tell(worker, peer);
    }
    ri_peer_check_failed(worker, uid, UCS_ERR_CONNECTION_RESET);
}

void ri_gone_check(ri_worker_t *worker)
{
    double now = ri_clock_now();
    ri_peer_t *peer;

    if (now - worker->gone.checked >= ri_gone_interval) {
        worker->gone.checked = now;
        worker->gone.hurry   = 0;
        worker->gone.awaited = 0;
        ++worker->gone.round;
        while ((peer = gone_find(worker)) != NULL) {
            gone_end(worker, peer->uid);
        }
    }
    if (worker->gone.hurry) {
        worker->countdown = ri_min(worker->countdown, GONE_CALLS);
    }
}

/* Add a timer to the events that ucp_worker_get_efd returns. @return Whether that is done. */
static int gone_open_timer(ri_worker_t *worker)
{
    struct epoll_event event = {.events = EPOLLIN};
    int set;

    worker->gone.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (worker->gone.timer < 0) {
        return 0; /* there may be a descriptor later */
    }
    if ((ri_stock.worker_get_efd(worker->stock, &set) != UCS_OK) ||
        (epoll_ctl(set, EPOLL_CTL_ADD, worker->gone.timer, &event) != 0)) {
        close(worker->gone.timer);
        worker->gone.timer = -1;
        ri_gone_never_wake(worker);
        return 0;
    }
    return 1;
}

/* Set the timer, or with 0 stop it; then it is no event any more. */
static void gone_set_timer(ri_worker_t *worker, double now, double seconds)
{
    struct itimerspec spec = {.it_value.tv_sec  = (time_t)seconds,
                              .it_value.tv_nsec = (seconds - (time_t)seconds) * 1e9};

    timerfd_settime(worker->gone.timer, 0, &spec, NULL);
    worker->gone.wakes = (seconds > 0) ? now + seconds : 0;
}

int ri_gone_arm(ri_worker_t *worker)
{
    double now;
    int idle;

    if (!worker->gone.local || worker->gone.never_wakes) {
        return 0;
    }
    now = ri_clock_now();
    if ((worker->gone.wakes != 0) && (now >= worker->gone.wakes)) {
        gone_set_timer(worker, now, 0);
        worker->gone.due  = now;
        worker->countdown = 1;
        return 1;
    }
    if (worker->gone.wakes == 0) {
        /* Who was woken up for nothing need not be again, unless something was started since.
         * Otherwise it is not known before the next look whether something waits. */
        idle = (worker->gone.due != 0) && (worker->gone.checked >= worker->gone.due) &&
               !worker->gone.awaited && !gone_is_any_awaited(worker);
        worker->gone.due = 0;
        if (!idle && ((worker->gone.timer >= 0) || gone_open_timer(worker))) {
            gone_set_timer(worker, now, ri_gone_sleep);
        }
    }
    return 0;
}

static ucs_status_t gone_worker_made(ri_worker_t *worker)
{
    worker->gone.timer = -1;
    return UCS_OK;
}

static void gone_worker_freed(ri_worker_t *worker)
{
    if (worker->gone.timer >= 0) {
        close(worker->gone.timer);
    }
}

static void gone_peer_made(ri_worker_t *worker, ri_peer_t *peer)
{
    peer->gone.round = worker->gone.round;
}

const ri_module_t ri_module_gone = {.name         = "gone",
                                    .worker_made  = gone_worker_made,
                                    .worker_freed = gone_worker_freed,
                                    .peer_made    = gone_peer_made};
