/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that are offered through a network, and the order that this leaves. (protocol-rndv.md
 * section 4; src/ucp/proto/rtr/rtr_net.c, rtr_send_net.c, rtr_send_words.c) The tests run
 * src/ucp/proto/rtr/rtr_entries.c and src/ucp/proto/rtr/rtr_learn.c, too.
 */

#include "rtr_net_test.h"

#include <functional>

namespace {

class test_rtr_net : public rtr_net_test {
protected:
    /* Cancels the receives that have not got a message. */
    void cancel_rest(const std::vector<recv_ptr> &receives,
                     const std::function<void()> &pump_all)
    {
        for (const recv_ptr &r : receives) {
            if (!r->done) {
                m_b->cancel(r);
                pump_all();
                check_canceled(r);
            }
        }
    }
};

/* One RTR, and nothing else: the data tells of itself. */
TEST_F(test_rtr_net, one_message)
{
    for (bool sync : {false, true}) {
        recv_ptr r = post();
        EXPECT_EQ(1u, m_ba->sent.size());
        EXPECT_EQ(1u, m_ba->count(RI_WIRE_RTR));
        deliver();
        send_ptr s = send(LARGE, TAG, sync);
        EXPECT_EQ(0u, m_ab->sent.size());
        EXPECT_FALSE(s->done);
        EXPECT_FALSE(r->done);
        EXPECT_EQ(1u, m_a_rdma->under_way());
        progress_both(3);
        check(r, s);
        check_sent(s);
        EXPECT_FALSE(is_any_sent()) << "no FIN";
        check_rtrs(1, 1);
    }
    EXPECT_EQ(2u, m_a_rdma->writes);
    EXPECT_EQ(0u, m_b_rdma->reads);
    EXPECT_EQ(LARGE * 2, m_conn->counters.tx_written_bytes);
}

/* Whoever calls progress hears that something has come, and how much. */
TEST_F(test_rtr_net, progress_counts_messages)
{
    for (unsigned count : {1u, 3u}) {
        std::vector<recv_ptr> r;
        std::vector<send_ptr> s;
        unsigned done = 0, told = 0;

        for (unsigned i = 0; i < count; ++i) {
            r.push_back(post_seen());
        }
        for (unsigned i = 0; i < count; ++i) {
            s.push_back(send());
        }
        for (unsigned i = 0; (i < 10) && (done < count); ++i) {
            m_a->progress();
            unsigned now = ri_worker_progress(m_b->worker());
            unsigned all = 0;
            for (const recv_ptr &op : r) {
                all += op->done;
            }
            EXPECT_LE(all - done, now);
            EXPECT_EQ(all == done, now == 0);
            told += now;
            done = all;
        }
        EXPECT_GT(3 * count, told);
        for (unsigned i = 0; i < count; ++i) {
            check(r[i], s[i]);
        }
        pump();
    }
}

/* That an application waits in the library is a hint for copies within a host. */
TEST_F(test_rtr_net, waiting_is_no_hint)
{
    ri_config.rtr = UCS_TRY;
    recv_ptr r    = m_b->recv(TAG, ~0ul, LARGE);

    for (unsigned i = 0; i < 1000; ++i) {
        m_b->progress();
    }
    send_ptr s = send();
    pump();
    check(r, s);
    EXPECT_EQ(0u, stream()->peer->hint.waited);
}

/* Each large message takes one RTR, whichever way it goes. */
TEST_F(test_rtr_net, ping_pong)
{
    for (unsigned i = 0; i < 4; ++i) { /* teaches the other side */
        recv_ptr r = m_a->recv(TAG, ALL, LARGE);
        send_ptr s = m_b->send(m_back, pattern(i, LARGE), TAG);
        pump();
        ASSERT_TRUE(r->done && s->done);
    }
    uint64_t sn = m_conn->tx_sn, control_a = m_conn->counters.tx_control,
             control_b = m_back->counters.tx_control;
    for (unsigned i = 0; i < 20; ++i) {
        recv_ptr r  = post();
        recv_ptr r2 = m_a->recv(TAG, ALL, LARGE);
        deliver();
        send_ptr s = send();
        progress_both(3);
        check(r, s);
        send_ptr s2 = m_b->send(m_back, pattern(i, LARGE), TAG);
        progress_both(3);
        ASSERT_TRUE(r2->done && s2->done);
        EXPECT_TRUE(r2->buffer == s2->data);
        EXPECT_FALSE(is_any_sent());
    }
    EXPECT_EQ((uint32_t)sn + 20, m_conn->tx_sn);
    EXPECT_EQ(control_a + 20, m_conn->counters.tx_control);
    EXPECT_EQ(control_b + 20, m_back->counters.tx_control);
    EXPECT_EQ(20u, m_b_rdma->writes);
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_RTS) + m_ba->count(RI_WIRE_RTS));
}

/* A message that was offered is read; its RTR is for nothing. */
TEST_F(test_rtr_net, rts_and_rtr_cross)
{
    send_ptr s = send();
    recv_ptr r = post();
    EXPECT_EQ(RI_RTR_BY_KEY, rtr(r));
    deliver(m_ba, 0);
    EXPECT_EQ(0u, waiting());
    pump();
    check(r, s);
    check_rtrs(1, 0);
    EXPECT_EQ(1u, m_b_rdma->reads);
    EXPECT_EQ(0u, m_a_rdma->writes);

    s = send();
    r = post();
    deliver(m_ab, 0); /* now the RTR is last */
    pump();
    check(r, s);
    EXPECT_EQ(0u, waiting());
    EXPECT_EQ(0u, m_a_rdma->writes);
}

/* What is sent behind a message that is being written does not wait for it, as the sender says
 * which receive is the message's (USED); that is complete when the data is told. */
TEST_F(test_rtr_net, later_messages_overtake_the_write)
{
    for (size_t length : {(size_t)8, EAGER, MEDIUM, LARGE}) {
        SCOPED_TRACE(length);
        recv_ptr r1     = post_seen();
        recv_ptr r2     = post(EAGER - 1), r3;
        m_a_rdma->holds = true;
        send_ptr s1     = send();
        EXPECT_FALSE(is_any_sent());
        send_ptr s2 = send(8);
        EXPECT_EQ(1u, m_ab->count(RI_WIRE_USED));
        send_ptr s3 = send(length, TAG + 1);
        EXPECT_EQ(1u, m_ab->count(RI_WIRE_USED)) << "it was told";
        deliver();
        progress_both(5);
        check(r2, s2);
        EXPECT_FALSE(r1->done);
        EXPECT_EQ(RI_RTR_NAMED, rtr(r1));
        m_b->cancel(r1);
        EXPECT_FALSE(r1->done);
        r3                   = post(LARGE, TAG + 1);
        m_a_rdma->holds      = false;
        m_b_rdma->holds_news = true;
        progress_both(5);
        EXPECT_TRUE(s1->done) << "it has ended";
        EXPECT_FALSE(r1->done) << "but is not told";
        m_b_rdma->holds_news = false;
        pump();
        check(r1, s1);
        check(r3, s3);
    }
    EXPECT_EQ(4u, stream()->counters.rx_named);
    EXPECT_EQ(0u, malformed());
}

/* USED comes late, and others before it: what it tells of waits for it, or its notification. */
TEST_F(test_rtr_net, later_messages_overtake_what_is_told)
{
    for (bool told : {true, false}) {
        recv_ptr r1 = post_seen(), r2 = post(8);
        m_a_rdma->holds = true;
        send_ptr s1 = send(), s2 = send(8);
        ASSERT_EQ(2u, m_ab->sent.size());
        deliver(m_ab, 1);
        EXPECT_FALSE(r2->done);
        if (told) {
            m_a_rdma->holds = false;
            progress_both(3);
            check(r1, s1);
        } else {
            deliver(m_ab, 0);
            EXPECT_FALSE(r1->done);
        }
        check(r2, s2);
        m_a_rdma->holds = false;
        pump();
        check(r1, s1);
    }
    EXPECT_EQ(1u, stream()->counters.rx_named);
    EXPECT_EQ(0u, malformed());
}

/* Nothing has to be told of what has ended, or comes in order. */
TEST_F(test_rtr_net, nothing_to_tell)
{
    recv_ptr r1 = post_seen(), r2 = post(8);
    send_ptr s1 = send();
    progress_both(3);
    EXPECT_EQ(0u, m_conn->rtr.untold->count);
    send_ptr s2 = send(8);
    EXPECT_EQ(0u, m_ab->count(RI_WIRE_USED));
    pump();
    check(r1, s1);
    check(r2, s2);
}

/* Many writes, and other messages between: a USED names a limited number of messages in a row */
TEST_F(test_rtr_net, many_to_tell)
{
    std::vector<recv_ptr> r;
    std::vector<send_ptr> s;
    std::vector<size_t> lengths(32, LARGE);

    lengths.insert(lengths.begin() + 5, 8); /* for which no receive is offered */
    lengths.push_back(8);
    for (size_t length : lengths) {
        r.push_back(post(length));
    }
    deliver();
    m_a_rdma->holds = true;
    for (size_t length : lengths) {
        s.push_back(send(length));
    }
    EXPECT_EQ(0u, m_conn->rtr.untold->count);
    EXPECT_EQ(1u + 3u, m_ab->count(RI_WIRE_USED)) << "5, 27";
    while (!m_ab->sent.empty()) { /* the last one first */
        deliver(m_ab, m_ab->sent.size() - 1);
    }
    for (size_t i = 0; i < lengths.size(); ++i) {
        EXPECT_EQ(lengths[i] == 8, r[i]->done);
    }
    EXPECT_EQ(32u, stream()->rtr.num_named);
    m_a_rdma->holds = false;
    pump();
    for (size_t i = 0; i < lengths.size(); ++i) {
        check(r[i], s[i]);
    }
    EXPECT_EQ(0u, malformed());
}

/* More of them than may come early for other reasons */
TEST_F(test_rtr_net, any_number_of_later_messages)
{
    ri_config.reorder_window = 8;
    recv_ptr r1              = post_seen();
    m_a_rdma->holds          = true;
    send_ptr s1              = send();
    for (unsigned i = 0; i < 30; ++i) {
        send(8, TAG + 1);
    }
    deliver();
    m_a_rdma->holds = false;
    pump();
    check(r1, s1);
    for (unsigned i = 0; i < 30; ++i) {
        EXPECT_TRUE(post(8, TAG + 1)->done);
    }
    EXPECT_EQ(0u, malformed());
}

/* A write whose number's turn has not come: earlier messages are still on their way. */
TEST_F(test_rtr_net, the_write_overtakes)
{
    recv_ptr r1 = post(LARGE, TAG + 1);
    recv_ptr r2 = post_seen();
    send_ptr s1 = send(8, TAG + 1);
    send_ptr s2 = send();
    progress_both(5);
    check_sent(s2);
    EXPECT_FALSE(r2->done);
    EXPECT_EQ(RI_RTR_WRITTEN, rtr(r2));

    /* It stands for its message: a cancel has no effect, later receives count it */
    m_b->cancel(r2);
    EXPECT_FALSE(r2->done);
    recv_ptr r3 = post();
    deliver(m_ba, 0);
    EXPECT_EQ(0u, m_conn->rtr.table->waiting[0].ahead) << "the sender has counted it";
    deliver();
    check(r1, s1);
    check(r2, s2);
    send_ptr s3 = send();
    pump();
    check(r3, s3);
    check_rtrs(2, 2);
}

TEST_F(test_rtr_net, counts_messages_of_all_kinds)
{
    recv_ptr r1 = post(EAGER), r2 = post(), r3 = post(MEDIUM), r4 = post();
    deliver();
    EXPECT_EQ(3u, waiting());
    send_ptr s1 = send(EAGER), s2 = send(MEDIUM), s3 = send(8), s4 = send();
    pump();
    check(r1, s1);
    check(r2, s2);
    check(r3, s3);
    check(r4, s4);
    check_rtrs(3, 2);
    EXPECT_EQ(2u, m_a_rdma->writes);
}

/* A short message in place of a long one speaks against RTRs as much as a long one for them. */
TEST_F(test_rtr_net, short_messages_instead)
{
    unsigned count = 0;

    for (unsigned i = 0; i < 8; ++i) { /* more than can be kept */
        credit(stream(), TAG);
    }
    while (ri_sender_map_is_worth(&m_b->worker()->senders, TAG, ALL) && (count < 20)) {
        recv_ptr r = post_seen();
        send_ptr s = send(8);

        pump();
        check(r, s);
        ++count;
    }
    EXPECT_EQ(5u, count);
}

/* The notification tells the length, if the message is in one piece. */
TEST_F(test_rtr_net, shorter_and_longer)
{
    for (size_t length : {(size_t)8193, LARGE - 1, LARGE, LARGE + 1}) {
        recv_ptr r = post_seen();
        send_ptr s = send(length);
        pump();
        check(r, s);
        check_rtrs(1, length <= LARGE);
    }
}

/* The tag of the RTR is the message's, or it goes another way. */
TEST_F(test_rtr_net, open_mask)
{
    ri_sender_map_learn(&m_b->worker()->senders, TAG, ~6ul, TAG, stream()->id);
    ri_sender_map_credit(&m_b->worker()->senders, TAG, ~6ul, stream()->id, 1);
    for (uint64_t tag : {TAG, TAG | 2}) {
        recv_ptr r = m_b->recv(TAG, ~6ul, LARGE);
        deliver();
        EXPECT_EQ(1u, waiting());
        send_ptr s = send(LARGE, tag);
        pump();
        check(r, s);
        EXPECT_EQ(tag, r->info.sender_tag);
        check_rtrs(1, tag == TAG);
    }
}

/* EAGER_SAME behind a message that is told by its data */
TEST_F(test_rtr_net, the_tag_of_the_message_before)
{
    recv_ptr r = post_seen();
    send_ptr s = send(), s2 = send(8);
    EXPECT_EQ(1u, m_ab->count(RI_WIRE_EAGER_SAME));
    recv_ptr r2 = post(EAGER);
    pump();
    check(r, s);
    check(r2, s2);
    EXPECT_EQ(TAG, r2->info.sender_tag);
}

TEST_F(test_rtr_net, numbers_of_the_window)
{
    /* Messages of other tags pass by a waiting RTR: too many, and it is not used */
    recv_ptr r = post_seen();
    m_conn->rtr.table->waiting[0].seen -= RI_WIRE_IMM_WINDOW - 2;
    send_ptr s = send();
    EXPECT_EQ(1u, m_a_rdma->writes);
    pump();
    /* The receiver does not know of that, and takes the number as it is */
    check(r, s);
    r = post_seen();
    m_conn->rtr.table->waiting[0].seen -= RI_WIRE_IMM_WINDOW;
    s = send();
    EXPECT_EQ(1u, m_a_rdma->writes);
    pump();
    check(r, s);
}

TEST_F(test_rtr_net, as_many_as_there_are_slots)
{
    std::vector<recv_ptr> r;
    std::vector<send_ptr> s;

    for (unsigned i = 0; i < 50; ++i) {
        r.push_back(post());
    }
    EXPECT_EQ(32u, m_ba->count(RI_WIRE_RTR));
    deliver();
    for (unsigned i = 0; i < 50; ++i) {
        s.push_back(send());
        progress_both(2);
        deliver();
    }
    pump();
    for (unsigned i = 0; i < 50; ++i) {
        check(r[i], s[i]);
    }
    EXPECT_EQ(0u, malformed());
}

/* What could not be registered, on either side */
TEST_F(test_rtr_net, no_memory_to_register)
{
    m_b_rdma->reg_status = UCS_ERR_NO_MEMORY;
    recv_ptr r           = post();
    EXPECT_EQ(RI_RTR_NONE, rtr(r));
    m_b_rdma->reg_status = UCS_OK;
    send_ptr s           = send();
    pump();
    check(r, s);

    r                    = post_seen();
    m_a_rdma->reg_status = UCS_ERR_NO_MEMORY;
    s                    = send();
    m_a_rdma->reg_status = UCS_OK;
    pump();
    check(r, s);
    EXPECT_EQ(0u, m_a_rdma->writes);
}

/* What nothing would wake offers nothing. */
TEST_F(test_rtr_net, not_for_those_who_sleep)
{
    m_b->worker()->context->features |= UCP_FEATURE_WAKEUP;
    recv_ptr r = post();
    EXPECT_EQ(RI_RTR_NONE, rtr(r));
    send_ptr s = send();
    pump();
    check(r, s);
    m_b->worker()->context->features &= ~UCP_FEATURE_WAKEUP;
}

/* A send that must end at once, but cannot, leaves the RTR as it is. */
TEST_F(test_rtr_net, refused_at_once)
{
    ri_config.hybrid_net = MEDIUM;
    ri_config.pool_size  = 1 << 20;
    restart();
    ucp_request_param_t param = {};
    bytes content             = pattern(77, MEDIUM);
    recv_ptr r                = post_seen(MEDIUM);

    param.op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
    m_a_rdma->bad_regs = 1; /* that of the pool */
    EXPECT_EQ(UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE),
              ri_tag_send(m_conn, content.data(), MEDIUM, TAG, &param, 0));
    EXPECT_EQ(0u, m_a_rdma->bad_regs);
    EXPECT_EQ(1u, waiting());
    EXPECT_EQ(UCS_OK, m_conn->status);
    send_ptr s = send(MEDIUM);
    pump();
    check(r, s);
    EXPECT_LT(0u, m_a_rdma->writes);
}

/* A peer to which too many receives are offered does not hold up those of others. */
TEST_F(test_rtr_net, peer_without_room)
{
    const uint64_t OTHER = 0x3333;
    auto third           = std::make_unique<node>(OTHER);
    auto third_rdma      = std::make_unique<rdma>(*third);
    endpoint *to_b       = third->new_endpoint(m_b.get());
    endpoint *from_b     = m_b->new_endpoint(third.get());
    ri_conn_t *conn      = third->connect(to_b, RECEIVER);
    std::vector<recv_ptr> of_a, of_third;

    ri_rtr_net_listen(third->worker());
    m_b->connect(from_b, OTHER);
    auto pump_all = [&] {
        do {
            for (endpoint *ep : {to_b, from_b}) {
                while (!ep->sent.empty()) {
                    deliver(ep, 0);
                }
            }
            third->progress();
            pump();
        } while (!to_b->sent.empty() || !from_b->sent.empty());
    };
    for (unsigned i = 0; i < 2; ++i) {
        recv_ptr r = m_b->recv(TAG + 1, ALL, LARGE);
        send_ptr s = third->send(conn, bytes(LARGE), TAG + 1);
        pump_all();
        ASSERT_TRUE(r->done && s->done);
    }

    for (unsigned i = 0; i < RI_WIRE_RTR_ENTRIES + 9; ++i) {
        of_a.push_back(post());
    }
    for (unsigned i = 0; i < RI_WIRE_RTR_ENTRIES + 2; ++i) {
        of_third.push_back(post(LARGE, TAG + 1));
    }
    pump_all();
    EXPECT_EQ(RI_RTR_QUEUED, rtr(of_a[RI_WIRE_RTR_ENTRIES]));
    EXPECT_EQ(RI_RTR_BY_KEY, rtr(of_third[RI_WIRE_RTR_ENTRIES - 1]));
    EXPECT_EQ(RI_RTR_QUEUED, rtr(of_third[RI_WIRE_RTR_ENTRIES]));
    send_ptr s = third->send(conn, pattern(1, LARGE), TAG + 1);
    pump_all();
    check(of_third[0], s);
    EXPECT_EQ(RI_RTR_BY_KEY, rtr(of_third[RI_WIRE_RTR_ENTRIES])) << "held up";
    EXPECT_EQ(RI_RTR_QUEUED, rtr(of_third[RI_WIRE_RTR_ENTRIES + 1])) << "out of order";

    s = send();
    pump_all();
    check(of_a[0], s);
    EXPECT_EQ(RI_RTR_BY_KEY, rtr(of_a[RI_WIRE_RTR_ENTRIES]));
    EXPECT_EQ(RI_RTR_QUEUED, rtr(of_a[RI_WIRE_RTR_ENTRIES + 1]));
    cancel_rest(of_a, pump_all);
    cancel_rest(of_third, pump_all);
    check_idle();
    m_b->may_end_open = true;
    m_a.reset();
    m_b.reset();
    third.reset();
}

} // namespace
