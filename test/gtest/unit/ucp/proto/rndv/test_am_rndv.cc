/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/rndv/am_rndv.c: data that the receiver has asked for, by UCP.
 */

#include "unit/common/rndv_test.h"

namespace {

class test_am_rndv : public rndv_test {};

TEST_F(test_am_rndv, data_cannot_be_sent)
{
    connect_planes();
    memory from(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    m_ucx->send_mode = FAILS;
    to_sender(RI_WIRE_NACK, s->req()->id, 1);
    ASSERT_TRUE(s->done);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, s->status);
    m_ucx->send_mode = AT_ONCE;
    m_ab->sent.clear();
}

/* RNDV_DATA */

TEST_F(test_am_rndv, data_for_nothing)
{
    connect_planes();
    bytes content = pattern(3, 1000);
    memory to(CONTIG, 1000);
    recv_ptr r             = recv(to, 5);
    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    rts(stream()->next_sn, 5, {{(uintptr_t)content.data(), 1000}});
    uint32_t id    = m_ba->take(RI_WIRE_NACK).parse().recv_id;
    uint64_t count = stale(*m_b);

    ri_wire_hello_t hello = wire_msg(RI_WIRE_EAGER, 0, 0).hello(SENDER, 99).greeting;
    ri_stream_t *other    = ri_stream_get(m_b->worker(), &hello);
    for (arrival_t arrival : {PLAIN, DATA, RNDV}) {
        rndv_data(id, content, arrival, other);
        rndv_data(id ^ (1u << 24), content, arrival, nullptr);
        rndv_data(0, content, arrival);
        count += 3;
    }
    EXPECT_EQ(count, stale(*m_b));
    EXPECT_FALSE(r->done);
    wire_msg nobody(RI_WIRE_RNDV_DATA, 0x999, id);
    m_b->deliver(nobody, content);

    rndv_data(id, content);
    check(r, to, content, 5);
    count = stale(*m_b);
    rndv_data(id, content); /* repeated */
    rndv_data(id, content, RNDV);
    EXPECT_EQ(count + 2, stale(*m_b));
}

TEST_F(test_am_rndv, data_of_a_wrong_length)
{
    connect_planes();
    bytes content          = pattern(3, 1000);
    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    for (arrival_t arrival : {PLAIN, DATA, RNDV}) {
        for (size_t length : {0, 999, 1001}) {
            memory to(CONTIG, 2000);
            recv_ptr r         = recv(to, 5);
            uint64_t malformed = m_b->counters().rx_malformed;

            rts(stream()->next_sn, 5, {{(uintptr_t)content.data(), 1000}});
            rndv_data(m_ba->take(RI_WIRE_NACK).parse().recv_id, bytes(length), arrival);
            ASSERT_TRUE(r->done);
            EXPECT_EQ(UCS_ERR_IO_ERROR, r->status);
            EXPECT_EQ(malformed + 1, m_b->counters().rx_malformed);
        }
    }
}

TEST_F(test_am_rndv, data_that_ucp_fetches)
{
    connect_planes();
    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    for (ending_t ending : {AT_ONCE, LATER, FAILS}) {
        bytes content = pattern(3, LONG);
        memory from(CONTIG, LONG, content), to(PACKED, LONG);

        m_conn->flags |= RI_CONN_PLANE_READ;
        m_ucx->fetch_mode = ending;
        recv_ptr r        = recv(to, 5);
        rndv_ptr s        = send(from, 5);
        pump();
        ASSERT_TRUE(r->done && s->done);
        EXPECT_EQ(UCS_OK, s->status);
        EXPECT_EQ(1u, to.generic().finished);
        if (ending == FAILS) {
            EXPECT_EQ(UCS_ERR_NO_RESOURCE, r->status);
        } else {
            check(r, to, content, 5);
        }
    }
}

} // namespace
