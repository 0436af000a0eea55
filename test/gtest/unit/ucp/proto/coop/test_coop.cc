/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/coop/coop.c, coop_send.c and coop_recv.c: who copies what. The tests run
 * src/ucp/proto/coop/coop_copy.c, src/ucp/proto/coop/coop_side.h and src/ucp/tag/send.c, too.
 */

#include "coop_test.h"

namespace {

class test_coop : public coop_test {};

/* Who copies */

TEST_F(test_coop, both_sides_in_any_order)
{
    const size_t lengths[] = {262144, 262145, 300000, LONG, 4194304 - 1};
    unsigned both          = 0;

    for_seeds(60, [&](rng &random) {
        size_t length = lengths[random.below(5)];
        bytes content = pattern(random.next(), length);
        bool nested   = random.percent(50);
        uint64_t w = written(), r0 = read();
        unsigned deep = 0;

        auto during = [&](node &other, unsigned chance) {
            if ((deep == 0) && random.percent(chance)) {
                ++deep;
                other.progress();
                --deep;
            }
        };
        m_a_plane->on_write = [&]() { during(*m_b, nested ? 50 : 0); };
        m_b_plane->on_read  = [&]() { during(*m_a, nested ? 50 : 0); };

        unsigned chance = random.range(5, 95);
        recv_ptr r;
        send_ptr s;
        begin_in_any_order(random, content, &r, &s);
        progress_in_any_order(random, chance, r, s);
        m_a_plane->on_write = m_b_plane->on_read = nullptr;
        check(r, content);
        check(s);
        check_idle();
        EXPECT_EQ(length, (written() - w) + (read() - r0));
        both += (written() > w) && (read() > r0);
        EXPECT_TRUE(m_ba->sent.empty()) << "no message is needed to end it";
        m_a->release_done();
        m_b->release_done();
    });
    EXPECT_GT(both, 20u);
    EXPECT_EQ(60u, coops());
    EXPECT_EQ(0u, m_b->counters().rndv_fallback);
}

/* Copies by both sides of messages that a ring could take are timed as reads are. */
TEST_F(test_coop, slow_copies_are_noticed)
{
    ri_costs_t before = ri_costs;
    bytes content     = pattern(3, LONG);

    ri_config.rtr       = UCS_AUTO;
    ri_costs.line       = 100;
    ri_costs.line_ticks = 100;
    ri_costs.plane      = {.call = 1e-3, .rate = 1e9}; /* no copy is as fast */
    for (size_t most : {LONG - 1, LONG}) {
        ri_config.ring_slow = most;
        for (unsigned i = 0; i < RI_PEER_SLOW_TIMES; ++i) {
            send_ptr s = send_unmatched(content);
            recv_ptr r = m_b->recv(5, ~0ul, LONG);

            pump();
            check(r, content);
            check(s);
        }
        EXPECT_EQ(most == LONG, stream()->peer->reads.is_slow);
    }
    EXPECT_EQ(2u * RI_PEER_SLOW_TIMES, coops());
    ri_costs = before;
}

/* What the receiver says of its long messages comes with the slot: there may be no record for it. The
 * sender hears it when it sees the match, if a ring of the receiver's can take it back. */
TEST_F(test_coop, hint_of_the_receiver)
{
    auto &heard = m_conn->peer->hint;

    for (bool has_ring : {true, false}) {
        if (!has_ring) {
            ri_ring_life_stop(m_back);
            pump();
        }
        ASSERT_EQ(has_ring, m_a->worker()->num_rings > 0);
        for (bool waits : {true, false}) {
            bytes content = pattern(4, LONG);
            send_ptr s    = send_unmatched(content);
            recv_ptr r;

            EXPECT_EQ(0u, slot().hint);
            r = m_b->recv(5, ~0ul, LONG);
            EXPECT_TRUE(slot().hint & RI_RING_HINT_SAID);
            slot().hint = RI_RING_HINT_SAID | (waits ? RI_RING_HINT_WAITS : 0);
            heard.ready = !waits;
            m_a->progress();
            EXPECT_EQ(has_ring ? waits : !waits, bool(heard.ready));
            heard.ready = !waits;
            pump();
            EXPECT_EQ(!waits, bool(heard.ready)) << "once, when it is new";
            check(r, content);
            check(s);
            m_a->release_done();
            m_b->release_done();
        }
    }
}

/* A receiver that does not know hints of slots leaves what the sender made of it. */
TEST_F(test_coop, no_hint_of_the_receiver)
{
    bytes content = pattern(4, LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r;

    EXPECT_EQ(0u, slot().hint);
    m_conn->peer->hint.ready = 1;
    m_b_plane->on_read       = [this] { slot().hint = 0x7f; };
    r                        = m_b->recv(5, ~0ul, LONG);
    pump();
    m_b_plane->on_read = nullptr;
    check(r, content);
    check(s);
    EXPECT_TRUE(m_conn->peer->hint.ready);
}

TEST_F(test_coop, sender_not_in_the_library)
{
    bytes content = pattern(1, LONG);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);
    send_ptr s    = m_a->send(m_conn, content, 5);

    EXPECT_EQ(0u, m_a_plane->writes) << "nothing is copied in the call";
    for (unsigned i = 0; i < 100; ++i) {
        m_b->progress();
    }
    check(r, content);
    EXPECT_FALSE(s->done);
    EXPECT_EQ(LONG, read());
    m_a->progress();
    check(s);
    EXPECT_EQ(0u, written());
    check_idle();
}

TEST_F(test_coop, receiver_not_in_the_library)
{
    bytes content = pattern(1, LONG);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);
    send_ptr s    = m_a->send(m_conn, content, 5);

    m_b->progress(); /* matched: it has two parts of it */
    uint64_t before = read();
    EXPECT_FALSE(r->done);
    for (unsigned i = 0; i < 100; ++i) {
        m_a->progress();
    }
    check(s);
    EXPECT_EQ(LONG, before + written());
    EXPECT_FALSE(r->done);
    m_b->progress();
    check(r, content);
    check_idle();
}

TEST_F(test_coop, nothing_happens_before_the_match)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);

    EXPECT_EQ(0u, m_a_plane->writes);
    EXPECT_EQ(0u, m_b_plane->reads);
    EXPECT_EQ(1u, ri_worker_has_work(m_a->worker()));
    recv_ptr r = m_b->recv(5, ~0ul, LONG);
    EXPECT_EQ(1u, m_b_plane->reads) << "a part in the call that matched";
    pump();
    check(r, content);
    check(s);
    check_idle();
}

TEST_F(test_coop, one_part_in_a_call)
{
    bytes content = pattern(1, 3 * LONG);
    std::vector<recv_ptr> r;
    std::vector<send_ptr> s;

    for (unsigned i = 0; i < 3; ++i) {
        s.push_back(send_unmatched(content, i));
        r.push_back(m_b->recv(i, ~0ul, content.size()));
    }
    for (unsigned i = 0; i < 30; ++i) {
        unsigned reads = m_b_plane->reads, writes = m_a_plane->writes;

        m_b->progress();
        m_a->progress();
        EXPECT_LE(m_b_plane->reads, reads + 1);
        EXPECT_LE(m_a_plane->writes, writes + 1);
    }
    pump();
    for (unsigned i = 0; i < 3; ++i) {
        check(r[i], content);
        check(s[i]);
    }
    check_idle();
}

/* A side reads first what it receives. Still its receiver, which may be computing, gets
 * something meanwhile. */
TEST_F(test_coop, both_ways)
{
    const size_t length = 40 * LONG;
    bytes there = pattern(1, length), back = pattern(2, length);

    ASSERT_NO_FATAL_FAILURE(open_way_back());
    recv_ptr r_b = m_b->recv(5, ~0ul, length), r_a = m_a->recv(5, ~0ul, length);
    send_ptr s_a = m_a->send(m_conn, there, 5);
    m_b->progress(); /* it knows where to write */
    send_ptr s_b   = m_b->send(m_back, back, 5);
    unsigned reads = m_a_plane->reads;
    m_a->progress();
    ASSERT_EQ(reads + 2, m_a_plane->reads) << "when matched, and its turn";
    for (unsigned i = 0; i < 16; ++i) {
        m_a->progress();
    }
    EXPECT_EQ(1u, m_a_plane->writes);
    EXPECT_EQ(reads + 17, m_a_plane->reads);
    EXPECT_FALSE(r_a->done);
    pump();
    check(r_a, back);
    check(r_b, there);
    check(s_a);
    check(s_b);
    check_idle();
}

/* Whoever sends while a message stands in the ring to it has that to copy, and leaves its own to the
 * other side. */
TEST_F(test_coop, not_while_the_peer_sends)
{
    const size_t length = 8 * LONG;
    bytes there = pattern(1, length), back = pattern(2, length);

    ASSERT_NO_FATAL_FAILURE(open_way_back());
    recv_ptr r_b = m_b->recv(5, ~0ul, length), r_a = m_a->recv(5, ~0ul, length);
    uint64_t gets = m_b->counters().conns.tx_rndv;
    send_ptr s_a  = m_a->send(m_conn, there, 5);
    send_ptr s_b  = m_b->send(m_back, back, 5);
    EXPECT_EQ(gets + 1, m_b->counters().conns.tx_rndv);
    pump();
    check(r_a, back);
    check(r_b, there);
    check(s_a);
    check(s_b);
    check_idle();
}

/* A receiver that has announced something itself reads in as few calls as possible: the other side
 * has that to copy. (coop_exchange.c) */
TEST_F(test_coop, who_also_sends_reads_alone)
{
    const size_t length = 4000000; /* 977 units */

    ASSERT_NO_FATAL_FAILURE(open_way_back());
    for (bool also : {false, true}) {
        bytes there = pattern(1, length), back = pattern(2, length);
        recv_ptr r_b = m_b->recv(5, ~0ul, length), r_a;
        send_ptr s_a = m_a->send(m_conn, there, 5), s_b;

        if (also) {
            s_b = m_b->send(m_back, back, 5);
        }
        unsigned reads = m_b_plane->reads;
        for (unsigned i = 0; i < 100; ++i) {
            m_b->progress();
        }
        check(r_b, there);
        if (also) {
            EXPECT_EQ(reads + 2, m_b_plane->reads) << "512 units, and 465";
        } else {
            EXPECT_GE(m_b_plane->reads, reads + 4) << "halves";
        }
        r_a = also ? m_a->recv(5, ~0ul, length) : nullptr;
        pump();
        check(s_a);
        if (also) {
            check(r_a, back);
            check(s_b);
        }
        check_idle();
    }
}

TEST_F(test_coop, more_than_there_are_slots)
{
    const unsigned count = RI_RING_SLOTS + 25;
    std::vector<bytes> content;
    std::vector<recv_ptr> r;
    std::vector<send_ptr> s;

    for (unsigned round = 0; round < 2; ++round) {
        content.clear();
        r.clear();
        s.clear();
        for (unsigned i = 0; i < count; ++i) {
            content.push_back(pattern(100 * round + i, 262144 + 1000 * i));
            s.push_back(m_a->send(m_conn, content[i], i));
        }
        EXPECT_EQ((round + 1) * RI_RING_SLOTS, coops());
        EXPECT_FALSE(ri_coop_send_has_slot(m_conn));
        for (unsigned i = count; i-- > 0;) {
            r.push_back(m_b->recv(i, ~0ul, 400000));
        }
        pump();
        for (unsigned i = 0; i < count; ++i) {
            check(r[count - 1 - i], content[i]);
            check(s[i]);
        }
        check_idle();
    }
    EXPECT_EQ(2u * (count - RI_RING_SLOTS), m_a->counters().conns.tx_rndv);
}

/* Each of them is used, the last one as well. */
TEST_F(test_coop, each_slot)
{
    std::vector<send_ptr> s;

    for (unsigned i = 0; i < RI_RING_SLOTS; ++i) {
        s.push_back(send_unmatched(pattern(i, LONG), 100 + i));
        EXPECT_TRUE(ri_slot_is_busy(&slot(i)));
    }
    for (unsigned i = RI_RING_SLOTS; i-- > 0;) {
        recv_ptr r = m_b->recv(100 + i, ~0ul, LONG);
        EXPECT_NE(0u, slot(i).address) << "the sender may write by slot " << i;
        pump();
        check(r, pattern(i, LONG));
        check(s[i]);
    }
    check_idle();
}

/* There is no room in the ring for what tells of a slot, and no memory: the send fails, and nobody
 * waits for the slot. */
TEST_F(test_coop, a_slot_that_nobody_can_be_told_of)
{
    std::vector<recv_ptr> r;

    while (ri_ring_tx_reserve(m_conn->ring, 16) != nullptr) {
        r.push_back(m_b->recv(1, ~0ul, 8));
        ASSERT_TRUE(m_a->send(m_conn, bytes(8), 1)->done);
    }
    ASSERT_TRUE(ucs_list_is_empty(&m_conn->pending));
    m_ucx->memory = 0;
    send_ptr s    = m_a->send(m_conn, pattern(1, LONG), 5);
    m_ucx->memory = -1;
    check(s, UCS_ERR_NO_MEMORY);
    EXPECT_EQ(0u, m_conn->coop.slots);
    EXPECT_EQ(0u, m_a->worker()->num_coops);
    pump();
    for (const recv_ptr &op : r) {
        EXPECT_TRUE(op->done);
        EXPECT_EQ(UCS_OK, op->status);
    }

    send_ptr again = send_unmatched(pattern(2, LONG), 5);
    EXPECT_TRUE(ri_slot_is_busy(&slot()));
    EXPECT_EQ(1u, m_conn->coop.slots);
    recv_ptr large = m_b->recv(5, ~0ul, LONG);
    pump();
    check(large, pattern(2, LONG));
    check(again);
    check_idle();
}

TEST_F(test_coop, pieces_of_a_list)
{
    bytes content = pattern(1, LONG);
    std::vector<bytes> pieces;
    std::vector<ucp_dt_iov_t> iov;
    ucp_request_param_t param = {};
    bool done                 = false;

    for (size_t at = 0, i = 0; i < 16; ++i) {
        size_t length = (i < 15) ? 50000 + 333 * i : LONG - at;

        pieces.push_back(bytes(content.begin() + at, content.begin() + at + length));
        at += length;
    }
    for (bytes &p : pieces) {
        iov.push_back({p.data(), p.size()});
    }
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         UCP_OP_ATTR_FIELD_DATATYPE;
    param.cb.send = [](void *, ucs_status_t status, void *arg) {
        EXPECT_EQ(UCS_OK, status);
        *static_cast<bool *>(arg) = true;
    };
    param.user_data = &done;
    param.datatype  = ucp_dt_make_iov();
    recv_ptr r      = m_b->recv(5, ~0ul, LONG);
    void *handle    = ri_tag_send(m_conn, iov.data(), iov.size(), 5, &param, 0);
    ASSERT_TRUE(UCS_PTR_IS_PTR(handle));
    pump();
    ASSERT_TRUE(done);
    check(r, content);
    EXPECT_GT(written(), 0u);
    EXPECT_GT(read(), 0u);
    ri_req_put(ri_req_of_handle(handle));
    check_idle();
}

TEST_F(test_coop, a_callback_sends_the_next_one)
{
    bytes content = pattern(1, LONG);
    std::vector<recv_ptr> r;
    unsigned left = 20;

    std::function<void()> next = [&]() {
        if (left-- > 0) {
            r.push_back(m_b->recv(5, ~0ul, LONG, next));
            m_a->send(m_conn, content, 5);
        }
    };
    next();
    pump();
    ASSERT_EQ(20u, r.size());
    for (const recv_ptr &one : r) {
        check(one, content);
    }
    check_idle();
}

/* Receives that the sender cannot write */

TEST_F(test_coop, truncated)
{
    for (bool early : {true, false}) {
        bytes content = pattern(1, LONG);
        recv_ptr r    = early ? m_b->recv(5, ~0ul, LONG - 1) : nullptr;
        send_ptr s    = early ? m_a->send(m_conn, content, 5) : send_unmatched(content);

        if (!early) {
            r = m_b->recv(5, ~0ul, LONG - 1);
        }
        pump();
        ASSERT_TRUE(r->done);
        EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);
        EXPECT_EQ(bytes(LONG - 1), r->buffer);
        check(s);
        check_idle();
    }
    EXPECT_EQ(0u, m_a_plane->writes);
}

TEST_F(test_coop, receive_into_a_list)
{
    bytes content = pattern(1, LONG);
    bytes first(1000), second(LONG);
    ucp_dt_iov_t iov[] = {{first.data(), first.size()}, {second.data(), second.size()}};
    ucp_request_param_t extra = {};

    extra.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    extra.datatype     = ucp_dt_make_iov();
    send_ptr s         = send_unmatched(content);
    recv_ptr r         = m_b->recv_into(iov, 2, 5, extra);
    pump();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_OK, r->status);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), content.begin()));
    EXPECT_TRUE(std::equal(content.begin() + 1000, content.end(), second.begin()));
    check(s);
    EXPECT_EQ(0u, m_a_plane->writes);
    check_idle();
}

TEST_F(test_coop, cancel_has_no_effect)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);

    m_b->cancel(r);
    EXPECT_FALSE(r->done);
    pump();
    check(r, content);
    check(s);
}

/* Copies that fail */

TEST_F(test_coop, each_copy_may_fail)
{
    for (bool sender : {true, false}) {
        for (ucs_status_t failure : {UCS_ERR_INVALID_ADDR, UCS_ERR_UNREACHABLE}) {
            for (unsigned good = 0; good < 6; ++good) {
                SCOPED_TRACE((sender ? "writes " : "reads ") + std::to_string(good));
                bytes content = pattern(good, LONG);

                restart();
                m_a_plane->write_status = sender ? failure : UCS_OK;
                m_a_plane->good_writes  = good;
                m_b_plane->read_status  = sender ? UCS_OK : failure;
                m_b_plane->good_reads   = good;
                m_a_plane->move_before = m_b_plane->move_before = 5000;
                send_ptr s                                      = send_unmatched(content);
                recv_ptr r = m_b->recv(5, ~0ul, LONG);
                pump();
                check(r, content);
                check(s);
                check_idle();
                bool failed = (sender ? m_a_plane->writes : m_b_plane->reads) > good;
                EXPECT_EQ(failed, m_b->counters().rndv_fallback == 1);
            }
        }
    }
}

TEST_F(test_coop, no_data_before_all_copies_have_ended)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);
    bool inside   = false;

    m_b_plane->read_status = UCS_ERR_INVALID_ADDR; /* from the next on */
    m_a_plane->on_write    = [&]() {
        if (!inside) {
            inside = true;
            for (unsigned i = 0; i < 100; ++i) {
                m_b->progress();
            }
            EXPECT_FALSE(r->done);
            EXPECT_EQ(0u, m_ba->count(RI_WIRE_NACK)) << "the sender is still writing";
        }
    };
    m_a->progress();
    EXPECT_TRUE(inside);
    m_b->progress();
    EXPECT_EQ(1u, m_ba->count(RI_WIRE_NACK));
    EXPECT_FALSE(s->done);
    pump();
    check(r, content);
    check(s);
}

} // namespace
