/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ways through a network that come and go, and hostile messages about them.
 */
#ifndef RI_TEST_WAY_TEST_H
#define RI_TEST_WAY_TEST_H

#include "unit/common/rdma_test.h"
#include "unit/common/setting.h"

namespace {

class way_test : public rdma_test {
protected:
    static constexpr size_t MEDIUM = 20000;

    ri_peer_t *a_peer() { return m_conn->peer; }
    ri_peer_t *b_peer() { return m_back->peer; }

    bool is_connected() { return !!(m_conn->flags & RI_CONN_WAY); }

    /* A message that comes, whatever way it goes. */
    void exchange(uint64_t tag)
    {
        bytes content = pattern(tag, LONG);
        memory from(CONTIG, LONG, content), to(CONTIG, LONG);
        recv_ptr r = recv(to, tag);
        rndv_ptr s = send(from, tag);

        pump();
        check(r, to, content, tag);
        ASSERT_TRUE(s->done);
        EXPECT_EQ(UCS_OK, s->status);
    }

    void plane_msg(node &to, ri_wire_type_t type, uint32_t id, uint32_t value,
                   uint32_t way, uint16_t asked, uint32_t content)
    {
        wire_msg msg(type, id, value);

        wire_msg::append(msg.address, content);
        msg.plane          = RI_WIRE_PLANE_RC;
        msg.address_length = sizeof(content);
        msg.way            = way;
        msg.asked          = asked;
        to.deliver(msg);
    }

    /* As if the sender had said it. @return The answer. */
    ri_wire_msg_t ask(uint32_t way, uint32_t content)
    {
        m_ba->sent.clear();
        plane_msg(*m_b, RI_WIRE_PLANE_REQ, stream()->id, 0, way, 0, content);
        EXPECT_EQ(1u, m_ba->count(RI_WIRE_PLANE_ACK));
        return m_ba->take(RI_WIRE_PLANE_ACK).parse();
    }

    setting<double> m_backoff{ri_way_backoff, 0};
};

} // namespace

#endif
