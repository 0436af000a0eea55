/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/rndv/rndv_get.c: what the receiver reads, what it asks for instead, and that each
 * message ends on both sides. The tests run src/ucp/proto/rndv/read_generic.c, too.
 */

#include "unit/common/rndv_test.h"

namespace {

const std::vector<outcome> GET_OUTCOMES = {
        {"read", UCS_OK, 0},
        {"unreachable", UCS_ERR_UNREACHABLE, 0},
        {"no access", UCS_ERR_INVALID_ADDR, 0},
        {"fails in the middle", UCS_ERR_INVALID_ADDR, 50000},
        {"fails in a later stage", UCS_ERR_UNREACHABLE, 1000, 1},
};

class test_rndv_get : public rndv_test {};

TEST_F(test_rndv_get, shapes)
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
               {CONTIG, IOV_1, IOV_16, IOV_EMPTY, IOV_17, PACKED}, GET_OUTCOMES, test,
               [this] { expect_numbers_add_up(); });
}

/* The reads of messages that a ring could take are timed, but not with the time to unpack them. */
TEST_F(test_rndv_get, slow_reads_are_noticed)
{
    ri_costs_t before = ri_costs;

    connect_planes();
    ri_config.rtr       = UCS_AUTO;
    ri_costs.line       = 100;
    ri_costs.line_ticks = 100;
    ri_costs.plane      = {.call = 1e-3, .rate = 1e9}; /* no read is as fast */
    for (auto [most, into] :
         {std::pair{LONG - 1, CONTIG}, {LONG, PACKED}, {LONG, CONTIG}}) {
        ri_config.ring_slow = most;
        for (unsigned i = 0; i < RI_PEER_SLOW_TIMES; ++i) {
            memory from(CONTIG, LONG), to(into, LONG);
            recv_ptr r = recv(to, 5);
            rndv_ptr s = send(from, 5);

            pump();
            EXPECT_TRUE(r->done && s->done);
        }
        EXPECT_EQ((most == LONG) && (into == CONTIG), stream()->peer->reads.is_slow);
    }
    EXPECT_EQ(RI_RING_HINT_SLOW, ri_peer_hint(stream()->peer) & RI_RING_HINT_SLOW);
    ri_costs = before;
}

TEST_F(test_rndv_get, what_does_not_fit_goes_by_ucp)
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
TEST_F(test_rndv_get, longest_rts_with_small_eager_thresh)
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

TEST_F(test_rndv_get, truncated)
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

TEST_F(test_rndv_get, unpack_error)
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

/* A generic type whose layout is known: the receiver reads in stages, or into long runs, and no
 * callback is asked for the data. The message is shorter than the receive, and ends in a run. */
TEST_F(test_rndv_get, layout)
{
    static unsigned finished;
    const ucp_datatype_t known     = 0x50000 | UCP_DATATYPE_GENERIC;
    const ucp_generic_dt_ops_t ops = {
            [](void *, const void *buffer, size_t) { return const_cast<void *>(buffer); },
            [](void *, void *buffer, size_t) { return buffer; },
            [](void *) { return LONG; },
            [](void *, size_t, void *, size_t) -> size_t { return 0; },
            [](void *, size_t, const void *, size_t) { return UCS_ERR_IO_ERROR; },
            [](void *) { ++finished; }};
    ucp_request_param_t param = {};

    connect_planes();
    param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype     = known;
    for (size_t run : {8, 1000, 2500}) {
        ri_layout_builder_t builder;
        bytes content = pattern(run, LONG - 10), to(2 * LONG, 0x5a);
        bytes expected(to);

        ri_layout_begin(&builder);
        ri_layout_part_t part = ri_layout_repeat(&builder, ri_layout_run(run), LONG / run,
                                                 2 * run);
        ASSERT_EQ(UCS_OK, ri_dt_register(known, &ops, nullptr));
        ri_dt_set_layout(known, ri_layout_end(&builder, part, 2 * LONG));
        for (size_t i = 0; i < content.size(); ++i) {
            expected[i / run * 2 * run + i % run] = content[i];
        }
        finished         = 0;
        m_b_plane->reads = 0;
        memory from(CONTIG, content.size(), content);
        rndv_ptr s = send(from, 5);
        EXPECT_EQ(RI_WIRE_RTS, s->req()->wire_type);
        pump();
        ucs_status_ptr_t r = ri_tag_recv(m_b->worker(), to.data(), 1, 5, ~0ul, &param);
        pump();
        EXPECT_EQ(nullptr, r); /* within the call */
        EXPECT_TRUE(s->done);
        EXPECT_EQ(1u, finished);
        EXPECT_EQ((run >= 1024) ? 1u : 2u, m_b_plane->reads);
        EXPECT_EQ(expected, to) << run;
        ri_dt_unregister(known);
    }
}

/* An unpack callback receives another message, whose read finds the way gone. */
TEST_F(test_rndv_get, way_ends_inside_unpack)
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

/* A real plane, and memory that is not there */
TEST_F(test_rndv_get, absurd_addresses)
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
    ASSERT_NE(nullptr, stream()->peer->local.ep);

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

    ri_local_disconnect(stream()->peer);
    std::swap(m_b->worker()->plane, cma);
    ri_plane_cma.close(cma);
}

/* Memory that the processor must not write */
TEST_F(test_rndv_get, device_memory_of_the_receiver)
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
    EXPECT_NE(nullptr, stream()->peer->local.ep); /* it is not the plane's fault */
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

TEST_F(test_rndv_get, peer_mode)
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

TEST_F(test_rndv_get, random)
{
    for_seeds(30, [&](rng &random) {
        run_random(random, refused_traffic(random));
        expect_numbers_add_up();
    });
}

} // namespace
