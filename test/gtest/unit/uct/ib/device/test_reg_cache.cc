/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/uct/ib/device/reg_cache.[hc]: what hits, what is merged and kept. test_reg_cache_load.cc has
 * real memory.
 */

#include "reg_cache_test.h"

#include <sys/wait.h>

namespace {

class test_reg_cache : public reg_cache_test {};

TEST_F(test_reg_cache, miss_then_hit)
{
    ri_registration_t *registration = get(10, 2);

    ASSERT_NE(nullptr, registration);
    EXPECT_EQ(1u, counters().reg_misses);
    EXPECT_EQ(registration, get(10, 2)) << "while it is in use";
    put(registration);
    put(registration);
    EXPECT_EQ(registration, get(11, 1)) << "while it is idle";
    put(registration);
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
        ri_registration_t *registration = nullptr;

        ASSERT_EQ(UCS_OK,
                  ri_reg_cache_get(m_cache, at(c.address), c.length, rw, &registration));
        EXPECT_EQ(c.start, registration->range.start);
        EXPECT_EQ(c.end, registration->range.end);
        put(registration);
    }
}

TEST_F(test_reg_cache, no_such_memory)
{
    ri_registration_t *registration = nullptr;

    for (auto &c : {pages(0x1000, 0), pages(UINTPTR_MAX, 2), pages(UINTPTR_MAX - 100, 50),
                    pages(0x1000, SIZE_MAX), pages(0x1000, SIZE_MAX - 0x1000)}) {
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  ri_reg_cache_get(m_cache, at(c.first), c.second, rw, &registration))
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
        size_t registrations; /* that are left */
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
        EXPECT_EQ(c.registrations, m_device.registrations());
        EXPECT_EQ(2 - c.registrations, counters().reg_replaced);
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
    EXPECT_EQ(1u, m_device.registrations());
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
    ri_registration_t *old = get(10, 4);
    ri_registration_t *all = get(12, 4);

    EXPECT_EQ(10 * page, all->range.start);
    EXPECT_EQ(RI_REG_DETACHED, old->state);
    EXPECT_EQ(2u, m_device.registrations())
            << "the old one is valid as long as it is in use";
    m_device.lookup(old);
    EXPECT_TRUE(hits(10, 4));
    put(old);
    EXPECT_EQ(1u, m_device.registrations());
    put(all);
    EXPECT_EQ(1u, m_device.registrations());
}

/* What is merged may have lost its memory unseen */
TEST_F(test_reg_cache, merging_fails)
{
    touch(10, 4);
    m_device.hole_start = 10 * page;
    m_device.hole_end   = 11 * page;
    EXPECT_EQ(pages(12, 4), touch(12, 4));
    EXPECT_EQ(1u, m_device.registrations());
    EXPECT_EQ(3u, m_device.reg_calls());
}

TEST_F(test_reg_cache, read_only)
{
    m_device.read_only_start = 10 * page;
    m_device.read_only_end   = 12 * page;
    EXPECT_EQ(nullptr, get(10, 2));
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, m_status);
    EXPECT_EQ(0u, counters().reg_regions);

    ri_registration_t *registration = get(10, 2, RI_REG_READ);
    ASSERT_NE(nullptr, registration);
    EXPECT_EQ(unsigned(RI_REG_READ), registration->access);
    put(registration);
    EXPECT_TRUE(hits(10, 1, RI_REG_READ));

    m_device.read_only_end = 0;
    EXPECT_FALSE(hits(10, 2, RI_REG_WRITE)) << "it does not allow that";
    EXPECT_TRUE(hits(10, 2, rw));
    EXPECT_TRUE(hits(10, 2, RI_REG_READ)) << "one that may be written may be read";
    EXPECT_EQ(1u, m_device.registrations());
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

TEST_F(test_reg_cache, limit_of_registrations)
{
    start(SIZE_MAX, 3);
    for (uintptr_t i = 0; i < 3; ++i) {
        touch(i * 10 + 10, 1);
    }
    touch(10, 1); /* now the second one is the oldest */
    touch(50, 1);
    EXPECT_EQ(3u, m_device.registrations());
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
    EXPECT_EQ(3u, m_device.registrations());
    touch(40, 5);
    EXPECT_FALSE(m_device.bytes() > 10 * page);
    EXPECT_EQ(2u, counters().reg_evicted);
    EXPECT_TRUE(hits(30, 2));
    EXPECT_TRUE(hits(40, 5));
    EXPECT_EQ(10 * page, counters().reg_bytes_max);
}

TEST_F(test_reg_cache, limits_spare_what_is_in_use)
{
    std::vector<ri_registration_t *> used;

    start(4, 2);
    for (uintptr_t i = 0; i < 5; ++i) {
        used.push_back(get(i * 10 + 10, 2));
        ASSERT_NE(nullptr, used.back());
    }
    EXPECT_EQ(5u, m_device.registrations());
    EXPECT_EQ(0u, counters().reg_evicted);
    for (ri_registration_t *registration : used) {
        put(registration);
    }
    EXPECT_EQ(2u, m_device.registrations());
    EXPECT_TRUE(hits(50, 2)) << "given back last";
    EXPECT_TRUE(hits(40, 2));
}

TEST_F(test_reg_cache, larger_than_the_limit)
{
    start(4, SIZE_MAX);
    EXPECT_EQ(pages(10, 100), touch(10, 100));
    EXPECT_EQ(0u, m_device.registrations());
}

TEST_F(test_reg_cache, device_is_full)
{
    m_device.max_registrations = 4;
    for (uintptr_t i = 0; i < 10; ++i) {
        EXPECT_EQ(pages(i * 10 + 10, 1), touch(i * 10 + 10, 1));
    }
    EXPECT_EQ(4u, m_device.registrations());
    EXPECT_EQ(6u, counters().reg_evicted);

    m_device.max_bytes = 8 * page;
    EXPECT_EQ(pages(200, 7), touch(200, 7));
    EXPECT_LE(m_device.bytes(), 8 * page);
    EXPECT_EQ(m_device.bytes(), counters().reg_bytes);
}

TEST_F(test_reg_cache, device_is_full_and_all_in_use)
{
    m_device.max_registrations = 2;
    ri_registration_t *one     = get(10, 1);
    ri_registration_t *two     = get(20, 1);

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
    ri_registration_t *one = get(10, 4);
    ri_registration_t *two = get(10, 4);

    EXPECT_NE(one, two);
    EXPECT_EQ(2u, m_device.registrations());
    unmap(10, 4);
    put(one);
    EXPECT_EQ(1u, m_device.registrations());
    put(two);
    EXPECT_EQ(0u, m_device.registrations());
    EXPECT_EQ(0u, counters().reg_hits);
    EXPECT_EQ(2u, counters().reg_misses);

    m_device.hole_start = 10 * page;
    m_device.hole_end   = 11 * page;
    EXPECT_EQ(nullptr, get(10, 4));
    EXPECT_EQ(0u, counters().reg_regions);
}

TEST_F(test_reg_cache, child_process)
{
    ri_registration_t *registration = get(10, 1);
    pid_t child                     = fork();

    ASSERT_GE(child, 0);
    if (child == 0) {
        ri_registration_t *other = nullptr;
        bool good = ri_reg_cache_get(m_cache, at(10 * page), page, rw, &other) ==
                    UCS_ERR_UNSUPPORTED;

        unmap(10, 1);
        put(registration);
        good = good && (counters().reg_regions == 1);
        ri_reg_cache_destroy(m_cache);
        _exit((good && (m_device.registrations() == 1)) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(0, status);
    put(registration);
    EXPECT_TRUE(hits(10, 1));
}

} // namespace
