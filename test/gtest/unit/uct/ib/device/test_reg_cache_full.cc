/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/ib/device/reg_full.[hc], and reg_cache.c with a device that has too little room. */

#include "unit/fakes/fake_device.h"
#include "unit/common/rng.h"
#include "unit/common/setting.h"

extern "C" {
#include "ucs/clock.h"
#include "uct/ib/device/reg_full.h"
}

#include <vector>

namespace {

constexpr double NEVER = 1e9; /* the first pause */

class test_reg_cache_full : public ::testing::Test {
protected:
    static constexpr uintptr_t page = fake_device::page;

    void SetUp() override
    {
        start(1);
        m_device.max_bytes = 64 * page;
    }

    /* A new cache */
    void start(int enable)
    {
        ri_reg_cache_params_t params = {};

        if (m_cache != nullptr) {
            ri_reg_cache_destroy(m_cache);
        }
        params.enable            = enable;
        params.max_bytes         = SIZE_MAX;
        params.max_registrations = SIZE_MAX;
        params.is_told           = 1;
        m_cache                  = m_device.new_cache(params);
    }

    void TearDown() override { ri_reg_cache_destroy(m_cache); }

    /* Pages; nullptr if there is no room */
    ri_registration_t *get(uintptr_t first, size_t count)
    {
        ri_registration_t *registration = nullptr;
        ucs_status_t status;

        status = ri_reg_cache_get(m_cache, reinterpret_cast<void *>(first * page),
                                  count * page, RI_REG_READ | RI_REG_WRITE,
                                  &registration);
        EXPECT_EQ((registration != nullptr) ? UCS_OK : UCS_ERR_NO_MEMORY, status);
        return registration;
    }

    void put(ri_registration_t *registration) { ri_reg_cache_put(m_cache, registration); }

    /* @return Whether there is room. */
    bool touch(uintptr_t first, size_t count)
    {
        ri_registration_t *registration = get(first, count);

        if (registration != nullptr) {
            put(registration);
        }
        return registration != nullptr;
    }

    ri_plane_counters_t counters()
    {
        ri_plane_counters_t result;

        ri_reg_cache_get_counters(m_cache, &result);
        return result;
    }

    fake_device m_device;
    ri_reg_cache_t *m_cache = nullptr;

private:
    setting<double> m_backoff{ri_reg_full_backoff, NEVER};
};

/* Longer than all that the device has: the small ones stay. */
TEST_F(test_reg_cache_full, too_long)
{
    EXPECT_FALSE(touch(1000, 128));
    for (uintptr_t i = 0; i < 100; ++i) {
        EXPECT_TRUE(touch(100 + 10 * (i % 4), 2));
        EXPECT_FALSE(touch(1000 + 1000 * (i % 3), 128 + i % 5));
    }
    EXPECT_EQ(4u, m_device.registrations());
    EXPECT_EQ(96u, counters().reg_hits);
    EXPECT_EQ(0u, counters().reg_evicted);
    EXPECT_EQ(1u + 4u, m_device.reg_calls());
}

/* The first one empties the cache: whether it fits is not known before. */
TEST_F(test_reg_cache_full, empties_once)
{
    for (uintptr_t i = 0; i < 20; ++i) {
        EXPECT_TRUE(touch(100 + 10 * (i % 4), 2));
        EXPECT_FALSE(touch(1000, 128));
    }
    EXPECT_EQ(1u, counters().reg_evicted);
    EXPECT_EQ(4u, m_device.registrations());
}

/* What is in it stays, too. */
TEST_F(test_reg_cache_full, too_long_around_others)
{
    EXPECT_FALSE(touch(1000, 128));
    EXPECT_TRUE(touch(1010, 2));
    EXPECT_TRUE(touch(1050, 2));
    EXPECT_FALSE(touch(1000, 128));
    EXPECT_EQ(0u, counters().reg_replaced);
    EXPECT_EQ(2u, m_device.registrations());
}

/* Shorter ones are tried, and others give way to them. */
TEST_F(test_reg_cache_full, shorter)
{
    EXPECT_TRUE(touch(100, 2));
    EXPECT_FALSE(touch(1000, 100));
    EXPECT_FALSE(touch(1000, 80)) << "nothing is known about that";
    EXPECT_TRUE(touch(100, 2));
    EXPECT_FALSE(touch(1000, 80));
    EXPECT_FALSE(touch(1000, 100));
    EXPECT_EQ(1u, m_device.registrations());
    EXPECT_TRUE(touch(1000, 64));
    EXPECT_EQ(1u, m_device.registrations());
    EXPECT_EQ(64 * page, m_device.bytes());
}

/* It fails because of what is in use: not any more when that has ended. */
TEST_F(test_reg_cache_full, others_in_use)
{
    ri_registration_t *one = get(100, 20), *two = get(200, 20);

    EXPECT_FALSE(touch(1000, 40));
    EXPECT_FALSE(touch(1000, 40));
    EXPECT_EQ(3u, m_device.reg_calls());
    put(one);
    EXPECT_TRUE(touch(1000, 40));
    put(two);
    EXPECT_TRUE(touch(1000, 64));
}

/* A device that has room for some registrations only, however short */
TEST_F(test_reg_cache_full, registrations_in_use)
{
    m_device.max_registrations = 2;
    ri_registration_t *one = get(100, 1), *two = get(200, 1);

    EXPECT_FALSE(touch(300, 1));
    EXPECT_FALSE(touch(300, 1));
    EXPECT_EQ(3u, m_device.reg_calls());
    put(one);
    EXPECT_TRUE(touch(300, 10));
    put(two);
}

/* More than there is room for is not registered beside what was asked for: others would have to go
 * for that. */
TEST_F(test_reg_cache_full, no_union)
{
    EXPECT_FALSE(touch(2000, 65));
    EXPECT_TRUE(touch(1000, 20));
    for (uintptr_t i = 1; i <= 4; ++i) {
        EXPECT_TRUE(touch(100 * i, 10));
    }
    EXPECT_TRUE(touch(1015, 50)) << "65 with the first one";
    EXPECT_EQ(4u, counters().reg_evicted) << "50 pages";
    EXPECT_TRUE(touch(400, 10));
    EXPECT_EQ(1u, counters().reg_hits);
}

/* After a pause it is tried again. */
TEST_F(test_reg_cache_full, again)
{
    ri_reg_full_backoff = 0;
    EXPECT_FALSE(touch(1000, 128));
    EXPECT_TRUE(touch(100, 2));
    EXPECT_FALSE(touch(1000, 128));
    EXPECT_EQ(1u, counters().reg_evicted) << "no pause";
    EXPECT_EQ(4u, m_device.reg_calls());

    m_device.max_bytes = 256 * page;
    EXPECT_TRUE(touch(1000, 128));
    m_device.max_bytes  = 64 * page;
    ri_reg_full_backoff = NEVER;
    EXPECT_FALSE(touch(2000, 128)) << "empties it";
    EXPECT_EQ(0u, m_device.registrations());
    m_device.max_bytes = 256 * page;
    EXPECT_FALSE(touch(2000, 128)) << "a pause";
}

/* A cache that keeps nothing loses nothing by trying. */
TEST_F(test_reg_cache_full, off)
{
    start(0);
    EXPECT_FALSE(touch(1000, 128));
    m_device.max_bytes = 128 * page;
    EXPECT_TRUE(touch(1000, 128));
}

/* Whatever came before: when nothing is in use and the pauses are over, what fits is registered. */
TEST_F(test_reg_cache_full, random)
{
    for_seeds(200, [this](rng &random) {
        std::vector<ri_registration_t *> used;

        start(1);
        m_device.max_bytes         = random.range(10, 100) * page;
        m_device.max_registrations = random.percent(50) ? SIZE_MAX : random.range(1, 10);
        for (int i = 0; i < 200; ++i) {
            ri_reg_full_backoff = random.percent(90) ? 0 : 1e-5;
            if (random.percent(60)) {
                ri_registration_t *registration = get(random.range(1, 300),
                                                      random.range(1, 120));

                if (registration != nullptr) {
                    used.push_back(registration);
                }
            } else if (!used.empty()) {
                size_t index = random.below(used.size());

                put(used[index]);
                used.erase(used.begin() + index);
            }
            EXPECT_LE(m_device.bytes(), m_device.max_bytes);
            EXPECT_EQ(m_device.bytes(), counters().reg_bytes);
        }
        for (ri_registration_t *registration : used) {
            put(registration);
        }
        for (double start = ri_clock_now(); !touch(1, m_device.max_bytes / page);) {
            ASSERT_LT(ri_clock_now(), start + 100) << "is never tried again";
        }
    });
}

} // namespace
