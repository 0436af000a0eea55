/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The pool, read through a network. (src/ucp/proto/pool/pool_send.c, pool.c)
 */

#include "unit/common/rdma_test.h"
#include "unit/common/spread_type.h"

namespace {

class test_pool_send_rdma : public rdma_test {
protected:
    static constexpr size_t MEDIUM = 20000;
    static constexpr size_t POOL   = 512 * 1024; /* 16 buffers of 32 KB */

    void SetUp() override
    {
        rdma_test::SetUp();
        stop_net();
        ri_config.hybrid_thresh = ri_config.hybrid_net = 65536;
        ri_config.pool_size                            = POOL;
        start();
        with_net();
        connect();
    }

    void calm_down() override
    {
        pump();
        housekeeping();
        pump();
    }

    uint64_t used() { return m_a->counters().pool_bytes; }

    /* A message that is out */
    void send_pool(uint64_t tag, const bytes &content)
    {
        memory from(CONTIG, content.size(), content);
        rndv_ptr s = send(from, tag);

        EXPECT_TRUE(s->done) << "it waits for nobody";
        EXPECT_EQ(UCS_OK, s->status);
        EXPECT_EQ(RI_WIRE_POOL, m_ab->sent.back().parse().type);
    }
};

/* Through a network they go back together, or after some time. */
TEST_F(test_pool_send_rdma, releases_wait_for_company)
{
    setting<double> time(ri_release_time, 1e9);

    for (unsigned i = 1; i <= 17; ++i) {
        bytes content = pattern(i, MEDIUM);
        memory from(CONTIG, MEDIUM, content), to(CONTIG, MEDIUM);
        recv_ptr r = recv(to, 5);
        rndv_ptr s = send(from, 5);

        pump();
        progress_both(300);
        pump();
        check(r, to, content, 5);
        EXPECT_EQ(i / 8, m_b->counters().tx_release);
    }
    ri_release_time = 0;
    progress_both(300);
    pump();
    EXPECT_EQ(3u, m_b->counters().tx_release);
    EXPECT_EQ(0u, used());
}


TEST_F(test_pool_send_rdma, shapes)
{
    for (shape_t out : {CONTIG, IOV_16, IOV_17, PACKED}) {
        for (shape_t in : {CONTIG, IOV_1, IOV_16, IOV_EMPTY, IOV_17, PACKED}) {
            for (bool expected : {true, false}) {
                SCOPED_TRACE(std::to_string(out) + " " + std::to_string(in));
                bytes content = pattern(out * 8 + in, MEDIUM);
                memory from(out, MEDIUM, content), to(in, MEDIUM);
                recv_ptr r = expected ? recv(to, 5) : nullptr;
                rndv_ptr s = send(from, 5);

                EXPECT_TRUE(s->done) << "it waits for nobody";
                EXPECT_EQ(1u, m_ab->count(RI_WIRE_POOL));
                from.write(bytes(MEDIUM));
                if (!expected) {
                    pump();
                    r = recv(to, 5);
                }
                calm_down();
                check(r, to, content, 5);
                EXPECT_EQ(0u, used());
                EXPECT_EQ(1u, m_a_rdma->keys()) << "registered once";
                EXPECT_EQ(0u, m_b_rdma->keys());
            }
        }
    }
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
}

/* What cannot be described is copied also above the threshold, up to half of the pool. */
TEST_F(test_pool_send_rdma, too_many_pieces_to_be_described)
{
    const struct {
        shape_t shape;
        size_t thresh, length;
        ri_wire_type_t type;
    } cases[] = {{CONTIG, 65536, 65537, RI_WIRE_RTS},
                 {IOV_16, 65536, 65537, RI_WIRE_RTS},
                 {IOV_17, 65536, 65537, RI_WIRE_POOL},
                 {PACKED, 65536, 65537, RI_WIRE_POOL},
                 {PACKED, 65536, POOL / 2, RI_WIRE_POOL},
                 {PACKED, 65536, POOL / 2 + 1, RI_WIRE_BULK},
                 {PACKED, POOL, POOL / 2 + 1, RI_WIRE_POOL},
                 {PACKED, 0, 65537, RI_WIRE_BULK}};

    for (const auto &c : cases) {
        ri_config.hybrid_net = c.thresh;
        SCOPED_TRACE(std::to_string(c.shape) + " " + std::to_string(c.length));
        bytes content = pattern(c.shape, c.length);
        memory from(c.shape, c.length, content), to(CONTIG, c.length);
        recv_ptr r = recv(to, 5);
        rndv_ptr s = send(from, 5);

        EXPECT_EQ(c.type, m_ab->sent.back().parse().type);
        EXPECT_EQ(c.type == RI_WIRE_POOL, s->done);
        calm_down();
        check(r, to, content, 5);
        calm_down();
        EXPECT_TRUE(s->done);
        EXPECT_EQ(0u, used());
    }
}

/* They leave half of it to others, together. */
TEST_F(test_pool_send_rdma, half_of_the_pool_is_left)
{
    const size_t length = POOL / 4;
    std::vector<std::unique_ptr<memory>> from;
    std::vector<rndv_ptr> sends;
    auto send_one = [&](ri_wire_type_t type) {
        uint64_t tag = from.size();

        from.push_back(std::make_unique<memory>(PACKED, length, pattern(tag, length)));
        sends.push_back(send(*from.back(), tag));
        EXPECT_EQ(type, m_ab->sent.back().parse().type);
    };
    auto receive_one = [&](uint64_t tag, size_t size) {
        memory to(CONTIG, size);
        recv_ptr r = recv(to, tag);

        calm_down();
        check(r, to, pattern(tag, size), tag);
    };

    send_one(RI_WIRE_POOL);
    send_one(RI_WIRE_POOL);
    send_one(RI_WIRE_BULK);
    send_pool(100, pattern(100, MEDIUM));
    pump();
    receive_one(0, length);
    send_one(RI_WIRE_BULK); /* the medium one is there, too */
    receive_one(100, MEDIUM);
    send_one(RI_WIRE_POOL);
    for (uint64_t tag : {1, 2, 3, 4}) {
        receive_one(tag, length);
    }
    EXPECT_EQ(0u, used());
}

/* The pool is registered, or can be. */
TEST_F(test_pool_send_rdma, runs_that_cannot_be_registered)
{
    spread_type type;

    type.make(8192, 100, 10);
    for (bool fails : {false, true}) {
        bytes content = pattern(fails, type.size);
        memory to(CONTIG, type.size);
        recv_ptr r = recv(to, 5);

        type.clear(type.size);
        type.memory        = type.spread(content);
        m_a_rdma->bad_regs = fails ? 1 : 0;
        send_ptr s = m_a->send_of(m_conn, type.memory.data(), 1, type.datatype, 5);
        EXPECT_EQ(fails ? RI_WIRE_POOL : RI_WIRE_RTS, m_ab->sent.back().parse().type);
        EXPECT_EQ(0u, m_a_rdma->bad_regs);
        calm_down();
        check(r, to, content, 5);
        check_sent(s);
        EXPECT_EQ(type.started, type.finished);
    }
}

TEST_F(test_pool_send_rdma, longer_than_its_receive)
{
    memory to(CONTIG, MEDIUM - 1);
    recv_ptr r = recv(to, 5);

    send_pool(5, pattern(1, MEDIUM));
    calm_down();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
    EXPECT_EQ(0u, m_b_rdma->reads);
    EXPECT_EQ(0u, used());
}

/* Each message has a buffer of its own until it was read. */
TEST_F(test_pool_send_rdma, buffers_are_kept_until_they_are_given_back)
{
    std::vector<std::unique_ptr<memory>> to;
    std::vector<recv_ptr> r;

    m_b_rdma->holds = true;
    for (unsigned i = 0; i < POOL / 32768; ++i) {
        send_pool(i, pattern(i, MEDIUM));
        to.push_back(std::make_unique<memory>(CONTIG, MEDIUM));
        r.push_back(recv(*to.back(), i));
        pump();
    }
    EXPECT_EQ(POOL, used());
    EXPECT_EQ(POOL / 32768, m_a_rdma->keys());
    EXPECT_EQ(POOL / 32768, m_b_rdma->under_way());
    housekeeping();
    pump();
    EXPECT_EQ(POOL, used()) << "nothing was read yet";

    bytes content = pattern(99, MEDIUM);
    memory from(CONTIG, MEDIUM, content), in(CONTIG, MEDIUM);
    recv_ptr last = recv(in, 99);
    rndv_ptr s    = send(from, 99);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_RTS)) << "no room";
    m_b_rdma->holds = false;
    calm_down();
    for (unsigned i = 0; i < r.size(); ++i) {
        check(r[i], *to[i], pattern(i, MEDIUM), i);
    }
    check(last, in, content, 99);
    EXPECT_TRUE(s->done);
    EXPECT_EQ(0u, used());
}

/* Buffers that make room for others are the network's no more. */
TEST_F(test_pool_send_rdma, buffers_that_make_room)
{
    std::vector<std::unique_ptr<memory>> to;
    std::vector<recv_ptr> r;

    for (unsigned i = 0; i < POOL / 32768; ++i) {
        send_pool(1, pattern(i, MEDIUM));
        to.push_back(std::make_unique<memory>(CONTIG, MEDIUM));
        r.push_back(recv(*to.back(), 1));
    }
    calm_down();
    EXPECT_EQ(POOL / 32768, m_a_rdma->keys());
    send_pool(2, pattern(77, 65536));
    EXPECT_EQ(POOL / 32768 - 1, m_a_rdma->keys()) << "two went, one came";
    memory in(CONTIG, 65536);
    recv_ptr last = recv(in, 2);
    calm_down();
    check(last, in, pattern(77, 65536), 2);
}

TEST_F(test_pool_send_rdma, sender_cannot_register)
{
    bytes content = pattern(1, MEDIUM);

    for (unsigned good : {0, 1}) {
        restart();
        connect();
        memory from(CONTIG, MEDIUM, content), to(CONTIG, MEDIUM);
        m_a_rdma->reg_status = UCS_ERR_NO_MEMORY;
        m_a_rdma->good_regs  = good;
        recv_ptr r           = recv(to, 5);
        rndv_ptr s           = send(from, 5);
        EXPECT_EQ(good ? RI_WIRE_POOL : RI_WIRE_BULK, m_ab->sent.back().parse().type);
        calm_down();
        check(r, to, content, 5);
        EXPECT_TRUE(s->done);
        EXPECT_EQ(0u, used());
    }
}

/* The application's memory can be, and the message is announced with that. */
TEST_F(test_pool_send_rdma, pool_cannot_be_registered)
{
    bytes content = pattern(1, MEDIUM);
    memory from(CONTIG, MEDIUM, content), to(CONTIG, MEDIUM);

    m_a_rdma->bad_regs = 1;
    recv_ptr r         = recv(to, 5);
    rndv_ptr s         = send(from, 5);
    EXPECT_EQ(RI_WIRE_RTS, m_ab->sent.back().parse().type);
    calm_down();
    check(r, to, content, 5);
    EXPECT_TRUE(s->done);
    EXPECT_EQ(0u, used());
}

/* What cannot be read comes by UCP, out of the same buffer. */
TEST_F(test_pool_send_rdma, failures)
{
    enum {
        REG,
        START,
        END,
        END_BROKEN
    };
    for (int what : {REG, START, END, END_BROKEN}) {
        SCOPED_TRACE(what);
        restart();
        connect();
        bytes content = pattern(what, MEDIUM);
        memory to(CONTIG, MEDIUM);
        recv_ptr r = recv(to, 5);

        m_b_rdma->reg_status   = (what == REG) ? UCS_ERR_NO_MEMORY : UCS_OK;
        m_b_rdma->start_status = (what == START) ? UCS_ERR_UNREACHABLE : UCS_OK;
        m_b_rdma->end_status   = (what == END)        ? UCS_ERR_INVALID_ADDR :
                                 (what == END_BROKEN) ? UCS_ERR_UNREACHABLE :
                                                        UCS_OK;
        send_pool(5, content);
        calm_down();
        check(r, to, content, 5);
        EXPECT_EQ(1u, m_b->counters().rndv_fallback);
        EXPECT_FALSE(m_conn->flags & RI_CONN_WAY);
        EXPECT_EQ(0u, used());
        EXPECT_EQ(0u, m_b_rdma->keys());
    }
}

/* The way fails while some are read, others unexpected, and others not sent yet. */
TEST_F(test_pool_send_rdma, way_fails_under_way)
{
    std::vector<std::unique_ptr<memory>> to;
    std::vector<recv_ptr> r;

    m_b_rdma->holds = true;
    for (unsigned i = 0; i < 8; ++i) {
        send_pool(i, pattern(i, MEDIUM));
        to.push_back(std::make_unique<memory>(CONTIG, MEDIUM));
        if (i < 4) {
            r.push_back(recv(*to.back(), i));
        }
    }
    pump();
    EXPECT_EQ(4u, m_b_rdma->under_way());
    ri_way_fail_and_tell(m_b->worker(), stream()->peer);
    EXPECT_EQ(0u, m_b_rdma->under_way());
    pump();
    for (unsigned i = 4; i < 8; ++i) {
        r.push_back(recv(*to[i], i));
    }
    calm_down();
    for (unsigned i = 0; i < 8; ++i) {
        check(r[i], *to[i], pattern(i, MEDIUM), i);
    }
    EXPECT_EQ(8u, m_b->counters().rndv_fallback);
    EXPECT_EQ(0u, used());
}

TEST_F(test_pool_send_rdma, stream_breaks)
{
    memory to(CONTIG, MEDIUM);
    recv_ptr r = recv(to, 5);

    m_b_rdma->holds = true;
    send_pool(5, pattern(1, MEDIUM));
    pump();
    ri_stream_break(stream(), "a test");
    pump();
    EXPECT_EQ(0u, used()) << "nobody needs it any more";
    EXPECT_FALSE(r->done) << "the network still writes there";
    m_b_rdma->holds = false;
    calm_down();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
}

/* The destructor of the plane looks for memory that is still registered. */
TEST_F(test_pool_send_rdma, worker_ends_with_buffers_lent)
{
    memory to(CONTIG, MEDIUM);

    send_pool(5, pattern(1, MEDIUM));
    send_pool(6, pattern(2, MEDIUM));
    pump();
    EXPECT_TRUE(ri_pool_send_is_under_way(m_conn)) << "a close would wait";
    m_a->may_end_open = true;
    m_a.reset();
    EXPECT_EQ(0u, m_a_rdma->keys());

    /* Nothing is left to be read, nor to be asked. */
    recv_ptr r = recv(to, 5);
    for (int i = 0; i < 10; ++i) {
        m_b->progress();
    }
    EXPECT_FALSE(r->done);
    ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
    ASSERT_TRUE(r->done);
    EXPECT_NE(UCS_OK, r->status);
    m_ba->sent.clear();
}

} // namespace
