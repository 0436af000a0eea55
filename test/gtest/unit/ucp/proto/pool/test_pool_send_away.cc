/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* What is copied to the pool for receivers that are away (src/ucp/tag/send.c, src/ucp/proto/select.c). */

#include "pool_send_test.h"
#include "unit/common/spread_type.h"

namespace {

class test_pool_send_away : public pool_send_test {
protected:
    void say(uint8_t hint) { ri_peer_note_hint(m_conn->peer, hint); }
};

/* For a receiver that has said that it is away, longer messages are copied, too: until it waits or asks
 * soon again. */
TEST_F(test_pool_send_away, longer_messages_are_copied)
{
    const struct {
        uint8_t hint;
        size_t length;
        ri_wire_type_t type;
    } cases[] = {{0, 65537, RI_WIRE_RTS},
                 {RI_RING_HINT_AWAY, 65537, RI_WIRE_POOL},
                 {RI_RING_HINT_AWAY, 200000, RI_WIRE_POOL},
                 {RI_RING_HINT_AWAY, 200001, RI_WIRE_RTS},
                 {RI_RING_HINT_WAITS, 65537, RI_WIRE_RTS},
                 {RI_RING_HINT_SOON, 65537, RI_WIRE_RTS},
                 {RI_RING_HINT_AWAY | RI_RING_HINT_WAITS, 65537, RI_WIRE_RTS}};

    ri_config.hybrid_away = 200000;
    connect_planes();
    for (const auto &c : cases) {
        SCOPED_TRACE(&c - cases);
        bytes content = pattern(1, c.length);
        memory from(CONTIG, c.length, content), to(CONTIG, c.length);

        say(c.hint);
        rndv_ptr s = send(from, 9);
        EXPECT_EQ(1u, m_ab->count(c.type));
        EXPECT_EQ(c.type == RI_WIRE_POOL, s->done);
        recv_ptr r = recv(to, 9);
        pump();
        check(r, to, content, 9);
        calm_down();
        EXPECT_EQ(0u, used(*m_a));
    }
}

/* What is in short runs is packed in any case. */
TEST_F(test_pool_send_away, data_in_runs)
{
    const struct {
        uint8_t hint;
        size_t run; /* 0: all in one place */
        size_t length;
        ri_wire_type_t type;
    } cases[] = {{RI_RING_HINT_AWAY, 0, 200000, RI_WIRE_RTS},
                 {RI_RING_HINT_AWAY, 1000, 200000, RI_WIRE_POOL},
                 {RI_RING_HINT_AWAY, 1000, 250000, RI_WIRE_POOL},
                 {RI_RING_HINT_AWAY, 1000, 251000, RI_WIRE_RTS},
                 {RI_RING_HINT_AWAY, 1024, 204800, RI_WIRE_RTS},
                 {0, 1000, 200000, RI_WIRE_RTS},
                 {RI_RING_HINT_WAITS | RI_RING_HINT_AWAY, 1000, 200000, RI_WIRE_RTS}};

    ri_config.hybrid_away      = 100000;
    ri_config.hybrid_away_runs = 250000;
    ri_config.coop_thresh      = 65537;
    connect_planes();
    for (const auto &c : cases) {
        SCOPED_TRACE(&c - cases);
        bytes content = pattern(1, c.length);
        memory from(CONTIG, c.length, content), to(CONTIG, c.length);
        spread_type type;
        send_ptr s;

        say(c.hint);
        if (c.run > 0) {
            type.make(c.run, 24, c.length / c.run);
            type.clear(c.length);
            type.memory = type.spread(content);
            s           = m_a->send_of(m_conn, type.memory.data(), 1, type.datatype, 9);
        } else {
            s = m_a->send_of(m_conn, content.data(), c.length, ucp_dt_make_contig(1), 9);
        }
        EXPECT_EQ(c.type == RI_WIRE_POOL, m_ab->count(RI_WIRE_POOL) == 1u);
        EXPECT_EQ(c.type == RI_WIRE_POOL, s->done);
        recv_ptr r = recv(to, 9);
        pump();
        check(r, to, content, 9);
        EXPECT_TRUE(s->done);
        calm_down();
        EXPECT_EQ(0u, used(*m_a));
    }
}

/* The pool is also there for others, which are not as long. */
TEST_F(test_pool_send_away, half_of_the_pool_is_left)
{
    const size_t length = POOL / 4;
    std::vector<rndv_ptr> sends;
    memory from(CONTIG, length, pattern(2, length)), to(CONTIG, length);

    ri_config.hybrid_away = length;
    connect_planes();
    say(RI_RING_HINT_AWAY);
    for (unsigned i = 0; i < 3; ++i) {
        sends.push_back(send(from, 9));
        EXPECT_EQ(i < 2, sends.back()->done) << i;
    }
    EXPECT_EQ(2u, m_ab->count(RI_WIRE_POOL));
    for (unsigned i = 0; i < 3; ++i) {
        recv_ptr r = recv(to, 9);
        pump();
        check(r, to, pattern(2, length), 9);
    }
    calm_down();
    EXPECT_EQ(0u, used(*m_a));
}

} // namespace
