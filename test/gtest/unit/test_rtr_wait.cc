/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that wait with their RTR: nothing is looked at before something has changed, and
 * none is forgotten when it has. (src/ucp/proto/rtr.c and rtr_state.c)
 */

#include "rtr_test.h"

extern "C" {
#include "ucp/proto/rtr_slots.h"
}

namespace {

const uint64_t LOW  = 0xff;
const uint64_t HIGH = 0xf00;

class test_rtr_wait : public rtr_test {
protected:
    /* Messages that fit receives of that tag and mask are expected from there. */
    void expect(uint64_t tag, uint64_t mask, ri_stream_t *from)
    {
        ri_sender_map_learn(&m_b->worker()->senders, tag, mask, tag, from->id);
    }

    recv_ptr wait(uint64_t tag = TAG)
    {
        recv_ptr r = post(LARGE, tag);

        EXPECT_EQ(RI_RTR_QUEUED, rtr(r));
        return r;
    }

    /* Whether it waits for another receive, or a class, and not in the queue */
    static bool is_aside(const recv_ptr &r)
    {
        return (rtr(r) == RI_RTR_QUEUED) && (req(r)->rtr_awaits != nullptr);
    }

    void progress(unsigned rounds = 40)
    {
        for (unsigned i = 0; i < rounds; ++i) {
            m_b->progress();
        }
    }

    void expect_out(const std::vector<recv_ptr> &all)
    {
        progress();
        for (const recv_ptr &r : all) {
            EXPECT_EQ(RI_RTR_OUT, rtr(r));
        }
    }

    void cancel_all(const std::vector<recv_ptr> &all)
    {
        for (const recv_ptr &r : all) {
            cancel(r);
        }
    }

    /* A message that is there before this returns */
    void message(uint64_t tag, size_t length = 8)
    {
        m_a->send(m_conn, bytes(length), tag);
        m_b->progress();
    }
};

/* What has nothing to do with any RTR */

TEST_F(test_rtr_wait, other_messages_with_an_rtr_out)
{
    recv_ptr r = post_seen();

    for (size_t length : {(size_t)0, (size_t)8, EAGER, (size_t)5000}) {
        for (uint64_t mask : {ALL, LOW}) {
            recv_ptr one = m_b->recv(2, mask, length), two = m_b->recv(2, mask, length);

            message(2, length);
            message(2, length);
            EXPECT_TRUE(one->done && two->done);
            EXPECT_EQ(length, two->info.length);
        }
    }
    EXPECT_EQ(RI_RING_GRANT_OUT, state(r));
    send_ptr s = send();
    pump();
    check(r, s);
    check_rtrs(1, 1);
}

TEST_F(test_rtr_wait, other_messages_do_not_wake)
{
    recv_ptr any = m_b->recv(HIGH, HIGH, LARGE);
    std::vector<recv_ptr> r;

    expect(HIGH | TAG, ALL, stream());
    for (unsigned i = 0; i < 5; ++i) {
        r.push_back(wait(HIGH | TAG));
        EXPECT_TRUE(is_aside(r[i]));
    }
    for (size_t length : {(size_t)8, (size_t)5000, LARGE}) {
        for (uint64_t mask : {ALL, LOW}) { /* of the same class as the others, and not */
            recv_ptr one = m_b->recv(2, mask, length);

            message(2, length);
            EXPECT_TRUE(one->done);
            EXPECT_EQ(0, m_b->worker()->rtr_retry);
        }
    }
    for (const recv_ptr &one : r) {
        EXPECT_TRUE(is_aside(one));
    }
    message(HIGH);
    EXPECT_TRUE(any->done);
    expect_out(r);
    cancel_all(r);
}

/* Behind a receive of another mask */

TEST_F(test_rtr_wait, for_one_that_gets_a_message)
{
    const size_t lengths[] = {0, 8, EAGER, 5000, MEDIUM, LARGE, GIANT};

    for (size_t length : lengths) {
        for (size_t room : {(size_t)8, LARGE}) { /* truncated, or not */
            for (bool am : {false, true}) {
                recv_ptr any            = m_b->recv(0, 0, room);
                std::vector<recv_ptr> r = {wait(), wait(), wait()};

                progress();
                m_conn->flags |= am ? RI_CONN_BEHIND_RMA : 0;
                ri_conn_update_fast(m_conn);
                m_a->send(m_conn, bytes(length), 2);
                m_conn->flags &= ~RI_CONN_BEHIND_RMA;
                ri_conn_update_fast(m_conn);
                pump();
                EXPECT_TRUE(any->done);
                expect_out(r);
                cancel_all(r);
            }
        }
    }
}

/* ... whose turn comes with another one. */
TEST_F(test_rtr_wait, for_one_that_gets_an_early_message)
{
    recv_ptr first = m_b->recv(2, ALL, 8), any = m_b->recv(HIGH, HIGH, 8);

    expect(HIGH | TAG, ALL, stream());
    recv_ptr r = wait(HIGH | TAG);
    m_conn->flags |= RI_CONN_BEHIND_RMA;
    ri_conn_update_fast(m_conn);
    m_a->send(m_conn, bytes(8), 2);
    m_conn->flags &= ~RI_CONN_BEHIND_RMA;
    ri_conn_update_fast(m_conn);
    message(HIGH);
    EXPECT_FALSE(any->done);
    pump();
    EXPECT_TRUE(first->done && any->done);
    expect_out({r});
    cancel(r);
}

TEST_F(test_rtr_wait, for_one_that_is_cancelled)
{
    recv_ptr any            = m_b->recv(0, 0, LARGE);
    std::vector<recv_ptr> r = {wait(), wait()};

    cancel(any);
    expect_out(r);
    cancel_all(r);
}

/* One after the other, from either end */
TEST_F(test_rtr_wait, for_several)
{
    for (bool forward : {true, false}) {
        recv_ptr any[] = {m_b->recv(0, 0, 8), m_b->recv(0, 0, 8), m_b->recv(TAG, LOW, 8)};
        std::vector<recv_ptr> r = {wait(), wait()};

        for (unsigned i = 0; i < 3; ++i) {
            progress();
            for (const recv_ptr &one : r) {
                EXPECT_TRUE(is_aside(one));
            }
            cancel(any[forward ? i : 2 - i]);
        }
        expect_out(r);
        cancel_all(r);
    }
}

/* ... that waits itself */
TEST_F(test_rtr_wait, for_one_that_waits)
{
    expect(TAG, LOW, stream());
    recv_ptr any = m_b->recv(0, 0, 8), middle = m_b->recv(TAG, LOW, LARGE), r = wait();

    EXPECT_TRUE(is_aside(middle));
    cancel(any);
    progress();
    EXPECT_EQ(RI_RTR_OUT, rtr(middle));
    EXPECT_TRUE(is_aside(r));
    cancel(middle);
    expect_out({r});
    cancel(r);

    any = m_b->recv(0, 0, 8), middle = m_b->recv(TAG, LOW, LARGE), r = wait();
    cancel(middle);
    progress();
    EXPECT_TRUE(is_aside(r));
    cancel(any);
    expect_out({r});
    cancel(r);
}

/* Those that wait leave before. */
TEST_F(test_rtr_wait, and_leaves)
{
    for (unsigned leave = 0; leave < 8; ++leave) {
        recv_ptr any            = m_b->recv(0, 0, 8);
        std::vector<recv_ptr> r = {wait(), wait(), wait()}, left;

        for (unsigned i = 0; i < 3; ++i) {
            if (leave & (1 << i)) {
                cancel(r[i]);
            } else {
                left.push_back(r[i]);
            }
        }
        EXPECT_EQ(left.empty(), req(any)->waiters == nullptr);
        recv_ptr late = wait();
        left.push_back(late);
        message(2);
        EXPECT_TRUE(any->done);
        expect_out(left);
        cancel_all(left);
    }
}

/* Masks that find no class */
TEST_F(test_rtr_wait, for_one_of_the_list)
{
    std::vector<recv_ptr> other;

    for (unsigned i = 0; i < RI_MATCH_CLASSES; ++i) {
        other.push_back(m_b->recv(0x100ul << (4 * i), 0xf00ul << (4 * i), 8));
    }
    for (bool matched : {false, true}) {
        recv_ptr any = m_b->recv(TAG, 1, 8), r = post();

        ASSERT_EQ(nullptr, req(any)->mask_class);
        EXPECT_TRUE(is_aside(r));
        cancel_all(other);
        other.clear();
        progress();
        EXPECT_TRUE(is_aside(r));
        if (matched) {
            message(TAG);
            EXPECT_TRUE(any->done);
        } else {
            cancel(any);
        }
        expect_out({r});
        cancel(r);
        for (unsigned i = 0; i < RI_MATCH_CLASSES; ++i) {
            other.push_back(m_b->recv(0x100ul << (4 * i), 0xf00ul << (4 * i), 8));
        }
        if (req(other.back())->mask_class == nullptr) {
            break; /* ALL has kept its class */
        }
    }
    cancel_all(other);
}

/* A class that is too large to be looked through: too many receives, or of too many tags */
TEST_F(test_rtr_wait, for_a_large_class)
{
    for (bool tags : {false, true}) {
        std::vector<recv_ptr> other;

        expect(HIGH, HIGH, stream());
        for (unsigned i = 0; i < 100; ++i) {
            other.push_back(post(8, 2 + (tags ? i : 0)));
        }
        recv_ptr r = m_b->recv(HIGH, HIGH, LARGE);
        EXPECT_TRUE(is_aside(r));
        unsigned left = 100;
        while ((rtr(r) == RI_RTR_QUEUED) && (left > 0)) {
            if (left % 2) {
                message(2 + (tags ? 100 - left : 0));
            } else {
                cancel(other[100 - left]);
            }
            EXPECT_TRUE(other[100 - left]->done);
            --left;
            progress(2);
        }
        EXPECT_EQ(RI_RTR_OUT, rtr(r));
        EXPECT_EQ(tags ? 0u : 64u, left);
        for (; left > 0; --left) {
            cancel(other[100 - left]);
        }
        cancel(r);
    }
}

/* Beside one whose RTR is out to another sender */

TEST_F(test_rtr_wait, for_the_rtr_of_another_sender)
{
    for (unsigned end = 0; end < 5; ++end) {
        SCOPED_TRACE(end);
        restart();
        second();
        recv_ptr r1 = post_seen();
        guess(stream2());
        recv_ptr r2 = wait(), r3 = wait();
        EXPECT_TRUE(is_aside(r2) && is_aside(r3));
        send_ptr s;

        switch (end) {
        case 0: /* used */
            s = send();
            pump();
            check(r1, s);
            break;
        case 1:
            cancel(r1);
            break;
        case 2: /* the other one's message takes it */
            s = send2(8);
            pump();
            check(r1, s);
            break;
        case 3: /* promised: the other one's message goes to the next */
            s = send();
            send2(8);
            pump();
            check(r1, s);
            EXPECT_TRUE(r2->done);
            break;
        default: /* its stream ends */
            ri_stream_break(stream(), "a test");
            break;
        }
        guess(stream2());
        progress();
        if (!r2->done) {
            EXPECT_EQ(RI_RTR_OUT, rtr(r2));
            if (end != 0) { /* by which it has been learnt who sends */
                EXPECT_EQ(stream2(), req(r2)->rtr_stream);
            }
        }
        if (end != 2) { /* a short message: they may have lost their credit */
            EXPECT_EQ(RI_RTR_OUT, rtr(r3));
        }
        for (const recv_ptr &r : {r1, r2, r3}) {
            if (!r->done) {
                cancel(r);
            }
        }
        pump();
        check_idle();
        stop();
        start();
    }
}

/* Too many */

TEST_F(test_rtr_wait, for_fewer_ahead)
{
    for (bool matched : {true, false}) {
        std::vector<recv_ptr> r;

        for (unsigned i = 0; i < 70; ++i) {
            r.push_back(post(EAGER));
        }
        recv_ptr last = wait();
        EXPECT_TRUE(is_aside(last));
        for (unsigned i = 0; i < 7; ++i) {
            EXPECT_EQ(RI_RTR_QUEUED, rtr(last));
            if (matched) {
                message(TAG);
                EXPECT_TRUE(r[i]->done);
            } else {
                cancel(r[40 + i]); /* in the middle */
            }
            progress(2);
        }
        EXPECT_EQ(RI_RTR_OUT, rtr(last));
        for (const recv_ptr &one : r) {
            if (!one->done) {
                cancel(one);
            }
        }
        cancel(last);
    }
}

/* They do not keep others of the same sender from having their turn, and have it all. */
TEST_F(test_rtr_wait, for_fewer_ahead_and_others)
{
    std::vector<recv_ptr> shorts, deep;

    expect(TAG + 1, ALL, stream());
    for (unsigned i = 0; i < 64; ++i) {
        shorts.push_back(post(EAGER));
    }
    for (unsigned i = 0; i < 10; ++i) {
        deep.push_back(wait());
    }
    recv_ptr other = post(LARGE, TAG + 1);
    EXPECT_EQ(RI_RTR_OUT, rtr(other));
    cancel(deep[4]); /* while it waits */
    deep.erase(deep.begin() + 4);
    for (unsigned i = 0; i < deep.size(); ++i) {
        cancel(shorts[(i % 2) ? i : 63 - i]);
        progress(2);
        for (unsigned j = 0; j < deep.size(); ++j) {
            EXPECT_EQ((j <= i) ? RI_RTR_OUT : RI_RTR_QUEUED, rtr(deep[j])) << i << j;
        }
    }
    EXPECT_EQ(nullptr, m_b->worker()->rtr_deep);
    for (const recv_ptr &one : shorts) {
        if (!one->done) {
            cancel(one);
        }
    }
    expect_out(deep);
    cancel_all(deep);
    cancel(other);
}

TEST_F(test_rtr_wait, for_a_grant)
{
    std::vector<recv_ptr> r;

    for (unsigned i = 0; i < RI_RING_GRANTS; ++i) {
        r.push_back(post());
    }
    recv_ptr last = wait(), behind = wait();
    progress();
    EXPECT_EQ(RI_RTR_QUEUED, rtr(last));
    EXPECT_FALSE(is_aside(last));
    cancel(r[5]); /* the others are taken back, and are behind these two then */
    progress();
    EXPECT_EQ(RI_RTR_OUT, rtr(last));
    cancel(behind);
    r.erase(r.begin() + 5);
    r.push_back(last);
    expect_out(r);
    m_a->progress();
    send_ptr s = send();
    pump();
    check(r[0], s);
    r.erase(r.begin());
    cancel_all(r);
}

/* ... which is free later than its receive leaves */
TEST_F(test_rtr_wait, for_a_grant_that_is_being_used)
{
    std::vector<recv_ptr> r = {post()};
    send_ptr s              = send();

    for (unsigned i = 1; i < RI_RING_GRANTS; ++i) {
        r.push_back(post());
    }
    recv_ptr last       = wait();
    m_a_plane->on_write = [&]() {
        progress();
        EXPECT_FALSE(req(r[0])->super.flags & RI_REQ_POSTED);
        EXPECT_EQ(RI_RTR_QUEUED, rtr(last));
        EXPECT_EQ(0, m_b->worker()->rtr_retry);
    };
    m_a->progress();
    m_a_plane->on_write = nullptr;
    EXPECT_FALSE(r[0]->done);
    m_b->progress();
    check(r[0], s);
    r.erase(r.begin());
    expect_out({last});
    cancel_all(r);
    cancel(last);
}

/* Everything at once. When nothing happens any more, whatever still waits has a reason to, and
 * with one sender each message is that of its receive. */
class test_rtr_wait_random : public test_rtr_wait {
protected:
    bool is_posted(const recv_ptr &r)
    {
        return !r->done && (ri_req_flags(&req(r)->super) & RI_REQ_POSTED);
    }

    static bool is_kin(const ri_recv_req_t *a, const ri_recv_req_t *b)
    {
        return (a->mask == b->mask) && (((a->tag ^ b->tag) & a->mask) == 0);
    }

    bool is_too_large(const ri_mask_class_t *c)
    {
        return (c->posted.count > 0) &&
               ((c->posted.count > 64) || ((1ul << (64 - c->posted.shift)) > 64));
    }

    /* By all that is posted, and not by what the library has noted */
    bool has_reason(const ri_recv_req_t *recv)
    {
        unsigned ahead = 0;

        for (const recv_ptr &one : m_r) {
            const ri_recv_req_t *other = is_posted(one) ? req(one) : nullptr;

            if ((other == nullptr) || (other == recv)) {
                continue;
            }
            if (is_kin(other, recv)) {
                ahead += (other->serial < recv->serial);
                if (ri_rtr_is_out(other) && (recv->rtr_awaits == &other->waiters)) {
                    return true;
                }
            } else if ((other->mask != recv->mask) && (other->serial < recv->serial) &&
                       (((other->tag ^ recv->tag) & other->mask & recv->mask) == 0)) {
                return true;
            }
        }
        for (unsigned i = 0; i < m_b->worker()->match.num_classes; ++i) {
            const ri_mask_class_t *c = &m_b->worker()->match.classes[i];

            if ((recv->rtr_awaits == &c->waiters) && is_too_large(c)) {
                return true;
            }
        }
        return (recv->rtr_awaits == &m_b->worker()->rtr_deep) ?
                       (ahead >= 64) :
                       (recv->rtr_awaits == nullptr) && is_queue_full();
    }

    static bool ri_rtr_is_out(const ri_recv_req_t *r)
    {
        return (r->rtr == RI_RTR_OUT) || (r->rtr == RI_RTR_KEPT);
    }

    /* There is no grant */
    bool is_queue_full()
    {
        size_t out = 0;

        for (const recv_ptr &one : m_r) {
            out += !one->done && (rtr(one) == RI_RTR_OUT);
        }
        return out == RI_RING_GRANTS;
    }

    void check_waiting()
    {
        size_t count = 0, out = 0;

        progress(60);
        for (const recv_ptr &one : m_r) {
            if (!is_posted(one)) {
                continue;
            }
            count += (rtr(one) != RI_RTR_NONE);
            out += ri_rtr_is_out(req(one));
            if (rtr(one) == RI_RTR_QUEUED) {
                ++m_waiting;
                EXPECT_TRUE(has_reason(req(one)))
                        << std::hex << "forgotten: tag " << req(one)->tag << " mask "
                        << req(one)->mask << " serial " << req(one)->serial;
            }
        }
        EXPECT_LE(count, m_b->worker()->num_rtrs);
        EXPECT_LE(out, m_b->worker()->num_offered);
        EXPECT_EQ(ucs_list_length(&m_b->worker()->rtr_full), m_b->worker()->num_rtr_full);
    }

    void step(rng &random, unsigned senders)
    {
        const size_t lengths[] = {0, 8, EAGER, 5000, 8193, MEDIUM, LARGE};
        uint64_t tag           = m_tags[random.below(m_tags.size())];
        uint64_t mask          = m_masks[random.below(m_masks.size())];

        switch (random.below(6)) {
        case 0:
        case 1:
            m_r.push_back(m_b->recv(tag, mask, random.percent(30) ? EAGER : LARGE));
            break;
        case 2: {
            bool other = (senders > 1) && random.percent(50);
            send_ptr s = m_a->send(other ? m_conn2 : m_conn,
                                   pattern(++m_seed, lengths[random.below(7)]), tag);
            if (senders == 1) {
                m_sent_messages.push_back({tag, s});
            }
            break;
        }
        case 3:
            if (!m_r.empty() && random.percent(30)) {
                m_b->cancel(m_r[m_r.size() - 1 - random.below(ri_min(m_r.size(), 30ul))]);
            }
            break;
        case 4:
            m_a->progress();
            break;
        default:
            m_b->progress();
            deliver();
            expect(tag, mask, (senders > 1) && random.percent(50) ? stream2() : stream());
            ri_sender_map_credit(&m_b->worker()->senders, tag, mask, stream()->id, 1);
            break;
        }
    }

    /* Each message belongs to the first receive that fits it and has none yet. */
    void check_messages()
    {
        std::vector<bool> taken(m_r.size());

        for (const auto &[tag, s] : m_sent_messages) {
            for (size_t i = 0; i < m_r.size(); ++i) {
                const recv_ptr &one = m_r[i];

                if (taken[i] || (((one->tag ^ tag) & one->mask) != 0) ||
                    (one->done && (one->status == UCS_ERR_CANCELED))) {
                    continue;
                }
                taken[i] = true;
                check(one, s);
                break;
            }
        }
    }

    void run(unsigned senders)
    {
        for_seeds(40, [&](rng &random) {
            m_r.clear();
            m_sent_messages.clear();
            m_masks = {ALL, ALL, ALL, LOW, 0};
            m_tags.clear();
            restart();
            if (senders > 1) {
                second();
            }
            for (unsigned i = random.below(5); i > 0; --i) {
                m_masks.push_back(~(0xful << (4 * i)));
            }
            for (unsigned i = random.range(1, 6); i > 0; --i) {
                m_tags.push_back(random.below(0x300));
            }
            for (unsigned i = 0; i < 40; ++i) {
                for (unsigned j = random.range(1, 20); j > 0; --j) {
                    step(random, senders);
                }
                check_waiting();
                if (HasFailure()) {
                    return;
                }
            }
            pump();
            check_waiting();
            if (senders == 1) {
                check_messages();
            }
            finish();
        });
    }

    void finish()
    {
        for (const recv_ptr &one : m_r) {
            if (!one->done) {
                cancel(one);
            }
        }
        while (m_b->worker()->match.num_unexpected > 0) {
            m_b->recv(0, 0, LARGE);
            pump();
        }
        m_used_all += m_b->counters().rtr_used;
    }

    std::vector<recv_ptr> m_r;
    std::vector<std::pair<uint64_t, send_ptr>> m_sent_messages;
    std::vector<uint64_t> m_masks, m_tags;
    uint64_t m_waiting = 0, m_used_all = 0;
};

TEST_F(test_rtr_wait_random, one_sender)
{
    run(1);
    EXPECT_GT(m_waiting, 1000u);
    EXPECT_GT(m_used_all, 50u);
}

TEST_F(test_rtr_wait_random, two_senders)
{
    run(2);
    EXPECT_GT(m_waiting, 1000u);
    EXPECT_GT(m_used_all, 50u);
}

} // namespace
