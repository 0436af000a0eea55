/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/link/ring_life.c, src/ucp/proto/eager/eager.c: large rings, which take messages above
 * EAGER_THRESH. The tests run src/ucp/tag/send.c and src/ucp/tag/send_host.c, too.
 */

#include "ring_life_test.h"
#include "ucp/core/activity.h"

#include <signal.h>
#include <sys/resource.h>
#include <tuple>

namespace {

class test_ring_life_long : public ring_life_test {
protected:
    static constexpr size_t LARGE  = 65536;
    static constexpr size_t MEDIUM = 32768;
    static constexpr size_t EAGER  = 2048; /* EAGER_THRESH */
    /* The longest message that a large ring takes */
    static constexpr size_t TAKEN = LARGE / RI_RING_LONG_MESSAGES;

    void SetUp() override
    {
        ring_life_test::SetUp();
        ri_config.ring_size    = 16384;
        ri_config.ring_large   = LARGE;
        ri_config.ring_medium  = MEDIUM;
        ri_config.eager_thresh = EAGER;
        ri_config.ring_eager   = 32768;
        ri_config.ring_peers   = 64;
    }

    /* @return How many messages that ring took of one of @a length bytes: 0 or 1. */
    uint64_t taken(node *a, node *b, size_t length, bool expected)
    {
        uint64_t before = ring_messages(b);
        recv_ptr r      = expected ? b->recv(1, ~0ul, length) : nullptr;
        send_ptr s      = a->send(conn(a, b), pattern(length, length), 1);

        calm_down();
        r = expected ? r : b->recv(1, ~0ul, length);
        calm_down(); /* if it is in bulk */
        EXPECT_TRUE(r->done) << length;
        EXPECT_TRUE(s->done) << length;
        EXPECT_EQ(UCS_OK, r->status);
        EXPECT_EQ(length, r->info.length);
        EXPECT_EQ(s->data, r->buffer) << length;
        a->release_done();
        b->release_done();
        return ring_messages(b) - before;
    }

    /* Two nodes with quick rings, which take more than rings of TAKEN / 2 do. */
    std::pair<node *, node *> add_quick_pair()
    {
        ri_config.ring_eager = TAKEN / 2;
        ri_config.ring_quick = LARGE;
        ri_quick_rate        = 1e-9;

        node *a = add_node(), *b = add_node();

        conn(b, a);
        exchange(a, b, 10);
        exchange(b, a, 10);
        return {a, b};
    }

    /* Two nodes whose rings take up to TAKEN bytes for a receiver that reads slowly, else half of
     * it. */
    std::pair<node *, node *> add_pair_for_slow_reads()
    {
        ri_config.ring_eager = TAKEN / 2;
        ri_config.ring_slow  = LARGE;

        node *a = add_node(), *b = add_node();

        conn(b, a);
        exchange(a, b, 10);
        return {a, b};
    }

    /* Post a receive of @a room bytes for each message: they come in order, and as they were
     * sent. */
    void receive(node *b, const std::vector<send_ptr> &sends, size_t room)
    {
        std::vector<recv_ptr> recvs;

        for (size_t i = 0; i < sends.size(); ++i) {
            recvs.push_back(b->recv(1, ~0ul, room));
        }
        calm_down();
        for (size_t i = 0; i < sends.size(); ++i) {
            ASSERT_TRUE(sends[i]->done && recvs[i]->done) << i;
            EXPECT_EQ(sends[i]->data.size(), recvs[i]->info.length);
            EXPECT_TRUE(std::equal(sends[i]->data.begin(), sends[i]->data.end(),
                                   recvs[i]->buffer.begin()))
                    << i;
        }
    }
};

TEST_F(test_ring_life_long, each_length)
{
    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    for (bool far : {false, true}) {
        ri_distance_far_ticks = far ? 1 : 0;
        for (bool expected : {true, false}) {
            for (size_t length = EAGER - 100; length < TAKEN + 300;
                 length += (length + 70 > TAKEN) ? 1 : 61) {
                conn(a, b)->ring->distance.times = far ? RI_DISTANCE_FAR_TIMES : 0;
                EXPECT_EQ(length <= TAKEN, taken(a, b, length, expected)) << length;
            }
        }
    }
    EXPECT_EQ(0u, b->counters().held_bytes);
}

/* The number of large rings is limited, and that of rings of medium size, too. A ring takes
 * messages that fit it four times, and a small ring those that go by it anyway. */
TEST_F(test_ring_life_long, of_the_first_peers)
{
    node *b = add_node();

    for (unsigned i = 0; i < RI_CONFIG_MEDIUM_RINGS + 2; ++i) {
        size_t size = (i < RI_CONFIG_LARGE_RINGS)  ? LARGE :
                      (i < RI_CONFIG_MEDIUM_RINGS) ? MEDIUM :
                                                     16384;
        size_t most = size / RI_RING_LONG_MESSAGES;
        node *a     = add_node();

        conn(b, a);
        exchange(a, b, 10);
        EXPECT_EQ(size, (conn(a, b)->ring->mask + 1ul) * RI_RING_LINE);
        EXPECT_EQ(1u, taken(a, b, EAGER, true));
        EXPECT_EQ(1u, taken(a, b, most, true)) << i;
        EXPECT_EQ(0u, taken(a, b, most + 1, true)) << i;
    }
}

/* Longer messages go through a ring that is quick, if its receiver waits for them. */
TEST_F(test_ring_life_long, by_a_quick_ring)
{
    ri_config.ring_eager = TAKEN / 2;
    ri_config.ring_quick = LARGE;

    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);

    ri_ring_tx_t *ring = conn(a, b)->ring;

    for (double rate : {0.0, 1e-9}) {
        for (bool waits : {false, true}) {
            for (unsigned slow : {0u, RI_QUICK_TIMES - 1u, RI_QUICK_TIMES + 0u}) {
                for (bool far : {false, true}) {
                    bool is_quick = (rate > 0) && waits && !far &&
                                    (slow < RI_QUICK_TIMES);

                    for (size_t length :
                         {TAKEN / 2, TAKEN / 2 + 1, TAKEN, TAKEN + 1, LARGE}) {
                        ri_quick_rate                = rate;
                        conn(a, b)->peer->hint       = {};
                        conn(a, b)->peer->hint.ready = waits;
                        conn(a, b)->peer->hint.fresh = 1;
                        ring->quick.slow             = slow;
                        ring->distance.times         = far ? RI_DISTANCE_FAR_TIMES : 0;
                        EXPECT_EQ((length <= TAKEN / 2) ||
                                          (is_quick && (length <= TAKEN)),
                                  taken(a, b, length, true))
                                << length << " " << rate << waits << slow << far;
                    }
                }
            }
        }
    }
}

/* A receiver that has not said that it waits is about to, where as many long messages come from it as
 * go there, the sender has a receive posted, and this is the only one since the latest that came. */
TEST_F(test_ring_life_long, messages_that_meet)
{
    node *a, *b;

    std::tie(a, b) = add_quick_pair();

    ri_peer_t *peer = conn(a, b)->peer;
    recv_ptr posted;
    send_ptr earlier;

    auto meets = [&](uint32_t received, bool alone = true) {
        if (alone) {
            exchange(b, a, 1);
        }
        peer->hint     = {};
        peer->row.sent = peer->row.received = 8;
        peer->row.received                  = received;
        return taken(a, b, TAKEN, true);
    };

    EXPECT_EQ(0u, meets(8)) << "nothing is posted";
    posted = a->recv(9, ~0ul, 8);
    EXPECT_EQ(1u, meets(8));
    EXPECT_EQ(0u, peer->hint.fresh) << "nothing was used up";
    EXPECT_EQ(0u, meets(8, false)) << "nothing came since";
    EXPECT_EQ(0u, meets(2)) << "nine to two";
    EXPECT_EQ(1u, meets(3));

    earlier = a->send(conn(a, b), pattern(1, LARGE + 1), 2);
    EXPECT_EQ(0u, meets(8)) << "another send is under way";

    recv_ptr r = b->recv(2, ~0ul, LARGE + 1);
    calm_down();
    EXPECT_TRUE(r->done && earlier->done);
    EXPECT_EQ(1u, meets(8));
    b->send(conn(b, a), bytes(8), 9);
    calm_down();
    EXPECT_TRUE(posted->done);
}

/* RING_QUICK_MAX not above RING_EAGER_MAX: a quick ring is as all others. */
TEST_F(test_ring_life_long, quick_is_not_less)
{
    ri_quick_rate = 1e-9;
    for (size_t quick : {size_t(0), TAKEN / 2, TAKEN / 2 + 1}) {
        ri_config.ring_eager = TAKEN / 2;
        ri_config.ring_quick = quick;

        node *a = add_node(), *b = add_node();

        conn(b, a);
        exchange(a, b, 10);
        EXPECT_EQ((quick > TAKEN / 2) ? quick : 0, conn(a, b)->ring_limits.contig_quick);
        for (size_t length : {TAKEN / 2, TAKEN / 2 + 1}) {
            conn(a, b)->peer->hint.ready = 1;
            conn(a, b)->peer->hint.fresh = 1;
            EXPECT_EQ(length <= std::max(quick, TAKEN / 2), taken(a, b, length, true))
                    << quick << " " << length;
        }
    }
}

/* A receiver that reads slowly is sent longer ones through the ring, but for one now and then. */
TEST_F(test_ring_life_long, a_receiver_that_reads_slowly)
{
    node *a, *b;

    std::tie(a, b) = add_pair_for_slow_reads();

    ri_peer_t *peer = conn(a, b)->peer;

    EXPECT_EQ(TAKEN, conn(a, b)->ring_limits.slow);
    EXPECT_EQ(0u, taken(a, b, TAKEN, true));
    ri_peer_note_hint(peer, RI_RING_HINT_SLOW);
    for (unsigned i = 1; i <= 2 * RI_PEER_SLOW_PROBE; ++i) {
        exchange(b, a, 1);
        ri_peer_note_hint(
                peer, RI_RING_HINT_SLOW); /* what b says meanwhile is that it is not */
        ASSERT_EQ(i % RI_PEER_SLOW_PROBE != 0, taken(a, b, TAKEN, true)) << i;
    }
    exchange(b, a, 1);
    ri_peer_note_hint(peer, RI_RING_HINT_SLOW);
    EXPECT_EQ(1u, taken(a, b, TAKEN / 2, true));
    EXPECT_EQ(2u * RI_PEER_SLOW_PROBE, peer->reads.turn) << "others take them, too";
    ri_peer_note_hint(peer, RI_RING_HINT_SLOW);
    EXPECT_EQ(0u, taken(a, b, TAKEN + 1, true));
    ri_peer_note_hint(peer, 0);
    EXPECT_EQ(0u, taken(a, b, TAKEN, true));
}

/* Behind a message that the receiver may not have taken yet there is none: b has sent nothing
 * since, or a send of a's has not ended. */
TEST_F(test_ring_life_long, a_sender_that_is_ahead_of_slow_reads)
{
    node *a, *b;

    std::tie(a, b) = add_pair_for_slow_reads();
    exchange(b, a, 1);
    for (uint64_t ahead = 0; ahead < 2; ++ahead) {
        ri_peer_note_hint(conn(a, b)->peer, RI_RING_HINT_SLOW);
        EXPECT_EQ(ahead == 0, taken(a, b, TAKEN, true));
    }
    for (size_t before : {LARGE, EAGER}) { /* a long one ends when it is received */
        exchange(b, a, 1);
        ri_peer_note_hint(conn(a, b)->peer, RI_RING_HINT_SLOW);

        send_ptr first = a->send(conn(a, b), pattern(before, before), 2);
        calm_down();
        EXPECT_EQ(before == EAGER, taken(a, b, TAKEN, true));

        recv_ptr r = b->recv(2, ~0ul, before);

        calm_down();
        EXPECT_TRUE(first->done && r->done);
    }
}

/* It uses up nothing that the peer has said of something else. */
TEST_F(test_ring_life_long, slow_reads_use_no_hint)
{
    node *a, *b;

    std::tie(a, b) = add_pair_for_slow_reads();
    exchange(b, a, 1);
    ri_peer_note_hint(conn(a, b)->peer, RI_RING_HINT_SLOW);
    conn(a, b)->peer->hint.fresh = 0;
    EXPECT_EQ(1u, taken(a, b, TAKEN, true));
    EXPECT_EQ(0u, conn(a, b)->peer->hint.fresh);
}

/* A message that goes another way does not use up what the peer has said. */
TEST_F(test_ring_life_long, a_synchronous_one_uses_no_hint)
{
    node *a, *b;

    std::tie(a, b) = add_quick_pair();

    bytes content             = pattern(1, TAKEN);
    ucp_request_param_t param = {};

    ri_peer_note_hint(conn(a, b)->peer, RI_RING_HINT_WAITS);
    ucs_status_ptr_t sent = ri_tag_send(conn(a, b), content.data(), content.size(), 1,
                                        &param, 1);
    EXPECT_EQ(RI_PEER_HINT_FRESH, conn(a, b)->peer->hint.fresh);

    recv_ptr r = b->recv(1, ~0ul, TAKEN);
    calm_down();
    EXPECT_TRUE(r->done);
    ASSERT_TRUE(UCS_PTR_IS_PTR(sent));
    EXPECT_TRUE(ri_req_flags(ri_req_of_handle(sent)) & RI_REQ_COMPLETED);
    ri_req_put(ri_req_of_handle(sent));
}

/* What the peer has said holds for some messages. The next one is announced, whose end says it
 * again. */
TEST_F(test_ring_life_long, a_receiver_that_waits_says_so_again)
{
    node *a, *b;

    std::tie(a, b) = add_quick_pair();

    ri_peer_t *peer = conn(a, b)->peer;

    ri_peer_note_hint(peer, RI_RING_HINT_WAITS);
    for (unsigned i = 0; i < RI_PEER_HINT_FRESH; ++i) {
        ASSERT_EQ(1u, taken(a, b, TAKEN, true)) << i;
    }
    EXPECT_EQ(0u, peer->hint.fresh);
    EXPECT_EQ(0u, taken(a, b, TAKEN, true));
    EXPECT_EQ(0u, taken(a, b, TAKEN, true)) << "as long as it does not say so";
    ri_peer_note_hint(peer, RI_RING_HINT_WAITS);
    EXPECT_EQ(1u, taken(a, b, TAKEN, true));
    ri_peer_note_hint(peer, 0);
    EXPECT_EQ(0u, taken(a, b, TAKEN, true));
}

/* Messages that are longer than any record, by a ring of the largest size. */
TEST_F(test_ring_life_long, longer_than_a_record)
{
    const size_t most    = 262144;
    ri_config.ring_large = 4 * most;
    ri_config.ring_eager = 65536;
    ri_config.ring_quick = most;
    ri_quick_rate        = 1e-9;

    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    for (bool expected : {true, false}) {
        for (size_t length : {65535ul, 65536ul, 65537ul, 131071ul, 200001ul, most}) {
            ri_peer_note_hint(conn(a, b)->peer, RI_RING_HINT_WAITS);
            EXPECT_EQ(1u, taken(a, b, length, expected)) << length;
        }
    }
    EXPECT_EQ(0u, taken(a, b, most + 1, true));

    /* A receive that is too short, and one that comes late for some that fill the ring */
    ri_peer_note_hint(conn(a, b)->peer, RI_RING_HINT_WAITS);
    recv_ptr r = b->recv(1, ~0ul, 100000);
    send_ptr s = a->send(conn(a, b), pattern(1, most), 1);
    calm_down();
    EXPECT_TRUE(s->done && r->done);
    EXPECT_EQ(UCS_ERR_MESSAGE_TRUNCATED, r->status);

    std::vector<send_ptr> sends;

    for (unsigned i = 0; i < 12; ++i) {
        ri_peer_note_hint(conn(a, b)->peer, RI_RING_HINT_WAITS);
        sends.push_back(a->send(conn(a, b), pattern(i, most - i * 10000), 1));
    }
    ASSERT_NO_FATAL_FAILURE(receive(b, sends, most));
    EXPECT_EQ(0u, b->counters().held_bytes);
}

/* A size that was set holds for all. */
TEST_F(test_ring_life_long, none_is_large)
{
    ri_config.ring_large = 0;

    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    EXPECT_EQ(16384u, (conn(a, b)->ring->mask + 1ul) * RI_RING_LINE);
    EXPECT_EQ(0u, taken(a, b, TAKEN, true));
}

/* What finds no room goes another way, or, if the peer sends as well, waits for it. All come in
 * order, whatever size comes behind them. */
TEST_F(test_ring_life_long, without_room)
{
    for (bool both_send : {false, true}) {
        SCOPED_TRACE(both_send);
        node *a = add_node(), *b = add_node();
        std::vector<send_ptr> sends;
        recv_ptr back;
        send_ptr there;

        conn(b, a);
        exchange(a, b, 10);
        exchange(b, a, 10);
        ASSERT_NE(nullptr, conn(b, a)->ring);
        uint64_t before = ring_messages(b), longs = b->counters().streams.rx_long;
        if (both_send) {
            back  = a->recv(2, ~0ul, 8);
            there = b->send(conn(b, a), pattern(1, 8), 2);
        }
        for (unsigned i = 0; i < 40; ++i) {
            sends.push_back(a->send(conn(a, b), pattern(i, (i % 3) ? TAKEN - i : 8), 1));
        }
        EXPECT_EQ(both_send, !ucs_list_is_empty(&conn(a, b)->pending));
        ASSERT_NO_FATAL_FAILURE(receive(b, sends, TAKEN));
        EXPECT_EQ(both_send, before + 40 == ring_messages(b));
        if (both_send) {
            EXPECT_EQ(longs, b->counters().streams.rx_long); /* they were sent eagerly */
        }
    }
}

/* It waits for room, too, if this process was in progress right after its sends of late; one that
 * was not, even once, has to show that again. Another program may have the processor for longer
 * than that, which the clock tells: then it begins anew. */
TEST_F(test_ring_life_long, without_room_of_a_prompt_sender)
{
    bool disturbed = true;
    bool waited;

    for (unsigned attempt = 0; disturbed && (attempt < 200); ++attempt) {
        node *a = add_node(), *b = add_node();

        conn(b, a);
        exchange(a, b, 10);
        disturbed = false;
        for (unsigned round = 0; !disturbed && (round < 3 * RI_ACTIVITY_PROMPT_TIMES);
             ++round) {
            std::vector<send_ptr> sends;
            bool is_late = (round == 2 * RI_ACTIVITY_PROMPT_TIMES - 1);

            for (unsigned i = 0; i < 40; ++i) {
                sends.push_back(a->send(conn(a, b), pattern(i, TAKEN - i), 1));
            }
            waited = !ucs_list_is_empty(&conn(a, b)->pending);
            EXPECT_EQ((round >= RI_ACTIVITY_PROMPT_TIMES) &&
                              (round < 2 * RI_ACTIVITY_PROMPT_TIMES),
                      waited)
                    << round;
            /* The time itself is not to decide here. */
            uint32_t now                  = ri_clock_now_us();
            a->worker()->activity.full_us = now -
                                            (is_late ? RI_ACTIVITY_PROMPT_US + 1000 : 0);
            a->progress();
            disturbed = !is_late && (ri_clock_now_us() - now >= RI_ACTIVITY_PROMPT_US);
            EXPECT_FALSE(ri_activity_was_full(a->worker()));
            ASSERT_NO_FATAL_FAILURE(receive(b, sends, TAKEN));
            a->release_done();
            b->release_done();
        }
    }
    EXPECT_FALSE(disturbed);
}

/* Where there is no memory for a large ring, a small one does. */
TEST_F(test_ring_life_long, no_memory_for_a_large_one)
{
    struct rlimit limit, low;
    node *a = add_node(), *b = add_node();

    conn(b, a);
    ASSERT_EQ(0, getrlimit(RLIMIT_FSIZE, &limit));
    low          = limit;
    low.rlim_cur = 32768;
    signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &low));
    exchange(a, b, 10);
    ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
    signal(SIGXFSZ, SIG_DFL);
    ASSERT_NE(nullptr, conn(a, b)->ring);
    EXPECT_EQ(16384u, (conn(a, b)->ring->mask + 1ul) * RI_RING_LINE);
}

/* A synchronous send has to wait for its receive, and goes as it did. */
TEST_F(test_ring_life_long, not_synchronous)
{
    node *a = add_node(), *b = add_node();

    conn(b, a);
    exchange(a, b, 10);
    uint64_t before = ring_messages(b);
    send_ptr s      = a->send(conn(a, b), pattern(1, TAKEN), 1, true);

    calm_down();
    EXPECT_FALSE(s->done);
    recv_ptr r = b->recv(1, ~0ul, TAKEN);
    calm_down();
    EXPECT_TRUE(s->done && r->done);
    EXPECT_EQ(s->data, r->buffer);
    EXPECT_EQ(before, ring_messages(b));
}

} // namespace
