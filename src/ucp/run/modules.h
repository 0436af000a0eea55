/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The modules, each with its table at the end of its file, and the rules for their order.
 */
#ifndef RI_MODULES_H
#define RI_MODULES_H

#include "../core/types/module.h"

extern const ri_module_t ri_module_flush;          /* run/flush.c */
extern const ri_module_t ri_module_rma_order;      /* core/rma_order.c */
extern const ri_module_t ri_module_posts;          /* rma/posts.c */
extern const ri_module_t ri_module_assembly;       /* order/assembly.c */
extern const ri_module_t ri_module_control;        /* link/control.c */
extern const ri_module_t ri_module_ring;           /* link/ring_life.c */
extern const ri_module_t ri_module_frag;           /* proto/eager/frag.c */
extern const ri_module_t ri_module_rtr;            /* proto/rtr/rtr_ends.c */
extern const ri_module_t ri_module_rndv;           /* proto/rndv/rndv.c */
extern const ri_module_t ri_module_rndv_recv;      /* proto/rndv/rndv_recv.c */
extern const ri_module_t ri_module_net_read;       /* proto/rndv/net_read.c */
extern const ri_module_t ri_module_match;          /* match/match.c */
extern const ri_module_t ri_module_channel;        /* link/channel_life.c */
extern const ri_module_t ri_module_channel_send;   /* link/channel_send.c */
extern const ri_module_t ri_module_net_transfer;   /* link/net_transfer.c */
extern const ri_module_t ri_module_release;        /* link/release.c */
extern const ri_module_t ri_module_pool_send;      /* proto/pool/pool_send.c */
extern const ri_module_t ri_module_pool;           /* link/pool.c */
extern const ri_module_t ri_module_coop_send;      /* proto/coop/coop_send.c */
extern const ri_module_t ri_module_ud_ends;        /* proto/rndv/ud_ends.c */
extern const ri_module_t ri_module_coop_recv;      /* proto/coop/coop_recv.c */
extern const ri_module_t ri_module_coop_exchange;  /* proto/coop/coop_exchange.c */
extern const ri_module_t ri_module_planes;         /* link/planes.c */
extern const ri_module_t ri_module_rtr_net;        /* proto/rtr/rtr_net.c */
extern const ri_module_t ri_module_rtr_notified;   /* proto/rtr/rtr_notified.c */
extern const ri_module_t ri_module_rtr_known;      /* proto/rtr/rtr_known.c */
extern const ri_module_t ri_module_rtr_layout;     /* proto/rtr/rtr_layout.c */
extern const ri_module_t ri_module_rtr_send_words; /* proto/rtr/rtr_send_words.c */
extern const ri_module_t ri_module_rtr_send_ud;    /* proto/rtr/rtr_send_ud.c */
extern const ri_module_t ri_module_sender_map;     /* match/sender_map.c */
extern const ri_module_t ri_module_am;             /* link/am.c */
extern const ri_module_t ri_module_bounce;         /* link/bounce.c */
extern const ri_module_t ri_module_gone;           /* link/gone.c */
extern const ri_module_t ri_module_report_file;    /* run/report_file.c */

/* The order in which modules are told of an event: event, first, then, why. An event without a line
 * is told in any order. */
/* clang-format off */
#define RI_MODULES_RULES(_r) \
    _r(worker_says, rndv, coop_recv, \
       "what has come is told before receives end, whose callbacks may do anything") \
    _r(worker_says, ud_ends, coop_recv, "what has come is told before receives end, as with rndv") \
    _r(worker_says, ud_ends, rtr_notified, \
       "ud_ends speaks by the ways that rtr_notified gives up") \
    _r(worker_says, coop_recv, rtr_notified, \
       "what ends speaks by the ways that rtr_notified gives up") \
    _r(worker_stops, channel, net_transfer, "callbacks open no channel any more") \
    _r(worker_stops, net_transfer, release, "what was being read from pools is released, too") \
    _r(worker_stops, release, planes, "what is sent before is by rings that nobody has left") \
    _r(worker_ends, flush, ring, "flush waits for conns only") \
    _r(worker_ends, ring, rndv_recv, "a ring brings nothing any more to receives that wait") \
    _r(worker_ends, rndv_recv, match, \
       "callbacks of rndv_recv may post receives, which take messages that wait") \
    _r(worker_closes, pool, planes, "the memory of the pool is registered with the planes") \
    _r(peer_freed, planes, rtr_notified, \
       "a way that ends gives up entries of RTRs, which go then") \
    _r(conn_fails, ring, release, "nothing releases a buffer by the ring any more") \
    _r(conn_fails, ring, pool_send, "nothing releases a buffer by the ring any more") \
    _r(conn_fails, channel, release, "nothing releases a buffer by the channel any more") \
    _r(conn_fails, channel, pool_send, "nothing releases a buffer by the channel any more") \
    _r(conn_closes, channel, release, "nothing releases a buffer by the channel any more") \
    _r(conn_closes, channel, pool_send, "nothing releases a buffer by the channel any more") \
    _r(stream_breaks, control, rtr, \
       "the sender is told to stop before rtr waits for what it is writing") \
    _r(stream_breaks, rtr, coop_recv, \
       "no slot becomes ready any more for a receive that was offered") \
    _r(stream_ends, rtr, rndv_recv, \
       "a receive that was offered may yet wait for its data, and not the other way round") \
    _r(stream_freed, rndv_recv, channel, "what waits is dropped before its way") \
    _r(way_ended, channel, rtr_notified, \
       "what is sent when RTRs are given up takes no channel of the way") \
    _r(ring_tx_closes, rtr, coop_send, "grants in the ring are withdrawn before slots") \
    _r(ring_rx_closes, rtr_known, rtr_layout, "RTRs refer to the layouts that they name") \
    _r(ring_rx_closed, assembly, rtr, \
       "a message in parts has left the receives that were offered")
/* clang-format on */

#endif
