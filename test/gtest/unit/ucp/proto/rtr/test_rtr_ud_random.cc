/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that offer queue pairs, of which there are too few, at random. (rtr_random.h;
 * protocol-rndv.md section 8)
 */

#include "rtr_random.h"
#include "rtr_ud_test.h"

#include <algorithm>

namespace {

class queue_pairs : public rtr_ud_test {
protected:
    static const unsigned SEEDS = 80, CONTEST_SENDS = 40, CANCELS = 20;

    static size_t longest() { return LARGE; }

    static steps_t steps() { return net_steps(); }

    static steps_t receiver_steps() { return {}; }

    void begin(rng &random, bool contest, const std::function<void()> &)
    {
        m_fails = random.percent(40);
        calm();
        restart();
        m_b_ud->qps = random.percent(50) ? 64 : 1 + random.below(4);
        if (contest) {
            second();
        }
    }

    void turn()
    {
        guess(stream());
        guess(stream(), TAG + 1);
    }

    void disturb(rng &random)
    {
        auto rarely = [this, &random](unsigned percent) {
            return m_fails && !random.percent(100 - percent);
        };

        m_a_ud->holds       = random.percent(60);
        m_a_ud->silent      = random.percent(60);
        m_a_ud->delivers    = !rarely(10);
        m_a_ud->sent_status = rarely(10) ? UCS_ERR_UNREACHABLE : UCS_OK;
        m_a_ud->send_status = rarely(5) ? UCS_ERR_NO_MEMORY : UCS_OK;
        m_b_ud->recv_status = rarely(5) ? UCS_ERR_NO_MEMORY : UCS_OK;
        if (m_fails && random.percent(3)) {
            bool sender = random.percent(50);

            ri_way_fail_and_tell((sender ? m_a : m_b)->worker(),
                                 (sender ? m_conn : m_back)->peer);
        }
    }

    void calm()
    {
        m_a_ud->holds = m_a_ud->silent = false;
        m_a_ud->delivers               = true;
        m_a_ud->sent_status = m_a_ud->send_status = m_b_ud->recv_status = UCS_OK;
    }

    /* Up to all of them are what receives were posted for. */
    size_t some_length(rng &random)
    {
        const size_t lengths[] = {0, 8, EAGER, 8193, MEDIUM, LARGE + 1};

        return random.percent(60) ? LARGE : lengths[random.below(6)];
    }

    size_t distinct_length(rng &random)
    {
        return std::clamp(some_length(random), 8ul, LARGE);
    }

    void count() { m_revoked += m_b->counters().rtr_withdrawn_ud; }

    bool m_fails       = false;
    uint64_t m_revoked = 0;
};

class test_rtr_ud_random : public rtr_random<queue_pairs> {};

TEST_F(test_rtr_ud_random, one_sender)
{
    one_sender();
    EXPECT_GT(m_covered.used, 300u);
    EXPECT_GT(m_covered.cancelled, 100u);
    EXPECT_GT(m_covered.vain, 30u);
    EXPECT_GT(m_revoked, 20u);
}

TEST_F(test_rtr_ud_random, contests)
{
    contests();
    EXPECT_GT(m_covered.used, 20u);
    EXPECT_GT(m_revoked, 20u);
}

} // namespace
