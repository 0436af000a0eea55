/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/peer.h: what two processes hint to each other. */

#include "unit/fakes/fake_ucx.h"

using namespace fake;

namespace {

class test_peer : public ri_test {};

/* What one says the other one knows. */
TEST_F(test_peer, hints)
{
    for (unsigned bits = 0; bits < 8; ++bits) {
        ri_peer_t here = {}, there = {};

        here.hint.waited  = (bits & 1) ? 3 : 0;
        here.hint.soon    = (bits & 2) ? 1 : 0;
        here.hint.missed  = (bits & 4) ? RI_PEER_HINT_MISSED : RI_PEER_HINT_MISSED - 1;
        here.hint.is_news = 1;
        ri_peer_note_hint(&there, ri_peer_take_hint(&here));
        EXPECT_EQ(!!(bits & 1), there.hint.ready);
        EXPECT_EQ(!!(bits & 2), there.hint.prompt);
        EXPECT_EQ(!!(bits & 4), there.hint.away);
        EXPECT_FALSE(here.hint.is_news);
        EXPECT_EQ(RI_PEER_HINT_FRESH, there.hint.fresh);
    }
}

} // namespace
