/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that offer queue pairs, with messages, cancels, other senders, too few queue pairs and
 * failures at random, against MPI's order. (protocol-rndv.md section 8)
 */

#include "rtr_ud_test.h"

#include <algorithm>

namespace {

class test_rtr_ud_random : public rtr_ud_test {
protected:
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

            pair_test::deliver(ep, which);
        }
    }

    void some_network(rng &random, bool fails)
    {
        m_a_ud->holds       = random.percent(60);
        m_a_ud->silent      = random.percent(60);
        m_a_ud->delivers    = !fails || random.percent(90);
        m_a_ud->sent_status = (!fails || random.percent(90)) ? UCS_OK :
                                                               UCS_ERR_UNREACHABLE;
        m_a_ud->send_status = (!fails || random.percent(95)) ? UCS_OK : UCS_ERR_NO_MEMORY;
        m_b_ud->recv_status = (!fails || random.percent(95)) ? UCS_OK : UCS_ERR_NO_MEMORY;
        if (fails && random.percent(3)) {
            bool sender = random.percent(50);

            ri_planes_rdma_failed((sender ? m_a : m_b)->worker(),
                                  (sender ? m_conn : m_back)->peer);
        }
    }

    void calm()
    {
        m_a_ud->holds = m_a_ud->silent = false;
        m_a_ud->delivers               = true;
        m_a_ud->sent_status = m_a_ud->send_status = m_b_ud->recv_status = UCS_OK;
    }

    void begin(rng &random)
    {
        calm();
        restart();
        m_b_ud->qps = random.percent(50) ? 64 : 1 + random.below(4);
    }

    /* Up to all of them are what receives were posted for. */
    size_t some_length(rng &random)
    {
        const size_t lengths[] = {0, 8, EAGER, 8193, MEDIUM, LARGE + 1};

        return random.percent(60) ? LARGE : lengths[random.below(6)];
    }
};

/* With one sender the messages of a tag go to the receives in their order, but those that were
 * cancelled. */
TEST_F(test_rtr_ud_random, one_sender)
{
    uint64_t used = 0, cancelled = 0, vain = 0, revoked = 0;

    for_seeds(80, [&](rng &random) {
        std::vector<recv_ptr> r[2];
        std::vector<send_ptr> s[2];
        unsigned lead = random.below(3) * 4; /* of the receives */
        bool fails    = random.percent(40);

        begin(random);
        while ((r[0].size() < 40) || (r[1].size() < 40) || (s[0].size() < 40) ||
               (s[1].size() < 40)) {
            unsigned tag = random.below(2);

            guess(stream());
            guess(stream(), TAG + 1);
            switch (random.below(8)) {
            case 0:
                if ((s[tag].size() < 40) &&
                    ((s[tag].size() + lead <= r[tag].size()) || (r[tag].size() == 40))) {
                    s[tag].push_back(
                            send(some_length(random), TAG + tag, random.percent(15)));
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
        revoked += m_b->counters().rtr_revoked_ud;
    });
    EXPECT_GT(used, 300u);
    EXPECT_GT(cancelled, 100u);
    EXPECT_GT(vain, 30u);
    EXPECT_GT(revoked, 20u);
}

/* Two senders, guesses that change, and wildcards: each message is received once, and those of
 * one sender by receives in the order of both. */
TEST_F(test_rtr_ud_random, contests)
{
    uint64_t used = 0, revoked = 0;

    for_seeds(80, [&](rng &random) {
        std::vector<recv_ptr> r;
        std::vector<send_ptr> s[2];
        size_t lead = random.below(10), count = 40;
        unsigned wild = random.below(2) * 10;
        bool fails    = random.percent(40);

        begin(random);
        second();
        while ((s[0].size() < count) || (s[1].size() < count)) {
            unsigned who = random.below(2);

            switch (random.below(9)) {
            case 0:
                if ((s[who].size() < count) &&
                    ((s[0].size() + s[1].size() + lead <= r.size()) ||
                     (r.size() == 2 * count))) {
                    /* Each is to be told from all others. */
                    size_t length = std::clamp(some_length(random), 8ul, LARGE);

                    s[who].push_back(who ? send2(length) : send(length));
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
        revoked += m_b->counters().rtr_revoked_ud;
    });
    EXPECT_GT(used, 20u);
    EXPECT_GT(revoked, 20u);
}

} // namespace
