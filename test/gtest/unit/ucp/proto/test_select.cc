/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/select.c: the chooser's decisions as a table: who is early x size x datatype
 * x memory x what the plane can do -> protocol. (docs/design.md section 4) */

#include "select_param.h"

#include <gtest/gtest.h>

namespace {

struct decision {
    unsigned what;
    size_t from, to; /* lengths */
    ri_proto_t proto;
};

const decision DECISIONS[] = {
        /* To oneself, whatever it is */
        {SELF, 0, LARGE, RI_PROTO_SELF},
        {SELF | SYNC | RING, 0, LARGE, RI_PROTO_SELF},
        {SELF | DEVICE, 0, LARGE, RI_PROTO_SELF},
        /* By ring, and what does not fit it */
        {RING | READY, 0, RING_MAX, RI_PROTO_EAGER_RING},
        {RING | READY, RING_MAX + 1, EAGER_THRESH, RI_PROTO_EAGER_GATHER},
        {RING | READY | PACKED, RING_MAX + 1, EAGER_THRESH, RI_PROTO_EAGER_COPY},
        {RING | SYNC, 0, RING_MAX, RI_PROTO_EAGER_RING},
        {RING | READY, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        /* By the channel through a network: what is short */
        {CHANNEL | READY, 0, CHANNEL_MAX, RI_PROTO_EAGER_RDMA},
        {CHANNEL | READY, CHANNEL_MAX + 1, EAGER_THRESH, RI_PROTO_EAGER_GATHER},
        {CHANNEL | READY, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {CHANNEL | NET | PIECES | READY, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        {CHANNEL | READY | PACKED, 0, CHANNEL_MAX, RI_PROTO_EAGER_RDMA},
        {CHANNEL | READY | SYNC, 0, CHANNEL_MAX, RI_PROTO_EAGER_RDMA},
        {CHANNEL, 0, CHANNEL_MAX, RI_PROTO_EAGER_RDMA},
        {CHANNEL | READY | DEVICE, 0, LARGE, RI_PROTO_BULK},
        {CHANNEL | RING | READY, 0, RING_MAX, RI_PROTO_EAGER_RING},
        {CHANNEL | SELF, 0, LARGE, RI_PROTO_SELF},
        /* By active message */
        {READY, 0, AM_INLINE, RI_PROTO_EAGER_COPY},
        {READY, AM_INLINE + 1, EAGER_THRESH, RI_PROTO_EAGER_GATHER},
        {READY, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {READY | SYNC, 0, AM_INLINE, RI_PROTO_EAGER_COPY},
        {READY | SYNC, AM_INLINE + 1, EAGER_THRESH, RI_PROTO_EAGER_GATHER},
        {READY | SYNC, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK_RNDV},
        {READY | PACKED, 0, EAGER_THRESH, RI_PROTO_EAGER_COPY},
        {READY | PACKED, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {READY | HELLO, 0, AM_INLINE, RI_PROTO_EAGER_COPY},
        /* Before UCP has set its connection up */
        {HELLO, 0, SHORT_H, RI_PROTO_EAGER_COPY},
        {HELLO, SHORT_H + 1, EAGER_THRESH, RI_PROTO_EAGER_FRAGS},
        {HELLO | PACKED | SYNC, SHORT_H + 1, EAGER_THRESH, RI_PROTO_EAGER_FRAGS},
        {0, 0, SHORT, RI_PROTO_EAGER_COPY},
        {0, SHORT + 1, EAGER_THRESH, RI_PROTO_EAGER_FRAGS},
        {HELLO, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {HELLO | SYNC, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK_RNDV},
        /* A receiver in error mode PEER may have no way to answer later */
        {PEER | READY | SYNC, 0, LARGE, RI_PROTO_BULK_RNDV},
        {PEER | RING | SYNC, 0, LARGE, RI_PROTO_BULK_RNDV},
        {PEER | HELLO | SYNC, 0, LARGE, RI_PROTO_BULK_RNDV},
        {PEER | SELF | SYNC, 0, LARGE, RI_PROTO_SELF},
        {PEER | READY, 0, AM_INLINE, RI_PROTO_EAGER_COPY},
        {PEER | RING | READY, 0, RING_MAX, RI_PROTO_EAGER_RING},
        /* Read by the receiver, except what UCP moves or who may not be able to answer */
        {PLANE | READY, 0, AM_INLINE, RI_PROTO_EAGER_COPY},
        {PLANE | READY, AM_INLINE + 1, EAGER_THRESH, RI_PROTO_EAGER_GATHER},
        {PLANE | READY, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        {PLANE | READY | PACKED, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET}, /* IOV */
        {PLANE | RING | READY, 0, RING_MAX, RI_PROTO_EAGER_RING},
        {PLANE | RING | READY, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        {PLANE | READY | SYNC, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        {PLANE | HELLO, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        {PLANE | DEVICE | READY, 0, LARGE, RI_PROTO_BULK},
        {PLANE | DEVICE | READY | SYNC, 0, LARGE, RI_PROTO_BULK_RNDV},
        {PLANE | PEER | READY, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {PLANE | PEER | READY | SYNC, 0, LARGE, RI_PROTO_BULK_RNDV},
        {PLANE | SELF, 0, LARGE, RI_PROTO_SELF},
        /* What the processor must not touch */
        {DEVICE | RING | READY, 0, LARGE, RI_PROTO_BULK},
        {DEVICE | READY | SYNC, 0, LARGE, RI_PROTO_BULK_RNDV},
        {DEVICE | HELLO, 0, LARGE, RI_PROTO_BULK},
        {DEVICE | FULL | EARLY | READY, 0, LARGE, RI_PROTO_BULK},
        {DEVICE | FULL | EARLY | READY | SYNC, 0, LARGE, RI_PROTO_BULK_RNDV},

        /* The sender is early */
        {FULL | READY, 0, RING_MAX, RI_PROTO_EAGER_RING},
        {FULL | READY, RING_MAX + 1, EAGER_THRESH, RI_PROTO_EAGER_GATHER},
        {FULL, EAGER_THRESH + 1, HYBRID_THRESH, RI_PROTO_POOL},
        {FULL, HYBRID_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RNDV_GET},
        {FULL, COOP_THRESH, LARGE, RI_PROTO_COOP},
        /* ... and waits for the match anyway */
        {FULL | SYNC | READY, RING_MAX + 1, EAGER_THRESH, RI_PROTO_EAGER_GATHER},
        {FULL | SYNC, EAGER_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RNDV_GET},
        {FULL | SYNC, COOP_THRESH, LARGE, RI_PROTO_COOP},
        /* ... by one side only */
        {READ | PIECES | POOL | COOP, EAGER_THRESH + 1, HYBRID_THRESH, RI_PROTO_POOL},
        {READ | PIECES | POOL | COOP, HYBRID_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        {WRITE | PIECES | POOL | COOP, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_PUT},
        {WRITE | PIECES | POOL | COOP | SYNC, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_PUT},
        {PIECES | POOL | COOP | READY, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {PIECES | POOL | COOP | SYNC, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK_RNDV},
        /* ... whose data is in runs: both sides copy, or UCP */
        {(FULL & ~PIECES) | PACKED | RUNS, EAGER_THRESH + 1, HYBRID_THRESH,
         RI_PROTO_POOL},
        {(FULL & ~PIECES) | PACKED | RUNS, HYBRID_THRESH + 1, COOP_THRESH - 1,
         RI_PROTO_BULK},
        {(FULL & ~PIECES) | PACKED | RUNS, COOP_THRESH, LARGE, RI_PROTO_COOP},
        {(FULL & ~PIECES) | PACKED | RUNS | EARLY, COOP_THRESH, LARGE, RI_PROTO_COOP},
        {(FULL & ~PIECES) | PACKED | RUNS | SYNC, COOP_THRESH, LARGE, RI_PROTO_COOP},
        {(FULL & ~(PIECES | SLOT)) | PACKED | RUNS, HYBRID_THRESH + 1, LARGE,
         RI_PROTO_BULK},
        {(FULL & ~(PIECES | WRITE)) | PACKED | RUNS, HYBRID_THRESH + 1, LARGE,
         RI_PROTO_BULK},
        {(FULL & ~PIECES) | PACKED, HYBRID_THRESH + 1, LARGE, RI_PROTO_BULK},
        /* ... and the pool is empty, or all slots are taken */
        {BOTH | COOP, EAGER_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RNDV_GET},
        {BOTH | COOP, COOP_THRESH, LARGE, RI_PROTO_COOP},
        {BOTH | POOL, EAGER_THRESH + 1, HYBRID_THRESH, RI_PROTO_POOL},
        {BOTH | POOL, HYBRID_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        /* ... or the receiver is away: it would be waited for */
        {FULL | AWAY, EAGER_THRESH + 1, HYBRID_AWAY, RI_PROTO_POOL},
        {FULL | AWAY, HYBRID_AWAY + 1, LARGE, RI_PROTO_COOP},
        {FULL | AWAY | SYNC, COOP_THRESH, LARGE, RI_PROTO_COOP},
        {(FULL & ~POOL) | AWAY, COOP_THRESH, LARGE, RI_PROTO_COOP},
        {FULL | AWAY | EXPECTED, COOP_THRESH, LARGE, RI_PROTO_COOP},
        {FULL | AWAY | EARLY, COOP_THRESH, LARGE, RI_PROTO_RTR_COOP},
        {FULL | AWAY | EARLY, EAGER_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RTR_HOST},
        {(FULL & ~PIECES) | PACKED | RUNS | AWAY, EAGER_THRESH + 1, HYBRID_AWAY,
         RI_PROTO_POOL},
        {NET | PIECES | POOL | AWAY, HYBRID_NET + 1, LARGE, RI_PROTO_RNDV_GET},
        /* ... or the receiver is taken to wait: no copy before it reads */
        {FULL | AWAITED, EAGER_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RNDV_GET},
        {FULL | EXPECTED, EAGER_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RNDV_GET},
        {FULL | AWAITED | EXPECTED, COOP_THRESH, LARGE, RI_PROTO_COOP},
        {FULL | AWAITED | EARLY, EAGER_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RTR_HOST},
        {PACKED | READ | WRITE | POOL | AWAITED, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        /* ... and this process may sleep, or has no ring, or RTSs go another way now */
        {FULL | SLEEPS, COOP_THRESH, LARGE, RI_PROTO_RNDV_GET},
        {FULL | SLEEPS | EARLY, COOP_THRESH, LARGE, RI_PROTO_RTR_HOST},
        {BOTH | POOL | SLOT, COOP_THRESH, LARGE, RI_PROTO_RNDV_GET},
        {FULL | FULL_RING, COOP_THRESH, LARGE, RI_PROTO_COOP},
        {FULL | BEHIND, COOP_THRESH, LARGE, RI_PROTO_COOP},
        /* ... as was asked for: of what could be read or written, that which can be */
        {FULL | PUT, EAGER_THRESH + 1, HYBRID_THRESH, RI_PROTO_POOL},
        {FULL | PUT, HYBRID_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RNDV_PUT},
        {FULL | PUT, COOP_THRESH, LARGE, RI_PROTO_COOP},
        {FULL | GET, HYBRID_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RNDV_GET},
        {BOTH | PUT, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_PUT},
        {BOTH | PUT | SYNC, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_PUT},
        {BOTH | GET, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        {READ | PIECES | PUT, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        {WRITE | PIECES | GET, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_PUT},

        /* The receiver is early. Up to EAGER_THRESH nobody cares */
        {FULL | EARLY | READY, 0, RING_MAX, RI_PROTO_EAGER_RING},
        {BOTH | POOL | EARLY | READY, 0, AM_INLINE, RI_PROTO_EAGER_COPY},
        {FULL | EARLY | SYNC, 0, RING_MAX, RI_PROTO_EAGER_RING},
        {FULL | EARLY, EAGER_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RTR_HOST},
        {FULL | EARLY, COOP_THRESH, LARGE, RI_PROTO_RTR_COOP},
        {FULL | EARLY | SYNC, COOP_THRESH, LARGE, RI_PROTO_RTR_COOP},
        {FULL | EARLY | SYNC, EAGER_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RTR_HOST},
        {FULL | EARLY | PUT, EAGER_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RTR_HOST},
        {FULL | EARLY | GET, EAGER_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RTR_HOST},
        {BOTH | EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_HOST},
        {BOTH | EARLY | SYNC, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_HOST},
        {WRITE | PIECES | EARLY | COOP, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_HOST},
        /* ... but the RTS of a slot, or what follows a write, would not go through the ring */
        {FULL | EARLY | FULL_RING, EAGER_THRESH + 1, HYBRID_THRESH, RI_PROTO_POOL},
        {FULL | EARLY | FULL_RING, HYBRID_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RNDV_GET},
        {BOTH | EARLY | FULL_RING, EAGER_THRESH + 1, LARGE,
         RI_PROTO_RTR_HOST}, /* no ring */
        {FULL | EARLY | FULL_RING, COOP_THRESH, LARGE, RI_PROTO_COOP},
        /* ... but messages that its RTR may count are still here */
        {FULL | EARLY | BEHIND, EAGER_THRESH + 1, HYBRID_THRESH, RI_PROTO_POOL},
        {FULL | EARLY | BEHIND | EXPECTED, EAGER_THRESH + 1, COOP_THRESH - 1,
         RI_PROTO_RNDV_GET},
        {FULL | EARLY | BEHIND, COOP_THRESH, LARGE, RI_PROTO_COOP},
        /* ... but has no room for the message */
        {FULL | EARLY | SHORT_RTR, EAGER_THRESH + 1, HYBRID_THRESH, RI_PROTO_POOL},
        {FULL | EARLY | SHORT_RTR, HYBRID_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RNDV_GET},
        {FULL | EARLY | SHORT_RTR, COOP_THRESH, LARGE, RI_PROTO_COOP},
        /* ... but cannot be written */
        {READ | PIECES | EARLY | POOL | COOP, EAGER_THRESH + 1, HYBRID_THRESH,
         RI_PROTO_POOL},
        {READ | PIECES | EARLY | COOP, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        {EARLY | PIECES | POOL | COOP, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},

        /* Data that cannot be described, by whom it may concern: packed into the pool, or
         * by UCP */
        {PACKED | READ | WRITE | POOL | COOP, EAGER_THRESH + 1, HYBRID_THRESH,
         RI_PROTO_POOL},
        {PACKED | READ | WRITE | POOL | COOP, HYBRID_THRESH + 1, LARGE, RI_PROTO_BULK},
        {PACKED | READ | WRITE | POOL | COOP | PUT, HYBRID_THRESH + 1, LARGE,
         RI_PROTO_BULK},
        {PACKED | READ | WRITE | POOL | COOP | EARLY, EAGER_THRESH + 1, HYBRID_THRESH,
         RI_PROTO_POOL},
        {PACKED | READ | WRITE | POOL | COOP | EARLY, HYBRID_THRESH + 1, LARGE,
         RI_PROTO_BULK},
        {PACKED | READ | WRITE | POOL | COOP | SYNC, EAGER_THRESH + 1, LARGE,
         RI_PROTO_BULK_RNDV},
        {PACKED | WRITE | POOL | COOP | EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        /* ... IOV can be */
        {PACKED | FULL | EARLY, EAGER_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RTR_HOST},
        {PACKED | FULL, COOP_THRESH, LARGE, RI_PROTO_COOP},

        /* Through a network: read by the receiver, or written if that is wanted */
        {NET | PIECES | READY, 0, AM_INLINE, RI_PROTO_EAGER_COPY},
        {NET | PIECES, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        {NET | PIECES | SYNC, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        {NET | PIECES | POOL, EAGER_THRESH + 1, HYBRID_NET, RI_PROTO_POOL},
        {NET | PIECES | POOL, HYBRID_NET + 1, LARGE, RI_PROTO_RNDV_GET},
        {NET | PIECES | POOL | COOP, EAGER_THRESH + 1, HYBRID_NET, RI_PROTO_POOL},
        {NET | PIECES | POOL | COOP, HYBRID_NET + 1, LARGE, RI_PROTO_RNDV_GET},
        {NET | PIECES | POOL | EARLY, EAGER_THRESH + 1, HYBRID_NET, RI_PROTO_POOL},
        {NET | PIECES | POOL | EARLY, HYBRID_NET + 1, LARGE, RI_PROTO_RNDV_GET},
        {NET | PIECES | PUT, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_PUT},
        {NET | PACKED | POOL, EAGER_THRESH + 1, HYBRID_NET, RI_PROTO_POOL},
        {NET | PACKED | POOL, HYBRID_NET + 1, LARGE, RI_PROTO_BULK},
        {NET | PACKED | POOL | SYNC, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK_RNDV},
        {NET | PACKED | PIECES, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET}, /* IOV */
        {NET | PIECES | DEVICE, 0, LARGE, RI_PROTO_BULK},
        {NET | PIECES | PEER, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        /* ... if there is a way within the host, too, that goes first */
        {NET | FULL, EAGER_THRESH + 1, HYBRID_THRESH, RI_PROTO_POOL},
        {NET | FULL, COOP_THRESH, LARGE, RI_PROTO_COOP},
        {NET | FULL | EARLY, EAGER_THRESH + 1, COOP_THRESH - 1, RI_PROTO_RTR_HOST},
        {NET | FULL | EARLY, COOP_THRESH, LARGE, RI_PROTO_RTR_COOP},
        {NET | WRITE | PIECES, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_PUT},
        {NET | READ | PIECES, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        /* ... or sent there when it has been matched, whatever was wished */
        {UD | PIECES | READY, 0, AM_INLINE, RI_PROTO_EAGER_COPY},
        {UD | PIECES, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_UD},
        {UD | PIECES | SYNC, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_UD},
        {UD | PIECES | POOL | COOP | EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_UD},
        {UD | PIECES | PUT, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_UD},
        {UD | PIECES | GET, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_UD},
        {UD | PIECES | PACKED, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_UD}, /* IOV */
        {UD | PACKED | POOL, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {UD | PIECES | DEVICE, 0, LARGE, RI_PROTO_BULK},
        {UD | PIECES | PEER, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {UD | FULL, EAGER_THRESH + 1, HYBRID_THRESH, RI_PROTO_POOL},
        {UD | WRITE | PIECES, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_PUT},

        /* ... but not before an RTR that came through it, to a receive that has no other */
        {NET | PIECES | NET_EARLY | READY, 0, AM_INLINE, RI_PROTO_EAGER_COPY},
        {NET | PIECES | NET_EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_NET},
        {NET | PIECES | NET_EARLY | POOL | SYNC, EAGER_THRESH + 1, LARGE,
         RI_PROTO_RTR_NET},
        {NET | PIECES | NET_EARLY | PUT, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_NET},
        {NET | PIECES | NET_EARLY | SYNC, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_NET},
        /* ... from the pool, up to medium length */
        {NET | PIECES | NET_EARLY | POOL, EAGER_THRESH + 1, HYBRID_NET,
         RI_PROTO_RTR_POOL},
        {NET | PIECES | NET_EARLY | POOL, HYBRID_NET + 1, LARGE, RI_PROTO_RTR_NET},
        {NET | FULL | NET_EARLY, EAGER_THRESH + 1, HYBRID_NET, RI_PROTO_RTR_POOL},
        {NET | FULL | NET_EARLY, HYBRID_NET + 1, LARGE, RI_PROTO_RTR_NET},
        {NET | READ | PIECES | POOL | NET_EARLY, EAGER_THRESH + 1, HYBRID_NET,
         RI_PROTO_RTR_POOL},
        {NET | READ | PIECES | POOL | NET_EARLY, HYBRID_NET + 1, LARGE, RI_PROTO_RTR_NET},
        /* ... and a receiver that waits does not keep a sender from copying, as in a host */
        {NET | PIECES | POOL | AWAITED | EXPECTED, EAGER_THRESH + 1, HYBRID_NET,
         RI_PROTO_POOL},
        {NET | WRITE | PIECES | NET_EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_NET},
        {NET | PACKED | PIECES | NET_EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_NET},
        /* ... if it has room, nothing waits for room in the ring, and the way is still there */
        {NET | PIECES | NET_EARLY | SHORT_RTR, EAGER_THRESH + 1, LARGE,
         RI_PROTO_RNDV_GET},
        {NET | PIECES | NET_EARLY | BEHIND, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_GET},
        {NET | PACKED | POOL | NET_EARLY, EAGER_THRESH + 1, HYBRID_NET,
         RI_PROTO_RTR_POOL},
        {NET | PACKED | POOL | NET_EARLY, HYBRID_NET + 1, LARGE, RI_PROTO_BULK},
        {NET | PACKED | POOL | NET_EARLY | SYNC, EAGER_THRESH + 1, LARGE,
         RI_PROTO_BULK_RNDV},
        {PIECES | NET_EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {FULL | NET_EARLY, EAGER_THRESH + 1, HYBRID_THRESH, RI_PROTO_POOL},
        {FULL | NET_EARLY, COOP_THRESH, LARGE, RI_PROTO_COOP},
        {NET | PIECES | NET_EARLY | DEVICE, 0, LARGE, RI_PROTO_BULK},

        /* An RTR with a queue pair for datagrams: straight from the memory of the message, whatever
         * else there is */
        {UD | PIECES | NET_EARLY | READY, 0, AM_INLINE, RI_PROTO_EAGER_COPY},
        {UD | PIECES | NET_EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_UD},
        {UD | PIECES | NET_EARLY | SYNC, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_UD},
        {UD | PIECES | NET_EARLY | POOL, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_UD},
        {UD | PIECES | NET_EARLY | PUT, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_UD},
        {UD | PIECES | NET_EARLY | GET, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_UD},
        {UD | FULL | NET_EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_UD},
        {UD | FULL | NET_EARLY | AWAITED, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_UD},
        {UD | PACKED | PIECES | NET_EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_RTR_UD},
        {UD | PIECES | NET_EARLY | SHORT_RTR, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_UD},
        {UD | PIECES | NET_EARLY | BEHIND, EAGER_THRESH + 1, LARGE, RI_PROTO_RNDV_UD},
        {UD | PACKED | POOL | NET_EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {UD | PIECES | NET_EARLY | DEVICE, 0, LARGE, RI_PROTO_BULK},

        /* None of this in error mode PEER, or to oneself */
        {PEER | UD | PIECES | NET_EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {PEER | NET | PIECES | NET_EARLY, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {PEER | FULL | EARLY | READY, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {PEER | FULL | EARLY | PUT, EAGER_THRESH + 1, LARGE, RI_PROTO_BULK},
        {PEER | FULL | EARLY | SYNC, 0, LARGE, RI_PROTO_BULK_RNDV},
        {SELF | FULL | EARLY | SYNC, 0, LARGE, RI_PROTO_SELF},
};

TEST(test_select, table)
{
    for (const decision &d : DECISIONS) {
        for (size_t length : {d.from, (d.from + d.to) / 2, d.to}) {
            ri_select_param_t param = make_param(d.what, length);

            EXPECT_EQ(d.proto, ri_select(&param).proto)
                    << "row " << &d - DECISIONS << ", length " << length;
        }
    }
}

/* Thresholds as they may be set */
const struct {
    size_t eager, hybrid, coop;
    unsigned what;
    size_t from, to;
    ri_proto_t proto;
} THRESHOLDS[] = {
        /* No hybrid: 0, or not above EAGER_THRESH */
        {8192, 0, LARGE, FULL, 8193, LARGE - 1, RI_PROTO_RNDV_GET},
        {8192, 4096, LARGE, FULL | RING | READY, 0, 4096, RI_PROTO_EAGER_RING},
        {8192, 8192, LARGE, FULL, 8193, LARGE - 1, RI_PROTO_RNDV_GET},
        {8192, 8193, LARGE, FULL, 8193, 8193, RI_PROTO_POOL},
        {8192, 8193, LARGE, FULL, 8194, LARGE - 1, RI_PROTO_RNDV_GET},
        /* No cooperation */
        {8192, 0, SIZE_MAX, FULL, 8193, LARGE, RI_PROTO_RNDV_GET},
        {8192, 0, SIZE_MAX, FULL | EARLY, 8193, LARGE, RI_PROTO_RTR_HOST},
        /* EAGER_THRESH goes before others, and HYBRID_THRESH before cooperation ... */
        {8192, 65536, 0, FULL | READY, 4097, 8192, RI_PROTO_EAGER_GATHER},
        {8192, 65536, 0, FULL, 8193, 65536, RI_PROTO_POOL},
        {8192, 65536, 0, FULL, 65537, LARGE, RI_PROTO_COOP},
        {8192, 65536, 16384, FULL | EARLY, 8193, 65536, RI_PROTO_RTR_HOST},
        {8192, 65536, 16384, FULL | EARLY, 65537, LARGE, RI_PROTO_RTR_COOP},
        /* ... but where the pool is of no use */
        {8192, 65536, 16384, FULL | AWAITED, 8193, 16383, RI_PROTO_RNDV_GET},
        {8192, 65536, 16384, FULL | AWAITED, 16384, LARGE, RI_PROTO_COOP},
        {8192, 65536, 16384, FULL | AWAITED | EARLY, 16384, 65536, RI_PROTO_RTR_HOST},
        {8192, 65536, 16384, FULL | EXPECTED, 16384, LARGE, RI_PROTO_COOP},
        {8192, 65536, 16384, FULL | SYNC, 16384, LARGE, RI_PROTO_COOP},
        {8192, 65536, 16384, BOTH | COOP, 16384, LARGE, RI_PROTO_COOP},
        {8192, LARGE, LARGE + 1, FULL, 8193, LARGE, RI_PROTO_POOL},
        /* Nothing eager but what is empty */
        {0, 65536, 262144, BOTH | POOL | READY, 0, 0, RI_PROTO_EAGER_COPY},
        {0, 65536, 262144, FULL | READY, 1, 65536, RI_PROTO_POOL},
        {0, 65536, 262144, FULL | READY | EARLY, 1, 262143, RI_PROTO_RTR_HOST},
        {0, 65536, 262144, READY, 1, LARGE, RI_PROTO_BULK},
};

TEST(test_select, thresholds)
{
    for (const auto &t : THRESHOLDS) {
        for (size_t length : {t.from, (t.from + t.to) / 2, t.to}) {
            ri_select_param_t param = make_param(t.what, length);

            param.eager_thresh  = t.eager;
            param.hybrid_thresh = param.hybrid_net = t.hybrid;
            param.coop_thresh                      = t.coop;
            EXPECT_EQ(t.proto, ri_select(&param).proto)
                    << "row " << &t - THRESHOLDS << ", length " << length;
        }
    }
}

/* Both sides send at the same time: one of them copies each message, and the slot says which one; of
 * several messages the receiver reads the others. */
TEST(test_select, exchange)
{
    const struct {
        unsigned what;
        int exchanges, alone, crowded;
        size_t length;
        ri_proto_t proto;
    } exchanges[] = {
            {FULL | AWAITED, 0, 1, 0, COOP_THRESH - 1, RI_PROTO_RNDV_GET},
            {FULL | AWAITED, 1, 1, 0, EAGER_THRESH + 1, RI_PROTO_COOP},
            {FULL | AWAITED, 1, 1, 0, COOP_THRESH, RI_PROTO_COOP},
            {FULL | AWAITED, 1, 0, 0, EAGER_THRESH + 1, RI_PROTO_RNDV_GET},
            {FULL | AWAITED, 1, 0, 0, COOP_THRESH, RI_PROTO_RNDV_GET},
            {FULL | AWAITED, 1, 1, 1, COOP_THRESH, RI_PROTO_RNDV_GET},
            {FULL | AWAITED, 0, 1, 1, COOP_THRESH, RI_PROTO_COOP},
            /* Without a slot, or a ring, or where it is too long for a slot, the receiver reads. */
            {(FULL | AWAITED) & ~SLOT, 1, 1, 0, COOP_THRESH, RI_PROTO_RNDV_GET},
            {FULL | AWAITED | SLEEPS, 1, 1, 0, COOP_THRESH, RI_PROTO_RNDV_GET},
            {FULL | AWAITED, 1, 1, 0, RI_SLOT_LENGTH_MAX + 1, RI_PROTO_RNDV_GET},
            /* Where one of both has an RTR, one side would copy both. */
            {FULL | AWAITED | EARLY, 1, 1, 0, EAGER_THRESH + 1, RI_PROTO_COOP},
            {FULL | AWAITED | EARLY, 1, 1, 0, COOP_THRESH, RI_PROTO_COOP},
            {FULL | AWAITED | EARLY, 1, 0, 0, COOP_THRESH, RI_PROTO_RNDV_GET},
            {FULL | AWAITED | EARLY, 0, 0, 0, EAGER_THRESH + 1, RI_PROTO_RTR_HOST},
            {FULL | AWAITED | EARLY, 1, 1, 1, EAGER_THRESH + 1, RI_PROTO_RTR_HOST},
            {FULL | EARLY, 1, 1, 1, COOP_THRESH, RI_PROTO_RTR_HOST},
            /* What is in runs goes by a shelf, or not at all. */
            {(FULL & ~PIECES) | PACKED | RUNS, 1, 0, 1, COOP_THRESH, RI_PROTO_COOP},
    };

    for (const auto &e : exchanges) {
        ri_select_param_t param = make_param(e.what, e.length);

        param.exchanges  = e.exchanges;
        param.alone      = e.alone;
        param.crowded    = e.crowded;
        param.peer_sends = e.exchanges;
        EXPECT_EQ(e.proto, ri_select(&param).proto) << "row " << &e - exchanges;
    }
}

/* Of several messages on their way both sides copy whole ones, also below COOP_THRESH; but for what is
 * over at once otherwise. */
TEST(test_select, row)
{
    const struct {
        unsigned what;
        size_t length;
        ri_proto_t proto;
    } rows[] = {
            {FULL | AWAITED, EAGER_THRESH + 1, RI_PROTO_COOP},
            {FULL | AWAITED, COOP_THRESH, RI_PROTO_COOP},
            {(FULL | AWAITED) & ~SLOT, EAGER_THRESH + 1, RI_PROTO_RNDV_GET},
            {FULL | AWAITED | SLEEPS, EAGER_THRESH + 1, RI_PROTO_RNDV_GET},
            {FULL | AWAITED | EARLY, EAGER_THRESH + 1, RI_PROTO_RTR_HOST},
            {FULL, HYBRID_THRESH, RI_PROTO_POOL},
            {FULL, HYBRID_THRESH + 1, RI_PROTO_COOP},
    };

    for (const auto &r : rows) {
        ri_select_param_t param = make_param(r.what, r.length);

        param.in_row     = 1;
        param.peer_sends = 1;
        EXPECT_EQ(r.proto, ri_select(&param).proto) << "row " << &r - rows;
    }
}

/* What is lacking is not chosen again, and nothing else changes. */
TEST(test_select, without)
{
    const ri_select_now_t now = {RI_PLANE_READ, 4321};
    ri_select_param_t before  = make_param(FULL | AWAITED | EARLY, COOP_THRESH), param;

    before.net_plane  = RI_PLANE_WRITE;
    before.hybrid_net = 1234;
    ASSERT_NE(now.host_plane, before.host_plane);
    for (unsigned lacks = 0; lacks < 16; ++lacks) {
        for (int in_runs : {0, 1}) {
            bool packs     = (lacks & RI_SEND_LACKS_KEYS) && in_runs;
            before.in_runs = in_runs;
            param          = before;
            ri_select_without(&param, lacks, &now);
            EXPECT_EQ((lacks & RI_SEND_LACKS_RTR) ? 0 : before.rtr_room, param.rtr_room);
            EXPECT_EQ((lacks & RI_SEND_LACKS_RTR) ? now.host_plane : before.host_plane,
                      param.host_plane);
            EXPECT_EQ((lacks & RI_SEND_LACKS_POOL) ? 0 : before.pool_free,
                      param.pool_free);
            EXPECT_EQ((lacks & RI_SEND_LACKS_SLOT) ? 0 : before.slot_free,
                      param.slot_free);
            EXPECT_EQ(packs ? 0 : before.pieces, param.pieces);
            EXPECT_EQ(packs ? now.hybrid_packed : before.hybrid_net, param.hybrid_net);
            EXPECT_EQ(((lacks & RI_SEND_LACKS_KEYS) && !in_runs) ? 0 : before.net_plane,
                      param.net_plane);
        }
    }
    /* In runs that are packed already, it is the way that does not reach the pool. */
    param         = before;
    param.in_runs = 1;
    param.pieces  = 0;
    ri_select_without(&param, RI_SEND_LACKS_KEYS, &now);
    EXPECT_EQ(0u, param.net_plane);
}

/* COOP_THRESH=inf turns slots off. */
TEST(test_select, no_slots)
{
    for (int in_row : {0, 1}) {
        ri_select_param_t param = make_param(FULL | AWAITED, COOP_THRESH);

        param.exchanges = param.alone = !in_row;
        param.in_row                  = in_row;
        param.coop_thresh             = SIZE_MAX;
        EXPECT_EQ(RI_PROTO_RNDV_GET, ri_select(&param).proto);
    }
}

/* A slot cannot count the parts of what is longer. */
TEST(test_select, too_long_for_a_slot)
{
    ri_select_param_t param = make_param(FULL | EARLY, RI_SLOT_LENGTH_MAX);

    EXPECT_EQ(RI_PROTO_RTR_COOP, ri_select(&param).proto);
    param = make_param(FULL | EARLY, RI_SLOT_LENGTH_MAX + 1);
    EXPECT_EQ(RI_PROTO_RTR_HOST, ri_select(&param).proto);
    param = make_param(FULL, RI_SLOT_LENGTH_MAX + 1);
    EXPECT_EQ(RI_PROTO_RNDV_GET, ri_select(&param).proto);
}

} // namespace
