/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that are offered in a ring, at random. (rtr_random.h; protocol-rndv.md section 3)
 */

#include "rtr_random.h"
#include "rtr_test.h"

namespace {

class grants : public rtr_test {
protected:
    static const unsigned SEEDS = 80, CONTEST_SENDS = 60, CANCELS = 95;

    static size_t longest() { return GIANT; }

    static steps_t steps()
    {
        return {STEP_SEND,    STEP_SEND,     STEP_SENDER,  STEP_SENDER,
                STEP_DISTURB, STEP_DISTURB,  STEP_POST,    STEP_GUESS,
                STEP_CANCEL,  STEP_RECEIVER, STEP_RECEIVER};
    }

    static steps_t receiver_steps()
    {
        return {STEP_POST, STEP_GUESS, STEP_CANCEL, STEP_RECEIVER, STEP_RECEIVER};
    }

    /* The receiver does something between the pieces of a write. */
    void begin(rng &random, bool contest, const std::function<void()> &receiver)
    {
        ri_config.hybrid_thresh = (!contest && random.percent(30)) ? 65536 : 0;
        ri_config.pool_size     = 1 << 20;
        restart();
        if (contest) {
            second();
        } else {
            learn(stream(), TAG);
            learn(stream(), TAG + 1);
        }
        m_a_plane->on_write = [this, &random, receiver] {
            if (!m_is_inside && random.percent(60)) {
                m_is_inside = true;
                receiver();
                m_is_inside = false;
            }
        };
    }

    void turn()
    {
        credit(stream(), TAG);
        credit(stream(), TAG + 1);
    }

    void disturb(rng &random)
    {
        deliver();
        m_a_plane->write_status = random.percent(80) ? UCS_OK : UCS_ERR_INVALID_ADDR;
        m_a_plane->move_before  = random.below(LARGE);
        for (ri_conn_t *conn : {m_conn, m_conn2}) {
            if (conn != nullptr) {
                conn->flags |= RI_CONN_PLANE_WRITE | RI_CONN_PLANE_READ;
            }
        }
    }

    void calm()
    {
        m_a_plane->on_write     = nullptr;
        m_a_plane->write_status = UCS_OK;
    }

    size_t some_length(rng &random)
    {
        const size_t lengths[] = {0, 8, EAGER, 5000, 8192, 8193, MEDIUM, LARGE, GIANT};

        return lengths[random.below(9)];
    }

    size_t distinct_length(rng &random)
    {
        const size_t lengths[] = {8, EAGER, 5000, 8193, MEDIUM, LARGE};

        return lengths[random.below(6)];
    }

    void guess(ri_stream_t *from)
    {
        rtr_test::guess(from);
        credit(stream(), TAG);
    }

    void count() {}

    bool m_is_inside = false;
};

class test_rtr_random : public rtr_random<grants> {};

TEST_F(test_rtr_random, one_sender)
{
    one_sender();
    EXPECT_GT(m_covered.used, 300u);
    EXPECT_GT(m_covered.cancelled, 100u);
    EXPECT_GT(m_covered.vain, 5u);
}

TEST_F(test_rtr_random, contests)
{
    contests();
    EXPECT_GT(m_covered.used, 300u);
}

} // namespace
