/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/rkey.h, describe.h, reach.h: what a key says, and how its memory is reached. */

#include "unit/ucp/rma/rma_child.h"

#include <gtest/gtest.h>
#include <vector>

namespace {

/* What a process tells of its memory. */
struct told {
    std::atomic<int> ready;
    ri_wire_rkey_t own; /* private memory, filled with 'p' */
    ri_wire_rkey_t shared;
    char shared_bytes[4096];
    std::atomic<int> change;
};

constexpr size_t SIZE = 3 * 4096;

ucp_mem_h memh(uintptr_t number)
{
    return reinterpret_cast<ucp_mem_h>(number * 64);
}

ucp_rkey_h rkey_of(uintptr_t number)
{
    return reinterpret_cast<ucp_rkey_h>(number * 64);
}

class test_rkey : public ::testing::Test {
protected:
    void SetUp() override
    {
        ri_config.cma = 1;
        m_fd          = memfd_create("window", MFD_CLOEXEC);
        ASSERT_EQ(0, ftruncate(m_fd, SIZE));
        m_shared = static_cast<char *>(
                mmap(nullptr, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, m_fd, 0));
    }

    void TearDown() override
    {
        for (uintptr_t i = 1; i < 20; ++i) {
            ri_rkey_remove(rkey_of(i));
            ri_region_remove(memh(i));
        }
        munmap(m_shared, SIZE);
        close(m_fd);
    }

    /* In a child: it describes its memory, and lives on. */
    void target()
    {
        auto own = static_cast<char *>(mmap(nullptr, SIZE, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

        memset(own, 'p', SIZE);
        ri_region_add(memh(10), own, SIZE);
        ri_region_add(memh(11), m_shared + 100, 4096);
        if ((ri_describe(memh(10), 0, &m_told->own) == UCS_OK) &&
            (ri_describe(memh(11), 0, &m_told->shared) == UCS_OK)) {
            m_told->ready = 1;
        }
        while (m_told->change == 0) {
            usleep(1000);
        }
        m_told->ready = (own[5] == 'n') ? 2 : 3;
        pause();
    }

    const ri_rkey_t *add(uintptr_t number, const ri_wire_rkey_t &wire)
    {
        ri_rkey_remove(rkey_of(number));
        ri_rkey_add(rkey_of(number), &wire);
        return ri_rkey_find(rkey_of(number));
    }

    shared_by_fork<told> m_told;
    char *m_shared = nullptr;
    int m_fd       = -1;
};

TEST_F(test_rkey, own_process)
{
    std::vector<char> memory(1000);
    ri_wire_rkey_t wire, lie;

    EXPECT_EQ(UCS_ERR_NO_ELEM, ri_describe(memh(1), 0, &wire));
    ri_region_add(memh(1), memory.data(), memory.size());
    ASSERT_EQ(UCS_OK, ri_describe(memh(1), 0, &wire));
    EXPECT_EQ((uintptr_t)memory.data(), (uint64_t)wire.address);
    EXPECT_EQ(memory.size(), (uint64_t)wire.size);
    EXPECT_EQ(0u, (uint64_t)wire.place.inode);
    EXPECT_NE(0u, (uint32_t)wire.mailbox);
    EXPECT_EQ((uint32_t)getpid(), wire.process.pid);
    EXPECT_EQ(ri_ib_presence_is_likely() ? RI_WIRE_ATOMICS_STOCK : RI_WIRE_ATOMICS_CPU,
              (ri_wire_atomics_t)wire.atomics);

    const ri_rkey_t *rkey = add(1, wire);
    ASSERT_NE(nullptr, rkey);
    EXPECT_EQ(RI_RKEY_MAPPED, rkey->access);
    EXPECT_EQ(memory.data() + 7, ri_rkey_local(rkey, wire.address + 7));
    EXPECT_TRUE(ri_rkey_has(rkey, wire.address, 1000));
    EXPECT_TRUE(ri_rkey_has(rkey, wire.address + 1000, 0));
    EXPECT_FALSE(ri_rkey_has(rkey, wire.address, 1001));
    EXPECT_FALSE(ri_rkey_has(rkey, wire.address - 1, 1));
    EXPECT_FALSE(ri_rkey_has(rkey, wire.address + 1000, 1));
    EXPECT_FALSE(ri_rkey_has(rkey, wire.address + 1, SIZE_MAX));
    EXPECT_FALSE(ri_rkey_has(rkey, UINT64_MAX, 2));

    /* A peer says that all of this process is the memory of a key. */
    lie         = wire;
    lie.address = 0;
    lie.size    = UINT64_MAX;
    EXPECT_EQ(nullptr, add(2, lie));
    lie      = wire;
    lie.size = 1001;
    EXPECT_EQ(nullptr, add(2, lie));
    lie = wire;
    --lie.region;
    EXPECT_EQ(nullptr, add(2, lie));
    ri_region_remove(memh(1));
    EXPECT_EQ(nullptr, add(2, wire)) << "it is not mapped any more";
    ri_rkey_remove(rkey_of(3)); /* not there */
}

TEST_F(test_rkey, other_process)
{
    rma_child child([&] { target(); });

    wait_for([&] { return m_told->ready == 1; });
    ASSERT_EQ(1, m_told->ready);
    EXPECT_NE(0u, (uint32_t)m_told->own.mailbox);
    EXPECT_EQ(0u, (uint32_t)m_told->shared.mailbox);
    EXPECT_NE(0u, (uint64_t)m_told->shared.place.inode);

    const ri_rkey_t *rkey = add(1, m_told->own);
    ASSERT_NE(nullptr, rkey);
    EXPECT_EQ(RI_RKEY_CMA, rkey->access);
    EXPECT_NE(nullptr, rkey->reach->mail.area);
    char byte[]               = "n";
    const ri_segment_t local  = {(uintptr_t)byte, 1};
    const ri_segment_t remote = {m_told->own.address + 5, 1};
    ri_transfer_t transfer    = {};
    transfer.local            = &local;
    transfer.num_local        = 1;
    transfer.remote           = &remote;
    transfer.num_remote       = 1;
    transfer.length           = 1;
    EXPECT_EQ(UCS_OK, rkey->reach->ep->plane->ops->write(rkey->reach->ep, &transfer));
    EXPECT_TRUE(ri_reach_is_there(rkey->reach));

    const ri_rkey_t *again = add(2, m_told->own);
    ASSERT_NE(nullptr, again);
    EXPECT_EQ(rkey->reach, again->reach) << "one way to a process";

    const ri_rkey_t *mapped = add(3, m_told->shared);
    ASSERT_NE(nullptr, mapped);
    EXPECT_EQ(RI_RKEY_MAPPED, mapped->access);
    memcpy(ri_rkey_local(mapped, m_told->shared.address + 10), "here", 4);
    EXPECT_EQ(0, memcmp(m_shared + 110, "here", 4));

    m_told->change = 1;
    wait_for([&] { return m_told->ready > 1; });
    EXPECT_EQ(2, m_told->ready) << "the target has not seen what was written";
    child.end(SIGKILL);
    rkey->reach->proved = 0;
    EXPECT_FALSE(ri_reach_is_there(rkey->reach));
    ri_rkey_remove(rkey_of(1));
    ri_rkey_remove(rkey_of(2));
    ri_rkey_remove(rkey_of(3));
    EXPECT_EQ(nullptr, add(1, m_told->own));
}

/* What a peer may say and must not get through with */
TEST_F(test_rkey, lies)
{
    rma_child child([&] { target(); });
    ri_wire_rkey_t lie;

    wait_for([&] { return m_told->ready == 1; });
    ASSERT_EQ(1, m_told->ready);
    lie = m_told->own;
    lie.process.host ^= 1;
    EXPECT_EQ(nullptr, add(1, lie)) << "of another host";
    lie = m_told->own;
    ++lie.process.start;
    EXPECT_EQ(nullptr, add(1, lie)) << "of another process than its plane";
    lie = m_told->own;
    lie.plane[31] ^= 1;
    EXPECT_EQ(nullptr, add(1, lie)) << "its cookie is another one";
    lie              = m_told->own;
    lie.plane_length = 3;
    EXPECT_EQ(nullptr, add(1, lie));
    lie.plane_length = sizeof(lie.process) - 1; /* what is behind it is no address */
    EXPECT_EQ(nullptr, add(1, lie));
    lie      = m_told->own;
    lie.size = 0;
    EXPECT_EQ(nullptr, add(1, lie));
    lie                   = m_told->own;
    lie.mailbox           = 1; /* descriptor 0 */
    const ri_rkey_t *rkey = add(1, lie);
    ASSERT_NE(nullptr, rkey);
    EXPECT_EQ(nullptr, rkey->reach->mail.area);
    ri_rkey_remove(rkey_of(1));

    lie = m_told->shared;
    lie.place.offset += SIZE;
    rkey = add(1, lie);
    ASSERT_NE(nullptr, rkey);
    EXPECT_EQ(RI_RKEY_CMA, rkey->access) << "beyond what is mapped";
    lie = m_told->shared;
    lie.plane[31] ^= 1;
    EXPECT_EQ(nullptr, add(1, lie)) << "nothing proves that the file is of this host";
}

/* Without direct copies memory that is mapped by both is reached all the same. */
TEST_F(test_rkey, no_direct_copies)
{
    ri_wire_rkey_t without;
    rma_child child([&] { target(); });

    wait_for([&] { return m_told->ready == 1; });
    without               = m_told->shared;
    without.plane_length  = 0;
    const ri_rkey_t *rkey = add(1, without);
    ASSERT_NE(nullptr, rkey);
    EXPECT_EQ(RI_RKEY_MAPPED, rkey->access);
    EXPECT_EQ(nullptr, rkey->reach);
    without              = m_told->own;
    without.plane_length = 0;
    EXPECT_EQ(nullptr, add(2, without));
}

TEST_F(test_rkey, may_become)
{
    const ri_rkey_access_t legal[][2] = {{RI_RKEY_NONE, RI_RKEY_MAPPED},
                                         {RI_RKEY_NONE, RI_RKEY_CMA},
                                         {RI_RKEY_CMA, RI_RKEY_STOCK}};
    unsigned count                    = 0;

    for (const auto &change : legal) {
        EXPECT_TRUE(ri_rkey_may_become(change[0], change[1]));
    }
    for (int from = 0; from < RI_RKEY_ACCESS_LAST; ++from) {
        for (int to = 0; to < RI_RKEY_ACCESS_LAST; ++to) {
            count += ri_rkey_may_become((ri_rkey_access_t)from, (ri_rkey_access_t)to);
        }
    }
    EXPECT_EQ(3u, count);
}

/* A child that gives up keys of its parent leaves the parent's slot in the mailbox alone. */
TEST_F(test_rkey, child_of_an_origin)
{
    rma_child child([&] { target(); });

    wait_for([&] { return m_told->ready == 1; });
    const ri_rkey_t *rkey = add(1, m_told->own);
    ASSERT_NE(nullptr, rkey);
    const ri_mailbox_tx_t &mail = rkey->reach->mail;
    ASSERT_NE(nullptr, mail.area);
    uint64_t owner = mail.area->owners[mail.slot];
    EXPECT_NE(0u, owner);
    {
        rma_child other([&] { ri_rkey_remove(rkey_of(1)); });
        waitpid(other.pid(), nullptr, 0);
    }
    EXPECT_EQ(owner, mail.area->owners[mail.slot].load());
}

} // namespace
