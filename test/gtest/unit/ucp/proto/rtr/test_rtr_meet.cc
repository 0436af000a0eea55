/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/rtr/rtr_meet.c and rtr_send_host.c: RTRs that cross their message, and messages of
 * another sender. (protocol-rndv.md section 3) The tests run src/ucp/proto/rtr/rtr_done.c and
 * src/ucp/tag/send.c, too.
 */

#include "unit/fakes/fake_rdma.h"
#include "rtr_test.h"

#include <chrono>
#include <thread>

extern "C" {
#include "ucp/link/planes.h"
#include "ucp/proto/rtr/rtr_net.h"
#include "ucp/proto/rtr/rtr_state.h"
}

namespace {

class test_rtr_meet : public rtr_test {};

/* RTR and message cross */

TEST_F(test_rtr_meet, crosses_rts_and_the_sender_is_first)
{
    recv_ptr r = post();
    send_ptr s = send(); /* has not seen the RTR */

    EXPECT_FALSE(s->done);
    m_a->progress();
    check_sent(s);
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(r));
    EXPECT_FALSE(r->done);
    uint64_t control = m_a->counters().rx_control;
    m_b->progress();
    check(r, s);
    m_a->progress();
    EXPECT_EQ(control, m_a->counters().rx_control) << "no FIN";
    EXPECT_EQ(0u, m_b_plane->reads);
    check_rtrs(1, 1);
}

TEST_F(test_rtr_meet, crosses_rts_and_the_receiver_is_first)
{
    recv_ptr r = post();
    send_ptr s = send();

    m_b->progress();
    check(r, s);
    EXPECT_EQ(1u, m_b_plane->reads);
    EXPECT_FALSE(s->done);
    m_a->progress();
    check_sent(s);
    EXPECT_EQ(0u, m_a_plane->writes);
    check_rtrs(1, 0);
}

TEST_F(test_rtr_meet, crosses_rts_and_it_is_being_written)
{
    recv_ptr r  = post();
    send_ptr s  = send();
    bool inside = false;

    m_a_plane->on_write = [&]() {
        inside = true;
        m_b->progress(); /* the RTS */
        EXPECT_FALSE(req(r)->super.flags & RI_REQ_POSTED);
        EXPECT_EQ(1u, ucs_list_length(&m_b->worker()->rtr.writing));
        m_b->progress();
        EXPECT_FALSE(r->done);
        cancel_in_vain(r);
        EXPECT_TRUE(ri_worker_has_work(m_b->worker()));
    };
    m_a->progress();
    m_a_plane->on_write = nullptr;
    EXPECT_TRUE(inside);
    check_sent(s);
    EXPECT_FALSE(r->done);
    m_b->progress();
    check(r, s);
    EXPECT_EQ(0u, m_b_plane->reads);
    check_rtrs(1, 1);
}

TEST_F(test_rtr_meet, crosses_rts_and_the_write_fails)
{
    for (ucs_status_t status : {UCS_ERR_INVALID_ADDR, UCS_ERR_UNREACHABLE}) {
        for (bool inside : {false, true}) {
            recv_ptr r = post();
            send_ptr s = send();

            m_a_plane->write_status = status;
            m_a_plane->move_before  = 5000;
            if (inside) {
                m_a_plane->on_write = [&]() { m_b->progress(); };
            }
            m_a->progress();
            m_a_plane->on_write     = nullptr;
            m_a_plane->write_status = UCS_OK;
            EXPECT_FALSE(s->done || r->done);
            pump();
            check(r, s);
            check_sent(s);
            EXPECT_EQ(inside ? 0u : 1u, m_b_plane->reads);
            check_rtrs(1, 0);
            restart();
        }
    }
}

/* All that the RTR counts was sent before the RTS, so it is on its way: what waits for room now
 * cannot be for a receive that depends on this one. */
TEST_F(test_rtr_meet, crosses_rts_before_messages_that_wait_for_room)
{
    recv_ptr first = post(EAGER), second = post();
    send_ptr s1 = send(8), s2 = send();
    std::vector<recv_ptr> fill;

    for (; ucs_list_is_empty(&m_conn->pending); fill.push_back(nullptr)) {
        m_a->send(m_conn, bytes(m_conn->ring_limits.max), 7);
    }
    m_a->progress();
    EXPECT_FALSE(ucs_list_is_empty(&m_conn->pending));
    check_sent(s2);
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(second));
    cancel_in_vain(first);
    for (recv_ptr &r : fill) {
        r = m_b->recv(7, ALL, m_conn->ring_limits.max);
    }
    progress_both(fill.size());
    pump();
    check(first, s1);
    check(second, s2);
    check_rtrs(1, 1);
}

TEST_F(test_rtr_meet, crosses_rts_that_waits_for_stock)
{
    recv_ptr r = post();

    m_conn->flags |= RI_CONN_BEHIND_RMA;
    m_ucx->send_mode = LATER;
    send_ptr s       = send();
    m_a->progress();
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(r));
    EXPECT_FALSE(s->done) << "UCP has the RTS";
    m_ucx->complete();
    check_sent(s);
    m_ucx->send_mode = AT_ONCE;
    deliver();
    check(r, s);
    m_conn->flags &= ~RI_CONN_BEHIND_RMA;
}

TEST_F(test_rtr_meet, entry)
{
    for (bool seen : {true, false}) {
        for (unsigned first : {0, 1, 2}) {
            recv_ptr r = seen ? post_seen(GIANT) : post(GIANT);
            send_ptr s = send(GIANT);

            EXPECT_FALSE(s->done);
            EXPECT_EQ(seen ? RI_RING_GRANT_SLOT : RI_RING_GRANT_OUT, state(r));
            if (first == 0) { /* the receiver is not in the library */
                for (unsigned i = 0; i < 20; ++i) {
                    m_a->progress();
                }
                check_sent(s);
                EXPECT_EQ(RI_RING_GRANT_SLOT, state(r));
                EXPECT_FALSE(r->done);
                cancel_in_vain(r);
            } else if (first == 1) { /* the sender is not */
                for (unsigned i = 0; i < 20; ++i) {
                    m_b->progress();
                }
                EXPECT_TRUE(r->done);
            }
            pump();
            check(r, s);
            check_sent(s);
            check_rtrs(1, (seen || (first != 1)) ? 1 : 0);
            EXPECT_EQ(0u, m_conn->coop.slots);
            m_a->release_done();
            m_b->release_done();
        }
    }
}

TEST_F(test_rtr_meet, slot_that_fails)
{
    for (ucs_status_t status : {UCS_ERR_INVALID_ADDR, UCS_ERR_UNREACHABLE}) {
        recv_ptr r = post_seen(GIANT);

        m_a_plane->write_status = m_b_plane->read_status = status;
        send_ptr s                                       = send(GIANT);
        pump();
        check(r, s);
        check_sent(s);
        m_a_plane->write_status = m_b_plane->read_status = UCS_OK;
        restart();
    }
}

/* The receiver meets the RTS while the sender is making the slot ready. */
TEST_F(test_rtr_meet, slot_that_is_not_ready)
{
    recv_ptr r = post(GIANT);
    send_ptr s = send(GIANT);

    m_a->progress();
    ASSERT_EQ(RI_RING_GRANT_SLOT, state(r));
    set_state(r, RI_RING_GRANT_SHARING);
    std::thread sender([grant = &word(r), word = (uint64_t)word(r)] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        *grant = word - RI_RING_GRANT_SHARING + RI_RING_GRANT_SLOT;
    });
    m_b->progress();
    sender.join();
    pump();
    check(r, s);
    check_sent(s);
    check_rtrs(1, 1);
}

TEST_F(test_rtr_meet, pool)
{
    ri_config.hybrid_thresh = 65536;
    ri_config.pool_size     = 1 << 20;
    restart();
    recv_ptr r = post_seen();
    send_ptr s = send(MEDIUM);
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(r)) << "better than the pool";
    pump();
    check(r, s);
    check_rtrs(1, 1);

    for (bool seen : {true, false}) {
        r                           = post();
        m_conn->rtr.table->expected = 0; /* or it waits for the RTR */
        s                           = send(MEDIUM);
        check_sent(s);
        if (seen) {
            m_a->progress();
            EXPECT_EQ(0u, waiting());
            EXPECT_EQ(RI_RING_GRANT_OUT, state(r)) << "nobody is told";
        }
        m_b->progress();
        check(r, s);
        pump();
        check_rtrs(1, 0);
    }
    EXPECT_EQ(2u, m_a->counters().conns.tx_hybrid);
    ri_config.hybrid_thresh = ri_config.pool_size = 0;
}

TEST_F(test_rtr_meet, eager)
{
    for (bool seen : {true, false}) {
        for (bool sync : {true, false}) {
            for (size_t length : {0, 8, 1000, 1024, 5000, 8192}) {
                SCOPED_TRACE(length);
                recv_ptr r = seen ? post_seen() : post();
                send_ptr s = send(length, sync);
                EXPECT_EQ(0u, waiting());
                EXPECT_EQ(RI_RING_GRANT_OUT, state(r));
                if (length % 16) {
                    m_a->progress();
                }
                m_b->progress();
                check(r, s);
                pump();
                check_sent(s);
                check_rtrs(1, 0);
                /* r's memory is the application's again */
                m_b->worker()->senders.classes->credit = 0;
                bytes before                           = r->buffer;
                send_ptr s2                            = send();
                pump();
                EXPECT_EQ(before, r->buffer);
                recv_ptr r2 = post();
                pump();
                check(r2, s2);
                for (unsigned i = 0; i < 4; ++i) { /* pays again */
                    ri_sender_map_credit(&m_b->worker()->senders, TAG, ALL, stream()->id,
                                         1);
                }
                check_rtrs(0, 0);
            }
        }
    }
    EXPECT_EQ(0u, m_a_plane->writes);
}

TEST_F(test_rtr_meet, eager_by_active_message)
{
    for (size_t length : {(size_t)8, EAGER, (size_t)8192}) {
        recv_ptr r = post_seen();

        m_conn->flags |= RI_CONN_BEHIND_RMA;
        ri_conn_update_fast(m_conn);
        send_ptr s = send(length);
        m_conn->flags &= ~RI_CONN_BEHIND_RMA;
        ri_conn_update_fast(m_conn);
        EXPECT_EQ(0u, waiting());
        pump();
        check(r, s);
        recv_ptr again = post(); /* keeps it worth while */
        s              = send();
        pump();
        check(again, s);
    }
}

TEST_F(test_rtr_meet, longer_message)
{
    for (bool seen : {true, false}) {
        for (size_t length : {(size_t)10001, MEDIUM, GIANT}) {
            recv_ptr r = seen ? post_seen(10000) : post(10000);
            send_ptr s = send(length);
            m_a->progress();
            EXPECT_EQ(0u, waiting()) << "used up";
            EXPECT_EQ(RI_RING_GRANT_OUT, state(r));
            pump();
            check(r, s);
            check_sent(s);
            EXPECT_EQ(bytes(10000), r->buffer);
            check_rtrs(1, 0);
        }
    }
    EXPECT_EQ(0u, m_a_plane->writes);
}

/* A late RTR names a message that was sent as RTS. If another one has its request's id meanwhile,
 * on this conn or another one, the RTR is not for that. */
TEST_F(test_rtr_meet, late_and_the_request_is_another_one)
{
    second();
    for (bool other_conn : {false, true}) {
        recv_ptr r      = post_seen();
        ri_conn_t *conn = other_conn ? m_conn2 : m_conn;
        send_ptr s      = m_a->send(conn, pattern(9, LARGE), TAG + 1);
        ri_send_req_t *of =
                reinterpret_cast<ri_send_req_t *>(ri_req_of_handle(s->handle));
        ri_rtr_late_t late = {};

        ASSERT_EQ(1u, waiting());
        for (unsigned i = 0; i < m_conn->rtr.table->num_waiting; ++i) {
            if (ri_rtr_table_is_out(&m_conn->rtr.table->waiting[i])) {
                late.rtr = m_conn->rtr.table->waiting[i];
            }
        }
        late.sn     = of->sn - !other_conn;
        late.req_id = of->id;
        ri_rtr_table_add_late(m_conn->rtr.table, &late);
        ucs_list_add_tail(&m_a->worker()->rtr.late_conns, &m_conn->rtr.late_link);
        m_a->worker()->attention = 1;
        m_a->progress();
        EXPECT_EQ(0u, m_conn->rtr.table->num_late);
        EXPECT_EQ(0u, m_a_plane->writes);
        EXPECT_FALSE(s->done);
        cancel(r);
        recv_ptr mine = post(LARGE, TAG + 1);
        pump();
        check(mine, s);
    }
}

/* Messages of another sender */

TEST_F(test_rtr_meet, contest_is_won)
{
    second();
    for (size_t length : {EAGER, MEDIUM, LARGE}) {
        guess(stream());
        recv_ptr r = post_seen();
        EXPECT_EQ(1u, waiting());
        EXPECT_EQ(0u, waiting(m_conn2));
        send_ptr s2 = send2(length);
        pump();
        check(r, s2);
        EXPECT_EQ(bytes(LARGE - length),
                  bytes(r->buffer.begin() + length, r->buffer.end()));
        send_ptr s1 = send();
        pump();
        recv_ptr r1 = post();
        pump();
        check(r1, s1);
    }
    EXPECT_EQ(0u, m_a_plane->writes);
}

TEST_F(test_rtr_meet, contest_counts_for_those_behind)
{
    second();
    recv_ptr r1 = post(), r2 = post(), r3 = post();
    m_a->progress();
    EXPECT_EQ(3u, waiting());
    send_ptr s2 = send2(EAGER);
    pump();
    check(r1, s2);
    send_ptr a = send(), b = send();
    pump();
    check(r2, a);
    check(r3, b);
    check_rtrs(5, 2);
}

/* ... up to the last receive that may count the one that another sender takes */
TEST_F(test_rtr_meet, contest_counts_for_the_last_one_behind)
{
    second();
    guess(stream());
    std::vector<recv_ptr> r;
    for (unsigned i = 0; i + 1 < RI_RTR_DEPTH; ++i) {
        r.push_back(post(EAGER)); /* no RTRs */
    }
    recv_ptr last = post_seen();
    EXPECT_EQ(1u, waiting());
    send_ptr s2 = send2(8);
    progress_both();
    check(r[0], s2);
    EXPECT_EQ(1u, waiting());
    for (unsigned i = 1; i < r.size(); ++i) {
        send(8);
    }
    send_ptr s = send();
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(last));
    pump();
    check(last, s);
    check_rtrs(2, 1);
}

TEST_F(test_rtr_meet, contest_is_lost)
{
    second();
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        for (bool next : {true, false}) {
            guess(stream());
            recv_ptr r = post_seen(), any;
            if (next) {
                any = m_b->recv(0, 0, LARGE);
            }
            m_a_plane->write_status = status;
            m_conn->flags |= RI_CONN_BEHIND_RMA; /* what follows is late */
            send_ptr s1             = send();
            m_a_plane->write_status = UCS_OK;
            send_ptr s2             = m_a->send(m_conn2, pattern(77, EAGER), TAG);
            if (m_conn2->ring == nullptr) {
                m_ab2->to->deliver(m_ab2->sent[0].header, m_ab2->sent[0].data);
                m_ab2->sent.pop_front();
            }
            m_b->progress();
            EXPECT_FALSE(r->done) << "promised";
            m_conn->flags &= ~RI_CONN_BEHIND_RMA;
            if (next) {
                check(any, s2);
            }
            cancel_in_vain(r);
            pump();
            check(r, s1);
            if (!next) {
                any = post();
                pump();
                check(any, s2);
            }
        }
    }
}

TEST_F(test_rtr_meet, contest_by_a_message_to_itself)
{
    endpoint *ep    = m_b->new_endpoint(m_b.get());
    ri_conn_t *self = m_b->connect(ep, RECEIVER, RI_CONN_USER | RI_CONN_SELF);

    recv_ptr r  = post_seen();
    send_ptr s0 = m_b->send(self, pattern(5, LARGE), TAG);
    check(r, s0);
    recv_ptr r2 = post_seen();
    send_ptr s2 = send();
    s0          = m_b->send(self, pattern(6, EAGER), TAG);
    EXPECT_FALSE(r2->done);
    m_b->progress();
    check(r2, s2);
    recv_ptr r3 = post();
    check(r3, s0);
}

TEST_F(test_rtr_meet, one_class_is_out_to_one_sender)
{
    second();
    recv_ptr r1 = post();
    guess(stream2());
    recv_ptr r2 = post();
    EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r1));
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r2));
    progress_both(5);
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r2));
    send_ptr s1 = send(8); /* from which nothing is learnt */
    progress_both(5);
    check(r1, s1);
    ASSERT_EQ(RI_RTR_BY_GRANT, rtr(r2));
    EXPECT_EQ(stream2(), req(r2)->rtr.stream);
    EXPECT_EQ(1u, waiting(m_conn2));
    EXPECT_EQ(0u, waiting());
    send_ptr s2 = send2();
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(r2));
    pump();
    check(r2, s2);
    check_rtrs(2, 1);
}

/* The way to a peer changes while RTRs are out */
class test_rtr_ways : public rtr_test {
protected:
    void SetUp() override
    {
        rtr_test::SetUp();
        m_a_rdma = std::make_unique<rdma>(*m_a);
        m_b_rdma = std::make_unique<rdma>(*m_b);
        ri_rtr_net_listen(m_a->worker());
        ri_rtr_net_listen(m_b->worker());
        ri_way_open_ask(m_conn);
        pump();
        ASSERT_TRUE(m_conn->flags & RI_CONN_WAY);
        ASSERT_TRUE(stream()->way.any);
    }

    void TearDown() override
    {
        rtr_test::TearDown();
        m_a_rdma.reset();
        m_b_rdma.reset();
    }

    std::unique_ptr<rdma> m_a_rdma, m_b_rdma;
};

/* From shared memory to the network: what is out with a grant ends before another receive of the
 * same tag is offered by message. */
TEST_F(test_rtr_ways, from_grants_to_messages)
{
    recv_ptr r1 = post_seen();

    ri_local_fail(m_b->worker(), stream()->peer);
    ri_local_fail(m_a->worker(), m_conn->peer);
    ASSERT_TRUE(ri_rtr_net_is_possible(stream()));
    recv_ptr r2 = post();
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r2));
    EXPECT_EQ(0u, m_ba->count(RI_WIRE_RTR));
    recv_ptr other = post(LARGE, TAG + 1); /* nobody has learnt of that tag */
    cancel(r1);
    progress_both(5);
    EXPECT_EQ(RI_RTR_BY_KEY, rtr(r2));
    deliver();
    send_ptr s = send();
    pump();
    check(r2, s);
    EXPECT_EQ(1u, m_a_rdma->writes);
    m_b->cancel(other);
    check_rtrs(2, 1);
}

} // namespace
