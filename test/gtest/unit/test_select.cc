/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/select.c: the chooser's decisions as a table. */

#include "ri_cpp.h"

#include <gtest/gtest.h>

namespace {

const size_t EAGER_THRESH = 8192;
const size_t AM_INLINE    = 1024;
const size_t RING_MAX     = 4096;

enum {
    SELF   = 1,
    SYNC   = 2,
    RING   = 4,
    READY  = 8,
    HELLO  = 16,
    PACKED = 32,
    DEVICE = 64,
    PEER   = 128,
    PLANE  = 256
};

struct decision {
    unsigned what;
    size_t from, to; /* lengths */
    ri_proto_t proto;
};

const size_t LARGE   = (size_t)1 << 40;
const size_t SHORT   = RI_SELECT_SHORT;
const size_t SHORT_H = RI_SELECT_SHORT_HELLO;

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
};

TEST(test_select, table)
{
    for (const decision &d : DECISIONS) {
        for (size_t length : {d.from, (d.from + d.to) / 2, d.to}) {
            ri_select_param_t param = {};

            param.self         = !!(d.what & SELF);
            param.sync         = !!(d.what & SYNC);
            param.peer_mode    = !!(d.what & PEER);
            param.has_ring     = !!(d.what & RING);
            param.am_ready     = !!(d.what & READY);
            param.has_hello    = !!(d.what & HELLO);
            param.contig       = !(d.what & PACKED);
            param.host_memory  = !(d.what & DEVICE);
            param.plane_read   = !!(d.what & PLANE);
            param.pieces       = !!(d.what & PLANE);
            param.length       = length;
            param.ring_max     = RING_MAX;
            param.eager_thresh = EAGER_THRESH;
            param.am_inline    = AM_INLINE;
            EXPECT_EQ(d.proto, ri_select(&param))
                    << "row " << &d - DECISIONS << ", length " << length;
        }
    }
}

} // namespace
