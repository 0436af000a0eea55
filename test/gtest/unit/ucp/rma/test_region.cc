/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/region.[hc]: memory that the application has mapped. */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <gtest/gtest.h>
#include <map>
#include <set>
#include <thread>
#include <unistd.h>

namespace {

/* Stock's handles are never looked into. */
ucp_mem_h region_memh(unsigned i)
{
    static char handles[1000];

    return reinterpret_cast<ucp_mem_h>(&handles[i]);
}

class test_region : public ::testing::Test {
protected:
    void TearDown() override
    {
        for (unsigned i = 0; i < 1000; ++i) {
            ri_region_remove(region_memh(i));
        }
    }

    static ri_region_t add(unsigned i, uint64_t address, size_t length)
    {
        ri_region_t region = {};

        ri_region_add(region_memh(i), (const void *)address, length);
        EXPECT_TRUE(ri_region_find(region_memh(i), &region));
        EXPECT_EQ(address, region.address);
        EXPECT_EQ(length, region.size);
        return region;
    }

    static bool find(unsigned i)
    {
        ri_region_t region = {7, 8, 9, 0, {}};
        bool found         = ri_region_find(region_memh(i), &region);

        if (!found) {
            EXPECT_EQ(7u, region.address);
            EXPECT_EQ(8u, region.size);
            EXPECT_EQ(9u, region.number);
        }
        return found;
    }

    static bool has(uint64_t number, uint64_t address, size_t length)
    {
        ri_region_lock();
        bool result = ri_region_has(number, address, length);
        ri_region_unlock();
        return result;
    }
};

TEST_F(test_region, find)
{
    EXPECT_FALSE(find(1));
    ri_region_t one = add(1, 0x1000, 100);
    ri_region_t two = add(2, 0x1000, 200);
    EXPECT_NE(one.number, two.number);
    ri_region_remove(region_memh(1));
    EXPECT_FALSE(find(1));
    EXPECT_TRUE(find(2));
    ri_region_remove(region_memh(1)); /* there is none */
    ri_region_remove(region_memh(3));
    EXPECT_TRUE(find(2));
}

TEST_F(test_region, without_bytes)
{
    ri_region_add(region_memh(1), (const void *)0x1000, 0);
    EXPECT_FALSE(find(1));
    ri_region_add(region_memh(1), nullptr, 0);
    EXPECT_FALSE(find(1));
    ri_region_remove(region_memh(1));
}

TEST_F(test_region, ranges)
{
    const uint64_t start = 0x7000, size = 0x100, end = start + size;
    const uint64_t number = add(1, start, size).number;
    const struct {
        uint64_t address;
        size_t length;
        bool good;
    } ranges[] = {
            {start, size, true},
            {start, 0, true},
            {start, 1, true},
            {start, size + 1, false},
            {start + 1, size - 1, true},
            {start + 1, size, false},
            {end - 1, 1, true},
            {end - 1, 2, false},
            {end, 0, true},
            {end, 1, false},
            {end + 1, 0, false},
            {start - 1, 1, false},
            {start - 1, 0, false},
            {start - 1, size, false},
            {0, 0, false},
            {0, SIZE_MAX, false},
            {start, SIZE_MAX, false},
            {start + 8, SIZE_MAX - 7, false},
            {end - 8, SIZE_MAX - size + 9, false},
            {UINT64_MAX, 1, false},
            {UINT64_MAX, 2, false},
            {UINT64_MAX - 7, 8, false},
            {UINT64_MAX, SIZE_MAX, false},
            {start - 8, SIZE_MAX, false},
    };

    for (const auto &range : ranges) {
        EXPECT_EQ(range.good, has(number, range.address, range.length))
                << std::hex << range.address << ' ' << range.length;
    }
}

TEST_F(test_region, range_that_ends_at_the_last_address)
{
    const uint64_t number = add(1, UINT64_MAX - 15, 15).number;

    EXPECT_TRUE(has(number, UINT64_MAX - 15, 15));
    EXPECT_TRUE(has(number, UINT64_MAX - 1, 1));
    EXPECT_FALSE(has(number, UINT64_MAX - 1, 2));
    EXPECT_FALSE(has(number, UINT64_MAX - 15, 17));
    EXPECT_FALSE(has(number, 0, 1));
    EXPECT_FALSE(has(number, UINT64_MAX - 16, 1));
}

TEST_F(test_region, numbers_that_are_none)
{
    ri_region_t region = add(1, 0, SIZE_MAX);

    EXPECT_TRUE(has(region.number, 0x1000, 1));
    for (uint64_t number :
         {(uint64_t)0, (uint64_t)1, region.number + 1, region.number - 1, ~region.number,
          UINT64_MAX, region.number | (1ul << 32), region.number << 32}) {
        EXPECT_FALSE(has(number, 0x1000, 1)) << number;
    }
    EXPECT_GT(region.number, 1u);
}

/* The same memh, the same memory: who has the key of the former must not reach the latter. */
TEST_F(test_region, numbers_are_never_used_again)
{
    std::set<uint64_t> numbers;

    for (unsigned i = 0; i < 500; ++i) {
        uint64_t number = add(i % 3, 0x1000, 64).number;

        EXPECT_TRUE(numbers.insert(number).second);
        EXPECT_TRUE(has(number, 0x1000, 64));
        ri_region_remove(region_memh(i % 3));
        EXPECT_FALSE(has(number, 0x1000, 64));
        EXPECT_FALSE(has(number, 0x1000, 0));
    }
}

TEST_F(test_region, random)
{
    for_seeds(20, [&](rng &random) {
        std::map<unsigned, ri_region_t> model;

        for (unsigned step = 0; step < 500; ++step) {
            unsigned i = random.below(100);

            if (model.count(i) == 0) {
                model[i] = add(i, random.below(1 << 20), random.range(1, 1000));
            } else if (random.percent(40)) {
                ri_region_remove(region_memh(i));
                EXPECT_FALSE(has(model[i].number, model[i].address, 1));
                model.erase(i);
            }
            unsigned k = random.below(100);
            ASSERT_EQ(model.count(k) != 0, find(k));
            if (model.count(k) != 0) {
                const ri_region_t &region = model[k];
                uint64_t address = region.address + random.below(region.size + 10) - 5;
                size_t length    = random.below(region.size + 10);

                ASSERT_EQ(((int64_t)address >= (int64_t)region.address) &&
                                  (address + length <= region.address + region.size),
                          has(region.number, address, length));
            }
        }
        for (const auto &one : model) {
            ri_region_remove(region_memh(one.first));
        }
    });
}

TEST_F(test_region, try_lock)
{
    auto other = [] {
        bool locked = false;

        std::thread([&locked] {
            locked = ri_region_trylock();
            if (locked) {
                ri_region_unlock();
            }
        }).join();
        return locked;
    };

    EXPECT_TRUE(other());
    ri_region_lock();
    EXPECT_FALSE(other());
    ri_region_unlock();
    ASSERT_TRUE(ri_region_trylock());
    EXPECT_FALSE(other());
    ri_region_unlock();
    EXPECT_TRUE(other());
}

/* Whoever works on memory has it as long as the regions are locked. */
TEST_F(test_region, remove_waits_while_locked)
{
    const uint64_t number = add(1, 0x1000, 64).number;
    std::atomic<bool> began(false), removed(false);

    ri_region_lock();
    std::thread thread([&] {
        began = true;
        ri_region_remove(region_memh(1));
        removed = true;
    });
    while (!began) {
        usleep(100);
    }
    usleep(20000);
    EXPECT_FALSE(removed);
    EXPECT_TRUE(ri_region_has(number, 0x1000, 64));
    ri_region_unlock();
    thread.join();
    EXPECT_TRUE(removed);
    EXPECT_FALSE(has(number, 0x1000, 64));
}

TEST_F(test_region, threads)
{
    std::vector<std::thread> threads;
    std::atomic<unsigned> wrong(0);

    for (unsigned t = 0; t < 4; ++t) {
        threads.emplace_back([&wrong, t] {
            for (unsigned i = 0; i < 2000; ++i) {
                unsigned which     = t * 10 + i % 10;
                ri_region_t region = {};

                ri_region_add(region_memh(which), (const void *)(0x1000ul + which), 8);
                if (!ri_region_find(region_memh(which), &region) ||
                    (region.address != 0x1000ul + which) ||
                    !has(region.number, region.address, 8)) {
                    ++wrong;
                }
                ri_region_remove(region_memh(which));
                if (has(region.number, region.address, 8)) {
                    ++wrong;
                }
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(0u, wrong);
}

/* UCX 1.13 has one memh for mappings of memory that it has registered as one. */
TEST_F(test_region, one_handle_for_several_mappings)
{
    ri_region_t region = add(1, 0x2000, 100), more;

    ri_region_add(region_memh(1), (void *)0x2040, 200);
    ri_region_add(region_memh(1), (void *)0x1ff0, 8);
    ASSERT_TRUE(ri_region_find(region_memh(1), &more));
    EXPECT_EQ(region.number, more.number);
    EXPECT_EQ(0x1ff0u, more.address);
    EXPECT_EQ(0x2040u + 200, more.address + more.size);
    for (int left = 3; left > 0; --left) {
        ri_region_lock();
        EXPECT_TRUE(ri_region_has(region.number, 0x2000, 100)) << left;
        ri_region_unlock();
        ri_region_remove(region_memh(1));
    }
    ri_region_lock();
    EXPECT_FALSE(ri_region_has(region.number, 0x2000, 100));
    ri_region_unlock();
    EXPECT_FALSE(ri_region_find(region_memh(1), &more));
}

} // namespace
