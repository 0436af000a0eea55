/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/rtr.c, rtr_meet.c, rtr_learn.c and recv_rndv.c. (protocol-rndv.md section 3) */

#include "rtr_test.h"

#include <chrono>
#include <thread>

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
    EXPECT_EQ(RI_RTR_OUT, rtr(large));
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
    const ri_rtr_t &rtr = m_conn->rtrs->waiting[0];

    ASSERT_EQ(1u, waiting());
    EXPECT_EQ(TAG, rtr.tag);
    EXPECT_EQ(ALL, rtr.mask);
    EXPECT_EQ((uintptr_t)r->buffer.data(), rtr.address);
    EXPECT_EQ(LARGE, rtr.length);
    EXPECT_EQ(1u, rtr.count) << "the small one is ahead";
    EXPECT_EQ(r->handle, ri_req_handle(&req(r)->super));
    EXPECT_EQ(req(r), ri_id_get(&m_b->worker()->recv_ids, rtr.recv_id));
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

    ri_planes_disconnect(m_conn->peer);
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
        EXPECT_EQ((i > 3) ? RI_RTR_OUT : rtr(r), rtr(r));
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
    ri_ring_channel_stop(m_back);
    ASSERT_EQ(nullptr, m_back->ring);
    pump();
    m_ba->sent.clear();
    std::vector<recv_ptr> r = {post(), post(), post()};
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_RING_REQ));
    pump();
    ASSERT_NE(nullptr, m_back->ring);
    r.push_back(post());
    EXPECT_EQ(RI_RTR_NONE, rtr(r[2]));
    EXPECT_EQ(RI_RTR_OUT, rtr(r[3]));
    for (const recv_ptr &one : r) {
        cancel(one);
    }
    m_a->worker()->max_rings = 0; /* there may be none */
    ri_ring_channel_stop(m_back);
    pump();
    r = {post(), post()};
    pump();
    EXPECT_EQ(nullptr, m_back->ring);
    for (const recv_ptr &one : r) {
        cancel(one);
    }
}

/* RTR and message cross */

TEST_F(test_rtr, crosses_rts_and_the_sender_is_first)
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

TEST_F(test_rtr, crosses_rts_and_the_receiver_is_first)
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

TEST_F(test_rtr, crosses_rts_and_it_is_being_written)
{
    recv_ptr r  = post();
    send_ptr s  = send();
    bool inside = false;

    m_a_plane->on_write = [&]() {
        inside = true;
        m_b->progress(); /* the RTS */
        EXPECT_FALSE(req(r)->super.flags & RI_REQ_POSTED);
        EXPECT_EQ(1u, ucs_list_length(&m_b->worker()->rtr_writing));
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

TEST_F(test_rtr, crosses_rts_and_the_write_fails)
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

TEST_F(test_rtr, crosses_rts_that_waits_for_stock)
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

TEST_F(test_rtr, slot)
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
            EXPECT_EQ(0u, m_conn->coop_slots);
            m_a->release_done();
            m_b->release_done();
        }
    }
}

TEST_F(test_rtr, slot_that_fails)
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
TEST_F(test_rtr, slot_that_is_not_ready)
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

TEST_F(test_rtr, pool)
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
        r                      = post();
        m_conn->rtrs->expected = 0; /* or it waits for the RTR */
        s                      = send(MEDIUM);
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

TEST_F(test_rtr, eager)
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

TEST_F(test_rtr, eager_by_active_message)
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

TEST_F(test_rtr, longer_message)
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
        EXPECT_EQ((i < RI_RING_GRANTS) ? RI_RTR_OUT : RI_RTR_QUEUED, rtr(r[i])) << i;
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
    EXPECT_EQ(RI_RTR_OUT, rtr(last));
    EXPECT_EQ(60u, m_conn->rtrs->waiting[0].count);
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
    EXPECT_EQ(RI_RTR_OUT, rtr(r));
    send_ptr s = send();
    pump();
    check(r, s);
    check_rtrs(1, 1);
}

/* Other classes */

TEST_F(test_rtr, wildcard_ahead_suspends)
{
    for (size_t length : {EAGER, MEDIUM, LARGE}) {
        recv_ptr any = m_b->recv(0, 0, LARGE), r = post();

        EXPECT_EQ(RI_RTR_QUEUED, rtr(r));
        m_b->progress();
        EXPECT_EQ(RI_RTR_QUEUED, rtr(r));
        send_ptr s1 = send(length), s2 = send();
        pump();
        check(any, s1);
        check(r, s2);
        restart();
    }
}

TEST_F(test_rtr, wildcard_ahead_gets_its_message)
{
    for (size_t length : {EAGER, LARGE}) {
        recv_ptr any = m_b->recv(0, 0, LARGE), r = post();
        progress_both(); /* nothing is left to do */
        EXPECT_EQ(RI_RTR_QUEUED, rtr(r));
        send_ptr s1 = m_a->send(m_conn, pattern(1, length), 2);
        progress_both(3);
        check(any, s1);
        EXPECT_EQ(RI_RTR_OUT, rtr(r));
        m_a->progress();
        send_ptr s2 = send();
        EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(r));
        pump();
        check(r, s2);
        restart();
    }
}

TEST_F(test_rtr, wildcard_ahead_is_cancelled)
{
    recv_ptr any = m_b->recv(0, 0, LARGE), r = post();

    progress_both();
    cancel(any);
    progress_both(3);
    EXPECT_EQ(RI_RTR_OUT, rtr(r));
    cancel(r);
}

TEST_F(test_rtr, many_wait_for_one_wildcard)
{
    std::vector<recv_ptr> r;
    recv_ptr any = m_b->recv(0, 0, 8);

    for (unsigned i = 0; i < 20; ++i) {
        r.push_back(post());
    }
    progress_both();
    check_rtrs(0, 0);
    send_ptr s0 = m_a->send(m_conn, bytes(8), 2);
    progress_both(10);
    check(any, s0);
    check_rtrs(20, 0);
    for (unsigned i = 0; i < 20; ++i) {
        send_ptr s = send();
        pump();
        check(r[i], s);
    }
}

TEST_F(test_rtr, wildcard_behind)
{
    recv_ptr r = post(), any = m_b->recv(0, 0, LARGE);
    m_a->progress();
    send_ptr s1 = send(), s2 = send();
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(r));
    pump();
    check(r, s1);
    check(any, s2);
}

/* Cancel */

TEST_F(test_rtr, cancel_not_used)
{
    for (bool seen : {true, false}) {
        recv_ptr r = seen ? post_seen() : post();
        cancel(r);
        m_a->progress();
        bytes before = r->buffer;
        send_ptr s   = send();
        EXPECT_EQ(0u, waiting());
        pump();
        EXPECT_EQ(before, r->buffer);
        recv_ptr r2 = post();
        pump();
        check(r2, s);
        check_rtrs(1, 0);
    }
    EXPECT_EQ(0u, m_a_plane->writes);
}

/* The grant is another receive's when the RTR arrives. */
TEST_F(test_rtr, cancel_and_the_grant_is_given_again)
{
    recv_ptr r = post();
    cancel(r);
    recv_ptr r2 = post(), r3 = post(); /* of one grant, the others */
    EXPECT_EQ(0u, req(r2)->rtr_index);
    m_a->progress();
    send_ptr s2 = send(), s3 = send();
    EXPECT_EQ(bytes(LARGE), r->buffer);
    pump();
    check(r2, s2);
    check(r3, s3);
    check_rtrs(3, 2);
}

TEST_F(test_rtr, cancel_counts_for_those_behind)
{
    for (unsigned which : {0, 1, 2}) {
        std::vector<recv_ptr> r = {post(), post(), post()};
        m_a->progress();
        EXPECT_EQ(3u, waiting());
        cancel(r[which]);
        r.erase(r.begin() + which);
        progress_both(5);
        for (const recv_ptr &left : r) {
            EXPECT_EQ(RI_RTR_OUT, rtr(left));
        }
        send_ptr s1 = send(), s2 = send(), s3 = send();
        pump();
        check(r[0], s1);
        check(r[1], s2);
        check_rtrs(3 + 2 - which, 2);
        recv_ptr last = post();
        pump();
        check(last, s3);
        check_rtrs(0, 0);
    }
}

TEST_F(test_rtr, cancel_queued)
{
    recv_ptr any = m_b->recv(0, 0, 8), r = post();
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r));
    cancel(r);
    cancel(any);
    check_rtrs(0, 0);
}

TEST_F(test_rtr, cancel_written)
{
    recv_ptr r = post_seen();
    send_ptr s = send();

    cancel_in_vain(r);
    cancel_in_vain(r);
    m_b->progress();
    check(r, s);
    m_b->cancel(r);
    check_rtrs(1, 1);
}

TEST_F(test_rtr, cancel_in_the_middle_of_the_write)
{
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        recv_ptr r              = post_seen();
        m_a_plane->write_status = status;
        m_a_plane->on_write     = [&]() {
            EXPECT_EQ(RI_RING_GRANT_USED, state(r));
            cancel_in_vain(r);
        };
        send_ptr s              = send();
        m_a_plane->on_write     = nullptr;
        m_a_plane->write_status = UCS_OK;
        cancel_in_vain(r);
        pump();
        check(r, s);
        check_sent(s);
    }
}

TEST_F(test_rtr, cancel_of_one_that_a_used_one_depends_on)
{
    for (ucs_status_t status : {UCS_OK, UCS_ERR_INVALID_ADDR}) {
        recv_ptr small = post(EAGER), between = post(EAGER), large = post();
        m_a->progress();
        send_ptr s1 = send(8), s2 = send(8);
        m_a_plane->write_status = status;
        send_ptr s3             = send();
        m_a_plane->write_status = UCS_OK;
        EXPECT_EQ((status == UCS_OK) ? RI_RING_GRANT_WRITTEN : RI_RING_GRANT_FAILED,
                  state(large));
        cancel_in_vain(small);
        cancel_in_vain(between);
        cancel_in_vain(large);
        pump();
        check(small, s1);
        check(between, s2);
        check(large, s3);
        restart();
    }
}

/* Some of those behind can be taken back, one cannot. */
TEST_F(test_rtr, cancel_in_vain_and_rtrs_go_out_again)
{
    recv_ptr r1 = post(), r2 = post(), r3 = post();
    m_a->progress();
    send_ptr s1 = send(EAGER), s2 = send();
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(r2));
    cancel_in_vain(r1);
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r1));
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r3));
    pump();
    check(r1, s1);
    check(r2, s2);
    EXPECT_EQ(RI_RTR_OUT, rtr(r3));
    send_ptr s3 = send();
    pump();
    check(r3, s3);
}

/* Messages of another sender */

TEST_F(test_rtr, contest_is_won)
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

TEST_F(test_rtr, contest_counts_for_those_behind)
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

TEST_F(test_rtr, contest_is_lost)
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

TEST_F(test_rtr, contest_by_a_message_to_itself)
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

TEST_F(test_rtr, one_class_is_out_to_one_sender)
{
    second();
    recv_ptr r1 = post();
    guess(stream2());
    recv_ptr r2 = post();
    EXPECT_EQ(RI_RTR_OUT, rtr(r1));
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r2));
    progress_both(5);
    EXPECT_EQ(RI_RTR_QUEUED, rtr(r2));
    send_ptr s1 = send(8); /* from which nothing is learnt */
    progress_both(5);
    check(r1, s1);
    ASSERT_EQ(RI_RTR_OUT, rtr(r2));
    EXPECT_EQ(stream2(), req(r2)->rtr_stream);
    EXPECT_EQ(1u, waiting(m_conn2));
    EXPECT_EQ(0u, waiting());
    send_ptr s2 = send2();
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(r2));
    pump();
    check(r2, s2);
    check_rtrs(2, 1);
}

/* Whether it pays */

TEST_F(test_rtr, backs_off_and_comes_back)
{
    unsigned count = 0;
    recv_ptr r     = post();
    send_ptr s;

    while ((rtr(r) == RI_RTR_OUT) && (++count < 20)) {
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
        if (rtr(r) == RI_RTR_OUT) {
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

/* Everything at once, against a reference: with one sender the messages of a tag go to the
 * receives in their order, but those that were cancelled. */
TEST_F(test_rtr, random)
{
    const size_t lengths[]    = {0, 8, EAGER, 5000, 8192, 8193, MEDIUM, LARGE, GIANT};
    const ucs_status_t ends[] = {UCS_OK, UCS_OK, UCS_OK, UCS_ERR_INVALID_ADDR};
    uint64_t used = 0, cancelled = 0, vain = 0;

    for_seeds(60, [&](rng &random) {
        std::vector<recv_ptr> r[2];
        std::vector<send_ptr> s[2];
        unsigned depth = 0, lead = random.below(3) * 4; /* of the receives */

        ri_config.hybrid_thresh = random.percent(30) ? 65536 : 0;
        ri_config.pool_size     = 1 << 20;
        restart();
        for (uint64_t tag : {TAG, TAG + 1}) {
            ri_sender_map_learn(&m_b->worker()->senders, tag, ALL, tag, stream()->id);
        }
        auto receiver = [&]() {
            unsigned tag = random.below(2);

            switch (random.below(4)) {
            case 0:
                if (r[tag].size() < 40) {
                    r[tag].push_back(post(random.percent(15) ? EAGER : GIANT, TAG + tag));
                }
                break;
            case 1:
                if (random.percent(20)) {
                    std::vector<recv_ptr> open;

                    std::copy_if(r[tag].begin(), r[tag].end(), std::back_inserter(open),
                                 [](const recv_ptr &one) { return !one->done; });
                    if (!open.empty()) {
                        recv_ptr one = open[random.below(open.size())];
                        m_b->cancel(one);
                        vain += !one->done;
                    }
                }
                break;
            default:
                m_b->progress();
                break;
            }
        };
        m_a_plane->on_write = [&]() {
            if ((depth == 0) && random.percent(40)) {
                ++depth;
                receiver();
                --depth;
            }
        };
        while ((r[0].size() < 40) || (r[1].size() < 40) || (s[0].size() < 40) ||
               (s[1].size() < 40)) {
            unsigned tag = random.below(2);

            switch (random.below(5)) {
            case 0:
                if ((s[tag].size() < 40) &&
                    ((s[tag].size() + lead <= r[tag].size()) || (r[tag].size() == 40))) {
                    s[tag].push_back(
                            m_a->send(m_conn, pattern(++m_seed, lengths[random.below(9)]),
                                      TAG + tag, random.percent(15)));
                }
                break;
            case 1:
                m_a->progress();
                break;
            case 2:
                deliver();
                m_a_plane->write_status = ends[random.below(4)];
                m_a_plane->move_before  = random.below(LARGE);
                m_conn->flags |= RI_CONN_PLANE_WRITE | RI_CONN_PLANE_READ;
                for (uint64_t one : {TAG, TAG + 1}) {
                    ri_sender_map_credit(&m_b->worker()->senders, one, ALL, stream()->id,
                                         1);
                }
                break;
            default:
                receiver();
                break;
            }
        }
        m_a_plane->on_write     = nullptr;
        m_a_plane->write_status = UCS_OK;
        pump();
        for (unsigned tag : {0, 1}) {
            size_t next = 0;

            for (const recv_ptr &one : r[tag]) {
                if (one->done && (one->status == UCS_ERR_CANCELED)) {
                    ++cancelled;
                    continue;
                }
                ASSERT_LT(next, s[tag].size());
                check(one, s[tag][next++]);
            }
            for (; next < s[tag].size(); ++next) {
                recv_ptr rest = post(GIANT, TAG + tag);
                pump();
                check(rest, s[tag][next]);
            }
            for (const send_ptr &one : s[tag]) {
                check_sent(one);
            }
        }
        pump();
        check_idle();
        EXPECT_EQ(0u, malformed());
        used += m_b->counters().rtr_used;
    });
    ri_config.hybrid_thresh = ri_config.pool_size = 0;
    EXPECT_GT(used, 300u);
    EXPECT_GT(cancelled, 100u);
    EXPECT_GT(vain, 5u);
}

/* Two senders, guesses that change, and wildcards: each message is received once, and those
 * of one sender and tag by receives in the order of both. */
TEST_F(test_rtr, random_contests)
{
    const size_t lengths[] = {8, EAGER, 5000, 8193, MEDIUM, LARGE};
    uint64_t used          = 0;

    for_seeds(60, [&](rng &random) {
        std::vector<recv_ptr> r, closed;
        std::vector<send_ptr> s[2];
        size_t lead = random.below(10), count = 60;
        unsigned depth = 0, wild = random.below(2) * 10;

        restart();
        second();
        auto receiver = [&]() {
            switch (random.below(5)) {
            case 0:
                if (r.size() < 2 * count) {
                    r.push_back(random.percent(wild) ? m_b->recv(0, 0, LARGE) :
                                                       post(LARGE));
                }
                break;
            case 1:
                guess(random.percent(50) ? stream() : stream2());
                ri_sender_map_credit(&m_b->worker()->senders, TAG, ALL, stream()->id, 1);
                break;
            case 2:
                if (!r.empty() && random.percent(20)) {
                    recv_ptr one = r[r.size() - 1 - random.below(ri_min(r.size(), 8ul))];
                    m_b->cancel(one);
                }
                break;
            default:
                m_b->progress();
                break;
            }
        };
        m_a_plane->on_write = [&]() {
            if ((depth == 0) && random.percent(60)) {
                ++depth;
                receiver();
                --depth;
            }
        };
        while ((s[0].size() < count) || (s[1].size() < count)) {
            unsigned who = random.below(2);

            switch (random.below(5)) {
            case 0:
                if ((s[who].size() < count) &&
                    ((s[0].size() + s[1].size() + lead <= r.size()) ||
                     (r.size() == 2 * count))) {
                    s[who].push_back(
                            m_a->send(who ? m_conn2 : m_conn,
                                      pattern(++m_seed, lengths[random.below(6)]), TAG));
                }
                break;
            case 1:
                m_a->progress();
                break;
            case 2:
                deliver();
                m_a_plane->write_status = random.percent(80) ? UCS_OK :
                                                               UCS_ERR_INVALID_ADDR;
                m_conn->flags |= RI_CONN_PLANE_WRITE | RI_CONN_PLANE_READ;
                m_conn2->flags |= RI_CONN_PLANE_WRITE | RI_CONN_PLANE_READ;
                break;
            default:
                receiver();
                break;
            }
        }
        m_a_plane->on_write     = nullptr;
        m_a_plane->write_status = UCS_OK;
        pump();
        for (size_t left = m_b->worker()->match.num_unexpected; left > 0; --left) {
            r.push_back(post());
        }
        pump();

        size_t next[2] = {0, 0}, matched = 0;
        for (const recv_ptr &one : r) {
            if (!one->done) { /* the wildcards may be taken, or not */
                m_b->cancel(one);
            }
            ASSERT_TRUE(one->done);
            if (one->status == UCS_ERR_CANCELED) {
                continue;
            }
            ASSERT_EQ(UCS_OK, one->status);
            ++matched;
            unsigned found = 2;
            for (unsigned who : {0, 1}) {
                if ((next[who] < count) &&
                    (s[who][next[who]]->data.size() == one->info.length) &&
                    std::equal(s[who][next[who]]->data.begin(),
                               s[who][next[who]]->data.end(), one->buffer.begin())) {
                    found = who;
                }
            }
            ASSERT_LT(found, 2u) << "not the next message of either";
            ++next[found];
        }
        EXPECT_EQ(2 * count, matched);
        for (unsigned who : {0, 1}) {
            for (const send_ptr &one : s[who]) {
                check_sent(one);
            }
        }
        pump();
        check_idle();
        EXPECT_EQ(0u, malformed());
        used += m_b->counters().rtr_used;
    });
    EXPECT_GT(used, 300u);
}

} // namespace
