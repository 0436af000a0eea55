/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* What the sender's choice depends on (src/ucp/proto/select.h), as flags and a length. */
#ifndef RI_TEST_SELECT_PARAM_H
#define RI_TEST_SELECT_PARAM_H

#include "unit/common/ri_cpp.h"

namespace {

const size_t EAGER_THRESH  = 8192;
const size_t HYBRID_THRESH = 65536;
const size_t HYBRID_AWAY   = 524288;
const size_t HYBRID_NET    = 131072;
const size_t COOP_THRESH   = 262144;
const size_t AM_INLINE     = 1024;
const size_t RING_MAX      = 4096;
const size_t CHANNEL_MAX   = 2048;

enum {
    SELF   = 1 << 0,
    SYNC   = 1 << 1,
    RING   = 1 << 2,
    READY  = 1 << 3,
    HELLO  = 1 << 4,
    PACKED = 1 << 5, /* not contiguous */
    DEVICE = 1 << 6,
    PEER   = 1 << 7,
    READ   = 1 << 8,  /* the receiver can read the sender's memory, within a host */
    WRITE  = 1 << 9,  /* the sender the receiver's */
    PIECES = 1 << 10, /* contiguous, or IOV of a few pieces */
    EARLY  = 1 << 11, /* the receiver is: there is an RTR */
    POOL   = 1 << 12,
    SLOT   = 1 << 13,
    PUT    = 1 << 14, /* SENDER_SCHEME; otherwise auto */
    GET    = 1 << 15,
    ALL    = 1 << 16, /* behind the last combination of the flags above */

    SHORT_RTR = 1 << 16, /* with an RTR: its receive has no room for the message */
    EXPECTED  = 1 << 17, /* no RTR is there, but recent messages had one */
    AWAITED   = 1 << 18, /* the receiver waited for the latest long message */
    BEHIND    = 1 << 19, /* messages wait for room in the ring */
    FULL_RING = 1 << 20, /* an RTS does not go through the ring now */
    SLEEPS    = 1 << 21, /* this worker polls no rings */
    NET       = 1 << 22, /* a network: all that an RDMA device can do */
    NET_EARLY = 1 << 23, /* there is an RTR that came through it */
    UD      = 1 << 24, /* instead: a network that takes messages to posted memory only */
    CHANNEL = 1 << 25, /* an eager channel through a network, with room */
    EVERY   = 1 << 26,
    RUNS    = 1 << 26, /* in runs that a shelf can take; with PACKED, without PIECES */
    AWAY    = 1 << 27, /* the receiver is, as it has said */

    PLANE = READ | PIECES,         /* one way, as far as the chooser is concerned */
    BOTH  = READ | WRITE | PIECES, /* both ways */
    COOP  = SLOT | RING,           /* what both sides need to copy */
    FULL  = BOTH | POOL | COOP     /* nothing is missing */
};

const unsigned HOST_PLANE = RI_PLANE_LISTS | RI_PLANE_INLINE;
const unsigned NET_PLANE  = RI_PLANE_READ | RI_PLANE_WRITE | RI_PLANE_NOTIFY |
                           RI_PLANE_LISTS | RI_PLANE_KEYS;
const unsigned UD_PLANE = RI_PLANE_LISTS | RI_PLANE_KEYS | RI_PLANE_MESSAGES;

const size_t LARGE   = (size_t)1 << 40;
const size_t SHORT   = RI_WIRE_SHORT;
const size_t SHORT_H = RI_WIRE_SHORT_HELLO;

inline unsigned host_plane(unsigned what)
{
    unsigned can = ((what & READ) ? RI_PLANE_READ : 0) |
                   ((what & WRITE) ? RI_PLANE_WRITE : 0);

    return (can != 0) ? (can | HOST_PLANE) : 0;
}

inline ri_select_param_t make_param(unsigned what, size_t length)
{
    ri_select_param_t param = {};
    bool is_early           = (what & (EARLY | NET_EARLY)) != 0;

    param.self          = !!(what & SELF);
    param.sync          = !!(what & SYNC);
    param.peer_mode     = !!(what & PEER);
    param.has_ring      = !!(what & RING);
    param.am_ready      = !!(what & READY);
    param.has_hello     = !!(what & HELLO);
    param.contig        = !(what & PACKED);
    param.host_memory   = !(what & DEVICE);
    param.pieces        = !!(what & PIECES);
    param.spread        = !!(what & RUNS);
    param.pool_free     = !!(what & POOL);
    param.slot_free     = !!(what & SLOT);
    param.ring_open     = !(what & FULL_RING);
    param.is_behind     = !!(what & BEHIND);
    param.polls         = !(what & SLEEPS);
    param.awaited       = !!(what & AWAITED);
    param.rtr_expected  = !!(what & EXPECTED);
    param.rtr_by_net    = !!(what & NET_EARLY);
    param.rtr_room      = is_early ? length - !!(what & SHORT_RTR) : 0;
    param.host_plane    = host_plane(what);
    param.net_plane     = (what & NET) ? NET_PLANE : (what & UD) ? UD_PLANE : 0;
    param.scheme        = (what & PUT) ? RI_SENDER_SCHEME_PUT :
                          (what & GET) ? RI_SENDER_SCHEME_GET :
                                         RI_SENDER_SCHEME_AUTO;
    param.length        = length;
    param.hybrid_thresh = HYBRID_THRESH;
    param.hybrid_away   = (what & AWAY) ? HYBRID_AWAY : 0;
    param.hybrid_net    = HYBRID_NET;
    param.coop_thresh   = COOP_THRESH;
    param.ring_max      = RING_MAX;
    param.has_channel   = !!(what & CHANNEL);
    param.channel_max   = CHANNEL_MAX;
    param.eager_thresh  = EAGER_THRESH;
    param.am_inline     = AM_INLINE;
    return param;
}

} // namespace

#endif
