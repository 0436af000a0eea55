/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A registration cache, on a device that knows what is registered, with memory that nobody touches
 * and events from the test.
 */
#ifndef RI_TEST_REG_CACHE_TEST_H
#define RI_TEST_REG_CACHE_TEST_H

#include "unit/fakes/fake_device.h"
#include "unit/common/rng.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

namespace {

constexpr uintptr_t page = fake_device::page;
constexpr unsigned rw    = RI_REG_READ | RI_REG_WRITE;

class reg_cache_test : public ::testing::Test {
protected:
    void SetUp() override { start(SIZE_MAX, SIZE_MAX); }

    void TearDown() override { ri_reg_cache_destroy(m_cache); }

    /* A new cache, with limits in pages and registrations */
    void start(size_t max_pages, size_t max_registrations, int enable = 1)
    {
        ri_reg_cache_params_t params = {};

        if (m_cache != nullptr) {
            ri_reg_cache_destroy(m_cache);
        }
        params.enable            = enable;
        params.max_bytes         = (max_pages == SIZE_MAX) ? SIZE_MAX : max_pages * page;
        params.max_registrations = max_registrations;
        params.is_told           = 1;
        m_cache                  = m_device.new_cache(params);
    }

    static void *at(uintptr_t address) { return reinterpret_cast<void *>(address); }

    /* Registrations of whole pages; nullptr if there was an error */
    ri_registration_t *get(uintptr_t first, size_t count, unsigned access = rw)
    {
        ri_registration_t *registration = nullptr;

        m_status = ri_reg_cache_get(m_cache, at(first * page), count * page, access,
                                    &registration);
        if (m_status != UCS_OK) {
            return nullptr;
        }
        auto reg = m_device.lookup(registration);
        EXPECT_LE(registration->range.start, first * page);
        EXPECT_GE(registration->range.end, (first + count) * page);
        EXPECT_EQ(registration->range.start, reg.start);
        EXPECT_EQ(registration->range.end, reg.end);
        EXPECT_EQ(registration->access, reg.access);
        EXPECT_EQ(access, access & registration->access);
        return registration;
    }

    void put(ri_registration_t *registration) { ri_reg_cache_put(m_cache, registration); }

    /* Get and put. @return The first page and their number. */
    std::pair<uintptr_t, size_t> touch(uintptr_t first, size_t count,
                                       unsigned access = rw)
    {
        ri_registration_t *registration = get(first, count, access);

        if (registration == nullptr) {
            return {0, 0};
        }
        std::pair<uintptr_t, size_t> result = {
                registration->range.start / page,
                (registration->range.end - registration->range.start) / page};
        put(registration);
        return result;
    }

    void unmap(uintptr_t first, size_t count)
    {
        ri_reg_cache_invalidate(m_cache, first * page, (first + count) * page);
    }

    /* Whether a get hits; it is put again */
    bool hits(uintptr_t first, size_t count, unsigned access = rw)
    {
        uint64_t before = counters().reg_hits;

        touch(first, count, access);
        return counters().reg_hits > before;
    }

    ri_plane_counters_t counters()
    {
        ri_plane_counters_t result;

        ri_reg_cache_get_counters(m_cache, &result);
        return result;
    }

    typedef std::pair<uintptr_t, size_t> pages;

    fake_device m_device;
    ri_reg_cache_t *m_cache = nullptr;
    ucs_status_t m_status   = UCS_OK;
};

} // namespace

#endif
