/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/mailbox.[hc]: who has which slot, and what is no mailbox. */

#include "unit/common/rng.h"
#include "unit/uct/shm/mailbox_test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

namespace {

class test_mailbox_slots : public mailbox_test {};

TEST_F(test_mailbox_slots, several_origins)
{
    const unsigned count = 19; /* in ten words of doorbells */
    std::vector<bool> taken(RI_MAILBOX_SLOTS);

    for (unsigned i = 0; i < count; ++i) {
        ASSERT_EQ(UCS_OK, open(i));
        EXPECT_FALSE(taken[m_tx[i].slot]) << m_tx[i].slot;
        taken[m_tx[i].slot] = true;
    }
    EXPECT_EQ(10u, m_rx.area->num_words.load());

    /* Each by itself */
    for (unsigned i = 0; i < count; ++i) {
        post(i, std::to_string(i));
        EXPECT_TRUE(ri_mailbox_rx_is_rung(&m_rx));
        EXPECT_EQ(1u, serve());
        EXPECT_EQ(i, served.back().head.address);
        for (unsigned k = 0; k < count; ++k) {
            EXPECT_EQ((k == i) ? RI_MAILBOX_DONE : RI_MAILBOX_FREE, state(k));
        }
        free_latest(i);
    }
    /* All at once, but one that is withdrawn */
    for (unsigned i = 0; i < count; ++i) {
        post(i);
    }
    EXPECT_TRUE(withdraw(5));
    EXPECT_EQ(count - 1, serve());
    for (unsigned i = 0; i < count; ++i) {
        EXPECT_EQ((i == 5) ? RI_MAILBOX_FREE : RI_MAILBOX_DONE, state(i));
    }
    EXPECT_EQ(2 * count - 1, served.size());
}

TEST_F(test_mailbox_slots, all_slots_are_taken)
{
    for (unsigned i = 0; i < RI_MAILBOX_SLOTS; ++i) {
        ASSERT_EQ(UCS_OK, open(i)) << i;
    }
    ri_mailbox_tx_t more;
    memset((void *)&more, 0xaa, sizeof(more));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, ri_mailbox_tx_open(&more, getpid(), m_rx.fd));
    EXPECT_EQ(nullptr, more.area);
    ri_mailbox_tx_close(&more);

    /* Each can be used, also the last one. */
    EXPECT_EQ((unsigned)RI_MAILBOX_WORDS, m_rx.area->num_words.load());
    for (unsigned i = 0; i < RI_MAILBOX_SLOTS; ++i) {
        post(i);
    }
    EXPECT_EQ((unsigned)RI_MAILBOX_SLOTS, serve());
    for (unsigned i = 0; i < RI_MAILBOX_SLOTS; ++i) {
        ASSERT_EQ(RI_MAILBOX_DONE, state(i));
        free_latest(i);
    }

    for (unsigned i : {0u, 100u, 127u}) {
        unsigned slot = m_tx[i].slot;

        ri_mailbox_tx_close(&m_tx[i]);
        ri_mailbox_tx_close(&m_tx[i]); /* there is none */
        EXPECT_EQ(nullptr, m_tx[i].area);
        ASSERT_EQ(UCS_OK, open(i));
        EXPECT_EQ(slot, m_tx[i].slot) << "used again";
        post(i);
        EXPECT_EQ(1u, serve()) << "its doorbell goes on from where it was";
        free_latest(i);
    }
}

/* What the last owner has left there, and what the target is still at */
TEST_F(test_mailbox_slots, closed_slot)
{
    for (uint32_t left : {RI_MAILBOX_POSTED, RI_MAILBOX_DONE, RI_MAILBOX_REFUSED}) {
        ASSERT_EQ(UCS_OK, open());
        EXPECT_EQ(0u, m_tx[0].slot);
        post();
        entry()->state = left;
        ri_mailbox_tx_close(&m_tx[0]);
        ASSERT_EQ(UCS_OK, open());
        EXPECT_EQ(0u, m_tx[0].slot);
        EXPECT_EQ(RI_MAILBOX_FREE, state()) << left;
        ri_mailbox_tx_close(&m_tx[0]);
    }
    m_rx.area->slots[0][3].state = RI_MAILBOX_SERVING;
    ASSERT_EQ(UCS_OK, open());
    EXPECT_EQ(1u, m_tx[0].slot);
    EXPECT_EQ(0u, m_rx.area->owners[0].load()) << "it is nobody's, as before";
    m_rx.area->slots[0][3].state = RI_MAILBOX_DONE;
    ASSERT_EQ(UCS_OK, open(1));
    EXPECT_EQ(0u, m_tx[1].slot);
}

/* A process takes a slot and ends. @return Its exit code. */
int open_and_end(uint32_t pid, uint32_t fd)
{
    int status  = -1;
    pid_t child = fork();

    if (child == 0) {
        ri_mailbox_tx_t tx;

        _exit(ri_mailbox_tx_open(&tx, pid, fd) != UCS_OK);
    }
    waitpid(child, &status, 0);
    return status;
}

TEST_F(test_mailbox_slots, slot_of_a_process_that_is_gone)
{
    ASSERT_EQ(0, open_and_end(getpid(), m_rx.fd));
    uint64_t gone = m_rx.area->owners[0];
    EXPECT_NE(0u, gone);
    for (unsigned i = 1; i < RI_MAILBOX_SLOTS; ++i) {
        ASSERT_EQ(UCS_OK, open(i));
        ASSERT_EQ(i, m_tx[i].slot) << "as long as there are others";
    }

    m_rx.area->slots[0][3].state = RI_MAILBOX_SERVING;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, open()) << "the target is at it";
    EXPECT_EQ(gone, m_rx.area->owners[0].load());
    EXPECT_EQ((uint32_t)RI_MAILBOX_SERVING, m_rx.area->slots[0][3].state.load());

    m_rx.area->slots[0][3].state = RI_MAILBOX_POSTED;
    ASSERT_EQ(UCS_OK, open());
    EXPECT_EQ(0u, m_tx[0].slot);
    EXPECT_EQ((uint32_t)RI_MAILBOX_FREE, m_rx.area->slots[0][3].state.load());
    EXPECT_EQ(m_rx.area->owners[1].load(), m_rx.area->owners[0].load());
    post();
    EXPECT_EQ(1u, serve());
    EXPECT_EQ(RI_MAILBOX_DONE, state());
}

TEST_F(test_mailbox_slots, open_what_is_no_mailbox)
{
    const size_t size = sizeof(ri_mailbox_area_t);
    int wrong_size    = -1, pipe_fds[2];
    int unsealed      = memfd_create("ucxri-mailbox", MFD_CLOEXEC);
    void *area        = ri_shared_file_make("ucxri-mailbox", size + 4096, size + 4096,
                                            &wrong_size);
    pid_t child       = fork();

    if (child == 0) {
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    ASSERT_NE(nullptr, area);
    ASSERT_EQ(0, pipe2(pipe_fds, O_CLOEXEC));
    ASSERT_EQ(0, ftruncate(unsealed, size));
    uint32_t version = RI_MAILBOX_VERSION;
    ASSERT_EQ(4, pwrite(unsealed, &version, sizeof(version), 0));
    const uint32_t own = getpid(), fd = m_rx.fd;
    const std::pair<uint32_t, uint32_t> places[] = {{own, UINT32_MAX},
                                                    {own, 1u << 31},
                                                    {own, (uint32_t)wrong_size},
                                                    {own, (uint32_t)pipe_fds[0]},
                                                    {own, (uint32_t)unsealed},
                                                    {0, fd},
                                                    {UINT32_MAX, fd},
                                                    {(uint32_t)child, fd}};

    for (const auto &place : places) {
        memset((void *)&m_tx[0], 0xaa, sizeof(m_tx[0]));
        EXPECT_EQ(UCS_ERR_UNREACHABLE,
                  ri_mailbox_tx_open(&m_tx[0], place.first, place.second))
                << place.first << ' ' << place.second;
        EXPECT_EQ(nullptr, m_tx[0].area);
    }
    munmap(area, size + 4096);
    for (int open_fd : {wrong_size, unsealed, pipe_fds[0], pipe_fds[1]}) {
        close(open_fd);
    }
}

TEST_F(test_mailbox_slots, another_version)
{
    for (uint32_t version : {0u, RI_MAILBOX_VERSION + 1u, UINT32_MAX}) {
        m_rx.area->version = version;
        EXPECT_EQ(UCS_ERR_UNREACHABLE, open());
        EXPECT_EQ(nullptr, m_tx[0].area);
    }
    EXPECT_EQ(0u, m_rx.area->owners[0].load()) << "nothing is taken there";
    m_rx.area->version = RI_MAILBOX_VERSION;
    EXPECT_EQ(UCS_OK, open());
}

TEST_F(test_mailbox_slots, end)
{
    ASSERT_EQ(UCS_OK, open());
    int fd = m_rx.fd;

    ri_mailbox_rx_end(&m_rx);
    EXPECT_EQ(nullptr, m_rx.area);
    EXPECT_EQ(-1, fcntl(fd, F_GETFD));
    ri_mailbox_rx_end(&m_rx);
    /* Who has it open */
    post(0, "data");
    EXPECT_TRUE(withdraw());
    ri_mailbox_tx_close(&m_tx[0]);
    EXPECT_EQ(UCS_ERR_UNREACHABLE, open());
}

} // namespace
