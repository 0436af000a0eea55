/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/coop/coop_row.c: of several messages on their way the receiver reads the oldest, and
 * the sender writes the newest.
 */

#include "coop_test.h"

namespace {

class test_coop_row : public coop_test {
protected:
    struct message {
        bytes content;
        send_ptr s;
        recv_ptr r;
    };

    static constexpr unsigned COUNT = 6;

    size_t m_length = 300000;

    /* Send @a count messages. The receiver has not looked at any of them. */
    void send_row(unsigned count = COUNT)
    {
        for (unsigned i = 0; i < count; ++i) {
            message m;

            m.content = pattern(m_row.size(), m_length);
            m.s       = m_a->send(m_conn, m.content, 100 + m_row.size());
            m_row.push_back(m);
        }
    }

    void post_row(unsigned count = COUNT)
    {
        for (unsigned i = 0; i < count; ++i) {
            m_posted.push_back(m_b->recv(100 + m_posted.size(), ~0ul, m_length));
        }
    }

    void check_row()
    {
        ASSERT_EQ(m_row.size(), m_posted.size());
        for (unsigned i = 0; i < m_row.size(); ++i) {
            SCOPED_TRACE(i);
            check(m_posted[i], m_row[i].content);
            check(m_row[i].s);
        }
        check_idle();
        m_row.clear();
        m_posted.clear();
    }

    /* Whether nothing of the message in a slot is claimed. */
    bool is_untouched(unsigned i) { return slot(i).claimed == 0; }

    std::vector<message> m_row;
    std::vector<recv_ptr> m_posted;
};

/* The first one does not follow another one: it is shared as one that comes alone. */
TEST_F(test_coop_row, each_side_from_its_end)
{
    unsigned writes;

    post_row();
    send_row();
    m_b->progress();
    for (unsigned i = 1; i < COUNT; ++i) {
        EXPECT_EQ(RI_RING_SLOT_METHOD_ROW, int(slot(i).method)) << i;
        EXPECT_NE(0u, slot(i).address) << "all are matched before the next one is read";
        EXPECT_TRUE(is_untouched(i)) << i;
    }
    EXPECT_NE(RI_RING_SLOT_METHOD_ROW, int(slot(0).method));

    for (unsigned i = 0; (i < 20) && !m_row[0].s->done; ++i) {
        m_a->progress(); /* what is left of the first one */
    }
    writes = m_a_plane->writes;
    for (unsigned i = COUNT - 1; i > COUNT - 3; --i) {
        m_a->progress();
        EXPECT_TRUE(m_row[i].s->done) << "all of the newest one, in one call";
        EXPECT_FALSE(m_row[i - 1].s->done);
    }
    EXPECT_EQ(writes + 2, m_a_plane->writes);
    while (!m_posted[1]->done) {
        m_b->progress();
        EXPECT_TRUE(is_untouched(3));
    }
    pump();
    check_row();
    EXPECT_EQ(COUNT, coops());
}

TEST_F(test_coop_row, the_sender_does_not_come_to_it)
{
    uint64_t before = written();

    post_row();
    send_row();
    for (unsigned i = 0; i < 10 * COUNT; ++i) {
        m_b->progress();
    }
    for (const recv_ptr &r : m_posted) {
        EXPECT_TRUE(r->done);
    }
    pump();
    check_row();
    EXPECT_EQ(before, written());
}

TEST_F(test_coop_row, the_receiver_has_matched_and_goes_away)
{
    post_row();
    send_row();
    m_b->progress();
    for (unsigned i = 0; i < 10 * COUNT; ++i) {
        m_a->progress();
    }
    for (unsigned i = 1; i < COUNT; ++i) {
        EXPECT_TRUE(m_row[i].s->done) << i;
    }
    pump();
    check_row();
}

/* The last one that is left both copy. */
TEST_F(test_coop_row, the_last_one_is_shared)
{
    post_row(2);
    send_row(2);
    while (!m_posted.empty() && !m_posted[0]->done) {
        m_b->progress();
    }
    uint64_t before = written();

    m_b->progress();
    EXPECT_FALSE(m_posted[1]->done);
    for (unsigned i = 0; i < 20; ++i) {
        m_a->progress();
    }
    EXPECT_LT(before, written());
    EXPECT_TRUE(m_row[1].s->done);
    pump();
    check_row();
}

/* Receives that are posted when the messages are there: the application is in a call of its own,
 * which copies what it can. */
TEST_F(test_coop_row, receives_come_later)
{
    send_row();
    progress_both(10);
    uint64_t before = read();

    post_row();
    EXPECT_LT(before, read());
    pump();
    check_row();
}

/* A row is known by the one before. */
TEST_F(test_coop_row, the_next_one)
{
    post_row();
    send_row();
    pump();
    check_row();
    post_row();
    send_row();
    m_b->progress();
    EXPECT_EQ(RI_RING_SLOT_METHOD_ROW, int(slot(0).method));
    pump();
    check_row();
    for (unsigned i = 0; i < 2; ++i) { /* alone, one after the other */
        post_row(1);
        send_row(1);
        m_b->progress();
        EXPECT_EQ(i == 0, RI_RING_SLOT_METHOD_ROW == int(slot(0).method)) << i;
        pump();
        check_row();
    }
}

/* A send that is to end at once begins no row, and ends none: it may be refused, and come again. */
TEST_F(test_coop_row, a_send_that_ends_at_once)
{
    ucp_request_param_t param = {};
    bytes content             = pattern(1, m_length);

    post_row();
    send_row();
    pump();
    check_row();
    ASSERT_EQ(COUNT, m_conn->row.length);
    param.op_attr_mask = UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
    for (unsigned i = 0; i < 2; ++i) {
        EXPECT_EQ(UCS_ERR_NO_RESOURCE,
                  UCS_PTR_STATUS(ri_tag_send_slow(m_conn, content.data(), m_length, 5,
                                                  &param, 0)));
    }
    EXPECT_EQ(COUNT, m_conn->row.length);
}

/* Short ones go by slots if they are in a row, and else by a read of the receiver. */
TEST_F(test_coop_row, below_the_threshold)
{
    setting<size_t> thresh(ri_config.coop_thresh, 1000000);

    m_conn->peer->hint.ready = 1; /* the receiver waits: no pool */
    post_row();
    send_row();
    EXPECT_EQ(COUNT - 1, coops());
    pump();
    check_row();

    ri_config.coop_thresh = SIZE_MAX;
    post_row();
    send_row();
    EXPECT_EQ(COUNT - 1, coops()) << "both never copy";
    pump();
    check_row();
}

/* Where as many come back each side has its own ones to read. */
TEST_F(test_coop_row, both_ways)
{
    setting<size_t> thresh(ri_config.coop_thresh, 1000000);

    m_conn->peer->hint.ready   = 1;
    m_conn->peer->row.received = m_conn->peer->row.sent = 8;
    post_row();
    send_row();
    EXPECT_EQ(0u, coops());
    pump();
    check_row();

    m_conn->peer->row.received = m_conn->peer->row.sent = 8;
    ri_config.coop_thresh                               = m_length;
    post_row();
    send_row();
    m_b->progress();
    EXPECT_LT(0u, coops());
    for (unsigned i = 1; i < COUNT; ++i) {
        EXPECT_NE(RI_RING_SLOT_METHOD_ROW, int(slot(i).method)) << i;
    }
    pump();
    check_row();
}

/* What is withdrawn when nothing of it was copied, the receiver asks for. */
TEST_F(test_coop_row, withdrawn)
{
    post_row();
    send_row();
    m_b->progress();
    ri_coop_send_let_go(m_conn);
    EXPECT_TRUE(slot(3).claimed == RI_RING_SLOT_WITHDRAWN);
    pump();
    check_row();
}

/* ... before it is matched: the receiver reads it, as if there was no slot. */
TEST_F(test_coop_row, withdrawn_before_the_match)
{
    post_row();
    send_row();
    ri_coop_send_let_go(m_conn);
    for (unsigned i = 0; i < 20; ++i) {
        m_b->progress();
    }
    EXPECT_EQ(0u, m_b->worker()->counters.rndv_fallback);
    pump();
    for (unsigned i = 0; i < COUNT;
         ++i) { /* the slots are given up: the ring is about to close */
        check(m_posted[i], m_row[i].content);
        check(m_row[i].s);
    }
}

/* The sender is gone when it would be asked for what it has withdrawn: the receives end. */
TEST_F(test_coop_row, the_senders_worker_ends)
{
    post_row();
    send_row();
    m_b->progress();
    m_a->may_end_open = m_b->may_end_open = true;
    m_a.reset();
    for (unsigned i = 0; i < 100; ++i) {
        m_ba->sent.clear();
        m_b->progress();
    }
    for (unsigned i = 0; i < COUNT; ++i) {
        EXPECT_TRUE(m_posted[i]->done) << i;
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_posted[i]->status) << i;
    }
}

TEST_F(test_coop_row, the_conn_fails)
{
    post_row();
    send_row();
    m_b->progress();
    m_b->may_end_open = true;
    ri_conn_fail(m_conn, UCS_ERR_CONNECTION_RESET);
    pump();
    for (unsigned i = 0; i < COUNT; ++i) {
        EXPECT_TRUE(m_posted[i]->done) << i;
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_posted[i]->status) << i;
    }
}

/* Receives that are posted when others end do not have their turn before older ones. */
TEST_F(test_coop_row, the_oldest_one_is_next)
{
    const unsigned count = 24;
    std::vector<unsigned> order;
    std::vector<recv_ptr> all(count);
    unsigned next                      = 3;
    std::function<void(unsigned)> post = [&](unsigned i) {
        all[i] = m_b->recv(100 + i, ~0ul, m_length, [&, i] {
            order.push_back(i);
            if ((next < count) && (i != 1) && (i != 2)) {
                post(next++);
            }
        });
    };

    for (unsigned i = 0; i < 3; ++i) {
        post(i);
    }
    send_row(count);
    for (unsigned i = 0; i < 400; ++i) {
        m_b->progress();
    }
    ASSERT_EQ(count, order.size());
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_EQ(i, order[i]);
    }
    pump();
    for (const message &m : m_row) {
        check(m.s);
    }
}

/* One that takes several calls is written to its end before the next one. */
TEST_F(test_coop_row, longer_than_a_claim)
{
    m_length = 5 << 20;
    post_row(4);
    send_row(4);
    m_b->progress();
    for (unsigned i = 0; (i < 50) && !m_row[0].s->done; ++i) {
        m_a->progress();
    }
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_FALSE(m_row[3].s->done);
        m_a->progress();
    }
    EXPECT_TRUE(m_row[3].s->done);
    EXPECT_TRUE(is_untouched(2));
    pump();
    check_row();
}

/* A sender that cannot write leaves the others to the receiver. */
TEST_F(test_coop_row, a_write_fails)
{
    unsigned failed = 0;

    post_row();
    send_row();
    m_b->progress();
    m_a_plane->write_status = UCS_ERR_IO_ERROR;
    for (unsigned i = 0; i < 50; ++i) {
        m_a->progress();
    }
    for (unsigned i = 0; i < COUNT; ++i) {
        failed += (slot(i).failed != 0);
    }
    EXPECT_EQ(1u, failed);
    pump();
    check_row();
}

TEST_F(test_coop_row, the_receivers_worker_ends)
{
    post_row();
    send_row();
    m_b->progress();
    m_a->progress();
    m_b->may_end_open = true;
    m_b.reset();
    for (const recv_ptr &r : m_posted) {
        EXPECT_TRUE(r->done);
        if (r->status == UCS_OK) {
            EXPECT_EQ(m_length, r->info.length);
        }
    }
    for (unsigned i = 0; i < 100; ++i) {
        m_a->progress();
    }
    EXPECT_EQ(0u, m_conn->coop.slots & (1ul << (COUNT - 1)));
}

/* An RTS may have any bits. */
TEST_F(test_coop_row, a_row_without_a_slot)
{
    bytes content = pattern(1, LONG);

    check(recv_forged(content, 100, 0, RI_WIRE_RTS_ROW), content);
}

/* Rows of any lengths, received in any order, while either side is in the library or not. */
TEST_F(test_coop_row, in_any_order)
{
    unsigned both = 0;

    for_seeds(60, [&](rng &random) {
        uint64_t w = written(), r0 = read();
        unsigned count = random.range(1, 60), posted = 0;
        unsigned chance = random.range(5, 95);
        std::vector<message> row(count);
        std::vector<unsigned> order(count);

        for (unsigned i = 0; i < count; ++i) {
            order[i] = i;
        }
        for (unsigned i = 0; i < count; ++i) {
            std::swap(order[i], order[i + random.below(std::min(count - i, 4u))]);
        }
        for (unsigned i = 0; i < count;) {
            if (random.percent(60)) {
                row[i].content = pattern(random.next(), random.range(30000, 400000));
                row[i].s       = m_a->send(m_conn, row[i].content, i);
                ++i;
            } else if (posted < count) {
                row[order[posted]].r = m_b->recv(order[posted], ~0ul, 400000);
                ++posted;
            } else {
                (random.percent(chance) ? *m_a : *m_b).progress();
            }
        }
        while (posted < count) {
            row[order[posted]].r = m_b->recv(order[posted], ~0ul, 400000);
            ++posted;
            (random.percent(chance) ? *m_a : *m_b).progress();
        }
        for (unsigned i = 0; i < 1000; ++i) {
            (random.percent(chance) ? *m_a : *m_b).progress();
        }
        pump();
        for (const message &m : row) {
            check(m.r, m.content);
            check(m.s);
        }
        check_idle();
        both += (written() > w) && (read() > r0);
        m_a->release_done();
        m_b->release_done();
    });
    EXPECT_LT(30u, both);
}

} // namespace
