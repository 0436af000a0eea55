/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that offer themselves through a network, with messages, cancels, other senders and
 * failures at random, against MPI's order. (protocol-rndv.md section 4)
 */

#include "rtr_message_test.h"

namespace {

class test_rtr_message_random : public rtr_message_test {
protected:
    /* Ways that fail are made again at once. */
    void SetUp() override
    {
        m_backoff         = ri_planes_backoff;
        ri_planes_backoff = 0;
        rtr_message_test::SetUp();
        ri_config.pool_size = 4 * LARGE; /* not for all of them */
    }

    void TearDown() override
    {
        rtr_message_test::TearDown();
        ri_planes_backoff = m_backoff;
    }

    double m_backoff;

    /* Hand over some message: mostly the next one, as UCX does. */
    void deliver_some(rng &random)
    {
        std::vector<endpoint *> eps;

        for (endpoint *ep : {m_ab, m_ba, m_ab2}) {
            if ((ep != nullptr) && !ep->sent.empty()) {
                eps.push_back(ep);
            }
        }
        if (!eps.empty()) {
            endpoint *ep = eps[random.below(eps.size())];
            size_t which = random.percent(85) ? 0 : random.below(ep->sent.size());

            deliver(ep, which);
        }
    }

    void some_network(rng &random, bool fails)
    {
        m_a_rdma->holds      = random.percent(50);
        m_b_rdma->holds      = random.percent(30);
        m_b_rdma->holds_news = random.percent(50);
        if (fails && random.percent(3)) {
            m_a_rdma->end_status = UCS_ERR_UNREACHABLE;
            m_a_rdma->loses_end  = random.percent(50);
        }
    }

    void calm()
    {
        m_a_rdma->holds = m_b_rdma->holds = m_b_rdma->holds_news = false;
        m_a_rdma->end_status                                     = UCS_OK;
        m_a_rdma->loses_end                                      = false;
    }

    const size_t lengths[7] = {0, 8, EAGER, 8193, MEDIUM, LARGE, LARGE + 1};
};

/* With one sender the messages of a tag go to the receives in their order, but those that were
 * cancelled. */
TEST_F(test_rtr_message_random, one_sender)
{
    uint64_t used = 0, cancelled = 0, vain = 0, again = 0, named = 0, channel = 0;

    for_seeds(60, [&](rng &random) {
        std::vector<recv_ptr> r[2];
        std::vector<send_ptr> s[2];
        unsigned lead = random.below(3) * 4; /* of the receives */
        bool fails    = random.percent(40);

        calm();
        ri_config.hybrid_net = random.percent(50) ? LARGE : 0;
        with_channels(random.percent(60));
        for (uint64_t tag : {TAG, TAG + 1}) {
            ri_sender_map_learn(&m_b->worker()->senders, tag, ALL, tag, stream()->id);
        }
        while ((r[0].size() < 40) || (r[1].size() < 40) || (s[0].size() < 40) ||
               (s[1].size() < 40)) {
            unsigned tag = random.below(2);

            for (uint64_t one : {TAG, TAG + 1}) {
                ri_sender_map_credit(&m_b->worker()->senders, one, ALL, stream()->id, 1);
            }
            switch (random.below(8)) {
            case 0:
                if ((s[tag].size() < 40) &&
                    ((s[tag].size() + lead <= r[tag].size()) || (r[tag].size() == 40))) {
                    s[tag].push_back(
                            m_a->send(m_conn, pattern(++m_seed, lengths[random.below(7)]),
                                      TAG + tag, random.percent(15)));
                }
                break;
            case 1:
                if (r[tag].size() < 40) {
                    r[tag].push_back(post(random.percent(15) ? EAGER : LARGE, TAG + tag));
                }
                break;
            case 2:
                if (!r[tag].empty() && random.percent(20)) {
                    recv_ptr one = r[tag][random.below(r[tag].size())];
                    if (!one->done) {
                        m_b->cancel(one);
                        vain += !one->done;
                    }
                }
                break;
            case 3:
                some_network(random, fails);
                break;
            case 4:
                m_a->progress();
                break;
            case 5:
                m_b->progress();
                break;
            default:
                deliver_some(random);
                break;
            }
        }
        calm();
        pump();
        for (unsigned tag : {0, 1}) {
            size_t next = 0;

            for (const recv_ptr &one : r[tag]) {
                if (one->done && (one->status == UCS_ERR_CANCELED)) {
                    ++cancelled;
                    continue;
                }
                ASSERT_LT(next, s[tag].size());
                check(one, s[tag][next++]);
            }
            for (; next < s[tag].size(); ++next) {
                recv_ptr rest = post(LARGE, TAG + tag);
                pump();
                check(rest, s[tag][next]);
            }
            for (const send_ptr &one : s[tag]) {
                check_sent(one);
            }
        }
        pump();
        check_idle();
        EXPECT_EQ(0u, malformed());
        used += m_b->counters().rtr_used;
        named += stream()->counters.rx_named;
        again += m_conn->counters.tx_again + m_back->counters.tx_again;
        channel += m_conn->counters.tx_channel + m_back->counters.tx_channel;
    });
    EXPECT_GT(used, 300u);
    EXPECT_GT(cancelled, 100u);
    EXPECT_GT(vain, 50u);
    EXPECT_GT(again, 10u);
    EXPECT_GT(named, 100u);
    EXPECT_GT(channel, 1000u);
}

/* Two senders, guesses that change, and wildcards: each message is received once, and those of
 * one sender by receives in the order of both. */
TEST_F(test_rtr_message_random, contests)
{
    uint64_t used = 0, again = 0;

    for_seeds(60, [&](rng &random) {
        std::vector<recv_ptr> r;
        std::vector<send_ptr> s[2];
        size_t lead = random.below(10), count = 40;
        unsigned wild = random.below(2) * 10;
        bool fails    = random.percent(40);

        calm();
        ri_config.hybrid_net = random.percent(50) ? LARGE : 0;
        with_channels(random.percent(60));
        second();
        while ((s[0].size() < count) || (s[1].size() < count)) {
            unsigned who = random.below(2);

            switch (random.below(9)) {
            case 0:
                if ((s[who].size() < count) &&
                    ((s[0].size() + s[1].size() + lead <= r.size()) ||
                     (r.size() == 2 * count))) {
                    s[who].push_back(m_a->send(
                            who ? m_conn2 : m_conn,
                            pattern(++m_seed, lengths[1 + random.below(5)]), TAG));
                }
                break;
            case 1:
                if (r.size() < 2 * count) {
                    r.push_back(random.percent(wild) ? m_b->recv(0, 0, LARGE) :
                                                       post(LARGE));
                }
                break;
            case 2:
                guess(random.percent(50) ? stream() : stream2());
                break;
            case 3:
                if (!r.empty() && random.percent(20)) {
                    recv_ptr one = r[r.size() - 1 - random.below(ri_min(r.size(), 8ul))];
                    if (!one->done) {
                        m_b->cancel(one);
                    }
                }
                break;
            case 4:
                some_network(random, fails);
                break;
            case 5:
                m_a->progress();
                break;
            case 6:
                m_b->progress();
                break;
            default:
                deliver_some(random);
                break;
            }
        }
        calm();
        pump();
        for (size_t left = m_b->worker()->match.num_unexpected; left > 0; --left) {
            r.push_back(post());
        }
        pump();

        size_t next[2] = {0, 0}, matched = 0;
        for (const recv_ptr &one : r) {
            if (!one->done) { /* the wildcards may be taken, or not */
                m_b->cancel(one);
                pump();
            }
            ASSERT_TRUE(one->done);
            if (one->status == UCS_ERR_CANCELED) {
                continue;
            }
            ASSERT_EQ(UCS_OK, one->status);
            ++matched;
            unsigned found = 2;
            for (unsigned who : {0, 1}) {
                if ((next[who] < count) &&
                    (s[who][next[who]]->data.size() == one->info.length) &&
                    std::equal(s[who][next[who]]->data.begin(),
                               s[who][next[who]]->data.end(), one->buffer.begin())) {
                    found = who;
                    break;
                }
            }
            ASSERT_LT(found, 2u) << "not the next message of either";
            ++next[found];
        }
        EXPECT_EQ(2 * count, matched);
        for (unsigned who : {0, 1}) {
            for (const send_ptr &one : s[who]) {
                check_sent(one);
            }
        }
        pump();
        check_idle();
        EXPECT_EQ(0u, malformed());
        used += m_b->counters().rtr_used;
        again += m_conn->counters.tx_again + m_conn2->counters.tx_again;
    });
    EXPECT_GT(used, 20u);
    EXPECT_GT(again, 5u);
}

} // namespace
