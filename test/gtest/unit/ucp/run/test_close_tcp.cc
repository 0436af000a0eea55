/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Closes over TCP, where UCX's flush needs an answer of the peer: one that closes as well is not
 * waited for, one that computes is. (run/close.h, run/ep_op.c)
 */

#include "unit/common/setting.h"
#include "unit/ucp/run/close_test.h"

extern "C" {
#include "ucp/core/settings/stock_transport.h"
#include "ucp/link/control.h"
}

#include <cmath>

namespace {

class test_close_tcp : public close_test {
protected:
    void SetUp() override
    {
        pool_send_test::SetUp();
        start_over(false);
    }

    void TearDown() override
    {
        m_ucx->complete();
        pool_send_test::TearDown();
    }

    /* Two workers that have sent nothing, and a UCX that ends all at once */
    void start_over(bool rings)
    {
        m_ucx->complete();
        m_ucx->flush_mode = m_ucx->close_mode = AT_ONCE;
        stop();
        ri_config.ring_peers = rings ? 4 : 0;
        start();
        m_ab->tcp = m_ba->tcp = true;
    }

    /* Messages of one side */
    void talk_one_way()
    {
        m_a->send(m_conn, bytes(100), 1);
        m_b->recv(1, ~0ul, 100);
        calm_down();
    }

    void talk_both_ways()
    {
        talk_one_way();
        m_b->send(m_back, bytes(100), 1);
        m_a->recv(1, ~0ul, 100);
        calm_down();
    }

    /* Hand over what was sent, but end nothing of UCX's. */
    void pump()
    {
        do {
            deliver();
            progress_both(10);
        } while (is_any_sent());
    }

    static void stall(fake::ucx *ucx) { ucx->flush_mode = ucx->close_mode = LATER; }

    ucs_status_ptr_t close(ri_conn_t *conn)
    {
        ucs_status_ptr_t ret = start_close(conn);

        pump();
        return ret;
    }

    static void end(ucs_status_ptr_t ret)
    {
        EXPECT_EQ(UCS_OK, ri_req_of_handle(ret)->status);
        close_test::end(ret);
    }

    /* The peer of @a conn said that it closes */
    static bool is_closing(const ri_conn_t *conn)
    {
        return conn->peer->closing || conn->peer->all_bye;
    }

    setting<double> m_grace{ri_close_grace, 0};
    setting<double> m_answer_grace{ri_close_answer_grace, 0};
    setting<int> m_like_mpich{ri_close_like_mpich, 1};
};

TEST_F(test_close_tcp, transport_is_found)
{
    EXPECT_TRUE(ri_stock_transport_is_tcp(m_ab->handle()));
    m_ab->tcp = false;
    EXPECT_FALSE(ri_stock_transport_is_tcp(m_ab->handle()));
    m_ab->tcp              = true;
    ri_stock.ep_print_info = NULL; /* of a UCX that has it not */
    EXPECT_FALSE(ri_stock_transport_is_tcp(m_ab->handle()));
}

/* Both close, and the flush of neither is answered: as in an MPI's finalisation, where who has
 * ended its own closes calls UCX no more. */
TEST_F(test_close_tcp, both_close_and_nobody_answers)
{
    for (bool rings : {false, true}) {
        for (bool both : {false, true}) {
            for (bool b_first : {false, true}) {
                SCOPED_TRACE(std::string(rings ? "rings " : "") + (both ? "both " : "") +
                             (b_first ? "b first" : ""));
                start_over(rings);
                both ? talk_both_ways() : talk_one_way();
                stall(m_ucx.get());

                ucs_status_ptr_t first = close(b_first ? m_back : m_conn);
                for (int i = 0; i < 100; ++i) {
                    pump();
                }
                EXPECT_FALSE(has_ended(first)); /* its peer may compute */
                ucs_status_ptr_t second = close(b_first ? m_conn : m_back);
                pump();
                end(first);
                end(second);
                EXPECT_TRUE(m_ab->closed && m_ba->closed);
            }
        }
    }
}

/* A side that has ended does not call the library any more. */
TEST_F(test_close_tcp, the_word_is_out_before_the_close_ends)
{
    for (bool b_first : {false, true}) {
        start_over(false);
        talk_one_way();
        stall(m_ucx.get());
        ucs_status_ptr_t first = close(b_first ? m_back : m_conn);

        EXPECT_TRUE(is_closing(b_first ? m_conn : m_back));
        m_ucx->complete(); /* it was answered */
        pump();
        end(first);

        /* Nobody takes what the second one says, or answers it. */
        ucp_request_param_t param = {};
        ucs_status_ptr_t second   = ri_ep_close(b_first ? m_conn : m_back, &param);
        for (int i = 0; i < 10; ++i) {
            (b_first ? m_a : m_b)->progress();
        }
        end(second);
        m_ab->sent.clear();
        m_ba->sent.clear();
    }
}

/* Without the peer's word a close lasts as long as UCX's flush, whatever the settings are. */
TEST_F(test_close_tcp, peer_computes)
{
    talk_both_ways();
    stall(m_ucx.get());
    ri_config.close_timeout = 0;
    ucs_status_ptr_t ret    = close(m_conn);

    EXPECT_EQ(1u, m_ucx->num_flushed);
    for (int i = 0; i < 1000; ++i) {
        pump();
    }
    EXPECT_FALSE(has_ended(ret));
    EXPECT_FALSE(m_ab->closed);
    EXPECT_FALSE(is_closing(m_conn));
    m_ucx->complete();
    pump();
    end(ret);
    EXPECT_TRUE(m_ab->closed);
    EXPECT_EQ(1u, m_ucx->num_flushed);
}

/* What the peer still moves is waited for, by the time between two looks. */
TEST_F(test_close_tcp, grace)
{
    ri_close_answer_grace = 0.2;
    talk_both_ways();
    stall(m_ucx.get());
    ucs_status_ptr_t ret = close(m_conn);
    ri_close_wait_t wait = {};

    m_a->deliver(wire_msg(RI_WIRE_CLOSING, m_conn->id, 0));
    pump();
    EXPECT_FALSE(has_ended(ret));
    ri_close_start_wait(m_conn, &wait);
    for (int i = 1; i <= 16; ++i) {
        wait.checked -= 1; /* as if it was long ago */
        EXPECT_EQ(i == 16, ri_close_is_unanswered(m_conn, &wait)) << i;
    }
    ri_close_answer_grace = 0;
    pump();
    end(ret);
}

/* Nothing was sent: UCX would connect the endpoint for its flush, so each side asks for the other's
 * stream, to say that it closes. Neither waits for a flush that nobody answers. */
TEST_F(test_close_tcp, unused)
{
    for (bool b_first : {false, true}) {
        for (bool answered : {false, true}) {
            SCOPED_TRACE(std::string(b_first ? "b first " : "") +
                         (answered ? "answered" : ""));
            start_over(false);
            stall(m_ucx.get());
            ucs_status_ptr_t first = close(b_first ? m_back : m_conn);
            for (int i = 0; i < 100; ++i) {
                pump();
            }
            EXPECT_FALSE(has_ended(first));
            if (answered) {
                m_ucx->complete();
                pump();
                EXPECT_TRUE(has_ended(first));
            }
            ucs_status_ptr_t second = close(b_first ? m_conn : m_back);
            pump();
            end(first);
            end(second);
        }
    }
}

/* The peer does not answer the question for its stream: it computes, or has a message that it never
 * receives. It is waited for until it says that it closes. */
TEST_F(test_close_tcp, question_without_an_answer)
{
    stall(m_ucx.get());
    m_a->send(m_conn, bytes(100), 1);
    ucp_request_param_t param = {};
    ucs_status_ptr_t ret      = ri_ep_close(m_conn, &param);
    for (int i = 0; i < 1000; ++i) {
        m_a->progress(); /* the peer does nothing */
    }
    EXPECT_FALSE(has_ended(ret));
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_CONN_REQ));
    EXPECT_EQ(0u, m_ucx->num_flushed);

    /* The peer is in its own close, and takes what was sent. */
    ucs_status_ptr_t second = close(m_back);
    m_ucx->complete();
    pump();
    end(ret);
    end(second);
    m_b->recv(1, ~0ul, 100); /* it was there */
}

/* What UCX says of a flush or a close that has failed is what the application gets to know. */
TEST_F(test_close_tcp, flush_fails)
{
    talk_both_ways();
    stall(m_ucx.get());
    m_ucx->close_mode    = FAILS;
    ucs_status_ptr_t ret = close(m_conn);
    m_ucx->complete(UCS_ERR_CONNECTION_RESET);
    pump();
    EXPECT_TRUE(has_ended(ret));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, ri_req_of_handle(ret)->status);
    ri_req_put(ri_req_of_handle(ret));
}

TEST_F(test_close_tcp, close_fails)
{
    talk_both_ways();
    stall(m_ucx.get());
    m_ucx->close_mode    = FAILS;
    ucs_status_ptr_t ret = close(m_conn);
    m_ucx->complete();
    pump();
    EXPECT_TRUE(has_ended(ret));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, ri_req_of_handle(ret)->status);
    ri_req_put(ri_req_of_handle(ret));
}

/* Programs that may receive after their close are left to UCX. */
TEST_F(test_close_tcp, not_of_mpich)
{
    stall(m_ucx.get());
    ucp_request_param_t param = {};
    ri_close_like_mpich       = 0;
    EXPECT_TRUE(UCS_PTR_IS_PTR(ri_ep_close(m_conn, &param))); /* UCX's own request */
    EXPECT_TRUE(m_ab->sent.empty());
    EXPECT_FALSE(m_ucx->requests.back()->freed);
    m_ucx->requests.back()->freed = true;
    ri_close_like_mpich           = 1;
}

/* Other transports, and error handling that ends a flush, are left to UCX. */
TEST_F(test_close_tcp, others)
{
    for (bool peer_mode : {false, true}) {
        start_over(false);
        talk_both_ways();
        ri_control_ask(m_conn);
        pump();
        stall(m_ucx.get());
        m_ab->tcp = peer_mode;
        m_conn->flags |= peer_mode ? RI_CONN_PEER_MODE : 0;
        size_t byes               = m_ab->count(RI_WIRE_BYE);
        ucp_request_param_t param = {};
        ASSERT_TRUE(UCS_PTR_IS_PTR(ri_ep_close(m_conn, &param)));
        EXPECT_EQ(0u, m_ab->count(RI_WIRE_CLOSING));
        EXPECT_EQ(byes + peer_mode, m_ab->count(RI_WIRE_BYE));
        m_ucx->requests.back()->freed = true;
    }
}

/* A message that nobody has received, over TCP */
TEST_F(test_close_tcp, left_message)
{
    talk_both_ways();
    connect_planes();
    bytes content = pattern(1, LONG);
    send_ptr s    = send_for_good(content, 5);
    stall(m_ucx.get());
    ucs_status_ptr_t close_a = close(m_conn);
    EXPECT_EQ(0u, m_ucx->num_flushed); /* its own part is not over */
    ucs_status_ptr_t close_b = close(m_back);
    pump();
    end(close_b);
    end(close_a);
    EXPECT_EQ(1u, m_a->worker()->closes.num_left);
    EXPECT_FALSE(s->done);
    EXPECT_TRUE(m_ab->closed && m_ba->closed);
}

/* The peer computes for longer than the close waits for it, and receives then: the word is said when
 * nothing is left. */
TEST_F(test_close_tcp, left_message_is_received_during_the_flush)
{
    talk_one_way();
    connect_planes();
    bytes content = pattern(1, LONG);
    send_ptr s    = send_for_good(content, 5);
    stall(m_ucx.get());
    ri_config.close_timeout   = 0;
    ucp_request_param_t param = {};
    ucs_status_ptr_t ret      = ri_ep_close(m_conn, &param);
    for (int i = 0; i < 10; ++i) {
        m_a->progress();
    }
    EXPECT_EQ(1u, m_ucx->num_flushed); /* it was left */
    ri_config.close_timeout = INFINITY;
    recv_ptr r              = m_b->recv(5, ~0ul, LONG);
    pump();
    EXPECT_TRUE(r->done && (r->buffer == content));
    EXPECT_FALSE(has_ended(ret));
    m_ucx->complete(); /* the peer has answered, too */
    pump();
    m_ucx->complete();
    pump();
    end(ret);
    EXPECT_EQ(0u, m_a->worker()->closes.num_left);
    EXPECT_TRUE(m_back->peer->closing || m_back->peer->all_bye);
}

/* A message of the peer's comes while its answer is waited for. */
TEST_F(test_close_tcp, something_is_sent_meanwhile)
{
    talk_both_ways();
    stall(m_ucx.get());
    ucs_status_ptr_t ret = close(m_conn);
    ucs_list_link_t something; /* that waits for room */

    EXPECT_EQ(1u, m_ucx->num_flushed);
    ucs_list_add_tail(&m_conn->pending, &something);
    m_ucx->complete();
    m_ucx->flush_mode = LATER;
    ri_ep_ops_progress(m_a->worker());
    EXPECT_FALSE(has_ended(ret));
    ri_ep_ops_progress(m_a->worker());
    EXPECT_EQ(1u, m_ucx->num_flushed);
    ucs_list_del(&something);
    ri_ep_ops_progress(m_a->worker());
    EXPECT_EQ(2u, m_ucx->num_flushed); /* that, too */
    m_ucx->complete();
    pump();
    end(ret);
}

/* Its worker ends during the flush. */
TEST_F(test_close_tcp, does_not_outlive_its_worker)
{
    talk_both_ways();
    stall(m_ucx.get());
    ucp_request_param_t param = {};
    ucs_status_t status       = UCS_INPROGRESS;
    param.op_attr_mask        = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data           = &status;
    param.cb.send             = [](void *request, ucs_status_t how, void *arg) {
        *static_cast<ucs_status_t *>(arg) = how;
        ri_req_put(ri_req_of_handle(request));
    };
    ASSERT_TRUE(UCS_PTR_IS_PTR(ri_ep_close(m_conn, &param)));
    pump();
    EXPECT_EQ(1u, m_ucx->num_flushed);
    m_a->may_end_open = true;
    stop();
    EXPECT_EQ(UCS_ERR_CANCELED, status);
}

/* The peer is not told while the application has another endpoint to it. */
TEST_F(test_close_tcp, another_endpoint_is_there)
{
    talk_both_ways();
    endpoint *ab2  = m_a->new_endpoint(m_b.get());
    ri_conn_t *two = m_a->connect(ab2, RECEIVER);
    stall(m_ucx.get());
    ucs_status_ptr_t ret = close(m_conn);
    EXPECT_FALSE(is_closing(m_back));
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_BYE));
    m_ucx->complete();
    pump();
    end(ret);
    EXPECT_FALSE(is_closing(m_back));
    (void)two;
}

/* BYE means that the peer closes only if no stream of it is open any more. */
TEST_F(test_close_tcp, one_of_two_endpoints_of_the_peer)
{
    talk_both_ways();
    endpoint *ab2  = m_a->new_endpoint(m_b.get());
    ri_conn_t *two = m_a->connect(ab2, RECEIVER);
    m_a->send(two, bytes(100), 1);
    recv_ptr r = m_b->recv(1, ~0ul, 100);
    for (const packet &p : ab2->sent) {
        m_b->deliver(p.header, p.data);
    }
    ab2->sent.clear();
    EXPECT_TRUE(r->done);
    ASSERT_EQ(2u, ucs_list_length(&m_back->peer->streams));

    ri_stream_t *latest = ucs_list_head(&m_back->peer->streams, ri_stream_t, peer_list);
    m_b->deliver(wire_msg(RI_WIRE_BYE, latest->id, 100));
    EXPECT_FALSE(is_closing(m_back));
    ri_stream_t *other = ucs_list_tail(&m_back->peer->streams, ri_stream_t, peer_list);
    m_b->deliver(wire_msg(RI_WIRE_BYE, other->id, 100));
    EXPECT_TRUE(is_closing(m_back));
    m_a->may_end_open = m_b->may_end_open = true;
}

} // namespace
