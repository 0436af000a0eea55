/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/pool/pool_send.c: how pool buffers come back, and answers that are hostile or stale.
 */

#include "pool_send_test.h"

#include <set>

namespace {

class test_pool_send_release : public pool_send_test {
protected:
    /* A message by the pool, whose buffer the receiver has not given back yet */
    void receive_one()
    {
        memory to(CONTIG, MEDIUM);
        recv_ptr r = recv(to, 5);

        send_pool(5, bytes(MEDIUM));
        deliver(m_ab, 0);
        EXPECT_TRUE(r->done);
    }
};

/* How buffers come back */

TEST_F(test_pool_send_release, releases_go_together)
{
    connect_planes();
    for (unsigned i = 1; i <= 8; ++i) {
        receive_one();
        EXPECT_EQ((i == 8) ? 1u : 0u, m_ba->count(RI_WIRE_RELEASE)) << i;
    }
    EXPECT_EQ(8u, m_ba->sent[0].parse().value);
    EXPECT_EQ(1u, m_b->counters().tx_release);
    pump();
    EXPECT_EQ(0u, used(*m_a));
    EXPECT_EQ(0u, stale(*m_a));
}

TEST_F(test_pool_send_release, a_release_does_not_wait_for_ever)
{
    connect_planes();
    receive_one();
    m_b->progress();
    EXPECT_TRUE(m_ba->sent.empty());
    EXPECT_FALSE(ri_worker_has_work(m_b->worker())); /* it costs nothing meanwhile */
    for (int i = 0; i < PATIENCE; ++i) {
        m_b->progress();
    }
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_RELEASE));
    pump();
    EXPECT_EQ(0u, used(*m_a));
}

TEST_F(test_pool_send_release, released_at_once_when_the_pool_is_low)
{
    connect_planes();
    memory to(CONTIG, MEDIUM);
    for (unsigned i = 1; i <= 13; ++i) {
        send_pool(5, bytes(MEDIUM));
    }
    for (unsigned i = 1; i <= 7; ++i) {
        recv(to, 5);
        deliver(m_ab, 0);
    }
    EXPECT_TRUE(m_ba->sent.empty());
    for (unsigned i = 8; i <= 13; ++i) {
        recv(to, 5);
        deliver(m_ab, 0);
    }
    /* the eighth completed a message; the 13th was marked */
    ASSERT_EQ(2u, m_ba->count(RI_WIRE_RELEASE));
    EXPECT_EQ(8u, m_ba->sent[0].parse().value);
    EXPECT_EQ(5u, m_ba->sent[1].parse().value);
    pump();
    EXPECT_EQ(0u, used(*m_a));
}

TEST_F(test_pool_send_release, a_release_rides_on_a_message)
{
    with_rings();
    connect_planes();
    for (bool slow : {false, true}) {
        bytes content = pattern(1, MEDIUM);
        memory from(CONTIG, MEDIUM, content), to(CONTIG, MEDIUM);
        uint64_t alone = m_b->counters().tx_release;
        recv_ptr r = recv(to, 5), r2 = m_a->recv(6, ~0ul, 8);
        rndv_ptr s = send(from, 5);

        m_b->progress();
        check(r, to, content, 5);
        EXPECT_NE(0u, m_back->release.id);
        EXPECT_NE(0u, used(*m_a));
        if (slow) { /* with a request */
            ucp_request_param_t param = {};
            param.op_attr_mask        = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
            ucs_status_ptr_t ret      = ri_tag_send(m_back, "message", 8, 6, &param, 0);
            ASSERT_TRUE(UCS_PTR_IS_PTR(ret));
            ri_req_put(ri_req_of_handle(ret));
        } else {
            m_b->send(m_back, bytes(8), 6);
        }
        EXPECT_EQ(0u, m_back->release.id);
        m_a->progress();
        EXPECT_TRUE(r2->done);
        EXPECT_EQ(0u, used(*m_a));
        calm_down();
        EXPECT_EQ(alone, m_b->counters().tx_release);
        EXPECT_EQ(0u, stale(*m_a));
    }
}

/* Whatever carries it, every buffer comes back once. */
TEST_F(test_pool_send_release, releases_through_the_ring)
{
    with_rings();
    connect_planes();
    for (unsigned i = 0; i < 100; ++i) {
        memory from(CONTIG, MEDIUM), to(CONTIG, MEDIUM);
        recv_ptr r = recv(to, 5);
        rndv_ptr s = send(from, 5);

        EXPECT_EQ(0u, m_ab->count(RI_WIRE_RTS)) << i;
        m_b->progress();
        ASSERT_TRUE(r->done);
        m_a->progress();
    }
    EXPECT_TRUE(m_ba->sent.empty());
    EXPECT_LT(0u, m_b->counters().tx_release);
    EXPECT_GT(20u, m_b->counters().tx_release);
    calm_down();
    EXPECT_EQ(0u, used(*m_a));
    EXPECT_EQ(0u, stale(*m_a));
}

TEST_F(test_pool_send_release, release_while_the_ring_goes)
{
    with_rings();
    connect_planes();
    memory from(CONTIG, MEDIUM), to(CONTIG, MEDIUM);
    recv_ptr r = recv(to, 5);
    rndv_ptr s = send(from, 5);
    m_b->progress();
    EXPECT_NE(0u, m_back->release.id);
    ri_ring_life_stop(m_back);
    EXPECT_EQ(nullptr, m_back->ring);
    calm_down();
    EXPECT_EQ(0u, used(*m_a));

    /* ... and the endpoint, of which there is another one */
    with_rings();
    connect_planes();
    recv_ptr r2 = recv(to, 5);
    rndv_ptr s2 = send(from, 5);
    m_b->progress();
    EXPECT_NE(0u, m_back->release.id);
    endpoint *ba2    = m_b->new_endpoint(m_a.get());
    ri_conn_t *back2 = m_b->connect(ba2, SENDER);
    ri_conn_destroy(m_back, UCS_ERR_CANCELED);
    m_ba   = ba2;
    m_back = back2;
    calm_down();
    EXPECT_EQ(0u, used(*m_a));
    EXPECT_EQ(0u, stale(*m_a));
}

/* What waits at a conn that fails or loses a message goes by another one. */
TEST_F(test_pool_send_release, release_of_a_conn_that_fails)
{
    for (bool loses : {false, true}) {
        SCOPED_TRACE(loses);
        with_rings();
        connect_planes();
        memory from(CONTIG, MEDIUM), to(CONTIG, MEDIUM);
        recv_ptr r = recv(to, 5);
        rndv_ptr s = send(from, 5);
        m_b->progress();
        ASSERT_TRUE(r->done);
        EXPECT_NE(0u, m_back->release.id);
        EXPECT_NE(0u, used(*m_a));
        endpoint *ba2    = m_b->new_endpoint(m_a.get());
        ri_conn_t *back2 = m_b->connect(ba2, SENDER);
        if (loses) {
            ri_conn_lose(m_back, m_back->tx_sn + 1, UCS_ERR_NO_MEMORY);
        } else {
            ri_conn_fail(m_back, UCS_ERR_CONNECTION_RESET);
        }
        m_ba   = ba2;
        m_back = back2;
        calm_down();
        EXPECT_EQ(0u, used(*m_a));
        EXPECT_EQ(0u, stale(*m_a));
        stop();
        start();
    }
}

TEST_F(test_pool_send_release, releases_that_are_owed)
{
    connect_planes();
    bytes content = pattern(1, MEDIUM);

    ri_conn_destroy(m_back, UCS_ERR_CANCELED);
    for (unsigned i = 0; i < 12; ++i) {
        memory to(CONTIG, MEDIUM);
        recv_ptr r = recv(to, 5);
        send_pool(5, content);
        deliver(m_ab, 0);
        check(r, to, content, 5);
    }
    for (int i = 0; i < PATIENCE; ++i) {
        m_b->progress();
    }
    EXPECT_EQ(2u, ucs_list_length(&stream()->peer->owed));
    m_ba   = m_b->new_endpoint(m_a.get());
    m_back = m_b->connect(m_ba, SENDER);
    calm_down();
    EXPECT_EQ(0u, used(*m_a));
    EXPECT_EQ(0u, stale(*m_a));
}

/* Each RELEASE is for one conn of the peer, and has the buffers of that one. */
TEST_F(test_pool_send_release, releases_of_two_conns)
{
    connect_planes();
    m_ab2      = m_a->new_endpoint(m_b.get());
    m_conn2    = m_a->connect(m_ab2, RECEIVER);
    recv_ptr r = m_b->recv(7, ~0ul, 8);
    m_a->send(m_conn2, bytes(8), 7);
    while (!m_ab2->sent.empty()) {
        deliver(m_ab2, 0);
    }
    ASSERT_TRUE(r->done);
    ri_stream_t *one = ri_stream_find(m_b->worker(), SENDER, m_conn->id);
    ri_stream_t *two = ri_stream_find(m_b->worker(), SENDER, m_conn2->id);
    ASSERT_NE(nullptr, one);
    ASSERT_NE(nullptr, two);
    std::multiset<uint32_t> got;
    m_ba->sent.clear();
    for (uint32_t i = 0; i < 3; ++i) {
        ri_release_buffer(one, 100 + i, 0);
        ri_release_buffer(two, 200 + i, 0);
    }
    ri_release_flush_all(m_b->worker());
    while (m_ba->count(RI_WIRE_RELEASE) > 0) {
        packet p        = m_ba->take(RI_WIRE_RELEASE);
        ri_wire_msg_t m = p.parse();

        for (uint32_t i = 0; i < m.value; ++i) {
            got.insert(m.release[i]);
            EXPECT_EQ((m.release[i] < 200) ? m_conn->id : m_conn2->id, m.id)
                    << "buffer " << m.release[i];
        }
    }
    EXPECT_EQ((std::multiset<uint32_t>{100, 101, 102, 200, 201, 202}), got);
    m_ba->sent.clear();
}

decltype(ri_stock.am_send_nbx) g_send;
ri_conn_t *g_conn; /* that is closed within the next send */

ucs_status_ptr_t send_and_close(ucp_ep_h ep, unsigned id, const void *header,
                                size_t header_length, const void *buffer, size_t count,
                                const ucp_request_param_t *param)
{
    ucp_request_param_t force = {};
    ri_conn_t *conn           = g_conn;

    force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    force.flags        = UCP_EP_CLOSE_FLAG_FORCE;
    if (conn == nullptr) {
        return g_send(ep, id, header, header_length, buffer, count, param);
    }
    g_conn = nullptr;
    ri_conn_endpoint_failed(conn, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_EQ(nullptr, ri_ep_close(conn, &force));
    return UCS_STATUS_PTR(UCS_ERR_ENDPOINT_TIMEOUT);
}

/* The send fails, and the application closes the only endpoint, of whose peer nothing is left. */
TEST_F(test_pool_send_release, peer_ends_while_it_is_told)
{
    connect_planes();
    m_ab2      = m_a->new_endpoint(m_b.get());
    m_conn2    = m_a->connect(m_ab2, RECEIVER);
    recv_ptr r = m_b->recv(7, ~0ul, 8);
    m_a->send(m_conn2, bytes(8), 7);
    pump();
    ASSERT_TRUE(r->done);
    for (ri_conn_t *conn : {m_conn, m_conn2}) {
        ri_stream_t *s = ri_stream_find(m_b->worker(), SENDER, conn->id);
        ASSERT_NE(nullptr, s);
        ri_release_buffer(s, conn->id, 0);
        m_b->deliver(wire_msg(RI_WIRE_BYE, s->id, conn->tx_sn));
        EXPECT_EQ(nullptr, ri_stream_find(m_b->worker(), SENDER, conn->id));
    }
    ASSERT_NE(nullptr, ri_map_get(&m_b->worker()->peers, SENDER));

    g_send = ri_stock.am_send_nbx;
    m_back->flags |= RI_CONN_PEER_MODE;
    g_conn               = m_back;
    ri_stock.am_send_nbx = send_and_close;
    ri_release_flush_all(m_b->worker());
    ri_stock.am_send_nbx = g_send;
    m_back               = nullptr;
    EXPECT_EQ(nullptr, g_conn);
    EXPECT_EQ(nullptr, ri_map_get(&m_b->worker()->peers, SENDER));
    EXPECT_EQ(1u, m_b->counters().tx_release) << "to nobody";
    m_ba->sent.clear();
}

TEST_F(test_pool_send_release, releases_that_find_no_memory)
{
    connect_planes();
    receive_one();
    m_ucx->memory = 0;
    ri_release_flush_all(m_b->worker());
    EXPECT_TRUE(m_ba->sent.empty());
    m_ucx->memory = -1;
    pump();
    EXPECT_EQ(0u, used(*m_a));
}

/* An application that sleeps calls no progress. */
TEST_F(test_pool_send_release, flushed_for_an_application_that_sleeps)
{
    connect_planes();
    receive_one();
    EXPECT_FALSE(ucs_list_is_empty(&m_b->worker()->pool.releasing));
    ri_release_flush_all(m_b->worker());
    EXPECT_TRUE(ucs_list_is_empty(&m_b->worker()->pool.releasing));
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_RELEASE));
    pump();
}

/* Hostile and stale answers */

TEST_F(test_pool_send_release, release_once)
{
    connect_planes();
    uint32_t id = send_pool(5, bytes(MEDIUM)), other = send_pool(5, bytes(MEDIUM));
    uint64_t count = stale(*m_a);

    release({id, id, 0, ~0u, id ^ (1u << 31)});
    EXPECT_EQ(count + 4, stale(*m_a));
    EXPECT_EQ(32768u, used(*m_a));
    nack(id, 1); /* too late */
    EXPECT_EQ(count + 5, stale(*m_a));
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_RNDV_DATA));
    release({other});
    EXPECT_EQ(0u, used(*m_a));
}

TEST_F(test_pool_send_release, nack_once)
{
    connect_planes();
    bytes content  = pattern(1, MEDIUM);
    uint32_t id    = send_pool(5, content);
    uint64_t count = stale(*m_a);

    to_sender(RI_WIRE_NACK, id, 1); /* of an RTS */
    to_sender(RI_WIRE_FIN, id);
    EXPECT_EQ(count + 2, stale(*m_a));
    nack(id, 9);
    EXPECT_EQ(count + 2, stale(*m_a));
    packet p = m_ab->take(RI_WIRE_RNDV_DATA);
    EXPECT_EQ(9u, p.parse().value);
    EXPECT_TRUE(content == p.data);
    nack(id, 9);
    release({id});
    nack(0, 9);
    nack(~0u, 9);
    EXPECT_EQ(count + 6, stale(*m_a));
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_RNDV_DATA));
    EXPECT_NE(0u, used(*m_a)); /* stock still has it */
    end_rendezvous(UCS_OK);
    EXPECT_EQ(0u, used(*m_a));

    /* The request of an RTS is not a buffer. */
    m_conn->flags |= RI_CONN_PLANE_READ;
    memory from(CONTIG, LONG);
    rndv_ptr s = send(from, 6);
    nack(s->req()->id, 1);
    EXPECT_FALSE(s->done);
    EXPECT_EQ(count + 7, stale(*m_a));
    to_sender(RI_WIRE_FIN, s->req()->id);
    EXPECT_TRUE(s->done);
}

TEST_F(test_pool_send_release, another_peer)
{
    connect_planes();
    node third(0x3333);
    endpoint *ep    = m_a->new_endpoint(&third);
    ri_conn_t *conn = m_a->connect(ep, 0x3333);
    uint32_t id     = send_pool(5, bytes(MEDIUM));
    uint64_t count  = stale(*m_a);

    release({id}, conn);
    nack(id, 1, conn);
    EXPECT_EQ(count + 2, stale(*m_a));
    EXPECT_EQ(32768u, used(*m_a));
    release({id});
    EXPECT_EQ(0u, used(*m_a));
}

/* A process without the library has nothing to give back, whatever it says. */
TEST_F(test_pool_send_release, no_peer)
{
    connect_planes();
    endpoint *ep    = m_a->new_endpoint(nullptr);
    ri_conn_t *conn = m_a->connect(ep, 0, RI_CONN_USER | RI_CONN_NO_PEER);
    uint32_t id     = send_pool(5, bytes(MEDIUM));
    uint64_t count  = stale(*m_a);

    release({id}, conn);
    EXPECT_EQ(count + 1, stale(*m_a));
    EXPECT_EQ(32768u, used(*m_a));
    release({id});
    EXPECT_EQ(0u, used(*m_a));
}

/* Buffers of one conn may come back by another one of the same peer. */
TEST_F(test_pool_send_release, another_conn_of_the_peer)
{
    connect_planes();
    endpoint *ep    = m_a->new_endpoint(m_b.get());
    ri_conn_t *conn = m_a->connect(ep, RECEIVER);
    uint32_t id     = send_pool(5, bytes(MEDIUM));
    uint64_t count  = stale(*m_a);

    nack(id, 1, conn); /* but the data goes the way of the message */
    EXPECT_EQ(count + 1, stale(*m_a));
    release({id}, conn);
    EXPECT_EQ(count + 1, stale(*m_a));
    EXPECT_EQ(0u, used(*m_a));
}

TEST_F(test_pool_send_release, malformed_release)
{
    connect_planes();
    for (uint32_t count : {0u, 9u, ~0u}) {
        uint64_t malformed = m_a->counters().rx_malformed;
        m_a->deliver(wire_msg(RI_WIRE_RELEASE, m_conn->id, count));
        EXPECT_EQ(malformed + 1, m_a->counters().rx_malformed);
    }
}

TEST_F(test_pool_send_release, records_from_the_ring)
{
    with_rings();
    connect_planes();
    memory from(CONTIG, MEDIUM);
    rndv_ptr s1 = send(from, 5), s2 = send(from, 5);
    std::vector<uint32_t> ids;
    ri_pool_buffer_t *buffer;
    ucs_list_for_each(buffer, &m_conn->lent, list) {
        ids.push_back(buffer->id);
    }
    ASSERT_EQ(2u, ids.size());

    uint64_t count = stale(*m_a);
    recv_ptr r     = m_a->recv(99, ~0ul, 8);
    record(RI_WIRE_EAGER, 0xabcdef, bytes(8), ++m_back->tx_sn); /* nonsense */
    record(RI_WIRE_RELEASE, 12345, words({ids[0], ids[0]}));
    m_a->progress();
    EXPECT_TRUE(r->done);
    EXPECT_EQ(count + 2, stale(*m_a));
    EXPECT_EQ(32768u, used(*m_a));

    record(RI_WIRE_RELEASE, 0, words({1, 2, 3, 4, 5, 6, 7, ids[1]}));
    m_a->progress();
    EXPECT_EQ(count + 9, stale(*m_a));
    EXPECT_EQ(0u, used(*m_a));
    EXPECT_EQ(0u, m_a->counters().rx_malformed);
    m_ab->sent.clear();
}

TEST_F(test_pool_send_release, malformed_records)
{
    for (size_t length : {0, 3, 5, 33, 36, 300}) {
        with_rings();
        connect_planes();
        record(RI_WIRE_RELEASE, m_conn->id, bytes(length));
        m_a->progress();
        EXPECT_EQ(1u, m_a->counters().rx_malformed) << length;
        stop();
        start();
    }
    for (size_t length : {0, 8, 23, 25, 300}) {
        with_rings();
        connect_planes();
        record(RI_WIRE_POOL, 1, bytes(length), m_back->tx_sn + 1);
        m_a->progress();
        EXPECT_EQ(1u, m_a->counters().rx_malformed) << length;
        stop();
        start();
    }
}

/* Flags and slots that mean nothing here */
TEST_F(test_pool_send_release, pool_with_any_flags)
{
    connect_planes();
    bytes content = pattern(1, MEDIUM);
    memory to(CONTIG, MEDIUM);
    recv_ptr r = recv(to, 5);
    pool(stream()->next_sn, 5, content, 0xffff & ~RI_WIRE_RTS_KEYS, 0);
    check(r, to, content, 5);
    calm_down();
    EXPECT_EQ(1u, stale(*m_a));
}

} // namespace
