/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Offers of long messages that are in a channel when their receive is posted: its data is read from
 * then on, and nobody is called. (ri_channel_in_keep_announced)
 */

#include "unit/fakes/fake_malloc.h"
#include "channel_life_test.h"
#include "unit/common/channel_record.h"

#include <algorithm>
#include <random>

namespace {

class test_channel_life_offers : public channel_life_test {
protected:
    static constexpr uint64_t ALL = ~0ul;

    void SetUp() override
    {
        channel_life_test::SetUp();
        open();
        exchange(LONG);
        m_b_rdma->holds = true;
        m_b_rdma->reads = 0;
    }

    /* Reads that have begun, or ended */
    unsigned reads() { return m_b_rdma->reads; }

    uint64_t kept() { return stream()->counters.rx_unexpected; }

    /* It is in B's memory; B does not know. */
    void send(int seed, size_t length, uint64_t tag)
    {
        m_sends.push_back(m_a->send(m_conn, pattern(seed, length), tag));
        for (int i = 0; i < 5; ++i) {
            m_a->progress();
        }
    }

    recv_ptr post(uint64_t tag, uint64_t mask = ALL, size_t length = LONG)
    {
        return m_b->recv(tag, mask, length);
    }

    /* Which receive gets which message, by the rules of matching. A tag of 0: it takes any. */
    struct matching {
        std::vector<std::pair<recv_ptr, int>> wanted; /* a receive, and what it gets */
        std::vector<std::pair<recv_ptr, uint64_t>> open_receives;
        std::vector<std::pair<int, uint64_t>> open_messages;
        std::vector<size_t> lengths;
    };

    /* The next message, for the oldest receive that takes its tag. */
    void send_next(matching &now, uint64_t tag, size_t length)
    {
        auto it    = std::find_if(now.open_receives.begin(), now.open_receives.end(),
                                  [&](const std::pair<recv_ptr, uint64_t> &one) {
                                   return (one.second == 0) || (one.second == tag);
                               });
        int number = now.lengths.size();

        now.lengths.push_back(length);
        send(number, length, tag);
        if (it == now.open_receives.end()) {
            now.open_messages.push_back({number, tag});
        } else {
            now.wanted.push_back({it->first, number});
            now.open_receives.erase(it);
        }
    }

    /* The next receive, for the oldest message that it takes. */
    void post_next(matching &now, uint64_t tag, bool any)
    {
        recv_ptr r = post(any ? 0 : tag, any ? 0 : ALL);
        auto it    = std::find_if(now.open_messages.begin(), now.open_messages.end(),
                                  [&](const std::pair<int, uint64_t> &one) {
                                   return any || (one.second == tag);
                               });

        if (it == now.open_messages.end()) {
            now.open_receives.push_back({r, any ? 0 : tag});
        } else {
            now.wanted.push_back({r, it->first});
            now.open_messages.erase(it);
        }
    }

    void finish()
    {
        m_b_rdma->holds = false;
        pump();
        for (const send_ptr &s : m_sends) {
            check_sent(s);
        }
        m_sends.clear();
        EXPECT_EQ(0u, malformed());
    }

    void check(const recv_ptr &r, int seed, size_t length = LONG)
    {
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_OK, r->status);
        EXPECT_EQ(length, r->info.length);
        EXPECT_TRUE(bytes(r->buffer.begin(), r->buffer.begin() + length) ==
                    pattern(seed, length));
    }

    /* An offer in B's memory that is not of the library's making */
    void forge(uint8_t type, uint32_t number, const bytes &payload, uint32_t length)
    {
        channel_record{type, number, 1, 7, payload, length}.put(out(), in());
    }

    std::vector<send_ptr> m_sends;
};

TEST_F(test_channel_life_offers, read_from_the_posting_on)
{
    for (uint64_t mask : {ALL, 0ul}) {
        m_b->worker()->rings.clock += 1000; /* by other peers' messages */
        send(1, LONG, 7);
        unsigned before = reads();
        recv_ptr r      = post(7, mask);
        EXPECT_EQ(before + 1, reads());
        EXPECT_EQ(m_b->worker()->rings.clock, in()->last_use) << "it is no idle one";
        EXPECT_FALSE(r->done);
        finish();
        check(r, 1);
        m_b_rdma->holds = true;
    }
}

/* One look takes all that is there, in order. */
TEST_F(test_channel_life_offers, several)
{
    uint64_t before = kept();
    for (int i = 0; i < 5; ++i) {
        send(i, LONG, 7 + i);
    }
    recv_ptr r4 = post(11);
    EXPECT_EQ(before + 5, kept());
    EXPECT_EQ(1u, reads());
    std::vector<recv_ptr> others;
    for (int i = 0; i < 4; ++i) {
        others.push_back(post(0, 0));
        EXPECT_EQ(2u + i, reads());
    }
    finish();
    check(r4, 4);
    for (int i = 0; i < 4; ++i) {
        check(others[i], i);
    }
}

/* A way that brings offers is no idle one, also before any of them is read. */
TEST_F(test_channel_life_offers, way_is_in_use)
{
    send(1, LONG, 7);
    stream()->peer->way.used = 0;
    recv_ptr other           = post(8);
    EXPECT_EQ(0u, reads());
    EXPECT_EQ(1, stream()->peer->way.used);
    recv_ptr r = post(7);
    finish();
    check(r, 1);
    m_b->cancel(other);
}

/* What a posted receive matches stays for progress, and all behind it. */
TEST_F(test_channel_life_offers, not_what_another_receive_matches)
{
    recv_ptr first  = post(7);
    uint64_t before = kept();
    send(1, LONG, 7);
    send(2, LONG, 8);
    recv_ptr second = post(8);
    EXPECT_EQ(before, kept());
    EXPECT_EQ(0u, reads());
    m_b->progress();
    EXPECT_EQ(2u, reads());
    finish();
    check(first, 1);
    check(second, 2);
}

/* Short messages complete receives, and are copied: they stay, and all behind them. */
TEST_F(test_channel_life_offers, not_short_messages)
{
    uint64_t before = kept();
    send(1, 8, 7);
    send(2, LONG, 8);
    recv_ptr second = post(8);
    EXPECT_EQ(before, kept());
    recv_ptr first = post(7);
    EXPECT_EQ(0u, reads());
    finish();
    check(first, 1, 8);
    check(second, 2);
}

/* Receives of short messages do not look, nor does a call within progress. */
TEST_F(test_channel_life_offers, who_looks)
{
    uint64_t before = kept();
    send(1, LONG, 7);
    recv_ptr small = post(8, ALL, 8);
    EXPECT_EQ(before, kept());
    m_b->worker()->progressing = 1;
    recv_ptr r                 = post(7);
    EXPECT_EQ(before, kept());
    m_b->worker()->progressing = 0;
    finish();
    check(r, 1);
    m_a->send(m_conn, pattern(2, 8), 8);
    pump();
    check(small, 2, 8);
}

/* In order only: one that comes by another way may be missing. */
TEST_F(test_channel_life_offers, not_out_of_turn)
{
    recv_ptr first  = post(7, ALL, 2000);
    uint64_t before = kept();
    send(1, 2000, 7); /* by active message, which takes its time */
    send(2, LONG, 8);
    recv_ptr second = post(8);
    EXPECT_EQ(before, kept());
    EXPECT_EQ(0u, reads());
    m_b->progress();
    EXPECT_EQ(1u, stream()->num_early);
    recv_ptr third = post(9); /* a look into an empty channel, with one that is early */
    finish();
    check(first, 1, 2000);
    check(second, 2);
    send(3, LONG, 9);
    finish();
    check(third, 3);
}

/* A short message behind it may leave its tag out, which is that of the one before. */
TEST_F(test_channel_life_offers, its_tag_again)
{
    size_t same = m_ab->count(RI_WIRE_EAGER_SAME);
    m_conn->flags |= RI_CONN_AM_READY; /* or it would go in pieces */
    send(1, LONG, 9);
    send(2, 2000, 9); /* by active message */
    ASSERT_EQ(same + 1, m_ab->count(RI_WIRE_EAGER_SAME));
    recv_ptr first = post(9), second = post(9);
    EXPECT_EQ(1u, reads());
    finish();
    check(first, 1);
    check(second, 2, 2000);
}

/* One that is too long for its receive ends that at once, as any that is unexpected. */
TEST_F(test_channel_life_offers, truncated)
{
    send(1, LONG, 7);
    recv_ptr r = post(7, ALL, LONG / 2);
    EXPECT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
    EXPECT_EQ(0u, reads());
    finish();
}

/* The sender is told of the room in the buffer, though no progress is called. */
TEST_F(test_channel_life_offers, credits)
{
    std::vector<recv_ptr> receives;
    unsigned credits = m_b_rdma->writes;
    for (int i = 0; i < 20; ++i) {
        send(i, LONG, 7);
        receives.push_back(post(7));
        EXPECT_EQ(1u + i, reads());
    }
    EXPECT_GT(m_b_rdma->writes, credits);
    finish();
    for (int i = 0; i < 20; ++i) {
        check(receives[i], i);
    }
}

/* Without memory it stays where it is. */
TEST_F(test_channel_life_offers, no_memory)
{
    send(1, LONG, 7);
    uint64_t before = kept();
    for (int i = 0; (i < 20) && (kept() == before); ++i) {
        malloc_fails_after = i;
        recv_ptr other     = post(8);
        malloc_fails_after = -1;
        if (!other->done) {
            m_b->cancel(other);
            EXPECT_TRUE(other->done);
        }
        EXPECT_FALSE(stream()->broken);
    }
    EXPECT_EQ(before + 1, kept());
    recv_ptr r = post(7);
    EXPECT_EQ(1u, reads());
    finish();
    check(r, 1);
}

/* What is malformed is left to progress, which breaks the stream. */
TEST_F(test_channel_life_offers, hostile)
{
    struct {
        uint8_t type;
        int ahead;
        uint32_t length;
        size_t payload;
    } records[] = {{RI_WIRE_RTS, 0, 8, 8},
                   {RI_WIRE_POOL, 0, 0, 0},
                   {RI_WIRE_RTS, 0, 400, 400},
                   {RI_WIRE_POOL, 0, 1000, 1000},
                   {RI_WIRE_RTS, -1, 8, 8}};

    for (const auto &one : records) {
        SCOPED_TRACE(std::to_string(one.type) + ", " + std::to_string(one.length));
        uint64_t before = kept(), was = malformed();
        forge(one.type, stream()->next_sn + one.ahead, bytes(one.payload), one.length);
        recv_ptr r = post(7);
        EXPECT_EQ(before, kept());
        EXPECT_EQ(was, malformed());
        EXPECT_FALSE(stream()->broken);
        m_b->progress();
        EXPECT_EQ(was + 1, malformed());
        m_b->cancel(r);
        m_b_rdma->holds = false;
        pump();
        restart();
        open();
        exchange(LONG);
        m_b_rdma->holds = true;
    }
}

/* Receives are posted, progress called and messages sent in any order; each message gets the
 * receive that the rules of matching say, which do not depend on when anybody looks. */
TEST_F(test_channel_life_offers, random)
{
    for (unsigned seed = 1; (seed <= 30) && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 rng(seed);
        matching now;

        m_b_rdma->holds = rng() % 2;
        for (int step = 0; step < 300; ++step) {
            uint64_t tag = 7 + rng() % 3;
            bool any     = (rng() % 4 == 0);

            switch (rng() % 4) {
            case 0:
                send_next(now, tag,
                          (rng() % 3 == 0) ? 8 + rng() % 100 : LONG - rng() % 100);
                break;
            case 1:
            case 2:
                if (now.open_receives.size() <= 20) {
                    post_next(now, tag, any);
                }
                break;
            default:
                m_b->progress();
            }
        }
        for (const auto &one : now.open_messages) {
            now.wanted.push_back({post(0, 0), one.first});
        }
        m_b_rdma->holds = false;
        pump();
        for (const auto &one : now.wanted) {
            check(one.first, one.second, now.lengths[one.second]);
        }
        for (const auto &one : now.open_receives) {
            EXPECT_FALSE(one.first->done);
            m_b->cancel(one.first);
        }
        finish();
    }
}

} // namespace
