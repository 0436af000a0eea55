/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/tag/send_fast.c: in how many records a message goes through the ring, which follows from
 * whether something has come since the one before. */

#include "unit/fakes/fake_malloc.h"
#include "unit/ucp/link/ring_life_test.h"

namespace {

class test_send_fast : public ring_life_test {
protected:
    void SetUp() override
    {
        ring_life_test::SetUp();
        ri_config.ring_size    = 64 * 1024;
        ri_config.eager_thresh = 8 * 1024;
        m_ucx->rndv_thresh     = 16 * 1024;
        m_a                    = add_node();
        m_b                    = add_node();
        for (int i = 0; i < 200; ++i) { /* until both have a ring */
            exchange(m_a, m_b, 1);
            exchange(m_b, m_a, 1);
        }
        ASSERT_NE(nullptr, conn(m_a, m_b)->ring);
        ASSERT_NE(nullptr, conn(m_b, m_a)->ring);
    }

    /* How many lines of the ring a message takes that is sent now, not counting what fills a lap. */
    uint32_t lines_of(size_t length, bool soon = true)
    {
        conn(m_a, m_b)->tx_ticks = soon ? ri_clock_ticks() + (1u << 30) : 0;
        ri_ring_tx_t *tx         = conn(m_a, m_b)->ring;
        uint32_t pos             = tx->pos;
        uint32_t in_lap;

        m_sent.push_back(pattern(length, length));
        m_a->send(conn(m_a, m_b), m_sent.back(), 7);
        in_lap = tx->pos & tx->mask;
        return (in_lap > 0) ? std::min(in_lap, tx->pos - pos) : tx->pos - pos;
    }

    /* All that was sent has come, in order. */
    void check_sent()
    {
        for (const bytes &data : m_sent) {
            recv_ptr recv = m_b->recv(7, ~0ul, data.size());

            calm_down();
            ASSERT_TRUE(recv->done);
            ASSERT_EQ(data, recv->buffer);
            m_b->release_done();
        }
        m_sent.clear();
    }

    static uint32_t in_parts(uint32_t length)
    {
        return ri_ring_lines_in_parts(length, ri_ring_part_length(length));
    }

    node *m_a;
    node *m_b;
    std::vector<bytes> m_sent;
};

/* UCX holds the first message back: its request has the number that the message has. */
TEST_F(test_send_fast, number_of_what_is_held_back)
{
    node *c = add_node(), *d = add_node();
    recv_ptr recv;

    m_ucx->send_mode = LATER;
    send_ptr send    = c->send(conn(c, d), pattern(1, 8), 7);
    EXPECT_FALSE(send->done);
    ASSERT_FALSE(ucs_list_is_empty(&conn(c, d)->sends));
    EXPECT_EQ(conn(c, d)->tx_sn,
              ucs_list_head(&conn(c, d)->sends, ri_send_req_t, list)->sn);
    m_ucx->complete();
    calm_down();
    EXPECT_TRUE(send->done);
    recv = d->recv(7, ~0ul, 8);
    EXPECT_TRUE(recv->done);
}

/* There is no request for a message that UCX might hold back: it is not sent, and nothing is lost. */
TEST_F(test_send_fast, no_request)
{
    node *c = add_node(), *d = add_node();
    ri_conn_t *to_d           = conn(c, d);
    ri_worker_t *worker       = c->worker();
    ri_am_buffer_t *buffer    = ri_am_buffer_get(worker, 8);
    const unsigned size_class = buffer->size_class;
    const ri_req_pool_t reqs  = worker->reqs;
    const uint32_t sn         = to_d->tx_sn;
    ucp_request_param_t param = {};
    unsigned num_free;

    ri_am_buffer_put(buffer);
    num_free                  = worker->am_buffers.num_free[size_class];
    worker->reqs.free         = nullptr;
    fake::aligned_alloc_fails = true;
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_MEMORY),
                  ri_tag_send(to_d, "message", 8, 7, &param, 0));
    }
    ::testing::internal::GetCapturedStderr();
    fake::aligned_alloc_fails = false;
    worker->reqs              = reqs;
    EXPECT_EQ(num_free, worker->am_buffers.num_free[size_class]);
    EXPECT_EQ(sn, to_d->tx_sn);
}

TEST_F(test_send_fast, parts_unless_in_a_row)
{
    for (uint32_t length : {1536u, 2000u, 4096u, 8192u}) {
        exchange(m_b, m_a, 1);
        EXPECT_EQ(in_parts(length), lines_of(length)) << "nothing was sent since";
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(ri_ring_lines(length), lines_of(length)) << "in a row";
        }
        check_sent();
        EXPECT_EQ(ri_ring_lines(length), lines_of(length)) << "still nothing has come";
        EXPECT_EQ(in_parts(length), lines_of(length, false)) << "long ago";
        EXPECT_EQ(ri_ring_lines(length), lines_of(length));
        exchange(m_b, m_a, 1);
        EXPECT_EQ(in_parts(length), lines_of(length)) << "an answer";
        check_sent();
    }
}

TEST_F(test_send_fast, short_ones_begin_a_row)
{
    exchange(m_b, m_a, 1);
    EXPECT_EQ(1u, lines_of(8));
    EXPECT_EQ(ri_ring_lines(2048), lines_of(2048));
    exchange(m_b, m_a, 1);
    EXPECT_EQ(1u, lines_of(0));
    EXPECT_EQ(1u, lines_of(RI_RING_INLINE));
    EXPECT_EQ(2u, lines_of(RI_RING_INLINE + 1));
    check_sent();
}

/* What is sent when something has come may be answered: lines for an answer as long as the latest
 * message are fetched until it comes. */
TEST_F(test_send_fast, answer_is_expected)
{
    ri_ring_rx_t *rx = conn(m_a, m_b)->peer->ring_in;

    ASSERT_EQ(m_a->worker()->rings_in[0]->ring, rx);
    for (uint32_t length : {0u, 40u, 41u, 100u, 512u, 513u, 1000u, 41u}) {
        recv_ptr recv  = m_a->recv(9, ~0ul, length);
        uint32_t lines = (length <= 40) ? 0 : (length <= 512) ? (length + 63) / 64 : 0;

        m_sent.push_back(pattern(3, length));
        send_ptr send = m_b->send(conn(m_b, m_a), m_sent.back(), 9);
        calm_down();
        ASSERT_TRUE(recv->done);
        ASSERT_EQ(m_sent.back(), recv->buffer);
        m_sent.clear();
        m_a->release_done();
        EXPECT_EQ(lines, rx->payload_lines) << length;
        EXPECT_EQ(0u, rx->expected_lines) << length;
        lines_of(8);
        EXPECT_EQ(lines, rx->expected_lines) << length;
        rx->expected_lines = 0;
        lines_of(8); /* in a row */
        EXPECT_EQ(0u, rx->expected_lines) << length;
        rx->expected_lines = lines;
        check_sent();
    }
}

/* Between far cores a row goes past the cache from 2 KB on; what is in it is the same. */
TEST_F(test_send_fast, far_rows)
{
    ri_ring_tx_t *tx = conn(m_a, m_b)->ring;

    tx->distance.times = RI_DISTANCE_FAR_TIMES;
    ASSERT_TRUE(ri_ring_tx_streams(tx, RI_RING_STREAM_MIN_ROW, 1));
    EXPECT_FALSE(ri_ring_tx_streams(tx, RI_RING_STREAM_MIN_ROW - 1, 1));
    EXPECT_FALSE(ri_ring_tx_streams(tx, RI_RING_STREAM_MIN - 1, 0));
    lines_of(8);
    for (uint32_t length = RI_RING_STREAM_MIN_ROW - 2; length < RI_RING_STREAM_MIN + 2;
         length += 61) {
        for (int i = 0; i < 3; ++i) {
            tx->distance.times = RI_DISTANCE_FAR_TIMES; /* the index may have been read */
            EXPECT_EQ(ri_ring_lines(length), lines_of(length)) << length;
        }
        check_sent();
    }
}

/* A row of any lengths, also where the ring is full and at the end of its lap. */
TEST_F(test_send_fast, random_rows)
{
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        rng random(seed);
        unsigned count = random.range(1, 60);

        SCOPED_TRACE(seed);
        for (unsigned i = 0; i < count; ++i) {
            lines_of(random.percent(50) ? random.range(0, 100) : random.range(0, 8192));
        }
        check_sent();
        if (random.percent(50)) {
            exchange(m_b, m_a, 1);
        }
        if (HasFatalFailure()) {
            return;
        }
        m_a->release_done();
    }
}

} // namespace
