/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/peer.h: what two processes hint to each other. */

#include "unit/fakes/fake_ucx.h"

using namespace fake;

namespace {

class test_peer : public ri_test {};

/* What one says the other one knows. */
TEST_F(test_peer, hints)
{
    for (unsigned bits = 0; bits < 16; ++bits) {
        ri_peer_t here = {}, there = {};

        here.hint.waited   = (bits & 1) ? 3 : 0;
        here.hint.soon     = (bits & 2) ? 1 : 0;
        here.hint.missed   = (bits & 4) ? RI_PEER_HINT_MISSED : RI_PEER_HINT_MISSED - 1;
        here.reads.is_slow = !!(bits & 8);
        here.hint.is_news  = 1;
        ri_peer_note_hint(&there, ri_peer_take_hint(&here));
        EXPECT_EQ(!!(bits & 1), there.hint.ready);
        EXPECT_EQ(!!(bits & 2), there.hint.prompt);
        EXPECT_EQ(!!(bits & 4), there.hint.away);
        EXPECT_EQ(!!(bits & 8), there.reads.told);
        EXPECT_FALSE(here.hint.is_news);
        EXPECT_EQ(RI_PEER_HINT_FRESH, there.hint.fresh);
    }
}

/* Reads are slow after some slow ones, and it is news; they are not any more after half as many
 * others. How long a slow one takes depends on who copied. */
TEST_F(test_peer, slow_reads)
{
    const size_t length = 10000;
    ri_costs_t before   = ri_costs;
    ri_peer_t peer      = {};

    ri_config.rtr          = UCS_AUTO;
    ri_config.eager_thresh = length - 1;
    ri_config.ring_slow    = length;

    ri_costs.line       = 100;
    ri_costs.line_ticks = 100;                        /* a tick is a nanosecond */
    ri_costs.plane      = {.call = 1000, .rate = 10}; /* 2000 ns */
    for (auto [how, most] : {std::pair{RI_PEER_READ_ALONE, 3000u},
                             {RI_PEER_READ_BOTH, 2000u},
                             {RI_PEER_READ_ALONE, 3000u},
                             {RI_PEER_READ_BOTH, 2000u}}) {
        for (int i = 0; i < RI_PEER_SLOW_TIMES; ++i) {
            EXPECT_FALSE(peer.reads.is_slow) << i;
            EXPECT_FALSE(peer.hint.is_news);
            ri_peer_note_read(&peer, length, most + 1, how);
        }
        EXPECT_TRUE(peer.reads.is_slow);
        EXPECT_TRUE(peer.hint.is_news);
        peer.hint.is_news = 0;
        ri_peer_note_read(&peer, length, 1000000, how);
        EXPECT_EQ(RI_PEER_SLOW_TIMES, peer.reads.slow);
        for (int i = 0; i < RI_PEER_SLOW_TIMES / 2; ++i) {
            EXPECT_TRUE(peer.reads.is_slow) << i;
            EXPECT_FALSE(peer.hint.is_news);
            ri_peer_note_read(&peer, length, most, how);
        }
        EXPECT_FALSE(peer.reads.is_slow);
        EXPECT_TRUE(peer.hint.is_news);
        peer.hint.is_news = 0;
        ri_peer_note_read(&peer, length, 1, how);
    }

    /* Others than a ring could take */
    for (size_t other : {length - 1, length + 1}) {
        for (int i = 0; i < 2 * RI_PEER_SLOW_TIMES; ++i) {
            ri_peer_note_read(&peer, other, 1000000, RI_PEER_READ_ALONE);
        }
        EXPECT_FALSE(peer.reads.is_slow) << other;
    }

    /* Messages that go through a ring for slow reads would keep receives from being offered */
    ri_config.rtr = UCS_YES;
    for (int i = 0; i < 2 * RI_PEER_SLOW_TIMES; ++i) {
        ri_peer_note_read(&peer, length, 1000000, RI_PEER_READ_ALONE);
    }
    EXPECT_FALSE(peer.reads.is_slow);
    ri_config.rtr = UCS_AUTO;

    /* It is not known what a tick is */
    ri_costs.line_ticks = 0;
    for (int i = 0; i < 2 * RI_PEER_SLOW_TIMES; ++i) {
        ri_peer_note_read(&peer, length, 1000000, RI_PEER_READ_ALONE);
    }
    EXPECT_FALSE(peer.reads.is_slow);
    ri_costs = before;
}

} // namespace
