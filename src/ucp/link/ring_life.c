/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who has a ring: made, offered, mapped, asked back and closed.
 */
#include "ring_life.h"
#include "control.h"
#include "planes.h"
#include "../core/types/module.h"
#include "../core/stream_ring.h"
#include "../core/tell.h"
#include "../../ucs/settings.h"
#include "../../ucs/log.h"
#include "../../ucs/random.h"
#include "../../ucs/rank.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A ring may be taken from a peer that was silent while this number of messages came
 * from others. */
#define RING_IDLE_MESSAGES 1024

/* Further times that a ring would have been of use, after which it is asked for again; then twice
 * as many, and so on. */
#define RING_ASK_AGAIN     16u
#define RING_ASK_SHIFT_MAX 12u

/* More than a host has processes; also bounds what a mistyped UCXRI_RING_PEERS costs. */
#define RING_PEERS_MAX 4096u

/* Ask the ring back that was idle for longest. @return 0 if none is idle enough. */
static int ring_life_evict(ri_worker_t *worker)
{
    ri_stream_t *victim = NULL;
    ri_conn_t *conn;
    unsigned i;

    for (i = 0; i < worker->num_rings; ++i) {
        ri_stream_t *stream = worker->rings_in[i];

        conn = ri_peer_usable_conn(stream->peer);
        if (stream->ring_life.stopping || (conn == NULL) ||
            !(conn->flags & RI_CONN_USER)) {
            continue; /* on its way back already, or its sender cannot be told */
        }
        if ((victim == NULL) ||
            (stream->ring_life.last_use < victim->ring_life.last_use)) {
            victim = stream;
        }
    }
    if ((victim == NULL) ||
        (worker->rings.clock - victim->ring_life.last_use < RING_IDLE_MESSAGES)) {
        return 0;
    }

    conn                       = ri_peer_usable_conn(victim->peer);
    victim->ring_life.stopping = 1;
    ++worker->rings.num_stopping;
    ++worker->counters.rings_given_back;
    ri_control_stop_ring(conn, victim);
    return 1;
}

int ri_ring_life_consider(ri_stream_t *stream)
{
    ri_worker_t *worker = stream->worker;
    size_t size         = ri_settings_ring_size(worker->num_rings);
    ri_conn_t *conn;
    ucs_status_t status;
    int error;

    if ((worker->rings.max == 0) || !stream->same_host || stream->broken) {
        stream->am_left = RI_STREAM_AM_NEVER;
        return 0;
    }
    stream->am_left = ri_max(ri_config.ring_after, 1u); /* asks again after as many */
    if (stream->ring != NULL) {
        return 1;
    }

    conn = ri_peer_usable_conn(stream->peer);
    if (conn == NULL) {
        return 1;
    }
    /* A ring that was asked back does not count: its sender may be long in coming, or gone
     * without a way to say so. But it takes memory, so there is a limit to that. */
    if ((worker->num_rings - worker->rings.num_stopping == worker->rings.max) &&
        !ring_life_evict(worker)) {
        return 1;
    }
    if (worker->num_rings == 2 * worker->rings.max) {
        return 1;
    }

    stream->ring_life.cookie = ri_random();
    status = ri_ring_create(&stream->ring_life.memory, size, stream->ring_life.cookie);
    if ((status != UCS_OK) && (size != ri_config.ring_size)) {
        size   = ri_config.ring_size; /* there may be memory for that */
        status = ri_ring_create(&stream->ring_life.memory, size,
                                stream->ring_life.cookie);
    }
    if (status != UCS_OK) {
        error = errno;
        if (error == EINTR) {
            return 1; /* signals say nothing of how many there may be */
        }
        ri_warn("no ring of %zu bytes: %s%s. Messages between processes of this host "
                "go by active message, which is slower",
                size, strerror(error), ri_ring_remedy(error));
        worker->rings.max = worker->num_rings;
        return 1;
    }

    stream->ring          = &stream->ring_life.memory;
    stream->peer->ring_in = stream->ring;
    ri_stream_ring_set_state(stream, RI_STREAM_RING_OPEN);
    stream->ring_life.stopping            = 0;
    stream->ring_life.last_use            = worker->rings.clock;
    worker->rings_in[worker->num_rings++] = stream;
    ++worker->counters.rings_offered;
    worker->counters.rings_active = worker->num_rings;
    ri_trace(&worker->trace, RI_TRACE_RING_OPEN, stream->id, size);
    ri_control_offer_ring(conn, stream);
    return 1;
}

void ri_ring_life_free(ri_stream_t *stream)
{
    ri_worker_t *worker = stream->worker;
    unsigned i;

    if (stream->ring == NULL) {
        return;
    }

    ri_trace(&worker->trace, RI_TRACE_RING_CLOSE, stream->id, stream->ring->pos);
    RI_MODULES_TELL(ring_rx_closes, stream);
    for (i = 0; worker->rings_in[i] != stream; ++i) {}
    worker->rings_in[i] = worker->rings_in[--worker->num_rings];
    worker->rings.num_stopping -= stream->ring_life.stopping;
    stream->ring_life.stopping    = 0;
    worker->counters.rings_active = worker->num_rings;
    RI_MODULES_TELL(ring_rx_unmap, stream);
    if (stream->peer->ring_in == stream->ring) {
        stream->peer->ring_in = NULL;
    }
    stream->ring = NULL;
    ri_stream_ring_set_state(stream, RI_STREAM_RING_NONE);
    ri_peer_note_hint(stream->peer, 0); /* nothing would take it back */
    RI_MODULES_TELL(ring_rx_closed, stream);
}

void ri_ring_life_ask(ri_conn_t *conn)
{
    if ((conn->flags & RI_CONN_RING_STOP) || (conn->ring_asks.left-- > 0)) {
        return;
    }
    /* Nobody says no: there may be rings later, or RING_CLOSE was not read yet. */
    conn->ring_asks.left = RING_ASK_AGAIN
                           << ri_min(conn->ring_asks.count, RING_ASK_SHIFT_MAX);
    if (conn->remote_id == 0) {
        conn->ring_asks.left = 0;
        ri_control_ask_later(conn); /* and asked for a ring the next time */
        return;
    }
    ++conn->ring_asks.count;
    ri_control_send(conn, RI_WIRE_RING_REQ, conn->remote_id, 0);
}

void ri_ring_life_refused(ri_stream_t *stream)
{
    if (stream->ring == NULL) {
        ++stream->worker->counters.rx_stale;
        return;
    }

    /* Polling frees the ring: records that its sender wrote before it went must still be read,
     * and this may be called from within one. */
    if (stream->ring->pos == 0) {
        ++stream->worker->counters.rings_refused;
        stream->same_host = 0;
    }
    ri_stream_ring_end(stream);
}

/* @return The state of the ring of a conn, by its flags and its pointer. Only assertions ask. */
__attribute__((unused)) static ri_ring_life_tx_t ring_life_tx(const ri_conn_t *conn)
{
    return (conn->ring == NULL)              ? RI_RING_LIFE_TX_NONE :
           (conn->flags & RI_CONN_RING_STOP) ? RI_RING_LIFE_TX_STOPPING :
                                               RI_RING_LIFE_TX_OPEN;
}

/* By the state of the ring of a conn: the states that may follow. */
static const uint8_t ring_life_may_become[RI_RING_LIFE_TX_LAST] = {
        [RI_RING_LIFE_TX_NONE] = 1u << RI_RING_LIFE_TX_OPEN,
        [RI_RING_LIFE_TX_OPEN] = (1u << RI_RING_LIFE_TX_STOPPING) |
                                 (1u << RI_RING_LIFE_TX_NONE),
        [RI_RING_LIFE_TX_STOPPING] = (1u << RI_RING_LIFE_TX_STOPPING) |
                                     (1u << RI_RING_LIFE_TX_NONE),
};

int ri_ring_life_may_become(ri_ring_life_tx_t from, ri_ring_life_tx_t to)
{
    return (ring_life_may_become[from] >> to) & 1;
}

/* Change the state of the ring of a conn, as ri_ring_life_tx_t allows it. */
static void ring_life_set_tx(ri_conn_t *conn, ri_ring_life_tx_t state)
{
    assert(ri_ring_life_may_become(ring_life_tx(conn), state));
    conn->ring = (state == RI_RING_LIFE_TX_NONE) ? NULL : &conn->ring_tx;
    conn->flags &= ~RI_CONN_RING_STOP;
    if (state == RI_RING_LIFE_TX_STOPPING) {
        conn->flags |= RI_CONN_RING_STOP;
    }
}

/* Tell of the first ring of a conn here, as its messages take the fast path, which says nothing. */
static void ring_life_tell(ri_conn_t *conn)
{
    if (!conn->told.ring) {
        conn->told.ring = ri_tell_first(conn, "up to ", conn->ring_limits.max, "ring",
                                        "the two are on one host");
    }
}

void ri_ring_life_open(ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker = conn->worker;

    if (conn->ring != NULL) {
        ++worker->counters.rx_stale; /* the same offer once more */
        return;
    }
    if ((conn->flags & RI_CONN_CLOSING) || (conn->status != UCS_OK) ||
        (ri_ring_open(&conn->ring_tx, msg->ring_pid, msg->ring_fd, msg->value,
                      msg->ring_cookie) != UCS_OK)) {
        ri_debug("ring of process %u not used", msg->ring_pid);
        ri_control_send(conn, RI_WIRE_RING_REFUSE, conn->remote_id, 0);
        return;
    }
    ring_life_set_tx(conn, RI_RING_LIFE_TX_OPEN);
    conn->ring_asks.count          = 0;
    conn->ring_asks.left           = 0;
    conn->ring_limits.max          = ri_min((size_t)conn->ring->max_payload,
                                            ri_config.eager_thresh);
    conn->ring_limits.contig       = ri_ring_life_long(msg->value);
    conn->ring_limits.contig_quick = ri_ring_life_long_quick(msg->value);
    conn->ring_limits.runs         = ri_ring_life_long_runs(msg->value);
    conn->ring_limits.slow         = ri_ring_life_long_slow(msg->value);
    ri_conn_update_fast(conn);
    ri_trace(&worker->trace, RI_TRACE_RING_OPEN, conn->id, msg->value);
    ring_life_tell(conn);
    ri_planes_find(conn);
}

void ri_ring_life_close(ri_conn_t *conn)
{
    if (conn->ring == NULL) {
        return;
    }
    RI_MODULES_TELL(ring_tx_closes, conn);
    ri_ring_tx_finish(conn->ring, RI_WIRE_RING_CLOSE);
    ri_trace(&conn->worker->trace, RI_TRACE_RING_CLOSE, conn->id, conn->ring->pos);
    ri_ring_tx_close(conn->ring);
    ring_life_set_tx(conn, RI_RING_LIFE_TX_NONE);
    ri_conn_update_fast(conn);
}

int ri_ring_life_withdraw(ri_conn_t *conn)
{
    int is_needed;

    RI_MODULES_ASK(is_needed, ring_tx_stops, conn);
    return is_needed;
}

void ri_ring_life_stop(ri_conn_t *conn)
{
    if (conn->ring == NULL) {
        ++conn->worker->counters.rx_stale;
        return;
    }

    ring_life_set_tx(conn, RI_RING_LIFE_TX_STOPPING);
    ri_conn_update_fast(conn);
    if (ucs_list_is_empty(&conn->pending) && !ri_ring_life_withdraw(conn)) {
        ri_ring_life_close(conn);
    } else {
        ri_conn_queue_pending(conn);
    }
}

/* @return From how many rings on this host has fewer processors than processes of the job: the
 * launcher has told, or each ring is taken for another process. What a container leaves of the
 * processors is not seen: what one process may use says nothing of the others. */
static unsigned ring_life_crowd(void)
{
    long processors = ri_max(sysconf(_SC_NPROCESSORS_ONLN), 1l);
    long ranks      = ri_rank_local_count();

    return (ranks > processors) ? 0 : (ranks > 0) ? UINT_MAX : processors;
}

/* Rings generate no events, so they are not for applications that may sleep on the
 * worker's event file descriptor. */
static ucs_status_t ring_life_worker_made(ri_worker_t *worker)
{
    unsigned max = (worker->context->features & UCP_FEATURE_WAKEUP) ?
                           0 :
                           ri_min(ri_config.ring_peers, RING_PEERS_MAX);

    worker->self.host = (ri_config.ring_peers > 0) ? ri_host_id() : 0;
    worker->rings_in  = calloc(2 * max + 1, sizeof(*worker->rings_in));
    if (worker->rings_in == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    worker->rings.max   = max;
    worker->rings.crowd = ring_life_crowd();
    return UCS_OK;
}

/* Callbacks of receives that end here may still do anything. */
static void ring_life_worker_ends(ri_worker_t *worker)
{
    while (worker->num_rings > 0) {
        ri_ring_life_free(worker->rings_in[0]);
    }
}

static void ring_life_worker_freed(ri_worker_t *worker)
{
    free(worker->rings_in);
}

static void ring_life_conn_fails(ri_conn_t *conn, int is_first)
{
    if (is_first) {
        ri_ring_life_close(conn);
    }
}

static int ring_life_stream_is_needed(const ri_stream_t *stream, ri_stream_need_t need)
{
    return (need == RI_STREAM_NEED_ITSELF) && (stream->ring != NULL);
}

const ri_module_t ri_module_ring = {.name             = "ring",
                                    .worker_made      = ring_life_worker_made,
                                    .worker_ends      = ring_life_worker_ends,
                                    .worker_freed     = ring_life_worker_freed,
                                    .conn_stops       = ri_ring_life_close,
                                    .conn_fails       = ring_life_conn_fails,
                                    .conn_freed       = ri_ring_life_close,
                                    .stream_is_needed = ring_life_stream_is_needed};
