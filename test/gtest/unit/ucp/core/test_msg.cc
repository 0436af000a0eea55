/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/msg.c: memory of messages that wait. */

#include "unit/common/node_test.h"
#include "unit/fakes/fake_malloc.h"

namespace {

class test_msg : public node_test {};

/* Of the same class, the one that was freed last */
TEST_F(test_msg, used_again)
{
    const size_t lengths[][2] = {{0, 64},       {65, 1024},     {1025, 8192},
                                 {8193, 16384}, {16385, 32768}, {32769, 65536}};

    for (const size_t(&pair)[2] : lengths) {
        ri_msg_t *msg = ri_msg_alloc(worker(), pair[0]);

        ASSERT_NE(nullptr, msg);
        ri_msg_free(worker(), msg);
        EXPECT_EQ(msg, ri_msg_alloc(worker(), pair[1]));
        ri_msg_t *next = ri_msg_alloc(worker(), pair[1]);
        EXPECT_NE(msg, next);
        ri_msg_free(worker(), msg);
        ri_msg_free(worker(), next);
    }
}

TEST_F(test_msg, long_ones_are_not_kept)
{
    ri_msg_t *msg = ri_msg_alloc(worker(), 65537);

    ASSERT_NE(nullptr, msg);
    ri_msg_free(worker(), msg);
    for (size_t count : worker()->msgs.num_free) {
        EXPECT_EQ(0u, count);
    }
}

/* A burst of them is given back. */
TEST_F(test_msg, not_all_are_kept)
{
    std::vector<ri_msg_t *> msgs;

    for (int i = 0; i < 1000; ++i) {
        msgs.push_back(ri_msg_alloc(worker(), 8192));
    }
    for (ri_msg_t *msg : msgs) {
        ri_msg_free(worker(), msg);
    }
    size_t kept = 0;
    for (size_t count : worker()->msgs.num_free) {
        kept += count;
    }
    EXPECT_GT(kept, 0u);
    EXPECT_LT(kept, 100u);
}

TEST_F(test_msg, no_memory)
{
    malloc_fails_after = 0;
    EXPECT_EQ(nullptr, ri_msg_alloc(worker(), 8192));
    malloc_fails_after = -1;
}

/* What holds memory, or a descriptor, which the fake UCX looks after */
TEST_F(test_msg, discarded)
{
    ri_stream_t *stream = stream_of(REMOTE, 77);

    for (arrival_t arrival : {PLAIN, DATA}) {
        m_node->deliver(wire_msg(RI_WIRE_EAGER, stream->id, stream->next_sn),
                        pattern(1, 5000), arrival);
        ri_msg_t *msg = ucs_list_head(&worker()->match.unexpected, ri_msg_t, list);

        ASSERT_EQ(1u, worker()->match.num_unexpected);
        EXPECT_EQ(5000u, m_node->counters().held_bytes);
        ri_match_remove_unexpected(&worker()->match, msg);
        ri_msg_discard(worker(), msg);
        EXPECT_EQ(0u, m_node->counters().held_bytes);
    }
}

} // namespace
