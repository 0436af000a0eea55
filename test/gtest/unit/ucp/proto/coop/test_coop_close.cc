/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/close.h: a close whose last message is being copied by both sides */

#include "coop_test.h"

namespace {

class test_coop_close : public coop_test {
protected:
    void configure() override
    {
        coop_test::configure();
        ri_config.close_timeout = 1000;
    }
};

/* A receiver that copies is one that moves, although no message has come of it. */
TEST_F(test_coop_close, receiver_copies)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);
    ri_close_wait_t wait;

    m_b->progress();
    ri_close_start_wait(m_conn, &wait);
    uint64_t done = ri_coop_send_done(m_conn);
    m_b->progress();
    ASSERT_GT(ri_coop_send_done(m_conn), done);
    ASSERT_FALSE(r->done);
    wait.idle = 1001;
    wait.checked -= 1; /* as if it was long ago */
    EXPECT_FALSE(ri_close_has_expired(m_conn, &wait));
    EXPECT_EQ(0, wait.idle);
    wait.idle = 1001;
    wait.checked -= 1;
    EXPECT_TRUE(ri_close_has_expired(m_conn, &wait)) << "it has stopped";
    pump();
    check(r, content);
    check(s);
}

} // namespace
