/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/pool/pool_send.c: two workers with a plane that the test makes, and hostile messages
 * that the test writes itself.
 */

#include "pool_send_test.h"

namespace {

class test_pool_send : public pool_send_test {};

const std::vector<outcome> OUTCOMES = {
        {"read", UCS_OK, 0},
        {"unreachable", UCS_ERR_UNREACHABLE, 0},
        {"fails in the middle", UCS_ERR_INVALID_ADDR, 5000},
};

TEST_F(test_pool_send, shapes)
{
    auto test = [this](const shape_case &c) {
        uint64_t i    = c.number;
        bytes content = pattern(i, MEDIUM + 100 * i);
        memory from(c.out, content.size(), content);
        memory to(c.in, content.size() + (i % 2) * 1000);
        bool read       = c.ends.status == UCS_OK;
        uint64_t before = m_b->counters().streams.rx_read_bytes;

        ask_for_plane_again();
        m_b_plane->read_status = c.ends.status;
        m_b_plane->move_before = c.ends.move_before;

        recv_ptr r = c.expected ? recv(to, i) : nullptr;
        rndv_ptr s = send(from, i);
        ASSERT_TRUE(s->done);
        EXPECT_EQ(UCS_OK, s->status);
        EXPECT_EQ((c.out == PACKED) ? 1u : 0u, from.generic().finished);
        EXPECT_EQ(c.rings ? 0u : 1u, m_ab->count(RI_WIRE_POOL));
        from.write(bytes(content.size())); /* the sender goes on */
        if (!c.expected) {
            pump();
            EXPECT_NE(0u, used(*m_a));
            r = recv(to, i);
        }
        pump();
        check(r, to, content, i);
        EXPECT_EQ((c.in == PACKED) ? 1u : 0u, to.generic().finished);
        EXPECT_EQ(read, !!(m_conn->flags & RI_CONN_PLANE_READ));
        EXPECT_EQ(before + (read ? content.size() : 0),
                  m_b->counters().streams.rx_read_bytes);
        EXPECT_EQ(0u, m_b->counters().held_bytes);
    };
    auto end = [this] {
        calm_down();
        EXPECT_EQ(0u, used(*m_a));
        EXPECT_EQ(0u, m_a->counters().rx_stale);
        expect_numbers_add_up();
    };

    for_shapes({CONTIG, IOV_1, IOV_16, IOV_EMPTY, IOV_17, PACKED},
               {CONTIG, IOV_1, IOV_16, IOV_EMPTY, IOV_17, PACKED}, OUTCOMES, test, end);
}

TEST_F(test_pool_send, lengths)
{
    connect_planes();
    for (auto [length, type] : std::map<size_t, ri_wire_type_t>{{8192, RI_WIRE_EAGER},
                                                                {8193, RI_WIRE_POOL},
                                                                {65536, RI_WIRE_POOL},
                                                                {65537, RI_WIRE_RTS}}) {
        bytes content = pattern(1, length);
        memory from(CONTIG, length, content), to(CONTIG, length);
        recv_ptr r = recv(to, length);
        rndv_ptr s = send(from, length);

        EXPECT_EQ(1u, m_ab->count(type)) << length;
        pump();
        check(r, to, content, length);
        EXPECT_TRUE(s->done);
    }
    ri_config.hybrid_thresh = 0;
    memory from(CONTIG, MEDIUM), to(CONTIG, MEDIUM);
    recv_ptr r = recv(to, 5);
    rndv_ptr s = send(from, 5);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_RTS));
    pump();
    EXPECT_TRUE(r->done && s->done);
}

TEST_F(test_pool_send, what_does_not_take_it)
{
    connect_planes();
    bytes content = pattern(1, MEDIUM);
    memory from(CONTIG, MEDIUM, content), to(CONTIG, MEDIUM);

    recv_ptr r = recv(to, 5);
    rndv_ptr s = send(from, 5, true);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_RTS)) << "synchronous";
    pump();
    check(r, to, content, 5);
    EXPECT_TRUE(s->done);

    for (uint32_t flag : {RI_CONN_PEER_MODE, RI_CONN_PLANE_READ}) {
        m_conn->flags ^= flag;
        r = recv(to, 5);
        s = send(from, 5);
        EXPECT_EQ(0u, m_ab->count(RI_WIRE_POOL));
        pump();
        check(r, to, content, 5);
        EXPECT_TRUE(s->done);
        m_conn->flags ^= flag;
    }
}

/* When the pool is used up, messages wait at the sender, and none waits for the pool. */
TEST_F(test_pool_send, pool_is_empty)
{
    connect_planes();
    for (bool generic : {false, true}) { /* which an RTS cannot describe */
        std::vector<std::unique_ptr<memory>> from, to;
        std::vector<rndv_ptr> sends;
        std::vector<recv_ptr> recvs;

        for (uint64_t i = 0; i < 40; ++i) {
            from.push_back(std::make_unique<memory>(generic ? PACKED : CONTIG, MEDIUM,
                                                    pattern(i, MEDIUM)));
            to.push_back(std::make_unique<memory>(CONTIG, MEDIUM));
            sends.push_back(send(*from[i], i));
            EXPECT_EQ(i < 16, sends[i]->done);
        }
        EXPECT_EQ(16u, m_ab->count(RI_WIRE_POOL));
        EXPECT_EQ(24u, m_ab->count(generic ? RI_WIRE_BULK : RI_WIRE_RTS));
        EXPECT_EQ(POOL, used(*m_a));
        EXPECT_EQ(POOL, m_a->counters().pool_bytes_max);
        pump();
        for (uint64_t i = 40; i-- > 0;) {
            recvs.push_back(recv(*to[i], i));
        }
        pump();
        for (uint64_t i = 0; i < 40; ++i) {
            check(recvs[39 - i], *to[i], pattern(i, MEDIUM), i);
            EXPECT_TRUE(sends[i]->done);
        }
        calm_down();
        EXPECT_EQ(0u, used(*m_a));
        m_conn->flags |= RI_CONN_PLANE_READ;
    }
}

/* Messages that nobody receives, or not whole */

TEST_F(test_pool_send, truncated)
{
    connect_planes();
    for (bool expected : {true, false}) {
        memory to(CONTIG, MEDIUM - 1);
        recv_ptr r = expected ? recv(to, 5) : nullptr;

        send_pool(5, pattern(1, MEDIUM));
        pump();
        r = expected ? r : recv(to, 5);
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
        EXPECT_EQ(MEDIUM, r->info.length);
        EXPECT_TRUE(bytes(MEDIUM - 1) == to.read());
    }
    EXPECT_EQ(0u, m_b_plane->reads);
    calm_down();
    EXPECT_EQ(0u, used(*m_a));
}

TEST_F(test_pool_send, unpack_fails)
{
    connect_planes();
    memory to(PACKED, MEDIUM);
    to.generic().fails_at = 0;
    recv_ptr r            = recv(to, 5);
    send_pool(5, bytes(MEDIUM));
    calm_down();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_IO_ERROR, r->status);
    EXPECT_EQ(0u, used(*m_a));
}

TEST_F(test_pool_send, unexpected_are_given_back_at_the_end)
{
    connect_planes();
    for (unsigned i = 0; i < 12; ++i) {
        send_pool(5, bytes(MEDIUM));
    }
    pump();
    ri_rndv_discard_all(m_b->worker());
    ri_release_flush_all(m_b->worker());
    pump();
    EXPECT_EQ(0u, used(*m_a));
}

TEST_F(test_pool_send, device_memory_of_the_receiver)
{
    stop();
    m_ucx->memory_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    start();
    connect_planes();
    for (size_t length : {(size_t)10000, MEDIUM}) {
        for (bool expected : {true, false}) {
            bytes content = pattern(1, length);
            device_memory to(length);
            recv_ptr r = expected ? m_b->recv_into(to.data(), length, 5) : nullptr;

            m_conn->flags |= RI_CONN_PLANE_READ;
            send_pool(5, content);
            pump();
            r = expected ? r : m_b->recv_into(to.data(), length, 5);
            pump();
            ASSERT_TRUE(r->done);
            EXPECT_EQ(UCS_OK, r->status);
            EXPECT_TRUE(content == to.read());
            ri_release_flush_all(m_b->worker());
            pump();
            EXPECT_EQ(0u, used(*m_a));
        }
    }
    EXPECT_EQ(4u, m_b_plane->reads) << "the sender is not needed any more";
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
}

/* Order */

TEST_F(test_pool_send, past_and_future)
{
    connect_planes();
    uint32_t next = stream()->next_sn;
    bytes first = pattern(1, MEDIUM), second = pattern(2, 30000);
    memory to1(CONTIG, MEDIUM), to2(CONTIG, 30000);
    recv_ptr r1 = recv(to1, 5), r2 = recv(to2, 5);

    pool(next + 1, 5, second, 0, 2);
    EXPECT_FALSE(r1->done || r2->done);
    pool(next + 1, 5, first, 0, 3); /* once more */
    pool(next, 5, first, 0, 1);
    check(r1, to1, first, 5);
    check(r2, to2, second, 5);
    uint64_t malformed = m_b->counters().rx_malformed;
    recv_ptr r3        = recv(to1, 5);
    pool(next, 5, first, 0, 1);
    EXPECT_FALSE(r3->done);
    EXPECT_EQ(malformed + 1, m_b->counters().rx_malformed);
    m_b->cancel(r3);
    EXPECT_EQ(2u, stream()->peer->release.num); /* each once */
}

TEST_F(test_pool_send, early_ones_of_a_broken_stream)
{
    connect_planes();
    bytes content = pattern(1, MEDIUM);
    memory to(CONTIG, MEDIUM);
    send_pool(5, content); /* unexpected */
    deliver(m_ab, 0);
    send_pool(6, content);
    m_ab->sent.clear();
    send_pool(7, content); /* early for ever */
    deliver(m_ab, 0);
    ri_stream_break(stream(), "a test");
    recv_ptr r = recv(to, 5);
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    EXPECT_EQ(0u, m_b_plane->reads);
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_RESET));
    EXPECT_NE(0u, used(*m_a));
    pump();
    EXPECT_EQ(0u, used(*m_a)); /* nobody reads what was sent before */
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_conn->status);
}

/* A number that was lost: what was sent before it is still received. */
TEST_F(test_pool_send, before_a_lost_number)
{
    connect_planes();
    bytes content = pattern(1, MEDIUM);
    memory to(CONTIG, MEDIUM);
    ucp_request_param_t param = {};

    send_pool(5, content);
    ++m_conn->tx_sn;
    ri_conn_lose(m_conn, m_conn->tx_sn, UCS_ERR_NO_MEMORY);
    EXPECT_NE(0u, used(*m_a));
    ucs_status_ptr_t close = ri_ep_close(m_conn, &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(close));
    pump();
    EXPECT_FALSE(m_ab->closed);
    recv_ptr r = recv(to, 5);
    check(r, to, content, 5);
    calm_down();
    EXPECT_EQ(0u, used(*m_a));
    EXPECT_TRUE(m_ab->closed);
    ri_req_put(ri_req_of_handle(close));
}

/* Stock has trouble */

TEST_F(test_pool_send, stock_holds_it_back)
{
    connect_planes();
    bytes content = pattern(1, MEDIUM);
    memory from(CONTIG, MEDIUM, content), to(CONTIG, MEDIUM);
    recv_ptr r       = recv(to, 5);
    m_ucx->send_mode = LATER;
    rndv_ptr s       = send(from, 5);

    EXPECT_FALSE(s->done);
    m_ucx->complete();
    EXPECT_TRUE(s->done);
    EXPECT_EQ(UCS_OK, s->status);
    calm_down();
    check(r, to, content, 5);
    EXPECT_EQ(0u, used(*m_a));
}

TEST_F(test_pool_send, stock_does_not_send)
{
    connect_planes();
    uint32_t sn = m_conn->tx_sn;
    memory from(CONTIG, MEDIUM), to(CONTIG, MEDIUM);

    for (bool memory_left : {true, false}) {
        m_ucx->send_mode = memory_left ? FAILS : AT_ONCE;
        m_ucx->memory    = memory_left ? -1 : 0;
        rndv_ptr s       = send(from, 5);
        EXPECT_TRUE(s->done);
        EXPECT_TRUE(UCS_STATUS_IS_ERR(s->status));
        EXPECT_EQ(sn, m_conn->tx_sn);
        EXPECT_EQ(0u, used(*m_a));
    }
    m_ucx->memory    = -1;
    m_ucx->send_mode = AT_ONCE;
    recv_ptr r       = recv(to, 5);
    rndv_ptr s       = send(from, 5);
    pump();
    EXPECT_TRUE(r->done && s->done);
}

TEST_F(test_pool_send, at_once_or_not_at_all)
{
    connect_planes();
    memory from(CONTIG, MEDIUM), to(CONTIG, MEDIUM);

    m_ucx->immediate = 0;
    rndv_ptr s       = send(from, 5, false, UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, s->status);
    EXPECT_EQ(0u, used(*m_a));
    m_ucx->immediate = 1;
    m_ucx->send_mode = LATER;
    recv_ptr r       = recv(to, 5);
    s                = send(from, 5, false, UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL);
    EXPECT_TRUE(s->done);
    EXPECT_EQ(UCS_OK, s->status);
    m_ucx->send_mode = AT_ONCE;
    pump();
    EXPECT_TRUE(r->done);

    with_rings();
    connect_planes();
    m_ucx->immediate = 0;
    recv_ptr r2      = recv(to, 5);
    s                = send(from, 5, false, UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL);
    EXPECT_EQ(UCS_OK, s->status);
    m_ucx->immediate = -1;
    pump();
    EXPECT_TRUE(r2->done);
}

/* The data that could not be read is sent when there is memory, and once. */
TEST_F(test_pool_send, stock_has_no_memory_for_the_data)
{
    connect_planes();
    for (bool closes : {false, true}) {
        bytes content = pattern(1, MEDIUM);
        memory to(CONTIG, MEDIUM);
        ucp_request_param_t param = {};
        recv_ptr r                = recv(to, 5);
        m_b_plane->read_status    = UCS_ERR_INVALID_ADDR;
        m_conn->flags |= RI_CONN_PLANE_READ;
        uint32_t id = send_pool(5, content);
        deliver(m_ab, 0);
        m_ucx->memory = 0;
        deliver(m_ba, 0);
        m_a->progress();
        EXPECT_TRUE(m_ab->sent.empty());
        EXPECT_TRUE(ri_worker_has_work(m_a->worker()));
        release({id}); /* it is not for the peer any more */
        EXPECT_EQ(1u, ucs_list_length(&m_a->worker()->pool.unsent));
        ucs_status_ptr_t close = closes ? ri_ep_close(m_conn, &param) : nullptr;
        m_ucx->memory          = -1;
        pump();
        check(r, to, content, 5);
        EXPECT_EQ(0u, used(*m_a));
        EXPECT_FALSE(ri_worker_has_work(m_a->worker()));
        EXPECT_EQ(closes, m_ab->closed);
        if (closes) {
            ri_req_put(ri_req_of_handle(close));
        }
    }
}

TEST_F(test_pool_send, conn_goes_while_its_data_waits_for_memory)
{
    for (bool fails : {true, false}) {
        connect_planes();
        memory to(CONTIG, MEDIUM);
        uint32_t id   = send_pool(5, bytes(MEDIUM));
        m_ucx->memory = 0;
        nack(id, 1);
        EXPECT_EQ(1u, ucs_list_length(&m_a->worker()->pool.unsent));
        if (fails) {
            ri_conn_fail(m_conn, UCS_ERR_CONNECTION_RESET);
        }
        EXPECT_EQ(fails, used(*m_a) == 0);
        ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
        EXPECT_EQ(0u, used(*m_a));
        m_ucx->memory = -1;
        m_a->progress();
        stop();
        start();
    }
}

TEST_F(test_pool_send, conn_goes_while_stock_sends_its_data)
{
    connect_planes();
    uint32_t id      = send_pool(5, pattern(1, MEDIUM));
    m_ucx->send_mode = LATER;
    nack(id, 1);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_RNDV_DATA));
    ri_conn_fail(m_conn, UCS_ERR_CONNECTION_RESET);
    EXPECT_NE(0u, used(*m_a)); /* stock reads it */
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    EXPECT_NE(0u, used(*m_a));
    m_ab->sent.clear();
    end_rendezvous(UCS_ERR_CANCELED);
    EXPECT_EQ(0u, used(*m_a));
}

/* Closing */

TEST_F(test_pool_send, flush_and_close)
{
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        connect_planes();
        bytes content = pattern(1, MEDIUM);
        memory to(CONTIG, MEDIUM);
        ucp_request_param_t param = {};

        send_pool(5, content);
        m_b_plane->read_status = status;
        pump();
        EXPECT_EQ(nullptr, ri_ep_flush(m_conn, &param));
        ucs_status_ptr_t close = ri_ep_close(m_conn, &param);
        ASSERT_TRUE(UCS_PTR_IS_PTR(close));
        pump();
        EXPECT_FALSE(m_ab->closed);
        recv_ptr r = recv(to, 5);
        calm_down();
        check(r, to, content, 5);
        EXPECT_TRUE(m_ab->closed);
        EXPECT_TRUE(ri_req_flags(ri_req_of_handle(close)) & RI_REQ_COMPLETED);
        ri_req_put(ri_req_of_handle(close));
        stop();
        start();
    }
}

/* Each side waits for the other one, and gives back what it has. */
TEST_F(test_pool_send, both_close)
{
    for (bool rings : {false, true}) {
        if (rings) {
            with_rings();
        }
        connect_planes();
        m_b->send(m_back, bytes(LONG), 1);
        m_a->recv(1, ~0ul, LONG);
        pump();
        bytes content = pattern(1, MEDIUM);
        memory from(CONTIG, MEDIUM, content), to(CONTIG, MEDIUM);
        ucp_request_param_t param = {};
        rndv_ptr s                = send(from, 5);
        send_ptr s2               = m_b->send(m_back, content, 6);
        recv_ptr r                = recv(to, 5);

        EXPECT_TRUE(s->done);
        pump();
        check(r, to, content, 5);
        ucs_status_ptr_t close_a = ri_ep_close(m_conn, &param);
        ucs_status_ptr_t close_b = ri_ep_close(m_back, &param);
        pump();
        recv_ptr r2 = m_a->recv(6, ~0ul, MEDIUM);
        calm_down();
        for (int i = 0; i < PATIENCE; ++i) {
            m_a->progress();
        }
        pump();
        EXPECT_TRUE(content == r2->buffer);
        EXPECT_TRUE(m_ab->closed && m_ba->closed);
        for (ucs_status_ptr_t close : {close_a, close_b}) {
            if (UCS_PTR_IS_PTR(close)) {
                EXPECT_TRUE(ri_req_flags(ri_req_of_handle(close)) & RI_REQ_COMPLETED);
                ri_req_put(ri_req_of_handle(close));
            }
        }
    }
}

/* A worker that ends without closing its endpoints: what it has sent can still be read. */
TEST_F(test_pool_send, worker_of_the_sender_ends)
{
    connect_planes();
    bytes content = pattern(1, MEDIUM);
    memory to(CONTIG, MEDIUM);
    send_pool(5, content);
    pump();
    m_a.reset();
    std::vector<bytes> noise(20, bytes(32768, 0xee));
    recv_ptr r = recv(to, 5);
    check(r, to, content, 5);
}

TEST_F(test_pool_send, a_closed_conn_gets_its_buffers_back)
{
    connect_planes();
    uint32_t id     = send_pool(5, bytes(MEDIUM));
    endpoint *ep    = m_a->new_endpoint(m_b.get());
    ri_conn_t *conn = m_a->connect(ep, RECEIVER);

    ri_conn_destroy(m_conn, UCS_ERR_CANCELED); /* as at the end of the worker */
    EXPECT_EQ(32768u, used(*m_a));
    nack(id, 1, conn);
    EXPECT_EQ(32768u, used(*m_a));
    release({id}, conn);
    EXPECT_EQ(0u, used(*m_a));
    EXPECT_TRUE(ucs_list_is_empty(&m_a->worker()->pool.lent));
}

TEST_F(test_pool_send, random)
{
    for_seeds(30, [&](rng &random) {
        random_traffic traffic = refused_traffic(random, [&] {
            if (random.percent(30)) { /* something for a release to ride on */
                m_b->send(m_back, bytes(random.below(100)), 77);
                m_a->recv(77, ~0ul, 100);
            }
        });

        traffic.count  = 80;
        traffic.sends  = 2;
        traffic.sync   = 10;
        traffic.steps  = 100;
        traffic.length = [&]() -> size_t {
            return random.percent(20) ? random.below(8192) :
                   random.percent(80) ? 8193 + random.below(57000) :
                                        65537 + random.below(50000);
        };

        run_random(random, traffic);
        EXPECT_EQ(0u, used(*m_a));
        EXPECT_EQ(0u, m_a->counters().rx_stale);
    });
}

} // namespace
