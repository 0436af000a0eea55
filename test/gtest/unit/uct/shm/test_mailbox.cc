/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/shm/mailbox.[hc]: operations that are posted, carried out and withdrawn. */

#include "unit/common/rng.h"
#include "unit/uct/shm/mailbox_test.h"

namespace {

class test_mailbox : public mailbox_test {};

TEST_F(test_mailbox, post_and_serve)
{
    ri_mailbox_head_t head = {7, 9, 9, 0, 0x1122334455667788, 0x99aabbccddeeff00};

    ASSERT_EQ(UCS_OK, open());
    EXPECT_EQ(RI_MAILBOX_FREE, state());
    EXPECT_FALSE(ri_mailbox_rx_is_rung(&m_rx));
    EXPECT_EQ(0u, serve());

    EXPECT_EQ(0u, ri_mailbox_tx_post(&m_tx[0], &head, "123456789"));
    EXPECT_EQ(RI_MAILBOX_POSTED, state());
    EXPECT_TRUE(ri_mailbox_rx_is_rung(&m_rx));
    answer = "result";
    EXPECT_EQ(1u, serve());
    ASSERT_EQ(1u, served.size());
    EXPECT_EQ(0, memcmp(&head, &served[0].head, sizeof(head)));
    EXPECT_EQ("123456789", served[0].data);
    EXPECT_EQ(RI_MAILBOX_DONE, state());
    EXPECT_EQ("result", result(0, 6));

    EXPECT_FALSE(ri_mailbox_rx_is_rung(&m_rx));
    EXPECT_EQ(0u, serve());
    EXPECT_EQ(RI_MAILBOX_DONE, state()) << "until the origin has seen it";
    free_latest();
    EXPECT_EQ(RI_MAILBOX_FREE, state());
    EXPECT_EQ(0u, serve());
    EXPECT_EQ(1u, served.size());
}

/* A thread that was called before it sleeps does not, and hears why. */
TEST_F(test_mailbox, called_before_it_sleeps)
{
    ASSERT_EQ(UCS_OK, open());
    EXPECT_EQ(RI_MAILBOX_CALLED, ri_mailbox_rx_sleep(&m_rx, m_rx.area->calls + 1));
}

TEST_F(test_mailbox, all_lengths_of_data)
{
    ASSERT_EQ(UCS_OK, open());
    for (unsigned length = 0; length <= RI_MAILBOX_DATA;
         length += (length < 200) ? 1 : 97) {
        std::string data(length, 'a' + length % 26);

        answer = std::string(length, 'A' + length % 26);
        post(0, data);
        ASSERT_EQ(1u, serve());
        ASSERT_EQ(RI_MAILBOX_DONE, state());
        ASSERT_EQ(data, served.back().data);
        ASSERT_EQ(answer, result(0, length));
        free_latest();
    }
}

/* Long data of each entry and origin has a place of its own. */
TEST_F(test_mailbox, long_data_of_many)
{
    for (unsigned i = 0; i < 3; ++i) {
        ASSERT_EQ(UCS_OK, open(i));
        for (unsigned k = 0; k < RI_MAILBOX_DEPTH; ++k) {
            post(i, std::string(RI_MAILBOX_DATA, 'a' + i * 8 + k));
        }
    }
    EXPECT_EQ(3u * RI_MAILBOX_DEPTH, serve());
    for (unsigned n = 0; n < 3 * RI_MAILBOX_DEPTH; ++n) {
        EXPECT_EQ(std::string(RI_MAILBOX_DATA, 'a' + n), served[n].data) << n;
    }
}

TEST_F(test_mailbox, refused)
{
    ASSERT_EQ(UCS_OK, open());
    refuse = true;
    answer = "not seen";
    post(0, "the data");
    EXPECT_EQ(1u, serve());
    EXPECT_EQ(RI_MAILBOX_REFUSED, state());
    EXPECT_EQ("the data", result(0, 8));
    EXPECT_FALSE(withdraw());
    free_latest();

    refuse = false;
    post();
    EXPECT_EQ(1u, serve());
    EXPECT_EQ(RI_MAILBOX_DONE, state());
}

TEST_F(test_mailbox, withdrawn)
{
    ASSERT_EQ(UCS_OK, open());
    post();
    EXPECT_TRUE(withdraw());
    EXPECT_EQ(RI_MAILBOX_FREE, state());
    EXPECT_FALSE(withdraw()) << "nothing is posted";
    EXPECT_TRUE(ri_mailbox_rx_is_rung(&m_rx));
    EXPECT_EQ(0u, serve());
    EXPECT_EQ(0u, served.size());
    EXPECT_EQ(RI_MAILBOX_FREE, state());
    EXPECT_FALSE(ri_mailbox_rx_is_rung(&m_rx));

    post();
    EXPECT_EQ(1u, serve());
    EXPECT_FALSE(withdraw()) << "it is done";
    EXPECT_EQ(RI_MAILBOX_DONE, state());
    free_latest();

    post(0, "one");
    EXPECT_TRUE(withdraw());
    post(0, "two");
    EXPECT_EQ(1u, serve());
    EXPECT_EQ("two", served.back().data);
    EXPECT_EQ(2u, served.size());
}

/* Eight at once, in their order, wherever the numbers begin. */
TEST_F(test_mailbox, order)
{
    uint32_t first = 0;

    ASSERT_EQ(UCS_OK, open());
    for (unsigned round = 0; round < 60; ++round) {
        unsigned count = 1 + round % RI_MAILBOX_DEPTH;

        served.clear();
        for (unsigned i = 0; i < count; ++i) {
            EXPECT_EQ(first + i, post(0, std::to_string(i)));
        }
        EXPECT_EQ(count, serve());
        ASSERT_EQ(count, served.size());
        for (unsigned i = 0; i < count; ++i) {
            EXPECT_EQ(std::to_string(i), served[i].data);
            EXPECT_EQ(RI_MAILBOX_DONE, ri_mailbox_tx_state(&m_tx[0], first));
            ri_mailbox_tx_free(&m_tx[0], first++);
        }
    }
}

/* Of eight some are withdrawn, the latest first. */
TEST_F(test_mailbox, some_withdrawn)
{
    ASSERT_EQ(UCS_OK, open());
    for (unsigned left = 0; left <= RI_MAILBOX_DEPTH; ++left) {
        served.clear();
        for (unsigned i = 0; i < RI_MAILBOX_DEPTH; ++i) {
            post(0, std::to_string(i));
        }
        uint32_t end = m_tx[0].next;
        for (unsigned i = left; i < RI_MAILBOX_DEPTH; ++i) {
            EXPECT_TRUE(ri_mailbox_tx_withdraw(&m_tx[0], --end));
        }
        EXPECT_EQ(left, serve());
        for (unsigned i = 0; i < left; ++i) {
            EXPECT_EQ(std::to_string(i), served[i].data);
            ri_mailbox_tx_free(&m_tx[0], --end);
        }
    }
}

/* A doorbell says more than there are entries: those before were withdrawn. */
TEST_F(test_mailbox, many_withdrawn)
{
    ASSERT_EQ(UCS_OK, open());
    for (unsigned gone : {1u, 3u, 8u, 9u, 100u, 247u}) {
        served.clear();
        for (unsigned i = 0; i < gone; ++i) {
            post(0, "gone");
            EXPECT_TRUE(withdraw());
        }
        for (unsigned i = 0; i < RI_MAILBOX_DEPTH; ++i) {
            post(0, std::to_string(i));
        }
        EXPECT_EQ((unsigned)RI_MAILBOX_DEPTH, serve()) << gone;
        for (unsigned i = 0; i < RI_MAILBOX_DEPTH; ++i) {
            EXPECT_EQ(std::to_string(i), served[i].data) << gone;
            ri_mailbox_tx_free(&m_tx[0], i);
        }
    }
}

/* While the target is at another origin, this one withdraws what the target has seen of it, and
 * posts more, to the same entries. */
TEST_F(test_mailbox, order_of_what_is_posted_meanwhile)
{
    ASSERT_EQ(UCS_OK, open(0));
    ASSERT_EQ(UCS_OK, open(1));
    post(0, "other");
    post(1, "gone");
    inside = [&] {
        EXPECT_TRUE(withdraw(1));
        for (unsigned i = 0; i < RI_MAILBOX_DEPTH; ++i) {
            post(1, std::to_string(i));
        }
    };
    serve();
    serve();
    ASSERT_EQ(1u + RI_MAILBOX_DEPTH, served.size());
    for (unsigned i = 0; i < RI_MAILBOX_DEPTH; ++i) {
        EXPECT_EQ(std::to_string(i), served[1 + i].data);
    }
}

/* An origin that withdraws what the target has begun with */
TEST_F(test_mailbox, not_withdrawn_while_it_is_served)
{
    unsigned count = 0;

    ASSERT_EQ(UCS_OK, open());
    post();
    inside = [&] {
        EXPECT_EQ(RI_MAILBOX_SERVING, state());
        EXPECT_FALSE(withdraw());
        EXPECT_EQ(RI_MAILBOX_SERVING, state());
        count = serve();
    };
    EXPECT_EQ(1u, serve());
    EXPECT_EQ(0u, count) << "nobody serves it twice";
    EXPECT_EQ(1u, served.size());
}

/* What a hostile origin writes straight into its entry */
TEST_F(test_mailbox, hostile_lengths)
{
    const unsigned lengths[] = {0,    1,    95,   96,   97,    98,        255,
                                4095, 4096, 4097, 8192, 32768, UINT16_MAX};

    ASSERT_EQ(UCS_OK, open());
    for (unsigned length : lengths) {
        for (unsigned data_length : lengths) {
            bool is_good = (length <= RI_MAILBOX_DATA) &&
                           (data_length <= std::max(length, (unsigned)RI_MAILBOX_INLINE));

            served.clear();
            if (m_tx[0].next % RI_MAILBOX_LONG_ENTRIES == 0) {
                ++m_tx[0].next; /* no place for a long one */
            }
            post();
            entry()->head.length      = length;
            entry()->head.data_length = data_length;
            ASSERT_EQ(1u, serve());
            ASSERT_EQ(is_good ? 1u : 0u, served.size()) << length << ' ' << data_length;
            ASSERT_EQ(is_good ? RI_MAILBOX_DONE : RI_MAILBOX_REFUSED, state());
            free_latest();
        }
    }
}

TEST_F(test_mailbox, hostile_states)
{
    ASSERT_EQ(UCS_OK, open());
    for (uint32_t value : {2u, 3u, 4u, 5u, 100u, UINT32_MAX}) {
        post();
        entry()->state = value;
        EXPECT_EQ(0u, serve()) << value;
        EXPECT_EQ(value, entry()->state.load());
        EXPECT_FALSE(withdraw());
    }
    EXPECT_EQ(0u, served.size());
}

/* A long operation is carried out page by page, in a number that begins its entries. */
TEST_F(test_mailbox, long_operations)
{
    ri_mailbox_head_t head = {};
    std::vector<unsigned> ready;
    std::function<void()> note = [&] {
        ready.push_back(ri_mailbox_tx_ready(&m_tx[0], m_latest[0]));
        inside = note;
    };

    ASSERT_EQ(UCS_OK, open());
    for (unsigned before = 0; before < 2 * RI_MAILBOX_DEPTH; ++before) {
        for (unsigned length : {1u, 96u, 4096u, 4097u, 8192u, 12345u, 16384u}) {
            const uint32_t next = m_tx[0].next;

            served.clear();
            ready.clear();
            head.length  = length;
            head.address = 1000;
            answer       = std::string(std::min(length, (unsigned)RI_MAILBOX_DATA), 'a');
            inside       = note;
            m_latest[0]  = ri_mailbox_next_long(next);
            EXPECT_EQ(m_latest[0], ri_mailbox_tx_post_long(&m_tx[0], &head));
            EXPECT_EQ(0u, m_latest[0] % RI_MAILBOX_LONG_ENTRIES);
            EXPECT_GT(unsigned(RI_MAILBOX_LONG_ENTRIES), m_latest[0] - next);
            EXPECT_EQ(m_latest[0] + RI_MAILBOX_LONG_ENTRIES, m_tx[0].next);
            EXPECT_EQ(RI_MAILBOX_POSTED, state());
            EXPECT_EQ(1u, serve());
            EXPECT_EQ(RI_MAILBOX_DONE, state());
            ASSERT_EQ((length + RI_MAILBOX_DATA - 1) / RI_MAILBOX_DATA, served.size());
            for (unsigned i = 0; i < served.size(); ++i) {
                EXPECT_EQ(1000 + i * RI_MAILBOX_DATA, served[i].head.address);
                EXPECT_EQ(
                        std::min(length - i * RI_MAILBOX_DATA, (unsigned)RI_MAILBOX_DATA),
                        served[i].head.length);
                EXPECT_EQ(i * RI_MAILBOX_DATA, ready[i]);
            }
            EXPECT_EQ(std::string(length, 'a'), result(0, length));
            free_latest();
        }
        inside = nullptr;
        answer.clear();
        for (unsigned i = 0; i < before % RI_MAILBOX_DEPTH; ++i) {
            post();
            EXPECT_EQ(1u, serve());
            free_latest();
        }
    }
}

/* It brings no data, and has a number that begins its entries: else it is refused. */
TEST_F(test_mailbox, hostile_long_operations)
{
    ASSERT_EQ(UCS_OK, open());
    for (unsigned length : {4097u, 16384u, 16385u, 65535u}) {
        for (unsigned data_length : {0u, 1u, 96u, length}) {
            for (unsigned step = 0; step < 2 * RI_MAILBOX_DEPTH; ++step) {
                const uint32_t number = m_tx[0].next;
                bool is_good = (length <= RI_MAILBOX_LONG) && (data_length == 0) &&
                               (number % RI_MAILBOX_LONG_ENTRIES == 0);

                served.clear();
                m_latest[0]               = number;
                entry()->head             = {};
                entry()->head.length      = length;
                entry()->head.data_length = data_length;
                entry()->state            = RI_MAILBOX_WORD(number, RI_MAILBOX_POSTED);
                *m_tx[0].doorbell         = ++m_tx[0].next;
                EXPECT_EQ(1u, serve());
                EXPECT_EQ(is_good ? RI_MAILBOX_DONE : RI_MAILBOX_REFUSED, state());
                EXPECT_EQ(!is_good, served.empty());
                free_latest();
            }
        }
    }
}

/* What stands in an entry is of another operation: it is no answer to this one. */
TEST_F(test_mailbox, state_of_another_operation)
{
    ASSERT_EQ(UCS_OK, open());
    post();
    for (uint32_t other :
         {m_latest[0] + RI_MAILBOX_DEPTH, m_latest[0] - RI_MAILBOX_DEPTH}) {
        entry()->state = RI_MAILBOX_WORD(other, RI_MAILBOX_DONE);
        EXPECT_EQ(RI_MAILBOX_FREE, state());
    }
    entry()->state = RI_MAILBOX_WORD(m_latest[0], RI_MAILBOX_DONE);
    EXPECT_EQ(RI_MAILBOX_DONE, state());
}

/* Doorbells are rung that are nobody's, or without anything in the slot. */
TEST_F(test_mailbox, hostile_doorbells)
{
    for (auto &word : m_rx.area->doorbells) {
        word = UINT64_MAX;
    }
    for (uint32_t words :
         {UINT32_MAX, (uint32_t)RI_MAILBOX_WORDS + 1, (uint32_t)RI_MAILBOX_WORDS, 1u}) {
        m_rx.area->num_words = words;
        serve();
        EXPECT_FALSE(ri_mailbox_rx_is_rung(&m_rx)) << words;
        EXPECT_EQ(0u, serve());
    }
    EXPECT_EQ(0u, served.size());

    m_rx.area->num_words = UINT32_MAX;
    ASSERT_EQ(UCS_OK, open());
    EXPECT_EQ(UINT32_MAX, m_rx.area->num_words.load());
    EXPECT_EQ(UINT32_MAX, post());
    EXPECT_TRUE(ri_mailbox_rx_is_rung(&m_rx));
    EXPECT_EQ(1u, serve());
    EXPECT_EQ(RI_MAILBOX_DONE, state());
}

/* Of doorbells, and of the part of them that is in an entry */
TEST_F(test_mailbox, numbers_that_wrap)
{
    ASSERT_EQ(UCS_OK, open());
    for (uint32_t start : {0u, (1u << 24) - 5, UINT32_MAX - 5}) {
        m_tx[0].next      = start;
        *m_tx[0].doorbell = start;
        serve();
        served.clear();
        for (unsigned i = 0; i < 20; ++i) {
            EXPECT_EQ(start + 2 * i, post(0, "gone"));
            EXPECT_TRUE(withdraw());
            post(0, std::to_string(i));
            EXPECT_TRUE(ri_mailbox_rx_is_rung(&m_rx));
            EXPECT_EQ(1u, serve());
            EXPECT_EQ(std::to_string(i), served.back().data);
            EXPECT_EQ(RI_MAILBOX_DONE, state());
            free_latest();
        }
    }
}

} // namespace
