/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * All of the protocol over rings, at random. (src/ucp/link/ring_life.c)
 */

#include "ring_life_test.h"

namespace {

class test_ring_life_random : public ring_life_test {};

/* Everything at random: sizes over all protocols, synchronous or not, receives before and
 * after, deliveries late and in bulk out of order, completions late. All must arrive once,
 * with its content, and in order. */
TEST_F(test_ring_life_random, random)
{
    for_seeds(150, [this](rng &random) {
        struct message {
            node *from;
            uint64_t tag;
            uint32_t number; /* of its sender and receiver */
            send_ptr send;
            bool received;
        };
        struct posted {
            recv_ptr op;
            node *at;
        };

        m_ucx->random        = &random;
        m_ucx->send_mode     = random.percent(50) ? RANDOM : AT_ONCE;
        m_ucx->fetch_mode    = random.percent(50) ? RANDOM : AT_ONCE;
        ri_config.ring_after = random.range(1, 10);
        ri_config.ring_peers = random.range(0, 2);

        ri_config.ring_size    = 4096ul << random.below(3);
        ri_config.eager_thresh = ri_config.ring_size / 4;

        size_t num_nodes = random.range(2, 3);
        size_t max_size  = random.percent(50) ? 100 : 5000;
        uint64_t tags    = random.range(1, 4);
        unsigned total   = 0;
        std::vector<message> messages;
        std::map<std::pair<node *, node *>, uint32_t> numbers;
        std::vector<posted> receives;
        std::map<node *, int> outstanding; /* messages less receives */

        for (size_t i = 0; i < num_nodes; ++i) {
            add_node();
        }
        for (auto &n : m_nodes) {
            for (auto &m : m_nodes) {
                if (random.percent(80)) {
                    conn(n.get(), m.get());
                }
            }
        }

        auto pick = [&]() { return m_nodes[random.below(num_nodes)].get(); };
        for (unsigned step = 0; (step < 1500) && !HasFailure(); ++step) {
            uint64_t what = random.below(100);

            m_ucx->immediate = random.percent(20) ? (int)random.below(4) : -1;
            if (what < 25) {
                node *from = pick(), *to = pick();
                uint64_t tag  = random.below(tags);
                size_t length = 12 + random.below(random.percent(70) ? 60 : max_size);
                bytes data    = pattern(total, length);
                uint32_t id = total++, number = ++numbers[{from, to}];

                memcpy(&data[0], &id, 4);
                memcpy(&data[4], &number, 4);
                messages.push_back({from, tag, number, nullptr, false});
                messages.back().send = from->send(conn(from, to), data, tag,
                                                  random.percent(15));
                ++outstanding[to];
            } else if (what < 45) {
                node *at      = pick();
                bool wildcard = random.percent(30);

                if (outstanding[at] > -10) {
                    receives.push_back({at->recv(random.below(tags), wildcard ? 0 : ~0ul,
                                                 12 + max_size),
                                        at});
                    --outstanding[at];
                }
            } else if (what < 80) {
                auto it = m_eps.begin();
                std::advance(it, random.below(m_eps.size()));
                endpoint *e = it->second;

                if (!e->sent.empty()) {
                    /* What is large may be overtaken, the rest comes in its order */
                    size_t which = 0;
                    while ((which + 1 < e->sent.size()) &&
                           (e->sent[which].type() == RI_WIRE_BULK) &&
                           random.percent(50)) {
                        ++which;
                    }
                    deliver(e, which, &random);
                }
            } else if (what < 95) {
                pick()->progress();
            } else {
                m_ucx->complete_nth(random.below(4));
            }
        }
        m_ucx->immediate = -1;
        calm_down();
        for (auto &n : m_nodes) {
            while (n->worker()->match.num_unexpected > 0) {
                receives.push_back({n->recv(0, 0, 12 + max_size), n.get()});
                calm_down();
            }
        }

        /* Receives of one tag and mask take the messages of a sender in order */
        std::map<std::tuple<node *, node *, uint64_t, uint64_t, uint64_t>, uint32_t>
                latest;
        size_t received = 0;
        for (const posted &p : receives) {
            if (!p.op->done) {
                p.at->cancel(p.op);
                continue;
            }
            uint32_t id, number;

            ASSERT_EQ(UCS_OK, p.op->status);
            memcpy(&id, &p.op->buffer[0], 4);
            memcpy(&number, &p.op->buffer[4], 4);
            ASSERT_LT(id, messages.size());
            message &m = messages[id];
            ASSERT_FALSE(m.received) << "message " << id << " came twice";
            m.received = true;
            ++received;
            ASSERT_EQ(m.tag, p.op->info.sender_tag);
            ASSERT_EQ(m.send->data.size(), p.op->info.length);
            ASSERT_TRUE(std::equal(m.send->data.begin(), m.send->data.end(),
                                   p.op->buffer.begin()));
            uint32_t &last =
                    latest[{p.at, m.from, p.op->mask ? p.op->tag : 0, p.op->mask, m.tag}];
            ASSERT_LT(last, m.number) << "message " << id << " is late";
            last = m.number;
        }
        ASSERT_EQ(messages.size(), received);
        for (const message &m : messages) {
            ASSERT_TRUE(m.send->done);
            ASSERT_EQ(UCS_OK, m.send->status);
        }

        /* The invariants of counters.h */
        uint64_t sent = 0, matched = 0, by_self = 0;
        for (auto &n : m_nodes) {
            ri_worker_counters_t c = n->counters();

            sent += c.conns.tx_eager_ring + c.conns.tx_eager_am + c.conns.tx_bulk;
            by_self += c.conns.tx_self;
            matched += c.streams.rx_posted + c.streams.rx_unexpected;
            EXPECT_EQ(0u, c.held_bytes);
            EXPECT_EQ(0u, c.rx_malformed);
            EXPECT_EQ(0u, c.rx_stale);
        }
        EXPECT_EQ(messages.size(), sent + by_self);
        EXPECT_EQ(sent, matched);

        messages.clear();
        receives.clear();
        m_eps.clear();
        m_nodes.clear();
    });
    m_ucx->random = nullptr;
}

} // namespace
