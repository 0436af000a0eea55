/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cooperative copies into memory that the sender knows before the receiver has the RTS.
 * (src/ucp/proto/coop/coop_send.c, coop_recv.c, rtr_send_host.c)
 */

#include "coop_test.h"
#include "unit/fakes/fake_malloc.h"

namespace {

class test_coop_offered : public coop_test {
protected:
    /* The sender of @a s takes @a memory for that of its receive. */
    void offer(const send_ptr &s, bytes &memory)
    {
        ri_req_t *req = ri_req_of_handle(s->handle);

        ri_coop_send_offered(ri_container_of(req, ri_send_req_t, super),
                             reinterpret_cast<uintptr_t>(memory.data()));
    }
};

TEST_F(test_coop_offered, offered)
{
    bytes content = pattern(1, LONG);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);
    send_ptr s    = m_a->send(m_conn, content, 5);

    offer(s, r->buffer);
    for (unsigned i = 0; i < 100; ++i) {
        m_a->progress();
    }
    check(s);
    EXPECT_EQ(LONG, written());
    EXPECT_TRUE(ri_coop_send_is_unread(m_conn)) << "the endpoint must not be closed yet";
    EXPECT_FALSE(ri_coop_send_let_go(m_conn));
    EXPECT_FALSE(r->done);
    m_b->progress();
    check(r, content);
    EXPECT_EQ(0u, m_b_plane->reads);
    EXPECT_TRUE(ri_coop_send_let_go(m_conn));
    check_idle();
}

/* The receiver cannot remember the copy, but the sender knows the receive: it must not write there
 * once the receive has ended. */
TEST_F(test_coop_offered, no_memory)
{
    for (unsigned parts : {0, 1, 100}) {
        bytes content = pattern(parts, LONG);
        recv_ptr r    = m_b->recv(5, ~0ul, LONG);
        send_ptr s    = m_a->send(m_conn, content, 5);

        offer(s, r->buffer);
        for (unsigned i = 0; i < parts; ++i) {
            m_a->progress();
        }
        fake::malloc_fails_after = 0;
        m_b->progress();
        EXPECT_EQ(-1, fake::malloc_fails_after);
        fake::malloc_fails_after = -1;
        if (r->done) {
            bytes before = r->buffer;

            pump();
            EXPECT_TRUE(before == r->buffer) << "written after it has ended";
        }
        pump();
        check(r, content);
        check(s);
        check_idle();
        restart(); /* a receiver that has asked for its data is not read by again */
    }
}

/* A close waits until the receiver has seen that all of it is there: the slot stands in the
 * ring. */
TEST_F(test_coop_offered, closed_before_it_is_read)
{
    bytes content             = pattern(1, LONG);
    ucp_request_param_t param = {};
    recv_ptr r                = m_b->recv(5, ~0ul, LONG);
    send_ptr s                = m_a->send(m_conn, content, 5);

    offer(s, r->buffer);
    for (unsigned i = 0; i < 100; ++i) {
        m_a->progress();
    }
    check(s);
    ucs_status_ptr_t close = ri_ep_close(m_conn, &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(close));
    for (unsigned i = 0; i < 10; ++i) {
        m_a->progress();
    }
    EXPECT_FALSE(m_ab->closed);
    EXPECT_FALSE(r->done);
    pump();
    check(r, content);
    EXPECT_EQ(0u, m_b_plane->reads);
    EXPECT_TRUE(m_ab->closed);
    EXPECT_TRUE(ri_req_flags(ri_req_of_handle(close)) & RI_REQ_COMPLETED);
    ri_req_put(ri_req_of_handle(close));
}

TEST_F(test_coop_offered, offered_and_both_copy)
{
    bytes content = pattern(1, LONG);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);
    send_ptr s    = m_a->send(m_conn, content, 5);

    offer(s, r->buffer);
    m_a->progress();
    pump();
    check(s);
    check(r, content);
    EXPECT_EQ(LONG, written() + read());
    EXPECT_GT(read(), 0u);
    check_idle();
}

/* The stream breaks before the RTS is read: the sender writes no more. */
TEST_F(test_coop_offered, offered_and_never_read)
{
    for (unsigned writes : {0, 1, 2}) {
        restart();
        bytes content = pattern(1, LONG);
        recv_ptr r    = m_b->recv(5, ~0ul, LONG);
        send_ptr s    = m_a->send(m_conn, content, 5);

        offer(s, r->buffer);
        for (unsigned i = 0; i < writes; ++i) {
            m_a->progress();
        }
        bytes before = r->buffer;
        ri_stream_break(stream(), "the test says so");
        for (unsigned i = 0; i < 100; ++i) {
            m_a->progress();
        }
        EXPECT_EQ(writes, m_a_plane->writes);
        EXPECT_TRUE(before == r->buffer);
        pump();
        check(s, UCS_ERR_CONNECTION_RESET);
        m_b->cancel(r);
        EXPECT_TRUE(r->done);
        m_b->release_done();
    }
}

/* The receiver closes the slot while a part is being written, which then fails: it must not
 * wait for that part. */
TEST_F(test_coop_offered, write_fails_while_the_slot_is_closed)
{
    recv_ptr r = m_b->recv(5, ~0ul, LONG);
    send_ptr s = m_a->send(m_conn, pattern(1, LONG), 5);
    std::thread receiver;
    std::atomic<bool> closed{false};

    offer(s, r->buffer);
    m_a_plane->on_write = [&]() {
        if (!receiver.joinable()) {
            receiver = std::thread([&] {
                ri_coop_recv_close_slots(stream());
                closed = true;
            });
            while (!ri_slot_is_withdrawn(&slot())) {
                std::this_thread::yield();
            }
        }
    };
    m_a_plane->write_status = UCS_ERR_INVALID_ADDR;
    m_a->progress();
    uint64_t count = 0;
    for (; !closed && (count < 5000); ++count) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(closed) << "it waits for what is never counted";
    receiver.join();
    m_a_plane->on_write = nullptr;
    pump();
}

/* ... and one that does not fail is waited for: nothing is written after that. */
TEST_F(test_coop_offered, slot_is_closed_while_a_part_is_written)
{
    recv_ptr r = m_b->recv(5, ~0ul, LONG);
    send_ptr s = m_a->send(m_conn, pattern(1, LONG), 5);
    std::thread receiver;
    std::atomic<bool> closed{false};
    uint32_t at_close = 0, claimed = 0;

    offer(s, r->buffer);
    m_a_plane->on_write = [&]() {
        if (receiver.joinable() || (m_a_plane->writes < 2)) {
            return;
        }
        claimed       = slot().claimed >> 32;
        auto checks   = reinterpret_cast<volatile unsigned *>(&m_b_plane->checks);
        unsigned seen = *checks;
        receiver      = std::thread([&] {
            ri_coop_recv_close_slots(stream());
            at_close = ri_slot_done(&slot());
            closed   = true;
        });
        while (!closed &&
               (*checks == seen)) { /* it waits, and looks whether this one lives */
            std::this_thread::yield();
        }
        EXPECT_FALSE(closed) << "while it is being written";
    };
    m_a->progress();
    uint32_t before = ri_slot_done(&slot());
    EXPECT_GT(before, 0u);
    m_a->progress();
    ASSERT_TRUE(receiver.joinable());
    receiver.join();
    EXPECT_GT(claimed, before);
    EXPECT_EQ(claimed, at_close);
    EXPECT_EQ(0, stream()->peer->given_up);
    EXPECT_EQ(2u, m_a_plane->writes);
    m_a_plane->on_write = nullptr;
    pump();
}

TEST_F(test_coop_offered, offered_for_another_receive)
{
    bytes content = pattern(1, LONG);
    bytes elsewhere(LONG);
    recv_ptr r = m_b->recv(5, ~0ul, LONG);
    send_ptr s = m_a->send(m_conn, content, 5);

    offer(s, elsewhere);
    m_b->progress();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    EXPECT_TRUE(stream()->broken);
    pump();
    ASSERT_TRUE(s->done);
}

} // namespace
