/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/ib/reg_cache.[hc], with memory that nobody touches and events from the test.
 * test_reg_cache_load.cc has real ones. */

#include "fake_device.h"
#include "rng.h"

#include <algorithm>
#include <sys/wait.h>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr uintptr_t page = fake_device::page;
constexpr unsigned rw    = RI_REG_READ | RI_REG_WRITE;

class test_reg_cache : public ::testing::Test {
protected:
    void SetUp() override { start(SIZE_MAX, SIZE_MAX); }

    void TearDown() override { ri_reg_cache_destroy(m_cache); }

    /* A new cache, with limits in pages and regions */
    void start(size_t max_pages, size_t max_regions, int enable = 1)
    {
        ri_reg_cache_params_t params = {};

        if (m_cache != nullptr) {
            ri_reg_cache_destroy(m_cache);
        }
        params.enable      = enable;
        params.max_bytes   = (max_pages == SIZE_MAX) ? SIZE_MAX : max_pages * page;
        params.max_regions = max_regions;
        params.is_told     = 1;
        m_cache            = m_device.new_cache(params);
    }

    static void *at(uintptr_t address) { return reinterpret_cast<void *>(address); }

    /* Regions of whole pages; nullptr if there was an error */
    ri_reg_region_t *get(uintptr_t first, size_t count, unsigned access = rw)
    {
        ri_reg_region_t *region = nullptr;

        m_status = ri_reg_cache_get(m_cache, at(first * page), count * page, access,
                                    &region);
        if (m_status != UCS_OK) {
            return nullptr;
        }
        auto reg = m_device.lookup(region);
        EXPECT_LE(region->range.start, first * page);
        EXPECT_GE(region->range.end, (first + count) * page);
        EXPECT_EQ(region->range.start, reg.start);
        EXPECT_EQ(region->range.end, reg.end);
        EXPECT_EQ(region->access, reg.access);
        EXPECT_EQ(access, access & region->access);
        return region;
    }

    void put(ri_reg_region_t *region) { ri_reg_cache_put(m_cache, region); }

    /* Get and put. @return The first page and their number. */
    std::pair<uintptr_t, size_t> touch(uintptr_t first, size_t count,
                                       unsigned access = rw)
    {
        ri_reg_region_t *region = get(first, count, access);

        if (region == nullptr) {
            return {0, 0};
        }
        std::pair<uintptr_t, size_t> result = {region->range.start / page,
                                               (region->range.end - region->range.start) /
                                                       page};
        put(region);
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

TEST_F(test_reg_cache, miss_then_hit)
{
    ri_reg_region_t *region = get(10, 2);

    ASSERT_NE(nullptr, region);
    EXPECT_EQ(1u, counters().reg_misses);
    EXPECT_EQ(region, get(10, 2)) << "while it is in use";
    put(region);
    put(region);
    EXPECT_EQ(region, get(11, 1)) << "while it is idle";
    put(region);
    EXPECT_EQ(2u, counters().reg_hits);
    EXPECT_EQ(1u, m_device.reg_calls());
    EXPECT_EQ(1u, counters().reg_regions);
    EXPECT_EQ(2 * page, counters().reg_bytes);
}

TEST_F(test_reg_cache, pages)
{
    struct {
        uintptr_t address;
        size_t length;
        uintptr_t start, end;
    } cases[] = {
            {0x10000, 1, 0x10000, 0x11000},      {0x20fff, 1, 0x20000, 0x21000},
            {0x30fff, 2, 0x30000, 0x32000},      {0x40000, 0x1000, 0x40000, 0x41000},
            {0x50001, 0x1000, 0x50000, 0x52000}, {0x60000, 0x1001, 0x60000, 0x62000},
    };
    for (auto &c : cases) {
        ri_reg_region_t *region = nullptr;

        ASSERT_EQ(UCS_OK,
                  ri_reg_cache_get(m_cache, at(c.address), c.length, rw, &region));
        EXPECT_EQ(c.start, region->range.start);
        EXPECT_EQ(c.end, region->range.end);
        put(region);
    }
}

TEST_F(test_reg_cache, no_such_memory)
{
    ri_reg_region_t *region = nullptr;

    for (auto &c : {pages(0x1000, 0), pages(UINTPTR_MAX, 2), pages(UINTPTR_MAX - 100, 50),
                    pages(0x1000, SIZE_MAX), pages(0x1000, SIZE_MAX - 0x1000)}) {
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  ri_reg_cache_get(m_cache, at(c.first), c.second, rw, &region))
                << c.first;
    }
    EXPECT_EQ(0u, m_device.reg_calls());
}

TEST_F(test_reg_cache, what_hits)
{
    touch(10, 10);
    for (auto &c : {pages(10, 10), pages(10, 1), pages(19, 1), pages(15, 3)}) {
        EXPECT_TRUE(hits(c.first, c.second)) << c.first << "+" << c.second;
    }
    for (auto &c : {pages(9, 1), pages(20, 1), pages(30, 5)}) {
        EXPECT_FALSE(hits(c.first, c.second)) << c.first << "+" << c.second;
    }
}

TEST_F(test_reg_cache, merging)
{
    struct {
        pages first, second, result;
        size_t regions; /* that are left */
        const char *what;
    } cases[] = {
            {{10, 4}, {14, 4}, {14, 4}, 2, "neighbours"},
            {{10, 4}, {13, 4}, {10, 7}, 1, "overlap at the start"},
            {{13, 4}, {10, 4}, {10, 7}, 1, "overlap at the end"},
            {{11, 2}, {10, 4}, {10, 4}, 1, "inside of the new one"},
            {{10, 2}, {10, 4}, {10, 4}, 1, "same start"},
            {{12, 2}, {10, 4}, {10, 4}, 1, "same end"},
            {{10, 5}, {14, 4}, {10, 8}, 1, "twice as large as asked"},
            {{10, 6}, {15, 4}, {15, 4}, 2, "more than twice"},
            {{10, 100}, {109, 2}, {109, 2}, 2, "a small one at the end of a large one"},
    };
    for (auto &c : cases) {
        SCOPED_TRACE(c.what);
        start(SIZE_MAX, SIZE_MAX);
        touch(c.first.first, c.first.second);
        EXPECT_EQ(c.result, touch(c.second.first, c.second.second));
        EXPECT_EQ(c.regions, m_device.regions());
        EXPECT_EQ(2 - c.regions, counters().reg_replaced);
        EXPECT_TRUE(hits(c.first.first, c.first.second));
        EXPECT_TRUE(hits(c.second.first, c.second.second));
    }
}

TEST_F(test_reg_cache, merging_several)
{
    touch(10, 3);
    touch(20, 3);
    touch(14, 2);
    EXPECT_EQ(pages(10, 13), touch(12, 10)) << "one on each side and one inside";
    EXPECT_EQ(1u, m_device.regions());
    EXPECT_EQ(3u, counters().reg_replaced);
}

/* A program that goes through an array does not register more and more of it */
TEST_F(test_reg_cache, merging_is_bounded)
{
    size_t registered = 0;

    for (uintptr_t i = 0; i < 200; ++i) {
        uint64_t misses = counters().reg_misses;
        auto result     = touch(100 + i * 7, 8);

        registered += (counters().reg_misses > misses) ? result.second : 0;
        EXPECT_LE(result.second, 16u);
    }
    EXPECT_LE(registered, 200u * 16);
}

TEST_F(test_reg_cache, merging_with_one_in_use)
{
    ri_reg_region_t *old = get(10, 4);
    ri_reg_region_t *all = get(12, 4);

    EXPECT_EQ(10 * page, all->range.start);
    EXPECT_EQ(RI_REG_DETACHED, old->state);
    EXPECT_EQ(2u, m_device.regions()) << "the old one is valid as long as it is in use";
    m_device.lookup(old);
    EXPECT_TRUE(hits(10, 4));
    put(old);
    EXPECT_EQ(1u, m_device.regions());
    put(all);
    EXPECT_EQ(1u, m_device.regions());
}

/* What is merged may have lost its memory unseen */
TEST_F(test_reg_cache, merging_fails)
{
    touch(10, 4);
    m_device.hole_start = 10 * page;
    m_device.hole_end   = 11 * page;
    EXPECT_EQ(pages(12, 4), touch(12, 4));
    EXPECT_EQ(1u, m_device.regions());
    EXPECT_EQ(3u, m_device.reg_calls());
}

TEST_F(test_reg_cache, read_only)
{
    m_device.read_only_start = 10 * page;
    m_device.read_only_end   = 12 * page;
    EXPECT_EQ(nullptr, get(10, 2));
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, m_status);
    EXPECT_EQ(0u, counters().reg_regions);

    ri_reg_region_t *region = get(10, 2, RI_REG_READ);
    ASSERT_NE(nullptr, region);
    EXPECT_EQ(unsigned(RI_REG_READ), region->access);
    put(region);
    EXPECT_TRUE(hits(10, 1, RI_REG_READ));

    m_device.read_only_end = 0;
    EXPECT_FALSE(hits(10, 2, RI_REG_WRITE)) << "it does not allow that";
    EXPECT_TRUE(hits(10, 2, rw));
    EXPECT_TRUE(hits(10, 2, RI_REG_READ)) << "one that may be written may be read";
    EXPECT_EQ(1u, m_device.regions());
}

TEST_F(test_reg_cache, registration_fails)
{
    m_device.hole_start = 10 * page;
    m_device.hole_end   = 11 * page;
    EXPECT_EQ(nullptr, get(8, 4));
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, m_status);
    EXPECT_EQ(1u, m_device.reg_calls());
    EXPECT_EQ(0u, counters().reg_regions);
    EXPECT_EQ(0u, counters().reg_bytes);
    m_device.hole_end = 0;
    EXPECT_NE(pages(0, 0), touch(8, 4)) << "nothing is left of it";
}

TEST_F(test_reg_cache, limit_of_regions)
{
    start(SIZE_MAX, 3);
    for (uintptr_t i = 0; i < 3; ++i) {
        touch(i * 10 + 10, 1);
    }
    touch(10, 1); /* now the second one is the oldest */
    touch(50, 1);
    EXPECT_EQ(3u, m_device.regions());
    EXPECT_EQ(1u, counters().reg_evicted);
    EXPECT_TRUE(hits(10, 1));
    EXPECT_TRUE(hits(30, 1));
    EXPECT_TRUE(hits(50, 1));
    EXPECT_FALSE(hits(20, 1));
}

TEST_F(test_reg_cache, limit_of_bytes)
{
    start(10, SIZE_MAX);
    touch(10, 4);
    touch(20, 4);
    touch(30, 2);
    EXPECT_EQ(3u, m_device.regions());
    touch(40, 5);
    EXPECT_FALSE(m_device.bytes() > 10 * page);
    EXPECT_EQ(2u, counters().reg_evicted);
    EXPECT_TRUE(hits(30, 2));
    EXPECT_TRUE(hits(40, 5));
    EXPECT_EQ(10 * page, counters().reg_bytes_max);
}

TEST_F(test_reg_cache, limits_spare_what_is_in_use)
{
    std::vector<ri_reg_region_t *> used;

    start(4, 2);
    for (uintptr_t i = 0; i < 5; ++i) {
        used.push_back(get(i * 10 + 10, 2));
        ASSERT_NE(nullptr, used.back());
    }
    EXPECT_EQ(5u, m_device.regions());
    EXPECT_EQ(0u, counters().reg_evicted);
    for (ri_reg_region_t *region : used) {
        put(region);
    }
    EXPECT_EQ(2u, m_device.regions());
    EXPECT_TRUE(hits(50, 2)) << "given back last";
    EXPECT_TRUE(hits(40, 2));
}

TEST_F(test_reg_cache, larger_than_the_limit)
{
    start(4, SIZE_MAX);
    EXPECT_EQ(pages(10, 100), touch(10, 100));
    EXPECT_EQ(0u, m_device.regions());
}

TEST_F(test_reg_cache, device_is_full)
{
    m_device.max_regions = 4;
    for (uintptr_t i = 0; i < 10; ++i) {
        EXPECT_EQ(pages(i * 10 + 10, 1), touch(i * 10 + 10, 1));
    }
    EXPECT_EQ(4u, m_device.regions());
    EXPECT_EQ(6u, counters().reg_evicted);

    m_device.max_bytes = 8 * page;
    EXPECT_EQ(pages(200, 7), touch(200, 7));
    EXPECT_LE(m_device.bytes(), 8 * page);
    EXPECT_EQ(m_device.bytes(), counters().reg_bytes);
}

TEST_F(test_reg_cache, device_is_full_and_all_in_use)
{
    m_device.max_regions = 2;
    ri_reg_region_t *one = get(10, 1);
    ri_reg_region_t *two = get(20, 1);

    EXPECT_EQ(nullptr, get(30, 1));
    EXPECT_EQ(UCS_ERR_NO_MEMORY, m_status);
    EXPECT_EQ(nullptr, get(40, 1, RI_REG_READ));
    EXPECT_EQ(UCS_ERR_NO_MEMORY, m_status);
    EXPECT_EQ(2u, counters().reg_regions);
    put(one);
    EXPECT_EQ(pages(30, 1), touch(30, 1));
    put(two);
}

TEST_F(test_reg_cache, off)
{
    start(SIZE_MAX, SIZE_MAX, 0);
    ri_reg_region_t *one = get(10, 4);
    ri_reg_region_t *two = get(10, 4);

    EXPECT_NE(one, two);
    EXPECT_EQ(2u, m_device.regions());
    unmap(10, 4);
    put(one);
    EXPECT_EQ(1u, m_device.regions());
    put(two);
    EXPECT_EQ(0u, m_device.regions());
    EXPECT_EQ(0u, counters().reg_hits);
    EXPECT_EQ(2u, counters().reg_misses);

    m_device.hole_start = 10 * page;
    m_device.hole_end   = 11 * page;
    EXPECT_EQ(nullptr, get(10, 4));
    EXPECT_EQ(0u, counters().reg_regions);
}

TEST_F(test_reg_cache, invalidate)
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
        EXPECT_EQ(1u, m_device.regions());
    }
}

TEST_F(test_reg_cache, invalidate_deregisters_later)
{
    touch(10, 1);
    unmap(10, 1);
    EXPECT_EQ(1u, m_device.regions()) << "not inside of the event";
    touch(20, 1);
    EXPECT_EQ(1u, m_device.regions());
    EXPECT_TRUE(hits(20, 1));
}

TEST_F(test_reg_cache, invalidate_in_use)
{
    ri_reg_region_t *old = get(10, 4);

    unmap(13, 1);
    EXPECT_EQ(RI_REG_DETACHED, old->state);
    m_device.lookup(old);

    ri_reg_region_t *now = get(10, 4);
    EXPECT_NE(old, now);
    EXPECT_EQ(2u, m_device.regions());
    put(old);
    EXPECT_EQ(1u, m_device.regions());
    unmap(10, 4);
    EXPECT_EQ(1u, m_device.regions());
    put(now);
    EXPECT_EQ(0u, m_device.regions());
    EXPECT_EQ(2u, counters().reg_invalidated);
}

TEST_F(test_reg_cache, invalidate_several)
{
    for (uintptr_t i = 0; i < 10; ++i) {
        touch(i * 10 + 10, 5);
    }
    unmap(32, 40); /* regions at 30, 40, 50, 60 and 70 */
    EXPECT_EQ(5u, counters().reg_invalidated);
    EXPECT_EQ(5u, m_device.regions());
    EXPECT_TRUE(hits(20, 5));
    EXPECT_TRUE(hits(80, 5));
}

TEST_F(test_reg_cache, invalidate_while_registering)
{
    int calls       = 0;
    m_device.on_reg = [&] {
        if (++calls == 1) {
            unmap(11, 1);
        }
    };
    ri_reg_region_t *region = get(10, 4);
    ASSERT_NE(nullptr, region);
    EXPECT_EQ(2, calls) << "it is registered again";
    EXPECT_EQ(1u, m_device.regions());
    EXPECT_EQ(RI_REG_CACHED, region->state);
    put(region);
    EXPECT_TRUE(hits(10, 4));
}

TEST_F(test_reg_cache, invalidate_other_part_of_a_union)
{
    bool once = true;

    touch(10, 4);
    m_device.on_reg = [&] {
        if (std::exchange(once, false)) {
            unmap(10, 1);
        }
    };
    EXPECT_EQ(pages(12, 4), touch(12, 4)) << "without what has gone";
    EXPECT_EQ(1u, m_device.regions());
}

TEST_F(test_reg_cache, invalidate_at_each_registration)
{
    m_device.on_reg = [&] { unmap(10, 1); };
    EXPECT_EQ(nullptr, get(10, 4));
    EXPECT_EQ(UCS_ERR_BUSY, m_status);
    EXPECT_EQ(0u, m_device.regions());
    EXPECT_EQ(0u, counters().reg_regions);

    m_device.on_reg = [&] { unmap(100, 1); };
    EXPECT_EQ(pages(10, 4), touch(10, 4)) << "something else";
    EXPECT_TRUE(hits(10, 4));
}

TEST_F(test_reg_cache, invalidate_while_deregistering)
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
    EXPECT_EQ(2u, m_device.regions());
}

TEST_F(test_reg_cache, invalidate_from_another_thread)
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

TEST_F(test_reg_cache, child_process)
{
    ri_reg_region_t *region = get(10, 1);
    pid_t child             = fork();

    ASSERT_GE(child, 0);
    if (child == 0) {
        ri_reg_region_t *other = nullptr;
        bool good = ri_reg_cache_get(m_cache, at(10 * page), page, rw, &other) ==
                    UCS_ERR_UNSUPPORTED;

        unmap(10, 1);
        put(region);
        good = good && (counters().reg_regions == 1);
        ri_reg_cache_destroy(m_cache);
        _exit((good && (m_device.regions() == 1)) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(0, status);
    put(region);
    EXPECT_TRUE(hits(10, 1));
}

/* The same rules, in lists. */
class naive_cache {
public:
    struct region {
        ri_reg_region_t *real;
        uintptr_t start, end; /* pages */
        bool cached, dead;
        unsigned refs;
        uint64_t last_put;
    };

    naive_cache(size_t max_pages, size_t max_regions)
        : m_max_pages(max_pages), m_max_regions(max_regions)
    {
    }

    /* Whether a get has to hit */
    bool expect_hit(uintptr_t start, uintptr_t end)
    {
        for (auto &r : all) {
            if (r.cached && (r.start <= start) && (r.end >= end)) {
                return true;
            }
        }
        return false;
    }

    void hit(ri_reg_region_t *real)
    {
        ++counters.reg_hits;
        ++find(real).refs;
    }

    void miss(uintptr_t start, uintptr_t end, ri_reg_region_t *real)
    {
        uintptr_t from = start, to = end;

        ++counters.reg_misses;
        std::sort(all.begin(), all.end(), [](const region &a, const region &b) {
            return std::make_pair(a.start, a.end) < std::make_pair(b.start, b.end);
        });
        for (auto &r : all) {
            uintptr_t low = std::min(from, r.start), high = std::max(to, r.end);

            if (r.cached && (r.start < end) && (r.end > start) &&
                (high - low <= 2 * (end - start))) {
                from = low;
                to   = high;
            }
        }
        for (auto &r : all) {
            if (r.cached && (r.start >= from) && (r.end <= to)) {
                detach(r, &counters.reg_replaced);
            }
        }
        all.push_back({real, from, to, true, false, 1, 0});
        trim();
        settle();
        counters.reg_bytes_max = std::max(counters.reg_bytes_max, counters.reg_bytes);
    }

    void put(ri_reg_region_t *real)
    {
        region &r = find(real);

        r.last_put = ++m_time;
        if (--r.refs == 0) {
            r.dead = !r.cached;
        }
        trim();
        settle();
    }

    void unmap(uintptr_t start, uintptr_t end)
    {
        for (auto &r : all) {
            if (r.cached && (r.start < end) && (r.end > start)) {
                detach(r, &counters.reg_invalidated);
            }
        }
    }

    /* What is dead goes at the next call */
    void settle()
    {
        all.erase(std::remove_if(all.begin(), all.end(),
                                 [](const region &r) { return r.dead; }),
                  all.end());
        counters.reg_regions = all.size();
        counters.reg_bytes   = 0;
        for (auto &r : all) {
            counters.reg_bytes += (r.end - r.start) * page;
        }
    }

    region &find(ri_reg_region_t *real)
    {
        for (auto &r : all) {
            if (r.real == real) {
                return r;
            }
        }
        ADD_FAILURE() << "a region that is not there any more";
        abort();
    }

    std::vector<region> all;
    ri_plane_counters_t counters = {};

private:
    static void detach(region &r, uint64_t *counter)
    {
        r.cached = false;
        r.dead   = (r.refs == 0);
        ++*counter;
    }

    void trim()
    {
        for (;;) {
            size_t pages = 0, regions = 0;
            region *oldest = nullptr;

            for (auto &r : all) {
                if (r.dead) {
                    continue;
                }
                pages += r.end - r.start;
                ++regions;
                if (r.cached && (r.refs == 0) &&
                    ((oldest == nullptr) || (r.last_put < oldest->last_put))) {
                    oldest = &r;
                }
            }
            if ((oldest == nullptr) ||
                ((pages <= m_max_pages) && (regions <= m_max_regions))) {
                return;
            }
            detach(*oldest, &counters.reg_evicted);
        }
    }

    size_t m_max_pages;
    size_t m_max_regions;
    uint64_t m_time = 0;
};

TEST_F(test_reg_cache, random)
{
    for_seeds(200, [this](rng &random) {
        size_t max_pages   = random.percent(50) ? random.range(20, 300) : SIZE_MAX / page;
        size_t max_regions = random.percent(50) ? random.range(1, 20) : SIZE_MAX;
        uintptr_t space    = random.range(30, 500);
        uintptr_t longest  = random.range(1, 40);
        naive_cache naive(max_pages, max_regions);
        std::vector<ri_reg_region_t *> used;

        start(max_pages, max_regions);
        for (int i = 0; (i < 500) && !HasFailure(); ++i) {
            uintptr_t first = 1 + random.below(space);
            uintptr_t end   = first + random.range(1, longest);
            unsigned what   = random.below(100);

            if (what < 45) {
                bool hit                = naive.expect_hit(first, end);
                ri_reg_region_t *region = get(first, end - first);

                naive.settle();
                ASSERT_NE(nullptr, region);
                if (hit) {
                    naive.hit(region);
                } else {
                    naive.miss(first, end, region);
                }
                EXPECT_EQ(naive.find(region).start * page, region->range.start);
                EXPECT_EQ(naive.find(region).end * page, region->range.end);
                EXPECT_TRUE(naive.find(region).cached);
                used.push_back(region);
            } else if ((what < 90) && !used.empty()) {
                size_t index = random.below(used.size());

                naive.put(used[index]);
                put(used[index]);
                used.erase(used.begin() + index);
            } else if (what >= 90) {
                naive.unmap(first, end);
                unmap(first, end - first);
            }

            auto now = counters();
            naive.settle();
            EXPECT_EQ(0, memcmp(&now, &naive.counters, sizeof(now)))
                    << now.reg_hits << " " << now.reg_misses << " " << now.reg_evicted
                    << " " << now.reg_replaced << " " << now.reg_invalidated << " "
                    << now.reg_regions << " " << now.reg_bytes;
            EXPECT_EQ(naive.counters.reg_regions, m_device.regions());
            EXPECT_EQ(naive.counters.reg_bytes, m_device.bytes());
        }
        for (ri_reg_region_t *region : used) {
            put(region);
        }
    });
}

} // namespace
