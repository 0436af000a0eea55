/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * How long a close waits for messages that the peer has not received, what is said about closes,
 * and what becomes of such messages when nobody waits any longer. (run/close.h) The tests run
 * src/ucp/link/ring_send.c, too.
 */

#include "unit/common/setting.h"
#include "unit/fakes/fake_malloc.h"
#include "unit/ucp/run/close_test.h"

#include <cmath>

namespace {

struct way_of_message {
    const char *name;
    bool rings;
    size_t length; /* up to hybrid_thresh: from the pool */
};

const way_of_message WAYS[] = {{"pool", false, 20000},
                               {"rendezvous", false, LONG},
                               {"pool, ring", true, 20000},
                               {"rendezvous, ring", true, LONG}};

class test_close : public close_test {
protected:
    /* Both sides have sent a message that the other one could read. */
    void prepare(bool rings)
    {
        stop();
        ri_config.ring_peers = rings ? 4 : 0;
        start();
        connect_planes();
        m_b->send(m_back, bytes(LONG), 1);
        m_a->recv(1, ~0ul, LONG);
        calm_down();
        ASSERT_TRUE(m_back->flags & RI_CONN_PLANE_READ);
        m_content = pattern(1, LONG);
    }

    void housekeeping_both()
    {
        m_a->worker()->countdown = m_b->worker()->countdown = 1;
        pump();
    }

    /* A close that has to wait */
    ucs_status_ptr_t close(ri_conn_t *conn)
    {
        ucs_status_ptr_t ret = start_close(conn);

        pump();
        return ret;
    }

    /* As if it was long ago that it was looked at */
    static bool is_over(ri_conn_t *conn, ri_close_wait_t &wait)
    {
        wait.checked -= 1;
        conn->worker->closes.checked -= 1;
        return ri_close_has_expired(conn, &wait);
    }

    /* A wait that nothing moves in. @return The looks that it has taken. */
    static int looks(ri_conn_t *conn)
    {
        ri_close_wait_t wait;
        int count = 1;

        ri_close_start_wait(conn, &wait);
        while (!is_over(conn, wait) && (count < 1000)) {
            ++count;
        }
        return count;
    }

    /* A message that nobody has received when the close gives up */
    rndv_ptr send_and_leave(memory &from)
    {
        rndv_ptr s = send(from, 5);

        pump();
        ri_config.close_timeout = 0;
        end(close(m_conn));
        return s;
    }

    /* The message is received after the close, and is as it was. */
    void receive_late(const bytes &content, uint64_t tag)
    {
        memory to(CONTIG, content.size());
        recv_ptr r = recv(to, tag);

        calm_down();
        check(r, to, content, tag);
    }

    bytes m_content;
    setting<double> m_grace{ri_close_grace, 0};
};

/* Both sides close; a message that nobody has received holds up neither. */
TEST_F(test_close, both_close_and_nobody_receives)
{
    for (const way_of_message &way : WAYS) {
        SCOPED_TRACE(way.name);
        prepare(way.rings);
        send_ptr s = send_for_good(pattern(1, way.length), 5);

        ucs_status_ptr_t close_a = close(m_conn);
        for (int i = 0; i < 1000; ++i) {
            pump();
        }
        EXPECT_FALSE(has_ended(close_a)); /* the peer may receive it still */
        ucp_request_param_t param = {};
        EXPECT_EQ(nullptr, ri_ep_close(m_back, &param));
        pump();
        EXPECT_TRUE(m_ab->closed && m_ba->closed);
        end(close_a);
        EXPECT_EQ(1u, m_a->worker()->closes.num_left);
        EXPECT_EQ(way.length == MEDIUM, s->done); /* not before its memory is free */

        /* It lives as long as the worker. */
        receive_late(pattern(1, way.length), 5);
        stop(); /* what it waited for cannot be told any more */
        EXPECT_EQ((way.length == MEDIUM) ? UCS_OK : UCS_ERR_CANCELED, s->status);
        start();
    }
}

TEST_F(test_close, both_wait_for_the_other_one)
{
    for (const way_of_message &way : WAYS) {
        SCOPED_TRACE(way.name);
        prepare(way.rings);
        send_ptr s  = send_for_good(pattern(1, way.length), 5);
        send_ptr s2 = m_b->send(m_back, pattern(2, way.length), 6);
        pump();

        ucp_request_param_t param = {};
        ucs_status_ptr_t close_a  = ri_ep_close(m_conn, &param);
        ucs_status_ptr_t close_b  = ri_ep_close(m_back, &param);
        ASSERT_TRUE(UCS_PTR_IS_PTR(close_a) && UCS_PTR_IS_PTR(close_b));
        pump();
        end(close_a);
        end(close_b);
        EXPECT_EQ(1u, m_a->worker()->closes.num_left);
        EXPECT_EQ(1u, m_b->worker()->closes.num_left);
        m_b->may_end_open = true; /* s2 */
        stop();
        start();
    }
}

/* Nothing is heard of the peer; the close ends after its time, and the peer finds all. */
TEST_F(test_close, time_out)
{
    for (const way_of_message &way : WAYS) {
        SCOPED_TRACE(way.name);
        prepare(way.rings);
        memory from(CONTIG, way.length, pattern(1, way.length));
        rndv_ptr s = send_and_leave(from);
        EXPECT_TRUE(m_ab->closed);
        EXPECT_EQ(1u, m_a->worker()->closes.num_left);
        EXPECT_EQ(0, m_a->worker()->ep_ops.next != &m_a->worker()->ep_ops);

        /* The peer can answer, and then the rest goes. */
        receive_late(pattern(1, way.length), 5);
        EXPECT_TRUE(s->done);
        EXPECT_EQ(UCS_OK, s->status);
        housekeeping_both();
        EXPECT_EQ(0u, m_a->worker()->closes.num_left);
        EXPECT_TRUE(ucs_list_is_empty(&m_a->worker()->conns));
        EXPECT_EQ(0u, used(*m_a));
        ri_config.close_timeout = INFINITY;
    }
}

/* As long as the peer receives one thing after another, a close goes on waiting. */
TEST_F(test_close, what_moves_is_waited_for)
{
    for (const way_of_message &way : WAYS) {
        SCOPED_TRACE(way.name);
        prepare(way.rings);
        bytes content = pattern(1, way.length);
        memory from1(CONTIG, way.length, content), from2(CONTIG, way.length, content);
        rndv_ptr s1 = send(from1, 5), s2 = send(from2, 5);
        ri_close_wait_t wait;
        pump();

        ri_config.close_timeout = 1000;
        ri_close_start_wait(m_conn, &wait);
        EXPECT_FALSE(is_over(m_conn, wait));
        wait.idle = 999.5;
        EXPECT_TRUE(is_over(m_conn, wait));
        EXPECT_FALSE(
                ri_close_has_expired(m_conn, &wait)); /* it was looked at a moment ago */
        receive_late(content, 5);
        EXPECT_FALSE(is_over(m_conn, wait));
        EXPECT_EQ(0, wait.idle);

        /* A message that comes from the peer */
        wait.idle = 1001;
        m_a->recv(7, ~0ul, 8);
        m_b->send(m_back, bytes(8), 7);
        pump();
        EXPECT_FALSE(is_over(m_conn, wait));
        EXPECT_EQ(0, wait.idle);

        /* Its word that it closes; then less time is left. */
        wait.idle = 1001;
        ri_peer_note_closing(m_conn->peer);
        EXPECT_FALSE(is_over(m_conn, wait));
        EXPECT_TRUE(is_over(m_conn, wait));

        /* Nothing is left to wait for: that is not for a time-out */
        receive_late(content, 5);
        wait.idle = 1001;
        is_over(m_conn, wait);
        wait.idle = 1001;
        EXPECT_FALSE(is_over(m_conn, wait));
        m_conn->peer->closing   = 0;
        ri_config.close_timeout = INFINITY;
    }
}

/* The time in which the application does not call progress counts a little only. */
TEST_F(test_close, time_without_progress)
{
    prepare(false);
    memory from(CONTIG, LONG, m_content);
    rndv_ptr s = send(from, 5);
    ri_close_wait_t wait;
    int calls = 1;

    pump();
    ri_config.close_timeout = 100;
    ri_close_start_wait(m_conn, &wait);
    for (wait.checked -= 1000; !ri_close_has_expired(m_conn, &wait);
         wait.checked -= 1000) {
        ASSERT_LT(++calls, 100);
    }
    EXPECT_EQ(16, calls);
    ri_config.close_timeout = INFINITY;
    receive_late(m_content, 5);
}

/* Closes that follow each other take no longer than one, unless a peer has moved meanwhile. */
TEST_F(test_close, one_after_the_other)
{
    prepare(false);
    ri_conn_t *other = m_a->connect(m_a->new_endpoint(m_b.get()), RECEIVER);
    memory from(CONTIG, LONG, m_content), from2(CONTIG, LONG, m_content);
    rndv_ptr s = send(from, 5);
    ri_close_wait_t wait;

    pump();
    ri_close_grace          = 0.1;
    ri_config.close_timeout = 0.1;
    ri_close_start_wait(other, &wait);
    EXPECT_EQ(0, wait.idle);
    EXPECT_EQ(16, looks(m_conn));
    ri_close_start_wait(other, &wait);
    EXPECT_NEAR(0.1, wait.idle, 1e-6);
    ri_close_start_anew(other, &wait);
    EXPECT_EQ(0, wait.idle);
    EXPECT_EQ(1, looks(m_conn));

    m_a->recv(7, ~0ul, 8);
    m_b->send(m_back, bytes(8), 7);
    receive_late(m_content, 5);
    ri_close_start_wait(other, &wait);
    EXPECT_EQ(0, wait.idle); /* a message has come from the peer */

    /* What is new was not waited for */
    rndv_ptr s2 = send(from2, 6);
    EXPECT_EQ(16, looks(m_conn));
    ri_config.close_timeout = INFINITY;
    receive_late(m_content, 6);
}

/* The last words of a conn include its ring, which its receiver can give to another one. */
TEST_F(test_close, gives_its_ring_back)
{
    prepare(true);
    ASSERT_NE(nullptr, m_conn->ring);
    EXPECT_EQ(1, ri_close_say_bye(m_conn));
    EXPECT_EQ(nullptr, m_conn->ring);
}

/* Said once, for the last endpoint of the application, in the ring or where somebody waits. */
TEST_F(test_close, who_says_closing)
{
    for (bool rings : {false, true}) {
        for (bool waits : {false, true}) {
            SCOPED_TRACE(std::string(rings ? "ring" : "no ring") +
                         (waits ? ", waits" : ""));
            prepare(rings);
            send_ptr s                = waits ? send_for_good(m_content, 5) : nullptr;
            ucp_request_param_t param = {};
            EXPECT_EQ(nullptr, ri_ep_close(m_back, &param));
            EXPECT_EQ((waits && !rings) ? 1u : 0u, m_ba->count(RI_WIRE_CLOSING));
            pump();
            EXPECT_EQ((rings || waits) ? 1 : 0, m_conn->peer->closing);
        }
    }
}

TEST_F(test_close, another_endpoint_is_there)
{
    prepare(true);
    endpoint *ba2             = m_b->new_endpoint(m_a.get());
    ri_conn_t *back           = m_b->connect(ba2, SENDER);
    send_ptr s                = send_for_good(m_content, 5);
    ucp_request_param_t param = {};

    EXPECT_EQ(nullptr, ri_ep_close(m_back, &param));
    pump();
    EXPECT_EQ(0, m_conn->peer->closing);
    EXPECT_EQ(nullptr, ri_ep_close(back, &param)); /* it has no ring */
    EXPECT_EQ(1u, ba2->count(RI_WIRE_CLOSING));
    m_a->deliver(ba2->sent.back().header, ba2->sent.back().data);
    EXPECT_EQ(1, m_conn->peer->closing);
    ba2->sent.clear();
}

/* What is being received is not left behind by its sender. */
TEST_F(test_close, said_when_nothing_is_being_received)
{
    prepare(false);
    memory from(CONTIG, LONG, m_content), to(CONTIG, LONG),
            from2(CONTIG, LONG, m_content);
    rndv_ptr s = send(from, 5), s2 = send(from2, 6);

    pump();
    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    recv_ptr r             = recv(to, 5); /* waits for RNDV_DATA */
    ri_close_say_closing(m_back);
    EXPECT_EQ(0u, m_ba->count(RI_WIRE_CLOSING));
    pump();
    check(r, to, m_content, 5);
    ri_close_say_closing(m_back);
    ri_close_say_closing(m_back);
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_CLOSING));
    m_b_plane->read_status = UCS_OK;
    receive_late(m_content, 6);
}

/* Words that are old, repeated, or for nobody */
TEST_F(test_close, hostile_closing)
{
    prepare(true);
    uint64_t before = stale(*m_a);

    m_a->deliver(wire_msg(RI_WIRE_CLOSING, m_conn->id ^ 0x100000, 0));
    m_a->deliver(wire_msg(RI_WIRE_CLOSING, m_conn->id + 1, 7));
    EXPECT_EQ(before + 2, stale(*m_a));
    EXPECT_EQ(0, m_conn->peer->closing);
    for (int i = 0; i < 3; ++i) {
        m_a->deliver(wire_msg(RI_WIRE_CLOSING, m_conn->id, i));
        EXPECT_EQ(1, m_conn->peer->closing);
    }
    for (const bytes &payload : {bytes(), bytes(16)}) {
        m_conn->peer->closing = 0;
        record(RI_WIRE_CLOSING, 12345, payload, ~0u);
        pump();
        EXPECT_EQ(1, m_conn->peer->closing);
    }

    /* The peer goes on, and nothing that it does is refused. */
    memory from(CONTIG, LONG, m_content);
    rndv_ptr s = send(from, 5);
    pump();
    receive_late(m_content, 5);
    EXPECT_EQ(UCS_OK, s->status);
}

/* Who comes back is there. */
TEST_F(test_close, new_endpoint_of_a_peer_that_closed)
{
    prepare(false);
    m_a->deliver(wire_msg(RI_WIRE_CLOSING, m_conn->id, 0));
    ASSERT_EQ(1, m_conn->peer->closing);
    endpoint *ba2   = m_b->new_endpoint(m_a.get());
    ri_conn_t *back = m_b->connect(ba2, SENDER);
    recv_ptr r      = m_a->recv(9, ~0ul, 8);

    m_b->send(back, bytes(8), 9);
    m_a->deliver(ba2->sent.front().header, ba2->sent.front().data);
    EXPECT_TRUE(r->done);
    EXPECT_EQ(0, m_conn->peer->closing);
    ba2->sent.clear();
    pump();
    ba2->sent.clear();
}

/* The data cannot be read, and the endpoint is closed: it goes by another one, or not at all. */
TEST_F(test_close, data_by_another_endpoint)
{
    for (size_t length : {MEDIUM, LONG}) {
        for (bool has_other : {false, true}) {
            SCOPED_TRACE(std::to_string(length) + (has_other ? " other" : ""));
            prepare(false);
            bytes content = pattern(1, length);
            memory from(CONTIG, length, content), to(CONTIG, length);
            rndv_ptr s = send(from, 5);
            pump();
            ri_config.close_timeout  = 0;
            ucs_status_ptr_t close_a = close(m_conn);
            end(close_a);
            ri_config.close_timeout = INFINITY;
            if (has_other) {
                m_ab2   = m_a->new_endpoint(m_b.get());
                m_conn2 = m_a->connect(m_ab2, RECEIVER);
            }
            m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
            recv_ptr r             = recv(to, 5);
            calm_down();
            EXPECT_EQ(has_other, r->done);
            if (has_other) {
                check(r, to, content, 5);
            }
            ASSERT_TRUE(s->done);
            EXPECT_EQ(((length == LONG) && !has_other) ? UCS_ERR_CANCELED : UCS_OK,
                      s->status);
            EXPECT_EQ(0u, used(*m_a));
            m_b->may_end_open = true;
            s.reset();
            stop();
            start();
        }
    }
}

/* A peer that has died gets nothing any more. */
TEST_F(test_close, peer_dies_after_the_close)
{
    for (const way_of_message &way : WAYS) {
        SCOPED_TRACE(way.name);
        prepare(way.rings);
        memory from(CONTIG, way.length, pattern(1, way.length));
        rndv_ptr s              = send_and_leave(from);
        ri_config.close_timeout = INFINITY;
        setting<double> interval(ri_gone_interval, 0);
        m_a_plane->gone = true;
        for (int i = 0; (i < 10) && (m_a->worker()->closes.num_left > 0); ++i) {
            m_a->worker()->countdown = 1;
            m_a->progress();
        }
        EXPECT_EQ(0u, m_a->worker()->closes.num_left);
        EXPECT_TRUE(s->done);
        EXPECT_EQ((way.length == MEDIUM) ? UCS_OK : UCS_ERR_CONNECTION_RESET, s->status);
        m_a_plane->gone = false;
    }
}

/* The worker ends: peers notice before the memory of sends is given back. */
TEST_F(test_close, worker_ends_before_its_messages_are_received)
{
    for (bool closed : {false, true}) {
        prepare(false);
        send_ptr s = send_for_good(m_content, 5);
        if (closed) {
            ri_config.close_timeout  = 0;
            ucs_status_ptr_t close_a = close(m_conn);
            end(close_a);
            ri_config.close_timeout = INFINITY;
        }
        m_a_plane->on_withdraw = [&] { EXPECT_FALSE(s->done); };
        m_a.reset();
        EXPECT_EQ(1u, m_a_plane->withdrawals);
        EXPECT_TRUE(s->done);
        EXPECT_EQ(UCS_ERR_CANCELED, s->status);
        stop();
        start();
    }
}

/* A sender may give memory back while it is read: then the data is not taken for the message. What
 * is in the pool stays. */
TEST_F(test_close, memory_given_back_while_it_is_read)
{
    for (const way_of_message &way : WAYS) {
        for (bool gone : {false, true}) {
            SCOPED_TRACE(std::string(way.name) + (gone ? ", gone" : ""));
            prepare(way.rings);
            bytes content = pattern(1, way.length);
            send_ptr s    = send_for_good(content, 5);
            memory to(CONTIG, way.length);
            bool pool = (way.length == MEDIUM);

            m_b_plane->on_read = [&] {
                ri_planes_leave(m_a->worker());
                m_b_plane->gone = gone;
            };
            recv_ptr r = recv(to, 5);
            pump();
            m_b_plane->gone = false;
            ASSERT_TRUE(r->done);
            EXPECT_EQ(!pool && !way.rings, m_b_plane->verified);
            EXPECT_EQ((gone && way.rings && !pool) ? UCS_ERR_CONNECTION_RESET : UCS_OK,
                      r->status); /* without a ring it is for the plane to say so */
            m_b_plane->on_read = nullptr;
            stop();
            start();
        }
    }
}

/* A ring that is closed vouches for nothing any more. */
TEST_F(test_close, memory_given_back_after_the_ring_was_closed)
{
    prepare(true);
    send_ptr s = send_for_good(m_content, 5);
    memory to(CONTIG, LONG);

    ri_coop_send_let_go(m_conn);
    ri_ring_life_close(m_conn);
    ASSERT_NE(nullptr, stream()->ring);
    m_b_plane->on_read = [&] { m_b_plane->gone = true; };
    recv_ptr r         = recv(to, 5);
    m_b_plane->gone    = false;
    m_b_plane->on_read = nullptr;
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
}

/* Messages that wait for room in the ring go there later, too. */
TEST_F(test_close, ring_is_full)
{
    prepare(true);
    std::vector<send_ptr> sends;
    ucp_request_param_t param = {};

    while (ucs_list_is_empty(&m_conn->pending)) {
        sends.push_back(m_a->send(m_conn, pattern(sends.size(), 1024), 5));
    }
    ri_config.close_timeout  = 0;
    ucs_status_ptr_t close_a = ri_ep_close(m_conn, &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(close_a));
    m_a->progress(); /* the peer does nothing */
    end(close_a);
    EXPECT_TRUE(m_ab->closed);
    EXPECT_FALSE(sends.back()->done);
    EXPECT_EQ(nullptr,
              ri_ep_flush_worker(m_a->worker(), &param)); /* not for what was left */
    ri_config.close_timeout = INFINITY;
    for (size_t i = 0; i < sends.size(); ++i) {
        recv_ptr r = m_b->recv(5, ~0ul, 1024);
        pump();
        ASSERT_TRUE(r->done) << i;
        EXPECT_TRUE(pattern(i, 1024) == r->buffer) << i;
    }
    EXPECT_TRUE(sends.back()->done);
    housekeeping_both();
    EXPECT_EQ(0u, m_a->worker()->closes.num_left);
}

/* A close that has failed has not begun: the endpoint goes on, and the next close can work. */
TEST_F(test_close, no_memory)
{
    ucp_request_param_t param = {};
    std::vector<ri_req_t *> taken;

    prepare(false);
    send_ptr s = m_a->send(m_conn, m_content, 5);
    do { /* all that is there without asking for memory */
        taken.push_back(ri_req_get(m_a->worker(), &param, RI_REQ_EP_OP));
    } while (m_a->worker()->reqs.free != nullptr);
    fake::aligned_alloc_fails = true;
    ucs_status_ptr_t ret      = ri_ep_close(m_conn, &param);
    fake::aligned_alloc_fails = false;
    EXPECT_EQ(UCS_ERR_NO_MEMORY, UCS_PTR_STATUS(ret));
    EXPECT_FALSE(m_conn->flags & RI_CONN_CLOSING);
    for (ri_req_t *req : taken) {
        ri_req_drop(req);
    }

    send_ptr more = m_a->send(m_conn, m_content, 6);
    ret           = close(m_conn);
    for (uint64_t tag : {5, 6}) {
        recv_ptr r = m_b->recv(tag, ~0ul, LONG);

        pump();
        ASSERT_TRUE(r->done);
        EXPECT_TRUE(m_content == r->buffer);
    }
    end(ret);
    EXPECT_TRUE(s->done && more->done);
}

} // namespace
