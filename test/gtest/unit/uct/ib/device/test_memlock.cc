/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/ib/device/memlock.c: whether the limit of locked memory is why a registration fails. */

extern "C" {
#include "uct/ib/device/memlock.h"
}

#include "common/sanitized.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

TEST(test_memlock, forbids)
{
    const struct {
        ri_memlock_t memlock;
        size_t length;
        int forbids;
    } cases[] = {
            {{8192, 0, 0}, 8192, 0},
            {{8192, 0, 0}, 8193, 1},
            {{8192, 4096, 0}, 4096, 0},
            {{8192, 4096, 0}, 4097, 1},
            {{8192, 8192, 0}, 1, 1},
            {{8192, 12288, 0}, 1, 1},
            {{0, 0, 0}, 1, 1},
            {{8192, 0, 0}, SIZE_MAX, 1},
            {{8192, 0, 1}, 8193, 0},
            {{0, 0, 1}, 1, 0},
            {{UINT64_MAX, 0, 0}, 1ul << 40, 0},
    };

    for (const auto &c : cases) {
        EXPECT_EQ(c.forbids, ri_memlock_forbids(&c.memlock, c.length))
                << c.memlock.limit << " " << c.memlock.locked << " "
                << c.memlock.may_exceed << " " << c.length;
    }
}

/* In a process of its own, without the capability. @return Its exit code: of @a body. */
int without_capability(bool (*body)())
{
    int status;
    pid_t pid;

    fflush(nullptr);
    pid = fork();
    if (pid == 0) {
        struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
        struct __user_cap_data_struct none[2]  = {};

        _exit((syscall(SYS_capset, &header, none) == 0) && body() ? 0 : 1);
    }
    EXPECT_EQ(pid, waitpid(pid, &status, 0));
    return status;
}

TEST(test_memlock, query)
{
#if RI_TEST_ASAN
    GTEST_SKIP() << "AddressSanitizer needs more than such a limit allows";
#endif
    EXPECT_EQ(0, without_capability([]() {
                  const struct rlimit limit = {65536, 65536};
                  ri_memlock_t memlock;
                  void *page;

                  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
                      return false;
                  }
                  ri_memlock_query(&memlock);
                  if ((memlock.limit != 65536) || (memlock.locked != 0) ||
                      memlock.may_exceed) {
                      return false;
                  }
                  page = mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                  if (mlock(page, 8192) != 0) {
                      return false;
                  }
                  ri_memlock_query(&memlock);
                  return (memlock.locked == 8192) &&
                         !ri_memlock_forbids(&memlock, 57344) &&
                         ri_memlock_forbids(&memlock, 57345);
              }));
}

/* The kernel's own verdict */
TEST(test_memlock, query_without_a_limit_and_with_the_capability)
{
#if RI_TEST_ASAN
    GTEST_SKIP() << "AddressSanitizer needs more than such a limit allows";
#endif
    const struct rlimit before = []() {
        struct rlimit limit;
        getrlimit(RLIMIT_MEMLOCK, &limit);
        return limit;
    }();
    ri_memlock_t memlock;

    ri_memlock_query(&memlock);
    EXPECT_EQ(before.rlim_cur == RLIM_INFINITY, memlock.limit == UINT64_MAX);
    EXPECT_EQ(0, without_capability([]() {
                  const struct rlimit none = {0, 0};
                  ri_memlock_t mine;
                  char page[64];

                  if (setrlimit(RLIMIT_MEMLOCK, &none) != 0) {
                      return false;
                  }
                  ri_memlock_query(&mine);
                  return (mlock(page, sizeof(page)) != 0) &&
                         ri_memlock_forbids(&mine, 64);
              }));
    if (memlock.may_exceed) {
        const struct rlimit none = {0, before.rlim_max};
        char page[64];

        ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &none));
        EXPECT_EQ(0, mlock(page, sizeof(page)));
        munlock(page, sizeof(page));
        setrlimit(RLIMIT_MEMLOCK, &before);
    }
}

} // namespace
