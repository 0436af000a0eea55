/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The order of a stream: its beginning and end, tags that are left out, messages in any order.
 * (src/ucp/in/am_in.c, deliver.c)
 */

#include "deliver_test.h"

#include <algorithm>

namespace {

class test_deliver_stream : public deliver_test {};

/* EAGER_SAME: the tag of the message before it in order, whatever came first */

TEST_F(test_deliver_stream, same_tag)
{
    eager(1, 0xabc);
    m_node->deliver(message(RI_WIRE_EAGER_SAME, 2, 0), pattern(2, 8));
    m_node->deliver(message(RI_WIRE_EAGER_SAME, 3, 0), pattern(3, 8));
    for (uint32_t sn = 1; sn <= 3; ++sn) {
        check_received(m_node->recv(0xabc, ~0ul, 8), sn, 0xabc, 8);
    }
}

TEST_F(test_deliver_stream, same_tag_after_each_type)
{
    uint32_t sn = 0;

    for (ri_wire_type_t type : {RI_WIRE_EAGER, RI_WIRE_EAGER_SYNC, RI_WIRE_BULK}) {
        uint64_t tag = 100 + type;

        ++sn;
        m_node->deliver(message(type, sn, tag, 1), pattern(sn, 8));
        check_received(m_node->recv(tag, ~0ul, 8), sn, tag, 8);
        ++sn;
        m_node->deliver(message(RI_WIRE_EAGER_SAME, sn, 0), pattern(sn, 8));
        check_received(m_node->recv(tag, ~0ul, 8), sn, tag, 8);
    }
}

TEST_F(test_deliver_stream, same_tag_across_reordering)
{
    std::vector<uint32_t> order = {1, 2, 3, 4, 5, 6};

    /* A: 1 2 3, B: 4 5, A: 6; in all 720 orders of arrival */
    do {
        uint32_t first = stream()->next_sn;

        for (uint32_t sn : order) {
            bool starts  = (sn == 1) || (sn == 4) || (sn == 6);
            wire_msg msg = message(starts ? RI_WIRE_EAGER : RI_WIRE_EAGER_SAME,
                                   first + sn - 1, (sn == 4) ? 0xb : 0xa);

            m_node->deliver(msg, pattern(sn, 8));
        }
        for (uint32_t sn = 1; sn <= 6; ++sn) {
            recv_ptr op = m_node->recv(0, 0, 8);

            check_received(op, sn, ((sn == 4) || (sn == 5)) ? 0xb : 0xa, 8);
        }
        ASSERT_TRUE(m_node->release_done());
        ASSERT_FALSE(HasFailure());
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(0u, m_node->counters().held_bytes);
}

/* Hello */

TEST_F(test_deliver_stream, hello_makes_one_stream)
{
    for (uint32_t sn = 1; sn <= 3; ++sn) {
        wire_msg msg(RI_WIRE_EAGER, 0, sn);

        msg.hello(REMOTE, CONN_ID);
        m_node->deliver(msg, pattern(sn, 8));
    }
    EXPECT_EQ(1u, num_streams());
    EXPECT_EQ(4u, stream()->next_sn);

    /* It has not heard our id, so it is told, but once */
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_CONN_ACK));
    ri_wire_msg_t ack = m_ep->take(RI_WIRE_CONN_ACK).parse();
    EXPECT_EQ(CONN_ID, ack.id);
    EXPECT_EQ(stream()->id, ack.value);
    EXPECT_EQ(LOCAL, ack.uid);
}

TEST_F(test_deliver_stream, hello_of_another_conn_or_worker)
{
    m_node->deliver(wire_msg(RI_WIRE_EAGER, 0, 1).hello(REMOTE, CONN_ID), bytes(8));
    m_node->deliver(wire_msg(RI_WIRE_EAGER, 0, 1).hello(REMOTE, CONN_ID + 1), bytes(8));
    m_node->deliver(wire_msg(RI_WIRE_EAGER, 0, 1).hello(REMOTE + 1, CONN_ID), bytes(8));
    EXPECT_EQ(3u, num_streams());
    EXPECT_EQ(3u, worker()->match.num_unexpected);
}

/* Ids of conns come again; a stream may end without a word (no BYE) */
TEST_F(test_deliver_stream, hello_of_a_later_conn_with_the_same_id)
{
    wire_msg old_msg(RI_WIRE_EAGER, 0, 1), new_msg(RI_WIRE_EAGER, 0, 1);

    old_msg.hello(REMOTE, CONN_ID, 0, 5).tag = 5;
    new_msg.hello(REMOTE, CONN_ID, 0, 6).tag = 6;
    m_node->deliver(old_msg, pattern(1, 8));
    m_node->deliver(new_msg, pattern(2, 8));
    m_node->deliver(new_msg, pattern(2, 8)); /* repeated */
    EXPECT_EQ(2u, num_streams());
    EXPECT_EQ(1u, m_node->counters().rx_malformed);
    check_received(m_node->recv(6, ~0ul, 8), 2, 6, 8);
    check_received(m_node->recv(5, ~0ul, 8), 1, 5, 8);
}

TEST_F(test_deliver_stream, hello_with_reserved_uid)
{
    /* 0 and 1 mean something else in the map of peers */
    for (uint64_t uid : {0ul, 1ul}) {
        m_node->deliver(wire_msg(RI_WIRE_EAGER, 0, 1).hello(uid, CONN_ID), bytes(8));
    }
    EXPECT_EQ(2u, m_node->counters().rx_malformed);
    EXPECT_EQ(0u, num_streams());
}

TEST_F(test_deliver_stream, hello_of_another_version)
{
    wire_msg msg(RI_WIRE_EAGER, 0, 1);

    ri_log_level                                = (ri_log_level_t)RI_LOG_LEVEL_ERROR;
    msg.hello(REMOTE, CONN_ID).greeting.version = RI_WIRE_VERSION + 1;
    ::testing::internal::CaptureStderr();
    m_node->deliver(msg, bytes(8));
    std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(std::string::npos, text.find("wire version")) << text;
    EXPECT_EQ(1u, m_node->counters().rx_malformed);
    EXPECT_EQ(0u, num_streams());
}

TEST_F(test_deliver_stream, hello_of_another_version_after_malformed_messages)
{
    wire_msg msg(RI_WIRE_EAGER, 0, 1);

    m_node->deliver(bytes(), bytes(3));
    ri_log_level                                = (ri_log_level_t)RI_LOG_LEVEL_ERROR;
    msg.hello(REMOTE, CONN_ID).greeting.version = RI_WIRE_VERSION + 1;
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) {
        m_node->deliver(msg, bytes(8));
    }
    std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(std::string::npos, text.find("wire version")) << text;
    EXPECT_EQ(1, std::count(text.begin(), text.end(), '\n')) << text;
}

TEST_F(test_deliver_stream, malformed_is_reported_once)
{
    ri_log_level = RI_LOG_LEVEL_WARN;
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 10; ++i) {
        m_node->deliver(bytes{99, 1, 2, 3, 4, 5, 6, 7}, bytes());
        m_node->deliver(bytes(), bytes(3));
        m_node->deliver(bytes(), bytes());
        m_node->deliver(bytes(1), bytes());
    }
    std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(1, std::count(text.begin(), text.end(), '\n')) << text;
    EXPECT_EQ(40u, m_node->counters().rx_malformed);
}

TEST_F(test_deliver_stream, broken_streams_are_reported_each)
{
    ri_config.reorder_window = 1;
    ri_log_level             = RI_LOG_LEVEL_WARN;
    ::testing::internal::CaptureStderr();
    m_node->deliver(bytes(), bytes(3)); /* reported as the first malformed one */
    for (uint64_t uid : {REMOTE, REMOTE + 1}) {
        for (uint32_t sn : {2u, 100u, 100u, 3u, 1u}) {
            m_node->deliver(wire_msg(RI_WIRE_EAGER, 0, sn).hello(uid, CONN_ID), bytes(8));
        }
    }
    std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(3, std::count(text.begin(), text.end(), '\n')) << text;
    EXPECT_EQ(0u, m_node->counters().held_bytes);

    /* One of the senders cannot be told before there is a way to it */
    EXPECT_EQ(1u, m_ep->count(RI_WIRE_RESET));
    endpoint *other = m_node->new_endpoint(nullptr);
    m_node->connect(other, REMOTE + 1);
    EXPECT_EQ(1u, other->count(RI_WIRE_RESET));
}

/* The end of a stream */

TEST_F(test_deliver_stream, bye_ends_the_stream)
{
    uint32_t id = stream()->id;

    eager(1, 1);
    bye(1);
    EXPECT_EQ(1u, num_streams()); /* a message of it is still here */
    check_received(m_node->recv(1, ~0ul, 8), 1, 1, 8);
    EXPECT_EQ(0u, num_streams());
    EXPECT_EQ(1u, m_node->counters().streams.rx_unexpected); /* not lost */

    m_node->deliver(wire_msg(RI_WIRE_EAGER, id, 2), bytes(8));
    m_node->deliver(wire_msg(RI_WIRE_BYE, id, 1));
    EXPECT_EQ(2u, m_node->counters().rx_stale);
}

TEST_F(test_deliver_stream, bye_before_all_messages)
{
    recv_ptr op = m_node->recv(2, ~0ul, 8);

    bye(2);
    EXPECT_EQ(1u, num_streams());
    eager(1, 1);
    EXPECT_EQ(1u, num_streams());
    check_received(m_node->recv(1, ~0ul, 8), 1, 1, 8);
    eager(2, 2);
    check_received(op, 2, 2, 8);
    EXPECT_EQ(0u, num_streams());
}

/* The last message was early: the stream ends while it is delivered */
TEST_F(test_deliver_stream, bye_and_early_messages)
{
    recv_ptr first  = m_node->recv(1, ~0ul, 8);
    recv_ptr second = m_node->recv(2, ~0ul, 8);
    recv_ptr third  = m_node->recv(3, ~0ul, 8);

    bye(3);
    eager(3, 3);
    eager(2, 2);
    eager(1, 1);
    check_received(first, 1, 1, 8);
    check_received(second, 2, 2, 8);
    check_received(third, 3, 3, 8);
    EXPECT_EQ(0u, num_streams());
}

TEST_F(test_deliver_stream, bye_and_early_unexpected_messages)
{
    bye(2);
    eager(2, 2);
    eager(1, 1);
    check_received(m_node->recv(2, ~0ul, 8), 2, 2, 8);
    EXPECT_EQ(1u, num_streams());
    check_received(m_node->recv(1, ~0ul, 8), 1, 1, 8);
    EXPECT_EQ(0u, num_streams());
}

/* A callback receives the stream's last unexpected message */
TEST_F(test_deliver_stream, bye_and_receive_in_a_callback)
{
    recv_ptr inner;
    recv_ptr outer = m_node->recv(2, ~0ul, 8,
                                  [&]() { inner = m_node->recv(1, ~0ul, 8); });

    bye(2);
    eager(1, 1);
    eager(2, 2);
    check_received(outer, 2, 2, 8);
    check_received(inner, 1, 1, 8);
    EXPECT_EQ(0u, num_streams());
}

/* ... and the callback is the one of an early message */
TEST_F(test_deliver_stream, bye_and_receive_in_a_callback_of_an_early_message)
{
    recv_ptr inner;
    recv_ptr outer = m_node->recv(3, ~0ul, 8,
                                  [&]() { inner = m_node->recv(1, ~0ul, 8); });

    bye(3);
    eager(1, 1);
    eager(3, 3);
    recv_ptr second = m_node->recv(2, ~0ul, 8);
    eager(2, 2);
    check_received(outer, 3, 3, 8);
    check_received(second, 2, 2, 8);
    check_received(inner, 1, 1, 8);
    EXPECT_EQ(0u, num_streams());
}

TEST_F(test_deliver_stream, receive_in_a_callback_keeps_the_order)
{
    std::vector<recv_ptr> ops;
    std::function<void()> next = [&]() {
        if (ops.size() < 20) {
            ops.push_back(nullptr);
            size_t i = ops.size() - 1;
            ops[i]   = m_node->recv(1, ~0ul, 8, next);
        }
    };

    for (uint32_t sn = 10; sn >= 2; --sn) {
        eager(sn, 1);
    }
    next();
    eager(1, 1);
    for (uint32_t sn = 11; sn <= 20; ++sn) {
        eager(sn, 1);
    }
    ASSERT_EQ(20u, ops.size());
    for (uint32_t sn = 1; sn <= 20; ++sn) {
        check_received(ops[sn - 1], sn, 1, 8);
    }
}

TEST_F(test_deliver_stream, after_destroy_all_is_dropped)
{
    eager(1, 1);
    worker()->destroyed = 1;
    EXPECT_EQ(UCS_OK, eager(2, 1));
    EXPECT_EQ(UCS_OK, m_node->deliver(message(RI_WIRE_BULK, 2, 1), bytes(100), RNDV));
    worker()->destroyed = 0;
    EXPECT_EQ(2u, stream()->next_sn);
}

/*
 * Random: messages of all types, permuted within a window, receives posted at any time.
 * The model: matching in the order of numbers, on lists.
 */
class test_deliver_stream_random : public test_deliver_stream {
protected:
    struct sent {
        ri_wire_type_t type;
        uint64_t tag;
        size_t length;
        arrival_t arrival;
    };

    struct posted {
        recv_ptr op;
        uint32_t sn; /* that it has to take; 0: none yet, CANCELLED: none at all */
    };

    static const uint32_t CANCELLED = ~0u;

    void set_up(rng &random);
    void make_messages(rng &random);
    void make_order(rng &random);
    bool fits(uint32_t sn, const recv_ptr &op) const;
    void model_arrive(uint32_t sn);
    void post(uint64_t tag, uint64_t mask);
    void disturb(rng &random);
    void arrive(rng &random, uint32_t sn);
    void check_receives();
    void check_end();

    void send_bye()
    {
        m_node->deliver(wire_msg(RI_WIRE_BYE, m_stream_id, m_count));
        m_bye_sent = true;
    }

    uint32_t m_count; /* of messages, whose numbers begin with 1 */
    uint64_t m_tags;
    std::vector<sent> m_messages; /* by number */
    std::vector<uint32_t> m_order;
    std::vector<posted> m_receives;
    std::list<size_t> m_posted; /* indices of receives that wait, in the model */
    std::list<uint32_t> m_unexpected;
    std::set<uint32_t> m_arrived;
    uint32_t m_next; /* number whose turn is next */
    size_t m_num_sync;
    bool m_with_bye, m_bye_sent;
    uint32_t m_stream_id;
};

void test_deliver_stream_random::set_up(rng &random)
{
    m_ucx->random     = &random;
    m_ucx->fetch_mode = RANDOM;
    m_node            = std::make_unique<node>(LOCAL);
    m_ep              = m_node->new_endpoint(nullptr);
    m_conn            = m_node->connect(m_ep, REMOTE);
    m_stream_id       = stream()->id;
    m_count           = random.range(1, 60);
    m_tags            = random.range(1, 6);
    m_with_bye        = random.percent(50);
    m_bye_sent        = false;
    m_next            = 1;
    m_num_sync        = 0;
    m_messages.assign(m_count + 1, {});
    m_order.clear();
    m_receives.clear();
    m_posted.clear();
    m_unexpected.clear();
    m_arrived.clear();
}

void test_deliver_stream_random::make_messages(rng &random)
{
    for (uint32_t sn = 1; sn <= m_count; ++sn) {
        sent &m = m_messages[sn];

        m.type   = (ri_wire_type_t)random.range(RI_WIRE_EAGER, RI_WIRE_BULK);
        m.type   = ((sn == 1) && (m.type == RI_WIRE_EAGER_SAME)) ? RI_WIRE_EAGER : m.type;
        m.tag    = (m.type == RI_WIRE_EAGER_SAME) ? m_messages[sn - 1].tag :
                                                    random.below(m_tags);
        m.length = random.below(200);
        m.arrival = random.percent(40)                               ? PLAIN :
                    ((m.type == RI_WIRE_BULK) && random.percent(50)) ? RNDV :
                                                                       DATA;
        m_num_sync += (m.type == RI_WIRE_EAGER_SYNC);
    }
}

/* Messages are permuted within windows. */
void test_deliver_stream_random::make_order(rng &random)
{
    size_t window = random.range(1, 20);

    for (uint32_t sn = 1; sn <= m_count; sn += window) {
        std::vector<uint32_t> part;

        for (uint32_t i = sn; (i < sn + window) && (i <= m_count); ++i) {
            part.push_back(i);
        }
        for (size_t i = part.size(); i > 1; --i) {
            std::swap(part[i - 1], part[random.below(i)]);
        }
        m_order.insert(m_order.end(), part.begin(), part.end());
    }
}

bool test_deliver_stream_random::fits(uint32_t sn, const recv_ptr &op) const
{
    return ((m_messages[sn].tag ^ op->tag) & op->mask) == 0;
}

void test_deliver_stream_random::model_arrive(uint32_t sn)
{
    for (auto it = m_posted.begin(); it != m_posted.end(); ++it) {
        if (fits(sn, m_receives[*it].op)) {
            m_receives[*it].sn = sn;
            m_posted.erase(it);
            return;
        }
    }
    m_unexpected.push_back(sn);
}

void test_deliver_stream_random::post(uint64_t tag, uint64_t mask)
{
    posted p = {std::make_shared<recv_op>(), 0};

    p.op->tag  = tag;
    p.op->mask = mask;
    for (auto it = m_unexpected.begin(); it != m_unexpected.end(); ++it) {
        if (fits(*it, p.op)) {
            p.sn = *it;
            m_unexpected.erase(it);
            break;
        }
    }
    if (p.sn == 0) {
        m_posted.push_back(m_receives.size());
    }
    p.op = m_node->recv(tag, mask, 200);
    m_receives.push_back(p);
}

/* What happens between two messages */
void test_deliver_stream_random::disturb(rng &random)
{
    const uint64_t masks[] = {~0ul, 0xf, 0, 0x3};

    while (random.percent(50)) {
        uint64_t tag = random.below(m_tags);
        post(tag, masks[random.below(4)]);
    }
    if (random.percent(10) && !m_posted.empty()) {
        size_t which = m_posted.front();

        m_node->cancel(m_receives[which].op);
        EXPECT_EQ(UCS_ERR_CANCELED, m_receives[which].op->status);
        m_receives[which].sn = CANCELLED;
        m_posted.pop_front();
    }
    if (m_with_bye && !m_bye_sent && random.percent(10)) {
        send_bye();
    }
    if (random.percent(20)) {
        m_ucx->complete_nth(random.below(3));
    }
}

void test_deliver_stream_random::arrive(rng &random, uint32_t sn)
{
    const sent &m = m_messages[sn];
    wire_msg msg(m.type, m_stream_id, sn);

    msg.tag    = m.tag;
    msg.req_id = 1000 + sn;
    m_node->deliver(msg, pattern(sn, m.length), m.arrival);
    m_arrived.insert(sn);
    while (m_arrived.count(m_next) != 0) {
        model_arrive(m_next++);
    }
    if (random.percent(5) && !m_bye_sent) { /* once more: dropped */
        m_node->deliver(msg, pattern(~sn, m.length), m.arrival);
    }
}

void test_deliver_stream_random::check_receives()
{
    for (const posted &p : m_receives) {
        if (p.sn == CANCELLED) {
            continue;
        }
        ASSERT_EQ(p.sn != 0, p.op->done);
        if (p.sn != 0) {
            check_received(p.op, p.sn, m_messages[p.sn].tag, m_messages[p.sn].length);
        } else {
            m_node->cancel(p.op);
        }
    }
}

void test_deliver_stream_random::check_end()
{
    EXPECT_EQ(m_with_bye ? 0u : 1u, num_streams());
    EXPECT_EQ(m_num_sync, m_ep->count(RI_WIRE_SYNC_ACK));
    EXPECT_EQ(m_count, m_node->counters().streams.rx_posted +
                               m_node->counters().streams.rx_unexpected);
    EXPECT_EQ(0u, m_node->counters().held_bytes);
    EXPECT_EQ(0u, worker()->match.num_unexpected);
    EXPECT_EQ(0u, worker()->match.num_posted);
}

TEST_F(test_deliver_stream_random, against_a_model)
{
    m_node.reset();

    for_seeds(1500, [this](rng &random) {
        set_up(random);
        make_messages(random);
        make_order(random);
        for (uint32_t sn : m_order) {
            disturb(random);
            arrive(random, sn);
        }
        while (!m_unexpected.empty()) {
            post(0, 0);
        }
        m_ucx->complete();
        ASSERT_NO_FATAL_FAILURE(check_receives());
        if (m_with_bye && !m_bye_sent) {
            send_bye();
        }
        check_end();
        m_node.reset();
    });
    m_ucx->random = nullptr;
}

} // namespace
