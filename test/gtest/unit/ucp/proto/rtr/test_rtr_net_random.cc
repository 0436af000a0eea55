/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that are offered by key, at random. (rtr_random.h; protocol-rndv.md section 4)
 */

#include "rtr_random.h"
#include "rtr_net_test.h"

namespace {

class keys : public rtr_net_test {
protected:
    static const unsigned SEEDS = 60, CONTEST_SENDS = 40, CANCELS = 20;

    static size_t longest() { return LARGE; }

    static steps_t steps() { return net_steps(); }

    static steps_t receiver_steps() { return {}; }

    void begin(rng &random, bool contest, const std::function<void()> &)
    {
        m_fails = random.percent(40);
        calm();
        ri_config.pool_size  = 4 * LARGE; /* not for all of them */
        ri_config.hybrid_net = random.percent(50) ? LARGE : 0;
        with_channels(random.percent(60));
        if (contest) {
            second();
        } else {
            learn(stream(), TAG);
            learn(stream(), TAG + 1);
        }
    }

    void turn()
    {
        credit(stream(), TAG);
        credit(stream(), TAG + 1);
    }

    void disturb(rng &random)
    {
        m_a_rdma->holds      = random.percent(50);
        m_b_rdma->holds      = random.percent(30);
        m_b_rdma->holds_news = random.percent(50);
        if (m_fails && random.percent(3)) {
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

    size_t some_length(rng &random) { return lengths[random.below(7)]; }

    size_t distinct_length(rng &random) { return lengths[1 + random.below(5)]; }

    void count()
    {
        m_named += stream()->counters.rx_named;
        for (ri_conn_t *conn : {m_conn, m_back, m_conn2}) {
            if (conn != nullptr) {
                m_again += conn->counters.tx_again;
                m_channel += conn->counters.tx_channel;
            }
        }
    }

    const size_t lengths[7] = {0, 8, EAGER, 8193, MEDIUM, LARGE, LARGE + 1};

    bool m_fails     = false;
    uint64_t m_named = 0, m_again = 0, m_channel = 0;
    setting<double> m_backoff{ri_way_backoff,
                              0}; /* ways that fail are made again at once */
};

class test_rtr_net_random : public rtr_random<keys> {};

TEST_F(test_rtr_net_random, one_sender)
{
    one_sender();
    EXPECT_GT(m_covered.used, 300u);
    EXPECT_GT(m_covered.cancelled, 100u);
    EXPECT_GT(m_covered.vain, 50u);
    EXPECT_GT(m_again, 10u);
    EXPECT_GT(m_named, 100u);
    EXPECT_GT(m_channel, 1000u);
}

TEST_F(test_rtr_net_random, contests)
{
    contests();
    EXPECT_GT(m_covered.used, 20u);
    EXPECT_GT(m_again, 5u);
}

} // namespace
