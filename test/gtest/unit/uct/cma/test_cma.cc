/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/uct/cma/cma.c: what is read and written, between processes.
 */

#include "cma_test.h"

namespace {

class test_cma : public cma_test {};

TEST_F(test_cma, open)
{
    EXPECT_EQ(&ri_plane_cma, m_plane->ops);
    EXPECT_EQ(
            (unsigned)(RI_PLANE_READ | RI_PLANE_WRITE | RI_PLANE_LISTS | RI_PLANE_INLINE),
            m_plane->capabilities);
}

TEST_F(test_cma, address)
{
    EXPECT_EQ(ri_host_id(), m_own.host);
    EXPECT_EQ((uint32_t)getpid(), m_own.pid);
    EXPECT_EQ((uint32_t)ri_host_process_start(getpid()), m_own.start);
    EXPECT_EQ(m_own.cookie, *(uint64_t *)(uintptr_t)m_own.cookie_address);

    ri_plane_t *other;
    ri_cma_address_t address;
    ASSERT_EQ(UCS_OK, ri_plane_cma.open(&other));
    ri_plane_cma.address(other, &address);
    EXPECT_NE(m_own.cookie, address.cookie);
    ri_plane_cma.close(other);
}

TEST_F(test_cma, measure)
{
    std::vector<char> from(32768, 'x'), to(32768);
    ri_plane_cost_t cost = {};

    EXPECT_EQ(UCS_OK, ri_plane_cma.measure(to.data(), from.data(), from.size(), &cost));
    EXPECT_LT(0, cost.call);
    EXPECT_LT(0, cost.rate);
    EXPECT_EQ(from, to);
    /* Memory that is not there */
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              ri_plane_cma.measure(to.data(), nullptr, from.size(), &cost));
}

TEST_F(test_cma, own_process)
{
    char from[] = "abc", to[] = "   ";

    m_address = m_own;
    connect();
    EXPECT_EQ(UCS_OK, read({segment(to, 3)}, {segment(from, 3)}, 0, 3));
    EXPECT_STREQ("abc", to);
}

/* Private memory that only the other process has. */
TEST_F(test_cma, read_and_write)
{
    static uint64_t word;

    word = 1;
    start([]() {
        word = 2;
        return 0;
    });
    connect();

    uint64_t value = 3;
    ASSERT_EQ(UCS_OK, read({segment(&value, 8)}, {segment(&word, 8)}, 0, 8));
    EXPECT_EQ(2u, value);
    value = 4;
    ASSERT_EQ(UCS_OK, write({segment(&value, 8)}, {segment(&word, 8)}, 0, 8));
    value = 5;
    ASSERT_EQ(UCS_OK, read({segment(&value, 8)}, {segment(&word, 8)}, 0, 8));
    EXPECT_EQ(4u, value);
    EXPECT_EQ(1u, word);
}

/* The other process accesses this one. */
TEST_F(test_cma, both_ways)
{
    static uint64_t word;
    ri_cma_address_t own = m_own;

    word = 1;
    start([own]() {
        uint64_t value = 0, answer = 7;
        ri_plane_ep_t *ep;
        ri_plane_t *plane;

        word      = 2;
        bool good = (ri_plane_cma.open(&plane) == UCS_OK) &&
                    (ri_plane_cma.connect(plane, &own, sizeof(own), &ep) == UCS_OK) &&
                    (move(ep, false, {segment(&value, 8)}, {segment(&word, 8)}, 0, 8) ==
                     UCS_OK) &&
                    (value == 1) &&
                    (move(ep, true, {segment(&answer, 8)}, {segment(&word, 8)}, 0, 8) ==
                     UCS_OK);
        return good ? 0 : 1;
    });
    EXPECT_EQ(0, m_remote->end());
    EXPECT_EQ(7u, word);
}

TEST_F(test_cma, zero_length)
{
    char data[8] = "1234567";

    start();
    connect();
    EXPECT_EQ(UCS_OK, read({}, {}, 0, 0));
    EXPECT_EQ(UCS_OK, write({}, {}, 0, 0));
    EXPECT_EQ(UCS_OK, read({}, {}, 100, 0));
    EXPECT_EQ(UCS_OK, read({segment(data, 0)}, {segment(nullptr, 0)}, 0, 0));
    EXPECT_EQ(UCS_OK, write({segment(data, 8)}, {segment(nullptr, 8)}, 8, 0));
    EXPECT_STREQ("1234567", data);
}

/* Empty segments are no segments, wherever they point to. */
TEST_F(test_cma, empty_segments)
{
    segments local, remote;
    char from[] = "abcdef", to[] = "      ";

    for (int i = 0; i < 200; ++i) {
        local.push_back(segment(nullptr, 0));
        remote.push_back(segment((void *)~0ul, 0));
    }
    remote.push_back(segment(from, 2));
    remote.push_back(segment((void *)~0ul, 0));
    remote.push_back(segment(from + 2, 4));
    local.push_back(segment(to, 6));
    start();
    connect();
    EXPECT_EQ(UCS_OK, read(local, remote, 1, 5));
    EXPECT_STREQ(" bcdef", to);
}

TEST_F(test_cma, random)
{
    const size_t length = 20000;
    std::vector<uint8_t> local(length);
    shared_memory remote(length);

    start();
    connect();
    for_seeds(300, [&](rng &random) {
        run_random(random, random.percent(50), local.data(), remote.data(),
                   random.range(1, length), random.percent(50) ? 5 : 150);
    });
}

/* More segments than the kernel takes in one call, on either side. */
TEST_F(test_cma, random_many_segments)
{
    const size_t length = 100000;
    std::vector<uint8_t> local(length);
    shared_memory remote(length);

    start();
    connect();
    for_seeds(20, [&](rng &random) {
        run_random(random, random.percent(50), local.data(), remote.data(), length, 9000);
    });
}

TEST_F(test_cma, many_against_one)
{
    const size_t count = 5000;
    std::vector<uint8_t> local(count);
    shared_memory remote(count);
    segments single;

    for (size_t i = 0; i < count; ++i) {
        remote.data()[i] = i * 7;
        single.push_back(segment(remote.data() + count - 1 - i, 1));
    }
    start();
    connect();
    ASSERT_EQ(UCS_OK, read({segment(local.data(), count)}, single, 0, count));
    for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ((uint8_t)((count - 1 - i) * 7), local[i]);
    }

    single.clear();
    for (size_t i = 0; i < count; ++i) {
        single.push_back(segment(&local[i], 1));
    }
    memset(remote.data(), 0, count);
    ASSERT_EQ(UCS_OK, write(single, {segment(remote.data(), count)}, 0, count));
    EXPECT_TRUE(std::equal(local.begin(), local.end(), remote.data()));
}

TEST_F(test_cma, list_too_short)
{
    char data[16] = {};

    start();
    connect();
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read({segment(data, 16)}, {}, 0, 1));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, read({}, {segment(data, 16)}, 0, 1));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              read({segment(data, 16)}, {segment(data, 8)}, 0, 16));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              write({segment(data, 8)}, {segment(data, 16)}, 0, 16));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              read({segment(data, 16)}, {segment(data, 16)}, 16, 1));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              read({segment(data, 16)}, {segment(data, 16)}, ~0ul, 1));
    EXPECT_EQ(UCS_OK, read({segment(data, 16)}, {segment(data, 16)}, 8, 8));
}

/* Whatever the remote list says: an error, and the connection goes on. */
/* Whatever number of segments each side has, a read that verifies says whether the other side had
 * its plane still after all was read; others do not ask. Both sides are this process. */
TEST_F(test_cma, verify)
{
    const size_t COUNTS[] = {1, 2, 63, 64, 65, 128, 200};
    const size_t LENGTH   = 64 * 128 * 200;
    std::vector<uint8_t> from(LENGTH), to(LENGTH);
    rng random(1);

    m_address = m_own;
    connect();
    fill(random, from.data(), LENGTH);
    for (bool withdrawn : {false, true}) {
        if (withdrawn) {
            ri_plane_cma.leave(m_plane);
        }
        for (size_t local : COUNTS) {
            for (size_t remote : COUNTS) {
                for (bool verify : {false, true}) {
                    segments in, out;

                    for (size_t i = 0; i < local; ++i) {
                        in.push_back(segment(&to[i * (LENGTH / local)], LENGTH / local));
                    }
                    for (size_t i = 0; i < remote; ++i) {
                        out.push_back(
                                segment(&from[i * (LENGTH / remote)], LENGTH / remote));
                    }
                    size_t length = std::min(total(in), total(out));
                    std::fill(to.begin(), to.end(), 0);
                    EXPECT_EQ((verify && withdrawn) ? UCS_ERR_UNREACHABLE : UCS_OK,
                              move(m_ep, false, in, out, 0, length, verify))
                            << local << " from " << remote;
                    EXPECT_EQ(0, memcmp(from.data(), to.data(), length));
                }
            }
        }
    }
}

TEST_F(test_cma, bad_remote_address)
{
    shared_memory map(4 * PAGE);
    uint8_t *hole = map.data() + PAGE;
    std::vector<uint8_t> local(4 * PAGE, 1);

    start([hole]() {
        bool good = (munmap(hole, PAGE) == 0) &&
                    (mprotect(hole + PAGE, PAGE, PROT_READ) == 0);

        return good ? 0 : 1;
    });
    connect();

    const ri_segment_t bad[] = {segment(nullptr, 8),
                                segment(hole, 8),
                                segment(hole, PAGE),
                                segment(hole - 4, 8),
                                segment((void *)~0ul, 8),
                                segment((void *)(~0ul - PAGE + 1), 2 * PAGE),
                                segment((void *)(1ul << 63), 8),
                                segment((void *)0xffffffff80000000ul, 8),
                                segment(hole, ~0ul),
                                segment((void *)~0ul, ~0ul)};
    for (const ri_segment_t &s : bad) {
        size_t length = std::min<uint64_t>(s.length, local.size());

        EXPECT_EQ(UCS_ERR_INVALID_ADDR,
                  read({segment(local.data(), length)}, {s}, 0, length))
                << std::hex << s.address << " " << s.length;
        EXPECT_EQ(UCS_ERR_INVALID_ADDR,
                  write({segment(local.data(), length)}, {s}, 0, length))
                << std::hex << s.address << " " << s.length;
    }

    EXPECT_EQ(UCS_OK, read({segment(local.data(), 8)}, {segment(hole + PAGE, 8)}, 0, 8));
    EXPECT_EQ(UCS_ERR_INVALID_ADDR,
              write({segment(local.data(), 8)}, {segment(hole + PAGE, 8)}, 0, 8));
    EXPECT_EQ(UCS_OK,
              read({segment(local.data(), 8)}, {segment(map.data(), ~0ul)}, 0, 8));
    EXPECT_EQ(0, m_remote->end());
}

/* The kernel stops in front of what it cannot access, within a segment or between two. */
TEST_F(test_cma, hole_on_the_way)
{
    shared_memory map(3 * PAGE);
    uint8_t *hole = map.data() + PAGE;
    std::vector<uint8_t> local(3 * PAGE, 0), before(PAGE, 5);

    memset(map.data(), 5, map.size());
    start([hole]() { return munmap(hole, PAGE); });
    connect();
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, read({segment(local.data(), 3 * PAGE)},
                                         {segment(map.data(), 3 * PAGE)}, 0, 3 * PAGE));
    EXPECT_TRUE(std::equal(before.begin(), before.end(), local.begin()));
    EXPECT_EQ(0, local[PAGE]);

    EXPECT_EQ(UCS_ERR_INVALID_ADDR,
              read({segment(local.data(), 3 * PAGE)},
                   {segment(hole - 4, 4), segment(hole, 4), segment(hole - 4, 4)}, 0,
                   12));

    /* It is not reached */
    EXPECT_EQ(UCS_OK, read({segment(local.data(), PAGE)}, {segment(map.data(), 3 * PAGE)},
                           0, PAGE));
    EXPECT_EQ(UCS_OK, read({segment(local.data(), 3 * PAGE)},
                           {segment(map.data(), 3 * PAGE)}, 2 * PAGE, PAGE));
}

TEST_F(test_cma, bad_local_address)
{
    shared_memory map(PAGE);

    start();
    connect();
    EXPECT_EQ(UCS_ERR_INVALID_ADDR,
              read({segment(nullptr, 8)}, {segment(map.data(), 8)}, 0, 8));
    EXPECT_EQ(UCS_ERR_INVALID_ADDR,
              write({segment(nullptr, 8)}, {segment(map.data(), 8)}, 0, 8));
    EXPECT_EQ(UCS_OK, read({segment(map.data(), 8)}, {segment(map.data(), 8)}, 0, 8));
}

/* One segment that is longer than what the kernel moves in a call. Remote memory that was
 * never written takes none; local memory is one file, many times. */
TEST_F(test_cma, more_than_one_call_moves)
{
    const size_t tile = 4ul << 20, length = MAX_CALL + 3 * PAGE;
    const size_t marks[] = {MAX_CALL - 1, MAX_CALL, MAX_CALL + PAGE - 1, length - 1};

    auto *remote = (uint8_t *)mmap(nullptr, length, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    auto *local  = (uint8_t *)mmap(nullptr, length + tile, PROT_NONE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if ((remote == MAP_FAILED) || (local == MAP_FAILED)) {
        GTEST_SKIP() << "no address space for two times 2 GB";
    }
    int fd = memfd_create("test_cma", MFD_CLOEXEC);
    ASSERT_EQ(0, ftruncate(fd, tile));
    for (size_t at = 0; at < length; at += tile) {
        ASSERT_EQ(local + at, mmap(local + at, tile, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_FIXED, fd, 0));
    }
    close(fd);

    start([&]() {
        for (size_t mark : marks) {
            remote[mark] = mark % 255 + 1;
        }
        return 0;
    });
    connect();
    ASSERT_EQ(UCS_OK,
              read({segment(local, length)}, {segment(remote, length)}, 0, length));
    for (size_t mark : marks) {
        EXPECT_EQ(mark % 255 + 1, local[mark]) << mark;
    }
    EXPECT_EQ(0, local[MAX_CALL + 1]);
    munmap(local, length + tile);
    munmap(remote, length);
}

} // namespace
