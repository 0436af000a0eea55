/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/rma/describe.c, rkey.[hc] and reach.c: what a process says of its memory, and how others
 * reach it by that.
 */

#include "unit/common/ri_cpp.h"

#include <dirent.h>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/* Stock's key; it is never looked into. */
ucp_rkey_h key(unsigned i)
{
    static char keys[16];

    return reinterpret_cast<ucp_rkey_h>(&keys[i]);
}

/* What is not as it should be in a child. */
#define CHILD_CHECK(_condition) \
    if (!(_condition)) { \
        fprintf(stderr, "child, line %d: %s\n", __LINE__, #_condition); \
        return 1; \
    }

/* Another process, made before there is anything that it could inherit; it is told of memory. */
class peer {
public:
    typedef std::function<int(const ri_wire_rkey_t &wire)> main_func;

    explicit peer(const main_func &main)
    {
        int fds[2];

        EXPECT_EQ(0, pipe(fds));
        m_pid = fork();
        if (m_pid == 0) {
            ri_wire_rkey_t wire;

            close(fds[1]);
            if (read(fds[0], &wire, sizeof(wire)) != sizeof(wire)) {
                _exit(100);
            }
            _exit(main(wire));
        }
        close(fds[0]);
        m_pipe = fds[1];
    }

    ~peer() { close(m_pipe); }

    /* @return The exit code. */
    int run(const ri_wire_rkey_t &wire)
    {
        int status = -1;

        EXPECT_EQ((ssize_t)sizeof(wire), write(m_pipe, &wire, sizeof(wire)));
        EXPECT_EQ(m_pid, waitpid(m_pid, &status, 0));
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t m_pid;
    int m_pipe;
};

class test_rkey_peer : public ::testing::Test {
protected:
    void SetUp() override
    {
        ri_config.cma = 1;
        /* As UCX does: under Yama's ptrace_scope 1 children may not access this process */
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        m_fd     = memfd_create("test_rkey_peer", MFD_CLOEXEC);
        m_shared = (char *)mmap(nullptr, m_length, PROT_READ | PROT_WRITE, MAP_SHARED,
                                (ftruncate(m_fd, m_length) == 0) ? m_fd : -1, 0);
        ASSERT_NE(MAP_FAILED, (void *)m_shared);
    }

    void TearDown() override
    {
        ri_region_remove(m_private_handle);
        ri_region_remove(m_shared_handle);
        munmap(m_shared, m_length);
        close(m_fd);
    }

    ri_wire_rkey_t describe_private()
    {
        return describe(m_private_handle, m_private, sizeof(m_private));
    }

    ri_wire_rkey_t describe_shared()
    {
        return describe(m_shared_handle, m_shared + 100, 1000);
    }

    static ri_wire_rkey_t describe(ucp_mem_h handle, const void *address, size_t length)
    {
        ri_wire_rkey_t wire = {}, parsed;
        const void *stock;

        ri_region_add(handle, address, length);
        EXPECT_EQ(UCS_OK, ri_describe(handle, 0, &wire));
        EXPECT_EQ(UCS_OK, ri_wire_rkey_parse(&wire, &stock, &parsed));
        return wire;
    }

    /* What another process knows of this memory. */
    static void expect_nothing_known(peer *other, const ri_wire_rkey_t &wire)
    {
        EXPECT_EQ(0, other->run(wire));
    }

    static int nothing_known(const ri_wire_rkey_t &wire)
    {
        ri_rkey_add(key(0), &wire);
        CHILD_CHECK(ri_rkey_find(key(0)) == nullptr);
        ri_rkey_remove(key(0));
        return 0;
    }

    const size_t m_length = 16384;
    int m_fd;
    char *m_shared;
    alignas(64) char m_private[256]  = "private";
    const ucp_mem_h m_private_handle = reinterpret_cast<ucp_mem_h>(m_private);
    const ucp_mem_h m_shared_handle  = reinterpret_cast<ucp_mem_h>(m_private + 1);
};

TEST_F(test_rkey_peer, describe)
{
    ri_wire_rkey_t wire = describe_private();
    ri_region_t region;

    ASSERT_TRUE(ri_region_find(m_private_handle, &region));
    EXPECT_EQ(ri_host_id(), (uint64_t)wire.process.host);
    EXPECT_EQ((uint32_t)getpid(), (uint32_t)wire.process.pid);
    EXPECT_EQ((uintptr_t)m_private, (uint64_t)wire.address);
    EXPECT_EQ(sizeof(m_private), (uint64_t)wire.size);
    EXPECT_EQ(region.number, (uint64_t)wire.region);
    EXPECT_EQ(0u, (uint64_t)wire.place.inode);
    EXPECT_EQ(sizeof(ri_cma_address_t), wire.plane_length);
    EXPECT_EQ((uint32_t)ri_serve_start() + 1, (uint32_t)wire.mailbox);
    EXPECT_EQ(ri_ib_presence_is_likely() ? RI_WIRE_ATOMICS_STOCK : RI_WIRE_ATOMICS_CPU,
              wire.atomics);
}

TEST_F(test_rkey_peer, describe_shared)
{
    ri_wire_rkey_t wire = describe_shared();
    struct stat st      = {};

    ASSERT_EQ(0, fstat(m_fd, &st));
    EXPECT_EQ(st.st_ino, (uint64_t)wire.place.inode);
    EXPECT_EQ(100u, (uint64_t)wire.place.offset);
    EXPECT_EQ(0u, (uint32_t)wire.mailbox) << "no mail for what can be mapped";
    EXPECT_NE(0u, wire.plane_length);

    /* It is described as it is now: not all of it is of one file any more. */
    ASSERT_EQ(m_shared, mmap(m_shared, 4096, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    ASSERT_EQ(UCS_OK, ri_describe(m_shared_handle, 0, &wire));
    EXPECT_EQ(0u, (uint64_t)wire.place.inode);
    EXPECT_NE(0u, (uint32_t)wire.mailbox);
}

TEST_F(test_rkey_peer, describe_what_is_stocks_alone)
{
    ri_wire_rkey_t wire;

    memset((void *)&wire, 0x77, sizeof(wire));
    ri_wire_rkey_t before = wire;
    EXPECT_EQ(UCS_ERR_NO_ELEM, ri_describe(m_private_handle, 0, &wire));
    EXPECT_EQ(0, memcmp(&before, &wire, sizeof(wire)));
    ri_region_add(m_private_handle, m_private, 0);
    EXPECT_EQ(UCS_ERR_NO_ELEM, ri_describe(m_private_handle, 0, &wire));
    describe_private();
    ri_region_remove(m_private_handle);
    EXPECT_EQ(UCS_ERR_NO_ELEM, ri_describe(m_private_handle, 0, &wire));
}

/* What the kernel says of devices; more may be made of software. */
TEST_F(test_rkey_peer, presence)
{
    DIR *dir   = opendir("/sys/class/infiniband");
    bool found = false;

    for (struct dirent *entry = nullptr;
         (dir != nullptr) && ((entry = readdir(dir)) != nullptr);) {
        found = found || (entry->d_name[0] != '.');
    }
    if (dir != nullptr) {
        closedir(dir);
    }
    EXPECT_TRUE(!found || ri_ib_presence_is_likely());
    EXPECT_EQ(ri_ib_presence_is_likely(), ri_ib_presence_is_likely());
}

TEST_F(test_rkey_peer, own_process)
{
    for (const ri_wire_rkey_t &wire : {describe_private(), describe_shared()}) {
        ri_rkey_add(key(0), &wire);
        ri_rkey_t *rkey = ri_rkey_find(key(0));
        ASSERT_NE(nullptr, rkey);
        EXPECT_EQ(RI_RKEY_MAPPED, rkey->access);
        EXPECT_EQ(0u, rkey->shift);
        EXPECT_EQ(nullptr, rkey->view.address);
        EXPECT_EQ(nullptr, rkey->reach);
        EXPECT_EQ((uint64_t)wire.address, rkey->address);
        EXPECT_EQ((uint64_t)wire.size, rkey->size);
        EXPECT_EQ((void *)(uintptr_t)(wire.address + 7),
                  ri_rkey_local(rkey, wire.address + 7));
        ri_rkey_remove(key(0));
        EXPECT_EQ(nullptr, ri_rkey_find(key(0)));
    }
}

TEST_F(test_rkey_peer, atomics)
{
    ri_wire_rkey_t wire = describe_private();

    for (auto atomics : {RI_WIRE_ATOMICS_STOCK, RI_WIRE_ATOMICS_CPU}) {
        wire.atomics = atomics;
        ri_rkey_add(key(0), &wire);
        ASSERT_NE(nullptr, ri_rkey_find(key(0)));
        EXPECT_EQ(atomics == RI_WIRE_ATOMICS_CPU, !!ri_rkey_find(key(0))->atomics);
        ri_rkey_remove(key(0));
    }
}

TEST_F(test_rkey_peer, has)
{
    ri_rkey_t rkey = {};

    rkey.address = 0x1000;
    rkey.size    = 0x100;
    EXPECT_TRUE(ri_rkey_has(&rkey, 0x1000, 0x100));
    EXPECT_TRUE(ri_rkey_has(&rkey, 0x1000, 0));
    EXPECT_TRUE(ri_rkey_has(&rkey, 0x10ff, 1));
    EXPECT_TRUE(ri_rkey_has(&rkey, 0x1100, 0));
    EXPECT_FALSE(ri_rkey_has(&rkey, 0x1000, 0x101));
    EXPECT_FALSE(ri_rkey_has(&rkey, 0x0fff, 1));
    EXPECT_FALSE(ri_rkey_has(&rkey, 0x0fff, 0x101));
    EXPECT_FALSE(ri_rkey_has(&rkey, 0x10ff, 2));
    EXPECT_FALSE(ri_rkey_has(&rkey, 0x1101, 0));
    EXPECT_FALSE(ri_rkey_has(&rkey, 0, SIZE_MAX));
    EXPECT_FALSE(ri_rkey_has(&rkey, 0x1010, SIZE_MAX - 0xf));
    EXPECT_FALSE(ri_rkey_has(&rkey, UINT64_MAX, 1));
    EXPECT_FALSE(ri_rkey_has(&rkey, UINT64_MAX, 2));
    rkey.address = UINT64_MAX - 0xff;
    rkey.size    = 0xff;
    EXPECT_TRUE(ri_rkey_has(&rkey, UINT64_MAX - 0xff, 0xff));
    EXPECT_FALSE(ri_rkey_has(&rkey, UINT64_MAX, 1));
    EXPECT_FALSE(ri_rkey_has(&rkey, 0, 1));
}

TEST_F(test_rkey_peer, unknown)
{
    ri_wire_rkey_t wire = describe_private();

    EXPECT_EQ(nullptr, ri_rkey_find(key(1)));
    ri_rkey_remove(key(1));
    ri_rkey_remove(nullptr);
    wire.size = 0;
    ri_rkey_add(key(1), &wire);
    EXPECT_EQ(nullptr, ri_rkey_find(key(1)));
}

TEST_F(test_rkey_peer, private_memory_of_another_process)
{
    peer other([](const ri_wire_rkey_t &wire) {
        char text[16] = "";

        ri_rkey_add(key(0), &wire);
        ri_rkey_t *rkey = ri_rkey_find(key(0));
        CHILD_CHECK(rkey != nullptr);
        CHILD_CHECK(rkey->access == RI_RKEY_CMA);
        CHILD_CHECK((rkey->reach != nullptr) && (rkey->view.address == nullptr));
        CHILD_CHECK((rkey->region == wire.region) && (rkey->size == wire.size));
        CHILD_CHECK(rkey->reach->mail.area != nullptr);
        CHILD_CHECK(ri_reach_copy(rkey->reach, 0, text, wire.address, 8) == UCS_OK);
        CHILD_CHECK(strncmp(text, "parent's", 8) == 0);
        strcpy(text, "child's");
        CHILD_CHECK(ri_reach_copy(rkey->reach, 1, text, wire.address + 64, 8) == UCS_OK);
        ri_rkey_remove(key(0));
        CHILD_CHECK(ri_rkey_find(key(0)) == nullptr);
        return 0;
    });
    strcpy(m_private, "parent's");
    EXPECT_EQ(0, other.run(describe_private()));
    EXPECT_STREQ("child's", m_private + 64);
}

TEST_F(test_rkey_peer, memory_that_both_map)
{
    peer other([this](const ri_wire_rkey_t &wire) {
        ri_rkey_add(key(0), &wire);
        ri_rkey_t *rkey = ri_rkey_find(key(0));
        CHILD_CHECK(rkey != nullptr);
        CHILD_CHECK(rkey->access == RI_RKEY_MAPPED);
        CHILD_CHECK((rkey->reach != nullptr) && (rkey->view.address != nullptr));
        CHILD_CHECK(rkey->reach->mail.area == nullptr);
        char *memory = (char *)ri_rkey_local(rkey, wire.address);
        CHILD_CHECK(memory == rkey->view.address);
        CHILD_CHECK(strcmp(memory, "parent's") == 0);
        munmap(m_shared, m_length); /* the view is another mapping */
        strcpy((char *)ri_rkey_local(rkey, wire.address + 993), "child");
        ri_rkey_remove(key(0));
        /* Now it does not map it any more. */
        ri_rkey_add(key(0), &wire);
        rkey = ri_rkey_find(key(0));
        CHILD_CHECK((rkey != nullptr) && (rkey->access == RI_RKEY_CMA));
        CHILD_CHECK((rkey->reach != nullptr) && (rkey->reach->mail.area == nullptr));
        return 0;
    });
    strcpy(m_shared + 100, "parent's");
    EXPECT_EQ(0, other.run(describe_shared()));
    EXPECT_STREQ("child", m_shared + 1093);
}

/* Numbers of processes and files mean something else there. */
TEST_F(test_rkey_peer, another_host)
{
    for (int bit : {0, 20, 39}) {
        for (bool shared : {false, true}) {
            peer other(nothing_known);
            ri_wire_rkey_t wire = shared ? describe_shared() : describe_private();

            wire.process.host ^= 1ul << bit;
            expect_nothing_known(&other, wire);
            TearDown();
            SetUp();
        }
    }
    peer none(nothing_known);
    ri_wire_rkey_t wire = describe_private();
    wire.process.host   = 0;
    expect_nothing_known(&none, wire);
}

/* A host of another name may be this one: what the plane reads proves it. */
TEST_F(test_rkey_peer, another_name_of_the_host)
{
    peer proved([](const ri_wire_rkey_t &wire) {
        ri_rkey_add(key(0), &wire);
        ri_rkey_t *rkey = ri_rkey_find(key(0));
        CHILD_CHECK((rkey != nullptr) && (rkey->access == RI_RKEY_MAPPED));
        CHILD_CHECK((rkey->reach != nullptr) && (rkey->view.address != nullptr));
        ri_rkey_remove(key(0));
        return 0;
    });
    peer not_proved(nothing_known), without(nothing_known);
    ri_wire_rkey_t wire = describe_shared();

    wire.process.host ^= 1ul << 50;
    wire.plane[6] ^= 1 << 2;
    EXPECT_EQ(0, proved.run(wire));
    wire.plane[31] ^= 1; /* the cookie */
    expect_nothing_known(&not_proved, wire);
    wire.plane_length = 0;
    expect_nothing_known(&without, wire);
}

TEST_F(test_rkey_peer, garbage_plane_address)
{
    for (unsigned i = 0; i < RI_PLANE_ADDRESS_MAX; ++i) {
        peer other(nothing_known);
        ri_wire_rkey_t wire = describe_private();

        wire.plane[i] ^= 1;
        expect_nothing_known(&other, wire);
        ri_region_remove(m_private_handle);
    }
    for (unsigned length : {0u, 1u, 31u}) {
        peer other(nothing_known);
        ri_wire_rkey_t wire = describe_private();

        wire.plane_length = length;
        expect_nothing_known(&other, wire);
        ri_region_remove(m_private_handle);
    }
}

/* UCXRI_CMA=n here, or there */
TEST_F(test_rkey_peer, without_cma)
{
    peer here([](const ri_wire_rkey_t &wire) {
        uint8_t address[RI_PLANE_ADDRESS_MAX];

        ri_config.cma = 0;
        CHILD_CHECK(ri_reach_address(address) == 0);
        return nothing_known(wire);
    });
    EXPECT_EQ(0, here.run(describe_private()));
}

/* A mailbox that is none does not keep a key from its memory. */
TEST_F(test_rkey_peer, garbage_mailbox)
{
    for (uint32_t mailbox : {0u, 1u, 1u << 30, UINT32_MAX}) {
        peer other([](const ri_wire_rkey_t &wire) {
            ri_rkey_add(key(0), &wire);
            ri_rkey_t *rkey = ri_rkey_find(key(0));
            CHILD_CHECK((rkey != nullptr) && (rkey->access == RI_RKEY_CMA));
            CHILD_CHECK(rkey->reach->mail.area == nullptr);
            return 0;
        });
        ri_wire_rkey_t wire = describe_private();

        wire.mailbox = mailbox;
        EXPECT_EQ(0, other.run(wire)) << mailbox;
        ri_region_remove(m_private_handle);
    }
}

TEST_F(test_rkey_peer, keys_of_one_process_share_a_way)
{
    peer other([](const ri_wire_rkey_t &wire) {
        ri_wire_rkey_t second = wire, third = wire;

        second.region += 1;
        third.mailbox = 0;
        ri_rkey_add(key(2), &third);
        ri_reach_t *reach = ri_rkey_find(key(2))->reach;
        CHILD_CHECK(reach->mail.area == nullptr);
        ri_rkey_add(key(0), &wire);
        ri_rkey_add(key(1), &second);
        CHILD_CHECK(ri_rkey_find(key(0))->reach == reach);
        CHILD_CHECK(ri_rkey_find(key(1))->reach == reach);
        CHILD_CHECK(reach->mail.area != nullptr);
        CHILD_CHECK(reach->users == 3);
        unsigned slot           = reach->mail.slot;
        ri_mailbox_area_t *area = reach->mail.area;
        CHILD_CHECK(area->owners[slot] != 0);
        ri_rkey_remove(key(0));
        ri_rkey_remove(key(2));
        CHILD_CHECK(ri_rkey_find(key(1))->reach == reach);
        char text[8] = "";
        CHILD_CHECK(ri_reach_copy(reach, 0, text, wire.address, 8) == UCS_OK);
        CHILD_CHECK(area->owners[slot] != 0);
        ri_rkey_remove(key(1));
        CHILD_CHECK(area->owners[slot] != 0); /* it is kept for the next key */
        ri_rkey_add(key(1), &wire);
        CHILD_CHECK(ri_rkey_find(key(1))->reach == reach);
        CHILD_CHECK(reach->users == 1);
        reach->lost = UCS_ERR_INVALID_ADDR; /* such a one is not */
        ri_rkey_remove(key(1));
        return 0;
    });
    ri_serve_start();
    ri_mailbox_area_t *area = ri_serve_mailbox.load()->area;
    uint64_t owners[RI_MAILBOX_SLOTS];
    std::copy(std::begin(area->owners), std::end(area->owners), owners);
    EXPECT_EQ(0, other.run(describe_private()));
    unsigned given_back = 0;
    for (unsigned i = 0; i < RI_MAILBOX_SLOTS; ++i) {
        /* That of a child of another test, which has ended with it, may have been taken */
        given_back += (owners[i] != area->owners[i].load());
        EXPECT_TRUE((area->owners[i].load() == 0) ||
                    (area->owners[i].load() == owners[i]));
    }
    EXPECT_GE(1u, given_back);
}

/* Ways are found by their addresses, and held by count. */
TEST_F(test_rkey_peer, ways)
{
    uint8_t address[RI_PLANE_ADDRESS_MAX];
    size_t length = ri_reach_address(address);

    ASSERT_EQ(sizeof(ri_cma_address_t), length);
    ri_reach_t *reach = ri_reach_get(address, length);
    ASSERT_NE(nullptr, reach);
    EXPECT_EQ(reach, ri_reach_get(address, length));
    EXPECT_EQ(2u, reach->users);
    ri_reach_hold(reach);
    EXPECT_EQ(3u, reach->users);
    ri_reach_put(reach);
    ri_reach_put(reach);
    EXPECT_EQ(1u, reach->users);
    EXPECT_EQ(nullptr, ri_reach_get(address, length - 1));
    EXPECT_EQ(nullptr, ri_reach_get(address, 0));
    EXPECT_EQ(nullptr, ri_reach_get(address, RI_PLANE_ADDRESS_MAX + 1));
    ri_reach_put(reach);
    ri_reach_put(nullptr);
}

/* reach.c: "leaves the parent's ways alone". */
TEST_F(test_rkey_peer, a_child_leaves_its_parents_slot_alone)
{
    uint8_t address[RI_PLANE_ADDRESS_MAX];
    size_t length     = ri_reach_address(address);
    ri_reach_t *reach = ri_reach_get(address, length);
    int status        = -1;

    ASSERT_NE(nullptr, reach);
    ri_reach_open_mail(reach, getpid(), ri_serve_start());
    ASSERT_NE(nullptr, reach->mail.area);
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ri_reach_put(reach);
        _exit(0);
    }
    waitpid(child, &status, 0);
    EXPECT_EQ(0, status);
    EXPECT_NE(0u, reach->mail.area->owners[reach->mail.slot].load());
    ri_reach_put(reach);
}

} // namespace
