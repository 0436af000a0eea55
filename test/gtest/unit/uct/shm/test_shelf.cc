/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/uct/shm/shelf.[ch]: parts are put on a shelf, and taken from it in the same order. The tests
 * run src/uct/shm/shared_file.c, too.
 */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <queue>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

class test_shelf : public ::testing::Test {
protected:
    static constexpr uint64_t COOKIE = 0x123456789abcdef0;

    void TearDown() override { close_both(); }

    void open_both(uint32_t places, uint32_t pos = 0)
    {
        size_t size = places * RI_SHELF_PLACE;

        ASSERT_EQ(UCS_OK, ri_shelf_create(&m_rx, size, COOKIE));
        ASSERT_EQ(UCS_OK, ri_shelf_open(&m_tx, getpid(), m_rx.fd, size, COOKIE));
        ri_shelf_rx_mapped(&m_rx);
        m_is_open      = true;
        m_tx.shelf.pos = m_tx.taken = m_rx.shelf.pos = pos;
        m_rx.shelf.head->taken                       = pos;
    }

    void close_both()
    {
        if (m_is_open) {
            ri_shelf_tx_close(&m_tx);
            ri_shelf_rx_close(&m_rx);
            m_is_open = false;
        }
    }

    /* @return Whether there was room. */
    bool put(uint32_t id, size_t length)
    {
        void *place = ri_shelf_tx_place(&m_tx);

        if (place == nullptr) {
            return false;
        }
        std::vector<uint8_t> data = content(id, length);
        ri_shelf_part_t part      = {id, id + 1, uint16_t(1 + id % RI_SHELF_UNITS), 3};

        ri_shelf_tx_copy(&m_tx, place, data.data(), length);
        ri_shelf_tx_put(&m_tx, &part);
        m_model.push({id, length});
        return true;
    }

    /* Take the next part, which must be the one that the model has next; or none. */
    bool take()
    {
        ri_shelf_part_t part;

        if (!ri_shelf_rx_look(&m_rx, &part)) {
            EXPECT_TRUE(m_model.empty());
            return false;
        }
        uint32_t id   = m_model.front().first;
        size_t length = m_model.front().second;

        EXPECT_EQ(id, part.id);
        EXPECT_EQ(id + 1, part.first);
        EXPECT_EQ(1 + id % RI_SHELF_UNITS, part.count);
        EXPECT_EQ(3u, part.slot);
        EXPECT_EQ(0,
                  memcmp(content(id, length).data(), ri_shelf_rx_place(&m_rx), length));
        ri_shelf_rx_advance(&m_rx);
        m_model.pop();
        return true;
    }

    static std::vector<uint8_t> content(uint32_t id, size_t length)
    {
        std::vector<uint8_t> data(length);

        for (size_t i = 0; i < length; ++i) {
            data[i] = id * 31 + i * 7 + (i >> 8);
        }
        return data;
    }

    bool m_is_open     = false;
    ri_shelf_tx_t m_tx = {};
    ri_shelf_rx_t m_rx = {};
    std::queue<std::pair<uint32_t, size_t>> m_model;
};

TEST_F(test_shelf, as_a_queue)
{
    for_seeds(20, [&](rng &random) {
        uint32_t places = 2u << random.below(5);
        uint32_t start  = random.percent(50) ? 0u - random.below(20) : random.next();
        uint32_t next   = 1;

        ASSERT_NO_FATAL_FAILURE(open_both(places, start));
        for (unsigned i = 0; i < 300; ++i) {
            m_tx.distance.times   = random.percent(50) ? RI_DISTANCE_FAR_TIMES : 0;
            ri_distance_far_ticks = 0;
            if (random.percent(random.percent(50) ? 90 : 20)) {
                bool has_room = m_model.size() < places;

                ASSERT_EQ(has_room, put(next, random.range(1, RI_SHELF_PLACE)));
                next += has_room;
            } else {
                take();
            }
        }
        while (take()) {}
        close_both();
    });
}

/* The last lines of a place belong to it, whatever the length is. */
TEST_F(test_shelf, a_part_stays_in_its_place)
{
    for (bool far : {false, true}) {
        for (size_t length : {size_t(1), size_t(63), size_t(64), RI_SHELF_PLACE - 65,
                              RI_SHELF_PLACE - 1, RI_SHELF_PLACE}) {
            ASSERT_NO_FATAL_FAILURE(open_both(2));
            m_tx.distance.times = far ? RI_DISTANCE_FAR_TIMES : 0;
            ASSERT_TRUE(put(1, length));
            EXPECT_EQ(0, m_rx.shelf.places[RI_SHELF_PLACE]);
            EXPECT_TRUE(take());
            close_both();
        }
    }
}

TEST_F(test_shelf, how_far_the_receiver_is)
{
    for (bool far : {false, true}) {
        ASSERT_NO_FATAL_FAILURE(open_both(4));
        ri_distance_far_ticks = far ? 1 : UINT64_MAX;
        for (uint32_t i = 1; i < 40; ++i) {
            ASSERT_TRUE(put(i, 100));
            take();
        }
        EXPECT_EQ(far, ri_distance_is_far(&m_tx.distance));
        close_both();
    }
}

/* A receiver that says what cannot be true gets no part overwritten. */
TEST_F(test_shelf, a_position_that_cannot_be_true)
{
    ASSERT_NO_FATAL_FAILURE(open_both(4));
    for (uint32_t i = 1; i <= 4; ++i) {
        ASSERT_TRUE(put(i, 100));
    }
    for (uint32_t wrong : {5u, 1000u, ~0u, 1u << 31}) {
        m_rx.shelf.head->taken = wrong;
        EXPECT_FALSE(put(9, 100)) << wrong;
    }
    m_rx.shelf.head->taken = 2;
    EXPECT_TRUE(put(9, 100));
    m_rx.shelf.head->taken = 1; /* back */
    EXPECT_TRUE(put(10, 100));
    EXPECT_FALSE(put(11, 100));
}

TEST_F(test_shelf, an_old_mark_is_no_part)
{
    ri_shelf_part_t part;

    ASSERT_NO_FATAL_FAILURE(open_both(2));
    for (uint32_t i = 1; i < 10; ++i) {
        EXPECT_FALSE(ri_shelf_rx_look(&m_rx, &part));
        ASSERT_TRUE(put(i, 10));
        EXPECT_TRUE(take());
    }
}

/* What the other process names is looked at first. */
TEST_F(test_shelf, what_is_not_that_shelf_is_not_mapped)
{
    const size_t size = 4 * RI_SHELF_PLACE;
    uint32_t pid      = getpid();

    ASSERT_EQ(UCS_OK, ri_shelf_create(&m_rx, size, COOKIE));
    for (size_t wrong : {size_t(0), size_t(1), RI_SHELF_PLACE, size + 1, size / 2,
                         2 * size, 2 * RI_SHELF_MAX, SIZE_MAX}) {
        EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_shelf_open(&m_tx, pid, m_rx.fd, wrong, COOKIE));
        EXPECT_FALSE(ri_shelf_tx_is_open(&m_tx));
    }
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_shelf_open(&m_tx, pid, m_rx.fd, size, COOKIE + 1));
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_shelf_open(&m_tx, 0, m_rx.fd, size, COOKIE));
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_shelf_open(&m_tx, pid, ~0u, size, COOKIE));
    m_rx.shelf.head->places = 2;
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_shelf_open(&m_tx, pid, m_rx.fd, size, COOKIE));

    /* Not sealed: it could be made shorter */
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(0, ftruncate(fd, m_rx.shelf.map_size));
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_shelf_open(&m_tx, pid, fd, size, 0));
    close(fd);
    ri_shelf_rx_close(&m_rx);
}

} // namespace
