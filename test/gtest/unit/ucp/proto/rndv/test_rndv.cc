/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/rndv/rndv.c: RTS, FIN and NACK, in order and out of it, and what may happen to a
 * receive meanwhile. Two workers with a plane that the test makes, and hostile messages that it
 * writes itself. The tests run src/ucp/proto/msg_ops.c, too.
 */

#include "unit/common/rndv_test.h"

namespace {

class test_rndv : public rndv_test {};

/* Order: an RTS is a message like any other. */
TEST_F(test_rndv, early)
{
    connect_planes();
    bytes content = pattern(1, LONG);
    memory small(CONTIG, 8), in(CONTIG, LONG), from(CONTIG, LONG, content),
            to(CONTIG, LONG);
    rndv_ptr s1 = send(small, 5);
    rndv_ptr s2 = send(from, 5);
    recv_ptr r1 = recv(in, 5), r2 = recv(to, 5);

    deliver(m_ab, 1);
    EXPECT_FALSE(r1->done || r2->done);
    EXPECT_EQ(0u, m_b_plane->reads);
    EXPECT_EQ(0u, m_b->counters().held_bytes);
    deliver(m_ab, 0);
    EXPECT_EQ(8u, r1->info.length);
    pump();
    check(r2, to, content, 5);
    EXPECT_TRUE(s2->done);
}

TEST_F(test_rndv, same_tag_after_it)
{
    with_rings();
    connect_planes();
    for (bool ring : {true, false}) {
        bytes content = pattern(1, LONG);
        memory small(CONTIG, 8), in(CONTIG, 8), from(CONTIG, LONG, content),
                to(CONTIG, LONG);

        if (!ring) {
            ri_rma_note_unknown(m_conn); /* all by active message */
        }
        rndv_ptr s = send(from, 77), s2 = send(small, 77);
        recv_ptr r = recv(to, 77), r2 = recv(in, 77);
        pump();
        check(r, to, content, 77);
        EXPECT_TRUE(r2->done);
        EXPECT_TRUE(s->done);
    }
}

TEST_F(test_rndv, rts_past_repeated_and_future)
{
    connect_planes();
    bytes content = pattern(1, LONG);
    memory to(CONTIG, LONG), to2(CONTIG, LONG);
    const std::vector<ri_segment_t> segments = {{(uintptr_t)content.data(), LONG}};
    uint32_t next                            = stream()->next_sn;
    uint64_t malformed                       = m_b->counters().rx_malformed;

    rts(next + 1, 5, segments, 11);
    rts(next + 1, 5, segments, 12); /* there already */
    rts(next - 1, 5, segments, 13); /* matched already */
    EXPECT_EQ(malformed + 2, m_b->counters().rx_malformed);
    recv_ptr r = recv(to, 5), r2 = recv(to2, 5);
    rts(next, 5, segments, 14);
    check(r, to, content, 5);
    check(r2, to2, content, 5);
    EXPECT_EQ(14u, m_ba->take(RI_WIRE_FIN).parse().value);
    EXPECT_EQ(11u, m_ba->take(RI_WIRE_FIN).parse().value);
    EXPECT_EQ(0u, m_ba->count(RI_WIRE_FIN));
    rts(next, 5, segments, 14);
    EXPECT_EQ(malformed + 3, m_b->counters().rx_malformed);
    EXPECT_EQ(2u, m_b_plane->reads);
}

/* FIN and NACK */

TEST_F(test_rndv, fin_and_nack_of_nothing)
{
    connect_planes();
    memory from(CONTIG, LONG), eager(CONTIG, 100), bulk(PACKED, LONG);
    rndv_ptr s     = send(from, 5);
    rndv_ptr sync  = send(eager, 5, true);
    rndv_ptr large = send(bulk, 5, true);
    uint64_t count = stale(*m_a);
    size_t sent    = m_ab->sent.size();
    uint32_t id    = s->req()->id;

    for (uint32_t other : {0u, id ^ (1u << 24), id + 1000, ~0u, sync->req()->id}) {
        to_sender(RI_WIRE_FIN, other);
        to_sender(RI_WIRE_NACK, other, 1);
        count += 2;
    }
    to_sender(RI_WIRE_SYNC_ACK, id); /* that is not how it ends */
    EXPECT_EQ(count + 1, stale(*m_a));
    EXPECT_FALSE(s->done || sync->done || large->done);
    EXPECT_EQ(sent, m_ab->sent.size());

    /* By another conn than the message's */
    ri_conn_t *other = m_a->connect(m_a->new_endpoint(m_b.get()), RECEIVER);
    m_a->deliver(wire_msg(RI_WIRE_FIN, other->id, id));
    EXPECT_FALSE(s->done);

    to_sender(RI_WIRE_FIN, id);
    EXPECT_TRUE(s->done);
    EXPECT_EQ(UCS_OK, s->status);
    count = stale(*m_a);
    to_sender(RI_WIRE_FIN, id);
    to_sender(RI_WIRE_NACK, id, 1);
    EXPECT_EQ(count + 2, stale(*m_a));
    memory to(CONTIG, LONG), in(CONTIG, LONG), in2(CONTIG, LONG);
    recv_ptr r1 = recv(to, 5), r2 = recv(in, 5), r3 = recv(in2, 5);
    pump();
}

TEST_F(test_rndv, nack_repeated_and_fin_after_it)
{
    connect_planes();
    memory from(CONTIG, 10000); /* stock sends it eagerly */
    m_ucx->send_mode = LATER;
    rndv_ptr s       = send(from, 5);
    m_ucx->complete();
    uint32_t id = s->req()->id;

    to_sender(RI_WIRE_NACK, id, 0x1234);
    EXPECT_FALSE(m_conn->flags & RI_CONN_PLANE_READ);
    uint64_t count = stale(*m_a);
    to_sender(RI_WIRE_NACK, id, 0x1234);
    to_sender(RI_WIRE_FIN, id);
    EXPECT_EQ(count + 2, stale(*m_a));
    ASSERT_EQ(1u, m_ab->count(RI_WIRE_RNDV_DATA));
    EXPECT_EQ(0x1234u, m_ab->take(RI_WIRE_RNDV_DATA).parse().value);
    EXPECT_FALSE(s->done);
    m_ucx->complete();
    EXPECT_TRUE(s->done);
    m_ab->sent.clear();
}

/* The NACK comes before stock has called back for the RTS: the send ends with the last of
 * both. */
TEST_F(test_rndv, nack_while_stock_has_the_rts)
{
    connect_planes();
    for (size_t first : {0, 1}) {
        for (ucs_status_t status : {UCS_OK, UCS_ERR_CONNECTION_RESET}) {
            memory from(CONTIG, 10000);

            m_conn->flags |= RI_CONN_PLANE_READ;
            m_ucx->send_mode = LATER;
            rndv_ptr s       = send(from, 5);
            to_sender(RI_WIRE_NACK, s->req()->id, 1);
            ASSERT_EQ(2u, m_ucx->num_pending());
            m_ucx->complete_nth(first, status);
            EXPECT_FALSE(s->done);
            m_ucx->complete_nth(0);
            EXPECT_TRUE(s->done);
            EXPECT_EQ(status, s->status);
            m_ab->sent.clear();
        }
    }
}

TEST_F(test_rndv, fin_while_stock_has_the_rts)
{
    connect_planes();
    memory from(CONTIG, LONG);
    m_ucx->send_mode = LATER;
    rndv_ptr s       = send(from, 5);

    to_sender(RI_WIRE_FIN, s->req()->id);
    EXPECT_FALSE(s->done);
    m_ucx->complete();
    EXPECT_TRUE(s->done);
    EXPECT_EQ(UCS_OK, s->status);
    m_ab->sent.clear();
}

TEST_F(test_rndv, rts_cannot_be_sent)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    uint32_t sn = m_conn->tx_sn;

    m_ucx->send_mode = FAILS;
    rndv_ptr s       = send(from, 5);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, s->status);
    EXPECT_EQ(sn, m_conn->tx_sn);
    m_ucx->send_mode = AT_ONCE;
    s                = send(from, 5);
    recv_ptr r       = recv(to, 5);
    pump();
    EXPECT_TRUE(r->done && s->done);
}

/* What a receive cannot be while it waits for data */
TEST_F(test_rndv, cancel)
{
    connect_planes();
    bytes content = pattern(3, LONG);
    memory from(CONTIG, LONG, content), to(CONTIG, LONG);
    recv_ptr r             = recv(to, 5);
    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    rndv_ptr s             = send(from, 5);
    deliver(m_ab, 0);
    m_b->cancel(r);
    EXPECT_FALSE(r->done);
    pump();
    check(r, to, content, 5);

    r = recv(to, 6);
    m_b->cancel(r);
    EXPECT_EQ(UCS_ERR_CANCELED, r->status);
}

TEST_F(test_rndv, probed)
{
    connect_planes();
    bytes content = pattern(3, LONG);
    memory from(CONTIG, LONG, content);
    ucp_tag_recv_info_t info;
    rndv_ptr s = send(from, 5);

    pump();
    ri_msg_t *msg = ri_tag_recv_probe(m_b->worker(), 5, ~0ul, 0, &info);
    ASSERT_NE(nullptr, msg);
    EXPECT_EQ(LONG, info.length);
    EXPECT_EQ(msg, ri_tag_recv_probe(m_b->worker(), 5, ~0ul, 1, &info));
    pump();
    EXPECT_FALSE(s->done);
    recv_ptr r = m_b->msg_recv(msg, LONG);
    EXPECT_TRUE(r->done);
    EXPECT_TRUE(content == r->buffer);
    pump();
    EXPECT_TRUE(s->done);
}

/* Neither side can promise to end within the call. */
TEST_F(test_rndv, force_imm_cmpl)
{
    connect_planes();
    ucp_request_param_t param = {};
    ucp_tag_recv_info_t info;
    memory from(CONTIG, LONG), to(CONTIG, LONG);

    param.op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
    rndv_ptr s         = send(from, 5, false, UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, s->status);
    s = send(from, 5);
    pump();
    EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE),
              ri_tag_recv(m_b->worker(), to.buffer(), LONG, 5, ~0ul, &param));
    ri_msg_t *msg = ri_tag_recv_probe(m_b->worker(), 5, ~0ul, 1, &info);
    ASSERT_NE(nullptr, msg) << "the message is lost";
    EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE),
              ri_tag_recv_msg(m_b->worker(), to.buffer(), LONG, msg, &param));
    recv_ptr r = m_b->msg_recv(msg, LONG);
    EXPECT_TRUE(r->done);
    pump();
    EXPECT_TRUE(s->done);
}

} // namespace
