/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/eager/frag.c: messages in pieces, on both sides. */

#include "unit/fakes/fake_ucx.h"

using namespace fake;

namespace {

const uint64_t LOCAL  = 0x1111;
const uint64_t REMOTE = 0x2222;

class test_frag : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        m_receiver = std::make_unique<node>(LOCAL);
        m_sender   = std::make_unique<node>(REMOTE);
        m_ep       = m_sender->new_endpoint(m_receiver.get());
        m_conn     = m_sender->connect(m_ep, LOCAL);
        m_other    = m_ep;
    }

    void TearDown() override
    {
        m_sender.reset();
        m_receiver.reset();
        ri_test::TearDown();
    }

    /* Hand all that was sent to the receiver, except what asks for answers. */
    void deliver_all()
    {
        for (const packet &p : m_ep->sent) {
            if (p.type() != RI_WIRE_CONN_REQ) {
                m_receiver->deliver(p.header, p.data);
            }
        }
        m_ep->sent.clear();
    }

    void check(const recv_ptr &recv, const send_ptr &send, uint64_t tag)
    {
        ASSERT_TRUE(recv->done);
        EXPECT_EQ(UCS_OK, recv->status);
        EXPECT_EQ(tag, recv->info.sender_tag);
        ASSERT_EQ(send->data.size(), recv->info.length);
        EXPECT_TRUE(
                std::equal(send->data.begin(), send->data.end(), recv->buffer.begin()));
    }

    wire_msg first(uint32_t sn, uint64_t tag, uint32_t total)
    {
        wire_msg msg(RI_WIRE_FIRST, 0, sn);

        msg.tag   = tag;
        msg.total = total;
        return msg.hello(REMOTE, 7);
    }

    wire_msg frag(uint32_t sn)
    {
        wire_msg msg(RI_WIRE_FRAG, 7, sn);

        msg.uid = REMOTE;
        return msg;
    }

    uint64_t malformed() { return m_receiver->counters().rx_malformed; }

    std::unique_ptr<node> m_receiver;
    std::unique_ptr<node> m_sender;
    endpoint *m_ep;
    endpoint *m_other;
    ri_conn_t *m_conn;
};

TEST_F(test_frag, each_length)
{
    for (size_t length :
         {0, 1, 31, 32, 33, 72, 73, 107, 108, 109, 183, 184, 185, 1000, 8191, 8192}) {
        m_conn->flags &= ~RI_CONN_AM_READY; /* as if UCP had not got an answer yet */
        ri_conn_update_fast(m_conn);
        send_ptr send = m_sender->send(m_conn, pattern(length, length), length);

        EXPECT_TRUE(send->done) << length;
        if (length > RI_WIRE_SHORT_HELLO) {
            EXPECT_EQ(1u, m_ep->count(RI_WIRE_FIRST)) << length;
        }
        for (const packet &p : m_ep->sent) {
            if (p.type() == RI_WIRE_FRAG) {
                EXPECT_EQ(0u, p.header.size()) << "UCP sends one memory in one go";
                EXPECT_LE(p.header.size() + p.data.size(), 92u);
            }
        }
        deliver_all();
        check(m_receiver->recv(length, ~0ul, length), send, length);
    }
    EXPECT_EQ(16u, m_sender->counters().conns.tx_eager_am);
    EXPECT_EQ(0u, m_receiver->counters().held_bytes);
    EXPECT_EQ(0u, malformed());
}

TEST_F(test_frag, synchronous)
{
    endpoint *back = m_receiver->new_endpoint(m_sender.get());
    send_ptr send  = m_sender->send(m_conn, pattern(1, 500), 1, true);

    m_receiver->connect(back, REMOTE);
    deliver_all();
    EXPECT_EQ(0u, back->count(RI_WIRE_SYNC_ACK));
    check(m_receiver->recv(1, ~0ul, 500), send, 1);
    EXPECT_FALSE(send->done);
    packet ack = back->take(RI_WIRE_SYNC_ACK);
    m_sender->deliver(ack.header, ack.data);
    EXPECT_TRUE(send->done);
}

/* UCX refuses a piece: the rest goes in one, or nothing was sent yet and all of it does.
 * Tags that change and tags that stay the same. */
TEST_F(test_frag, refused_at_each_piece)
{
    for (int pieces = 0; pieces < 8; ++pieces) {
        for (ending_t mode : {AT_ONCE, LATER}) {
            std::vector<send_ptr> sends;
            std::vector<uint64_t> tags = {5, 6, 6, 7, 5};

            m_ucx->send_mode = mode;
            for (uint64_t tag : tags) {
                m_conn->flags &= ~RI_CONN_AM_READY;
                m_ucx->immediate = pieces;
                sends.push_back(m_sender->send(m_conn, pattern(tag, 500), tag));
                EXPECT_EQ((pieces >= 8) || (mode == AT_ONCE), sends.back()->done);
            }
            m_ucx->immediate = -1;
            deliver_all();
            m_ucx->complete();
            for (size_t i = 0; i < tags.size(); ++i) {
                EXPECT_TRUE(sends[i]->done);
                check(m_receiver->recv(0, 0, 500), sends[i], tags[i]);
            }
            ASSERT_FALSE(HasFailure()) << pieces << " pieces went at once";
        }
    }
}

/* An error in the middle: the receiver waits for the rest for ever, so the connection
 * ends; before the first piece, nothing has happened. */
TEST_F(test_frag, fails)
{
    m_sender->send(m_conn, pattern(1, 8), 1);
    m_ucx->send_mode = FAILS;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, m_sender->send(m_conn, pattern(2, 500), 2)->status);
    m_ucx->send_mode = AT_ONCE;
    EXPECT_EQ(UCS_OK, m_conn->status);
    send_ptr send = m_sender->send(m_conn, pattern(3, 8), 2);
    deliver_all();
    m_receiver->recv(1, ~0ul, 8);
    check(m_receiver->recv(2, ~0ul, 8), send, 2);
}

/* A send that ends because another one failed half way closes the endpoint: sanitizers see
 * whether it is used afterwards. */
TEST_F(test_frag, fails_half_way_and_a_callback_closes)
{
    static const ucp_request_param_t none = {};
    ri_conn_t *conn = m_sender->connect(m_sender->new_endpoint(m_receiver.get()), LOCAL);
    uint32_t id     = conn->id;
    ucp_request_param_t param = {};

    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data    = conn;
    param.cb.send      = [](void *request, ucs_status_t status, void *arg) {
        EXPECT_EQ(UCS_ERR_NO_MEMORY, status);
        EXPECT_EQ(nullptr, ri_ep_close(static_cast<ri_conn_t *>(arg), &none));
    };

    bytes data            = pattern(1, 8);
    ucs_status_ptr_t sync = ri_tag_send_slow(conn, data.data(), 8, 1, &param, 1);
    ASSERT_TRUE(UCS_PTR_IS_PTR(sync));
    conn->flags &= ~RI_CONN_AM_READY; /* the question has not gone out yet */
    m_ucx->memory = 3;
    EXPECT_EQ(UCS_ERR_NO_MEMORY, m_sender->send(conn, pattern(2, 500), 2)->status);
    m_ucx->memory = -1;
    EXPECT_EQ(nullptr, ri_id_get(&m_sender->worker()->ids.conns, id));
    ri_req_put(ri_req_of_handle(sync));
}

/* The receiver is told that the rest never comes: its stream ends before that message. */
TEST_F(test_frag, fails_half_way)
{
    for (bool other : {false, true}) {
        endpoint *ep    = m_sender->new_endpoint(m_receiver.get());
        ri_conn_t *conn = m_sender->connect(ep, LOCAL);
        wire_msg ack(RI_WIRE_CONN_ACK, conn->id, 0);

        m_ep           = ep; /* of which all is delivered */
        m_conn->status = other ? UCS_OK : UCS_ERR_CANCELED;
        m_sender->send(conn, pattern(1, 8), 1);
        m_ucx->memory = 3;
        EXPECT_EQ(UCS_ERR_NO_MEMORY, m_sender->send(conn, pattern(2, 500), 2)->status);
        EXPECT_EQ(UCS_ERR_NO_MEMORY, m_sender->send(conn, pattern(3, 8), 3)->status);
        m_ucx->memory = -1;
        m_sender->progress(); /* the question for the stream's id had to wait */
        EXPECT_EQ(1u, ep->count(RI_WIRE_CONN_REQ));
        deliver_all();
        m_receiver->deliver(
                wire_msg(RI_WIRE_EAGER, 0, 3).hello(REMOTE, conn->id, 0, conn->serial),
                bytes(8)); /* early for ever, or so it seems */

        ri_stream_t *stream = ri_stream_find(m_receiver->worker(), REMOTE, conn->id);
        ASSERT_NE(nullptr, stream);
        EXPECT_EQ(UCS_OK, m_receiver->recv(1, ~0ul, 8)->status);
        EXPECT_LT(500u, m_receiver->counters().held_bytes);
        ack.value = stream->id;
        ack.uid   = LOCAL;
        for (int i = 0; i < 2; ++i) {
            m_sender->deliver(ack);
        }

        endpoint *way = other ? m_other : ep;
        ASSERT_EQ(1u, way->count(RI_WIRE_BYE));
        packet bye = way->take(RI_WIRE_BYE);
        EXPECT_EQ(1u, bye.parse().value);
        m_receiver->deliver(bye.header, bye.data);
        EXPECT_EQ(nullptr, ri_stream_find(m_receiver->worker(), REMOTE, conn->id));
        EXPECT_EQ(0u, m_receiver->counters().held_bytes);
        EXPECT_EQ(0u, malformed());
        ri_conn_destroy(conn, UCS_ERR_CANCELED);
    }
}

TEST_F(test_frag, waits_for_its_turn)
{
    m_receiver->deliver(first(2, 20, 100), pattern(1, 32));
    m_receiver->deliver(frag(2), bytes(68));
    m_receiver->deliver(first(1, 10, 50), pattern(1, 32));
    EXPECT_FALSE(m_receiver->recv(20, ~0ul, 100)->done);
    m_receiver->deliver(frag(1), bytes(18));
    EXPECT_EQ(10u, m_receiver->recv(0, 0, 100)->info.sender_tag);
    EXPECT_TRUE(m_receiver->release_done());
    EXPECT_EQ(0u, m_receiver->counters().held_bytes);
}

TEST_F(test_frag, interleaved)
{
    m_receiver->deliver(first(1, 10, 100), bytes(32, 1));
    m_receiver->deliver(first(2, 20, 100), bytes(32, 2));
    m_receiver->deliver(frag(2), bytes(68, 2));
    m_receiver->deliver(frag(1), bytes(68, 1));
    EXPECT_EQ(bytes(100, 1), m_receiver->recv(10, ~0ul, 100)->buffer);
    EXPECT_EQ(bytes(100, 2), m_receiver->recv(20, ~0ul, 100)->buffer);
}

TEST_F(test_frag, hostile)
{
    /* Pieces of nothing, too long pieces, messages that start twice */
    m_receiver->deliver(frag(1), bytes(10));
    EXPECT_EQ(1u, m_receiver->counters().rx_stale); /* nobody knows the sender */
    m_receiver->deliver(first(1, 10, 100), bytes(32, 1));
    m_receiver->deliver(frag(2), bytes(10));
    m_receiver->deliver(frag(0), bytes(10));
    m_receiver->deliver(frag(1), bytes(69));
    m_receiver->deliver(first(1, 11, 200), bytes(32, 1));
    m_receiver->deliver(first(0, 11, 200), bytes(32, 1));
    EXPECT_EQ(5u, malformed());

    /* The good one is none the worse for it */
    m_receiver->deliver(frag(1), bytes(68, 1));
    EXPECT_EQ(bytes(100, 1), m_receiver->recv(10, ~0ul, 100)->buffer);
    EXPECT_EQ(0u, m_receiver->counters().held_bytes);
    m_receiver->deliver(frag(1), bytes(1));
    EXPECT_EQ(6u, malformed());
}

/* A message that is dropped would be waited for in silence: the sender is told. */
TEST_F(test_frag, too_many)
{
    endpoint *ep = m_receiver->new_endpoint(nullptr);

    m_receiver->connect(ep, REMOTE);
    for (uint32_t sn = 1; sn <= 4; ++sn) {
        m_receiver->deliver(first(sn, 10, 100), bytes(32));
    }
    EXPECT_EQ(400u, m_receiver->counters().held_bytes);
    m_receiver->deliver(first(5, 10, 100), bytes(32));
    EXPECT_TRUE(ri_stream_find(m_receiver->worker(), REMOTE, 7)->broken);
    EXPECT_EQ(1u, malformed());
    EXPECT_EQ(1u, ep->count(RI_WIRE_RESET));
    EXPECT_EQ(0u, m_receiver->counters().held_bytes);
}

TEST_F(test_frag, of_a_broken_stream)
{
    ri_config.reorder_window = 0;
    m_receiver->deliver(wire_msg(RI_WIRE_EAGER, 0, 100).hello(REMOTE, 7), bytes(8));
    uint64_t before = malformed();
    m_receiver->deliver(first(1, 10, 100), bytes(32));
    m_receiver->deliver(frag(1), bytes(68));
    EXPECT_LT(before, malformed());
    EXPECT_EQ(0u, m_receiver->counters().held_bytes);
    EXPECT_EQ(0u, m_receiver->worker()->match.num_unexpected);
}

TEST_F(test_frag, never_completed)
{
    m_receiver->deliver(first(1, 10, 100), bytes(32)); /* freed at the end */
    EXPECT_EQ(100u, m_receiver->counters().held_bytes);
}

TEST_F(test_frag, bye_before_the_last_piece)
{
    m_receiver->deliver(first(1, 10, 100), bytes(32, 3));
    uint32_t id = ri_stream_find(m_receiver->worker(), REMOTE, 7)->id;
    m_receiver->deliver(wire_msg(RI_WIRE_BYE, id, 1));
    recv_ptr recv = m_receiver->recv(10, ~0ul, 100);
    m_receiver->deliver(frag(1), bytes(68, 3));
    EXPECT_EQ(bytes(100, 3), recv->buffer);
    EXPECT_TRUE(recv->done);
    EXPECT_EQ(nullptr, ri_stream_find(m_receiver->worker(), REMOTE, 7));
}

} // namespace
