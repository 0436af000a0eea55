/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/timeline_notes.c: long messages that go through a ring, in one record or in parts. */

#include "unit/common/timeline_reader.h"
#include "unit/ucp/link/ring_life_test.h"

#include <map>
#include <unistd.h>

namespace {

const size_t LARGE = 65536;
const size_t EAGER = 2048;                          /* EAGER_THRESH */
const size_t TAKEN = LARGE / RI_RING_LONG_MESSAGES; /* the longest that the ring takes */

class test_timeline_notes_ring : public ring_life_test {
protected:
    void SetUp() override
    {
        ri_timeline_reset();
        m_path = "/tmp/ucxri_test_timeline_ring." + std::to_string(getpid());
        ring_life_test::SetUp();
        m_pattern              = m_path + ".%r";
        ri_config.ring_size    = 16384;
        ri_config.ring_large   = LARGE;
        ri_config.ring_medium  = LARGE;
        ri_config.eager_thresh = EAGER;
        ri_config.ring_eager   = 32768;
        ri_config.ring_peers   = 64;
        ri_config.trace_file   = m_pattern.c_str();
        ri_config.trace_limit  = 1 << 30;
        setenv("PMI_RANK", "0", 1);
    }

    void TearDown() override
    {
        ring_life_test::TearDown();
        ri_timeline_reset();
        unsetenv("PMI_RANK");
        unlink((m_path + ".0").c_str());
    }

    /* @a room: of the receive, which is posted first, or afterwards */
    void message(node *a, node *b, size_t length, size_t room, bool expected)
    {
        const uint64_t before = ring_messages(b);
        recv_ptr r            = expected ? b->recv(1, ~0ul, room) : nullptr;
        send_ptr s            = a->send(conn(a, b), pattern(length, length), 1);

        calm_down();
        r = expected ? r : b->recv(1, ~0ul, room);
        calm_down();
        EXPECT_TRUE(r->done && s->done) << length;
        EXPECT_EQ((room < length) ? UCS_ERR_MESSAGE_TRUNCATED : UCS_OK, r->status);
        EXPECT_EQ(before + 1, ring_messages(b)) << length;
        a->release_done();
        b->release_done();
    }

    std::string m_path, m_pattern;
};

/* Each is noted once on each side, and both sides tell of the same message. */
TEST_F(test_timeline_notes_ring, both_sides)
{
    node *a = add_node(), *b = add_node();
    size_t messages = 0;

    conn(b, a);
    exchange(a, b, 10);
    ASSERT_NE(nullptr, a->worker()->timeline.entries);
    for (bool far : {false, true}) {
        ri_distance_far_ticks            = far ? 1 : 0;
        conn(a, b)->ring->distance.times = far ? RI_DISTANCE_FAR_TIMES : 0;
        for (bool expected : {true, false}) {
            for (size_t length : {EAGER + 1, TAKEN / 2, TAKEN}) {
                message(a, b, length, length, expected);
                message(a, b, length, length - 1, expected);
                messages += 2;
            }
        }
    }
    ri_timeline_flush(&a->worker()->timeline);
    ri_timeline_flush(&b->worker()->timeline);

    timeline_reader file;
    file.read(m_path + ".0");
    std::map<uint64_t, int> flows;
    for (const auto &entry : file.entries) {
        if (timeline_reader::event(entry) == RI_TIMELINE_SEND_BY) {
            ++flows[entry.arg[0]];
            EXPECT_EQ(b->uid(), entry.arg[3]);
        } else if (timeline_reader::event(entry) == RI_TIMELINE_RECV) {
            --flows[entry.arg[2]];
            EXPECT_EQ(a->uid(), entry.arg[1]);
        }
    }
    EXPECT_EQ(messages, flows.size());
    for (const auto &flow : flows) {
        EXPECT_EQ(0, flow.second) << std::hex << flow.first;
    }
    EXPECT_EQ(messages, file.count(RI_TIMELINE_SEND));
    EXPECT_EQ(messages, file.count(RI_TIMELINE_SEND_END));
    EXPECT_EQ(messages, file.count(RI_TIMELINE_RECV));
    EXPECT_EQ(messages, file.count(RI_TIMELINE_RECV_END));
}

} // namespace
