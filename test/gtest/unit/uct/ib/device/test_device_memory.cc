/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Registration of memory, on devices of the test's own. (src/uct/ib/device/memory.c) The tests run
 * src/uct/ib/device/plane_common.c, too.
 */

#include "common/sanitized.h"
#include "unit/uct/ib/rc/rc_test.h"

#if HAVE_VERBS

#include <algorithm>
#include <cerrno>
#include <dlfcn.h>

namespace {

class test_device_memory : public rc_test {
protected:
    /* What is registered is kept. @return Whether it can be: UCX has to tell of memory that goes. */
    static bool cache_registrations()
    {
#if RI_TEST_SANITIZED
        return false;
#else
        EXPECT_NE(nullptr, dlopen("libucp.so.0", RTLD_NOW | RTLD_GLOBAL));
        ri_config.reg_cache       = 1;
        ri_config.reg_cache_size  = SIZE_MAX;
        ri_config.reg_cache_count = 100;
        return true;
#endif
    }
};

/* A device that is full is nothing to warn of, if giving up what nobody uses is enough. */
TEST_F(test_device_memory, room_is_made)
{
    alignas(4096) static uint8_t pages[2][4096];
    ri_plane_memory_t memory = {};

    if (!cache_registrations()) {
        GTEST_SKIP() << "a sanitizer is between the program and the C library";
    }
    hca.max_mrs = 1;
    a.open();
    EXPECT_EQ("", printed(RI_LOG_LEVEL_WARN, [&]() {
                  for (int i = 0; i < 4; ++i) {
                      EXPECT_EQ(UCS_OK,
                                ri_plane_rc.reg(a.plane, pages[i % 2], 8, &memory));
                      ri_plane_rc.release(a.plane, &memory);
                  }
              }));
    EXPECT_EQ(4u + 3u, hca.regs);
}

TEST_F(test_device_memory, reg)
{
    alignas(4096) static const uint64_t word[512] = {5};
    ri_plane_memory_t memory                      = {};
    uint64_t other;

    a.open();
    ASSERT_EQ(UCS_OK, ri_plane_rc.reg(a.plane, &other, 8, &memory));
    EXPECT_EQ(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
              hca.access[memory.local_key]);
    EXPECT_NE(memory.local_key, memory.remote_key);
    ri_plane_rc.release(a.plane, &memory);
    EXPECT_EQ(nullptr, memory.registration);
    ri_plane_rc.release(a.plane, &memory);
    EXPECT_TRUE(hca.mrs.empty());

    hca.read_only = word;
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, ri_plane_rc.reg(a.plane, (void *)word, 8, &memory))
            << "it would be written";
    EXPECT_EQ(nullptr, memory.registration);
    ASSERT_EQ(UCS_OK, ri_plane_rc.reg_source(a.plane, (void *)word, 8, &memory));
    EXPECT_EQ(IBV_ACCESS_REMOTE_READ, hca.access[memory.local_key]);
    ri_plane_rc.release(a.plane, &memory);
}

/* A try with all rights fails, but only once. */
TEST_F(test_device_memory, constant_memory_is_kept)
{
    alignas(4096) static const uint64_t word[512] = {5};
    ri_plane_memory_t memory                      = {};

    if (!cache_registrations()) {
        GTEST_SKIP() << "a sanitizer is between the program and the C library";
    }
    hca.read_only = word;
    a.open();
    for (int i = 0; i < 10; ++i) {
        ASSERT_EQ(UCS_OK, ri_plane_rc.reg_source(a.plane, (void *)word, 8, &memory));
        EXPECT_EQ(IBV_ACCESS_REMOTE_READ, hca.access[memory.local_key]);
        ri_plane_rc.release(a.plane, &memory);
    }
    EXPECT_EQ(2u, hca.regs);

    /* It may be written later on. */
    hca.read_only = nullptr;
    ASSERT_EQ(UCS_OK, ri_plane_rc.reg(a.plane, (void *)word, 8, &memory));
    EXPECT_TRUE(hca.access[memory.local_key] & IBV_ACCESS_REMOTE_WRITE);
    ri_plane_rc.release(a.plane, &memory);
}

/* All workers of the process have what one has registered, until the last plane is closed. */
TEST_F(test_device_memory, registrations_are_kept)
{
    ri_plane_memory_t first = {}, second = {};
    ri_plane_counters_t counters;
    std::vector<uint8_t> data(10000);

    if (!cache_registrations()) {
        GTEST_SKIP() << "a sanitizer is between the program and the C library";
    }
    a.open();
    b.open();
    EXPECT_EQ(UCS_OK, ri_plane_rc.reg(a.plane, data.data(), data.size(), &first));
    EXPECT_EQ(UCS_OK, ri_plane_rc.reg(b.plane, data.data() + 5000, 100, &second));
    EXPECT_EQ(1u, hca.regs);
    EXPECT_EQ(first.local_key, second.local_key);
    EXPECT_EQ(first.remote_key, second.remote_key);
    ri_plane_rc.release(b.plane, &second);
    ri_plane_rc.release(a.plane, &first);
    ri_plane_rc.counters(a.plane, &counters);
    EXPECT_EQ(1u, counters.reg_hits);
    EXPECT_EQ(1u, counters.reg_misses);
    EXPECT_EQ(1u, hca.mrs.size());
    a.close();
    EXPECT_EQ(1u, hca.mrs.size());
    b.close();
    EXPECT_TRUE(hca.mrs.empty());
}

TEST_F(test_device_memory, reg_fails)
{
    struct {
        int error;
        ucs_status_t status;
    } cases[]                = {{EFAULT, UCS_ERR_INVALID_ADDR},
                                {ENOMEM, UCS_ERR_NO_MEMORY},
                                {EAGAIN, UCS_ERR_NO_MEMORY},
                                {EPERM, UCS_ERR_NO_MEMORY},
                                {EIO, UCS_ERR_IO_ERROR}};
    ri_plane_memory_t memory = {};
    uint64_t word;

    a.open();
    std::string text = printed(RI_LOG_LEVEL_WARN, [&]() {
        for (auto &c : cases) {
            memory.registration = &word;
            hca.reg_error       = c.error;
            EXPECT_EQ(c.status, ri_plane_rc.reg(a.plane, &word, 8, &memory));
            EXPECT_EQ(nullptr, memory.registration);
        }
    });
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 1);
    if (!text.empty()) {
        EXPECT_NE(std::string::npos, text.find("cannot be registered")) << text;
    }
}

} // namespace

#endif
