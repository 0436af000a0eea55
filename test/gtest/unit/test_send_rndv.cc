/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/rndv/rndv.c, send_rndv_get.c and am_rndv.c: two workers with a plane that the
 * test makes, and hostile messages that the test writes itself.
 */

#include "rndv_test.h"

namespace {

class test_send_rndv : public rndv_test {};

/* What is read, what is asked for, and that each message ends on both sides */

const std::vector<outcome> OUTCOMES = {
        {"read", UCS_OK, 0},
        {"unreachable", UCS_ERR_UNREACHABLE, 0},
        {"no access", UCS_ERR_INVALID_ADDR, 0},
        {"fails in the middle", UCS_ERR_INVALID_ADDR, 50000},
        {"fails in a later stage", UCS_ERR_UNREACHABLE, 1000, 1},
};

TEST_F(test_send_rndv, shapes)
{
    auto test = [this](const shape_case &c) {
        uint64_t i    = c.number;
        bytes content = pattern(i, LONG + i);
        memory from(c.out, content.size(), content);
        memory to(c.in, content.size() + (i % 2) * 1000);
        bool read = (c.ends.status == UCS_OK) ||
                    ((c.ends.good_copies > 0) && (c.in != PACKED));
        uint64_t before = m_b->counters().streams.rx_read_bytes;

        ask_for_plane_again();
        m_b_plane->reads       = 0;
        m_b_plane->read_status = c.ends.status;
        m_b_plane->good_reads  = c.ends.good_copies;
        m_b_plane->move_before = c.ends.move_before;

        recv_ptr r = c.expected ? recv(to, i) : nullptr;
        rndv_ptr s = send(from, i, i % 3 == 0);
        EXPECT_FALSE(s->done);
        EXPECT_EQ(RI_WIRE_RTS, s->req()->wire_type);
        EXPECT_EQ(c.rings ? 0u : 1u, m_ab->count(RI_WIRE_RTS));
        if (!c.expected) {
            pump();
            EXPECT_FALSE(s->done);
            r = recv(to, i);
        }
        pump();
        check(r, to, content, i);
        ASSERT_TRUE(s->done);
        EXPECT_EQ(UCS_OK, s->status);
        EXPECT_EQ((c.in == PACKED) ? 1u : 0u, to.generic().finished);
        EXPECT_EQ(read, !!(m_conn->flags & RI_CONN_PLANE_READ));
        EXPECT_EQ(before + (read ? content.size() : 0),
                  m_b->counters().streams.rx_read_bytes);
        EXPECT_EQ(0u, m_b->counters().held_bytes);
        EXPECT_TRUE(ucs_list_is_empty(&stream()->fetching));
    };

    for_shapes({CONTIG, IOV_1, IOV_16, IOV_EMPTY},
               {CONTIG, IOV_1, IOV_16, IOV_EMPTY, IOV_17, PACKED}, OUTCOMES, test,
               [this] { expect_numbers_add_up(); });
}

TEST_F(test_send_rndv, what_does_not_fit_goes_by_ucp)
{
    connect_planes();
    for (shape_t out : {IOV_17, PACKED}) {
        bytes content = pattern(out, LONG);
        memory from(out, LONG, content), to(CONTIG, LONG);
        recv_ptr r = recv(to, 5);
        rndv_ptr s = send(from, 5);

        EXPECT_EQ(0u, m_ab->count(RI_WIRE_RTS));
        EXPECT_EQ(1u, m_ab->count(RI_WIRE_BULK));
        pump();
        check(r, to, content, 5);
    }

    /* At and below the threshold, and nothing at all */
    for (size_t length : {0ul, 1ul, ri_config.eager_thresh}) {
        memory from(CONTIG, length), to(CONTIG, length);
        recv_ptr r = recv(to, 5);
        rndv_ptr s = send(from, 5);

        EXPECT_EQ(0u, m_ab->count(RI_WIRE_RTS));
        pump();
        EXPECT_TRUE(r->done && s->done);
    }
    EXPECT_EQ(0u, m_b_plane->reads);
}

/* The RTS has a place of its own where EAGER_THRESH leaves none. */
TEST_F(test_send_rndv, longest_rts_with_small_eager_thresh)
{
    stop();
    ri_config.eager_thresh = ri_config.am_inline = 0;
    start();
    connect_planes();
    bytes content = pattern(1, 160);
    memory from(IOV_16, 160, content), to(CONTIG, 160);
    recv_ptr r = recv(to, 5);
    rndv_ptr s = send(from, 5);

    EXPECT_EQ(RI_WIRE_RTS_MAX - 16 * sizeof(uint32_t), /* no keys */
              m_ab->sent.back().data.size() - sizeof(ri_wire_eager_sync_t));
    pump();
    check(r, to, content, 5);
    EXPECT_TRUE(s->done);
}

TEST_F(test_send_rndv, truncated)
{
    connect_planes();
    for (bool expected : {true, false}) {
        memory from(CONTIG, LONG), to(CONTIG, LONG - 1);
        recv_ptr r = expected ? recv(to, 5) : nullptr;
        rndv_ptr s = send(from, 5, !expected);

        pump();
        r = expected ? r : recv(to, 5);
        pump();
        ASSERT_TRUE(r->done && s->done);
        EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
        EXPECT_EQ(LONG, r->info.length);
        EXPECT_EQ(UCS_OK, s->status);
    }
    EXPECT_EQ(0u, m_b_plane->reads);
    EXPECT_EQ(2u, m_b->counters().recv_truncated);
}

TEST_F(test_send_rndv, unpack_error)
{
    connect_planes();
    for (size_t at : {0ul, 65536ul}) {
        memory from(CONTIG, 200000), to(PACKED, 200000);
        unsigned reads = m_b_plane->reads;

        to.generic().fails_at = at;
        recv_ptr r            = recv(to, 5);
        rndv_ptr s            = send(from, 5);
        pump();
        ASSERT_TRUE(r->done && s->done);
        EXPECT_EQ(UCS_ERR_IO_ERROR, r->status);
        EXPECT_EQ(UCS_OK, s->status);
        EXPECT_EQ(1u, to.generic().finished);
        EXPECT_EQ(reads + 1 + (at > 0), m_b_plane->reads);
    }
}

/* An unpack callback receives another message, whose read finds the way gone. */
TEST_F(test_send_rndv, way_ends_inside_unpack)
{
    connect_planes();
    bytes content = pattern(1, 200000), other = pattern(2, LONG);
    memory from1(CONTIG, other.size(), other), to1(CONTIG, other.size());
    memory from2(CONTIG, content.size(), content), to2(PACKED, content.size());
    rndv_ptr s1 = send(from1, 1), s2 = send(from2, 2);
    recv_ptr r1;

    pump();
    to2.generic().on_unpack = [&] {
        if (r1 == nullptr) {
            m_b_plane->read_status = UCS_ERR_UNREACHABLE;
            r1                     = recv(to1, 1);
            m_b_plane->read_status = UCS_OK;
        }
    };
    recv_ptr r2 = recv(to2, 2);
    EXPECT_EQ(2u, m_b_plane->reads);
    pump();
    check(r1, to1, other, 1);
    check(r2, to2, content, 2);
    EXPECT_EQ(1u, m_b->counters().planes_failed);
    EXPECT_EQ(2u, m_b->counters().rndv_fallback);
    EXPECT_TRUE(s1->done && s2->done);
}

/* Order: an RTS is a message like any other. */
TEST_F(test_send_rndv, early)
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

TEST_F(test_send_rndv, same_tag_after_it)
{
    with_rings();
    connect_planes();
    for (bool ring : {true, false}) {
        bytes content = pattern(1, LONG);
        memory small(CONTIG, 8), in(CONTIG, 8), from(CONTIG, LONG, content),
                to(CONTIG, LONG);

        if (!ring) {
            ri_conn_note_rma(m_conn); /* all by active message */
        }
        rndv_ptr s = send(from, 77), s2 = send(small, 77);
        recv_ptr r = recv(to, 77), r2 = recv(in, 77);
        pump();
        check(r, to, content, 77);
        EXPECT_TRUE(r2->done);
        EXPECT_TRUE(s->done);
    }
}

TEST_F(test_send_rndv, rts_past_repeated_and_future)
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

/* A real plane, and memory that is not there */
TEST_F(test_send_rndv, absurd_addresses)
{
    ri_plane_t *cma;

    if (ri_plane_cma.open(&cma) != UCS_OK) {
        GTEST_SKIP() << "this system does not allow process_vm_readv";
    }
    std::swap(m_b->worker()->plane, cma);
    wire_msg req(RI_WIRE_PLANE_REQ, 0, 0);
    req.address.resize(RI_PLANE_ADDRESS_MAX);
    memory small(CONTIG, 8), in(CONTIG, LONG);
    recv_ptr r = recv(in, 1);
    rndv_ptr s = send(small, 1);
    pump();
    req.address_length = m_b->worker()->plane->ops->address(m_b->worker()->plane,
                                                            req.address.data());
    req.id             = stream()->id;
    m_b->deliver(req);
    ASSERT_NE(nullptr, stream()->peer->plane_ep);

    for (uint64_t address : {0ul, 1ul, ~0ul, ~0ul << 12, 1ul << 63, (1ul << 47) - 8}) {
        memory to(CONTIG, 1000);
        uint64_t nacks = m_ba->count(RI_WIRE_NACK);

        r = recv(to, 5);
        rts(stream()->next_sn, 5, {{address, 1000}});
        EXPECT_FALSE(r->done);
        ASSERT_EQ(nacks + 1, m_ba->count(RI_WIRE_NACK));
        rndv_data(m_ba->sent.back().parse().recv_id, pattern(1, 1000));
        check(r, to, pattern(1, 1000), 5);
    }
    r = recv(in, 5);
    rts(stream()->next_sn, 5, {{4096, 1ul << 61}, {4096, 1ul << 61}});
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
    EXPECT_EQ(1ul << 62, r->info.length);
    m_ba->sent.clear();

    ri_planes_disconnect(stream()->peer);
    std::swap(m_b->worker()->plane, cma);
    ri_plane_cma.close(cma);
}

/* FIN and NACK */

TEST_F(test_send_rndv, fin_and_nack_of_nothing)
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

TEST_F(test_send_rndv, nack_repeated_and_fin_after_it)
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
TEST_F(test_send_rndv, nack_while_stock_has_the_rts)
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

TEST_F(test_send_rndv, fin_while_stock_has_the_rts)
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

TEST_F(test_send_rndv, data_cannot_be_sent)
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

TEST_F(test_send_rndv, rts_cannot_be_sent)
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

/* RNDV_DATA */

TEST_F(test_send_rndv, data_for_nothing)
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

TEST_F(test_send_rndv, data_of_a_wrong_length)
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

TEST_F(test_send_rndv, data_that_ucp_fetches)
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

/* What a receive cannot be while it waits for data */
TEST_F(test_send_rndv, cancel)
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

TEST_F(test_send_rndv, probed)
{
    connect_planes();
    bytes content = pattern(3, LONG);
    memory from(CONTIG, LONG, content);
    ucp_tag_recv_info_t info;
    rndv_ptr s = send(from, 5);

    pump();
    ri_msg_t *msg = ri_tag_probe(m_b->worker(), 5, ~0ul, 0, &info);
    ASSERT_NE(nullptr, msg);
    EXPECT_EQ(LONG, info.length);
    EXPECT_EQ(msg, ri_tag_probe(m_b->worker(), 5, ~0ul, 1, &info));
    pump();
    EXPECT_FALSE(s->done);
    recv_ptr r = m_b->msg_recv(msg, LONG);
    EXPECT_TRUE(r->done);
    EXPECT_TRUE(content == r->buffer);
    pump();
    EXPECT_TRUE(s->done);
}

/* Neither side can promise to end within the call. */
TEST_F(test_send_rndv, force_imm_cmpl)
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
    ri_msg_t *msg = ri_tag_probe(m_b->worker(), 5, ~0ul, 1, &info);
    ASSERT_NE(nullptr, msg) << "the message is lost";
    EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE),
              ri_tag_msg_recv(m_b->worker(), to.buffer(), LONG, msg, &param));
    recv_ptr r = m_b->msg_recv(msg, LONG);
    EXPECT_TRUE(r->done);
    pump();
    EXPECT_TRUE(s->done);
}

/* The ring */

TEST_F(test_send_rndv, ring_is_full)
{
    with_rings();
    connect_planes();
    memory small(CONTIG, 1000), from(CONTIG, LONG, pattern(1, LONG)), to(CONTIG, LONG);
    std::vector<rndv_ptr> sends;

    do {
        sends.push_back(send(small, 1));
    } while (sends.back()->done);
    rndv_ptr s = send(from, 5);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_RTS));
    recv_ptr r = recv(to, 5);
    pump();
    check(r, to, pattern(1, LONG), 5);
    EXPECT_TRUE(s->done);
    for (rndv_ptr &op : sends) {
        EXPECT_TRUE(op->done);
        recv(to, 1);
    }
}

/* Numbers in a ring rise: what waits for room must not come behind. The receiver leaves a
 * message in the ring that is far ahead, so they would wait for each other. */
TEST_F(test_send_rndv, ring_with_messages_that_wait)
{
    with_rings();
    connect_planes();
    memory small(CONTIG, 1000), from(CONTIG, LONG, pattern(1, LONG)), to(CONTIG, LONG);
    std::vector<rndv_ptr> sends;

    for (int i = 0; i < 1500; ++i) {
        sends.push_back(send(small, 1));
    }
    ASSERT_FALSE(sends.back()->done);
    m_b->progress(); /* makes room */
    rndv_ptr s = send(from, 5);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_RTS));
    recv_ptr r = recv(to, 5);
    pump();
    check(r, to, pattern(1, LONG), 5);
    for (rndv_ptr &op : sends) {
        EXPECT_TRUE(op->done);
        recv(to, 1);
    }
}

TEST_F(test_send_rndv, ring_record_that_is_malformed)
{
    for (int what = 0; what < 4; ++what) {
        with_rings();
        connect_planes();
        memory from(CONTIG, LONG);
        rndv_ptr s               = send(from, 5);
        ri_ring_rx_t *ring       = stream()->ring;
        ri_ring_record_t *record = &ring->lines[ring->pos & ring->mask];
        ri_wire_rts_t *payload = (ri_wire_rts_t *)ri_ring_payload(record, record->length);
        ASSERT_EQ((unsigned)RI_WIRE_RTS, record->type);

        switch (what) {
        case 0:
            record->length = RI_WIRE_RTS_MAX + 16;
            break;
        case 1:
            record->length = 0;
            break;
        case 2:
            payload->num_segments = 2;
            break;
        default:
            payload->segments[0].length = 0;
            break;
        }
        uint64_t malformed = m_b->counters().rx_malformed;
        m_b->progress();
        EXPECT_EQ(malformed + 1, m_b->counters().rx_malformed);
        EXPECT_TRUE(stream()->broken);
        EXPECT_EQ(nullptr, stream()->ring);
        pump(); /* RESET */
        ASSERT_TRUE(s->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, s->status);
    }
}

/* Ends of streams, conns and workers */

TEST_F(test_send_rndv, stream_breaks)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG), to2(CONTIG, LONG);
    rndv_ptr matched, unexpected, early;
    uint64_t reads;

    recv_ptr r1            = recv(to, 1);
    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    matched                = send(from, 1);
    deliver(m_ab, 0); /* NACK is under way */
    m_b_plane->read_status = UCS_OK;
    unexpected             = send(from, 2);
    deliver(m_ab, 0);
    rndv_ptr lost = send(from, 2);
    m_ab->sent.pop_front();
    early = send(from, 2);
    deliver(m_ab, 0);
    EXPECT_EQ(1u, stream()->num_early);

    ri_stream_break(stream(), "a test");
    ASSERT_TRUE(r1->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r1->status);
    pump();
    for (rndv_ptr *op : {&matched, &unexpected, &lost, &early}) {
        ASSERT_TRUE((*op)->done);
    }
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, unexpected->status);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, early->status);

    /* The send has ended: what is in its memory now is not the message. */
    reads       = m_b_plane->reads;
    recv_ptr r2 = recv(to2, 2);
    ASSERT_TRUE(r2->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r2->status);
    EXPECT_EQ(reads, m_b_plane->reads);
    pump();
}

TEST_F(test_send_rndv, stream_with_bye_ends_with_the_data)
{
    connect_planes();
    bytes content = pattern(3, 1000);
    memory to(CONTIG, 1000);
    uint32_t sn            = stream()->next_sn;
    recv_ptr r             = recv(to, 5);
    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    rts(sn, 5, {{(uintptr_t)content.data(), 1000}});
    uint32_t id = m_ba->take(RI_WIRE_NACK).parse().recv_id;
    m_b->deliver(wire_msg(RI_WIRE_BYE, stream()->id, sn));
    ASSERT_FALSE(ucs_list_is_empty(&m_b->worker()->streams));
    rndv_data(id, content);
    check(r, to, content, 5);
    EXPECT_TRUE(ucs_list_is_empty(&m_b->worker()->streams));
}

TEST_F(test_send_rndv, worker_of_the_receiver_ends)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    rndv_ptr s1 = send(from, 1), s2 = send(from, 2), s3 = send(from, 3);
    recv_ptr waiting, taken;
    ucp_tag_recv_info_t info;
    node *b = m_b.get();

    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    waiting                = recv(to, 1);
    while (!m_ab->sent.empty()) {
        deliver(m_ab, 0);
    }
    m_ba->sent.clear();

    /* What nobody received is turned down as long as there is a way out. */
    ri_msg_t *msg = ri_tag_probe(b->worker(), 2, ~0ul, 1, &info);
    ri_rndv_discard_all(b->worker());
    EXPECT_EQ(s3->req()->id, m_ba->take(RI_WIRE_FIN).parse().value);
    EXPECT_TRUE(m_ba->sent.empty());

    /* What waits for data ends, and its callback may still receive. */
    waiting->on_done = [&] { taken = b->msg_recv(msg, LONG); };
    b->may_end_open  = true;
    m_b.reset();
    ASSERT_TRUE(waiting->done && taken->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, waiting->status);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, taken->status);
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    EXPECT_EQ(UCS_ERR_CANCELED, s1->status);
}

TEST_F(test_send_rndv, worker_of_the_sender_ends)
{
    connect_planes();
    m_ucx->send_mode  = LATER;
    m_a->may_end_open = true;
    send_ptr s1       = m_a->send(m_conn, bytes(LONG), 1);  /* waits for FIN */
    send_ptr s2       = m_a->send(m_conn, bytes(10000), 2); /* data is with stock */
    m_ucx->complete();
    send_ptr s3 = m_a->send(m_conn, bytes(LONG), 3); /* RTS is with stock */
    to_sender(RI_WIRE_NACK,
              reinterpret_cast<ri_send_req_t *>(ri_req_of_handle(s2->handle))->id, 1);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_RNDV_DATA));
    m_a.reset();
    for (const send_ptr &s : {s1, s2, s3}) {
        ASSERT_TRUE(s->done);
        EXPECT_EQ(UCS_ERR_CANCELED, s->status);
    }
}

/* A flush does not wait for receives; a close does, or they would find nothing. */
TEST_F(test_send_rndv, flush_and_close)
{
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        connect_planes();
        bytes content = pattern(1, LONG);
        memory from(CONTIG, LONG, content), to(CONTIG, LONG);
        ucp_request_param_t param = {};
        rndv_ptr s                = send(from, 5);

        m_b_plane->read_status = status;
        pump();
        EXPECT_EQ(nullptr, ri_ep_flush(m_conn, &param));
        ucs_status_ptr_t close = ri_ep_close(m_conn, &param);
        ASSERT_TRUE(UCS_PTR_IS_PTR(close));
        pump();
        EXPECT_FALSE(m_ab->closed);
        EXPECT_FALSE(s->done);
        recv_ptr r = recv(to, 5);
        pump();
        check(r, to, content, 5);
        EXPECT_EQ(UCS_OK, s->status);
        EXPECT_TRUE(m_ab->closed);
        EXPECT_TRUE(ri_req_flags(ri_req_of_handle(close)) & RI_REQ_COMPLETED);
        ri_req_put(ri_req_of_handle(close));
        s.reset();
        stop();
        start();
    }
}

/* Each side needs the endpoint that the other one is closing. */
TEST_F(test_send_rndv, both_close)
{
    connect_planes();
    bytes content = pattern(1, LONG);
    memory from(CONTIG, LONG, content), to(CONTIG, LONG);
    ucp_request_param_t param = {};

    m_b->send(m_back, bytes(LONG), 1);
    m_a->recv(1, ~0ul, LONG);
    pump();
    ASSERT_TRUE(m_back->flags & RI_CONN_PLANE_READ);
    rndv_ptr s               = send(from, 5);
    send_ptr s2              = m_b->send(m_back, content, 6);
    ucs_status_ptr_t close_a = ri_ep_close(m_conn, &param);
    ucs_status_ptr_t close_b = ri_ep_close(m_back, &param);
    pump();
    recv_ptr r = recv(to, 5), r2 = m_a->recv(6, ~0ul, LONG);
    pump();
    check(r, to, content, 5);
    EXPECT_TRUE(content == r2->buffer);
    EXPECT_TRUE(s->done && s2->done);
    EXPECT_TRUE(m_ab->closed && m_ba->closed);
    for (ucs_status_ptr_t close : {close_a, close_b}) {
        EXPECT_TRUE(ri_req_flags(ri_req_of_handle(close)) & RI_REQ_COMPLETED);
        ri_req_put(ri_req_of_handle(close));
    }
}

TEST_F(test_send_rndv, answers_that_are_owed)
{
    connect_planes();
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        bytes content = pattern(1, LONG);
        memory from(CONTIG, LONG, content), to(CONTIG, LONG);

        m_b_plane->read_status = status;
        ri_conn_destroy(m_back, UCS_ERR_CANCELED);
        rndv_ptr s = send(from, 5);
        recv_ptr r = recv(to, 5);
        pump();
        EXPECT_FALSE(s->done);
        EXPECT_EQ(1u, ucs_list_length(&stream()->peer->owed));
        m_ba   = m_b->new_endpoint(m_a.get());
        m_back = m_b->connect(m_ba, SENDER);
        pump();
        check(r, to, content, 5);
        EXPECT_TRUE(s->done);
    }
}

TEST_F(test_send_rndv, answers_that_find_no_memory)
{
    connect_planes();
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        bytes content = pattern(1, LONG);
        memory from(CONTIG, LONG, content), to(CONTIG, LONG);

        m_b_plane->read_status = status;
        rndv_ptr s             = send(from, 5);
        recv_ptr r             = recv(to, 5);
        m_ucx->memory          = 0;
        deliver(m_ab, 0);
        EXPECT_TRUE(m_ba->sent.empty());
        m_ucx->memory = -1;
        pump();
        check(r, to, content, 5);
        EXPECT_TRUE(s->done);
    }
}

TEST_F(test_send_rndv, sender_fails)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    ri_conn_fail(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, s->status);
    uint64_t count = stale(*m_a);
    recv_ptr r     = recv(to, 5);
    pump();
    EXPECT_EQ(count + 1, stale(*m_a));
}

TEST_F(test_send_rndv, way_out_of_the_receiver_fails)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    recv_ptr r             = recv(to, 5);
    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    rndv_ptr s             = send(from, 5);
    deliver(m_ab, 0);
    uint32_t id = m_ba->take(RI_WIRE_NACK).parse().recv_id;

    ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, r->status);
    uint64_t count = stale(*m_b);
    rndv_data(id, bytes(LONG));
    EXPECT_EQ(count + 1, stale(*m_b));
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
}

/* Memory that the processor must not write */
TEST_F(test_send_rndv, device_memory_of_the_receiver)
{
    stop();
    m_ucx->memory_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    start();
    connect_planes();
    for (size_t length : {(size_t)10000, LONG}) { /* as UCP's eager message, or fetched */
        for (bool expected : {true, false}) {
            bytes content = pattern(1, length);
            memory from(CONTIG, length, content);
            device_memory to(length);
            recv_ptr r;

            m_conn->flags |= RI_CONN_PLANE_READ;
            r          = expected ? m_b->recv_into(to.data(), length, 5) : nullptr;
            rndv_ptr s = send(from, 5);
            pump();
            r = expected ? r : m_b->recv_into(to.data(), length, 5);
            pump();
            ASSERT_TRUE(r->done && s->done);
            EXPECT_EQ(UCS_OK, r->status);
            EXPECT_TRUE(content == to.read());
        }
    }
    EXPECT_EQ(0u, m_b_plane->reads);
    EXPECT_NE(nullptr, stream()->peer->plane_ep); /* it is not the plane's fault */
    EXPECT_EQ(0u, m_b->counters().planes_failed);

    m_conn->flags |= RI_CONN_PLANE_READ;
    device_memory out(LONG);
    memory to(CONTIG, LONG);
    recv_ptr r = recv(to, 5);
    m_a->send_from(m_conn, out, 5);
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_RTS));
    pump();
    EXPECT_TRUE(r->done);
}

TEST_F(test_send_rndv, peer_mode)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    m_conn->flags |= RI_CONN_PEER_MODE;
    recv_ptr r = recv(to, 5);
    rndv_ptr s = send(from, 5);
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_RTS));
    pump();
    EXPECT_TRUE(r->done && s->done);
}

TEST_F(test_send_rndv, random)
{
    const ucs_status_t ends[] = {UCS_OK, UCS_OK, UCS_ERR_INVALID_ADDR,
                                 UCS_ERR_UNREACHABLE};

    for_seeds(30, [&](rng &random) {
        random_traffic traffic;

        traffic.out = traffic.in = {CONTIG, IOV_1, IOV_16, IOV_EMPTY, IOV_17, PACKED};
        traffic.length           = [&]() -> size_t {
            return random.percent(30) ? random.below(8192) : 8193 + random.below(200000);
        };
        traffic.disturb = [&] {
            m_b_plane->read_status = ends[random.below(4)];
            m_b_plane->move_before = random.below(300000);
            if (random.percent(50)) { /* as if it had been asked again */
                m_conn->flags |= RI_CONN_PLANE_READ;
            }
        };

        run_random(random, traffic);
        expect_numbers_add_up();
    });
}

} // namespace
