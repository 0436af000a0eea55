/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/ring.c, ring.h, shared_file.c: a large ring is small at first */

#include "ring_test.h"

#include "uct/shm/shared_file.h"

#include <sys/mman.h>

namespace {

const size_t SIZE    = 1 << 20;
const size_t CONTROL = RI_RING_CONTROL_SIZE / 4096; /* pages before the lines */

class test_ring_grow : public ring_test {
protected:
    void SetUp() override
    {
        ring_test::SetUp();
        open_both(SIZE);
        m_tx.end = m_tx.limit = RI_RING_FIRST; /* as it was opened */
    }

    bool is_small() const { return m_tx.end == RI_RING_FIRST; }

    record of_length(uint32_t length, uint32_t seed = 1)
    {
        std::vector<uint8_t> payload(length);

        for (uint32_t i = 0; i < length; ++i) {
            payload[i] = seed + i * 7;
        }
        return {1, seed, 3, 4, payload, length >= RI_RING_PARTS_MIN};
    }

    void receive_all()
    {
        while (!m_model.empty()) {
            ASSERT_TRUE(receive());
        }
    }

    /* How many pages of the ring's memory are there. */
    size_t pages()
    {
        std::vector<unsigned char> there(m_rx.map_size / 4096);
        size_t count = 0;

        EXPECT_EQ(0, mincore(m_rx.control, m_rx.map_size, there.data()));
        for (unsigned char page : there) {
            count += page & 1;
        }
        return count;
    }
};

TEST_F(test_ring_grow, opens_small)
{
    for (size_t size : {4096ul, 65536ul, 262144ul, 524288ul, SIZE}) {
        close_both();
        ASSERT_EQ(UCS_OK, ri_ring_create(&m_rx, size, COOKIE));
        ASSERT_EQ(UCS_OK, ri_ring_open(&m_tx, getpid(), m_rx.fd, size, COOKIE));
        EXPECT_EQ(std::min<size_t>(size / RI_RING_LINE, RI_RING_FIRST), m_tx.end) << size;
        EXPECT_EQ(m_tx.end, m_tx.limit);
        EXPECT_EQ(CONTROL + m_tx.end * RI_RING_LINE / 4096, pages()) << size;
    }
}

/* Each message is read before the next is sent. All arrive. Only the first lines are used until
 * RI_RING_FIRST_LAPS laps were written, and all lines from then on. */
TEST_F(test_ring_grow, after_some_laps)
{
    for (uint32_t length : {0u, 1000u, 65536u}) {
        uint32_t laps = 0, most = 0;

        close_both();
        SetUp();
        while (is_small()) {
            uint32_t before = m_tx.pos & ~m_tx.mask;

            ASSERT_TRUE(send(of_length(length, m_tx.pos)));
            receive_all();
            laps += (m_tx.pos & ~m_tx.mask) != before;
            if (is_small()) {
                most = std::max(most, m_tx.pos & m_tx.mask);
                ASSERT_GT((uint32_t)RI_RING_FIRST, m_tx.pos & m_tx.mask);
            }
        }
        EXPECT_LE((uint32_t)RI_RING_FIRST_LAPS, laps) << length;
        EXPECT_GE(2u * RI_RING_FIRST_LAPS, laps) << length;
        EXPECT_LT(RI_RING_FIRST - 2 * 1100u, most) << length;
        EXPECT_EQ(CONTROL + SIZE / 4096, pages());
        for (uint32_t i = 0; i < 3 * lines(); i += 20) {
            ASSERT_TRUE(send(of_length(1000, i)));
            receive_all();
            most = std::max(most, m_tx.pos & m_tx.mask);
        }
        EXPECT_LT(lines() - 100, most);
    }
}

/* A message for which the first lines may never have room. */
TEST_F(test_ring_grow, at_once_for_a_long_message)
{
    const uint32_t most = 95000; /* takes at most RI_RING_FIRST_ENOUGH lines in parts */

    ASSERT_GE((uint32_t)RI_RING_FIRST_ENOUGH,
              ri_ring_lines_in_parts(most, ri_ring_part_length(most)));
    EXPECT_TRUE(ri_ring_tx_has_room(&m_tx, most));
    EXPECT_TRUE(is_small());
    EXPECT_TRUE(ri_ring_tx_has_room(&m_tx, SIZE / RI_RING_LONG_MESSAGES));
    for (unsigned i = 0; i < 20; ++i) {
        ASSERT_TRUE(send(of_length(SIZE / RI_RING_LONG_MESSAGES, i)));
        EXPECT_FALSE(is_small());
        receive_all();
    }
}

/* As long as nothing is read, it is full after the first lines: what fits a lap of a ring of that
 * size. */
TEST_F(test_ring_grow, full)
{
    uint32_t sent = 0;

    while (send(of_length(40, sent))) {
        ++sent;
    }
    EXPECT_EQ(RI_RING_FIRST - 1u, sent);
    EXPECT_FALSE(ri_ring_tx_has_line(&m_tx));
    receive_all();
    EXPECT_TRUE(send(of_length(40)));
    EXPECT_EQ(lines() + 1, m_tx.pos) << "the next lap";
    receive_all();
    EXPECT_TRUE(is_small());
}

/* Once all was read there is room for any message, wherever the lap is: nobody waits for ever. */
TEST_F(test_ring_grow, random)
{
    for_share_of_seeds(20, [&](rng &random) {
        close_both();
        SetUp();
        for (unsigned i = 0; i < 3000; ++i) {
            uint32_t length = random.percent(50) ? random.below(200) :
                                                   random.below(95000);
            unsigned taken;

            if (!send(of_length(length, i))) {
                receive_all();
                ASSERT_TRUE(send(of_length(length, i))) << i << ": " << length;
            }
            for (taken = random.below(4); (taken > 0) && !m_model.empty(); --taken) {
                ASSERT_TRUE(receive());
            }
        }
        receive_all();
        EXPECT_FALSE(is_small());
    });
}

/* The last record has its line wherever the lap is. */
TEST_F(test_ring_grow, finish)
{
    for (bool is_full : {false, true}) {
        close_both();
        SetUp();
        while (send(of_length(0))) {
            if (!is_full && (m_tx.pos == RI_RING_FIRST - 1u)) {
                break;
            }
        }
        ri_ring_tx_finish(&m_tx, 9);
        receive_all();
        ASSERT_NE(nullptr, ri_ring_rx_peek(&m_rx));
        EXPECT_EQ(9, ri_ring_rx_peek(&m_rx)->type);
    }
}

/* Without memory it stays small, and is tried again. */
TEST_F(test_ring_grow, no_memory)
{
    char *rest  = (char *)(m_tx.lines + RI_RING_FIRST);
    size_t size = (lines() - RI_RING_FIRST) * RI_RING_LINE;

    /* For the sender only: an empty file, so that nothing else comes to lie there */
    int empty = memfd_create("ucxri-empty", MFD_CLOEXEC);
    ASSERT_EQ(rest,
              mmap(rest, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, empty, 0));
    close(empty);
    EXPECT_FALSE(ri_shared_file_fill(rest, size));
    EXPECT_FALSE(send(of_length(SIZE / RI_RING_LONG_MESSAGES)));
    for (uint32_t laps = 0; laps < 2 * RI_RING_FIRST_LAPS; ++laps) {
        for (uint32_t i = 0; i < RI_RING_FIRST / 20; ++i) {
            ASSERT_TRUE(send(of_length(1000, i)));
            receive_all();
        }
    }
    EXPECT_TRUE(is_small());
    ASSERT_EQ(rest, mmap(rest, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    EXPECT_TRUE(ri_shared_file_fill(rest, size));
    EXPECT_TRUE(ri_ring_tx_has_room(&m_tx, SIZE / RI_RING_LONG_MESSAGES));
    EXPECT_FALSE(is_small());
}

} // namespace
