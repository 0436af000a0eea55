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

    spread_type m_in, m_out;
    uint64_t m_before; /* messages that were written by RTRs before the test */
};

} // namespace

#endif
