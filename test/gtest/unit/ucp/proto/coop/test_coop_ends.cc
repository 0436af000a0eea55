/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cooperative copies that end before they are complete, and what a hostile peer may write into
 * their slots. (src/ucp/proto/coop/coop*.c) The tests run src/ucp/proto/fetch.c, too.
 */

#include "coop_test.h"
#include "unit/fakes/quiesce_clock.h"

namespace {

class test_coop_ends : public coop_test {};

/* Which of its states end a copy */
TEST(test_coop_state, has_ended)
{
    EXPECT_FALSE(ri_coop_side_has_ended(RI_COOP_WAITS));
    EXPECT_FALSE(ri_coop_side_has_ended(RI_COOP_WORKED));
    EXPECT_TRUE(ri_coop_side_has_ended(RI_COOP_DONE));
    EXPECT_TRUE(ri_coop_side_has_ended(RI_COOP_BROKEN));
    EXPECT_TRUE(ri_coop_side_has_ended(RI_COOP_GONE));
}

/* What the other side may write into a slot */

struct forged {
    const char *name;
    uint64_t claimed, done;
};

const forged FORGERIES[] = {
        {"front too large", UNITS + 1, 0},
        {"back too large", (UNITS + 1) << 32, 0},
        {"they overlap", (200ul << 32) | 100, 0},
        {"all ones", ~0ul, 0},
        {"withdrawn and claimed", RI_RING_SLOT_WITHDRAWN | 5, 0},
        {"too much done", 0, UNITS},
        {"far too much done", UNITS, ~0ul},
        {"too much done at the end", (100ul << 32) | 145, UNITS + 1},
};

TEST_F(test_coop_ends, hostile_sender)
{
    for (const forged &f : FORGERIES) {
        SCOPED_TRACE(f.name);
        restart();
        bytes content = pattern(1, LONG);
        send_ptr s    = send_unmatched(content);
        recv_ptr r    = m_b->recv(5, ~0ul, LONG + 100);

        slot().claimed = f.claimed;
        slot().done    = f.done;
        for (unsigned i = 0; i < 10; ++i) {
            m_b->progress();
        }
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
        EXPECT_TRUE(stream()->broken);
        EXPECT_EQ(bytes(100), bytes(r->buffer.end() - 100, r->buffer.end()));
        pump();
        check(s, UCS_ERR_CONNECTION_RESET);
    }
}

TEST_F(test_coop_ends, hostile_receiver)
{
    for (const forged &f : FORGERIES) {
        SCOPED_TRACE(f.name);
        restart();
        bytes content = pattern(1, LONG);
        bytes target(LONG + 100);
        send_ptr s = send_unmatched(content);

        slot().claimed = f.claimed;
        slot().done    = f.done;
        slot().address = reinterpret_cast<uintptr_t>(target.data());
        for (unsigned i = 0; i < 10; ++i) {
            m_a->progress();
        }
        check(s, UCS_ERR_CONNECTION_RESET);
        EXPECT_EQ(1u, m_a->counters().rx_malformed);
        EXPECT_EQ(bytes(100), bytes(target.end() - 100, target.end()));
        EXPECT_EQ(0u, m_conn->coop.slots);
        slot().claimed = 0; /* or the receiver's end waits for what this says */
    }
}

/* An RTS may name any slot: only its own counts. */
TEST_F(test_coop_ends, a_slot_of_another_message)
{
    bytes content = pattern(1, LONG), other = pattern(2, LONG);
    send_ptr s = send_unmatched(content, 5);

    for (uint16_t number : {1, 2, RI_RING_SLOTS, RI_RING_SLOTS + 1, 65535}) {
        check(recv_forged(other, number + 100, number), other);
        EXPECT_EQ(0u, slot().claimed);
    }
    pump();
    EXPECT_FALSE(s->done);
    recv_ptr r = m_b->recv(5, ~0ul, LONG);
    pump();
    check(r, content);
    check(s);
    check_idle();
}

/* The memory behind the last slot is no slot, whatever the peer has written there. */
TEST_F(test_coop_ends, a_slot_behind_the_last_one)
{
    bytes other           = pattern(2, LONG);
    ri_ring_slot_t *slots = &slot(), *behind = slots + RI_RING_SLOTS;

    ri_slot_init(behind, FORGED_ID, 0);
    recv_ptr r = recv_forged(other, 100, RI_RING_SLOTS + 1);
    EXPECT_EQ(0u, behind->claimed);
    EXPECT_EQ(0u, behind->address);
    check(r, other);
    memset((void *)behind, 0, sizeof(*behind));
    pump();
}

TEST_F(test_coop_ends, early_answers)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);

    m_a->deliver(wire_msg(RI_WIRE_FIN, m_conn->id, slot().id));
    check(s);
    EXPECT_EQ(0u, m_conn->coop.slots);
    m_a->deliver(wire_msg(RI_WIRE_FIN, m_conn->id, slot().id));
    EXPECT_EQ(1u, m_a->counters().rx_stale);

    /* The RTS is there still; its slot is not busy any more */
    recv_ptr r = m_b->recv(5, ~0ul, LONG);
    check(r, content);
    pump();
    check_idle();
}

/* Ends */

TEST_F(test_coop_ends, ring_asked_back_before_the_match)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);

    ri_ring_life_stop(m_conn);
    EXPECT_EQ(nullptr, m_conn->ring);
    EXPECT_FALSE(s->done);
    recv_ptr r = m_b->recv(5, ~0ul, LONG); /* has not seen yet that it is closed */
    pump();
    check(r, content);
    check(s);
    EXPECT_EQ(0u, m_a_plane->writes);
    EXPECT_EQ(nullptr, stream()->ring);

    /* And when it has */
    restart();
    s = send_unmatched(content);
    ri_ring_life_stop(m_conn);
    pump();
    EXPECT_EQ(nullptr, stream()->ring);
    r = m_b->recv(5, ~0ul, LONG);
    pump();
    check(r, content);
    check(s);
}

TEST_F(test_coop_ends, ring_asked_back_in_the_middle)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);

    ri_ring_life_stop(m_conn);
    EXPECT_NE(nullptr, m_conn->ring) << "the copy needs it";
    EXPECT_TRUE(m_conn->flags & RI_CONN_NO_RING) << "no other is begun";
    while (!s->done) {
        m_a->progress();
    }
    m_a->progress();
    EXPECT_EQ(nullptr, m_conn->ring);
    EXPECT_FALSE(r->done);
    m_b->progress(); /* RING_CLOSE, and that all is there */
    m_b->progress();
    check(r, content);
    check_idle();
}

TEST_F(test_coop_ends, send_ends_in_the_middle)
{
    for (bool writing : {false, true}) {
        bytes content = pattern(1, LONG);
        restart();
        send_ptr s = send_unmatched(content);
        recv_ptr r = m_b->recv(5, ~0ul, LONG);

        if (writing) {
            m_a->progress();
        }
        ri_conn_fail(m_conn, UCS_ERR_UNREACHABLE);
        check(s, UCS_ERR_UNREACHABLE);
        EXPECT_EQ(0u, m_a->worker()->num_coops);
        unsigned writes = m_a_plane->writes;
        pump();
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
        EXPECT_EQ(writes, m_a_plane->writes);
        EXPECT_EQ(0u, m_b->worker()->num_coops);
    }
}

/* All was copied when the send ended: the receive has got it. */
TEST_F(test_coop_ends, send_ends_after_all_was_copied)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);

    while (!r->done) {
        m_b->progress();
    }
    ri_conn_fail(m_conn, UCS_ERR_UNREACHABLE);
    check(s, UCS_ERR_UNREACHABLE);
    pump();
    check(r, content);
}

/* The receiver's stream breaks while the sender is writing. */
TEST_F(test_coop_ends, stream_breaks_in_the_middle)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);
    unsigned in   = 0;

    m_a_plane->on_write = [&]() {
        if (in++ == 0) {
            ri_stream_break(stream(), "the test says so");
            for (unsigned i = 0; i < 10000; ++i) {
                m_b->progress();
            }
            EXPECT_EQ(nullptr, stream()->ring);
            EXPECT_GT(m_b_plane->checks, 0u);
            EXPECT_FALSE(r->done) << "somebody is writing its memory";
        }
    };
    m_a->progress();
    EXPECT_EQ(1u, in);
    m_a->progress();
    EXPECT_EQ(1u, m_a_plane->writes) << "there is nothing left for it";
    m_b->progress();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    EXPECT_FALSE(s->done) << "not all was copied";
    pump();
    check(s, UCS_ERR_CONNECTION_RESET);
}

TEST_F(test_coop_ends, receivers_worker_ends)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);

    m_a->progress();
    m_b->may_end_open = true;
    EXPECT_FALSE(r->done);
    m_b.reset();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    EXPECT_FALSE(s->done);
    m_a->progress(); /* FIN, through the ring */
    check(s);
    EXPECT_EQ(0u, m_a->worker()->num_coops);
}

/* The sender was stopped with parts of two messages in its hands. */
TEST_F(test_coop_ends, receivers_worker_ends_with_a_stopped_sender)
{
    const std::string text("does not go on");
    quiesce_clock clock(0.001);
    bytes content = pattern(1, LONG);
    send_ptr s1   = send_unmatched(content, 5);
    send_ptr s2   = send_unmatched(content, 6);
    recv_ptr r1   = m_b->recv(5, ~0ul, LONG);
    recv_ptr r2   = m_b->recv(6, ~0ul, LONG);
    unsigned busy = 0;

    for (ri_ring_slot_t &slot : stream()->ring->control->slots) {
        ri_slot_part_t part;

        if (ri_slot_is_busy(&slot)) {
            ASSERT_EQ(UCS_OK,
                      ri_slot_claim(&slot, UNITS, RI_SLOT_BACK, RI_SLOT_SHARE, &part));
            ++busy;
        }
    }
    EXPECT_EQ(2u, busy);
    m_b->may_end_open  = true;
    ri_quiesce_timeout = 0.05;
    ::testing::internal::CaptureStderr();
    m_b.reset();
    std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(std::string::npos, log.find(text));
    EXPECT_EQ(log.find(text), log.rfind(text));
    for (const recv_ptr &r : {r1, r2}) {
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    }
    ri_conn_fail(m_conn, UCS_ERR_UNREACHABLE);
    m_a->progress();
    check(s1, UCS_ERR_UNREACHABLE);
    check(s2, UCS_ERR_UNREACHABLE);
}

TEST_F(test_coop_ends, senders_worker_ends)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);

    m_a->may_end_open = true;
    m_a.reset();
    check(s, UCS_ERR_CANCELED);
    for (unsigned i = 0; i < 10; ++i) {
        m_b->progress();
    }
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
}

/* A process that was killed with a part in its hands */

TEST_F(test_coop_ends, sender_dies_in_a_copy)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);
    ri_slot_part_t part;

    ASSERT_EQ(UCS_OK, ri_slot_claim(&slot(), UNITS, RI_SLOT_BACK, RI_SLOT_SHARE, &part));
    for (unsigned i = 0; i < 20000; ++i) {
        m_b->progress();
    }
    EXPECT_FALSE(r->done) << "it may still write";
    EXPECT_GT(m_b_plane->checks, 0u);
    EXPECT_LT(m_b_plane->checks, 10u);
    m_b_plane->gone = true;
    for (unsigned i = 0; i < 40000; ++i) {
        m_b->progress();
    }
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    ri_conn_fail(m_conn, UCS_ERR_UNREACHABLE);
    check(s, UCS_ERR_UNREACHABLE);
}

TEST_F(test_coop_ends, receiver_dies_in_a_copy)
{
    bytes content = pattern(1, LONG);
    bytes target(LONG);
    send_ptr s = send_unmatched(content);
    ri_slot_part_t part;

    slot().address = reinterpret_cast<uintptr_t>(target.data());
    ASSERT_EQ(UCS_OK, ri_slot_claim(&slot(), UNITS, RI_SLOT_FRONT, RI_SLOT_SHARE, &part));
    for (unsigned i = 0; i < 20000; ++i) {
        m_a->progress();
    }
    EXPECT_FALSE(s->done) << "it may still read";
    m_a_plane->gone = true;
    for (unsigned i = 0; i < 40000; ++i) {
        m_a->progress();
    }
    check(s, UCS_ERR_CONNECTION_RESET);
    EXPECT_EQ(0u, m_a->worker()->num_coops);
}

/* An unmatched message of a peer costs no look at it */
TEST_F(test_coop_ends, unmatched_is_not_checked)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);

    for (unsigned i = 0; i < 20000; ++i) {
        m_a->progress();
    }
    EXPECT_EQ(0u, m_a_plane->checks);
    recv_ptr r = m_b->recv(5, ~0ul, LONG);
    pump();
    check(r, content);
    check(s);
}

} // namespace
