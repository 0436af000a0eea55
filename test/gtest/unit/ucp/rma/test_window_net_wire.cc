/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/window_net*.c: what other hosts send is wire input. */

#include "unit/common/ri_cpp.h"
#include "unit/ucp/rma/fake_window_net.h"

namespace {

class test_window_net_wire : public window_net_test {};

TEST_F(test_window_net_wire, told_is_wire_input)
{
    uint64_t base;

    ASSERT_NE(nullptr, connect());
    for (size_t length = 0; length < m_told.size(); ++length) {
        std::vector<uint8_t> part(m_told.begin(), m_told.begin() + (long)length);

        EXPECT_EQ(nullptr, m_ops->connect(part.data(), length, &base)) << length;
    }
    std::vector<uint8_t> huge = m_told;
    memset(&huge[24], 0xff, 8); /* both lengths */
    EXPECT_EQ(nullptr, m_ops->connect(huge.data(), huge.size(), &base));
}

net_message message_of(ri_window_net_kind_t kind, uint32_t id, size_t length,
                       int32_t result = 0)
{
    ri_window_net_head_t head = {};
    net_message message;

    ri_window_net_lock();
    head.uid = ri_window_net_uid();
    ri_window_net_unlock();
    head.kind   = kind;
    head.id     = id;
    head.result = result;
    message.header.assign((uint8_t *)&head, (uint8_t *)(&head + 1));
    message.data.assign(length, 1);
    return message;
}

/* Answers to nothing, answered things, and longer ones than was asked for. */
TEST_F(test_window_net_wire, answers_are_wire_input)
{
    uint8_t data[8] = {}, result[16] = {};

    ASSERT_NE(nullptr, connect());
    for (uint32_t id : {0u, 1u, 77u, 0xffffffffu}) {
        m_ucx.deliver(message_of(RI_WINDOW_NET_ANSWER, id, 8, 8));
    }
    m_ucx.delivers = false;
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, ask(add(0, 8), data, nullptr));
    ri_window_net_head_t head;
    memcpy(&head, m_ucx.sent.front().header.data(), sizeof(head));
    for (int i = 0; i < 2; ++i) { /* the second one is to nothing */
        m_ucx.deliver(message_of(RI_WINDOW_NET_ANSWER, head.id, 0));
        EXPECT_EQ(RI_WINDOW_OPS_DONE, settle());
    }
    m_ucx.delivers = true;
    ri_window_net_progress(); /* the real answer */
    ri_window_net_progress();

    /* Another reach to the same process */
    ASSERT_EQ(RI_WINDOW_OPS_DONE, settle());
    m_ops->reach.disconnect(m_reach);
    ASSERT_NE(nullptr,
              m_reach = m_ops->connect(m_told.data(), m_told.size(), (uint64_t *)result));
}

TEST_F(test_window_net_wire, longer_answer)
{
    uint8_t result[16] = {};

    ASSERT_NE(nullptr, connect(0));
    m_ucx.delivers = false;
    EXPECT_EQ(RI_WINDOW_OPS_POSTED, get(0, result, 8));
    ri_window_net_head_t head;
    memcpy(&head, m_ucx.sent.front().header.data(), sizeof(head));
    m_ucx.deliver(message_of(RI_WINDOW_NET_ANSWER, head.id, 9, 9));
    EXPECT_EQ(RI_WINDOW_OPS_FAILED, m_ops->settle_here(m_reach));
    EXPECT_EQ(0, result[0]);
    EXPECT_EQ(0, result[8]);
    m_ucx.delivers = true;
    ri_window_net_progress();
}

/* Requests of other lengths than they say, of no kind, of other regions, and without a way back. */
TEST_F(test_window_net_wire, requests_are_wire_input)
{
    ASSERT_NE(nullptr, connect());
    for (size_t length : {0, 1, 8, 4096, 4097, 32768, 32769}) {
        for (unsigned kind = 0; kind < 6; ++kind) {
            net_message message = message_of((ri_window_net_kind_t)kind, 1, length);

            m_ucx.deliver(message);
            message.header[16] ^= 1; /* of a process that is not known */
            m_ucx.deliver(message);
            message.header[16] ^= 1;
            message.header.pop_back();
            m_ucx.deliver(message);
        }
    }
    EXPECT_TRUE(m_applied.empty());
    while (!m_ucx.sent.empty()) {
        m_ucx.deliver();
    }
}

TEST_F(test_window_net_wire, random_requests)
{
    rng random(20261129);

    ASSERT_NE(nullptr, connect());
    for (int i = 0; i < 20000; ++i) {
        net_message message = message_of(
                (ri_window_net_kind_t)random.below(5), (uint32_t)random.below(4),
                random.below(3) ? sizeof(ri_window_command_t) : random.below(9000));
        ri_window_net_head_t head;

        memcpy(&head, message.header.data(), sizeof(head));
        head.result           = (int32_t)random.below(9000) - 1;
        head.head.region      = random.below(4) ? m_region : random.next();
        head.head.kind        = (uint16_t)(random.below(2) ? RI_WINDOW_OPS_KIND :
                                                             random.below(3));
        head.head.data_length = random.below(3) ? (uint16_t)message.data.size() :
                                                  (uint16_t)random.next();
        head.head.length      = random.below(2) ? head.head.data_length :
                                                  (uint16_t)random.below(10000);
        head.head.address = (uint64_t)m_memory.data() + random.below(2 * SIZE) - SIZE / 2;
        memcpy(message.header.data(), &head, sizeof(head));
        for (auto &byte : message.data) {
            byte = (uint8_t)random.below(8);
        }
        m_busy  = (int)random.below(2);
        m_later = (int)random.below(3);
        m_ucx.deliver(message);
        ri_window_net_progress();
    }
    EXPECT_FALSE(m_applied.empty());
    m_busy = m_later = 0;
    while (!m_ucx.sent.empty()) {
        ri_window_net_progress();
    }
}

} // namespace
