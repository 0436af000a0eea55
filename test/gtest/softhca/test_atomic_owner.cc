/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The right to execute an atomic, whose owner was killed. A test writes the directory, as if that had
 * happened between taking the right and giving it back.
 */
#include "hca.h"
#include "softhca/wire.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

class test_softhca_atomic_owner : public softhca_test {
protected:
    void SetUp() override
    {
        softhca_test::SetUp();
        SOFTHCA_ONLY("its shared memory");
    }

    void TearDown() override
    {
        if (m_directory != nullptr) {
            munmap(m_directory, sizeof(*m_directory));
        }
        softhca_test::TearDown();
    }

    /* While somebody has a device open */
    void map_directory()
    {
        std::string name = std::string("/dev/shm/softhca.") + getenv("SOFTHCA_FABRIC") +
                           "." + std::to_string(getuid());
        int fd     = open(name.c_str(), O_RDWR);
        void *view = mmap(nullptr, sizeof(*m_directory), PROT_READ | PROT_WRITE,
                          MAP_SHARED, fd, 0);

        close(fd);
        ASSERT_NE(MAP_FAILED, view);
        m_directory = static_cast<sh_directory_t *>(view);
    }

    /* A process that is killed. @return Its slot. */
    unsigned die()
    {
        mailbox to_parent;
        pid_t pid     = spawn([&] {
            node c;

            to_parent.put(c.address());
            pause();
            return true;
        });
        unsigned slot = sh_qpn_slot(to_parent.get().qpn);

        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        return slot;
    }

    sh_directory_t *m_directory = nullptr;
};

/* Another process has the slot of the dead one: that one lives, and is not the owner. */
TEST_F(test_softhca_atomic_owner, killed_and_its_slot_is_taken)
{
    mailbox to_child, to_parent;
    node a;

    map_directory();
    unsigned slot             = die();
    m_directory->atomic_owner = m_directory->slots[slot].generation;
    m_directory->next_slot    = slot;

    pid_t pid         = spawn([&] {
        node b;
        node_address peer;

        to_parent.put(b.address());
        peer = to_child.get();
        b.connect(peer);
        EXPECT_EQ(0, b.fetch_and_add(0, peer, 0, 5));
        EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
        return true;
    });
    node_address peer = to_parent.get();
    EXPECT_EQ(slot, sh_qpn_slot(peer.qpn));
    a.connect(peer);
    to_child.put(a.address());
    EXPECT_TRUE(ended_well(pid));
    EXPECT_EQ(5, *a.at(0));
}
