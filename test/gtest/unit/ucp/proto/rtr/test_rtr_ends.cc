/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives with RTRs whose stream, ring, conn, peer or worker ends. (src/ucp/proto/rtr/rtr_ends.c,
 * protocol-rndv.md section 3.5) The tests run src/ucp/proto/rtr/rtr_done.c, too.
 */

#include "rtr_test.h"
#include "unit/fakes/quiesce_clock.h"

#include <chrono>
#include <thread>

namespace {

/* Ends. What state the RTR is in, by the sender's last step. */

enum state_t {
    NOT_SEEN,
    WAITS,
    WRITTEN, /* PLACED is on its way */
    RTS,     /* WRITTEN, after the RTS had gone */
    FAILED,  /* the RTS follows */
    SLOT,
    QUEUED
};

const state_t STATES[] = {NOT_SEEN, WAITS, WRITTEN, RTS, FAILED, SLOT, QUEUED};

class test_rtr_ends : public rtr_test {
protected:
    void make(state_t state)
    {
        size_t length = (state == SLOT) ? GIANT : LARGE;

        m_blocker.reset();
        if (state == QUEUED) {
            m_blocker = m_b->recv(0, 0, LARGE);
        }
        m_r = post(length);
        m_s.reset();
        if (state == RTS) {
            m_s = send(length);
        }
        if (state != NOT_SEEN) {
            m_a->progress();
        }
        if (state == FAILED) {
            m_a_plane->write_status = UCS_ERR_INVALID_ADDR;
        }
        if ((state == WRITTEN) || (state == FAILED) || (state == SLOT)) {
            m_s = send(length);
        }
        m_a_plane->write_status = UCS_OK;
        ASSERT_EQ((state == QUEUED) ? RI_RTR_QUEUED : RI_RTR_BY_GRANT, rtr(m_r));
    }

    /* The receive goes on as if there had never been an RTR, or is done. */
    void finish()
    {
        pump();
        if (m_blocker && !m_blocker->done) {
            cancel(m_blocker);
        }
        if (!m_r->done) {
            cancel(m_r);
        }
        pump();
        check_idle();
    }

    recv_ptr m_r, m_blocker;
    send_ptr m_s;
};

TEST_F(test_rtr_ends, stream_breaks)
{
    for (state_t state : STATES) {
        SCOPED_TRACE(state);
        make(state);
        ri_stream_break(stream(), "a test");
        EXPECT_FALSE(m_r->done) << "it may be for another sender";
        EXPECT_EQ(0u, stream()->rtr.num);
        if (state != QUEUED) {
            EXPECT_EQ(RI_RTR_NONE, rtr(m_r));
        }
        recv_ptr later = post();
        EXPECT_NE(RI_RTR_BY_GRANT, rtr(later));
        cancel(later);
        finish();
        EXPECT_EQ(UCS_ERR_CANCELED, m_r->status);
        stop();
        start();
    }
}

/* The sender was stopped in the middle of writes. They are waited for together, whatever ends
 * first. */
class test_rtr_stopped : public rtr_test {
protected:
    void SetUp() override
    {
        rtr_test::SetUp();
        ri_quiesce_timeout = 0.5; /* for as long, it is not waited for again */
        for (recv_ptr &r : m_r) {
            r = post_seen();
            set_state(r, RI_RING_GRANT_USED);
        }
        set_state(m_r[2], RI_RING_GRANT_SHARING);
        ri_slot_init(slot(), 77, (uintptr_t)m_r[2]->buffer.data());
        slot()->claimed = 5ul << 32;
        ::testing::internal::CaptureStderr();
    }

    void check_log()
    {
        const std::string text("does not go on");
        std::string log = ::testing::internal::GetCapturedStderr();

        EXPECT_NE(std::string::npos, log.find(text));
        EXPECT_EQ(log.find(text), log.rfind(text));
    }

    ri_ring_slot_t *slot() { return &m_conn->ring->control->slots[3]; }

    quiesce_clock m_clock{0.001};
    recv_ptr m_r[3];
};

TEST_F(test_rtr_stopped, stream_breaks)
{
    ri_stream_break(stream(), "a test");
    check_log();
    for (const recv_ptr &r : m_r) {
        EXPECT_EQ(RI_RTR_NONE, rtr(r));
        cancel(r);
    }
}

TEST_F(test_rtr_stopped, ring_is_given_back_and_stream_breaks)
{
    ri_ring_life_stop(m_back);
    ri_quiesce_timeout = 1e9;
    ri_stream_break(stream(), "a test");
    check_log();
    for (const recv_ptr &r : m_r) {
        cancel(r);
    }
}

TEST_F(test_rtr_stopped, worker_ends)
{
    for (const recv_ptr &r : m_r) {
        ri_req_put(ri_req_of_handle(r->handle));
    }
    m_b->may_end_open = true;
    m_b.reset();
    m_b_plane.reset();
    check_log();
    m_a->progress();
    m_ab->sent.clear();
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    m_a.reset();
    m_a_plane.reset();
}

/* A sender that was given up goes on: it ends what it had begun by an earlier RTR, whose grant was
 * given again meanwhile. That one is of no use then, and nothing else comes of it. */
TEST_F(test_rtr_ends, sender_goes_on_after_it_was_given_up)
{
    for (uint32_t late :
         {RI_RING_GRANT_WRITTEN, RI_RING_GRANT_FAILED, RI_RING_GRANT_SLOT}) {
        for (bool is_sent : {true, false}) {
            recv_ptr r = post_seen();

            word(r) = ri_grant_word(req(r)->rtr.generation - 1, late);
            if (!is_sent) {
                cancel(r);
                continue;
            }
            send_ptr s = send();
            pump();
            check(r, s);
            check_sent(s);
        }
    }
    EXPECT_EQ(0u, m_a_plane->writes);
    EXPECT_EQ(0u, malformed());
}

/* The sender has taken an RTR for a slot, which it is about to make ready. */
class test_rtr_sharing : public rtr_test {
protected:
    void SetUp() override
    {
        rtr_test::SetUp();
        m_r    = post_seen(GIANT);
        m_slot = &m_conn->ring->control->slots[3];
        set_state(m_r, RI_RING_GRANT_SHARING);
        m_sender = std::thread([this, grant = &word(m_r), word = (uint64_t)word(m_r)] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ri_slot_init(m_slot, 77, (uintptr_t)m_r->buffer.data());
            *grant = word - RI_RING_GRANT_SHARING + RI_RING_GRANT_SLOT;
        });
    }

    /* No byte is written any more. */
    void check_closed()
    {
        m_sender.join();
        EXPECT_TRUE(ri_slot_is_withdrawn(m_slot));
        EXPECT_FALSE(ri_slot_is_busy(m_slot));
    }

    recv_ptr m_r;
    ri_ring_slot_t *m_slot;
    std::thread m_sender;
};

TEST_F(test_rtr_sharing, stream_breaks)
{
    ri_stream_break(stream(), "a test");
    check_closed();
    cancel(m_r);
}

TEST_F(test_rtr_sharing, worker_ends)
{
    ri_req_put(ri_req_of_handle(m_r->handle));
    m_b->may_end_open = true;
    m_b.reset();
    m_b_plane.reset();
    check_closed();
    m_a->progress();
    m_ab->sent.clear();
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    m_a.reset();
    m_a_plane.reset();
}

TEST_F(test_rtr_ends, ring_is_given_back)
{
    for (state_t state : STATES) {
        SCOPED_TRACE(state);
        make(state);
        ri_ring_life_stop(m_back);
        ASSERT_EQ(nullptr, m_back->ring);
        EXPECT_FALSE(m_r->done);
        if ((state == NOT_SEEN) || (state == WAITS)) {
            EXPECT_EQ(RI_RTR_NONE, rtr(m_r));
        } else if (state != QUEUED) {
            EXPECT_EQ(RI_RTR_KEPT, rtr(m_r));
            EXPECT_EQ(nullptr, req(m_r)->rtr.conn);
            cancel_in_vain(m_r);
        }
        m_a->progress();
        EXPECT_EQ(0u, waiting()) << "its grant is gone";
        if (m_blocker) {
            cancel(m_blocker);
        }
        send_ptr s = m_s ? m_s : send();
        pump();
        check(m_r, s);
        check_sent(s);
        finish();
        check_idle();
        stop();
        start();
    }
}

TEST_F(test_rtr_ends, conn_of_the_receiver_closes)
{
    for (state_t state : STATES) {
        SCOPED_TRACE(state);
        make(state);
        ri_conn_destroy(m_back, UCS_ERR_CANCELED);
        EXPECT_FALSE(m_r->done);
        progress_both();
        if ((state == WRITTEN) || (state == RTS)) {
            check(m_r, m_s);
        } else if (!m_r->done && !m_s) {
            cancel(m_r);
        }
        m_ba->sent.clear();
        m_ba   = m_b->new_endpoint(m_a.get());
        m_back = m_b->connect(m_ba, SENDER);
        finish();
        stop();
        start();
    }
}

/* The sender's endpoint is closed, or its conn fails: no number follows. */
TEST_F(test_rtr_ends, conn_of_the_sender_closes)
{
    for (bool lost : {false, true}) {
        for (state_t state : STATES) {
            SCOPED_TRACE(state);
            make(state);
            if (lost) {
                ri_conn_lose(m_conn, m_conn->tx_sn + 1, UCS_ERR_IO_ERROR);
                pump();
            } else {
                ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
                progress_both();
            }
            if ((state == WRITTEN) || (state == RTS)) {
                check(m_r, m_s);
            }
            finish();
            stop();
            start();
        }
    }
}

/* The sender's process ends: nothing comes any more, and the endpoint to it fails. */
TEST_F(test_rtr_ends, peer_is_gone)
{
    for (state_t state : STATES) {
        SCOPED_TRACE(state);
        make(state);
        if (m_s) { /* what it has sent is still there */
            EXPECT_TRUE(m_ab->sent.empty());
        }
        m_b_plane->gone = true;
        ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
        for (unsigned i = 0; i < 20; ++i) {
            m_b->progress();
        }
        if ((state == WRITTEN) || (state == RTS)) {
            check(m_r, m_s);
        }
        if (!m_r->done) {
            m_b->cancel(m_r);
        }
        EXPECT_TRUE(m_r->done);
        if (m_blocker) {
            cancel(m_blocker);
        }
        check_idle();
        m_ba->sent.clear();
        ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
        stop();
        start();
    }
}

/* It ends in the middle of a write, before or after the receive has met the RTS. */
TEST_F(test_rtr_ends, peer_is_gone_while_it_writes)
{
    for (bool rts : {false, true}) {
        for (unsigned end : {0, 1, 2, 3}) {
            SCOPED_TRACE(std::string(rts ? "RTS " : "PLACED ") + std::to_string(end));
            recv_ptr r      = rts ? post() : post_seen();
            send_ptr s      = rts ? send() : nullptr;
            unsigned inside = 0;

            m_a_plane->on_write = [&]() {
                bool once = inside++;
                if (once) {
                    return;
                }
                if (rts) {
                    m_b->progress();
                    EXPECT_EQ(1u, ucs_list_length(&m_b->worker()->rtr.writing));
                }
                EXPECT_FALSE(r->done);
                m_b_plane->gone = true;
                switch (end) {
                case 0:
                    ri_stream_break(stream(), "a test");
                    break;
                case 1:
                    ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
                    break;
                case 2:
                    ri_ring_life_stop(m_back);
                    ri_stream_break(stream(), "a test");
                    break;
                default:
                    ri_conn_destroy(m_back, UCS_ERR_CANCELED);
                    ri_stream_break(stream(), "a test");
                    break;
                }
                for (unsigned i = 0; i < 20; ++i) {
                    m_b->progress();
                }
                if (rts) {
                    EXPECT_TRUE(r->done) << "lost";
                    EXPECT_NE(UCS_OK, r->status);
                } else {
                    cancel(r);
                }
                check_idle();
            };
            if (rts) {
                m_a->progress();
            } else {
                s = send();
            }
            m_a_plane->on_write = nullptr;
            EXPECT_EQ(1u, inside);
            m_ba->sent.clear();
            ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
            stop();
            start();
        }
    }
}

/* What could not be cancelled, because of a message that does not come then. */
TEST_F(test_rtr_ends, peer_is_gone_after_a_cancel)
{
    for (unsigned which : {0, 1}) { /* of two */
        SCOPED_TRACE(which);
        recv_ptr r = post_seen(), r2 = post_seen();
        send_ptr s;
        unsigned inside = 0;

        m_a_plane->on_write = [&]() {
            if (inside++) {
                return;
            }
            m_b->cancel((which == 1) ? r2 : r);
            EXPECT_EQ(which == 1, r2->done) << "nobody has used its RTR";
            EXPECT_FALSE(r->done);
            m_b_plane->gone = true;
            ri_conn_endpoint_failed(m_back, UCS_ERR_ENDPOINT_TIMEOUT);
            for (unsigned i = 0; i < 20; ++i) {
                m_b->progress();
            }
            EXPECT_EQ(which != 1, r->done);
            EXPECT_EQ(which == 1, r2->done);
            for (const recv_ptr &p : {std::cref(r), std::cref(r2)}) {
                if (!p->done) {
                    m_b->cancel(p);
                }
                EXPECT_TRUE(p->done);
                EXPECT_EQ(UCS_ERR_CANCELED, p->status);
            }
            check_idle();
        };
        s                   = send();
        m_a_plane->on_write = nullptr;
        EXPECT_EQ(1u, inside);
        m_ba->sent.clear();
        ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
        stop();
        start();
    }
}

TEST_F(test_rtr_ends, worker_of_the_sender_ends)
{
    for (state_t state : STATES) {
        SCOPED_TRACE(state);
        make(state);
        m_a->may_end_open = true;
        m_a.reset();
        m_a_plane.reset();
        for (unsigned i = 0; i < 20; ++i) {
            m_b->progress();
        }
        if ((state == WRITTEN) || (state == RTS)) {
            check(m_r, m_s);
        }
        if (m_blocker) {
            cancel(m_blocker);
        }
        if (!m_r->done) {
            m_ba->sent.clear();
            m_b->cancel(m_r);
        }
        if (m_r->done) {
            check_idle();
        } else {
            ri_req_put(ri_req_of_handle(m_r->handle));
            m_b->may_end_open = true;
        }
        m_ba->sent.clear();
        m_b.reset();
        m_b_plane.reset();
        start();
    }
}

TEST_F(test_rtr_ends, worker_of_the_receiver_ends)
{
    for (state_t state : STATES) {
        SCOPED_TRACE(state);
        make(state);
        std::vector<recv_ptr> more;
        if (state != QUEUED) {
            for (unsigned i = 0; i < 40; ++i) {
                more.push_back(post());
            }
        }
        for (const recv_ptr &r : more) {
            ri_req_put(ri_req_of_handle(r->handle));
        }
        ri_req_put(ri_req_of_handle(m_r->handle));
        if (m_blocker) {
            ri_req_put(ri_req_of_handle(m_blocker->handle));
        }
        m_b->may_end_open = true;
        m_b.reset();
        m_b_plane.reset();
        m_a->progress();
        m_a->progress();
        EXPECT_EQ(0u, waiting());
        m_ab->sent.clear();
        ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
        m_a.reset();
        m_a_plane.reset();
        start();
    }
}

TEST_F(test_rtr_ends, worker_of_the_receiver_ends_while_it_is_written)
{
    recv_ptr r = post();
    send_ptr s = send();

    m_a_plane->on_write = [&]() {
        if (m_b == nullptr) {
            return;
        }
        m_b->progress();
        EXPECT_EQ(1u, ucs_list_length(&m_b->worker()->rtr.writing));
        m_b_plane->gone   = true; /* or its end would wait */
        m_b->may_end_open = true;
        m_ba->sent.clear();
        m_b.reset();
        m_b_plane.reset();
        EXPECT_TRUE(r->done);
        EXPECT_NE(UCS_OK, r->status);
    };
    m_a->progress();
    m_a->progress();
    m_ab->sent.clear();
    ri_conn_destroy(m_conn, UCS_ERR_CANCELED);
    m_a.reset();
    m_a_plane.reset();
}

/* A promised receive whose sender goes gets what was passed on, and the first one of its
 * class the first message. */
TEST_F(test_rtr_ends, promised_receives_get_what_was_passed_on)
{
    second();
    recv_ptr small = post(EAGER), large = post();
    m_a->progress();
    m_conn->flags |= RI_CONN_BEHIND_RMA; /* these get lost */
    ri_conn_update_fast(m_conn);
    send_ptr a1 = send(8), a2 = send();
    EXPECT_EQ(RI_RING_GRANT_WRITTEN, state(large));
    m_ab->sent.clear();
    send_ptr b1 = send2(8), b2 = send2(EAGER);
    for (unsigned i = 0; i < 4; ++i) {
        m_b->progress();
        while (!m_ab2->sent.empty()) {
            packet p = m_ab2->sent[0];
            m_ab2->sent.pop_front();
            m_b->deliver(p.header, p.data);
        }
    }
    EXPECT_FALSE(small->done || large->done);
    EXPECT_EQ(2u, m_b->worker()->match.num_unexpected);
    ri_stream_break(stream(), "a test");
    check(small, b1);
    check(large, b2);
    EXPECT_EQ(0u, m_b->worker()->match.num_unexpected);
}

} // namespace
