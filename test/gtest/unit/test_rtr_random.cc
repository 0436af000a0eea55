/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives with RTRs, messages, cancels and failures at random, against references.
 * (protocol-rndv.md section 3)
 */

#include "rtr_test.h"

namespace {

class test_rtr_random : public rtr_test {};

/* Everything at once, against a reference: with one sender the messages of a tag go to the
 * receives in their order, but those that were cancelled. */
TEST_F(test_rtr_random, one_sender)
{
    const size_t lengths[]    = {0, 8, EAGER, 5000, 8192, 8193, MEDIUM, LARGE, GIANT};
    const ucs_status_t ends[] = {UCS_OK, UCS_OK, UCS_OK, UCS_ERR_INVALID_ADDR};
    uint64_t used = 0, cancelled = 0, vain = 0;

    for_seeds(60, [&](rng &random) {
        std::vector<recv_ptr> r[2];
        std::vector<send_ptr> s[2];
        unsigned depth = 0, lead = random.below(3) * 4; /* of the receives */

        ri_config.hybrid_thresh = random.percent(30) ? 65536 : 0;
        ri_config.pool_size     = 1 << 20;
        restart();
        for (uint64_t tag : {TAG, TAG + 1}) {
            ri_sender_map_learn(&m_b->worker()->senders, tag, ALL, tag, stream()->id);
        }
        auto receiver = [&]() {
            unsigned tag = random.below(2);

            switch (random.below(4)) {
            case 0:
                if (r[tag].size() < 40) {
                    r[tag].push_back(post(random.percent(15) ? EAGER : GIANT, TAG + tag));
                }
                break;
            case 1:
                if (random.percent(20)) {
                    std::vector<recv_ptr> open;

                    std::copy_if(r[tag].begin(), r[tag].end(), std::back_inserter(open),
                                 [](const recv_ptr &one) { return !one->done; });
                    if (!open.empty()) {
                        recv_ptr one = open[random.below(open.size())];
                        m_b->cancel(one);
                        vain += !one->done;
                    }
                }
                break;
            default:
                m_b->progress();
                break;
            }
        };
        m_a_plane->on_write = [&]() {
            if ((depth == 0) && random.percent(40)) {
                ++depth;
                receiver();
                --depth;
            }
        };
        while ((r[0].size() < 40) || (r[1].size() < 40) || (s[0].size() < 40) ||
               (s[1].size() < 40)) {
            unsigned tag = random.below(2);

            switch (random.below(5)) {
            case 0:
                if ((s[tag].size() < 40) &&
                    ((s[tag].size() + lead <= r[tag].size()) || (r[tag].size() == 40))) {
                    s[tag].push_back(
                            m_a->send(m_conn, pattern(++m_seed, lengths[random.below(9)]),
                                      TAG + tag, random.percent(15)));
                }
                break;
            case 1:
                m_a->progress();
                break;
            case 2:
                deliver();
                m_a_plane->write_status = ends[random.below(4)];
                m_a_plane->move_before  = random.below(LARGE);
                m_conn->flags |= RI_CONN_PLANE_WRITE | RI_CONN_PLANE_READ;
                for (uint64_t one : {TAG, TAG + 1}) {
                    ri_sender_map_credit(&m_b->worker()->senders, one, ALL, stream()->id,
                                         1);
                }
                break;
            default:
                receiver();
                break;
            }
        }
        m_a_plane->on_write     = nullptr;
        m_a_plane->write_status = UCS_OK;
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
                recv_ptr rest = post(GIANT, TAG + tag);
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
    });
    ri_config.hybrid_thresh = ri_config.pool_size = 0;
    EXPECT_GT(used, 300u);
    EXPECT_GT(cancelled, 100u);
    EXPECT_GT(vain, 5u);
}

/* Two senders, guesses that change, and wildcards: each message is received once, and those
 * of one sender and tag by receives in the order of both. */
TEST_F(test_rtr_random, contests)
{
    const size_t lengths[] = {8, EAGER, 5000, 8193, MEDIUM, LARGE};
    uint64_t used          = 0;

    for_seeds(60, [&](rng &random) {
        std::vector<recv_ptr> r, closed;
        std::vector<send_ptr> s[2];
        size_t lead = random.below(10), count = 60;
        unsigned depth = 0, wild = random.below(2) * 10;

        restart();
        second();
        auto receiver = [&]() {
            switch (random.below(5)) {
            case 0:
                if (r.size() < 2 * count) {
                    r.push_back(random.percent(wild) ? m_b->recv(0, 0, LARGE) :
                                                       post(LARGE));
                }
                break;
            case 1:
                guess(random.percent(50) ? stream() : stream2());
                ri_sender_map_credit(&m_b->worker()->senders, TAG, ALL, stream()->id, 1);
                break;
            case 2:
                if (!r.empty() && random.percent(20)) {
                    recv_ptr one = r[r.size() - 1 - random.below(ri_min(r.size(), 8ul))];
                    m_b->cancel(one);
                }
                break;
            default:
                m_b->progress();
                break;
            }
        };
        m_a_plane->on_write = [&]() {
            if ((depth == 0) && random.percent(60)) {
                ++depth;
                receiver();
                --depth;
            }
        };
        while ((s[0].size() < count) || (s[1].size() < count)) {
            unsigned who = random.below(2);

            switch (random.below(5)) {
            case 0:
                if ((s[who].size() < count) &&
                    ((s[0].size() + s[1].size() + lead <= r.size()) ||
                     (r.size() == 2 * count))) {
                    s[who].push_back(
                            m_a->send(who ? m_conn2 : m_conn,
                                      pattern(++m_seed, lengths[random.below(6)]), TAG));
                }
                break;
            case 1:
                m_a->progress();
                break;
            case 2:
                deliver();
                m_a_plane->write_status = random.percent(80) ? UCS_OK :
                                                               UCS_ERR_INVALID_ADDR;
                m_conn->flags |= RI_CONN_PLANE_WRITE | RI_CONN_PLANE_READ;
                m_conn2->flags |= RI_CONN_PLANE_WRITE | RI_CONN_PLANE_READ;
                break;
            default:
                receiver();
                break;
            }
        }
        m_a_plane->on_write     = nullptr;
        m_a_plane->write_status = UCS_OK;
        pump();
        for (size_t left = m_b->worker()->match.num_unexpected; left > 0; --left) {
            r.push_back(post());
        }
        pump();

        size_t next[2] = {0, 0}, matched = 0;
        for (const recv_ptr &one : r) {
            if (!one->done) { /* the wildcards may be taken, or not */
                m_b->cancel(one);
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
    });
    EXPECT_GT(used, 300u);
}

} // namespace
