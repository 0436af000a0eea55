/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Receives and sends of data in runs, between two nodes of a host. */
#ifndef RI_TEST_RTR_SPREAD_TEST_H
#define RI_TEST_RTR_SPREAD_TEST_H

#include "rtr_test.h"
#include "unit/common/spread_type.h"

namespace {

class rtr_spread_test : public rtr_test {
protected:
    void SetUp() override
    {
        rtr_test::SetUp();
        m_before = m_conn->counters.tx_recv_rndv;
    }

    uint64_t by_rtr() { return m_conn->counters.tx_recv_rndv - m_before; }

    recv_ptr post_in(spread_type &type, size_t length = LARGE)
    {
        return type.post(*m_b, length, TAG);
    }

    recv_ptr post_in_seen(size_t length = LARGE)
    {
        recv_ptr r = post_in(m_in, length);

        EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r));
        m_a->progress();
        EXPECT_EQ(1u, waiting());
        return r;
    }

    send_ptr send_of(const spread_type &type)
    {
        int progressing = m_a->worker()->progressing;

        m_a->worker()->progressing = 1;
        send_ptr s = m_a->send_of(m_conn, type.memory.data(), 1, type.datatype, TAG);
        m_a->worker()->progressing = progressing;
        return s;
    }

    /* The write fails after @a good pieces, in the middle of a run: the message comes another
     * way. */
    void check_failed_write(unsigned good, size_t length)
    {
        recv_ptr r              = post_in_seen(length);
        m_a_plane->good_writes  = good;
        m_a_plane->move_before  = 5000;
        m_a_plane->write_status = UCS_ERR_INVALID_ADDR;
        send_ptr s              = send(length);
        m_a_plane->write_status = UCS_OK;
        m_a_plane->move_before  = 0;
        pump();
        m_in.check(r, s->data);
        check_sent(s);
    }

    /* A message that was announced before the RTR came is written after some time. */
    void check_late_rtr()
    {
        ri_config.hybrid_thresh = 0;
        send_ptr s              = send();
        recv_ptr r              = post_in(m_in);
        unsigned writes         = m_a_plane->writes;

        ASSERT_EQ(RI_RTR_BY_GRANT, rtr(r));
        m_a->progress();
        m_a->progress();
        EXPECT_LT(writes, m_a_plane->writes);
        EXPECT_TRUE(m_in.spread(s->data) == m_in.memory);
        pump();
        m_in.check(r, s->data);
        check_sent(s);
    }

    /* A receive is cancelled whose RTR is there, and another one posted. */
    void check_cancel()
    {
        recv_ptr r = post_in_seen();

        cancel(r);
        EXPECT_EQ(m_in.started, m_in.finished);
        send_ptr s = send();
        EXPECT_EQ(0u, m_a_plane->writes) << "what was withdrawn";
        recv_ptr r2 = post_in(m_in);
        pump();
        m_in.check(r2, s->data);
    }

    spread_type m_in, m_out;
    uint64_t m_before; /* messages that were written by RTRs before the test */
};

} // namespace

#endif
