/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Counters: plain 64-bit numbers that only the owner's thread writes. A worker counts
 * what concerns it as a whole, a conn what it sent, a stream what it received; the
 * numbers of closed conns and streams are added to their worker's, so that a worker's
 * totals never go down.
 *
 * Invariants, checked by tests once a worker is idle:
 *   tx_eager_ring + tx_eager_am + tx_eager_rdma + tx_hybrid + tx_recv_rndv + tx_coop +
 *     tx_rndv + tx_put + tx_ud + tx_bulk = messages that took a sequence number
 *   tx_bytes - all other tx_..._bytes of a protocol = bytes sent through rings, which are
 *     not counted apart, as that is the fast path
 *   rtr_used + rtr_dropped = rtr_sent when no receive is posted
 *   rx_posted + rx_unexpected = messages of streams that were matched or queued
 *   held_bytes = 0 when no message is unexpected, early or incomplete
 *   pool_bytes = 0 when the peers have received all messages and said so
 * Messages to the own worker are counted as sent only.
 */
#ifndef RI_COUNTERS_H
#define RI_COUNTERS_H

#include "../../../ucs/base.h"
#include "../../../uct/api/plane.h"
#include "../../../uct/ib/ud/ud_transfer.h"

/* Counters of one conn: name, unit, what it counts. */
/* clang-format off */
#define RI_CONN_COUNTERS(_c) \
    _c(tx_eager_ring, "messages", "sent eagerly through a ring") \
    _c(tx_eager_am, "messages", "sent eagerly by active message") \
    _c(tx_eager_am_bytes, "bytes", "payload of tx_eager_am") \
    _c(tx_eager_rdma, "messages", "sent eagerly by a channel through a network") \
    _c(tx_eager_rdma_bytes, "bytes", "payload of tx_eager_rdma") \
    _c(tx_hybrid, "messages", "copied to a pool, from which the receiver reads") \
    _c(tx_hybrid_bytes, "bytes", "payload of tx_hybrid") \
    _c(tx_recv_rndv, "messages", "written into the receive that an RTR offered") \
    _c(tx_recv_rndv_bytes, "bytes", "payload of tx_recv_rndv") \
    _c(tx_coop, "messages", "copied by sender and receiver together") \
    _c(tx_coop_bytes, "bytes", "payload of tx_coop") \
    _c(tx_rndv, "messages", "read by the receiver from where they are") \
    _c(tx_rndv_bytes, "bytes", "payload of tx_rndv") \
    _c(tx_put, "messages", "written where the receiver said when it was asked") \
    _c(tx_put_bytes, "bytes", "payload of tx_put") \
    _c(tx_ud, "messages", "sent as datagrams to where the receiver said") \
    _c(tx_ud_bytes, "bytes", "payload of tx_ud") \
    _c(tx_bulk, "messages", "sent as UCP chooses (above EAGER_THRESH)") \
    _c(tx_bulk_bytes, "bytes", "payload of tx_bulk") \
    _c(tx_self, "messages", "sent to the own worker") \
    _c(tx_self_bytes, "bytes", "payload of tx_self") \
    _c(tx_sync, "messages", "sent by synchronous sends, by any protocol") \
    _c(tx_again, "messages", "sent again after a failed write, by any protocol") \
    _c(tx_bytes, "bytes", "payload of all messages sent, rings included") \
    _c(tx_written_bytes, "bytes", "written into the receiver's memory") \
    _c(tx_shelf_bytes, "bytes", "put on shelves, from which the receiver takes them") \
    _c(tx_control, "messages", "control messages sent") \
    _c(tx_channel, "messages", "control and announcements, sent by a channel") \
    _c(tx_pending, "messages", "that had to wait for room in the ring") \
    _c(rma_mapped, "operations", "put and get in memory that both processes map") \
    _c(rma_mapped_bytes, "bytes", "of rma_mapped") \
    _c(rma_copied, "operations", "put and get by copies between processes") \
    _c(rma_copied_bytes, "bytes", "of rma_copied") \
    _c(rma_mailed, "operations", "that the target was asked for") \
    _c(rma_withdrawn, "operations", "or parts, withdrawn from a target that did not look") \
    _c(rma_called, "operations", "atomic, by the thread of a target that is busy") \
    _c(rma_atomics, "operations", "atomic, in memory that both processes map") \
    _c(rma_stock, "operations", "one-sided, that UCX carries out")
/* clang-format on */

/* Counters of one stream: name, unit, what it counts. */
/* clang-format off */
#define RI_STREAM_COUNTERS(_c) \
    _c(rx_posted, "messages", "that found their receive posted") \
    _c(rx_unexpected, "messages", "that came before their receive") \
    _c(rx_reordered, "messages", "that came before an earlier one") \
    _c(rx_named, "messages", "whose turn came before their data") \
    _c(rx_ring, "messages", "that came through a ring") \
    _c(rx_eager_rdma, "messages", "that came by a channel through a network") \
    _c(rx_channel, "messages", "control and announcements, by a channel") \
    _c(rx_looked, "messages", "RTRs that a send found in the channel by itself") \
    _c(rx_long, "messages", "above EAGER_THRESH here, and not sent eagerly") \
    _c(rx_read_bytes, "bytes", "read from the sender's memory") \
    _c(rx_shelf_bytes, "bytes", "taken from shelves, where the sender had put them") \
    _c(rx_bytes, "bytes", "payload of all messages received") \
    _c(stream_malformed, "messages", "this sender's part of rx_malformed") \
    _c(stream_held_bytes, "bytes", "this sender's part of held_bytes, now")
/* clang-format on */

/* Counters of a worker alone, beside those of its conns and streams: name, unit, what it counts. */
/* clang-format off */
#define RI_WORKER_COUNTERS(_c) \
    _c(rx_control, "messages", "control messages received") \
    _c(rx_malformed, "messages", "dropped because they break the protocol") \
    _c(rx_stale, "messages", "dropped because they are for something closed") \
    _c(held_bytes, "bytes", "held for messages that wait or are incomplete, now") \
    _c(held_bytes_max, "bytes", "held, the most at any time") \
    _c(pool_bytes, "bytes", "of the pool in use, now") \
    _c(pool_bytes_max, "bytes", "of the pool in use, the most at any time") \
    _c(tx_release, "messages", "that did nothing but give pool buffers back") \
    _c(dt_known, "operations", "on derived data that the library copies by itself") \
    _c(dt_unknown, "operations", "on derived data, by the application's callbacks") \
    _c(recv_canceled, "receives", "cancelled") \
    _c(recv_truncated, "receives", "shorter than their message") \
    _c(recv_bounced, "receives", "into memory that only UCP can write, by way of UCP") \
    _c(rings_offered, "rings", "made for peers to send into") \
    _c(rings_refused, "rings", "that the peer could not map") \
    _c(rings_given_back, "rings", "asked back in favour of a more active peer") \
    _c(rings_active, "rings", "that peers send into, now") \
    _c(channels_offered, "channels", "made for peers to write through a network") \
    _c(channels_refused, "channels", "that the peer would not write") \
    _c(channels_given_back, "channels", "asked back in favour of a more active peer") \
    _c(channels_active, "channels", "that peers write, now") \
    _c(planes_refused, "tries", "to reach a peer's memory that failed, either side") \
    _c(planes_failed, "peers", "whose memory could not be read any more") \
    _c(qp_created, "queue pairs", "made for peers that are reached through a network") \
    _c(reconnects, "queue pairs", "made for a peer that had one before") \
    _c(qp_failed, "queue pairs", "to peers that had to be given up") \
    _c(qp_closed, "queue pairs", "to peers that are gone, for whatever reason") \
    _c(ud_peers, "peers", "that are reached by datagrams, now") \
    _c(ud_peers_max, "peers", "reached by datagrams, the most at any time") \
    _c(rc_peers_bytes, "bytes", "for peers reached by queue pairs (rc), now") \
    _c(ud_peers_bytes, "bytes", "for peers that are reached by datagrams, now") \
    _c(layouts_bytes, "bytes", "for layouts of datatypes of peers, now") \
    _c(coop_parts, "copies", "by the plane, of messages that both sides copy") \
    _c(shelves_made, "shelves", "made for peers to put parts of such messages on") \
    _c(rndv_fallback, "messages", "that UCP had to move, as no plane could") \
    _c(rtr_sent, "receives", "that were offered to their sender (RTR)") \
    _c(rtr_used, "receives", "offered, and used by the sender") \
    _c(rtr_dropped, "receives", "offered, and not used by the sender") \
    _c(rtr_withdrawn_ud, "receives", "offered by ud, and withdrawn for their queue pair") \
    _c(rtr_suppressed, "receives", "not offered, as it would not pay") \
    _c(stock_skipped, "calls", "of progress that polled rings only") \
    RI_PLANE_COUNTERS(_c) \
    RI_UD_COUNTERS(_c)
/* clang-format on */

#define RI_COUNTER_MEMBER(_name, _unit, _doc) uint64_t _name;

typedef struct ri_conn_counters {
    RI_CONN_COUNTERS(RI_COUNTER_MEMBER)
} ri_conn_counters_t;

typedef struct ri_stream_counters {
    RI_STREAM_COUNTERS(RI_COUNTER_MEMBER)
} ri_stream_counters_t;

typedef struct ri_worker_counters {
    RI_WORKER_COUNTERS(RI_COUNTER_MEMBER)
    ri_conn_counters_t conns;     /* of closed conns; in a snapshot, of all */
    ri_stream_counters_t streams; /* of freed streams; in a snapshot, of all */
} ri_worker_counters_t;

/** Add each counter of the conn, or sum of conns, @a src to that of @a dst. */
void ri_counters_conn_add(ri_conn_counters_t *dst, const ri_conn_counters_t *src);

/** Add each counter of the stream, or sum of streams, @a src to that of @a dst. */
void ri_counters_stream_add(ri_stream_counters_t *dst, const ri_stream_counters_t *src);

/* What is called for each counter: its name, the unit of its value, and what it counts. */
typedef void (*ri_counter_func_t)(const char *name, const char *unit, const char *doc,
                                  uint64_t value, void *arg);

/** Call @a func for each counter of a conn. */
void ri_counters_conn_foreach(const ri_conn_counters_t *conn, ri_counter_func_t func,
                              void *arg);

/** Call @a func for each counter of a stream. */
void ri_counters_stream_foreach(const ri_stream_counters_t *stream,
                                ri_counter_func_t func, void *arg);

/** Call @a func for each counter of a worker, and of the sums of its conns and streams. */
void ri_counters_foreach(const ri_worker_counters_t *counters, ri_counter_func_t func,
                         void *arg);

#endif
