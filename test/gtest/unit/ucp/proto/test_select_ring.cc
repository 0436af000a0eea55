/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/select.c: messages above EAGER_THRESH that the ring takes, and both sides that send */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <gtest/gtest.h>

namespace {

/* Any facts; of what is a length, one that may be above EAGER_THRESH. */
ri_select_param_t any_facts(rng &random)
{
    const unsigned planes[] = {0, RI_PLANE_READ, RI_PLANE_WRITE,
                               RI_PLANE_READ | RI_PLANE_WRITE | RI_PLANE_INLINE};
    ri_select_param_t p     = {};

    p.sync          = random.percent(30);
    p.peer_mode     = random.percent(30);
    p.has_ring      = random.percent(90);
    p.ring_open     = p.has_ring && random.percent(80);
    p.is_behind     = random.percent(20);
    p.polls         = random.percent(80);
    p.am_ready      = random.percent(80);
    p.contig        = random.percent(80);
    p.host_memory   = random.percent(80);
    p.pieces        = random.percent(80);
    p.awaited       = random.percent(50);
    p.rtr_expected  = random.percent(30);
    p.pool_free     = random.percent(80);
    p.slot_free     = random.percent(80);
    p.length        = random.range(0, 40000);
    p.rtr_room      = random.percent(30) ? random.range(0, 80000) : 0;
    p.host_plane    = planes[random.below(4)];
    p.net_plane     = random.percent(20) ? RI_PLANE_READ | RI_PLANE_KEYS : 0;
    p.hybrid_thresh = 65536;
    p.hybrid_net    = 65536;
    p.coop_thresh   = 32768;
    p.ring_max      = 8192;
    p.eager_thresh  = 8192;
    p.am_inline     = 1024;
    return p;
}

/* Through the ring: neither what must not be complete before it is matched, nor what has an RTR, nor
 * what the processor must not touch. All else goes as if the ring did not take it. */
TEST(test_select_ring, takes)
{
    rng random(1);
    unsigned count = 0;

    for (unsigned i = 0; i < 100000; ++i) {
        ri_select_param_t p = any_facts(random);
        ri_choice_t without = ri_select(&p);
        bool is_for_ring    = p.host_memory && !p.sync && !ri_select_is_early(&p);

        p.ring_takes       = (p.length > p.eager_thresh) && p.has_ring && p.contig;
        ri_choice_t choice = ri_select(&p);
        if (p.ring_takes && is_for_ring) {
            EXPECT_EQ(RI_PROTO_EAGER_RING, choice.proto);
            EXPECT_EQ(0u, choice.plane);
            ++count;
        } else {
            EXPECT_EQ(without.proto, choice.proto);
            EXPECT_EQ(without.plane, choice.plane);
        }
    }
    EXPECT_GT(count, 1000u);
}

/* Where the receiver sends, too, it has a copy of its own to make meanwhile: no cooperative copy, and
 * else as if there were no slot. */
TEST(test_select_ring, both_send)
{
    rng random(2);
    unsigned count = 0;

    for (unsigned i = 0; i < 100000; ++i) {
        ri_select_param_t p = any_facts(random);
        ri_choice_t before  = ri_select(&p);
        ri_select_param_t q = p;

        p.peer_sends       = 1;
        q.slot_free        = 0;
        ri_choice_t choice = ri_select(&p);
        EXPECT_EQ(ri_select(&q).proto, choice.proto);
        EXPECT_NE(RI_PROTO_COOP, choice.proto);
        EXPECT_NE(RI_PROTO_RTR_COOP, choice.proto);
        count += (before.proto == RI_PROTO_COOP) || (before.proto == RI_PROTO_RTR_COOP);
    }
    EXPECT_GT(count, 500u);
}

} // namespace
