/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/ib/device/reg_cache.[hc], with real memory that comes and goes, and a device that holds
 * its pages: whatever a get returns must be of the pages that are there now. */

#include "reg_cache_test.h"
#include "common/sanitized.h"

#include <algorithm>
#include <dlfcn.h>
#include <malloc.h>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <ucm/api/ucm.h>
#include <utility>
#include <vector>

namespace {

/* Addresses that come and go, each used by one thread at a time. A thread takes several that
 * are next to each other, so that there are registrations of several addresses, and later
 * threads take only a part of such addresses. */
struct arena {
    static constexpr size_t slots = 24, slot_size = 3 * page;

    /* Where the kernel maps nothing by itself, and sanitizers have nothing of their own */
    char *at(size_t slot)
    {
        return reinterpret_cast<char *>(0x40000000ul) + slot * slot_size;
    }

    std::mutex used[slots];
    bool mapped[slots] = {};
};

/* Tells the cache by itself, before memory goes. */
class test_reg_cache_load : public ::testing::Test {
protected:
    void SetUp() override { start(true); }

    void TearDown() override
    {
        if (m_cache != nullptr) {
            ri_reg_cache_destroy(m_cache);
        }
    }

    void start(bool is_told, size_t max_registrations = 100)
    {
        ri_reg_cache_params_t params = {};

        params.enable            = 1;
        params.max_bytes         = SIZE_MAX;
        params.max_registrations = max_registrations;
        params.is_told           = is_told;
        m_device.is_real         = true;
        m_is_told                = is_told;
        m_cache                  = m_device.new_cache(params);
    }

    static char *map(size_t length, void *where = nullptr, int flags = 0)
    {
        void *p = mmap(where, length, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

        return (p == MAP_FAILED) ? nullptr : static_cast<char *>(p);
    }

    /* To be called before memory goes */
    void tell(const void *address, size_t length)
    {
        auto start = reinterpret_cast<uintptr_t>(address);

        if (m_is_told) {
            ri_reg_cache_invalidate(m_cache, start, start + length);
        }
    }

    void unmap(void *address, size_t length)
    {
        tell(address, length);
        EXPECT_EQ(0, munmap(address, length));
    }

    /* A registration, whose pages are checked; nullptr if there was an error */
    ri_registration_t *get(const char *address, size_t length, uint64_t value)
    {
        ri_registration_t *registration = nullptr;
        ucs_status_t status             = ri_reg_cache_get(m_cache, address, length, rw,
                                                           &registration);

        m_busy += (status == UCS_ERR_BUSY);
        if (status != UCS_OK) {
            EXPECT_EQ(UCS_ERR_BUSY, status);
            return nullptr;
        }
        EXPECT_TRUE(m_device.is_fresh(registration, address, length, value))
                << static_cast<const void *>(address) << "+" << length;
        return registration;
    }

    void touch(const char *address, size_t length, uint64_t value)
    {
        ri_registration_t *registration = get(address, length, value);

        if (registration != nullptr) {
            ri_reg_cache_put(m_cache, registration);
        }
    }

    ri_plane_counters_t counters()
    {
        ri_plane_counters_t result;

        ri_reg_cache_get_counters(m_cache, &result);
        return result;
    }

    void run_threads(int count, const std::function<void(rng &)> &func)
    {
        std::vector<std::thread> all;

        for (int i = 0; i < count; ++i) {
            all.emplace_back([&func, i] {
                rng random(i + 1);

                func(random);
            });
        }
        for (auto &thread : all) {
            thread.join();
        }
    }

    void load(int threads, int rounds);
    size_t take(rng &random, arena &memory, size_t first);
    std::vector<ri_registration_t *> use(rng &random, char *start, size_t size);
    void change(rng &random, arena &memory, size_t first, size_t count);
    void check(arena &memory);

    fake_device m_device;
    ri_reg_cache_t *m_cache = nullptr;
    bool m_is_told          = true;
    std::atomic<int> m_busy = {};
};

/* Take slots from @a first on, as far as they are free, and use their memory. @return Their number,
 * at most 4. */
size_t test_reg_cache_load::take(rng &random, arena &memory, size_t first)
{
    size_t want = random.range(1, 4), count = 0;

    while ((count < want) && (first + count < arena::slots) &&
           memory.used[first + count].try_lock()) {
        bool &mapped = memory.mapped[first + count];

        if (!mapped && (map(arena::slot_size, memory.at(first + count),
                            MAP_FIXED_NOREPLACE) == nullptr)) {
            ADD_FAILURE() << "slot " << first + count << " is used by others";
            memory.used[first + count].unlock();
            break;
        }
        mapped = true;
        memset(memory.at(first + count), 1, arena::slot_size);
        ++count;
    }
    return count;
}

/* Register some parts of memory. @return Registrations that were not given back. */
std::vector<ri_registration_t *> test_reg_cache_load::use(rng &random, char *start,
                                                          size_t size)
{
    std::vector<ri_registration_t *> held;

    for (int left = random.below(8); left > 0; --left) {
        size_t offset                   = random.below(size);
        size_t length                   = random.range(1, size - offset);
        ri_registration_t *registration = get(start + offset, length, random.next());

        if ((registration != nullptr) && random.percent(70)) {
            ri_reg_cache_put(m_cache, registration);
        } else if (registration != nullptr) {
            held.push_back(registration);
        }
    }
    return held;
}

/* Unmap, move or replace some of the memory of slots. */
void test_reg_cache_load::change(rng &random, arena &memory, size_t first, size_t count)
{
    char *start = memory.at(first), *moved;
    size_t size = count * arena::slot_size;

    switch (random.below(6)) {
    case 0:
        unmap(start, size);
        std::fill_n(memory.mapped + first, count, false);
        break;
    case 1: /* all but the first slot goes, or all of one */
        unmap(memory.at(first + count - 1), arena::slot_size);
        memory.mapped[first + count - 1] = false;
        break;
    case 2:
        tell(start + page, size - page);
        madvise(start + page, size - page, MADV_DONTNEED);
        break;
    case 3:
        tell(start, page);
        EXPECT_EQ(start, map(page, start, MAP_FIXED));
        break;
    case 4: /* it moves, as there is no room behind it */
        if (count == 1) {
            break;
        }
        tell(start, arena::slot_size);
        moved = static_cast<char *>(
                mremap(start, arena::slot_size, 4 * arena::slot_size, MREMAP_MAYMOVE));
        if (moved != MAP_FAILED) { /* as for a slot of several mappings */
            memory.mapped[first] = false;
            touch(moved, arena::slot_size, random.next());
            unmap(moved, 4 * arena::slot_size);
        }
        break;
    default:
        break;
    }
}

/* Unmap all, and check what the cache has counted. */
void test_reg_cache_load::check(arena &memory)
{
    for (size_t i = 0; i < arena::slots; ++i) {
        if (memory.mapped[i]) {
            unmap(memory.at(i), arena::slot_size);
        }
    }
    auto now = counters();
    EXPECT_GT(now.reg_hits, 0u);
    EXPECT_GT(now.reg_invalidated, 0u);
    EXPECT_EQ(now.reg_regions, m_device.registrations());
    EXPECT_LE(m_busy, int(now.reg_misses / 10)) << "a get gives up only very rarely";
    if (getenv("RI_TEST_VERBOSE") != nullptr) {
        printf("hits %lu misses %lu evicted %lu replaced %lu invalidated %lu flushes %lu "
               "busy %d\n",
               now.reg_hits, now.reg_misses, now.reg_evicted, now.reg_replaced,
               now.reg_invalidated, now.reg_flushes, m_busy.load());
    }
}

void test_reg_cache_load::load(int threads, int rounds)
{
    arena memory;

    run_threads(threads, [&](rng &random) {
        for (int i = 0; (i < rounds) && !HasFailure(); ++i) {
            size_t first = random.below(arena::slots);
            size_t count = take(random, memory, first);

            if (count == 0) {
                continue;
            }
            auto held = use(random, memory.at(first), count * arena::slot_size);
            change(random, memory, first, count);
            for (ri_registration_t *registration : held) {
                m_device.lookup(registration);
                ri_reg_cache_put(m_cache, registration);
            }
            while (count > 0) {
                memory.used[first + --count].unlock();
            }
        }
    });
    check(memory);
}

/* The tests below would notice a stale registration: this one is told nothing */
TEST_F(test_reg_cache_load, stale_is_noticed)
{
    ri_registration_t *registration = nullptr;
    char *p                         = map(4 * page);

    memset(p, 1, 4 * page);
    touch(p, 4 * page, 1);
    EXPECT_EQ(0, munmap(p, 4 * page));
    ASSERT_EQ(p, map(4 * page, p, MAP_FIXED_NOREPLACE));
    ASSERT_EQ(UCS_OK, ri_reg_cache_get(m_cache, p, 4 * page, rw, &registration));
    EXPECT_FALSE(m_device.is_fresh(registration, p, 4 * page, 2));
    ri_reg_cache_put(m_cache, registration);
    unmap(p, 4 * page);
}

TEST_F(test_reg_cache_load, same_address_again)
{
    char *p = map(4 * page);

    for (uint64_t i = 0; i < 100; ++i) {
        memset(p, 1, 4 * page);
        touch(p, 4 * page, i);
        touch(p + page, page, i);
        unmap(p, 4 * page);
        ASSERT_EQ(p, map(4 * page, p, MAP_FIXED_NOREPLACE));
    }
    unmap(p, 4 * page);
    EXPECT_EQ(100u, counters().reg_hits);
    EXPECT_EQ(100u, counters().reg_misses);
    EXPECT_EQ(100u, counters().reg_invalidated);
}

TEST_F(test_reg_cache_load, threads)
{
    load(4, sanitized ? 1500 : 4000);
}

TEST_F(test_reg_cache_load, threads_with_few_registrations)
{
    TearDown();
    start(true, 6);
    load(4, sanitized ? 1500 : 4000);
    EXPECT_GT(counters().reg_evicted, 0u);
}

/* Events of other memory all the time, so that the queue overflows as well */
TEST_F(test_reg_cache_load, threads_and_other_events)
{
    std::atomic<bool> end = {};
    std::thread other([&] {
        while (!end) {
            ri_reg_cache_invalidate(m_cache, page, 2 * page);
        }
    });

    load(3, sanitized ? 500 : 2000);
    end = true;
    other.join();
}

/* The same with the events of libucm, which the cache gets by itself. */
class test_reg_cache_events : public test_reg_cache_load {
protected:
    void SetUp() override
    {
        if (sanitized) {
            GTEST_SKIP() << "a sanitizer is between the program and the C library";
        }
        ASSERT_NE(nullptr, dlopen("libucp.so.0", RTLD_NOW | RTLD_GLOBAL));
        start(false);
    }
};

TEST_F(test_reg_cache_events, threads)
{
    load(4, 4000);
}

/* Registration that maps and unmaps memory itself */
TEST_F(test_reg_cache_events, threads_that_unmap_while_registering)
{
    m_device.on_reg = m_device.on_dereg = [] {
        char *p = map(64 * page);

        free(malloc(1 << 20));
        munmap(p, 64 * page);
    };
    load(4, 2000);
}

TEST_F(test_reg_cache_events, free_and_malloc)
{
    uint64_t hits = 0;

    for (uint64_t i = 0; i < 300; ++i) {
        size_t size = 300000 + 30000 * (i % 7);
        char *p     = static_cast<char *>(malloc(size));

        memset(p, 1, size);
        touch(p, size, i);
        touch(p, size, i);
        free(p);
        hits = counters().reg_hits;
    }
    EXPECT_GE(hits, 300u);
}

TEST_F(test_reg_cache_events, realloc)
{
    rng random(1);
    char *p     = nullptr;
    size_t size = 0;

    for (int i = 0; i < 300; ++i) {
        size = random.range(100000, 20 << 20);
        p    = static_cast<char *>(realloc(p, size));
        for (size_t offset = 0; offset < size; offset += page) {
            p[offset] = 1;
        }
        size_t length = random.range(1, 64 * page);
        for (int use = 0; use < 4; ++use) {
            touch(p + random.below(size - std::min(size, length) + 1),
                  std::min(size, length), i);
        }
    }
    free(p);
}

TEST_F(test_reg_cache_events, threads_with_malloc)
{
    /* or malloc keeps more and more for itself, which is not what is tested */
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 64 << 10);
    run_threads(4, [this](rng &random) {
        std::vector<std::pair<char *, size_t>> blocks;

        for (int i = 0; (i < 1500) && !HasFailure(); ++i) {
            if ((blocks.size() < 8) && random.percent(60)) {
                size_t size = random.range(1, random.percent(50) ? 60 : 3) * 20000;

                blocks.emplace_back(static_cast<char *>(malloc(size)), size);
                memset(blocks.back().first, 1, size);
            } else if (!blocks.empty()) {
                std::swap(blocks.back(), blocks[random.below(blocks.size())]);
                if (random.percent(30)) {
                    size_t size = random.range(1, 60) * 20000;

                    blocks.back().first =
                            static_cast<char *>(realloc(blocks.back().first, size));
                    blocks.back().second = size;
                    memset(blocks.back().first, 1, size);
                } else {
                    free(blocks.back().first);
                    blocks.pop_back();
                }
            }
            for (int use = 0; (use < 2) && !blocks.empty(); ++use) {
                auto block    = blocks[random.below(blocks.size())];
                size_t offset = random.below(block.second);

                touch(block.first + offset,
                      std::min(block.second - offset, random.range(1, 64 * page)),
                      random.next());
            }
        }
        for (auto &block : blocks) {
            free(block.first);
        }
    });
    EXPECT_GT(counters().reg_hits, 0u);
    EXPECT_GT(counters().reg_invalidated, 0u);
}

TEST_F(test_reg_cache_events, program_break)
{
    for (uint64_t i = 0; i < 20; ++i) {
        char *p = static_cast<char *>(sbrk(16 * page));

        ASSERT_NE(reinterpret_cast<char *>(-1), p);
        memset(p, 1, 16 * page);
        touch(p, 16 * page, i);
        ASSERT_EQ(p + 16 * page, sbrk(-static_cast<intptr_t>(16 * page)));
        EXPECT_GE(counters().reg_invalidated, i + 1);
    }
}

/* Where there are no events the cache keeps nothing */
TEST_F(test_reg_cache_load, off_without_events)
{
    ASSERT_NE(nullptr, dlopen("libucp.so.0", RTLD_NOW | RTLD_GLOBAL));
    auto opts =
            static_cast<ucm_global_config_t *>(dlsym(RTLD_DEFAULT, "ucm_global_opts"));
    int before = std::exchange(opts->enable_events, 0);
    char *p    = map(4 * page);

    TearDown();
    start(false);
    opts->enable_events = before;
    memset(p, 1, 4 * page);
    touch(p, 4 * page, 1);
    touch(p, 4 * page, 1);
    EXPECT_EQ(2u, counters().reg_misses);
    EXPECT_EQ(0u, m_device.registrations());
    munmap(p, 4 * page);
}

} // namespace
