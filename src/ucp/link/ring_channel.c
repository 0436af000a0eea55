/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who has a ring: made, offered, mapped, asked back and closed.
 */
#include "ring_channel.h"
#include "control.h"
#include "planes.h"
#include "../core/module.h"
#include "../../ucs/settings.h"
#include "../../ucs/log.h"
#include "../../ucs/random.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* A ring may be taken from a peer that was silent while so many messages came from
 * others. */
#define RING_IDLE_MESSAGES 1024

/* A ring is asked for again when it would have been of use so many more times; then twice as
 * many, and so on. */
#define RING_ASK_AGAIN     16u
#define RING_ASK_SHIFT_MAX 12u

/* Ask the ring back that was idle for longest. @return 0 if none is idle enough. */
static int ring_channel_evict(ri_worker_t *worker)
{
    ri_stream_t *victim = NULL;
    ri_conn_t *conn;
    unsigned i;

    for (i = 0; i < worker->num_rings; ++i) {
        ri_stream_t *stream = worker->rings[i];

        conn = ri_peer_way_out(stream->peer);
        if (stream->ring_stopping || (conn == NULL) || !(conn->flags & RI_CONN_USER)) {
            continue; /* on its way back already, or its sender cannot be told */
        }
        if ((victim == NULL) || (stream->ring_last_use < victim->ring_last_use)) {
            victim = stream;
        }
    }
    if ((victim == NULL) ||
        (worker->ring_clock - victim->ring_last_use < RING_IDLE_MESSAGES)) {
        return 0;
    }

    conn                  = ri_peer_way_out(victim->peer);
    victim->ring_stopping = 1;
    ++worker->num_stopping;
    ++worker->counters.rings_given_back;
    ri_control_stop_ring(conn, victim);
    return 1;
}

void ri_ring_channel_consider(ri_stream_t *stream)
{
    ri_worker_t *worker = stream->worker;
    ri_conn_t *conn;
    ucs_status_t status;
    int error;

    if ((worker->max_rings == 0) || !stream->same_host || stream->broken) {
        stream->am_left = UINT_MAX;
        return;
    }
    stream->am_left = ri_max(ri_config.ring_after, 1u); /* asks again after as many */
    if (stream->ring != NULL) {
        return;
    }

    conn = ri_peer_way_out(stream->peer);
    if (conn == NULL) {
        return;
    }
    /* A ring that was asked back does not count: its sender may be long in coming, or gone
     * without a way to say so. But it takes memory, so there is a limit to that. */
    if ((worker->num_rings - worker->num_stopping == worker->max_rings) &&
        !ring_channel_evict(worker)) {
        return;
    }
    if (worker->num_rings == 2 * worker->max_rings) {
        return;
    }

    stream->ring_cookie = ri_random();
    status              = ri_ring_create(&stream->ring_memory, ri_config.ring_size,
                                         stream->ring_cookie);
    if (status != UCS_OK) {
        error = errno;
        ri_warn("no ring of %zu bytes: %s%s. Messages between processes of this host "
                "take "
                "the slower way",
                ri_config.ring_size, strerror(error), ri_ring_remedy(error));
        worker->max_rings = worker->num_rings;
        return;
    }

    stream->ring                       = &stream->ring_memory;
    stream->ring_stopping              = 0;
    stream->ring_dead                  = 0;
    stream->ring_last_use              = worker->ring_clock;
    worker->rings[worker->num_rings++] = stream;
    ++worker->counters.rings_offered;
    worker->counters.rings_active = worker->num_rings;
    ri_trace(&worker->trace, RI_TRACE_RING_OPEN, stream->id, ri_config.ring_size);
    ri_control_offer_ring(conn, stream);
}

void ri_ring_channel_free(ri_stream_t *stream)
{
    ri_worker_t *worker = stream->worker;
    unsigned i;

    if (stream->ring == NULL) {
        return;
    }

    ri_trace(&worker->trace, RI_TRACE_RING_CLOSE, stream->id, stream->ring->pos);
    RI_MODULES_TELL(ring_rx_closes, stream);
    for (i = 0; worker->rings[i] != stream; ++i) {}
    worker->rings[i] = worker->rings[--worker->num_rings];
    worker->num_stopping -= stream->ring_stopping;
    stream->ring_stopping         = 0;
    worker->counters.rings_active = worker->num_rings;
    RI_MODULES_TELL(ring_rx_unmap, stream);
    stream->ring        = NULL;
    stream->peer->ready = 0; /* nothing would take it back */
    RI_MODULES_TELL(ring_rx_closed, stream);
}

void ri_ring_channel_ask(ri_conn_t *conn)
{
    if ((conn->flags & RI_CONN_RING_STOP) || (conn->ring_asks_left-- > 0)) {
        return;
    }
    /* Nobody says no: there may be rings later, or RING_CLOSE was not read yet. */
    conn->ring_asks_left = RING_ASK_AGAIN << ri_min(conn->ring_asks, RING_ASK_SHIFT_MAX);
    if (conn->remote_id == 0) {
        conn->ring_asks_left = 0;
        ri_control_ask_later(conn); /* and asked for a ring the next time */
        return;
    }
    ++conn->ring_asks;
    ri_control_send(conn, RI_WIRE_RING_REQ, conn->remote_id, 0);
}

void ri_ring_channel_refused(ri_stream_t *stream)
{
    if (stream->ring == NULL) {
        ++stream->worker->counters.rx_stale;
        return;
    }

    /* What its sender wrote before it went must still be read, and this may be called
     * from within a record: polling frees it. */
    if (stream->ring->pos == 0) {
        ++stream->worker->counters.rings_refused;
        stream->same_host = 0;
    }
    stream->ring_dead = 1;
}

void ri_ring_channel_open(ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker = conn->worker;

    if (conn->ring != NULL) {
        ++worker->counters.rx_stale; /* the same offer once more */
        return;
    }
    if ((conn->flags & RI_CONN_CLOSING) || (conn->status != UCS_OK) ||
        (ri_ring_open(&conn->ring_memory, msg->ring_pid, msg->ring_fd, msg->value,
                      msg->ring_cookie) != UCS_OK)) {
        ri_debug("ring of process %u not used", msg->ring_pid);
        ri_control_send(conn, RI_WIRE_RING_REFUSE, conn->remote_id, 0);
        return;
    }
    conn->ring = &conn->ring_memory;
    conn->flags &= ~RI_CONN_RING_STOP;
    conn->ring_asks      = 0;
    conn->ring_asks_left = 0;
    conn->ring_max = ri_min((size_t)conn->ring->max_payload, ri_config.eager_thresh);
    ri_conn_update_fast(conn);
    ri_trace(&worker->trace, RI_TRACE_RING_OPEN, conn->id, msg->value);
    ri_planes_find(conn);
}

void ri_ring_channel_close(ri_conn_t *conn)
{
    if (conn->ring == NULL) {
        return;
    }
    RI_MODULES_TELL(ring_tx_closes, conn);
    ri_ring_tx_finish(conn->ring, RI_WIRE_RING_CLOSE);
    ri_trace(&conn->worker->trace, RI_TRACE_RING_CLOSE, conn->id, conn->ring->pos);
    ri_ring_tx_close(conn->ring);
    conn->ring = NULL;
    conn->flags &= ~RI_CONN_RING_STOP;
    ri_conn_update_fast(conn);
}

int ri_ring_channel_is_needed(ri_conn_t *conn)
{
    int is_needed;

    RI_MODULES_ASK(is_needed, ring_tx_stops, conn);
    return is_needed;
}

void ri_ring_channel_stop(ri_conn_t *conn)
{
    if (conn->ring == NULL) {
        ++conn->worker->counters.rx_stale;
        return;
    }

    conn->flags |= RI_CONN_RING_STOP;
    ri_conn_update_fast(conn);
    if (ucs_list_is_empty(&conn->pending) && !ri_ring_channel_is_needed(conn)) {
        ri_ring_channel_close(conn);
    } else {
        ri_conn_queue_pending(conn);
    }
}

/* Whatever the order towards other ways. */
static int ring_channel_put_control(ri_conn_t *conn, ri_wire_type_t type, uint32_t id,
                                    uint32_t value, const void *payload, size_t length)
{
    ri_ring_record_t *record = ri_ring_tx_reserve(conn->ring, length);

    if (record == NULL) {
        return 0;
    }
    if (length > 0) {
        memcpy(record->payload, payload, length);
    }
    record->hint  = ri_peer_take_hint(conn->peer);
    record->type  = type;
    record->value = value;
    record->extra = id;
    record->tag   = 0;
    ri_ring_tx_commit(conn->ring, record, length);
    return 1;
}

int ri_ring_channel_send_control(ri_conn_t *conn, ri_wire_type_t type, uint32_t id,
                                 uint32_t value, const void *payload, size_t length)
{
    return (conn->ring != NULL) && !(conn->flags & RI_CONN_NO_RING) &&
           ring_channel_put_control(conn, type, id, value, payload, length);
}

int ri_ring_channel_say_closing(ri_conn_t *conn)
{
    return (conn->ring != NULL) &&
           ring_channel_put_control(conn, RI_WIRE_CLOSING, 0, 0, NULL, 0);
}

static void ring_channel_conn_fails(ri_conn_t *conn, int is_first)
{
    if (is_first) {
        ri_ring_channel_close(conn);
    }
}

const ri_module_t ri_module_ring = {.name       = "ring",
                                    .conn_stops = ri_ring_channel_close,
                                    .conn_fails = ring_channel_conn_fails,
                                    .conn_freed = ri_ring_channel_close};
