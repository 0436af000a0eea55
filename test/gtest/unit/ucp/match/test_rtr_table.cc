/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/match/rtr_table.c, against a list of all messages that were ever sent.
 * (protocol-rndv.md section 3.2)
 */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <set>

namespace {

class test_rtr_table : public ::testing::Test {
protected:
    static constexpr uint64_t ALL = ~0ul;

    void SetUp() override { reset(0); }

    void reset(uint32_t last_sn)
    {
        ri_rtr_table_reset(&m_table, last_sn);
        m_last = last_sn;
    }

    /* A grant that is out, and its RTR. Rings: 0 and 1. */
    ri_rtr_t give(unsigned ring, unsigned index, uint64_t tag, uint64_t mask,
                  uint32_t ahead)
    {
        ri_rtr_t rtr = {};

        rtr.tag         = tag;
        rtr.mask        = mask;
        rtr.address     = ++m_serial;
        rtr.length      = 1000000;
        rtr.recv_id     = m_serial;
        rtr.ahead       = ahead;
        rtr.generation  = ++m_generation;
        rtr.index       = index;
        rtr.grant       = &m_rings[ring].grants[index];
        rtr.grant->word = ri_grant_word(rtr.generation, RI_RING_GRANT_OUT);
        return rtr;
    }

    ri_rtr_t give(unsigned index, uint64_t tag = 1, uint32_t ahead = 0)
    {
        return give(0, index, tag, ALL, ahead);
    }

    static bool withdraw(const ri_rtr_t &rtr)
    {
        return ri_grant_change(rtr.grant, rtr.generation, RI_RING_GRANT_FREE);
    }

    static uint32_t state(const ri_rtr_t &rtr)
    {
        return ri_grant_state(rtr.grant, rtr.generation);
    }

    ri_rtr_fate_t add(const ri_rtr_t &rtr, uint32_t seen)
    {
        m_sn = m_req_id = 0;
        return ri_rtr_table_add(&m_table, &rtr, seen, &m_sn, &m_req_id);
    }

    uint32_t send(uint64_t tag, uint32_t req_id = 0)
    {
        ri_rtr_table_send(&m_table, ++m_last, tag, req_id);
        return m_last;
    }

    void send_many(unsigned count, uint64_t tag)
    {
        while (count-- > 0) {
            send(tag);
        }
    }

    /* @return Which RTR is for the next message of a tag, by its address; 0: none. */
    uint64_t find(uint64_t tag)
    {
        const ri_rtr_t *rtr = ri_rtr_table_find(&m_table, tag);

        return (rtr != nullptr) ? rtr->address : 0;
    }

    ri_rtr_table_t m_table;
    ri_ring_control_t m_rings[2] = {};
    uint32_t m_last              = 0; /* number */
    uint32_t m_serial            = 0;
    uint32_t m_generation        = 0;
    uint32_t m_sn, m_req_id;
};

TEST_F(test_rtr_table, reset_is_empty)
{
    for (uint32_t last : {0u, 5u, ~0u}) {
        reset(last);
        EXPECT_EQ(0u, find(1));
        EXPECT_EQ(RI_RTR_WAITS, add(give(0), last));
        EXPECT_NE(0u, find(1));
        reset(last);
        EXPECT_EQ(0u, find(1));
    }
}

TEST_F(test_rtr_table, use_and_end)
{
    ri_rtr_t rtr = give(0);

    EXPECT_TRUE(ri_rtr_table_is_out(&rtr));
    EXPECT_TRUE(ri_rtr_table_use(&rtr));
    EXPECT_FALSE(ri_rtr_table_is_out(&rtr));
    EXPECT_FALSE(ri_rtr_table_use(&rtr)) << "once";
    EXPECT_FALSE(withdraw(rtr));
    for (uint32_t end :
         {RI_RING_GRANT_WRITTEN, RI_RING_GRANT_FAILED, RI_RING_GRANT_SLOT}) {
        ri_rtr_table_end(&rtr, end);
        EXPECT_EQ(end, state(rtr));
    }

    ri_rtr_t back = give(1);
    EXPECT_TRUE(withdraw(back));
    EXPECT_FALSE(ri_rtr_table_is_out(&back));
    EXPECT_FALSE(ri_rtr_table_use(&back));
    EXPECT_EQ(RI_RING_GRANT_FREE, state(back));
}

TEST_F(test_rtr_table, use_compares_the_generation)
{
    ri_rtr_t old = give(0);
    ri_rtr_t rtr = give(0); /* the same grant */

    EXPECT_FALSE(ri_rtr_table_is_out(&old));
    EXPECT_FALSE(ri_rtr_table_use(&old));
    EXPECT_TRUE(ri_rtr_table_use(&rtr));
}

TEST_F(test_rtr_table, find_by_tag_and_mask)
{
    EXPECT_EQ(RI_RTR_WAITS, add(give(0, 0, 0x1f, 0xf0, 0), 0));
    EXPECT_EQ(1u, find(0x1f));
    EXPECT_EQ(1u, find(0x12)) << "as the mask says";
    EXPECT_EQ(0u, find(0x21));
    EXPECT_EQ(1u, find(0x12)) << "finding changes nothing";
    EXPECT_EQ(RI_RTR_WAITS, add(give(0, 1, 5, 0, 0), 0));
    EXPECT_EQ(2u, find(0x21)) << "any";
}

TEST_F(test_rtr_table, find_drops_what_was_withdrawn)
{
    ri_rtr_t a = give(0), b = give(1), c = give(2);

    for (const ri_rtr_t &rtr : {a, b, c}) {
        ASSERT_EQ(RI_RTR_WAITS, add(rtr, 0));
    }
    withdraw(a);
    withdraw(b);
    EXPECT_EQ(c.address, find(1));
    give(2); /* the grant of c is another one's now; its RTR is on its way */
    EXPECT_EQ(0u, find(1));
    EXPECT_EQ(0u, m_table.num_waiting);
}

/* A ring that closes takes the RTRs that came by it along, late ones as well. */
TEST_F(test_rtr_table, drop_takes_those_of_its_ring)
{
    ri_rtr_late_t late = {};
    std::set<uint64_t> left;

    for (unsigned i = 0; i < 6; ++i) {
        unsigned ring = (i % 3 == 1);

        ASSERT_EQ(RI_RTR_WAITS, add(give(ring, i, 1, ALL, 0), 0));
        late.rtr = give(ring, 10 + i, 1, ALL, 0);
        ri_rtr_table_add_late(&m_table, &late);
        if (ring == 1) {
            left.insert(late.rtr.address);
        }
    }
    ri_rtr_table_drop(&m_table, &m_rings[0]);
    EXPECT_EQ(2u, m_table.num_waiting);
    for (unsigned i = 0; i < m_table.num_waiting; ++i) {
        EXPECT_EQ(&m_rings[1].grants[m_table.waiting[i].index], m_table.waiting[i].grant);
    }
    EXPECT_EQ(2u, m_table.num_late);
    while (ri_rtr_table_pop_late(&m_table, 1, &late)) {
        EXPECT_EQ(1u, left.erase(late.rtr.address));
    }
    EXPECT_TRUE(left.empty());
}

TEST_F(test_rtr_table, send_uses_it_up)
{
    for (uint32_t req_id : {0u, 7u}) {
        ASSERT_EQ(RI_RTR_WAITS, add(give(0), m_last));
        send(2);
        EXPECT_NE(0u, find(1));
        send(1, req_id); /* of whatever form: the receive is this one's */
        EXPECT_EQ(0u, find(1));
        EXPECT_EQ(0u, m_table.num_waiting);
    }
}

TEST_F(test_rtr_table, send_counts_down)
{
    ri_rtr_t rtr = give(0, 1, 3);

    ASSERT_EQ(RI_RTR_WAITS, add(rtr, 0));
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_EQ(0u, find(1)) << i;
        send(1);
        send(2);
    }
    EXPECT_EQ(rtr.address, find(1));
    send(1);
    EXPECT_EQ(0u, find(1));
}

TEST_F(test_rtr_table, send_counts_for_all_that_fit)
{
    /* Two tags, and void ones among them: a message counts for each, also behind the one
     * that it uses. */
    ri_rtr_t gone = give(5);
    ri_rtr_t r[]  = {give(0, 1, 0), give(1, 1, 1), give(2, 1, 2), give(3, 2, 0)};

    add(gone, 0);
    for (const ri_rtr_t &rtr : r) {
        ASSERT_EQ(RI_RTR_WAITS, add(rtr, 0));
    }
    withdraw(gone);
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_EQ(r[i].address, find(1)) << i;
        send(1, i);
    }
    EXPECT_EQ(0u, find(1));
    EXPECT_EQ(r[3].address, find(2));
}

TEST_F(test_rtr_table, void_ones_of_count_0_are_used_up_too)
{
    ri_rtr_t gone = give(0), next = give(1, 1, 1);

    add(gone, 0);
    add(next, 0);
    withdraw(gone);
    send(1); /* without a search before */
    EXPECT_EQ(next.address, find(1));
    EXPECT_EQ(1u, m_table.num_waiting);
}

TEST_F(test_rtr_table, add_for_what_was_sent)
{
    send(1, 71); /* 1 */
    send(2);     /* 2 */
    send(1);     /* 3: eager, or by pool, or what used an RTR */
    send(1, 72); /* 4 */

    EXPECT_EQ(RI_RTR_FOR_RTS, add(give(0, 1, 0), 0));
    EXPECT_EQ(1u, m_sn);
    EXPECT_EQ(71u, m_req_id);
    EXPECT_EQ(RI_RTR_DROPPED, add(give(0, 1, 1), 0));
    EXPECT_EQ(RI_RTR_FOR_RTS, add(give(0, 1, 2), 0));
    EXPECT_EQ(4u, m_sn);
    EXPECT_EQ(72u, m_req_id);
    EXPECT_EQ(RI_RTR_DROPPED, add(give(0, 1, 0), 1));
    EXPECT_EQ(RI_RTR_FOR_RTS, add(give(0, 1, 0), 3));
    EXPECT_EQ(4u, m_sn);
    EXPECT_EQ(RI_RTR_DROPPED, add(give(0, 2, 0), 0));
    EXPECT_EQ(RI_RTR_FOR_RTS, add(give(0, 0, 1, 0, 3), 0)) << "any tag";
    EXPECT_EQ(0u, m_table.num_waiting);
}

TEST_F(test_rtr_table, add_counts_what_was_sent)
{
    send(1);
    send(1, 7);
    EXPECT_EQ(RI_RTR_WAITS, add(give(0, 1, 2), 0));
    EXPECT_EQ(1u, find(1));
    EXPECT_EQ(RI_RTR_WAITS, add(give(1, 1, 2), 1));
    EXPECT_EQ(1u, find(1));
    send(1);
    EXPECT_EQ(2u, find(1));
}

TEST_F(test_rtr_table, add_at_the_limits_of_the_log)
{
    for (uint32_t start : {0u, 1000u, 0u - 100u, 0u - 256u, 0u - 257u, 0x7fffff80u}) {
        for (unsigned later : {254u, 255u, 256u, 257u, 600u}) {
            for (bool fits : {true, false}) {
                SCOPED_TRACE(std::to_string(start) + " + " + std::to_string(later));
                reset(start);
                uint32_t seen = send(9);
                send(fits ? 1 : 9, 33);
                send_many(later - 1, 9);
                ASSERT_EQ(seen + later, m_last);
                EXPECT_EQ((later > RI_RTR_WINDOW) ? RI_RTR_DROPPED :
                          fits                    ? RI_RTR_FOR_RTS :
                                                    RI_RTR_WAITS,
                          add(give(0), seen));
                if (fits && (later <= RI_RTR_WINDOW)) {
                    EXPECT_EQ(seen + 1, m_sn);
                    EXPECT_EQ(33u, m_req_id);
                }
            }
        }
    }
}

TEST_F(test_rtr_table, add_for_numbers_that_the_log_does_not_have)
{
    for (uint32_t start : {0u, 50u, ~0u}) {
        reset(start);
        EXPECT_EQ(RI_RTR_DROPPED, add(give(0), start - 1)) << "before its start";
        EXPECT_EQ(RI_RTR_DROPPED, add(give(0), start + 1)) << "never sent";
        EXPECT_EQ(RI_RTR_DROPPED, add(give(0), start + 0x7fffffff));
        EXPECT_EQ(RI_RTR_DROPPED, add(give(0), start + 0x80000000u));
        send(1);
        EXPECT_EQ(RI_RTR_DROPPED, add(give(0), start + 2));
        EXPECT_EQ(RI_RTR_WAITS, add(give(0), start + 1));
        EXPECT_EQ(RI_RTR_DROPPED, add(give(1), start)) << "was eager";
    }
}

TEST_F(test_rtr_table, add_to_a_full_table)
{
    std::vector<ri_rtr_t> all;

    for (unsigned i = 0; i < RI_RTR_MAX; ++i) {
        all.push_back(give(i, 1, i));
        ASSERT_EQ(RI_RTR_WAITS, add(all[i], 0));
    }
    ri_rtr_t more = give(1, 0, 2, ALL, 0);
    EXPECT_EQ(RI_RTR_DROPPED, add(more, 0));
    EXPECT_TRUE(ri_rtr_table_is_out(&more)) << "the receiver is not told";
    withdraw(all[7]);
    EXPECT_EQ(RI_RTR_WAITS, add(more, 0));
    EXPECT_EQ((unsigned)RI_RTR_MAX, m_table.num_waiting);
    EXPECT_EQ(RI_RTR_DROPPED, add(give(1, 1, 2, ALL, 0), 0));
    send(2);
    EXPECT_EQ(RI_RTR_WAITS, add(give(1, 1, 2, ALL, 0), m_last));
    for (unsigned i = 0; i < RI_RTR_MAX; ++i) {
        EXPECT_EQ((i == 7) ? 0 : all[i].address, find(1)) << i;
        send(1);
    }
}

TEST_F(test_rtr_table, drop_those_of_one_ring)
{
    for (unsigned i = 0; i < RI_RTR_MAX; ++i) {
        ri_rtr_t rtr = give(i % 2, i / 2, i, ALL, 0);
        ASSERT_EQ(RI_RTR_WAITS, add(rtr, 0));
    }
    ri_rtr_table_drop(&m_table, &m_rings[1]);
    EXPECT_EQ((unsigned)RI_RTR_MAX / 2, m_table.num_waiting);
    for (unsigned i = 0; i < RI_RTR_MAX; ++i) {
        EXPECT_EQ(i % 2 == 0, find(i) != 0) << i;
    }
    ri_rtr_table_drop(&m_table, &m_rings[1]);
    ri_rtr_table_drop(&m_table, &m_rings[0]);
    EXPECT_EQ(0u, m_table.num_waiting);
    ri_rtr_table_drop(&m_table, &m_rings[0]);
}

/* Everything at random, against what the rules say of the list of all messages. */
class random_rtr_table : public test_rtr_table {
protected:
    struct message {
        uint32_t sn;
        uint64_t tag;
        uint32_t req_id;
    };

    struct given {
        ri_rtr_t rtr; /* count: as given */
        uint32_t seen;
        bool waits;
    };

    static bool fits(const ri_rtr_t &rtr, uint64_t tag)
    {
        return ((rtr.tag ^ tag) & rtr.mask) == 0;
    }

    /* The messages behind `seen` that fit, in order. */
    std::vector<message> fitting(const given &g) const
    {
        std::vector<message> found;

        for (const message &m : m_messages) {
            if (((int32_t)(m.sn - g.seen) > 0) && fits(g.rtr, m.tag)) {
                found.push_back(m);
            }
        }
        return found;
    }

    size_t num_out() const
    {
        return std::count_if(m_given.begin(), m_given.end(), [](const given &g) {
            return g.waits && ri_rtr_table_is_out(&g.rtr);
        });
    }

    void start(uint32_t last)
    {
        reset(last);
        m_start = last;
        m_messages.clear();
        m_given.clear();
    }

    void random_add(rng &random)
    {
        const uint64_t masks[] = {ALL, ALL, 1, 2, 0};
        given g;
        uint32_t back = random.percent(70) ? random.below(4) : random.below(300);

        g.rtr   = give(random.below(2), random.below(RI_RING_GRANTS), random.below(4),
                       masks[random.below(5)], random.percent(60) ? 0 : random.below(5));
        g.seen  = random.percent(3) ? m_last + 1 + random.below(3) : m_last - back;
        g.waits = false;

        std::vector<message> found = fitting(g);
        ri_rtr_fate_t expected     = RI_RTR_WAITS;
        const message *m           = nullptr;
        if (((int32_t)(m_last - g.seen) < 0) || ((int32_t)(g.seen - m_start) < 0) ||
            (m_last - g.seen > RI_RTR_WINDOW)) {
            expected = RI_RTR_DROPPED;
        } else if (found.size() > g.rtr.ahead) {
            m        = &found[g.rtr.ahead];
            expected = (m->req_id != 0) ? RI_RTR_FOR_RTS : RI_RTR_DROPPED;
        } else if (num_out() == RI_RTR_MAX) {
            expected = RI_RTR_DROPPED;
        }

        ASSERT_EQ(expected, add(g.rtr, g.seen));
        if (expected == RI_RTR_FOR_RTS) {
            EXPECT_EQ(m->sn, m_sn);
            EXPECT_EQ(m->req_id, m_req_id);
        } else if (expected == RI_RTR_WAITS) {
            g.waits = true;
            m_given.push_back(g);
        }
    }

    /* Find what is for the message, and use it or not. */
    void random_send(rng &random)
    {
        uint64_t tag = random.below(4);
        std::set<uint64_t> possible;

        for (const given &g : m_given) {
            if (g.waits && ri_rtr_table_is_out(&g.rtr) && fits(g.rtr, tag) &&
                (fitting(g).size() == g.rtr.ahead)) {
                possible.insert(g.rtr.address);
            }
        }
        if (random.percent(60)) {
            const ri_rtr_t *rtr = ri_rtr_table_find(&m_table, tag);

            ASSERT_EQ(possible.empty(), rtr == nullptr);
            if (rtr != nullptr) {
                EXPECT_EQ(1u, possible.count(rtr->address));
                EXPECT_EQ(0u, rtr->ahead);
                if (random.percent(50)) {
                    ri_rtr_t copy = *rtr;
                    ASSERT_TRUE(ri_rtr_table_use(&copy));
                    ri_rtr_table_end(&copy, RI_RING_GRANT_WRITTEN);
                }
            }
        }
        uint32_t req_id = random.percent(50) ? 1 + random.below(1000) : 0;
        uint32_t sn     = send(tag, req_id);
        m_messages.push_back({sn, tag, req_id});
        for (given &g : m_given) {
            g.waits = g.waits && (fitting(g).size() <= g.rtr.ahead);
        }
    }

    void check()
    {
        std::set<uint64_t> expected, waiting;

        for (const given &g : m_given) {
            if (g.waits && ri_rtr_table_is_out(&g.rtr)) {
                expected.insert(g.rtr.address);
            }
        }
        ASSERT_LE(m_table.num_waiting, (unsigned)RI_RTR_MAX);
        for (unsigned i = 0; i < m_table.num_waiting; ++i) {
            if (ri_rtr_table_is_out(&m_table.waiting[i])) {
                waiting.insert(m_table.waiting[i].address);
            }
        }
        EXPECT_EQ(expected, waiting);
    }

    void forget_old()
    {
        m_given.remove_if([](const given &g) { return !g.waits; });
        while (m_messages.size() > 700) {
            m_messages.pop_front();
        }
        /* The list must go back as far as any that waits. */
        for (given &g : m_given) {
            size_t passed = fitting(g).size();
            g.seen        = m_last;
            g.rtr.ahead -= passed;
        }
    }

    uint32_t m_start = 0;
    std::deque<message> m_messages;
    std::list<given> m_given;
};

TEST_F(random_rtr_table, as_the_rules_say)
{
    const uint32_t starts[] = {0, 5000, 0x7fffff00, 0u - 20, 0u - 256, 0u - 600};

    for_seeds(60, [&](rng &random) {
        unsigned adds = random.range(10, 60);

        start(starts[random.below(6)]);
        for (unsigned i = 0; (i < 1500) && !HasFailure(); ++i) {
            uint64_t what = random.below(100);

            if (what < adds) {
                random_add(random);
            } else if (what < 94) {
                random_send(random);
            } else if (what < 98) {
                if (!m_given.empty()) {
                    withdraw(std::next(m_given.begin(), random.below(m_given.size()))
                                     ->rtr);
                }
            } else if ((what == 98) && random.percent(20)) {
                unsigned ring = random.below(2);
                ri_rtr_table_drop(&m_table, &m_rings[ring]);
                m_given.remove_if([&](const given &g) {
                    return g.rtr.grant == &m_rings[ring].grants[g.rtr.index];
                });
            } else if (random.percent(10)) {
                start(m_last - 1); /* a number is taken back */
            }
            check();
            forget_old();
        }
    });
}

} // namespace
