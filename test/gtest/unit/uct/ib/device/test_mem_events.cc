/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/ib/device/mem_events.[hc] */

#include "unit/common/ri_cpp.h"
#include "common/sanitized.h"

#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <malloc.h>
#include <string>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <ucm/api/ucm.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr size_t length = 1 << 20;

/* Keeps the events; must not allocate memory for that. */
struct recorder {
    struct {
        uintptr_t start, end;
        bool mapped;
    } events[256];
    std::atomic<size_t> count = {};

    static void record(uintptr_t start, uintptr_t end, void *arg)
    {
        auto self = static_cast<recorder *>(arg);
        size_t i  = self->count++;
        unsigned char present;

        if (i < 256) {
            self->events[i].start  = start;
            self->events[i].end    = end;
            self->events[i].mapped = mincore((void *)(start & ~4095ul), 1, &present) == 0;
        }
    }

    bool has(const void *address, size_t size) const
    {
        auto start = reinterpret_cast<uintptr_t>(address);

        for (size_t i = 0; i < std::min<size_t>(count, 256); ++i) {
            if ((events[i].start <= start) && (events[i].end >= start + size)) {
                return true;
            }
        }
        return false;
    }

    bool has_any(const void *address, size_t size) const
    {
        auto start = reinterpret_cast<uintptr_t>(address);

        for (size_t i = 0; i < std::min<size_t>(count, 256); ++i) {
            if ((events[i].start < start + size) && (events[i].end > start)) {
                return true;
            }
        }
        return false;
    }
};

class test_mem_events : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (sanitized) {
            GTEST_SKIP() << "a sanitizer is between the program and the C library";
        }
        ASSERT_NE(nullptr, dlopen("libucp.so.0", RTLD_NOW | RTLD_GLOBAL));
        ASSERT_EQ(UCS_OK, ri_mem_events_start(&m_events, recorder::record, &m_seen));
        m_seen.count = 0;
    }

    void TearDown() override { ri_mem_events_stop(&m_events); }

    static char *map(size_t size = length)
    {
        void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
        EXPECT_NE(MAP_FAILED, p);
        memset(p, 1, size);
        return static_cast<char *>(p);
    }

    /* Do something, and look for an event that has all of @a address to address + size */
    bool seen(const void *address, size_t size, const std::function<void()> &func)
    {
        m_seen.count = 0;
        func();
        return m_seen.has(address, size);
    }

    recorder m_seen;
    ri_mem_events_t m_events = {};
};

TEST_F(test_mem_events, munmap)
{
    char *p = map();

    EXPECT_TRUE(seen(p + 8192, 100, [&] { munmap(p + 8192, 100); }));
    EXPECT_TRUE(m_seen.events[0].mapped) << "an event comes before the memory goes";
    EXPECT_TRUE(seen(p, length, [&] { munmap(p, length); }));
}

TEST_F(test_mem_events, mmap_over)
{
    char *p = map();

    for (auto func : {mmap, mmap64}) {
        EXPECT_TRUE(seen(p, length, [&] {
            func(p, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        }));
    }
    munmap(p, length);
}

TEST_F(test_mem_events, mremap)
{
    char *p = map(2 * length), *q = nullptr;

    EXPECT_TRUE(seen(p + length, length, [&] { mremap(p, 2 * length, length, 0); }));
    EXPECT_TRUE(seen(p, length, [&] {
        q = static_cast<char *>(mremap(p, length, 64 * length, MREMAP_MAYMOVE));
    }));
    EXPECT_TRUE(seen(q, 64 * length, [&] { munmap(q, 64 * length); }));
}

TEST_F(test_mem_events, madvise)
{
    int fd       = memfd_create("test", 0);
    char *shared = nullptr, *p = map();

    ASSERT_GE(fd, 0);
    ASSERT_EQ(0, ftruncate(fd, length));
    shared = static_cast<char *>(
            mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ASSERT_NE(MAP_FAILED, shared);
    EXPECT_TRUE(seen(p, length, [&] { madvise(p, length, MADV_DONTNEED); }));
    EXPECT_TRUE(seen(p, length, [&] { madvise(p, length, MADV_FREE); }));
    EXPECT_TRUE(seen(shared, length, [&] { madvise(shared, length, MADV_REMOVE); }));
    EXPECT_FALSE(seen(p, length, [&] { madvise(p, length, MADV_WILLNEED); }));
    munmap(p, length);
    munmap(shared, length);
    close(fd);
}

TEST_F(test_mem_events, shared_segments)
{
    int id  = shmget(IPC_PRIVATE, length, IPC_CREAT | 0600);
    char *p = map();

    ASSERT_GE(id, 0);
    EXPECT_TRUE(seen(p, length, [&] { EXPECT_EQ(p, shmat(id, p, SHM_REMAP)); }));
    EXPECT_TRUE(seen(p, length, [&] { shmdt(p); }));
    shmctl(id, IPC_RMID, nullptr);
}

TEST_F(test_mem_events, program_break)
{
    /* Nothing else of this process moves the break here */
    void *p = sbrk(length);

    ASSERT_NE(reinterpret_cast<void *>(-1), p);
    EXPECT_TRUE(seen(p, length, [&] { sbrk(-static_cast<intptr_t>(length)); }));
    EXPECT_TRUE(seen(p, length, [&] { p = sbrk(length); }));
    EXPECT_TRUE(seen(p, length, [&] { ASSERT_EQ(0, brk(p)); }));
}

/* A block that malloc has mapped for itself. Earlier tests may have left room for it in the heap,
 * which is kept busy meanwhile. */
char *malloc_mapped(size_t size)
{
    std::vector<void *> in_heap;
    void *p;

    /* glibc notes in the word before a block how it came about: 2 means mapped */
    while (((p = malloc(size)) != nullptr) && !(static_cast<size_t *>(p)[-1] & 2)) {
        in_heap.push_back(p);
    }
    for (void *other : in_heap) {
        free(other);
    }
    return static_cast<char *>(p);
}

TEST_F(test_mem_events, free_of_a_large_block)
{
    for (size_t size : {1ul << 18, 1ul << 22, 1ul << 26}) {
        char *p = (size < (1ul << 26)) ? static_cast<char *>(malloc(size)) :
                                         malloc_mapped(size);
        unsigned char present;
        bool gone = false;

        memset(p, 1, size);
        bool event = seen(p, size, [&] {
            free(p);
            gone = mincore((void *)((uintptr_t)(p + 4096) & ~4095ul), 1, &present) != 0;
        });
        EXPECT_TRUE(event || !gone) << size;
        EXPECT_TRUE(gone || (size < (1ul << 26)));
    }
}

TEST_F(test_mem_events, realloc)
{
    char *volatile p = malloc_mapped(64 * length);

    memset(p, 1, 64 * length);
    EXPECT_TRUE(seen(p, 64 * length,
                     [&] { p = static_cast<char *>(realloc(p, 80 * length)); }));
    EXPECT_TRUE(seen(p + 41 * length, 38 * length,
                     [&] { p = static_cast<char *>(realloc(p, 40 * length)); }));
    free(p);
}

TEST_F(test_mem_events, malloc_trim_of_holes)
{
    std::vector<char *> blocks;

    for (int i = 0; i < 100; ++i) {
        blocks.push_back(static_cast<char *>(malloc(100000)));
        memset(blocks.back(), 1, 100000);
    }
    /* Behind the others, as they have filled all holes: else the break would be lowered instead */
    void *volatile keep = malloc(100000);
    /* A page: the memory may go in pieces, and where another block has a part of one it stays */
    auto inside = (reinterpret_cast<uintptr_t>(blocks[40]) + 50000) & ~4095ul;
    EXPECT_TRUE(seen(reinterpret_cast<void *>(inside), 4096, [&] {
        for (char *p : blocks) {
            free(p);
        }
        malloc_trim(0);
    }));
    free(keep);
}

TEST_F(test_mem_events, from_other_threads)
{
    char *p = map();

    EXPECT_TRUE(seen(p, length, [&] { std::thread([&] { munmap(p, length); }).join(); }));
}

/* Events that libucm misses. If such a test fails, the header of mem_events.h is out of date. */
TEST_F(test_mem_events, not_seen)
{
    int fd  = memfd_create("test", 0);
    char *p = map(), *shared;

    EXPECT_FALSE(seen(p, length, [&] { syscall(SYS_munmap, p, length); }));
    ASSERT_GE(fd, 0);
    ASSERT_EQ(0, ftruncate(fd, length));
    shared = static_cast<char *>(
            mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ASSERT_NE(MAP_FAILED, shared);
    EXPECT_FALSE(seen(shared, length, [&] { ASSERT_EQ(0, ftruncate(fd, 0)); }));
    munmap(shared, length);
    close(fd);
}

TEST_F(test_mem_events, two_users)
{
    recorder other;
    ri_mem_events_t events;
    char *p = map();

    ASSERT_EQ(UCS_OK, ri_mem_events_start(&events, recorder::record, &other));
    other.count = 0;
    munmap(p, length);
    EXPECT_TRUE(m_seen.has(p, length));
    EXPECT_TRUE(other.has(p, length));

    ri_mem_events_stop(&events);
    ri_mem_events_stop(&events); /* once more is nothing */
    p           = map();
    other.count = 0;
    munmap(p, length);
    EXPECT_TRUE(m_seen.has(p, length));
    EXPECT_FALSE(other.has_any(p, length));
}

/* Run the test "child" in a new process, with this in its environment */
void run_child(std::vector<std::pair<const char *, const char *>> variables,
               const char *filter = "--gtest_filter=test_mem_events_off.child")
{
    pid_t child = fork();
    int status  = -1;

    ASSERT_GE(child, 0);
    if (child == 0) {
        for (auto &variable : variables) {
            setenv(variable.first, variable.second, 1);
        }
        setenv("RI_TEST_MEM_EVENTS", "off", 1);
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* UCX's own, at its end */
        /* or its results would be taken for this program's */
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        execl("/proc/self/exe", "gtest_unit", "--gtest_brief=1", filter, nullptr);
        _exit(127);
    }
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status) << variables[0].first;
}

TEST(test_mem_events_off, by_environment)
{
    run_child({{"UCX_MEM_EVENTS", "n"}});
    run_child({{"UCX_MEM_MMAP_HOOK_MODE", "none"}});
}

/* As with Open MPI's own hooks, if these did not work: libucm takes the handler, but nobody
 * calls it */
TEST(test_mem_events_off, without_hooks)
{
    run_child({{"RI_TEST_MEM_EXTERNAL", "y"}, {"UCX_MEM_MMAP_HOOK_MODE", "none"}});
}

TEST(test_mem_events_off, child)
{
    ri_mem_events_t events;
    recorder seen;

    if (getenv("RI_TEST_MEM_EVENTS") == nullptr) {
        return; /* the other tests start it */
    }
    ASSERT_NE(nullptr, dlopen("libucp.so.0", RTLD_NOW | RTLD_GLOBAL));
    if (getenv("RI_TEST_MEM_EXTERNAL") != nullptr) {
        auto set_external = reinterpret_cast<__typeof__(ucm_set_external_event) *>(
                dlsym(RTLD_DEFAULT, "ucm_set_external_event"));

        ASSERT_NE(nullptr, set_external);
        set_external(UCM_EVENT_VM_UNMAPPED);
    }
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, ri_mem_events_start(&events, recorder::record, &seen));
    ri_mem_events_stop(&events);
}

/* libucm looks functions up inside of its malloc then. */
TEST(test_mem_events_off, reloc)
{
    run_child({{"UCX_MEM_MMAP_HOOK_MODE", "reloc"}},
              "--gtest_filter=test_mem_events_off.reloc_child");
}

TEST(test_mem_events_off, reloc_child)
{
    ri_mem_events_t events;
    recorder seen;

    if (getenv("RI_TEST_MEM_EVENTS") == nullptr) {
        return; /* the other test starts it */
    }
    alarm(60); /* or it would wait for ever */
    /* Debian 13's UCX has a module that loads this; loaded within, it would free memory of libucm's
     * malloc by the C library's free, which ends the process on stock, too */
    dlopen("libnuma.so.1", RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(nullptr, dlopen("libucp.so.0", RTLD_NOW | RTLD_GLOBAL));
    ucs_status_t status = ri_mem_events_start(&events, recorder::record, &seen);
    EXPECT_TRUE((status == UCS_OK) || (status == UCS_ERR_UNSUPPORTED));
    /* That is the program's, but for what UCX looks up in its modules */
    const char *error = dlerror();
    EXPECT_TRUE((error == nullptr) || (strstr(error, "/ucx/") != nullptr)) << error;
    ri_mem_events_stop(&events);
    alarm(0);
}

} // namespace
