/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The sender offers, the receiver reads through a network. (src/ucp/proto/rndv/net_read.c, and the
 * ways in planes.c) The tests run src/ucp/link/recv_memory.c and src/ucp/proto/rndv/send_keys.c,
 * too.
 */

#include "unit/common/rdma_test.h"

namespace {

class test_net_read : public rdma_test {};

TEST_F(test_net_read, shapes)
{
    connect();
    uint64_t bytes_read = m_b->counters().streams.rx_read_bytes;
    exchange_shapes([&](shape_t) {
        bytes_read += LONG;
        EXPECT_EQ(bytes_read, m_b->counters().streams.rx_read_bytes);
    });
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
}

TEST_F(test_net_read, sender_is_gone)
{
    connect();
    start_read();
    lose_sender_while_reading();
}

TEST_F(test_net_read, longer_than_its_receive)
{
    connect();
    bytes content = pattern(1, LONG);
    memory from(CONTIG, LONG, content), to(CONTIG, LONG - 1);
    recv_ptr r = recv(to, 5);
    rndv_ptr s = send(from, 5);

    pump();
    ASSERT_TRUE(r->done && s->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
    EXPECT_EQ(0u, m_b_rdma->reads);
    check_idle();
}

/* What cannot be read comes by UCP, and so does all that follows. */
TEST_F(test_net_read, failures)
{
    enum {
        REG,
        START,
        END,
        END_BROKEN,
        UNPACK
    };
    for (int what : {REG, START, END, END_BROKEN, UNPACK}) {
        for (bool again : {false, true}) {
            SCOPED_TRACE(what);
            restart();
            connect();
            bytes content = pattern(what, LONG);
            memory from(CONTIG, LONG, content),
                    to((what == UNPACK) ? PACKED : CONTIG, LONG);

            m_b_rdma->reg_status   = (what == REG) ? UCS_ERR_NO_MEMORY : UCS_OK;
            m_b_rdma->start_status = (what == START) ? UCS_ERR_UNREACHABLE : UCS_OK;
            m_b_rdma->end_status   = (what == END)        ? UCS_ERR_INVALID_ADDR :
                                     (what == END_BROKEN) ? UCS_ERR_UNREACHABLE :
                                                            UCS_OK;
            to.generic().fails_at  = 0;
            recv_ptr r             = recv(to, 5);
            rndv_ptr s             = send(from, 5);
            pump();
            ASSERT_TRUE(s->done);
            EXPECT_EQ(UCS_OK, s->status);
            if (what == UNPACK) {
                ASSERT_TRUE(r->done);
                EXPECT_EQ(UCS_ERR_IO_ERROR, r->status);
                EXPECT_TRUE(m_conn->flags & RI_CONN_WAY) << "not the network's fault";
            } else {
                check(r, to, content, 5);
                EXPECT_EQ(1u, m_b->counters().rndv_fallback);
                EXPECT_FALSE(m_conn->flags & RI_CONN_WAY);
            }
            EXPECT_EQ((what == END_BROKEN) ? 1u : 0u, m_b->counters().planes_failed);
            check_idle();

            if (again) {
                memory from2(CONTIG, LONG, content), to2(CONTIG, LONG);
                m_b_rdma->reg_status = m_b_rdma->start_status = m_b_rdma->end_status =
                        UCS_OK;
                r = recv(to2, 6);
                s = send(from2, 6);
                pump();
                check(r, to2, content, 6);
                EXPECT_EQ((what == UNPACK) ? 2u :
                          (what == REG)    ? 0u :
                                             1u,
                          m_b_rdma->reads);
                check_idle();
            }
        }
    }
}

TEST_F(test_net_read, sender_cannot_register)
{
    connect();
    for (unsigned good : {0, 5, 15}) {
        check_unregistered(good);
    }
}

TEST_F(test_net_read, several_at_a_time)
{
    connect();
    m_b_rdma->holds                     = true;
    std::vector<random_message> several = send_several(20);
    pump();
    for (unsigned i = 20; i-- > 0;) {
        several[i].recv = recv(*several[i].to, i);
    }
    EXPECT_EQ(20u, m_b_rdma->under_way());
    EXPECT_TRUE(ri_worker_has_work(m_b->worker())) << "or the worker would sleep";
    m_b_rdma->holds = false;
    pump();
    check_several(several);
}

/* Ends, while something is being read */

TEST_F(test_net_read, stream_breaks)
{
    connect();
    start_read();
    break_stream_while_reading();
}

TEST_F(test_net_read, worker_of_the_receiver_ends)
{
    connect();
    start_read();
    end_receiver_while_reading();

    restart();
    connect();
    start_read();
    m_b->may_end_open = true;
    m_b.reset();
    ASSERT_TRUE(m_r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_r->status);
    m_a->may_end_open = true;
    m_ab->sent.clear();
}

TEST_F(test_net_read, sender_ends)
{
    for (bool worker : {true, false}) {
        restart();
        connect();
        start_read();
        if (worker) {
            m_a->may_end_open = true;
            m_a.reset();
        } else {
            ri_conn_endpoint_failed(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
        }
        EXPECT_NE(UCS_OK, m_s->status);
        EXPECT_TRUE(m_s->done);
        EXPECT_EQ(0u, m_a_rdma->keys());
        m_b_rdma->holds = false;
        for (unsigned i = 0; i < 10; ++i) {
            m_b->progress();
        }
        if (m_r->done) {
            EXPECT_TRUE(!worker) << "there was nothing to read from";
        } else {
            ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
            ASSERT_TRUE(m_r->done);
            EXPECT_NE(UCS_OK, m_r->status);
        }
        EXPECT_EQ(0u, m_b_rdma->keys());
        m_ba->sent.clear();
        if (m_a) {
            m_ab->sent.clear();
        }
    }
}

TEST_F(test_net_read, way_out_of_the_receiver_is_closed)
{
    connect();
    start_read();
    ri_conn_destroy(m_back, UCS_ERR_CANCELED);
    m_b_rdma->holds = false;
    pump();
    check(m_r, *m_to, m_content, 5);
    EXPECT_FALSE(m_s->done) << "FIN is owed";
    m_ba   = m_b->new_endpoint(m_a.get());
    m_back = m_b->connect(m_ba, SENDER);
    pump();
    EXPECT_TRUE(m_s->done);
    check_idle();
}

/* The ways */

TEST_F(test_net_read, both_ask_at_once)
{
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    recv_ptr r  = recv(to, 1);
    recv_ptr r2 = m_a->recv(1, ~0ul, LONG);
    rndv_ptr s  = send(from, 1);
    send_ptr s2 = m_b->send(m_back, bytes(LONG), 1);

    pump();
    ASSERT_TRUE(r->done && r2->done && s->done && s2->done);
    EXPECT_TRUE(m_conn->flags & RI_CONN_WAY);
    EXPECT_TRUE(m_back->flags & RI_CONN_WAY);
    EXPECT_EQ(1u, m_a_rdma->connects);
    EXPECT_EQ(1u, m_b_rdma->connects);
    EXPECT_EQ(1u, m_a_rdma->ends());
    EXPECT_EQ(1u, m_b_rdma->ends());
    for (unsigned i = 0; i < 3; ++i) {
        bytes content = pattern(i, LONG);
        memory out(CONTIG, LONG, content), in(CONTIG, LONG);

        r  = recv(in, 2);
        r2 = m_a->recv(2, ~0ul, LONG);
        s  = send(out, 2);
        s2 = m_b->send(m_back, content, 2);
        pump();
        check(r, in, content, 2);
        ASSERT_TRUE(r2->done && s2->done);
        EXPECT_TRUE(r2->buffer == content);
    }
    EXPECT_EQ(3u, m_a_rdma->reads);
    EXPECT_EQ(3u, m_b_rdma->reads);
}

/* Memory of the same host comes first; a network is asked for if that cannot be reached. */
TEST_F(test_net_read, after_the_other_plane)
{
    for (bool reached : {true, false}) {
        stop_net();
        m_has_planes = true;
        start();
        with_net();
        m_b_plane->connect_status = reached ? UCS_OK : UCS_ERR_UNREACHABLE;
        memory from(CONTIG, LONG), to(CONTIG, LONG);
        recv_ptr r = recv(to, 1);
        rndv_ptr s = send(from, 1);
        pump();
        ASSERT_TRUE(r->done && s->done);
        EXPECT_EQ(reached, !!(m_conn->flags & RI_CONN_PLANE_READ));
        EXPECT_EQ(!reached, !!(m_conn->flags & RI_CONN_WAY));
        EXPECT_EQ(reached ? 0u : 1u, m_a_rdma->ends());
        bytes content = pattern(2, LONG);
        memory out(CONTIG, LONG, content), in(CONTIG, LONG);
        r = recv(in, 2);
        s = send(out, 2);
        pump();
        check(r, in, content, 2);
        EXPECT_EQ(reached ? 1u : 0u, m_b_plane->reads);
        EXPECT_EQ(reached ? 0u : 1u, m_b_rdma->reads);
        s.reset();
    }
}

TEST_F(test_net_read, no_way)
{
    enum {
        NO_PLANE_THERE,
        NO_END_HERE,
        NO_END_THERE,
        REFUSED_HERE,
        REFUSED_THERE
    };
    for (int what :
         {NO_PLANE_THERE, NO_END_HERE, NO_END_THERE, REFUSED_HERE, REFUSED_THERE}) {
        SCOPED_TRACE(what);
        stop_net();
        start();
        m_a_rdma = std::make_unique<rdma>(*m_a);
        if (what != NO_PLANE_THERE) {
            m_b_rdma = std::make_unique<rdma>(*m_b);
        }
        if (what == NO_END_HERE) {
            m_a_rdma->prepare_status = UCS_ERR_NO_MEMORY;
        } else if (what == NO_END_THERE) {
            m_b_rdma->prepare_status = UCS_ERR_NO_MEMORY;
        } else if (what == REFUSED_HERE) {
            m_a_rdma->connect_status = UCS_ERR_UNREACHABLE;
        } else if (what == REFUSED_THERE) {
            m_b_rdma->connect_status = UCS_ERR_UNREACHABLE;
        }
        for (unsigned i = 0; i < 3; ++i) {
            bytes content = pattern(i, LONG);
            memory from(CONTIG, LONG, content), to(CONTIG, LONG);
            recv_ptr r = recv(to, 1);
            rndv_ptr s = send(from, 1);
            pump();
            check(r, to, content, 1);
            EXPECT_TRUE(s->done);
        }
        EXPECT_FALSE(m_conn->flags & RI_CONN_WAY);
    }
}

/* PLANE_REQ and PLANE_ACK: past, repeated, of nobody, and malformed */
TEST_F(test_net_read, hostile_addresses)
{
    auto deliver_plane = [](node &to, ri_wire_type_t type, uint32_t id, uint32_t value,
                            uint8_t plane, uint8_t length, uint32_t content) {
        ri_wire_plane_t msg = {};

        msg.base.type  = type;
        msg.base.value = value;
        msg.plane      = plane;
        msg.length     = length;
        msg.way        = 1;
        msg.asked      = 1;
        memcpy(msg.address, &content, sizeof(content));
        ri_wire_set_id(&msg.base, id);
        const uint8_t *at = reinterpret_cast<const uint8_t *>(&msg);
        to.deliver(bytes(at, at + sizeof(msg)), {}, PLAIN, nullptr, nullptr);
    };

    connect();
    ri_peer_t *peer = stream()->peer;
    uint32_t good   = 0;
    memcpy(&good, peer->way.address, sizeof(good));
    for (uint8_t length : {0, 1, 4, 5, 32, 33, 255}) {
        for (uint8_t plane : {0, 1, 2, 3, 255}) {
            for (uint32_t content : {0u, good, good + 77}) {
                m_ba->sent.clear();
                deliver_plane(*m_b, RI_WIRE_PLANE_REQ, stream()->id, 0, plane, length,
                              content);
                ASSERT_EQ(1u, m_ba->count(RI_WIRE_PLANE_ACK));
                bool same = (plane == RI_WIRE_PLANE_RC) && (length == 4) &&
                            (content == good);
                EXPECT_EQ(same ? 1u : 0u, m_ba->take(RI_WIRE_PLANE_ACK).parse().value);
                deliver_plane(*m_a, RI_WIRE_PLANE_ACK, m_conn->id, 1, plane, length,
                              content);
                deliver_plane(*m_b, RI_WIRE_PLANE_ACK, m_back->id, 1, plane, length,
                              content);
            }
        }
    }
    EXPECT_FALSE(m_back->flags & RI_CONN_WAY) << "it has not asked";
    m_ba->sent.clear();
    m_ab->sent.clear();
    EXPECT_EQ(1u, m_a_rdma->connects);
    EXPECT_EQ(1u, m_b_rdma->connects);
    bytes content = pattern(2, LONG);
    memory out(CONTIG, LONG, content), in(CONTIG, LONG);
    recv_ptr r = recv(in, 2);
    rndv_ptr s = send(out, 2);
    pump();
    check(r, in, content, 2);
    EXPECT_EQ(1u, m_b_rdma->reads);
}

/* Keys that the sender never gave */
TEST_F(test_net_read, hostile_keys)
{
    connect();
    bytes content = pattern(1, LONG);
    memory in(CONTIG, LONG);
    wire_msg msg(RI_WIRE_RTS, stream()->id, m_conn->tx_sn + 1);
    bytes payload = rts_payload({{0x1000, LONG}});
    recv_ptr r    = recv(in, 5);

    msg.tag              = 5;
    msg.req_id           = 0x777;
    payload[2]           = RI_WIRE_RTS_KEYS;
    m_b_rdma->end_status = UCS_ERR_INVALID_ADDR;
    wire_msg::append(payload, (uint32_t)0xdeadbeef);
    m_b->deliver(msg, payload);
    pump();
    EXPECT_FALSE(r->done) << "it is asked for";
    EXPECT_EQ(1u, m_b->counters().rndv_fallback);
    rndv_data(reinterpret_cast<ri_recv_req_t *>(ri_req_of_handle(r->handle))->id,
              content);
    check(r, in, content, 5);
    ++m_conn->tx_sn;
}

/* A way that is not there (any more) */
TEST_F(test_net_read, keys_without_a_way)
{
    memory from(CONTIG, 8), to(CONTIG, 8), in(CONTIG, LONG);
    recv_ptr r = recv(to, 1);
    rndv_ptr s = send(from, 1);
    pump();
    wire_msg msg(RI_WIRE_RTS, stream()->id, m_conn->tx_sn + 1);
    bytes payload = rts_payload({{0x1000, LONG}});

    r          = recv(in, 5);
    msg.tag    = 5;
    msg.req_id = 0x777;
    payload[2] = RI_WIRE_RTS_KEYS;
    wire_msg::append(payload, (uint32_t)1);
    m_b->deliver(msg, payload);
    EXPECT_EQ(0u, m_b_rdma->reads);
    EXPECT_EQ(1u, m_b->counters().rndv_fallback);
    rndv_data(reinterpret_cast<ri_recv_req_t *>(ri_req_of_handle(r->handle))->id,
              pattern(1, LONG));
    check(r, in, pattern(1, LONG), 5);
    ++m_conn->tx_sn;
    m_ba->sent.clear();
}

} // namespace
