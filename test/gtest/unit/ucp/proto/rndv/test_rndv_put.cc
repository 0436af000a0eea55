/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/rndv/rndv_put.c: two workers with planes that the test makes, and hostile
 * messages that the test writes itself.
 */

#include "unit/common/rndv_test.h"

namespace {

class test_rndv_put : public rndv_test {
protected:
    void SetUp() override
    {
        m_writes = true;
        rndv_test::SetUp();
        ri_config.scheme      = RI_SENDER_SCHEME_PUT;
        ri_config.coop_thresh = ~0ul;
    }

    /* Post, send, and deliver the RTS: the receiver has said CTS. */
    void match(memory &from, memory &to, uint64_t tag, rndv_ptr &s, recv_ptr &r)
    {
        r = recv(to, tag);
        s = send(from, tag);
        deliver(m_ab, m_ab->sent.size() - 1);
        ASSERT_EQ(RI_WIRE_CTS, m_ba->sent.back().parse().type);
        ASSERT_FALSE(r->done);
    }

    void written(uint32_t recv_id, ri_stream_t *to = nullptr)
    {
        m_b->deliver(wire_msg(RI_WIRE_WRITTEN, (to ? to : stream())->id, recv_id));
    }

    /* An RTS that asks for CTS, which the sender did not send. @return What the CTS says. */
    ri_wire_msg_t put_rts(uint64_t tag, size_t length)
    {
        rts(stream()->next_sn, tag, {{4096, length}}, 0x7777, RI_WIRE_RTS_PUT);
        return m_ba->take(RI_WIRE_CTS).parse();
    }
};

/* Which way each message takes, and that it ends on both sides */

const std::vector<outcome> PUT_OUTCOMES = {
        {"written", UCS_OK, 0},
        {"unreachable", UCS_ERR_UNREACHABLE, 0},
        {"no access", UCS_ERR_INVALID_ADDR, 0},
        {"fails in the middle", UCS_ERR_INVALID_ADDR, 50000},
};

TEST_F(test_rndv_put, shapes)
{
    auto test = [this](const shape_case &c) {
        uint64_t i    = c.number;
        bytes content = pattern(i, LONG + i);
        memory from(c.out, content.size(), content);
        memory to(c.in, content.size() + (i % 2) * 1000);
        ri_conn_counters_t before = m_a->counters().conns;
        uint64_t fallback         = m_b->counters().rndv_fallback;
        bool put                  = c.in == CONTIG;
        bool done                 = put && (c.ends.status == UCS_OK);

        m_conn->flags |= RI_CONN_PLANE_WRITE;
        m_b_plane->reads = m_a_plane->writes = 0;
        m_a_plane->write_status              = c.ends.status;
        m_a_plane->move_before               = c.ends.move_before;

        recv_ptr r = c.expected ? recv(to, i) : nullptr;
        rndv_ptr s = send(from, i, i % 3 == 0);
        EXPECT_FALSE(s->done);
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
        EXPECT_EQ(put ? 1u : 0u, m_a_plane->writes);
        EXPECT_EQ(put, m_b_plane->reads == 0);
        EXPECT_EQ(put && (c.ends.status == UCS_ERR_UNREACHABLE),
                  !(m_conn->flags & RI_CONN_PLANE_WRITE));
        ri_conn_counters_t after = m_a->counters().conns;
        EXPECT_EQ(1u, after.tx_put - before.tx_put);
        EXPECT_EQ(done ? content.size() : 0,
                  after.tx_written_bytes - before.tx_written_bytes);
        EXPECT_EQ(put && !done ? 1u : 0u, m_b->counters().rndv_fallback - fallback);
        EXPECT_TRUE(ucs_list_is_empty(&stream()->fetching));
    };

    for_shapes({CONTIG, IOV_1, IOV_16, IOV_EMPTY},
               {CONTIG, IOV_1, IOV_16, IOV_17, PACKED}, PUT_OUTCOMES, test,
               [this] { expect_numbers_add_up(); });
}

TEST_F(test_rndv_put, scheme)
{
    const struct {
        ri_sender_scheme_t scheme;
        uint32_t without;
        unsigned reads, writes;
    } cases[] = {
            {RI_SENDER_SCHEME_AUTO, 0, 1, 0},
            {RI_SENDER_SCHEME_AUTO, RI_CONN_PLANE_READ, 0, 1},
            {RI_SENDER_SCHEME_AUTO, RI_CONN_PLANE_WRITE, 1, 0},
            {RI_SENDER_SCHEME_GET, 0, 1, 0},
            {RI_SENDER_SCHEME_GET, RI_CONN_PLANE_READ, 0, 1},
            {RI_SENDER_SCHEME_PUT, 0, 0, 1},
            {RI_SENDER_SCHEME_PUT, RI_CONN_PLANE_WRITE, 1, 0},
    };

    connect_planes();
    for (const auto &c : cases) {
        bytes content = pattern(1, LONG);
        memory from(CONTIG, LONG, content), to(CONTIG, LONG);

        ri_config.scheme = c.scheme;
        m_conn->flags |= RI_CONN_PLANE_READ | RI_CONN_PLANE_WRITE;
        m_conn->flags &= ~c.without;
        m_b_plane->reads = m_a_plane->writes = 0;
        recv_ptr r                           = recv(to, 5);
        rndv_ptr s                           = send(from, 5);
        pump();
        check(r, to, content, 5);
        EXPECT_EQ(c.reads, m_b_plane->reads);
        EXPECT_EQ(c.writes, m_a_plane->writes);
    }
}

TEST_F(test_rndv_put, truncated)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG - 1);
    recv_ptr r = recv(to, 5);
    rndv_ptr s = send(from, 5);

    pump();
    ASSERT_TRUE(r->done && s->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
    EXPECT_EQ(UCS_OK, s->status);
    EXPECT_EQ(0u, m_a_plane->writes);
}

/* The receive would have to end with the endpoint, and be written later. */
TEST_F(test_rndv_put, receiver_in_peer_mode)
{
    connect_planes();
    m_back->flags |= RI_CONN_PEER_MODE;
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        bytes content = pattern(1, LONG);
        memory from(CONTIG, LONG, content), to(CONTIG, LONG);
        recv_ptr r = recv(to, 5);
        rndv_ptr s = send(from, 5);

        m_b_plane->read_status = status;
        pump();
        check(r, to, content, 5);
        EXPECT_TRUE(s->done);
    }
    EXPECT_EQ(0u, m_a_plane->writes);
    EXPECT_EQ(2u, m_b_plane->reads);
    EXPECT_EQ(1u, m_b->counters().rndv_fallback);
    EXPECT_TRUE(m_conn->flags & RI_CONN_PLANE_WRITE);
}

TEST_F(test_rndv_put, device_memory_of_the_receiver)
{
    stop();
    m_ucx->memory_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    start();
    connect_planes();
    bytes content = pattern(1, LONG);
    memory from(CONTIG, LONG, content);
    device_memory to(LONG);
    recv_ptr r = m_b->recv_into(to.data(), LONG, 5);
    rndv_ptr s = send(from, 5);

    pump();
    ASSERT_TRUE(r->done && s->done);
    EXPECT_TRUE(content == to.read());
    EXPECT_EQ(0u, m_a_plane->writes);
}

/* CTS */

TEST_F(test_rndv_put, cts_of_nothing)
{
    connect_planes();
    bytes content = pattern(1, LONG), target(LONG);
    memory from(CONTIG, LONG, content), eager(CONTIG, 100), in(CONTIG, LONG);
    uint64_t address = (uintptr_t)target.data();
    rndv_ptr s = send(from, 5), sync = send(eager, 5, true), get;
    ri_config.scheme = RI_SENDER_SCHEME_GET;
    get              = send(from, 5);
    uint64_t count   = stale(*m_a);
    uint32_t id      = s->req()->id;

    for (uint32_t other :
         {0u, id ^ (1u << 24), id + 1000, ~0u, sync->req()->id, get->req()->id}) {
        to_sender(RI_WIRE_CTS, other, 1, address);
        EXPECT_EQ(++count, stale(*m_a));
    }
    ri_conn_t *other = m_a->connect(m_a->new_endpoint(m_b.get()), RECEIVER);
    wire_msg msg(RI_WIRE_CTS, other->id, id);
    msg.cookie = address;
    m_a->deliver(msg);
    EXPECT_EQ(++count, stale(*m_a));
    EXPECT_FALSE(s->done || sync->done || get->done);
    EXPECT_EQ(0u, m_a_plane->writes);

    to_sender(RI_WIRE_CTS, id, 0x1234, address);
    EXPECT_TRUE(s->done);
    EXPECT_TRUE(content == target);
    EXPECT_EQ(0x1234u, m_ab->take(RI_WIRE_WRITTEN).parse().value);
    to_sender(RI_WIRE_CTS, id, 0x1234, address); /* repeated */
    to_sender(RI_WIRE_NACK, id, 0x1234);
    to_sender(RI_WIRE_FIN, id);
    EXPECT_EQ(count + 3, stale(*m_a));
    EXPECT_EQ(1u, m_a_plane->writes);

    recv_ptr r1 = recv(in, 5), r2 = recv(in, 5), r3 = recv(in, 5); /* end the others */
    pump();
    ri_rndv_recv_abort_written(stream(),
                               UCS_ERR_CANCELED); /* its CTS was not for the sender */
    EXPECT_TRUE(sync->done && get->done);
}

TEST_F(test_rndv_put, cts_while_stock_has_the_rts)
{
    connect_planes();
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        for (size_t first : {0, 1}) {
            bytes target(10000);
            memory from(CONTIG, 10000, pattern(1, 10000));

            m_ucx->send_mode        = LATER;
            m_a_plane->write_status = status;
            rndv_ptr s              = send(from, 5);
            to_sender(RI_WIRE_CTS, s->req()->id, 1, (uintptr_t)target.data());
            EXPECT_FALSE(s->done);
            EXPECT_EQ(status == UCS_OK, target == from.read());
            uint64_t count = stale(*m_a);
            to_sender(RI_WIRE_CTS, s->req()->id, 1, (uintptr_t)target.data());
            EXPECT_EQ(count + 1, stale(*m_a));
            m_ucx->complete_nth(first);
            m_ucx->complete();
            EXPECT_TRUE(s->done);
            EXPECT_EQ(UCS_OK, s->status);
            m_ab->sent.clear();
        }
    }
}

TEST_F(test_rndv_put, cts_after_nack)
{
    connect_planes();
    memory from(CONTIG, 10000);
    m_ucx->send_mode = LATER;
    rndv_ptr s       = send(from, 5);
    m_ucx->complete();
    uint32_t id = s->req()->id;

    to_sender(RI_WIRE_NACK, id, 1);
    uint64_t count = stale(*m_a);
    to_sender(RI_WIRE_CTS, id, 1, 4096);
    EXPECT_EQ(count + 1, stale(*m_a));
    EXPECT_EQ(0u, m_a_plane->writes);
    m_ucx->complete();
    EXPECT_TRUE(s->done);
    m_ab->sent.clear();
}

/* What a peer says is no address of it: the write fails, and the data goes by UCP. */
TEST_F(test_rndv_put, no_way_to_the_peer)
{
    connect_planes();
    bytes content = pattern(1, LONG);
    memory from(CONTIG, LONG, content), to(CONTIG, LONG);
    rndv_ptr s;
    recv_ptr r;

    match(from, to, 5, s, r);
    ri_local_disconnect(m_conn->peer);
    pump();
    check(r, to, content, 5);
    EXPECT_TRUE(s->done);
    EXPECT_EQ(0u, m_a_plane->writes);
    EXPECT_FALSE(m_conn->flags & RI_CONN_PLANE_WRITE);
}

TEST_F(test_rndv_put, answers_that_find_no_memory)
{
    connect_planes();
    bytes content = pattern(1, LONG);
    memory from(CONTIG, LONG, content), to(CONTIG, LONG);
    rndv_ptr s    = send(from, 5);
    recv_ptr r    = recv(to, 5);
    m_ucx->memory = 0;
    deliver(m_ab, 0);
    EXPECT_TRUE(m_ba->sent.empty());
    m_ucx->memory = -1;
    m_b->progress();
    m_ucx->memory = 0;
    deliver(m_ba, 0);
    EXPECT_TRUE(m_ab->sent.empty());
    EXPECT_TRUE(s->done);
    EXPECT_FALSE(r->done);
    m_ucx->memory = -1;
    pump();
    check(r, to, content, 5);
}

/* WRITTEN and RNDV_DATA */

TEST_F(test_rndv_put, written_for_nothing)
{
    connect_planes();
    bytes content = pattern(3, 1000);
    memory to(CONTIG, 1000), in(CONTIG, 1000);
    recv_ptr r  = recv(to, 5);
    uint32_t id = put_rts(5, 1000).recv_id;

    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    recv_ptr other         = recv(in, 6);
    rts(stream()->next_sn, 6, {{(uintptr_t)content.data(), 1000}});
    uint32_t nacked = m_ba->take(RI_WIRE_NACK).parse().recv_id;

    ri_wire_hello_t hello = wire_msg(RI_WIRE_EAGER, 0, 0).hello(SENDER, 99).greeting;
    ri_stream_t *stranger = ri_stream_get(m_b->worker(), &hello);
    uint64_t count        = stale(*m_b);
    written(id, stranger);
    for (uint32_t wrong : {id ^ (1u << 24), 0u, ~0u, nacked}) {
        written(wrong);
    }
    m_b->deliver(wire_msg(RI_WIRE_WRITTEN, 0x999, id));
    EXPECT_EQ(count + 6, stale(*m_b));
    EXPECT_FALSE(r->done || other->done);

    std::copy(content.begin(), content.end(), static_cast<uint8_t *>(to.buffer()));
    written(id);
    check(r, to, content, 5);
    written(id); /* repeated */
    rndv_data(id, content);
    EXPECT_EQ(count + 8, stale(*m_b));
    rndv_data(nacked, content);
    check(other, in, content, 6);
}

TEST_F(test_rndv_put, cts_says_where)
{
    connect_planes();
    memory to(CONTIG, 1000);
    recv_ptr r        = recv(to, 5);
    ri_wire_msg_t cts = put_rts(5, 999);

    EXPECT_EQ(0x7777u, cts.value);
    EXPECT_EQ(m_conn->id, cts.id);
    EXPECT_EQ((uintptr_t)to.buffer(), cts.address);
    m_b->cancel(r); /* it is matched */
    EXPECT_FALSE(r->done);
    rndv_data(cts.recv_id, bytes(1000)); /* of a wrong length */
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_IO_ERROR, r->status);
}

/* The callback closes the way that the message came by. */
TEST_F(test_rndv_put, callback_of_the_last_message)
{
    connect_planes();
    memory to(CONTIG, 1000);
    recv_ptr r  = recv(to, 5);
    uint32_t id = put_rts(5, 1000).recv_id;

    stream()->closed    = 1; /* as BYE would say, if it came by another way */
    stream()->closed_sn = stream()->next_sn - 1;
    r->on_done          = [&] { ri_stream_check_closed(stream()); };
    written(id);
    EXPECT_TRUE(r->done);
    EXPECT_TRUE(ucs_list_is_empty(&m_b->worker()->streams));
}

/* Ends of streams, conns and workers */

TEST_F(test_rndv_put, stream_breaks_before_the_write)
{
    for (bool rings : {false, true}) {
        if (rings) {
            with_rings();
        }
        connect_planes();
        bytes content = pattern(1, LONG);
        memory from(CONTIG, LONG, content), to(CONTIG, LONG);
        recv_ptr r = recv(to, 5);
        rndv_ptr s = send(from, 5);

        if (!rings) {
            deliver(m_ab, 0);
        }
        m_b->progress();
        ASSERT_EQ(1u, m_ba->count(RI_WIRE_CTS));
        ri_stream_break(stream(), "a test");
        m_b->progress();
        EXPECT_FALSE(r->done) << "the sender may write it";
        pump();
        ASSERT_TRUE(r->done && s->done);
        EXPECT_EQ(1u, m_a_plane->writes);
        EXPECT_EQ(UCS_OK, s->status);
        if (rings) { /* WRITTEN is in a ring that nobody reads: BYE ends it */
            EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
        } else {
            check(r, to, content, 5);
        }
    }
}

/* RESET overtakes CTS: nothing is written, and the sender says so. */
TEST_F(test_rndv_put, stream_breaks_and_cts_is_late)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    rndv_ptr s;
    recv_ptr r;

    match(from, to, 5, s, r);
    ri_stream_break(stream(), "a test");
    ASSERT_EQ(2u, m_ba->sent.size());
    deliver(m_ba, 1);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, s->status);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_BYE));
    EXPECT_FALSE(r->done);
    pump();
    EXPECT_EQ(0u, m_a_plane->writes);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
}

/* The sender loses a number, but not that of the RTS. */
TEST_F(test_rndv_put, sender_loses_a_number_before_cts)
{
    for (bool rings : {false, true}) {
        if (rings) {
            with_rings();
        }
        connect_planes();
        memory from(CONTIG, LONG), to(CONTIG, LONG);
        recv_ptr r = recv(to, 5);
        rndv_ptr s = send(from, 5);

        if (!rings) {
            deliver(m_ab, 0);
        }
        m_b->progress();
        ri_conn_lose(m_conn, m_conn->tx_sn + 1, UCS_ERR_IO_ERROR);
        EXPECT_FALSE(s->done);
        pump();
        EXPECT_EQ(1u, m_a_plane->writes);
        EXPECT_EQ(UCS_OK, s->status);
        EXPECT_EQ(UCS_OK, r->status);
        EXPECT_TRUE(ucs_list_is_empty(&m_b->worker()->streams));
    }
}

/* BYE is quicker than what is in the ring. */
TEST_F(test_rndv_put, bye_overtakes_written)
{
    with_rings();
    connect_planes();
    bytes content = pattern(1, LONG);
    memory from(CONTIG, LONG, content), to(CONTIG, LONG);
    recv_ptr r = recv(to, 5);
    rndv_ptr s = send(from, 5);

    m_b->progress();
    deliver(m_ba, 0);
    EXPECT_TRUE(s->done);
    ri_conn_lose(m_conn, m_conn->tx_sn + 1, UCS_ERR_IO_ERROR);
    while (!m_ab->sent.empty()) {
        deliver(m_ab, 0);
    }
    EXPECT_FALSE(r->done);
    pump();
    check(r, to, content, 5);
}

TEST_F(test_rndv_put, close_waits)
{
    connect_planes();
    bytes content = pattern(1, LONG);
    memory from(CONTIG, LONG, content), to(CONTIG, LONG);
    ucp_request_param_t param = {};
    rndv_ptr s                = send(from, 5);
    ucs_status_ptr_t close    = ri_ep_close(m_conn, &param);

    ASSERT_TRUE(UCS_PTR_IS_PTR(close));
    pump();
    EXPECT_FALSE(m_ab->closed);
    recv_ptr r = recv(to, 5);
    pump();
    check(r, to, content, 5);
    EXPECT_TRUE(m_ab->closed);
    ri_req_put(ri_req_of_handle(close));
}

/* The endpoint of the receiver fails: is there anybody who may still write? */
TEST_F(test_rndv_put, way_out_of_the_receiver_fails)
{
    connect_planes();
    bytes content = pattern(1, LONG);
    memory from(CONTIG, LONG, content), to(CONTIG, LONG), to2(CONTIG, LONG);
    rndv_ptr s, s2;
    recv_ptr r, r2;

    match(from, to, 5, s, r);
    ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_FALSE(r->done);
    deliver(m_ba, 0);
    pump();
    check(r, to, content, 5);

    m_ba   = m_b->new_endpoint(m_a.get());
    m_back = m_b->connect(m_ba, SENDER);
    match(from, to2, 5, s2, r2);
    m_b_plane->gone = true;
    ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, r2->status);
    m_ba->sent.clear();
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
}

TEST_F(test_rndv_put, worker_of_the_receiver_ends)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    rndv_ptr s;
    recv_ptr r;

    match(from, to, 5, s, r);
    ri_rndv_recv_abort_all(m_b->worker(), 0, UCS_ERR_CONNECTION_RESET);
    ri_rndv_recv_drop_written(stream());
    EXPECT_FALSE(r->done) << "the sender may write it";
    EXPECT_TRUE(ucs_list_is_empty(&stream()->fetching));
    pump(); /* it does */
    EXPECT_TRUE(s->done);
    EXPECT_EQ(1u, m_a_plane->writes);
    EXPECT_FALSE(r->done);
    ri_req_put(ri_req_of_handle(r->handle));
    m_b->may_end_open = true;
}

TEST_F(test_rndv_put, random)
{
    for_seeds(30, [&](rng &random) {
        random_traffic traffic = refused_traffic(random, [&] {
            m_a_plane->write_status = random_status(random);
            m_a_plane->move_before  = random.below(300000);
            ri_config.scheme        = (ri_sender_scheme_t)random.below(3);
            if (m_conn->flags & RI_CONN_PLANE_READ) {
                m_conn->flags |= RI_CONN_PLANE_WRITE;
            }
        });

        traffic.out = {CONTIG, IOV_1, IOV_16, PACKED};
        traffic.in  = {CONTIG, CONTIG, CONTIG, IOV_16, PACKED};
        run_random(random, traffic);
        expect_numbers_add_up();
        ri_config.scheme = RI_SENDER_SCHEME_PUT;
    });
}

} // namespace
