/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * RTRs by ud whose transfer, way, stream or peer fails, and what a peer says that it should not.
 * The tests run src/ucp/core/activity.h, src/ucp/core/recv_req.c, src/ucp/proto/rtr/rtr_send_ud.c
 * and src/ucp/proto/rtr/rtr_withdraw.c, too.
 */

#include "rtr_ud_test.h"

extern "C" {
#include "ucp/proto/rtr/rtr_ends.h"
}

namespace {

class test_rtr_ud_ends : public rtr_ud_test {
protected:
    /* An RTR as the receiver would send it */
    ri_wire_rtr_ud_t rtr_of(uint32_t generation)
    {
        ri_wire_rtr_ud_t msg  = {};
        ri_ud_target_t target = {};

        target.qp         = 2;
        target.number     = 1000000;
        target.granted    = 1;
        target.piece_size = 2048;
        target.length     = LARGE;
        msg.base.value    = 77;
        msg.tag           = TAG;
        msg.mask          = ALL;
        msg.way           = m_conn->peer->way.number;
        msg.seen          = m_conn->tx_sn;
        msg.generation    = generation;
        msg.entry         = 31;
        memcpy(msg.target, &target, sizeof(target));
        return msg;
    }

    void deliver_rtr(ri_wire_rtr_ud_t msg, uint32_t conn_id)
    {
        const uint8_t *at = reinterpret_cast<const uint8_t *>(&msg);

        msg.base.type = RI_WIRE_RTR_UD;
        ri_wire_set_id(&msg.base, conn_id);
        m_a->deliver(bytes(at, at + sizeof(msg)), {});
    }

    void abandon(uint32_t req_id, uint32_t recv_id, uint32_t sn)
    {
        ri_wire_abandon_t msg = {};
        const uint8_t *at     = reinterpret_cast<const uint8_t *>(&msg);

        msg.base.type  = RI_WIRE_ABANDON;
        msg.base.value = req_id;
        msg.recv_id    = recv_id;
        msg.sn         = sn;
        ri_wire_set_id(&msg.base, stream()->id);
        m_b->deliver(bytes(at, at + sizeof(msg)), {});
    }

    bytes rts(uint64_t name, uint64_t length = LARGE)
    {
        bytes payload(sizeof(ri_wire_rts_t) + sizeof(ri_segment_t));
        ri_wire_rts_t *rts = reinterpret_cast<ri_wire_rts_t *>(payload.data());

        rts->num_segments = 1;
        rts->flags        = RI_WIRE_RTS_SENDS | RI_WIRE_RTS_BY_RTR;
        rts->way          = m_back->peer->way.number;
        rts->segments[0]  = {name, length};
        return payload;
    }

    void deliver_rts(uint64_t name, uint64_t length = LARGE)
    {
        wire_msg msg(RI_WIRE_RTS, stream()->id, stream()->next_sn);

        msg.tag    = TAG;
        msg.req_id = 0x7777;
        m_b->deliver(msg, rts(name, length));
    }

    static uint64_t name(const recv_ptr &r)
    {
        return ri_wire_rtr_name(req(r)->rtr.index, req(r)->rtr.generation);
    }
};

/* The transfer fails, with what either side knows of it, before or after the RTS has its turn. */
TEST_F(test_rtr_ud_ends, transfers_fail)
{
    for (bool rts_first : {false, true}) {
        for (int what = 0; what < 5; ++what) {
            SCOPED_TRACE(std::to_string(rts_first) + " " + std::to_string(what));
            restart();
            recv_ptr r = post_seen();

            m_a_ud->delivers    = (what == 1) || (what == 4);
            m_a_ud->sent_status = (what == 2) ? UCS_ERR_CANCELED :
                                  (what >= 3) ? UCS_ERR_UNREACHABLE :
                                                UCS_OK;
            m_a_ud->send_status = (what == 0) ? UCS_ERR_NO_MEMORY : UCS_OK;
            send_ptr s          = send();
            if (rts_first) {
                deliver();
            }
            progress_both(1);
            m_a_ud->delivers    = true;
            m_a_ud->sent_status = m_a_ud->send_status = UCS_OK;
            pump();
            check(r, s);
            check_sent(s);
            check_idle();
            EXPECT_EQ(0u, malformed());
        }
    }
}

/* The sender cannot tell whether all arrived, and the RTS waits for its turn, or its receive. */
TEST_F(test_rtr_ud_ends, abandoned_early)
{
    for (bool arrived : {false, true}) {
        for (bool overtaken : {false, true}) {
            restart();
            recv_ptr r1 = post(EAGER), r = post_seen();
            send_ptr s1 = send(EAGER);

            m_a_ud->delivers    = arrived;
            m_a_ud->sent_status = UCS_ERR_UNREACHABLE;
            send_ptr s          = send();
            progress_both(3);
            m_a_ud->delivers    = true;
            m_a_ud->sent_status = UCS_OK;
            ASSERT_EQ(1u, m_ab->count(RI_WIRE_ABANDON));
            while (overtaken && (m_ab->sent.size() > 1)) { /* in reverse order */
                pair_test::deliver(m_ab, m_ab->sent.size() - 1);
            }
            pump();
            check(r1, s1);
            check(r, s);
            check_sent(s);
            check_idle();
        }
    }
}

/* The message that a probe has taken out is not there, whatever its sender asks. */
TEST_F(test_rtr_ud_ends, abandoned_and_probed)
{
    recv_ptr r = post_seen();
    ucp_tag_recv_info_t info;
    ucp_request_param_t param = {};

    m_a_ud->holds = m_a_ud->silent = true;
    send_ptr s                     = send();
    m_b->cancel(r);
    check_canceled(r);
    deliver();
    ri_msg_t *msg = ri_tag_recv_probe(m_b->worker(), TAG, ALL, 1, &info);
    ASSERT_NE(nullptr, msg);
    ri_way_fail_and_tell(m_a->worker(), m_conn->peer);
    m_a_ud->holds = false;
    pump();
    EXPECT_FALSE(s->done);
    bytes to(LARGE);
    ucs_status_ptr_t h = ri_tag_recv_msg(m_b->worker(), to.data(), LARGE, msg, &param);
    ASSERT_TRUE(UCS_PTR_IS_PTR(h));
    pump();
    check_sent(s);
    EXPECT_TRUE(s->data == to);
    ri_req_t *done = ri_req_of_handle(h);
    EXPECT_TRUE(ri_req_flags(done) & RI_REQ_COMPLETED);
    ri_req_put(done);
}

TEST_F(test_rtr_ud_ends, ways_fail)
{
    for (bool sender : {true, false}) {
        for (int when = 0; when < 4; ++when) {
            SCOPED_TRACE(std::to_string(sender) + " " + std::to_string(when));
            restart();
            recv_ptr r     = post_seen();
            m_a_ud->holds  = true;
            m_a_ud->silent = (when == 1);
            send_ptr s     = (when > 0) ? send() : nullptr;

            if (when == 3) {
                deliver();
            }
            progress_both(2);
            ri_way_fail_and_tell((sender ? m_a : m_b)->worker(),
                                 (sender ? m_conn : m_back)->peer);
            m_a_ud->holds = false;
            s             = (s == nullptr) ? send() : s;
            pump();
            check(r, s);
            check_sent(s);
            check_idle();
            EXPECT_EQ(0u, malformed());
        }
    }
}

TEST_F(test_rtr_ud_ends, streams_and_peers_end)
{
    for (int what = 0; what < 4; ++what) {
        for (int when = 0; when < 4; ++when) {
            SCOPED_TRACE(std::to_string(what) + " " + std::to_string(when));
            restart();
            recv_ptr r     = post_seen();
            m_a_ud->holds  = when < 3;
            m_a_ud->silent = (when == 1);
            send_ptr s     = (when > 0) ? send() : nullptr;

            progress_both(3);
            m_b->cancel(r);
            EXPECT_EQ(when < 2, r->done) << "used";
            switch (what) {
            case 0:
                ri_stream_break(stream(), "a test");
                break;
            case 1:
                ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
                break;
            case 2:
                m_b->deliver(wire_msg(RI_WIRE_BYE, stream()->id, stream()->next_sn - 1));
                break;
            default:
                ri_rtr_ends_check_gone(stream()); /* nothing has happened */
                EXPECT_EQ(when < 2, r->done);
                ri_stream_break(stream(), "a test");
                break;
            }
            check_canceled(r);
            EXPECT_EQ(0u, m_b_ud->num_active());
            m_ab->sent.clear();
            pump();
            ri_conn_endpoint_failed(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
            m_a_ud->holds = false;
            pump();
            EXPECT_TRUE((s == nullptr) || s->done);
            EXPECT_EQ(0u, m_b_ud->transfers());
        }
    }
}

TEST_F(test_rtr_ud_ends, workers_end)
{
    for (bool sender : {true, false}) {
        for (bool holds : {true, false}) {
            restart();
            recv_ptr r    = post_seen();
            m_a_ud->holds = holds;
            send_ptr s    = send();

            if (!sender) { /* what is posted only, is posted still */
                deliver();
            }
            progress_both(3);
            (sender ? m_a : m_b)->may_end_open = true;
            (sender ? m_a : m_b).reset();
            ri_conn_endpoint_failed(sender ? m_back : m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
            (sender ? m_b : m_a)->progress();
            EXPECT_TRUE(s->done);
            if (sender && !r->done) {
                m_b->cancel(r);
                check_canceled(r);
            }
            (sender ? m_ba : m_ab)->sent.clear();
            (sender ? m_b : m_a)->may_end_open = true;
            r.reset();
            s.reset();
            end();
            start();
        }
    }
}

/* RTRs: past, repeated, for another way, of nobody, malformed */
TEST_F(test_rtr_ud_ends, hostile_rtrs)
{
    ri_wire_rtr_ud_t good = rtr_of(1000), msg;
    uint64_t stale, wrong;

    m_conn->rtr.words->word[31].word = 0;
    deliver_rtr(good, m_conn->id);
    ASSERT_EQ(1u, m_conn->rtr.table->num_waiting);
    stale = m_a->counters().rx_stale;
    deliver_rtr(good, m_conn->id);
    msg = rtr_of(999);
    deliver_rtr(msg, m_conn->id);
    msg = rtr_of(1001);
    ++msg.way;
    deliver_rtr(msg, m_conn->id);
    deliver_rtr(rtr_of(1001), m_conn->id + 1);
    EXPECT_EQ(stale + 4, m_a->counters().rx_stale);

    wrong = m_a->counters().rx_malformed;
    for (unsigned at : {0u, 20u, 22u, 24u}) { /* fields that have no meaning */
        msg = rtr_of(1001);
        memset(&msg.target[at], 0xff, (at == 24) ? 8 : 2);
        if (at == 0) {
            memset(msg.target, 0, 4);
        }
        deliver_rtr(msg, m_conn->id);
    }
    msg       = rtr_of(1001);
    msg.entry = RI_WIRE_RTR_ENTRIES;
    deliver_rtr(msg, m_conn->id);
    EXPECT_EQ(wrong + 5, m_a->counters().rx_malformed);
    msg       = rtr_of(1001); /* of the future: it has seen what was not sent */
    msg.seen  = m_conn->tx_sn + 1;
    msg.entry = 30;
    deliver_rtr(msg, m_conn->id);
    EXPECT_EQ(1u, m_conn->rtr.table->num_waiting);

    /* It leads nowhere: the message is sent as without. */
    recv_ptr r = m_b->recv(TAG, ALL, LARGE + 1);
    m_ba->sent.clear();
    send_ptr s = send();
    EXPECT_EQ(1u, m_a_ud->transfers());
    pump();
    check(r, s);
    check_sent(s);
}

/* An RTS that names what its receive does not have is one without an RTR, unless the receive is
 * promised to another message. */
TEST_F(test_rtr_ud_ends, hostile_rts)
{
    for (int what = 0; what < 4; ++what) {
        SCOPED_TRACE(what);
        restart();
        recv_ptr r    = post_seen();
        m_a_ud->holds = true;
        send_ptr s    = (what == 3) ? send() : nullptr;
        progress_both(2);
        uint64_t wrong = malformed();
        uint64_t n     = name(r);
        switch (what) {
        case 0:
            deliver_rts(n + 1);
            break;
        case 1:
            deliver_rts(n ^ (1ul << 33));
            break;
        case 2:
            deliver_rts(n, LARGE - 1);
            break;
        default:
            deliver_rts(n + 1);
            break;
        }
        if (what < 3) {
            EXPECT_EQ(1u, m_ba->count(RI_WIRE_TARGET));
            EXPECT_EQ(wrong, malformed());
            ri_stream_break(stream(), "a test");
        } else {
            EXPECT_EQ(wrong + 1, malformed());
            ASSERT_TRUE(r->done);
            EXPECT_EQ(UCS_ERR_IO_ERROR, r->status);
        }
        ASSERT_TRUE(r->done);
        EXPECT_NE(UCS_OK, r->status);
        ri_conn_endpoint_failed(m_conn, UCS_ERR_ENDPOINT_TIMEOUT);
        m_a_ud->holds = false;
        pump();
        EXPECT_EQ(0u, m_b_ud->transfers());
    }
}

/* ABANDONs about nobody, another sender's receive, and twice */
TEST_F(test_rtr_ud_ends, hostile_abandon)
{
    recv_ptr r  = post_seen();
    uint32_t id = req(r)->id, next = stream()->next_sn;

    abandon(5, id + 1, next);
    abandon(5, 0, next + 100);
    EXPECT_EQ(1u, m_b_ud->num_active());
    abandon(5, id, next - 1); /* what was matched is there */
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_FIN));
    EXPECT_EQ(1u, m_b_ud->num_active());
    abandon(5, id, next);
    EXPECT_EQ(0u, m_b_ud->num_active());
    abandon(5, id, next);
    m_b->cancel(r);
    EXPECT_FALSE(r->done) << "its sender has used the RTR, as it says";
    send_ptr s = send();
    pump();
    check(r, s); /* as it was not used by the RTR's name, but it was: void */
    check_sent(s);
}

} // namespace
