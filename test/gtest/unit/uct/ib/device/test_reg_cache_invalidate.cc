/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/uct/ib/device/reg_cache.[hc]: memory that goes away, also while it is registered or in use.
 */

#include "reg_cache_test.h"

#include <thread>

namespace {

class test_reg_cache_invalidate : public reg_cache_test {};

TEST_F(test_reg_cache_invalidate, invalidate)
{
    struct {
        uintptr_t start, end;
        bool gone;
    } cases[] = {
            {0x9000, 0xa000, false},
            {0x14000, 0x15000, false},
            {0xa000, 0x14000, true},
            {0xa000, 0xa001, true},
            {0x13fff, 0x14000, true},
            {0x13ffe, 0x13fff, true},
            {0x9000, 0xa001, true},
            {0x9fff, 0xa000, false},
            {0x14000, 0x14001, false},
            {0xc100, 0xc200, true},
            {0, UINTPTR_MAX, true},
            {0x13fff, UINTPTR_MAX, true},
            {UINTPTR_MAX - 1, UINTPTR_MAX, false},
            {0x14001, 0x20000, false}, /* begins on the page behind */
            {0x8000, 0x9001, false},
    };
    for (auto &c : cases) {
        start(SIZE_MAX, SIZE_MAX);
        touch(10, 10);
        ri_reg_cache_invalidate(m_cache, c.start, c.end);
        EXPECT_EQ(c.gone ? 1u : 0u, counters().reg_invalidated) << c.start;
        EXPECT_EQ(!c.gone, hits(10, 10)) << c.start << "-" << c.end;
        EXPECT_EQ(1u, m_device.registrations());
    }
}

TEST_F(test_reg_cache_invalidate, invalidate_deregisters_later)
{
    touch(10, 1);
    unmap(10, 1);
    EXPECT_EQ(1u, m_device.registrations()) << "not inside of the event";
    touch(20, 1);
    EXPECT_EQ(1u, m_device.registrations());
    EXPECT_TRUE(hits(20, 1));
}

TEST_F(test_reg_cache_invalidate, invalidate_in_use)
{
    ri_registration_t *old = get(10, 4);

    unmap(13, 1);
    EXPECT_EQ(RI_REG_DETACHED, old->state);
    m_device.lookup(old);

    ri_registration_t *now = get(10, 4);
    EXPECT_NE(old, now);
    EXPECT_EQ(2u, m_device.registrations());
    put(old);
    EXPECT_EQ(1u, m_device.registrations());
    unmap(10, 4);
    EXPECT_EQ(1u, m_device.registrations());
    put(now);
    EXPECT_EQ(0u, m_device.registrations());
    EXPECT_EQ(2u, counters().reg_invalidated);
}

TEST_F(test_reg_cache_invalidate, invalidate_several)
{
    for (uintptr_t i = 0; i < 10; ++i) {
        touch(i * 10 + 10, 5);
    }
    unmap(32, 40); /* registrations at 30, 40, 50, 60 and 70 */
    EXPECT_EQ(5u, counters().reg_invalidated);
    EXPECT_EQ(5u, m_device.registrations());
    EXPECT_TRUE(hits(20, 5));
    EXPECT_TRUE(hits(80, 5));
}

TEST_F(test_reg_cache_invalidate, invalidate_while_registering)
{
    int calls       = 0;
    m_device.on_reg = [&] {
        if (++calls == 1) {
            unmap(11, 1);
        }
    };
    ri_registration_t *registration = get(10, 4);
    ASSERT_NE(nullptr, registration);
    EXPECT_EQ(2, calls) << "it is registered again";
    EXPECT_EQ(1u, m_device.registrations());
    EXPECT_EQ(RI_REG_CACHED, registration->state);
    put(registration);
    EXPECT_TRUE(hits(10, 4));
}

TEST_F(test_reg_cache_invalidate, invalidate_other_part_of_a_union)
{
    bool once = true;

    touch(10, 4);
    m_device.on_reg = [&] {
        if (std::exchange(once, false)) {
            unmap(10, 1);
        }
    };
    EXPECT_EQ(pages(12, 4), touch(12, 4)) << "without what has gone";
    EXPECT_EQ(1u, m_device.registrations());
}

TEST_F(test_reg_cache_invalidate, invalidate_at_each_registration)
{
    m_device.on_reg = [&] { unmap(10, 1); };
    EXPECT_EQ(nullptr, get(10, 4));
    EXPECT_EQ(UCS_ERR_BUSY, m_status);
    EXPECT_EQ(0u, m_device.registrations());
    EXPECT_EQ(0u, counters().reg_regions);

    m_device.on_reg = [&] { unmap(100, 1); };
    EXPECT_EQ(pages(10, 4), touch(10, 4)) << "something else";
    EXPECT_TRUE(hits(10, 4));
}

TEST_F(test_reg_cache_invalidate, invalidate_while_deregistering)
{
    touch(10, 1);
    touch(20, 1);
    m_device.on_dereg = [&] {
        m_device.on_dereg = nullptr;
        unmap(20, 1);
    };
    unmap(10, 1);
    touch(30, 1);
    EXPECT_FALSE(hits(20, 1));
    EXPECT_EQ(2u, m_device.registrations());
}

TEST_F(test_reg_cache_invalidate, invalidate_from_another_thread)
{
    touch(10, 4);
    std::thread([&] { unmap(12, 1); }).join();
    EXPECT_FALSE(hits(10, 4));

    m_device.on_reg = [&] { /* while the other one registers */
                            m_device.on_reg = nullptr;
                            std::thread([&] { unmap(30, 1); }).join();
    };
    EXPECT_EQ(pages(30, 2), touch(30, 2));
    EXPECT_EQ(4u, m_device.reg_calls());
}

} // namespace
