/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Memory that is registered in pieces. */
#include "unit/fakes/fake_rdma.h"

#include <cstdlib>
#include <memory>
#include <vector>

using namespace fake;

namespace {

class test_keys : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        m_node = std::make_unique<node>(0x1111);
        m_rdma = std::make_unique<rdma>(*m_node);
        for (size_t i = 0; i < COUNT; ++i) {
            m_segments.push_back({reinterpret_cast<uintptr_t>(m_memory) + i * 100, 50});
        }
    }

    void TearDown() override
    {
        m_node.reset();
        m_rdma.reset();
        ri_test::TearDown();
    }

    ri_plane_t *plane() { return m_node->worker()->net.rc; }

    static constexpr size_t COUNT = 5;
    uint8_t m_memory[COUNT * 100];
    std::vector<ri_segment_t> m_segments;
    std::unique_ptr<node> m_node;
    std::unique_ptr<rdma> m_rdma;
    ri_keys_t m_keys = {};
};

TEST_F(test_keys, all_pieces)
{
    ASSERT_EQ(UCS_OK, ri_keys_register(plane(), m_segments.data(), COUNT, &m_keys));
    EXPECT_EQ(plane(), m_keys.plane);
    EXPECT_EQ(COUNT, m_keys.count);
    EXPECT_EQ(COUNT, m_rdma->keys());
    ri_keys_release(&m_keys);
    EXPECT_EQ(0u, m_keys.count);
    EXPECT_EQ(0u, m_rdma->keys());
    ri_keys_release(&m_keys); /* there are none */
    EXPECT_EQ(0u, m_rdma->keys());
}

TEST_F(test_keys, no_pieces)
{
    ASSERT_EQ(UCS_OK, ri_keys_register(plane(), m_segments.data(), 0, &m_keys));
    EXPECT_EQ(0u, m_keys.count);
    EXPECT_EQ(0u, m_rdma->keys());
    ri_keys_release(&m_keys);
}

/* Each piece in turn cannot be registered */
TEST_F(test_keys, all_or_none)
{
    m_rdma->reg_status = UCS_ERR_NO_MEMORY;
    for (size_t good = 0; good < COUNT; ++good) {
        m_rdma->good_regs = good;
        EXPECT_EQ(UCS_ERR_NO_MEMORY,
                  ri_keys_register(plane(), m_segments.data(), COUNT, &m_keys));
        EXPECT_EQ(0u, m_keys.count);
        EXPECT_EQ(0u, m_rdma->keys()) << good;
    }
}

/* A plane that has a cheaper way for memory that is only read is asked for that, and for the other
 * one if it has none */
TEST_F(test_keys, source)
{
    static unsigned sources;
    ri_plane_ops_t ops           = *plane()->ops;
    const ri_plane_ops_t *before = plane()->ops;

    sources        = 0;
    ops.reg_source = [](ri_plane_t *, void *, size_t, ri_plane_memory_t *) {
        ++sources;
        return UCS_ERR_NO_RESOURCE;
    };
    plane()->ops = &ops;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              ri_keys_register_source(plane(), m_segments.data(), COUNT, &m_keys));
    EXPECT_EQ(1u, sources);
    EXPECT_EQ(UCS_OK, ri_keys_register(plane(), m_segments.data(), COUNT, &m_keys));
    EXPECT_EQ(1u, sources);
    ri_keys_release(&m_keys);

    ops.reg_source = nullptr;
    EXPECT_EQ(UCS_OK,
              ri_keys_register_source(plane(), m_segments.data(), COUNT, &m_keys));
    EXPECT_EQ(COUNT, m_rdma->keys());
    ri_keys_release(&m_keys);
    plane()->ops = before;
}

TEST_F(test_keys, allocated)
{
    ri_keys_t *keys = static_cast<ri_keys_t *>(malloc(sizeof(*keys)));

    ASSERT_EQ(UCS_OK, ri_keys_register(plane(), m_segments.data(), COUNT, keys));
    ri_keys_free(keys);
    EXPECT_EQ(0u, m_rdma->keys());
}

} // namespace
