/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/order/assembly.c: messages in parts at random, whole ones, receives and cancels
 * between the parts.
 */

#include "assembly_test.h"

#include <algorithm>
#include <numeric>

namespace {

/* Everything at random against a model that knows only what the protocol says. */
class test_assembly_random : public assembly_test {
protected:
    enum state_t {
        AWAY,
        PARTLY,
        MATCHED_PARTLY,
        THERE, /* and its turn has not come */
        QUEUED,
        RECEIVED
    };

    struct message {
        uint64_t tag;
        size_t length;
        std::vector<size_t> parts; /* empty: by active message; one: a whole record */
        size_t sent;               /* of the parts */
        state_t state;
        size_t receive;
    };

    struct receive {
        recv_ptr op;
        uint64_t tag, mask;
        bool posted;
        bool cancelled;
        uint32_t sn; /* 0: none */
    };

    message &msg(uint32_t sn) { return m_msgs[sn - 1]; }

    bool match_posted(uint32_t sn)
    {
        for (size_t i = 0; i < m_recvs.size(); ++i) {
            receive &r = m_recvs[i];

            if (r.posted && (((r.tag ^ msg(sn).tag) & r.mask) == 0)) {
                r.posted        = false;
                r.sn            = sn;
                msg(sn).receive = i;
                return true;
            }
        }
        return false;
    }

    void turns()
    {
        for (; (m_next <= m_msgs.size()) && (msg(m_next).state == THERE); ++m_next) {
            if (match_posted(m_next)) {
                msg(m_next).state = RECEIVED;
                ++m_posted;
            } else {
                msg(m_next).state = QUEUED;
                m_queue.push_back(m_next);
                ++m_unexpected;
            }
        }
    }

    bool any_early()
    {
        return std::any_of(m_msgs.begin() + m_next, m_msgs.end(),
                           [](const message &m) { return m.state == THERE; });
    }

    void model_record(uint32_t sn, size_t part)
    {
        message &m = msg(sn);

        if ((part == 0) && (m.parts.size() > 1)) {
            m.state = PARTLY;
            if ((sn == m_next) && !any_early() && match_posted(sn)) {
                m.state = MATCHED_PARTLY;
                ++m_posted;
                ++m_next;
            }
        } else if (part + 1 == m.parts.size()) {
            m.state = (m.state == MATCHED_PARTLY) ? RECEIVED : THERE;
            turns();
        }
    }

    void do_recv(rng &random)
    {
        receive r = {nullptr, random.below(3), random.percent(30) ? 0 : ~0ul,
                     true,    false,           0};

        r.op = m_node->recv(r.tag, r.mask, random.percent(80) ? 4000 : 1000);
        for (auto it = m_queue.begin(); it != m_queue.end(); ++it) {
            if (((msg(*it).tag ^ r.tag) & r.mask) == 0) {
                r.posted         = false;
                r.sn             = *it;
                msg(*it).receive = m_recvs.size();
                msg(*it).state   = RECEIVED;
                m_queue.erase(it);
                break;
            }
        }
        m_recvs.push_back(r);
    }

    void check()
    {
        size_t held = 0;

        for (const receive &r : m_recvs) {
            bool done = r.cancelled || ((r.sn != 0) && (msg(r.sn).state == RECEIVED));

            ASSERT_EQ(done, r.op->done) << "sn " << r.sn;
        }
        for (const message &m : m_msgs) {
            /* One that was matched at its first part is held if it goes elsewhere first */
            held += ((m.state != AWAY) && (m.state != RECEIVED) &&
                     !((m.state == MATCHED_PARTLY) &&
                       (m_recvs[m.receive].op->buffer.size() >= m.length))) ?
                            m.length :
                            0;
        }
        ASSERT_EQ(held, counters().held_bytes);
        ASSERT_EQ(m_queue.size(), worker()->match.num_unexpected);
        ASSERT_EQ(m_next, stream()->next_sn);
        ASSERT_EQ(m_posted, counters().streams.rx_posted);
        ASSERT_EQ(m_unexpected, counters().streams.rx_unexpected);
        ASSERT_EQ(0u, counters().rx_malformed);
    }

    void check_contents()
    {
        for (const receive &r : m_recvs) {
            if (r.sn == 0) {
                continue;
            }
            if (r.op->buffer.size() < msg(r.sn).length) {
                EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r.op->status);
                EXPECT_EQ(bytes(r.op->buffer.size()), r.op->buffer);
            } else {
                check_received(r.op, r.sn, msg(r.sn).tag, msg(r.sn).length);
            }
        }
    }

    void make_messages(rng &random)
    {
        for (unsigned i = 0; i < 60; ++i) {
            message m = {random.below(3), random.range(2, 4000), {}, 0, AWAY, 0};

            for (size_t left = random.percent(30) ? 0 : m.length; left > 0;) {
                size_t most = (m.parts.empty() && random.percent(80)) ? left - 1 : left;
                size_t part = random.percent(20) ? most : random.range(1, most);

                m.parts.push_back(part);
                left -= part;
            }
            m_msgs.push_back(m);
        }
    }

    void reserve(const message &m)
    {
        uint32_t lines = 0;

        for (size_t length : m.parts) {
            lines += ri_ring_lines(length);
        }
        ASSERT_NE(nullptr, ri_ring_tx_reserve_lines(&m_tx, lines));
    }

    /* Writes the next part of a message into the ring. */
    void write_part(uint32_t sn)
    {
        message &m    = msg(sn);
        size_t part   = m.sent++;
        size_t offset = std::accumulate(m.parts.begin(), m.parts.begin() + part,
                                        (size_t)0);
        uint8_t type  = (m.parts.size() == 1) ? RI_WIRE_EAGER :
                        (part == 0)           ? RI_RING_START :
                                                RI_RING_PART;

        if (part == 0) {
            reserve(m); /* no padding between the parts */
        }
        record(type, sn, m.tag, m.length,
               slice(pattern(sn, m.length), offset, m.parts[part]), false);
    }

    void cancel(receive &r)
    {
        m_node->cancel(r.op);
        r.cancelled = r.cancelled || r.posted;
        r.posted    = false;
    }

    /* Through the ring in the order of their numbers; by active message in any. */
    void run(rng &random)
    {
        std::vector<uint32_t> by_ring, by_message;
        std::deque<std::pair<uint32_t, size_t>> written;

        for (uint32_t sn = 1; sn <= m_msgs.size(); ++sn) {
            (msg(sn).parts.empty() ? by_message : by_ring).push_back(sn);
        }
        size_t ring_at = 0, ways = random.range(20, 80);
        while ((ring_at < by_ring.size()) || !by_message.empty() || !written.empty()) {
            unsigned what = random.below(100);

            if ((what < 35) && (ring_at < by_ring.size()) && (written.size() < 10)) {
                const message &m = msg(by_ring[ring_at]);

                written.push_back({by_ring[ring_at], m.sent});
                write_part(by_ring[ring_at]);
                ring_at += (m.sent == m.parts.size());
            } else if (what < 60) {
                m_node->progress();
                for (; !written.empty(); written.pop_front()) {
                    model_record(written.front().first, written.front().second);
                }
            } else if ((what < 70) && !by_message.empty()) {
                size_t which =
                        random.percent(ways) ?
                                0 :
                                random.below(std::min<size_t>(by_message.size(), 5));
                uint32_t sn = by_message[which];

                by_message.erase(by_message.begin() + which);
                by_am(sn, msg(sn).tag, msg(sn).length);
                msg(sn).state = THERE;
                turns();
            } else if ((what < 95) && (m_recvs.size() < m_msgs.size() + 30)) {
                do_recv(random);
            } else if (!m_recvs.empty()) {
                receive &r = m_recvs[random.below(m_recvs.size())];

                if (!r.op->done) {
                    cancel(r);
                }
            }
            check();
            if (HasFatalFailure()) {
                return;
            }
        }
        for (size_t i = 0; !m_queue.empty(); ++i) {
            do_recv(random);
        }
        for (receive &r : m_recvs) {
            if (r.posted) {
                cancel(r);
            }
        }
        check();
        check_contents();
    }

    std::vector<message> m_msgs;
    std::vector<receive> m_recvs;
    std::deque<uint32_t> m_queue; /* unexpected */
    uint32_t m_next;
    uint64_t m_posted, m_unexpected;
};

TEST_F(test_assembly_random, interleaved)
{
    for_seeds(300, [this](rng &random) {
        m_msgs.clear();
        m_recvs.clear();
        m_queue.clear();
        m_next   = 1;
        m_posted = m_unexpected = 0;
        make_messages(random);
        run(random);
        restart();
    });
}

} // namespace
