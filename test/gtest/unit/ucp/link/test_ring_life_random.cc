/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * All of the protocol over rings, at random: sizes over all protocols, synchronous or not, receives
 * before and after, deliveries late and in bulk out of order, completions late. All messages must
 * arrive once, with their content, and in order. (src/ucp/link/ring_life.c)
 */

#include "ring_life_test.h"

namespace {

class test_ring_life_random : public ring_life_test {
protected:
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

    void set_up(rng &random);
    void send_one(rng &random);
    void post_one(rng &random);
    void deliver_one(rng &random);
    void step(rng &random);
    void receive_rest();
    void check_one(const posted &p);
    void check_all();
    void check_counters();
    void clear();

    node *pick(rng &random) { return m_nodes[random.below(m_nodes.size())].get(); }

    size_t m_max_size;
    uint64_t m_tags;
    std::vector<message> m_messages;
    std::vector<posted> m_receives;
    size_t m_received;
    std::map<std::pair<node *, node *>, uint32_t> m_numbers;
    std::map<node *, int> m_outstanding; /* messages less receives */
    /* Receives of one tag and mask take the messages of a sender in order */
    std::map<std::tuple<node *, node *, uint64_t, uint64_t, uint64_t>, uint32_t> m_latest;
};

void test_ring_life_random::set_up(rng &random)
{
    m_ucx->random        = &random;
    m_ucx->send_mode     = random.percent(50) ? RANDOM : AT_ONCE;
    m_ucx->fetch_mode    = random.percent(50) ? RANDOM : AT_ONCE;
    ri_config.ring_after = random.range(1, 10);
    ri_config.ring_peers = random.range(0, 2);

    ri_config.ring_size    = 4096ul << random.below(3);
    ri_config.eager_thresh = ri_config.ring_size / 4;

    size_t num_nodes = random.range(2, 3);
    m_max_size       = random.percent(50) ? 100 : 5000;
    m_tags           = random.range(1, 4);
    m_received       = 0;
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
}

/* Each message begins with its place among all, and its number. */
void test_ring_life_random::send_one(rng &random)
{
    node *from = pick(random), *to = pick(random);
    uint64_t tag  = random.below(m_tags);
    size_t length = 12 + random.below(random.percent(70) ? 60 : m_max_size);
    uint32_t id = m_messages.size(), number = ++m_numbers[{from, to}];
    bytes data = pattern(id, length);

    memcpy(&data[0], &id, 4);
    memcpy(&data[4], &number, 4);
    m_messages.push_back({from, tag, number, nullptr, false});
    m_messages.back().send = from->send(conn(from, to), data, tag, random.percent(15));
    ++m_outstanding[to];
}

void test_ring_life_random::post_one(rng &random)
{
    node *at      = pick(random);
    bool wildcard = random.percent(30);

    if (m_outstanding[at] > -10) {
        m_receives.push_back(
                {at->recv(random.below(m_tags), wildcard ? 0 : ~0ul, 12 + m_max_size),
                 at});
        --m_outstanding[at];
    }
}

/* A large message may be overtaken, the others come in their order. */
void test_ring_life_random::deliver_one(rng &random)
{
    auto it = m_eps.begin();
    std::advance(it, random.below(m_eps.size()));
    endpoint *e  = it->second;
    size_t which = 0;

    if (e->sent.empty()) {
        return;
    }
    while ((which + 1 < e->sent.size()) && (e->sent[which].type() == RI_WIRE_BULK) &&
           random.percent(50)) {
        ++which;
    }
    deliver(e, which, &random);
}

void test_ring_life_random::step(rng &random)
{
    uint64_t what = random.below(100);

    m_ucx->immediate = random.percent(20) ? (int)random.below(4) : -1;
    if (what < 25) {
        send_one(random);
    } else if (what < 45) {
        post_one(random);
    } else if (what < 80) {
        deliver_one(random);
    } else if (what < 95) {
        pick(random)->progress();
    } else {
        m_ucx->complete_nth(random.below(4));
    }
}

void test_ring_life_random::receive_rest()
{
    m_ucx->immediate = -1;
    calm_down();
    for (auto &n : m_nodes) {
        while (n->worker()->match.num_unexpected > 0) {
            m_receives.push_back({n->recv(0, 0, 12 + m_max_size), n.get()});
            calm_down();
        }
    }
}

/* A receive that has ended */
void test_ring_life_random::check_one(const posted &p)
{
    uint32_t id, number;

    ASSERT_EQ(UCS_OK, p.op->status);
    memcpy(&id, &p.op->buffer[0], 4);
    memcpy(&number, &p.op->buffer[4], 4);
    ASSERT_LT(id, m_messages.size());
    message &m = m_messages[id];
    ASSERT_FALSE(m.received) << "message " << id << " came twice";
    m.received = true;
    ++m_received;
    ASSERT_EQ(m.tag, p.op->info.sender_tag);
    ASSERT_EQ(m.send->data.size(), p.op->info.length);
    ASSERT_TRUE(
            std::equal(m.send->data.begin(), m.send->data.end(), p.op->buffer.begin()));
    uint32_t &last =
            m_latest[{p.at, m.from, p.op->mask ? p.op->tag : 0, p.op->mask, m.tag}];
    ASSERT_LT(last, m.number) << "message " << id << " is late";
    last = m.number;
}

void test_ring_life_random::check_all()
{
    for (const posted &p : m_receives) {
        if (p.op->done) {
            ASSERT_NO_FATAL_FAILURE(check_one(p));
        } else {
            p.at->cancel(p.op);
        }
    }
    ASSERT_EQ(m_messages.size(), m_received);
    for (const message &m : m_messages) {
        ASSERT_TRUE(m.send->done);
        ASSERT_EQ(UCS_OK, m.send->status);
    }
}

/* The invariants of counters.h */
void test_ring_life_random::check_counters()
{
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
    EXPECT_EQ(m_messages.size(), sent + by_self);
    EXPECT_EQ(sent, matched);
}

void test_ring_life_random::clear()
{
    m_messages.clear();
    m_receives.clear();
    m_numbers.clear();
    m_outstanding.clear();
    m_latest.clear();
    m_eps.clear();
    m_nodes.clear();
}

TEST_F(test_ring_life_random, random)
{
    for_seeds(150, [this](rng &random) {
        set_up(random);
        for (unsigned i = 0; (i < 1500) && !HasFailure(); ++i) {
            step(random);
        }
        receive_rest();
        ASSERT_NO_FATAL_FAILURE(check_all());
        check_counters();
        clear();
    });
    m_ucx->random = nullptr;
}

} // namespace
