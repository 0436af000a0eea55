/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/proto/coop.c, coop_send.c and coop_recv.c: two workers with rings and planes that
 * the test makes. A side is in the library when the test says so: between copies, and, by
 * the planes' hooks, while the other side is in one.
 */

#include "pair_test.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace {

const size_t LONG = 1000001;

class test_coop : public pair_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        ri_config.ring_peers = 4;
        start();
    }

    void TearDown() override
    {
        stop();
        ri_test::TearDown();
    }

    void start()
    {
        meet();
        connect();
    }

    void restart()
    {
        stop();
        start();
    }

    /* Rings, and so planes */
    void connect()
    {
        talk(m_conn, 1, [this] { pump(); });
        ASSERT_TRUE(m_conn->flags & RI_CONN_PLANE_READ);
        ASSERT_TRUE(m_conn->flags & RI_CONN_PLANE_WRITE);
        ASSERT_NE(nullptr, m_conn->ring);
        ASSERT_TRUE(ri_coop_has_slot(m_conn));
    }

    void pump(unsigned rounds = 100)
    {
        do {
            deliver();
            progress_both(rounds);
        } while (m_ucx->complete() || is_any_sent());
    }

    ri_stream_t *stream()
    {
        return ucs_list_head(&m_b->worker()->streams, ri_stream_t, list);
    }

    ri_ring_slot_t &slot(unsigned i = 0) { return m_conn->ring->control->slots[i]; }

    /* A message that waits at the receiver for its receive */
    send_ptr send_unmatched(const bytes &content, uint64_t tag = 5)
    {
        send_ptr s = m_a->send(m_conn, content, tag);

        progress_both(100);
        EXPECT_FALSE(s->done);
        return s;
    }

    void check(const recv_ptr &r, const bytes &content)
    {
        ASSERT_TRUE(r->done);
        ASSERT_EQ(UCS_OK, r->status);
        ASSERT_EQ(content.size(), r->info.length);
        ASSERT_TRUE(std::equal(content.begin(), content.end(), r->buffer.begin()));
    }

    void check(const send_ptr &s, ucs_status_t status = UCS_OK)
    {
        ASSERT_TRUE(s->done);
        ASSERT_EQ(status, s->status);
    }

    void check_idle()
    {
        EXPECT_EQ(0u, m_a->worker()->num_coops);
        EXPECT_EQ(0u, m_b->worker()->num_coops);
        EXPECT_EQ(0u, stream()->num_coops);
        EXPECT_EQ(0u, m_conn->coop_slots);
        EXPECT_EQ(0, ri_coop_is_unread(m_conn));
        if (m_conn->ring != nullptr) {
            for (unsigned i = 0; i < RI_RING_SLOTS; ++i) {
                EXPECT_FALSE(ri_slot_is_busy(&slot(i))) << i;
            }
        }
    }

    uint64_t written() { return m_a->counters().conns.tx_written_bytes; }

    uint64_t read() { return m_b->counters().streams.rx_read_bytes; }

    uint64_t coops() { return m_a->counters().conns.tx_coop; }
};

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
        if (random.percent(50)) {
            r = m_b->recv(5, ~0ul, length + random.below(3));
            s = m_a->send(m_conn, content, 5, random.percent(30));
        } else {
            s = m_a->send(m_conn, content, 5, random.percent(30));
            m_b->progress();
            r = m_b->recv(5, ~0ul, length);
        }
        for (unsigned i = 0; !(r->done && s->done) && (i < 10000); ++i) {
            (random.percent(chance) ? *m_a : *m_b).progress();
        }
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
    const size_t length = 8 * LONG;
    bytes there = pattern(1, length), back = pattern(2, length);

    { /* by UCP: the other way has no plane yet */
        recv_ptr r = m_a->recv(1, ~0ul, LONG);
        send_ptr s = m_b->send(m_back, bytes(LONG), 1);
        pump();
        ASSERT_TRUE(r->done && s->done);
    }
    recv_ptr r_b = m_b->recv(5, ~0ul, length), r_a = m_a->recv(5, ~0ul, length);
    send_ptr s_a = m_a->send(m_conn, there, 5), s_b = m_b->send(m_back, back, 5);
    m_b->progress(); /* it knows where to write */
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

TEST_F(test_coop, more_than_there_are_slots)
{
    const unsigned count = 40;
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
        EXPECT_FALSE(ri_coop_has_slot(m_conn));
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

/* What the other side may write into a slot */

struct forged {
    const char *name;
    uint64_t claimed, done;
};

const uint64_t UNITS     = 245; /* of LONG */
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

TEST_F(test_coop, hostile_sender)
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

TEST_F(test_coop, hostile_receiver)
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
        EXPECT_EQ(0u, m_conn->coop_slots);
        slot().claimed = 0; /* or the receiver's end waits for what this says */
    }
}

/* An RTS may name any slot: only its own counts. */
TEST_F(test_coop, a_slot_of_another_message)
{
    bytes content = pattern(1, LONG), other = pattern(2, LONG);
    send_ptr s = send_unmatched(content, 5);

    for (uint16_t number : {1, 2, 15, 16, 65535}) {
        wire_msg msg(RI_WIRE_RTS, stream()->id, ++m_conn->tx_sn);
        ri_segment_t segment = {reinterpret_cast<uintptr_t>(other.data()), LONG};
        ri_wire_rts_t rts    = {};
        bytes payload(sizeof(rts) + sizeof(segment));

        rts.num_segments = 1;
        rts.slot         = number;
        memcpy(payload.data(), &rts, sizeof(rts));
        memcpy(payload.data() + sizeof(rts), &segment, sizeof(segment));
        msg.tag    = number + 100;
        msg.req_id = 0x777777;
        m_b->deliver(msg, payload);
        recv_ptr r = m_b->recv(number + 100, ~0ul, LONG);
        check(r, other);
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

TEST_F(test_coop, early_answers)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);

    m_a->deliver(wire_msg(RI_WIRE_FIN, m_conn->id, slot().id));
    check(s);
    EXPECT_EQ(0u, m_conn->coop_slots);
    m_a->deliver(wire_msg(RI_WIRE_FIN, m_conn->id, slot().id));
    EXPECT_EQ(1u, m_a->counters().rx_stale);

    /* The RTS is there still; its slot is not busy any more */
    recv_ptr r = m_b->recv(5, ~0ul, LONG);
    check(r, content);
    pump();
    check_idle();
}

/* Ends */

TEST_F(test_coop, ring_asked_back_before_the_match)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);

    ri_ring_channel_stop(m_conn);
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
    ri_ring_channel_stop(m_conn);
    pump();
    EXPECT_EQ(nullptr, stream()->ring);
    r = m_b->recv(5, ~0ul, LONG);
    pump();
    check(r, content);
    check(s);
}

TEST_F(test_coop, ring_asked_back_in_the_middle)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);

    ri_ring_channel_stop(m_conn);
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

TEST_F(test_coop, send_ends_in_the_middle)
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
TEST_F(test_coop, send_ends_after_all_was_copied)
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
TEST_F(test_coop, stream_breaks_in_the_middle)
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

TEST_F(test_coop, receivers_worker_ends)
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
TEST_F(test_coop, receivers_worker_ends_with_a_stopped_sender)
{
    const std::string text("does not go on");
    bytes content = pattern(1, LONG);
    send_ptr s1   = send_unmatched(content, 5);
    send_ptr s2   = send_unmatched(content, 6);
    recv_ptr r1   = m_b->recv(5, ~0ul, LONG);
    recv_ptr r2   = m_b->recv(6, ~0ul, LONG);
    unsigned busy = 0;

    for (ri_ring_slot_t &slot : stream()->ring->control->slots) {
        ri_slot_part_t part;

        if (ri_slot_is_busy(&slot)) {
            ASSERT_EQ(UCS_OK, ri_slot_claim(&slot, UNITS, RI_SLOT_BACK, 0, &part));
            ++busy;
        }
    }
    EXPECT_EQ(2u, busy);
    m_b->may_end_open = true;
    ri_settle_timeout = 0.05;
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

TEST_F(test_coop, senders_worker_ends)
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

TEST_F(test_coop, sender_dies_in_a_copy)
{
    bytes content = pattern(1, LONG);
    send_ptr s    = send_unmatched(content);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);
    ri_slot_part_t part;

    ASSERT_EQ(UCS_OK, ri_slot_claim(&slot(), UNITS, RI_SLOT_BACK, 0, &part));
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

TEST_F(test_coop, receiver_dies_in_a_copy)
{
    bytes content = pattern(1, LONG);
    bytes target(LONG);
    send_ptr s = send_unmatched(content);
    ri_slot_part_t part;

    slot().address = reinterpret_cast<uintptr_t>(target.data());
    ASSERT_EQ(UCS_OK, ri_slot_claim(&slot(), UNITS, RI_SLOT_FRONT, 0, &part));
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
TEST_F(test_coop, unmatched_is_not_checked)
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

/* Memory that the sender knows before the receiver has the RTS */

TEST_F(test_coop, offered)
{
    bytes content = pattern(1, LONG);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);
    send_ptr s    = m_a->send(m_conn, content, 5);

    ri_coop_offer(ri_container_of(ri_req_of_handle(s->handle), ri_send_req_t, super),
                  reinterpret_cast<uintptr_t>(r->buffer.data()));
    for (unsigned i = 0; i < 100; ++i) {
        m_a->progress();
    }
    check(s);
    EXPECT_EQ(LONG, written());
    EXPECT_TRUE(ri_coop_is_unread(m_conn)) << "the endpoint must not be closed yet";
    EXPECT_FALSE(ri_coop_let_go(m_conn));
    EXPECT_FALSE(r->done);
    m_b->progress();
    check(r, content);
    EXPECT_EQ(0u, m_b_plane->reads);
    EXPECT_TRUE(ri_coop_let_go(m_conn));
    check_idle();
}

TEST_F(test_coop, offered_and_both_copy)
{
    bytes content = pattern(1, LONG);
    recv_ptr r    = m_b->recv(5, ~0ul, LONG);
    send_ptr s    = m_a->send(m_conn, content, 5);

    ri_coop_offer(ri_container_of(ri_req_of_handle(s->handle), ri_send_req_t, super),
                  reinterpret_cast<uintptr_t>(r->buffer.data()));
    m_a->progress();
    pump();
    check(s);
    check(r, content);
    EXPECT_EQ(LONG, written() + read());
    EXPECT_GT(read(), 0u);
    check_idle();
}

/* The stream breaks before the RTS is read: the sender writes no more. */
TEST_F(test_coop, offered_and_never_read)
{
    for (unsigned writes : {0, 1, 2}) {
        restart();
        bytes content = pattern(1, LONG);
        recv_ptr r    = m_b->recv(5, ~0ul, LONG);
        send_ptr s    = m_a->send(m_conn, content, 5);

        ri_coop_offer(ri_container_of(ri_req_of_handle(s->handle), ri_send_req_t, super),
                      reinterpret_cast<uintptr_t>(r->buffer.data()));
        for (unsigned i = 0; i < writes; ++i) {
            m_a->progress();
        }
        bytes before = r->buffer;
        ri_stream_break(stream(), "the test says so");
        for (unsigned i = 0; i < 100; ++i) {
            m_a->progress();
        }
        EXPECT_EQ(writes, m_a_plane->writes);
        EXPECT_TRUE(before == r->buffer);
        pump();
        check(s, UCS_ERR_CONNECTION_RESET);
        m_b->cancel(r);
        EXPECT_TRUE(r->done);
        m_b->release_done();
    }
}

/* The receiver closes the slot while a part is being written, which then fails: it must not
 * wait for that part. */
TEST_F(test_coop, write_fails_while_the_slot_is_closed)
{
    recv_ptr r = m_b->recv(5, ~0ul, LONG);
    send_ptr s = m_a->send(m_conn, pattern(1, LONG), 5);
    std::thread receiver;
    std::atomic<bool> closed{false};

    ri_coop_offer(reinterpret_cast<ri_send_req_t *>(ri_req_of_handle(s->handle)),
                  reinterpret_cast<uintptr_t>(r->buffer.data()));
    m_a_plane->on_write = [&]() {
        if (!receiver.joinable()) {
            receiver = std::thread([&] {
                ri_coop_close_slots(stream());
                closed = true;
            });
            while (!ri_slot_is_withdrawn(&slot())) {
                std::this_thread::yield();
            }
        }
    };
    m_a_plane->write_status = UCS_ERR_INVALID_ADDR;
    m_a->progress();
    uint64_t count = 0;
    for (; !closed && (count < 5000); ++count) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(closed) << "it waits for what is never counted";
    receiver.join();
    m_a_plane->on_write = nullptr;
    pump();
}

TEST_F(test_coop, offered_for_another_receive)
{
    bytes content = pattern(1, LONG);
    bytes elsewhere(LONG);
    recv_ptr r = m_b->recv(5, ~0ul, LONG);
    send_ptr s = m_a->send(m_conn, content, 5);

    ri_coop_offer(ri_container_of(ri_req_of_handle(s->handle), ri_send_req_t, super),
                  reinterpret_cast<uintptr_t>(elsewhere.data()));
    m_b->progress();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, r->status);
    EXPECT_TRUE(stream()->broken);
    pump();
    ASSERT_TRUE(s->done);
}

} // namespace
