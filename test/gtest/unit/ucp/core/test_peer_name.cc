/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/peer_name.c */

#include "unit/fakes/fake_ucx.h"

#include <string>

using namespace fake;

namespace {

class test_peer_name : public ri_test {
protected:
    static std::string short_name(const ri_peer_t *peer)
    {
        char text[RI_PEER_NAME_MAX];

        ri_peer_name_short(peer, text);
        return text;
    }

    static std::string name(node &n, const ri_peer_t *peer)
    {
        char text[RI_PEER_NAME_MAX];

        ri_peer_name(n.worker(), peer, text);
        return text;
    }
};

TEST_F(test_peer_name, all_forms)
{
    node n(0x1111);
    ri_conn_t *conn = n.connect(n.new_endpoint(nullptr), 0xfedcba9876543210);

    EXPECT_EQ("a peer that is not known yet", name(n, nullptr));
    EXPECT_EQ("worker 0xfedcba9876543210", name(n, conn->peer));
    conn->peer->rank = ri_wire_address_rank(0);
    EXPECT_EQ("rank 0", name(n, conn->peer));
    conn->peer->rank = ri_wire_address_rank(RI_WIRE_RANK_MAX);
    EXPECT_EQ("rank 65534", name(n, conn->peer));

    /* Of this host: the process is known */
    n.worker()->self.process.host = 77;
    conn->peer->local.process     = {77, 88, 99};
    EXPECT_EQ("rank 65534 on this host", name(n, conn->peer));
    EXPECT_EQ("rank 65534", short_name(conn->peer));
    conn->peer->rank = 0;
    EXPECT_EQ("worker 0xfedcba9876543210 on this host", name(n, conn->peer));
    EXPECT_EQ("worker 0xfedcba9876543210", short_name(conn->peer));
    EXPECT_EQ("a peer that is not known yet", short_name(nullptr));
    conn->peer->local.process = {};
}

} // namespace
