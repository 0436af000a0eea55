/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Peers that have ended without a word. (src/ucp/link/gone.c) The tests run src/ucp/core/peer.c and
 * src/ucp/link/local.c, too.
 */

#include "unit/common/rndv_test.h"
#include "unit/common/setting.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace {

class test_gone : public rndv_test {
protected:
    void SetUp() override
    {
        rndv_test::SetUp();
        with_rings();
        connect_planes();
    }

    /* The sender looks for the receiver. */
    void look(unsigned times = 1)
    {
        for (; times > 0; --times) {
            ri_gone_check(m_a->worker());
        }
    }

    /* UCX gives up what it has. */
    void complete_all()
    {
        m_ucx->send_mode = AT_ONCE;
        for (fake::request *req : m_ucx->requests) {
            req->ready = true;
        }
        m_ucx->complete(UCS_ERR_CANCELED);
    }

    setting<double> m_interval{ri_gone_interval, 0};
};

TEST_F(test_gone, send_that_waits)
{
    memory from(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    look(5);
    EXPECT_FALSE(s->done) << "it exists";
    m_a_plane->gone = true;
    look();
    EXPECT_FALSE(s->done) << "its answer may be there already";
    look();
    ASSERT_TRUE(s->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, s->status);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_conn->status);
    EXPECT_EQ(nullptr, m_conn->ring);
    rndv_ptr later = send(from, 5);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, later->status);
}

/* UCX does not notice either: what it has in its hands ends all the same, and its callback, if it
 * comes after all, finds nothing. */
TEST_F(test_gone, send_that_ucx_has)
{
    for (size_t length : {size_t(8), size_t(1024), size_t(5000), LONG}) {
        for (bool sync : {false, true}) {
            SCOPED_TRACE(std::to_string(length) + (sync ? " sync" : ""));
            memory from(CONTIG, length);
            m_conn->flags |= RI_CONN_BEHIND_RMA | RI_CONN_AM_READY; /* no ring */
            m_conn->flags &= ~(RI_CONN_PLANE_READ | RI_CONN_PLANE_WRITE);
            ri_conn_update_fast(m_conn);
            m_ucx->send_mode = LATER;
            size_t in_use    = m_a->worker()->reqs.in_use;
            rndv_ptr s       = send(from, 5, sync);
            ASSERT_FALSE(s->done);
            EXPECT_LE(1u, m_ucx->num_pending());

            look(5);
            EXPECT_FALSE(s->done);
            m_a_plane->gone = true;
            look(2);
            ASSERT_TRUE(s->done);
            EXPECT_EQ(UCS_ERR_CONNECTION_RESET, s->status);
            s.reset();
            EXPECT_EQ(in_use, m_a->worker()->reqs.in_use);
            complete_all();
            stop();
            start();
            connect_planes();
        }
    }
}

/* The data of a rendezvous, too, also while UCX has the RTS still. */
TEST_F(test_gone, data_that_ucx_has)
{
    memory from(CONTIG, LONG), to(CONTIG, LONG);

    m_conn->flags |= RI_CONN_BEHIND_RMA;
    m_ucx->send_mode               = LATER;
    rndv_ptr s                     = send(from, 5);
    m_ucx->requests.front()->ready = false; /* stock is slow to say that the RTS is out */
    recv_ptr r                     = recv(to, 5);
    m_b_plane->read_status         = UCS_ERR_INVALID_ADDR;
    for (int i = 0; i < 10; ++i) {
        deliver();
        m_ucx->complete();
    }
    m_a_plane->gone = true;
    look(2);
    ASSERT_TRUE(s->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, s->status);
    s.reset();
    complete_all();
    m_b->may_end_open = true;
}

TEST_F(test_gone, looks_in_a_row)
{
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    for (unsigned i = 0; i < 5; ++i) {
        m_a_plane->gone = true;
        look();
        m_a_plane->gone = false;
        look();
    }
    EXPECT_FALSE(s->done);
    recv_ptr r = recv(to, 5);
    pump();
    EXPECT_TRUE(r->done && s->done);
    EXPECT_EQ(UCS_OK, s->status);
}

TEST_F(test_gone, not_too_often)
{
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    look();
    ri_gone_interval = 1e9;
    m_a_plane->gone  = true;
    look(5);
    EXPECT_FALSE(s->done);
    m_a_plane->gone = false;
    recv_ptr r      = recv(to, 5);
    pump();
    EXPECT_TRUE(r->done && s->done);
}

/* Processes end in any order when a program ends. */
TEST_F(test_gone, nothing_waits)
{
    m_a_plane->gone = true;
    look(5);
    EXPECT_EQ(UCS_OK, m_conn->status);
    EXPECT_NE(nullptr, m_conn->ring);
}

TEST_F(test_gone, mode_peer)
{
    memory from(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    m_conn->flags |= RI_CONN_PEER_MODE; /* UCX reports it, or not */
    m_a_plane->gone = true;
    look(5);
    EXPECT_FALSE(s->done);
    ri_conn_endpoint_failed(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, s->status);
}

TEST_F(test_gone, close_that_waits)
{
    ucp_request_param_t param = {};
    memory from(CONTIG, LONG);
    rndv_ptr s             = send(from, 5);
    ucs_status_ptr_t close = ri_ep_close(m_conn, &param);

    ASSERT_TRUE(UCS_PTR_IS_PTR(close));
    m_a->progress();
    EXPECT_EQ(UCS_INPROGRESS, ucp_request_check_status(close));
    m_a_plane->gone = true;
    look(2);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, s->status);
    m_a->progress();
    m_ucx->complete();
    EXPECT_EQ(0u, ucs_list_length(&m_a->worker()->conns));
    ri_req_put(ri_req_of_handle(close));
}

/* A receive whose data has been asked for, as it could not be read. */
TEST_F(test_gone, receive_that_waits)
{
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    rndv_ptr s             = send(from, 5);
    recv_ptr r             = recv(to, 5);
    m_b_plane->read_status = UCS_ERR_UNREACHABLE;

    m_b->progress();
    EXPECT_FALSE(r->done);
    EXPECT_EQ(nullptr, stream()->peer->local.ep);
    m_b_plane->gone = true;
    ri_gone_check(m_b->worker());
    EXPECT_FALSE(r->done);
    ri_gone_check(m_b->worker());
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_back->status);
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
}

/* What comes by RTS from a process that is gone ends at once. */
TEST_F(test_gone, receive_of_what_was_left)
{
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    m_b->progress();
    m_b_plane->gone        = true;
    m_b_plane->read_status = UCS_ERR_UNREACHABLE;
    recv_ptr r             = recv(to, 5);
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
}

/* The receiver cannot read, and is gone before the data is sent by UCP. */
TEST_F(test_gone, answer_of_the_dead)
{
    memory from(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    m_a_plane->gone = true;
    to_sender(RI_WIRE_NACK, s->req()->id, 77);
    ASSERT_TRUE(s->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, s->status);
    EXPECT_TRUE(m_ab->sent.empty());
}

/* The application sleeps on UCX's set of events. */
class test_gone_asleep : public test_gone {
protected:
    void SetUp() override
    {
        test_gone::SetUp();
        m_set                    = epoll_create1(EPOLL_CLOEXEC);
        m_events                 = m_set;
        ri_stock.worker_get_efd  = get_efd;
        m_a->worker()->countdown = 1u << 20;
    }

    void TearDown() override
    {
        ri_stock.worker_get_efd = nullptr;
        test_gone::TearDown();
        close(m_set);
    }

    static ucs_status_t get_efd(ucp_worker_h, int *fd)
    {
        *fd = m_events;
        return (m_events >= 0) ? UCS_OK : UCS_ERR_UNSUPPORTED;
    }

    int arm() { return ri_gone_arm(m_a->worker()); }

    bool is_awake(int timeout)
    {
        pollfd p = {m_set, POLLIN, 0};

        return poll(&p, 1, timeout) == 1;
    }

    /* Sleep until the timer has an event, and progress. */
    void sleep()
    {
        double before = ri_clock_now();

        EXPECT_EQ(0, arm());
        ASSERT_GT(m_a->worker()->gone.wakes, before) << "or it would be awake at once";
        ASSERT_TRUE(is_awake(10000));
        EXPECT_EQ(1, arm()) << "progress first";
        EXPECT_FALSE(is_awake(0));
        m_a->progress();
    }

    setting<double> m_sleep{ri_gone_sleep, 0.001};
    int m_set;
    static int m_events; /* of stock's worker; -1: there is none */
};

int test_gone_asleep::m_events = -1;

TEST_F(test_gone_asleep, woken_up)
{
    memory from(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    sleep();
    sleep();
    EXPECT_FALSE(s->done) << "it exists";
    m_a_plane->gone = true;
    sleep();
    EXPECT_FALSE(s->done) << "its answer may be there already";
    sleep();
    ASSERT_TRUE(s->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, s->status);
}

TEST_F(test_gone_asleep, woken_up_for_nothing)
{
    for (int i = 0; i < 3; ++i) {
        sleep();
        EXPECT_EQ(0, arm());
        EXPECT_EQ(0, m_a->worker()->gone.wakes) << "there is nothing to wait for";
    }

    /* The look has not been taken yet */
    ri_gone_interval = 1e9;
    sleep();
    EXPECT_EQ(0, arm());
    EXPECT_NE(0, m_a->worker()->gone.wakes);
}

TEST_F(test_gone_asleep, cannot_be_woken_up)
{
    int fds[2];

    ASSERT_EQ(0, pipe(fds));
    for (int events : {-1, fds[0]}) {
        m_a->worker()->gone.never_wakes = 0;
        m_events                        = events;
        EXPECT_EQ(0, arm());
        EXPECT_EQ(0, arm());
        EXPECT_TRUE(m_a->worker()->gone.never_wakes);
        EXPECT_EQ(-1, m_a->worker()->gone.timer);
    }
    close(fds[0]);
    close(fds[1]);
    m_events                        = m_set;
    m_a->worker()->gone.never_wakes = 0;
    m_a->worker()->gone.local       = 0;
    EXPECT_EQ(0, arm());
    EXPECT_EQ(-1, m_a->worker()->gone.timer) << "no peer's process is known";
}

} // namespace
