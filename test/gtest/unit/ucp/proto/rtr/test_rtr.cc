/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/rtr/rtr.c, rtr_learn.c and rtr_send_host.c: which receives send an RTR, and what
 * becomes of it. (protocol-rndv.md section 3) The tests run src/ucp/in/ring_in.c,
 * src/ucp/in/sequence_in.c, src/ucp/order/promises.h, src/ucp/proto/rtr/promises.c,
 * src/ucp/proto/rtr/rtr_host.c, src/ucp/proto/rtr/rtr_known.c and src/ucp/proto/rtr/rtr_withdraw.c,
 * too.
 */

#include "rtr_test.h"

namespace {

class test_rtr : public rtr_test {};

/* Which receives send an RTR */

TEST_F(test_rtr, posted)
{
    recv_ptr small = post(8192), large = post(8193), list;
    bytes buffer(LARGE);
    ucp_dt_iov_t iov[]        = {{buffer.data(), 50000}, {&buffer[50000], 50000}};
    ucp_request_param_t extra = {};

    EXPECT_EQ(RI_RTR_NONE, rtr(small));
    EXPECT_EQ(RI_RTR_BY_GRANT, rtr(large));
    extra.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    extra.datatype     = ucp_dt_make_iov();
    list               = m_b->recv_into(iov, 2, TAG, extra);
    EXPECT_EQ(RI_RTR_NONE, rtr(list));
    recv_ptr other = post(LARGE, 1234), mask = m_b->recv(TAG, 0xff, LARGE);
    EXPECT_EQ(RI_RTR_NONE, rtr(other)) << "nobody knows who sends to it";
    EXPECT_EQ(RI_RTR_NONE, rtr(mask));
    ri_config.rtr  = 0;
    recv_ptr never = post();
    EXPECT_EQ(RI_RTR_NONE, rtr(never));
    for (const recv_ptr &r : {small, large, list, other, mask, never}) {
        cancel(r);
    }
    check_rtrs(1, 0);
}

TEST_F(test_rtr, posted_when_the_message_is_there)
{
    send_ptr s = send();
    m_b->progress();
    recv_ptr r = post();
    pump();
    check(r, s);
    check_rtrs(0, 0);
}

TEST_F(test_rtr, says_what_is_needed)
{
    recv_ptr small = post(EAGER), r = post_seen();
    const ri_rtr_t &rtr = m_conn->rtr.table->waiting[0];

    ASSERT_EQ(1u, waiting());
    EXPECT_EQ(TAG, rtr.tag);
    EXPECT_EQ(ALL, rtr.mask);
    EXPECT_EQ((uintptr_t)r->buffer.data(), rtr.address);
    EXPECT_EQ(LARGE, rtr.length);
    EXPECT_EQ(1u, rtr.ahead) << "the small one is ahead";
    EXPECT_EQ(r->handle, ri_req_handle(&req(r)->super));
    EXPECT_EQ(req(r), ri_id_get(&m_b->worker()->ids.recvs, rtr.recv_id));
    cancel(small);
    cancel(r);
}

/* The RTR is there before the message */

TEST_F(test_rtr, waits_and_is_used)
{
    for (bool sync : {false, true}) {
        for (size_t length : {(size_t)8193, MEDIUM, LARGE - 1, LARGE}) {
            recv_ptr r = post_seen();
            EXPECT_EQ(1u, waiting());
            send_ptr s = send(length, sync);
            check_sent(s);
            EXPECT_EQ(0u, waiting());
            EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(r));
            EXPECT_FALSE(r->done) << "its message's turn";
            m_b->progress();
            check(r, s);
            check_rtrs(1, 1);
        }
    }
    EXPECT_EQ(8u, m_b->counters().rtr_used - 1) << "one of the start";
    EXPECT_EQ(0u, m_b_plane->reads);
    EXPECT_TRUE(m_ba->sent.empty() && m_ab->sent.empty());
}

TEST_F(test_rtr, used_by_pieces_of_a_list)
{
    bytes content      = pattern(1, LARGE);
    ucp_dt_iov_t iov[] = {
            {content.data(), 30000}, {nullptr, 0}, {&content[30000], LARGE - 30000}};
    ucp_request_param_t param = {};

    param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype     = ucp_dt_make_iov();
    recv_ptr r         = post_seen();
    EXPECT_EQ(nullptr, ri_tag_send(m_conn, iov, 3, TAG, &param, 0));
    m_b->progress();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(content, r->buffer);
    check_rtrs(1, 1);
}

TEST_F(test_rtr, immediate_completion_does_not_use_it)
{
    bytes content             = pattern(1, LARGE);
    ucp_request_param_t param = {};
    recv_ptr r                = post_seen();

    param.op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              UCS_PTR_STATUS(ri_tag_send(m_conn, content.data(), LARGE, TAG, &param, 0)));
    EXPECT_EQ(RI_RING_GRANT_OUT, state(r));
    EXPECT_EQ(1u, waiting());
    send_ptr s = send();
    m_b->progress();
    check(r, s);
    check_rtrs(1, 1);
}

/* A message that is matched before is in sequence before. */
TEST_F(test_rtr, placed_waits_for_its_turn)
{
    recv_ptr other = m_b->recv(2, ALL, EAGER), r = post_seen();

    m_conn->flags |= RI_CONN_BEHIND_RMA; /* by the slow way */
    ri_conn_update_fast(m_conn);
    send_ptr first = m_a->send(m_conn, bytes(EAGER), 2);
    m_conn->flags &= ~RI_CONN_BEHIND_RMA;
    ri_conn_update_fast(m_conn);
    send_ptr s = send();
    m_b->progress();
    EXPECT_FALSE(r->done) << "early";
    EXPECT_EQ(1u, stream()->num_early);
    cancel_in_vain(r);
    pump();
    check(r, s);
    EXPECT_TRUE(other->done);
    check_rtrs(1, 1);
}

TEST_F(test_rtr, placed_by_active_message)
{
    recv_ptr r = post_seen();

    m_conn->flags |= RI_CONN_BEHIND_RMA;
    send_ptr s = send();
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_PLACED));
    m_b->progress();
    EXPECT_FALSE(r->done);
    deliver();
    check(r, s);
    m_conn->flags &= ~RI_CONN_BEHIND_RMA;
}

TEST_F(test_rtr, write_fails)
{
    for (ucs_status_t status : {UCS_ERR_INVALID_ADDR, UCS_ERR_UNREACHABLE}) {
        recv_ptr r              = post_seen();
        m_a_plane->write_status = status;
        m_a_plane->move_before  = 5000;
        send_ptr s              = send();
        m_a_plane->write_status = UCS_OK;
        EXPECT_FALSE(s->done);
        EXPECT_EQ(RI_RING_GRANT_FAILED, state(r));
        cancel_in_vain(r);
        pump();
        check(r, s);
        check_sent(s);
        check_rtrs(1, 0);
        restart();
    }
}

TEST_F(test_rtr, no_plane_any_more)
{
    recv_ptr r = post_seen();

    ri_local_disconnect(m_conn->peer);
    send_ptr s = send();
    EXPECT_EQ(RI_RING_GRANT_OUT, state(r)) << "not used";
    pump();
    check(r, s);
    check_rtrs(1, 0);
    EXPECT_EQ(0u, m_a_plane->writes);
}

/* A message that has used an RTR does not go out. Others may have made way for it meanwhile, and a
 * cancel was refused: so it is not as if it had never been, and the conn ends with it. */
TEST_F(test_rtr, placed_cannot_be_sent)
{
    for (bool written : {true, false}) {
        recv_ptr r = post_seen();

        m_conn->flags |= RI_CONN_BEHIND_RMA; /* not through the ring */
        m_a_plane->write_status = written ? UCS_OK : UCS_ERR_INVALID_ADDR;
        m_ucx->send_mode        = FAILS;
        send_ptr s              = send();
        EXPECT_TRUE(s->done);
        EXPECT_NE(UCS_OK, s->status);
        m_ucx->send_mode        = AT_ONCE;
        m_a_plane->write_status = UCS_OK;
        EXPECT_NE(UCS_OK, m_conn->status);
        EXPECT_EQ(written ? RI_RING_GRANT_WRITTEN : RI_RING_GRANT_FAILED, state(r));
        cancel_in_vain(r);
        pump();
        EXPECT_EQ(RI_RTR_NONE, rtr(r)) << "the stream has ended";
        cancel(r);
        restart();
    }
}

/* Messages one way only: the receiver asks for the ring that its RTRs need. */
TEST_F(test_rtr, one_way)
{
    stop();
    meet();
    for (unsigned i = 0; i < 12; ++i) {
        recv_ptr r = post();
        pump();
        EXPECT_EQ((i > 3) ? RI_RTR_BY_GRANT : rtr(r), rtr(r));
        send_ptr s = send();
        pump();
        check(r, s);
        check_sent(s);
    }
    EXPECT_NE(nullptr, m_back->ring);
    EXPECT_EQ(0u, m_back->tx_sn);
    EXPECT_EQ(1u, m_a->counters().rings_offered);
}

/* It is asked for again when the ring was given back, but not more than once. */
TEST_F(test_rtr, asks_for_a_ring)
{
    ri_ring_life_stop(m_back);
    ASSERT_EQ(nullptr, m_back->ring);
    pump();
    m_ba->sent.clear();
    std::vector<recv_ptr> r = {post(), post(), post()};
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_RING_REQ));
    pump();
    ASSERT_NE(nullptr, m_back->ring);
    r.push_back(post());
    EXPECT_EQ(RI_RTR_NONE, rtr(r[2]));
    EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r[3]));
    for (const recv_ptr &one : r) {
        cancel(one);
    }
    m_a->worker()->rings.max = 0; /* there may be none */
    ri_ring_life_stop(m_back);
    pump();
    r = {post(), post()};
    pump();
    EXPECT_EQ(nullptr, m_back->ring);
    for (const recv_ptr &one : r) {
        cancel(one);
    }
}

/* Several of a tag */

TEST_F(test_rtr, several)
{
    const size_t lengths[] = {LARGE, EAGER, MEDIUM, GIANT, 0, LARGE, 5000, MEDIUM};

    for_seeds(60, [&](rng &random) {
        std::vector<recv_ptr> r;
        std::vector<send_ptr> s;
        size_t count = random.range(1, 12);

        for (size_t i = 0; i < 40; ++i) { /* worth while again */
            ri_sender_map_credit(&m_b->worker()->senders, TAG, ALL, stream()->id, 1);
        }
        while ((r.size() < count) || (s.size() < count)) {
            switch (random.below(4)) {
            case 0:
                if (r.size() < count) {
                    r.push_back(post(random.percent(20) ? EAGER : GIANT));
                }
                break;
            case 1:
                if (s.size() < count) {
                    s.push_back(send(lengths[random.below(8)], random.percent(20)));
                }
                break;
            case 2:
                m_a->progress();
                break;
            default:
                m_b->progress();
                break;
            }
        }
        pump();
        for (size_t i = 0; i < count; ++i) {
            check(r[i], s[i]);
            check_sent(s[i]);
        }
        check_idle();
        m_a->release_done();
        m_b->release_done();
    });
}

TEST_F(test_rtr, small_receive_ahead)
{
    for (size_t length : {EAGER, MEDIUM, LARGE}) {
        recv_ptr small = post(EAGER), large = post_seen();

        ASSERT_EQ(1u, waiting());
        send_ptr s1 = send(length);
        EXPECT_EQ(RI_RING_GRANT_OUT, state(large));
        EXPECT_EQ(1u, waiting());
        send_ptr s2 = send();
        EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(large));
        pump();
        check(small, s1);
        check(large, s2);
    }
}

TEST_F(test_rtr, more_receives_than_grants)
{
    const unsigned count = 100;
    std::vector<recv_ptr> r;
    std::vector<send_ptr> s;

    for (unsigned i = 0; i < count; ++i) {
        r.push_back(post());
        EXPECT_EQ((i < RI_RING_GRANTS) ? RI_RTR_BY_GRANT : RI_RTR_QUEUED, rtr(r[i])) << i;
    }
    m_b->progress();
    check_rtrs(RI_RING_GRANTS, 0);
    m_a->progress();
    m_a->progress();
    m_a->progress();
    EXPECT_EQ((unsigned)RI_RING_GRANTS, waiting());
    for (unsigned i = 0; i < count; ++i) {
        s.push_back(send());
        progress_both(5);
    }
    pump();
    for (unsigned i = 0; i < count; ++i) {
        check(r[i], s[i]);
    }
    uint64_t used = m_b->counters().rtr_used - m_used;
    EXPECT_GT(used, count * 3 / 4) << "not all get their turn in time";
    check_rtrs(used - RI_RING_GRANTS, used);
}

/* The next in line is the next to send its RTR, whatever their number. */
TEST_F(test_rtr, many_outstanding)
{
    const size_t length  = 8193;
    const unsigned count = 3000;
    uint64_t before      = m_b->counters().rtr_used;
    std::vector<recv_ptr> r;
    std::vector<send_ptr> s;

    for (unsigned i = 0; i < count; ++i) {
        r.push_back(post(length));
    }
    m_b->progress();
    for (unsigned i = 0; i < count; ++i) {
        s.push_back(send(length));
        progress_both(5);
    }
    pump();
    for (unsigned i = 0; i < count; ++i) {
        check(r[i], s[i]);
    }
    EXPECT_GE(m_b->counters().rtr_used - before, count * 9 / 10);
}

/* There were none left; later there are. */
TEST_F(test_rtr, asks_for_a_ring_again)
{
    m_a->worker()->rings.max = 0;
    ri_ring_life_stop(m_back);
    pump();
    m_ba->sent.clear();
    recv_ptr r = post();
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_RING_REQ));
    pump();
    cancel(r);
    m_a->worker()->rings.max = 4;
    for (unsigned i = 0; i < 50; ++i) {
        r = post();
        pump();
        send_ptr s = send();
        pump();
        check(r, s);
    }
    EXPECT_NE(nullptr, m_back->ring);
}

/* RING_REQ is there before RING_CLOSE was read. */
TEST_F(test_rtr, asks_for_a_ring_too_early)
{
    ri_ring_life_stop(m_back);
    recv_ptr r = post();
    ASSERT_EQ(1u, m_ba->count(RI_WIRE_RING_REQ));
    packet p = m_ba->sent.back();
    m_ba->sent.pop_back();
    m_a->deliver(p.header, p.data);
    pump();
    cancel(r);
    for (unsigned i = 0; i < 50; ++i) {
        r = post();
        pump();
        send_ptr s = send();
        pump();
        check(r, s);
    }
    EXPECT_NE(nullptr, m_back->ring);
}

/* A message for the receive ahead has not left the sender: the receiver must be able to decide
 * about that receive alone. */
TEST_F(test_rtr, message_behind_one_that_waits_for_room)
{
    recv_ptr first = post(EAGER), second = post_seen();
    std::vector<recv_ptr> fill;

    ASSERT_EQ(1u, waiting());
    while (ucs_list_is_empty(&m_conn->pending)) {
        m_a->send(m_conn, bytes(8), 7);
        fill.push_back(nullptr);
    }
    send_ptr s1 = send(8), s2 = send();
    EXPECT_EQ(RI_RING_GRANT_OUT, state(second)) << "not used";
    cancel(first); /* at once */
    for (recv_ptr &r : fill) {
        r = m_b->recv(7, ALL, 8);
    }
    progress_both(fill.size());
    pump();
    check(second, s1); /* so MPI has it */
    recv_ptr third = post();
    pump();
    check(third, s2);
}

/* What follows the write could not: the receive would be neither complete nor cancelled till the
 * sender's next call. */
TEST_F(test_rtr, no_room_for_what_follows)
{
    recv_ptr first = post_seen();
    std::vector<recv_ptr> fill;

    while (ri_ring_tx_reserve(m_conn->ring, RI_WIRE_RTS_MAX) != nullptr) {
        m_a->send(m_conn, bytes(8), 7);
        fill.push_back(nullptr);
        ASSERT_TRUE(ucs_list_is_empty(&m_conn->pending));
    }
    send_ptr s = send();
    EXPECT_EQ(RI_RING_GRANT_OUT, state(first)) << "not used";
    cancel(first); /* at once */
    for (recv_ptr &r : fill) {
        r = m_b->recv(7, ALL, 8);
    }
    progress_both(fill.size());
    pump();
    recv_ptr second = post();
    pump();
    check(second, s);
}

TEST_F(test_rtr, receives_far_behind)
{
    std::vector<recv_ptr> r;

    for (unsigned i = 0; i < 70; ++i) {
        r.push_back(post(EAGER)); /* no RTRs */
    }
    recv_ptr last = post();
    EXPECT_EQ(RI_RTR_QUEUED, rtr(last)) << "too many ahead";
    for (unsigned i = 0; i < 10; ++i) {
        cancel(r[i]);
    }
    progress_both(20);
    EXPECT_EQ(RI_RTR_BY_GRANT, rtr(last));
    EXPECT_EQ(60u, m_conn->rtr.table->waiting[0].ahead);
    for (unsigned i = 10; i < 70; ++i) {
        send(8);
    }
    send_ptr s = send();
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(last));
    pump();
    check(last, s);
}

TEST_F(test_rtr, ring_is_full)
{
    unsigned count = 0;

    while (ri_ring_tx_reserve(m_back->ring, 36) != nullptr) {
        m_b->send(m_back, bytes(8), 7);
        ++count;
    }
    recv_ptr r = post();
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r));
    m_b->progress();
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r));
    for (unsigned i = 0; i < count; ++i) {
        m_a->recv(7, ALL, 8);
    }
    progress_both(3000);
    EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r));
    send_ptr s = send();
    pump();
    check(r, s);
    check_rtrs(1, 1);
}

/* Whether it pays */

TEST_F(test_rtr, backs_off_and_comes_back)
{
    unsigned count = 0;
    recv_ptr r     = post();
    send_ptr s;

    while ((rtr(r) == RI_RTR_BY_GRANT) && (++count < 20)) {
        s = send(8);
        pump();
        check(r, s);
        r = post();
    }
    EXPECT_GT(count, 1u);
    EXPECT_LT(count, 10u);
    EXPECT_EQ(1u, m_b->counters().rtr_suppressed);
    s = send(8);
    pump();
    check(r, s);
    for (count = 0; count < 10; ++count) {
        r = post();
        if (rtr(r) == RI_RTR_BY_GRANT) {
            break;
        }
        s = send();
        pump();
        check(r, s);
    }
    EXPECT_GT(count, 0u);
    EXPECT_LT(count, 5u);
    s = send();
    pump();
    check(r, s);
}

} // namespace
