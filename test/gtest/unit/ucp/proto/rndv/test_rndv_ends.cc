/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/rndv/rndv.c: streams, conns and workers that end while data is under way.
 */

#include "unit/common/rndv_test.h"

namespace {

class test_rndv_ends : public rndv_test {};

TEST_F(test_rndv_ends, stream_breaks)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG), to2(CONTIG, LONG);
    rndv_ptr matched, unexpected, early;
    uint64_t reads;

    recv_ptr r1            = recv(to, 1);
    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    matched                = send(from, 1);
    deliver(m_ab, 0); /* NACK is under way */
    m_b_plane->read_status = UCS_OK;
    unexpected             = send(from, 2);
    deliver(m_ab, 0);
    rndv_ptr lost = send(from, 2);
    m_ab->sent.pop_front();
    early = send(from, 2);
    deliver(m_ab, 0);
    EXPECT_EQ(1u, stream()->num_early);

    ri_stream_break(stream(), "a test");
    ASSERT_TRUE(r1->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r1->status);
    pump();
    for (rndv_ptr *op : {&matched, &unexpected, &lost, &early}) {
        ASSERT_TRUE((*op)->done);
    }
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, unexpected->status);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, early->status);

    /* The send has ended: what is in its memory now is not the message. */
    reads       = m_b_plane->reads;
    recv_ptr r2 = recv(to2, 2);
    ASSERT_TRUE(r2->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r2->status);
    EXPECT_EQ(reads, m_b_plane->reads);
    pump();
}

TEST_F(test_rndv_ends, stream_with_bye_ends_with_the_data)
{
    connect_planes();
    bytes content = pattern(3, 1000);
    memory to(CONTIG, 1000);
    uint32_t sn            = stream()->next_sn;
    recv_ptr r             = recv(to, 5);
    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    rts(sn, 5, {{(uintptr_t)content.data(), 1000}});
    uint32_t id = m_ba->take(RI_WIRE_NACK).parse().recv_id;
    m_b->deliver(wire_msg(RI_WIRE_BYE, stream()->id, sn));
    ASSERT_FALSE(ucs_list_is_empty(&m_b->worker()->streams));
    rndv_data(id, content);
    check(r, to, content, 5);
    EXPECT_TRUE(ucs_list_is_empty(&m_b->worker()->streams));
}

TEST_F(test_rndv_ends, worker_of_the_receiver_ends)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    rndv_ptr s1 = send(from, 1), s2 = send(from, 2), s3 = send(from, 3);
    recv_ptr waiting, taken;
    ucp_tag_recv_info_t info;
    node *b = m_b.get();

    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    waiting                = recv(to, 1);
    while (!m_ab->sent.empty()) {
        deliver(m_ab, 0);
    }
    m_ba->sent.clear();

    /* What nobody received is turned down as long as there is a way out. */
    ri_msg_t *msg = ri_tag_recv_probe(b->worker(), 2, ~0ul, 1, &info);
    ri_rndv_discard_all(b->worker());
    EXPECT_EQ(s3->req()->id, m_ba->take(RI_WIRE_FIN).parse().value);
    EXPECT_TRUE(m_ba->sent.empty());

    /* What waits for data ends, and its callback may still receive. */
    waiting->on_done = [&] { taken = b->msg_recv(msg, LONG); };
    b->may_end_open  = true;
    m_b.reset();
    ASSERT_TRUE(waiting->done && taken->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, waiting->status);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, taken->status);
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    EXPECT_EQ(UCS_ERR_CANCELED, s1->status);
}

TEST_F(test_rndv_ends, worker_of_the_sender_ends)
{
    connect_planes();
    m_ucx->send_mode  = LATER;
    m_a->may_end_open = true;
    send_ptr s1       = m_a->send(m_conn, bytes(LONG), 1);  /* waits for FIN */
    send_ptr s2       = m_a->send(m_conn, bytes(10000), 2); /* data is with stock */
    m_ucx->complete();
    send_ptr s3 = m_a->send(m_conn, bytes(LONG), 3); /* RTS is with stock */
    to_sender(RI_WIRE_NACK,
              reinterpret_cast<ri_send_req_t *>(ri_req_of_handle(s2->handle))->id, 1);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_RNDV_DATA));
    m_a.reset();
    for (const send_ptr &s : {s1, s2, s3}) {
        ASSERT_TRUE(s->done);
        EXPECT_EQ(UCS_ERR_CANCELED, s->status);
    }
}

/* A flush does not wait for receives; a close does, or they would find nothing. */
TEST_F(test_rndv_ends, flush_and_close)
{
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        connect_planes();
        bytes content = pattern(1, LONG);
        memory from(CONTIG, LONG, content), to(CONTIG, LONG);
        ucp_request_param_t param = {};
        rndv_ptr s                = send(from, 5);

        m_b_plane->read_status = status;
        pump();
        EXPECT_EQ(nullptr, ri_ep_flush(m_conn, &param));
        ucs_status_ptr_t close = ri_ep_close(m_conn, &param);
        ASSERT_TRUE(UCS_PTR_IS_PTR(close));
        pump();
        EXPECT_FALSE(m_ab->closed);
        EXPECT_FALSE(s->done);
        recv_ptr r = recv(to, 5);
        pump();
        check(r, to, content, 5);
        EXPECT_EQ(UCS_OK, s->status);
        EXPECT_TRUE(m_ab->closed);
        EXPECT_TRUE(ri_req_flags(ri_req_of_handle(close)) & RI_REQ_COMPLETED);
        ri_req_put(ri_req_of_handle(close));
        s.reset();
        stop();
        start();
    }
}

/* Each side needs the endpoint that the other one is closing. */
TEST_F(test_rndv_ends, both_close)
{
    connect_planes();
    bytes content = pattern(1, LONG);
    memory from(CONTIG, LONG, content), to(CONTIG, LONG);
    ucp_request_param_t param = {};

    m_b->send(m_back, bytes(LONG), 1);
    m_a->recv(1, ~0ul, LONG);
    pump();
    ASSERT_TRUE(m_back->flags & RI_CONN_PLANE_READ);
    rndv_ptr s               = send(from, 5);
    send_ptr s2              = m_b->send(m_back, content, 6);
    ucs_status_ptr_t close_a = ri_ep_close(m_conn, &param);
    ucs_status_ptr_t close_b = ri_ep_close(m_back, &param);
    pump();
    recv_ptr r = recv(to, 5), r2 = m_a->recv(6, ~0ul, LONG);
    pump();
    check(r, to, content, 5);
    EXPECT_TRUE(content == r2->buffer);
    EXPECT_TRUE(s->done && s2->done);
    EXPECT_TRUE(m_ab->closed && m_ba->closed);
    for (ucs_status_ptr_t close : {close_a, close_b}) {
        EXPECT_TRUE(ri_req_flags(ri_req_of_handle(close)) & RI_REQ_COMPLETED);
        ri_req_put(ri_req_of_handle(close));
    }
}

TEST_F(test_rndv_ends, answers_that_are_owed)
{
    connect_planes();
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        bytes content = pattern(1, LONG);
        memory from(CONTIG, LONG, content), to(CONTIG, LONG);

        m_b_plane->read_status = status;
        ri_conn_destroy(m_back, UCS_ERR_CANCELED);
        rndv_ptr s = send(from, 5);
        recv_ptr r = recv(to, 5);
        pump();
        EXPECT_FALSE(s->done);
        EXPECT_EQ(1u, ucs_list_length(&stream()->peer->owed));
        m_ba   = m_b->new_endpoint(m_a.get());
        m_back = m_b->connect(m_ba, SENDER);
        pump();
        check(r, to, content, 5);
        EXPECT_TRUE(s->done);
    }
}

TEST_F(test_rndv_ends, answers_that_find_no_memory)
{
    connect_planes();
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        bytes content = pattern(1, LONG);
        memory from(CONTIG, LONG, content), to(CONTIG, LONG);

        m_b_plane->read_status = status;
        rndv_ptr s             = send(from, 5);
        recv_ptr r             = recv(to, 5);
        m_ucx->memory          = 0;
        deliver(m_ab, 0);
        EXPECT_TRUE(m_ba->sent.empty());
        m_ucx->memory = -1;
        pump();
        check(r, to, content, 5);
        EXPECT_TRUE(s->done);
    }
}

TEST_F(test_rndv_ends, sender_fails)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    rndv_ptr s = send(from, 5);

    ri_conn_fail(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, s->status);
    uint64_t count = stale(*m_a);
    recv_ptr r     = recv(to, 5);
    pump();
    EXPECT_EQ(count + 1, stale(*m_a));
}

TEST_F(test_rndv_ends, way_out_of_the_receiver_fails)
{
    connect_planes();
    memory from(CONTIG, LONG), to(CONTIG, LONG);
    recv_ptr r             = recv(to, 5);
    m_b_plane->read_status = UCS_ERR_INVALID_ADDR;
    rndv_ptr s             = send(from, 5);
    deliver(m_ab, 0);
    uint32_t id = m_ba->take(RI_WIRE_NACK).parse().recv_id;

    ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, r->status);
    uint64_t count = stale(*m_b);
    rndv_data(id, bytes(LONG));
    EXPECT_EQ(count + 1, stale(*m_b));
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
}

} // namespace
