/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Hostile RTRs, grants and PLACED, at both ends. (src/ucp/proto/rtr/rtr_meet.c and rtr_send_host.c,
 * protocol-rndv.md section 3.5)
 */

#include "rtr_test.h"

namespace {

class test_rtr_hostile : public rtr_test {};

TEST_F(test_rtr_hostile, malformed_rtrs)
{
    const ri_wire_rtr_t good = {ALL, 4096, 1000, 0, 0, 0, 1};
    struct {
        const char *name;
        ri_wire_rtr_t rtr;
        size_t length;
    } bad[] = {{"grant out of range", good, 36},
               {"far out of range", good, 36},
               {"length 0", good, 36},
               {"too long", good, 36},
               {"short", good, 35},
               {"long", good, 37},
               {"empty", good, 0}};

    bad[0].rtr.grant  = RI_RING_GRANTS;
    bad[1].rtr.grant  = 0xffff;
    bad[2].rtr.length = 0;
    bad[3].rtr.length = RI_WIRE_LENGTH_MAX + 1;
    for (const auto &b : bad) {
        SCOPED_TRACE(b.name);
        put_rtr(b.rtr, m_conn->id, b.length);
        m_a->progress();
        EXPECT_EQ(1u, m_a->counters().rx_malformed);
        EXPECT_EQ(0u, waiting());
        EXPECT_EQ(0u, m_a->worker()->num_rings);
        pump();
        stop();
        start();
    }
}

TEST_F(test_rtr_hostile, rtrs_for_nothing)
{
    ri_wire_rtr_t rtr = {ALL, 4096, 1000, m_conn->tx_sn, 0, 3, 1};
    uint64_t stale    = m_a->counters().rx_stale;
    unsigned count    = 0;

    for (uint32_t id : {0u, 99u, ~0u, m_conn->id ^ (1u << 20)}) {
        put_rtr(rtr, id);
        ++count;
    }
    m_a->progress();
    EXPECT_EQ(stale + count, m_a->counters().rx_stale);
    m_conn->flags &= ~RI_CONN_PLANE_WRITE;
    put_rtr(rtr, m_conn->id);
    m_a->progress();
    m_conn->flags |= RI_CONN_PLANE_WRITE;
    EXPECT_EQ(stale + count + 1, m_a->counters().rx_stale);

    for (uint32_t seen : {m_conn->tx_sn + 1, m_conn->tx_sn + 0x7fffffff,
                          m_conn->tx_sn + 0x80000000u, m_conn->tx_sn - 300}) {
        rtr.seen = seen;
        put_rtr(rtr, m_conn->id);
        m_a->progress();
        EXPECT_EQ(0u, waiting()) << seen;
    }
    rtr.seen = m_conn->tx_sn;
    put_rtr(rtr, m_conn->id); /* of a grant that is not out */
    m_a->progress();
    send_ptr s = send();
    EXPECT_EQ(0u, m_a_plane->writes);
    recv_ptr r = post();
    pump();
    check(r, s);
    EXPECT_EQ(0u, m_a->counters().rx_malformed);
}

/* The same RTR again, also when its message has come. */
TEST_F(test_rtr_hostile, repeated_rtrs)
{
    recv_ptr r = post();
    ri_wire_rtr_t rtr;

    memcpy(&rtr, ri_ring_payload(ri_ring_rx_peek(m_a->worker()->rings_in[0]->ring), 36),
           36);
    put_rtr(rtr, m_conn->id);
    m_a->progress();
    EXPECT_EQ(2u, waiting());
    send_ptr s = send();
    EXPECT_EQ(0u, waiting());
    put_rtr(rtr, m_conn->id);
    m_b->progress();
    check(r, s);
    m_a->progress();
    send_ptr s2 = send();
    EXPECT_EQ(1u, m_a_plane->writes);
    recv_ptr r2 = post();
    pump();
    check(r2, s2);
}

TEST_F(test_rtr_hostile, rtrs_of_another_peer)
{
    node c(0x3333);
    ri_conn_t *conn = m_a->connect(m_a->new_endpoint(&c), 0x3333);
    uint64_t stale  = m_a->counters().rx_stale;

    put_rtr({ALL, 4096, 1000, 0, 0, 0, 1}, conn->id);
    m_a->progress();
    EXPECT_EQ(stale + 1, m_a->counters().rx_stale);
    ri_conn_destroy(conn, UCS_ERR_CANCELED);
}

enum placed_t {
    WRONG_ID,
    ID_0,
    OTHER_RECEIVE, /* whose id is right, but it is not its turn */
    NOT_USED,
    BEING_WRITTEN,
    WAS_FREE,
    TOO_LONG,
    GARBAGE
};

TEST_F(test_rtr_hostile, hostile_placed)
{
    for (unsigned how = WRONG_ID; how <= GARBAGE; ++how) {
        SCOPED_TRACE(how);
        recv_ptr r = post(), r2 = post();
        uint32_t id = req(r)->id, sn = stream()->next_sn;
        uint64_t length = LARGE;

        set_state(r, RI_RING_GRANT_WRITTEN);
        switch (how) {
        case WRONG_ID:
            id ^= 1 << 24;
            break;
        case ID_0:
            id = 0;
            break;
        case OTHER_RECEIVE:
            id = req(r2)->id;
            set_state(r2, RI_RING_GRANT_WRITTEN);
            break;
        case NOT_USED:
            set_state(r, RI_RING_GRANT_OUT);
            break;
        case BEING_WRITTEN:
            set_state(r, RI_RING_GRANT_USED);
            m_b_plane->gone = true; /* or it waits until that ends */
            break;
        case WAS_FREE:
            set_state(r, RI_RING_GRANT_FREE);
            break;
        case TOO_LONG:
            length = LARGE + 1;
            break;
        default:
            word(r) = 0x1234567812345678;
            break;
        }
        put_placed(sn, id, length);
        m_b->progress();
        ASSERT_TRUE(r->done);
        /* What the grant says is not looked at: PLACED tells as much. */
        bool believed = (how != WRONG_ID) && (how != ID_0) && (how != OTHER_RECEIVE) &&
                        (how != TOO_LONG);
        EXPECT_EQ(believed ? UCS_OK : UCS_ERR_IO_ERROR, r->status);
        EXPECT_EQ(believed ? 0u : 1u, malformed());
        EXPECT_EQ(believed, !stream()->broken);
        EXPECT_FALSE(r2->done);
        cancel(r2);
        pump();
        check_idle();
        stop();
        start();
    }
}

TEST_F(test_rtr_hostile, placed_without_a_receive)
{
    for (bool early : {false, true}) {
        put_placed(stream()->next_sn + early, 1, LARGE);
        m_b->progress();
        if (early) {
            EXPECT_EQ(1u, stream()->num_early);
            m_conn->flags |= RI_CONN_BEHIND_RMA;
            ri_conn_update_fast(m_conn);
            recv_ptr r = m_b->recv(2, ALL, 8);
            send_ptr s = m_a->send(m_conn, bytes(8), 2);
            deliver();
            check(r, s);
        }
        EXPECT_EQ(1u, malformed());
        EXPECT_TRUE(stream()->broken);
        EXPECT_EQ(0u, m_b->worker()->match.num_unexpected);
        pump();
        stop();
        start();
    }
}

/* Of a receive that has no RTR */
TEST_F(test_rtr_hostile, placed_for_a_receive_without_rtr)
{
    for (size_t length : {EAGER, LARGE}) {
        ri_config.rtr = 0;
        recv_ptr r    = post(length);
        ri_config.rtr = 1;
        for (uint32_t id : {0}) {
            put_placed(stream()->next_sn, id, length);
        }
        m_b->progress();
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_ERR_IO_ERROR, r->status);
        EXPECT_TRUE(stream()->broken);
        pump();
        stop();
        start();
    }
}

TEST_F(test_rtr_hostile, placed_again_and_too_early)
{
    recv_ptr r  = post_seen();
    uint32_t id = req(r)->id;
    send_ptr s  = send();
    m_b->progress();
    check(r, s);
    put_placed(m_conn->tx_sn, id, LARGE); /* past */
    m_b->progress();
    EXPECT_EQ(1u, malformed());
    EXPECT_FALSE(stream()->broken);

    recv_ptr r2 = post();
    m_a->progress();
    put_placed(m_conn->tx_sn + 2, id, LARGE); /* future, and for what is gone */
    put_placed(m_conn->tx_sn + 2, id, LARGE);
    m_b->progress();
    EXPECT_EQ(2u, malformed());
    EXPECT_EQ(1u, stream()->num_early);
    send_ptr s2 = send();
    m_b->progress();
    check(r2, s2);
    EXPECT_EQ(3u, malformed());
    EXPECT_TRUE(stream()->broken);
}

TEST_F(test_rtr_hostile, malformed_placed)
{
    const uint64_t lengths[] = {0, RI_WIRE_LENGTH_MAX + 1, ~0ul};

    for (unsigned how = 0; how < 6; ++how) {
        SCOPED_TRACE(how);
        recv_ptr r = post();
        bytes payload;

        set_state(r, RI_RING_GRANT_WRITTEN);
        wire_msg::append(payload, ri_wire_placed_t{lengths[how % 3]});
        payload.resize((how < 3) ? 8 : (how == 3) ? 7 : (how == 4) ? 9 : 0);
        if (how != 0) {
            put_record(m_conn, RI_WIRE_PLACED, stream()->next_sn, req(r)->id, TAG,
                       payload);
            m_b->progress();
            EXPECT_EQ(1u, malformed());
            EXPECT_TRUE(stream()->broken);
            EXPECT_FALSE(r->done);
            cancel(r);
        } else {
            set_state(r, RI_RING_GRANT_OUT);
            cancel(r);
        }
        pump();
        check_idle();
        stop();
        start();
    }
}

/* A message that must have used the RTR, and did not. */
TEST_F(test_rtr_hostile, used_and_the_message_is_another_one)
{
    const uint32_t states[] = {RI_RING_GRANT_USED, RI_RING_GRANT_WRITTEN,
                               RI_RING_GRANT_SLOT, RI_RING_GRANT_FAILED, 77};

    for (uint32_t state : states) {
        for (size_t length : {(size_t)8, EAGER, (size_t)2000, (size_t)8192, LARGE + 1}) {
            SCOPED_TRACE(std::to_string(state) + ", " + std::to_string(length));
            recv_ptr r = post();

            set_state(r, state);
            m_b_plane->gone = (state == RI_RING_GRANT_USED);
            send_ptr s      = send(length);
            m_b->progress();
            m_b->progress();
            ASSERT_TRUE(r->done);
            if (state == RI_RING_GRANT_FAILED) {
                check(r, s);
            } else {
                EXPECT_EQ(UCS_ERR_IO_ERROR, r->status);
                EXPECT_EQ(length, r->info.length);
                EXPECT_TRUE(stream()->broken);
                EXPECT_LE(1u, malformed());
            }
            check_idle();
            pump();
            stop();
            start();
        }
    }
}

TEST_F(test_rtr_hostile, garbage_in_a_grant_and_an_rts)
{
    const uint64_t words[] = {0, ~0ul, 0x1234567800000001ul};

    ri_quiesce_timeout =
            0.01; /* one of the states means that the sender is about to go on */
    for (uint64_t garbage : words) {
        recv_ptr r = post(), gone = post();

        word(r) = word(gone) = garbage;
        m_a->progress();
        send_ptr s = send();
        pump();
        check(r, s);
        cancel(gone);
        restart();
    }
    for (uint32_t state : {6, 77, 0x7fffffff}) { /* of the right generation */
        recv_ptr r = post();

        set_state(r, state);
        cancel_in_vain(r);
        send_ptr s = send();
        pump();
        check(r, s);
        restart();
    }
}

} // namespace
