/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* What is copied to the pool for receivers that are away (src/ucp/tag/send.c, src/ucp/proto/select.c). */

#include "hybrid_test.h"

namespace {

class test_hybrid_away : public hybrid_test {};

/* For a receiver that has said that it is away, longer messages are copied, too: until it waits or asks
 * soon again. */
TEST_F(test_hybrid_away, longer_messages_are_copied)
{
    const struct {
        uint8_t fresh, ready, prompt;
        size_t length;
        ri_wire_type_t type;
    } cases[] = {{0, 0, 0, 65537, RI_WIRE_RTS},   {1, 0, 0, 65537, RI_WIRE_POOL},
                 {1, 0, 0, 200000, RI_WIRE_POOL}, {1, 0, 0, 200001, RI_WIRE_RTS},
                 {1, 1, 0, 65537, RI_WIRE_RTS},   {1, 0, 1, 65537, RI_WIRE_RTS}};

    ri_config.hybrid_away = 200000;
    connect_planes();
    for (const auto &c : cases) {
        SCOPED_TRACE(&c - cases);
        bytes content = pattern(1, c.length);
        memory from(CONTIG, c.length, content), to(CONTIG, c.length);

        m_conn->peer->hint.fresh  = c.fresh;
        m_conn->peer->hint.ready  = c.ready;
        m_conn->peer->hint.prompt = c.prompt;
        rndv_ptr s                = send(from, 9);
        EXPECT_EQ(1u, m_ab->count(c.type));
        EXPECT_EQ(c.type == RI_WIRE_POOL, s->done);
        recv_ptr r = recv(to, 9);
        pump();
        check(r, to, content, 9);
    }
    settle();
    EXPECT_EQ(0u, used(*m_a));
}

} // namespace
