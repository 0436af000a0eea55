/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/link/am.h: the buffers of active messages, and how many are kept.
 */

#include "unit/fakes/fake_ucx.h"

using namespace fake;

namespace {

class test_am_buffers : public ri_test {
protected:
    ri_worker_t *worker() { return m_node->worker(); }

    const ri_am_pool_t &pool() { return worker()->am_buffers; }

    void SetUp() override
    {
        ri_test::SetUp();
        m_node = std::make_unique<node>(0x1000);
    }

    void TearDown() override
    {
        m_node.reset();
        ri_test::TearDown();
    }

    std::unique_ptr<node> m_node;
};

TEST_F(test_am_buffers, each_size_fits)
{
    for (size_t payload : {size_t(0), size_t(128), size_t(129), ri_config.am_inline,
                           ri_config.am_inline + 1, ri_config.eager_thresh}) {
        ri_am_buffer_t *buffer = ri_am_buffer_get(worker(), payload);

        ASSERT_NE(nullptr, buffer);
        memset(buffer->data, 0xff, RI_WIRE_HEADER_MAX + payload); /* sanitizers look */
        ri_am_buffer_put(buffer);
        EXPECT_EQ(buffer, ri_am_buffer_get(worker(), payload)) << "used again";
        ri_am_buffer_put(buffer);
    }
}

TEST_F(test_am_buffers, short_messages_take_small_ones)
{
    ri_am_buffer_t *small = ri_am_buffer_get(worker(), 8);
    ri_am_buffer_t *large = ri_am_buffer_get(worker(), ri_config.eager_thresh);

    EXPECT_LT(small->size_class, large->size_class);
    ri_am_buffer_put(small);
    ri_am_buffer_put(large);
}

TEST_F(test_am_buffers, a_burst_is_not_kept)
{
    for (size_t payload : {size_t(8), ri_config.eager_thresh}) {
        std::vector<ri_am_buffer_t *> buffers;

        for (int i = 0; i < 5000; ++i) {
            buffers.push_back(ri_am_buffer_get(worker(), payload));
        }
        unsigned size_class = buffers[0]->size_class;
        EXPECT_EQ(0u, pool().num_free[size_class]);
        for (ri_am_buffer_t *buffer : buffers) {
            ri_am_buffer_put(buffer);
        }
        EXPECT_EQ(ri_am_keep[size_class], pool().num_free[size_class]);
    }
}

} // namespace
