/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Control messages: CONN_REQ and CONN_ACK, by which two sides get to know each other, and peers
 * that do not answer. (src/ucp/in/control_in.c, src/ucp/link/control.c)
 */

#include "unit/common/control_test.h"

#include <algorithm>
#include <cmath>

namespace {

class test_control_conn : public control_test {};

/* CONN_REQ */

TEST_F(test_control_conn, conn_req_is_answered)
{
    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(REMOTE, REMOTE_CONN));
    ri_wire_msg_t ack = m_ep->take(RI_WIRE_CONN_ACK).parse();
    EXPECT_EQ(REMOTE_CONN, ack.id);
    EXPECT_EQ(LOCAL, ack.uid);
    EXPECT_NE(nullptr, ri_id_get(&worker()->ids.streams, ack.value));
    EXPECT_EQ(1u, ucs_list_length(&worker()->streams));
}

TEST_F(test_control_conn, conn_req_repeated)
{
    for (int i = 0; i < 3; ++i) {
        m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(REMOTE, REMOTE_CONN));
    }
    EXPECT_EQ(1u, ucs_list_length(&worker()->streams));
    uint32_t id = m_ep->take(RI_WIRE_CONN_ACK).parse().value;
    EXPECT_EQ(id, m_ep->take(RI_WIRE_CONN_ACK).parse().value);
    EXPECT_EQ(id, m_ep->take(RI_WIRE_CONN_ACK).parse().value);
}

TEST_F(test_control_conn, conn_req_of_a_stranger_by_its_reply_endpoint)
{
    endpoint *reply = m_node->new_endpoint(nullptr);

    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(STRANGER, REMOTE_CONN),
                    bytes(), PLAIN, reply);
    EXPECT_EQ(1u, reply->count(RI_WIRE_CONN_ACK));
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_CONN_ACK));
    ASSERT_NE(nullptr, ri_conn_find(reply->handle()));

    /* The application creates the endpoint later: the same conn */
    ri_conn_t *conn = ri_conn_find(reply->handle());
    EXPECT_EQ(conn, m_node->connect(reply, STRANGER));
    EXPECT_TRUE(conn->flags & RI_CONN_USER);
}

TEST_F(test_control_conn, conn_req_without_a_way_back)
{
    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(STRANGER, REMOTE_CONN));
    EXPECT_TRUE(m_ep->sent.empty());

    /* A way out comes about, and the peer's next message shows that it waits */
    endpoint *ep = m_node->new_endpoint(nullptr);
    m_node->connect(ep, STRANGER);
    m_node->deliver(wire_msg(RI_WIRE_EAGER, 0, 1).hello(STRANGER, REMOTE_CONN), bytes(8));
    m_node->deliver(wire_msg(RI_WIRE_EAGER, 0, 2).hello(STRANGER, REMOTE_CONN), bytes(8));
    EXPECT_EQ(1u, ep->count(RI_WIRE_CONN_ACK));
}

TEST_F(test_control_conn, conn_req_without_hello)
{
    control(RI_WIRE_CONN_REQ, 5, 0);
    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 5, 0), bytes(), PLAIN, m_ep);
    EXPECT_EQ(2u, malformed());
    EXPECT_TRUE(m_ep->sent.empty());
}

/* Each worker takes active messages by an id of its own (protocol.md sections 2 and 3). The fake
 * UCX expects what is sent on an endpoint to name the id that the endpoint has. */

TEST_F(test_control_conn, hello_tells_the_own_am_id)
{
    ri_wire_msg_t msg;

    ri_control_ask(m_conn);
    msg = m_ep->take(RI_WIRE_CONN_REQ).parse();
    EXPECT_EQ(ri_config.am_id + 1, msg.hello.am_id);
}

TEST_F(test_control_conn, conn_req_tells_the_am_id_of_its_reply_endpoint)
{
    const uint16_t ids[] = {0, 5, RI_WIRE_AM_ID_MAX};

    for (uint32_t i = 0; i < 3; ++i) {
        endpoint *reply = m_node->new_endpoint(nullptr);
        wire_msg ask    = wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(STRANGER + i, 1);

        reply->am_id       = ids[i];
        ask.greeting.am_id = ids[i] + 1;
        m_node->deliver(ask, bytes(), PLAIN, reply);
        EXPECT_EQ(1u, reply->count(RI_WIRE_CONN_ACK));

        m_node->send(ri_conn_find(reply->handle()), pattern(1, 5000), 1);
        EXPECT_FALSE(reply->sent.empty());
    }
}

TEST_F(test_control_conn, address_tells_the_am_id)
{
    endpoint *ep = m_node->new_endpoint(nullptr);

    ep->am_id       = 77;
    ri_conn_t *conn = m_node->connect_by(ep, STRANGER, 77);
    m_node->send(conn, pattern(1, 8), 1);
    m_node->send(conn, pattern(1, 2000), 1);
    m_node->send(conn, pattern(1, 5000), 1);
    EXPECT_LE(3u, ep->sent.size());

    /* A peer whose endpoint the application has: no hello changes it */
    wire_msg ask       = wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(STRANGER, 1);
    ask.greeting.am_id = 99;
    m_node->deliver(ask, bytes(), PLAIN, ep);
    EXPECT_EQ(1u, ep->count(RI_WIRE_CONN_ACK));
}

TEST_F(test_control_conn, what_is_owed_goes_by_the_am_id_of_the_address)
{
    endpoint *ep = m_node->new_endpoint(nullptr);
    wire_msg msg = wire_msg(RI_WIRE_EAGER_SYNC, 0, 1).hello(STRANGER, REMOTE_CONN);
    recv_ptr op  = m_node->recv(0, 0, 8);

    msg.req_id = 7;
    m_node->deliver(msg, bytes(8));
    ASSERT_TRUE(op->done);

    ep->am_id = 77;
    m_node->connect_by(ep, STRANGER, 77);
    EXPECT_EQ(7u, ep->take(RI_WIRE_SYNC_ACK).parse().value);
}

/* What is made from a socket address: the own id, until the peer's hello tells */
TEST_F(test_control_conn, am_id_of_a_peer_by_socket_address)
{
    endpoint *ep    = m_node->new_endpoint(nullptr);
    ri_conn_t *conn = m_node->connect_by(ep, 0, -1, RI_CONN_USER | RI_CONN_BY_SOCKADDR);
    wire_msg ask    = wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(STRANGER, 1);

    m_node->send(conn, pattern(1, 8), 1);
    EXPECT_FALSE(ep->sent.empty());
    ep->sent.clear();

    ep->am_id          = 77;
    ask.greeting.am_id = 78;
    m_node->deliver(ask, bytes(), PLAIN, ep);
    EXPECT_EQ(1u, ep->count(RI_WIRE_CONN_ACK));
    m_node->send(conn, pattern(1, 8), 1);
    EXPECT_FALSE(ep->sent.empty());
}

TEST_F(test_control_conn, conn_ack_says_nothing_of_the_am_id)
{
    endpoint *ep    = m_node->new_endpoint(nullptr);
    ri_conn_t *conn = m_node->connect_by(ep, STRANGER, 77);

    ep->am_id = 77;
    conn_ack(conn, REMOTE_STREAM, STRANGER);
    m_node->send(conn, pattern(1, 8), 1);
    EXPECT_EQ(1u, ep->sent.size());
}

TEST_F(test_control_conn, conn_req_while_closing)
{
    /* The close waits for a send that waits for room; stock may hand the very endpoint
     * out for the reply. */
    conn_ack(m_conn, REMOTE_STREAM);
    m_node->deliver(offer(m_conn));
    send_ptr op               = fill_ring();
    ucp_request_param_t param = {};
    ucs_status_ptr_t close    = ri_ep_close(m_conn, &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(close));

    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(REMOTE, REMOTE_CONN), bytes(),
                    PLAIN, m_ep);
    EXPECT_FALSE(op->done) << "the message was lost";
    EXPECT_EQ(m_conn, ri_conn_find(m_ep->handle()));

    while (next_record() != 0) {
        m_node->progress();
    }
    m_node->progress();
    EXPECT_TRUE(op->done);
    EXPECT_EQ(UCS_OK, op->status);
    EXPECT_TRUE(m_ep->closed);
    EXPECT_TRUE(ri_req_flags(ri_req_of_handle(close)) & RI_REQ_COMPLETED);
    ri_req_put(ri_req_of_handle(close));
}

TEST_F(test_control_conn, conn_req_with_a_wrong_uid_on_a_used_endpoint)
{
    send_ptr op = m_node->send(m_conn, pattern(1, 100), 1, true); /* waits */

    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, 0).hello(STRANGER, REMOTE_CONN),
                    bytes(), PLAIN, m_ep);
    ri_conn_t *conn = ri_conn_find(m_ep->handle());
    ASSERT_NE(nullptr, conn);
    EXPECT_TRUE(conn->flags & RI_CONN_USER);
    EXPECT_FALSE(op->done) << "a peer's claim ends the application's sends";
    if (!op->done) {
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
    }
}

/* Stock frees reply endpoints of error mode PEER when it pleases */

TEST_F(test_control_conn, reply_endpoint_that_may_vanish)
{
    endpoint *reply = m_node->new_endpoint(nullptr);
    wire_msg ask(RI_WIRE_CONN_REQ, 0, RI_WIRE_CONN_REQ_PEER);
    wire_msg msg(RI_WIRE_EAGER_SYNC, 0, 1);

    ask.hello(STRANGER, REMOTE_CONN);
    m_node->deliver(ask, bytes(), PLAIN, reply);
    EXPECT_EQ(1u, reply->count(RI_WIRE_CONN_ACK));
    EXPECT_EQ(nullptr, ri_conn_find(reply->handle()));
    reply->closed = true; /* the fake does not let it be used any more */

    msg.req_id = 0x99;
    m_node->deliver(msg.hello(STRANGER, REMOTE_CONN), bytes(8));
    EXPECT_TRUE(m_node->recv(0, 0, 8)->done);

    /* When it asks again, it gets what it waits for */
    reply = m_node->new_endpoint(nullptr);
    m_node->deliver(ask, bytes(), PLAIN, reply);
    EXPECT_EQ(1u, reply->count(RI_WIRE_CONN_ACK));
    ASSERT_EQ(1u, reply->count(RI_WIRE_SYNC_ACK));
    EXPECT_EQ(0x99u, reply->take(RI_WIRE_SYNC_ACK).parse().value);
    EXPECT_EQ(nullptr, ri_conn_find(reply->handle()));
}

TEST_F(test_control_conn, reply_endpoint_that_may_vanish_and_no_memory)
{
    endpoint *reply = m_node->new_endpoint(nullptr);
    endpoint *own   = m_node->new_endpoint(nullptr);

    m_ucx->memory = 0;
    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, RI_WIRE_CONN_REQ_PEER)
                            .hello(STRANGER, REMOTE_CONN),
                    bytes(), PLAIN, reply);
    reply->closed = true;
    m_ucx->memory = -1;
    m_node->progress();
    EXPECT_TRUE(reply->sent.empty());
    m_node->connect(own, STRANGER);
    EXPECT_EQ(1u, own->count(RI_WIRE_CONN_ACK));
}

TEST_F(test_control_conn, reply_endpoint_that_the_application_has)
{
    m_node->deliver(wire_msg(RI_WIRE_CONN_REQ, 0, RI_WIRE_CONN_REQ_PEER)
                            .hello(REMOTE, REMOTE_CONN),
                    bytes(), PLAIN, m_ep);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_CONN_ACK));
    EXPECT_EQ(m_conn, ri_conn_find(m_ep->handle()));
}

TEST_F(test_control_conn, error_mode_peer_asks_so)
{
    endpoint *ep = m_node->new_endpoint(nullptr);

    ri_control_ask(m_node->connect(ep, STRANGER, RI_CONN_USER | RI_CONN_PEER_MODE));
    EXPECT_EQ((uint32_t)RI_WIRE_CONN_REQ_PEER, ep->take(RI_WIRE_CONN_REQ).parse().value);
    ri_control_ask(m_conn);
    EXPECT_EQ(0u, m_ep->take(RI_WIRE_CONN_REQ).parse().value);
}

/* A receiver that cannot answer later: UCP's rendezvous sees to it */
TEST_F(test_control_conn, error_mode_peer_needs_no_sync_ack)
{
    endpoint *ep    = m_node->new_endpoint(nullptr);
    ri_conn_t *conn = m_node->connect(ep, STRANGER, RI_CONN_USER | RI_CONN_PEER_MODE);

    for (size_t length : {0, 8, 5000}) {
        send_ptr op = m_node->send(conn, bytes(length), 1, true);
        EXPECT_FALSE(op->done);
        EXPECT_TRUE(ep->take(RI_WIRE_BULK).rndv);
        for (request *req : m_ucx->requests) {
            req->ready = true; /* it was matched */
        }
        m_ucx->complete();
        EXPECT_TRUE(op->done);
    }
}

TEST_F(test_control_conn, way_out_is_the_applications)
{
    endpoint *reply = m_node->new_endpoint(nullptr);
    endpoint *own   = m_node->new_endpoint(nullptr);
    wire_msg ask(RI_WIRE_CONN_REQ, 0, 0);

    m_node->deliver(ask.hello(STRANGER, REMOTE_CONN), bytes(), PLAIN, reply);
    EXPECT_EQ(1u, reply->count(RI_WIRE_CONN_ACK));
    ri_conn_t *conn = m_node->connect(own, STRANGER);
    m_node->deliver(ask);
    EXPECT_EQ(1u, reply->count(RI_WIRE_CONN_ACK));
    EXPECT_EQ(1u, own->count(RI_WIRE_CONN_ACK));

    /* It fails: what stock made for replies may be freed any time now */
    ri_conn_endpoint_failed(conn, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_EQ(nullptr, ri_conn_find(reply->handle()));
    EXPECT_EQ(conn, ri_conn_find(own->handle()));
    m_node->deliver(ask);
    EXPECT_EQ(1u, reply->count(RI_WIRE_CONN_ACK));

    /* Other endpoints of the application tell by themselves */
    endpoint *second = m_node->new_endpoint(nullptr);
    m_node->connect(second, STRANGER);
    ri_conn_endpoint_failed(conn, UCS_ERR_ENDPOINT_TIMEOUT);
    m_node->deliver(ask);
    EXPECT_EQ(1u, second->count(RI_WIRE_CONN_ACK));
}

/* CONN_ACK */

TEST_F(test_control_conn, conn_ack_sets_the_id)
{
    m_node->send(m_conn, pattern(1, 8), 1);
    EXPECT_TRUE(m_ep->take(RI_WIRE_EAGER).parse().has_hello);
    conn_ack(m_conn, REMOTE_STREAM);
    EXPECT_EQ(REMOTE_STREAM, m_conn->remote_id);

    m_node->send(m_conn, pattern(2, 8), 2);
    ri_wire_msg_t msg = m_ep->take(RI_WIRE_EAGER).parse();
    EXPECT_FALSE(msg.has_hello);
    EXPECT_EQ(REMOTE_STREAM, msg.id);
    EXPECT_EQ(2u, msg.value);
}

TEST_F(test_control_conn, conn_ack_repeated)
{
    conn_ack(m_conn, REMOTE_STREAM);
    conn_ack(m_conn, REMOTE_STREAM);
    EXPECT_EQ(REMOTE_STREAM, m_conn->remote_id);
    EXPECT_EQ(0u, malformed());
}

TEST_F(test_control_conn, conn_ack_ends_asking_once)
{
    for (int i = 0; i < 10; ++i) {
        m_node->send(m_conn, pattern(i, 8), 1);
    }
    while (worker()->attention) {
        m_node->progress();
    }
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_CONN_REQ));
    EXPECT_TRUE(m_ep->take(RI_WIRE_CONN_REQ).reply);
    conn_ack(m_conn, REMOTE_STREAM);
    conn_ack(m_conn, REMOTE_STREAM);
    m_node->send(m_conn, pattern(1, 8), 1);
    EXPECT_EQ(0u, m_ep->count(RI_WIRE_CONN_REQ));
}

TEST_F(test_control_conn, conn_ack_with_another_uid)
{
    conn_ack(m_conn, REMOTE_STREAM, STRANGER);
    EXPECT_EQ(1u, malformed());
    EXPECT_EQ(0u, m_conn->remote_id);
    conn_ack(m_conn, REMOTE_STREAM);
    conn_ack(m_conn, REMOTE_STREAM + 1, STRANGER);
    EXPECT_EQ(2u, malformed());
    EXPECT_EQ(REMOTE_STREAM, m_conn->remote_id);
}

TEST_F(test_control_conn, conn_ack_with_a_bad_id)
{
    for (uint32_t id : {0u, 1u << 24, ~0u}) {
        conn_ack(m_conn, id);
        EXPECT_EQ(0u, m_conn->remote_id);
    }
    EXPECT_EQ(3u, malformed());
}

TEST_F(test_control_conn, conn_ack_tells_who_the_peer_is)
{
    /* By socket address, nothing is known before */
    endpoint *ep    = m_node->new_endpoint(nullptr);
    ri_conn_t *conn = m_node->connect(ep, 0, RI_CONN_USER | RI_CONN_BY_SOCKADDR);

    EXPECT_EQ(nullptr, conn->peer);
    conn_ack(conn, REMOTE_STREAM, STRANGER);
    ASSERT_NE(nullptr, conn->peer);
    EXPECT_EQ(STRANGER, conn->peer->uid);
    conn_ack(conn, REMOTE_STREAM, REMOTE);
    EXPECT_EQ(1u, malformed());
}

TEST_F(test_control_conn, conn_ack_with_reserved_uid)
{
    for (uint64_t uid : {0ul, 1ul}) {
        endpoint *ep    = m_node->new_endpoint(nullptr);
        ri_conn_t *conn = m_node->connect(ep, 0, RI_CONN_USER | RI_CONN_BY_SOCKADDR);

        conn_ack(conn, REMOTE_STREAM, uid);
        EXPECT_EQ(nullptr, conn->peer);
        EXPECT_EQ(0u, conn->remote_id);
    }
    EXPECT_EQ(2u, malformed());
}

/* Peers that may be without this library: they are given a while to answer */

TEST_F(test_control_conn, no_answer_ends_after_a_while)
{
    endpoint *ep    = m_node->new_endpoint(nullptr);
    ri_conn_t *conn = m_node->connect(ep, 0, RI_CONN_USER | RI_CONN_BY_SOCKADDR);

    ri_config.connect_timeout = 1e-6;
    m_node->send(conn, pattern(1, 8), 1);
    send_ptr waiting = m_node->send(conn, pattern(2, 8), 1, true);
    EXPECT_EQ(1u, ep->count(RI_WIRE_CONN_REQ));
    EXPECT_TRUE(ri_worker_has_work(worker())) << "the application may sleep for ever";

    /* However long ago that was, progress must have had a chance to see the answer */
    usleep(10);
    m_node->progress();
    EXPECT_FALSE(waiting->done);
    for (int i = 0; (i < 1000) && !waiting->done; ++i) {
        m_node->progress();
    }
    ASSERT_TRUE(waiting->done);
    EXPECT_EQ(UCS_ERR_UNREACHABLE, waiting->status);
    EXPECT_EQ(UCS_ERR_UNREACHABLE, m_node->send(conn, pattern(3, 8), 1)->status);
    EXPECT_FALSE(ri_worker_has_work(worker()));
    m_node->progress();
    EXPECT_EQ(0, worker()->attention);
}

TEST_F(test_control_conn, an_answer_ends_the_wait)
{
    endpoint *ep    = m_node->new_endpoint(nullptr);
    ri_conn_t *conn = m_node->connect(ep, 0, RI_CONN_USER | RI_CONN_BY_SOCKADDR);

    ri_config.connect_timeout = 1e-6;
    m_node->send(conn, pattern(1, 8), 1);
    conn_ack(conn, REMOTE_STREAM, STRANGER);
    EXPECT_FALSE(ri_worker_has_work(worker()));
    for (int i = 0; i < 1000; ++i) {
        m_node->progress();
    }
    EXPECT_EQ(UCS_OK, m_node->send(conn, pattern(1, 8), 1)->status);
}

TEST_F(test_control_conn, no_time_limit_where_none_is_due)
{
    /* By worker address: the address has told that the peer has the library */
    ri_config.connect_timeout = 1e-6;
    m_node->send(m_conn, pattern(1, 8), 1, true);
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_CONN_REQ));
    EXPECT_FALSE(ri_worker_has_work(worker()));

    /* The peer is known already when it is asked */
    endpoint *ep    = m_node->new_endpoint(nullptr);
    ri_conn_t *conn = m_node->connect(ep, 0, RI_CONN_USER | RI_CONN_BY_SOCKADDR);
    conn_ack(conn, REMOTE_STREAM, STRANGER);
    ri_control_ask(conn);
    EXPECT_EQ(1u, ep->count(RI_WIRE_CONN_REQ));
    EXPECT_FALSE(ri_worker_has_work(worker()));

    /* The user wants none */
    ri_config.connect_timeout = INFINITY;
    ep                        = m_node->new_endpoint(nullptr);
    m_node->send(m_node->connect(ep, 0, RI_CONN_USER | RI_CONN_BY_SOCKADDR),
                 pattern(1, 8), 1);
    EXPECT_EQ(1u, ep->count(RI_WIRE_CONN_REQ));
    EXPECT_FALSE(ri_worker_has_work(worker()));
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED); /* ends the send */
}

/* The end of one connection may make the application close another */
TEST_F(test_control_conn, no_answer_and_a_callback_that_closes)
{
    ri_conn_t *conns[3];
    struct closer {
        ri_conn_t *next;
        unsigned calls;
    } closers[3] = {};

    ri_config.connect_timeout = 1e-6;
    for (int i = 0; i < 3; ++i) {
        conns[i] = m_node->connect(m_node->new_endpoint(nullptr), 0,
                                   RI_CONN_USER | RI_CONN_BY_SOCKADDR);
    }
    for (int i = 0; i < 3; ++i) {
        ucp_request_param_t param = {};

        closers[i].next    = (i == 0) ? conns[1] : nullptr;
        param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        param.user_data    = &closers[i];
        param.cb.send      = [](void *request, ucs_status_t, void *arg) {
            closer *self = static_cast<closer *>(arg);

            ++self->calls;
            ri_req_put(ri_req_of_handle(request));
            if (self->next != nullptr) {
                ri_conn_destroy(self->next, UCS_ERR_CANCELED);
            }
        };
        EXPECT_TRUE(UCS_PTR_IS_PTR(ri_tag_send(conns[i], "x", 1, 1, &param, 1)));
    }
    for (int i = 0; i < 1000; ++i) {
        m_node->progress();
    }
    for (const closer &c : closers) {
        EXPECT_EQ(1u, c.calls);
    }
    EXPECT_EQ(UCS_ERR_UNREACHABLE, conns[2]->status);
}

/* @return How many lines the report of each cause has, that cause reported twice. */
static std::string report_all()
{
    std::string counts;

    for (ucs_status_t why :
         {UCS_OK, UCS_ERR_NO_ELEM, UCS_ERR_UNSUPPORTED, UCS_ERR_TIMED_OUT}) {
        ::testing::internal::CaptureStderr();
        ri_conn_report_unusable(why);
        ri_conn_report_unusable(why);
        std::string text = ::testing::internal::GetCapturedStderr();

        EXPECT_EQ(text.empty(), text.find(" ucxri ERROR ") == std::string::npos) << text;
        counts += std::to_string(std::count(text.begin(), text.end(), '\n'));
    }
    return counts;
}

/* A process of its own, as what was reported is not forgotten */
TEST_F(test_control_conn, each_cause_is_reported_once)
{
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(
            {
                ri_log_level       = RI_LOG_LEVEL_ERROR;
                std::string counts = report_all();
                counts += " " + report_all();
                fprintf(stderr, "counts %s\n", counts.c_str());
                _exit(0);
            },
            ::testing::ExitedWithCode(0), "counts 0111 0000");
}

/* The peer's address has told that it does not understand these messages */
TEST_F(test_control_conn, sends_to_a_peer_without_the_library_fail)
{
    for (uint32_t why : {RI_CONN_NO_PEER, RI_CONN_VERSION}) {
        endpoint *ep    = m_node->new_endpoint(nullptr);
        ri_conn_t *conn = m_node->connect(ep, 0, RI_CONN_USER | why);

        ri_log_level = RI_LOG_LEVEL_ERROR;
        ::testing::internal::CaptureStderr();
        EXPECT_EQ(UCS_ERR_UNREACHABLE, m_node->send(conn, pattern(1, 8), 1)->status);
        ::testing::internal::GetCapturedStderr();
        EXPECT_TRUE(ep->sent.empty());
    }
}

} // namespace
