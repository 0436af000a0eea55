/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers with a channel through a network.
 */
#ifndef RI_TEST_RDMA_CHANNEL_TEST_H
#define RI_TEST_RDMA_CHANNEL_TEST_H

#include "unit/common/rdma_test.h"
#include "unit/common/setting.h"

namespace {

class channel_life_test : public rdma_test {
protected:
    void SetUp() override
    {
        rdma_test::SetUp();
        with_channels();
    }

    void with_channels(unsigned peers = 4, size_t size = 4096)
    {
        ri_config.ib_eager_peers = peers;
        ri_config.ib_eager_size  = size;
        ri_config.ib_eager_max   = ri_channel_max_payload(size);
        ri_config.ib_eager_after = 4;
        restart();
    }

    ri_channel_in_t *in() { return stream()->channel; }
    ri_channel_out_t *out() { return m_conn->channel; }

    /* A short message, and its receive. */
    void exchange(size_t length = 8, uint64_t tag = 1)
    {
        bytes content = pattern(++m_number, length);
        recv_ptr r    = m_b->recv(tag, ~0ul, length);
        send_ptr s    = m_a->send(m_conn, content, tag);

        pump();
        ASSERT_TRUE(r->done && s->done);
        EXPECT_EQ(UCS_OK, r->status);
        EXPECT_TRUE(r->buffer == content);
    }

    /* Short messages until there is a channel. */
    void open()
    {
        for (int i = 0; (i < 100) && (m_conn->channel == nullptr); ++i) {
            exchange();
            if (HasFailure()) {
                return;
            }
        }
        ASSERT_NE(nullptr, m_conn->channel);
        ASSERT_NE(nullptr, in());
        ASSERT_NE(0u, in()->address);
        ASSERT_EQ(0u, malformed());
    }

    uint64_t by_channel() { return m_a->counters().conns.tx_eager_rdma; }
    uint64_t again() { return m_a->counters().conns.tx_again; }
    uint64_t malformed()
    {
        return m_a->counters().rx_malformed + m_b->counters().rx_malformed;
    }

    /* A message about the channel, to the receiver's stream or the sender's conn. */
    wire_msg about(ri_wire_type_t type, uint32_t value = 0)
    {
        bool to_conn = (type == RI_WIRE_CHANNEL_OFFER) || (type == RI_WIRE_CHANNEL_STOP);
        wire_msg msg(type, to_conn ? m_conn->id : stream()->id, value);

        msg.stream_id = to_conn ? stream()->id : 0;
        msg.uid       = to_conn ? RECEIVER : 0;
        return msg;
    }

    setting<double> m_backoff{ri_way_backoff, 0};
    uint64_t m_number = 0;
};

} // namespace

#endif
