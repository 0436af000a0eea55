/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Channels whose way fails: no message is lost, and none comes twice; and hostile messages about
 * channels. (src/ucp/link/channel_send.c) The tests run src/ucp/link/channel_out.c,
 * src/ucp/link/channel_recover.c and src/ucp/proto/eager/eager.c, too.
 */

#include "channel_life_test.h"

extern "C" {
#include "ucp/link/way.h"
}

namespace {

class test_channel_life_ends : public channel_life_test {
protected:
    /* Three messages are under way when the way fails. */
    void fail_under_way(bool written)
    {
        open();
        m_a_rdma->holds = true;
        for (int i = 0; i < 3; ++i) {
            m_receives.push_back(m_b->recv(7, ~0ul, 100));
            m_sends.push_back(m_a->send(m_conn, pattern(i, 100), 7));
            EXPECT_TRUE(m_sends[i]->done);
        }
        m_a_rdma->loses_end  = written;
        m_a_rdma->end_status = UCS_ERR_UNREACHABLE;
        m_a_rdma->holds      = false;
    }

    /* One step of many at random: sends or posts the next one, fails, holds back, goes on. */
    void random_step(rng &random, std::vector<recv_ptr> &receives,
                     std::vector<bytes> &contents)
    {
        switch (random.below(8)) {
        case 0:
        case 1:
        case 2:
            contents.push_back(pattern(random.next(), random.below(1200)));
            m_a->send(m_conn, contents.back(), 7, random.percent(10));
            break;
        case 3:
            if (receives.size() < contents.size() + 3) {
                receives.push_back(m_b->recv(7, ~0ul, 1200));
            }
            break;
        case 4:
            for (endpoint *ep : {m_ab, m_ba}) {
                if (!ep->sent.empty()) {
                    deliver(ep, random.below(std::min<size_t>(ep->sent.size(), 4)));
                }
            }
            break;
        case 5:
            m_a_rdma->holds = random.percent(30);
            m_b_rdma->holds = random.percent(30);
            break;
        case 6:
            if (random.percent(5)) {
                m_a_rdma->loses_end = random.percent(50);
                if (random.percent(50)) {
                    (random.percent(50) ? m_a_rdma : m_b_rdma)->kill();
                } else {
                    node &n = random.percent(50) ? *m_a : *m_b;
                    ri_way_fail_and_tell(n.worker(),
                                         (&n == m_a.get()) ? m_conn->peer : m_back->peer);
                }
            }
            break;
        default:
            progress_both(1 + random.below(3));
            break;
        }
    }

    void check_all()
    {
        for (size_t i = 0; i < m_receives.size(); ++i) {
            ASSERT_TRUE(m_receives[i]->done) << i;
            EXPECT_EQ(UCS_OK, m_receives[i]->status);
            EXPECT_TRUE(m_receives[i]->buffer == pattern(i, 100)) << i;
        }
        EXPECT_EQ(0u, malformed());
        EXPECT_EQ(0u, m_b->counters().held_bytes);
        m_a_rdma->loses_end  = false;
        m_a_rdma->end_status = UCS_OK;
    }

    wire_msg again_header(uint32_t sn, uint32_t position)
    {
        wire_msg msg(RI_WIRE_CHANNEL_AGAIN, stream()->id, position);

        msg.serial = m_serial = (in() != nullptr) ? in()->serial : m_serial;
        msg.way = m_way = (in() != nullptr) ? in()->way : m_way;
        msg.tag         = 5;
        msg.sn          = sn;
        return msg;
    }

    void again_msg(uint32_t sn, uint32_t position, uint32_t serial = 0, uint32_t way = 0,
                   uint8_t record = RI_WIRE_EAGER)
    {
        wire_msg msg = again_header(sn, position);

        msg.serial += serial;
        msg.way += way;
        msg.record = record;
        m_b->deliver(msg, (record == RI_WIRE_EAGER) ? pattern(sn, 8) : bytes());
    }

    uint32_t m_serial = 0, m_way = 0;
    std::vector<recv_ptr> m_receives;
    std::vector<send_ptr> m_sends;
};

TEST_F(test_channel_life_ends, lost)
{
    fail_under_way(false);
    pump();
    check_all();
    EXPECT_EQ(3u, again());
    EXPECT_EQ(nullptr, out());
    EXPECT_EQ(nullptr, in());
    check_idle();
    open(); /* by another way */
    exchange();
}

/* The receiver has seen the records before it hears of them again, or sees them then. */
TEST_F(test_channel_life_ends, arrived)
{
    for (bool seen : {false, true}) {
        SCOPED_TRACE(seen);
        m_receives.clear();
        m_sends.clear();
        with_channels();
        fail_under_way(true);
        for (int i = 0; (i < 10) && (again() < 3); ++i) {
            m_a->progress();
        }
        ASSERT_EQ(4u, m_ab->count(RI_WIRE_CHANNEL_AGAIN)) << "and that this was all";
        if (seen) {
            m_b->progress();
            EXPECT_TRUE(m_receives[0]->done);
        }
        deliver(m_ab, 1);
        pump();
        check_all();
        EXPECT_EQ(3u, again());
        EXPECT_EQ(nullptr, in());
        check_idle();
    }
}

/* The receiver's end fails first: it takes what is there, and the rest comes again. */
TEST_F(test_channel_life_ends, receiver_gives_up)
{
    open();
    m_a_rdma->holds = true;
    for (int i = 0; i < 3; ++i) {
        m_receives.push_back(m_b->recv(7, ~0ul, 100));
        m_sends.push_back(m_a->send(m_conn, pattern(i, 100), 7));
    }
    ri_way_fail_and_tell(m_b->worker(), m_back->peer);
    EXPECT_TRUE(in()->dead);
    progress_both(5);
    EXPECT_EQ(nullptr, in()->memory);
    m_a_rdma->holds = false;
    pump();
    EXPECT_EQ(nullptr, in());
    check_all();
    check_idle();
}

/* UCX has no memory for what is sent again: it waits, and a close does, too. */
TEST_F(test_channel_life_ends, no_memory_to_send_again)
{
    fail_under_way(false);
    m_ucx->memory = 2; /* one tells that the way is gone */
    progress_both(10);
    EXPECT_EQ(1u, again());
    EXPECT_TRUE(ri_channel_send_is_busy(m_conn));
    m_receives.push_back(m_b->recv(7, ~0ul, 100)); /* a later one goes by UCP */
    m_ucx->memory = -1;
    m_sends.push_back(m_a->send(m_conn, pattern(3, 100), 7));
    pump();
    check_all();
    EXPECT_EQ(3u, again());
    EXPECT_EQ(nullptr, out());
}

/* Starting a write fails: the message comes all the same. */
TEST_F(test_channel_life_ends, post_fails)
{
    for (ucs_status_t status : {UCS_ERR_NO_MEMORY, UCS_ERR_UNREACHABLE}) {
        m_receives.clear();
        m_sends.clear();
        with_channels();
        open();
        for (int i = 0; i < 3; ++i) {
            m_a_rdma->start_status = (i == 1) ? status : UCS_OK;
            m_receives.push_back(m_b->recv(7, ~0ul, 100));
            m_sends.push_back(m_a->send(m_conn, pattern(i, 100), 7));
            EXPECT_TRUE(m_sends[i]->done);
        }
        m_a_rdma->start_status = UCS_OK;
        pump();
        check_all();
        EXPECT_EQ(nullptr, in());
        check_idle();
    }
}

/* A credit cannot be written */
TEST_F(test_channel_life_ends, credit_fails)
{
    open();
    m_b_rdma->end_status = UCS_ERR_UNREACHABLE;
    for (int i = 0; i < 100; ++i) {
        exchange();
    }
    m_b_rdma->end_status = UCS_OK;
    EXPECT_GT(m_b->counters().qp_failed, 0u);
    open();
    EXPECT_EQ(0u, malformed());
}

/* The conn fails with writes under way: they end first, with their way. */
TEST_F(test_channel_life_ends, conn_fails)
{
    open();
    m_a_rdma->holds = true;
    m_a->send(m_conn, bytes(8), 7);
    EXPECT_EQ(1u, m_a_rdma->under_way());
    ri_conn_fail(m_conn, UCS_ERR_CONNECTION_RESET);
    EXPECT_EQ(0u, m_a_rdma->under_way());
    EXPECT_EQ(0u, m_a_rdma->keys());
    EXPECT_EQ(0u, m_a->worker()->num_transfers);
    EXPECT_EQ(nullptr, out());
}

TEST_F(test_channel_life_ends, worker_ends)
{
    open();
    m_a_rdma->holds = true;
    m_a->send(m_conn, bytes(8), 7);
    m_a.reset();
    EXPECT_EQ(0u, m_a_rdma->under_way());
    EXPECT_EQ(0u, m_a_rdma->keys());
}

/* With a way that both sides leave, its channels end, and lose nothing. */
TEST_F(test_channel_life_ends, way_is_left)
{
    open();
    recv_ptr r = m_b->recv(7, ~0ul, 8);
    m_a->send(m_conn, bytes(8), 7);
    while (ri_channel_send_is_busy(m_conn)) {
        m_a->progress();
    }
    ri_config.ib_idle = 1e-9;
    for (int i = 0; i < 3; ++i) {
        ri_way_idle_check(m_b->worker());
    }
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_PLANE_REQ));
    pump();
    EXPECT_TRUE(r->done);
    EXPECT_EQ(nullptr, in());
    EXPECT_EQ(nullptr, out());
    EXPECT_EQ(0u, m_a_rdma->ends());
    EXPECT_EQ(0u, again());
    check_idle();
    exchange();
}

/* Another peer needs a queue pair. One whose channel is here, and that cannot be asked, keeps its
 * own, however long it has written nothing: what it wrote afterwards would be lost. */
TEST_F(test_channel_life_ends, room_is_needed)
{
    double idle = ri_config.ib_idle;

    open();
    ri_config.ib_idle = 1;
    m_back->flags &= ~RI_CONN_USER;
    stream()->peer->way.used       = 0;
    stream()->peer->way.idle_since = ri_clock_now() - 100;
    ri_way_idle_make_room(m_b->worker());
    ASSERT_NE(nullptr, stream()->peer->way.ep);
    uint64_t before = by_channel();
    exchange();
    EXPECT_EQ(before + 1, by_channel());
    m_back->flags |= RI_CONN_USER;
    ri_config.ib_idle = idle;
}

/* Messages about channels that do not fit the state have no effect. */
TEST_F(test_channel_life_ends, stale)
{
    open();
    uint64_t before = stale(*m_a) + stale(*m_b);
    uint64_t count  = 0;
    for (ri_wire_type_t type : {RI_WIRE_CHANNEL_ACCEPT, RI_WIRE_CHANNEL_CLOSE}) {
        wire_msg msg = about(type, 5);
        msg.serial   = in()->serial + 1;
        m_b->deliver(msg);
        EXPECT_EQ(before + ++count, stale(*m_a) + stale(*m_b));
    }
    wire_msg accept = about(RI_WIRE_CHANNEL_ACCEPT); /* a second one */
    accept.serial   = in()->serial;
    accept.cookie   = 0x1000;
    m_b->deliver(accept);
    EXPECT_EQ(before + ++count, stale(*m_a) + stale(*m_b));
    wire_msg offer = about(RI_WIRE_CHANNEL_OFFER, 4096); /* a second one */
    offer.serial   = out()->serial;
    m_a->deliver(offer);
    EXPECT_EQ(before + ++count, stale(*m_a) + stale(*m_b));
    exchange();
    EXPECT_NE(nullptr, in());
    EXPECT_NE(nullptr, out());
    EXPECT_EQ(0u, malformed());
}

/* Offers that cannot be accepted are refused, whatever is wrong with them. */
TEST_F(test_channel_life_ends, hostile_offers)
{
    open();
    wire_msg stop = about(RI_WIRE_CHANNEL_STOP);
    stop.serial   = in()->serial;
    m_a->deliver(stop);
    pump();
    ASSERT_EQ(nullptr, out());
    for (int i = 0; i < 7; ++i) {
        SCOPED_TRACE(i);
        wire_msg offer = about(RI_WIRE_CHANNEL_OFFER, 4096);

        offer.serial = 100 + i;
        offer.way    = m_conn->peer->way.number;
        offer.value  = (i == 0) ? 0 : (i == 1) ? 8192 : (i == 2) ? 4097 : 4096;
        offer.way += (i == 3);
        offer.stream_id = (i == 4) ? 0x12345 : offer.stream_id;
        offer.id        = (i == 5) ? 0x54321 : offer.id;
        m_conn->flags |= (i == 6) ? (uint32_t)RI_CONN_CLOSING : 0;
        m_a->deliver(offer);
        EXPECT_EQ(1u, m_ab->count(RI_WIRE_CHANNEL_CLOSE));
        m_ab->take(RI_WIRE_CHANNEL_CLOSE);
        EXPECT_EQ(nullptr, out());
    }
    m_conn->flags &= ~(uint32_t)RI_CONN_CLOSING;
    wire_msg offer = about(RI_WIRE_CHANNEL_OFFER, 4096); /* of nobody */
    offer.uid      = 0x9999;
    m_a->deliver(offer);
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_CHANNEL_CLOSE));
    exchange();
}

/* For a peer that never says that no credit comes, memory is kept up to a limit. A peer that says
 * it again and again has nothing freed twice. The memory is freed with the way. */
TEST_F(test_channel_life_ends, hostile_stops)
{
    with_channels(2);
    open();
    size_t before = m_a_rdma->keys();
    wire_msg stop = about(RI_WIRE_CHANNEL_STOP);
    stop.serial   = in()->serial;
    m_a->deliver(stop);
    EXPECT_EQ(nullptr, out());
    EXPECT_EQ(before, m_a_rdma->keys());
    for (int i = 0; i < 20; ++i) {
        SCOPED_TRACE(i);
        wire_msg offer = about(RI_WIRE_CHANNEL_OFFER, 4096);

        offer.serial = 100 + i;
        offer.way    = m_conn->peer->way.number;
        m_a->deliver(offer);
        EXPECT_EQ(i < 3, out() != nullptr);
        stop.serial = offer.serial;
        m_a->deliver(stop);
        EXPECT_EQ(nullptr, out());
        EXPECT_EQ(before + std::min(i + 1, 3), m_a_rdma->keys());
    }
    for (int i = 0; i < 2; ++i) {
        stop.serial = 100;
        m_a->deliver(stop); /* the second and the third time */
        EXPECT_EQ(before + 2, m_a_rdma->keys());
    }
    ri_way_fail_and_tell(m_a->worker(), m_conn->peer);
    EXPECT_EQ(before - 1, m_a_rdma->keys());
    pump();
    exchange();
    open();
}

/* Whoever says that it closes, and where, is not believed more than that. */
TEST_F(test_channel_life_ends, hostile_close)
{
    for (uint32_t why : {0u, 1u, 2u, 77u}) {
        SCOPED_TRACE(why);
        with_channels();
        open();
        wire_msg close = about(RI_WIRE_CHANNEL_CLOSE, in()->rx.pos - 1);
        close.serial   = in()->serial;
        close.reason   = why;
        m_b->deliver(close);
        EXPECT_TRUE(in()->dead);
        EXPECT_EQ(0u, m_b_rdma->ends());
        pump();
        EXPECT_EQ(nullptr, in()) << "the sender was told";
        exchange();
        open();
    }
}

/* CHANNEL_AGAIN of a channel that works is about its way: what was read is dropped by its
 * position, what was not is taken, whatever its number says; and nothing is offered before all of
 * it has come, in whatever order. */
TEST_F(test_channel_life_ends, again_by_hand)
{
    open();
    uint32_t next = stream()->next_sn, position = in()->rx.pos;
    recv_ptr r = m_b->recv(5, ~0ul, 8), r2 = m_b->recv(5, ~0ul, 8);

    again_msg(next, position - 1, 0, 1); /* of another channel, or way */
    again_msg(next, position, 1, 0);
    EXPECT_FALSE(r->done);
    EXPECT_FALSE(in()->dead);
    EXPECT_EQ(2u, m_b->counters().rx_stale);

    again_msg(3, 0, 0, 0, RI_WIRE_CHANNEL_ALL); /* there are three, it comes first */
    EXPECT_TRUE(in()->dead);
    again_msg(next - 1, position - 1);
    again_msg(next + 1, position + 1);
    again_msg(1, 0, 0, 0, RI_WIRE_CHANNEL_ALL); /* it has said so */
    EXPECT_EQ(3u, m_b->counters().rx_stale);
    EXPECT_FALSE(r->done);
    m_b->progress();
    ASSERT_NE(nullptr, in());
    EXPECT_EQ(nullptr, in()->memory);
    ri_channel_life_consider(stream());
    EXPECT_EQ(1u, m_b->counters().channels_offered);
    again_msg(next, position);
    ASSERT_TRUE(r->done && r2->done);
    EXPECT_TRUE(r->buffer == pattern(next, 8));
    EXPECT_TRUE(r2->buffer == pattern(next + 1, 8));
    EXPECT_EQ(nullptr, in());
    again_msg(next + 2, position + 2); /* too late */
    EXPECT_EQ(0u, malformed());
    EXPECT_EQ(4u, m_b->counters().rx_stale);
}

/* A record that comes again is checked as one in the buffer. */
TEST_F(test_channel_life_ends, malformed_again)
{
    for (int i = 0; i < 5; ++i) {
        SCOPED_TRACE(i);
        with_channels();
        open();
        uint64_t before = malformed();
        wire_msg msg    = again_header(stream()->next_sn, in()->rx.pos);
        bytes payload(8);

        msg.record = (i == 0) ? RI_WIRE_RTS :
                     (i == 1) ? RI_WIRE_BYE :
                     (i == 2) ? RI_WIRE_FIN :
                     (i == 3) ? RI_WIRE_RELEASE :
                                RI_WIRE_SYNC_ACK;
        msg.req_id = (i == 4) ? 0 : m_back->id; /* which is not an id */
        if (i == 4) {
            payload.clear();
        }
        m_b->deliver(msg, payload);
        EXPECT_EQ(before + 1, malformed());
        EXPECT_TRUE(stream()->broken);
    }
}

/* Everything at once: ways fail at any time, on either side, with or without what they carried;
 * each message comes once, in its order. */
TEST_F(test_channel_life_ends, random)
{
    uint64_t channel = 0, twice = 0;

    for_seeds(100, [&](rng &random) {
        with_channels(2, 4096 << random.below(2));
        open(); /* pieces of the first messages must not overtake each other */
        m_conn->flags |= RI_CONN_AM_READY;
        m_back->flags |= RI_CONN_AM_READY;
        std::vector<recv_ptr> receives;
        std::vector<bytes> contents;

        m_ucx->random = &random;
        while (contents.size() < 300) {
            random_step(random, receives, contents);
        }
        m_a_rdma->holds = m_b_rdma->holds = false;
        while (receives.size() < contents.size()) {
            receives.push_back(m_b->recv(7, ~0ul, 1200));
        }
        pump();
        m_ucx->random = nullptr;
        pump();
        for (size_t i = 0; i < contents.size(); ++i) {
            ASSERT_TRUE(receives[i]->done) << i;
            receives[i]->buffer.resize(receives[i]->info.length);
            ASSERT_TRUE(receives[i]->buffer == contents[i]) << i;
        }
        for (const recv_ptr &r : receives) {
            if (!r->done) {
                m_b->cancel(r);
            }
        }
        EXPECT_EQ(0u, malformed());
        EXPECT_EQ(0u, m_b->counters().held_bytes);
        EXPECT_EQ(UCS_OK, m_conn->status);
        channel += by_channel();
        twice += again();
    });
    EXPECT_GT(channel, 0u);
    EXPECT_GT(twice, 0u);
}

} // namespace
