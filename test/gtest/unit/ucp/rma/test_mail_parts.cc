/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/mail_parts.h: puts and gets in parts. */

#include "mail_target_test.h"

#include <thread>

namespace {

class test_mail_parts : public mail_target_test {};

/* What goes in parts in any case. */
const size_t PARTS_MAX = 4 * RI_MAILBOX_DATA;

/* It is tried with as many parts as there are entries, and then left alone for a while. */
TEST_F(test_mail_parts, parts_to_a_target_that_computes)
{
    rng random(1);
    const std::string data = text(random, SIZE);
    const size_t entries   = RI_MAILBOX_DEPTH * RI_MAILBOX_DATA;

    call_takes(1e12);
    for (int round = 0; round < 3; ++round) {
        unsigned left_out = 0;

        m_withdrawn = 0;
        EXPECT_EQ(entries, put_parts(0, data));
        EXPECT_EQ(unsigned(RI_MAILBOX_DEPTH), m_withdrawn);
        EXPECT_TRUE(ri_mail_is_settled(m_reach));
        EXPECT_TRUE(data.substr(0, entries) == look(0, entries));
        while (m_reach->skip_parts > 0) {
            ASSERT_EQ(0u, put_parts(0, data));
            ++left_out;
        }
        EXPECT_LE(16u, left_out);
    }
    EXPECT_EQ(std::string(1, '\0'), look(entries, 1)) << "nobody has put the rest";
    EXPECT_EQ(UCS_OK, m_reach->lost);
}

TEST_F(test_mail_parts, parts_to_a_target_that_looks)
{
    rng random(2);
    bool is_whole = false;

    call_takes(1e12);
    until_it_looks();
    for (unsigned i = 0; (i < 100) || !is_whole; ++i) {
        const std::string data = text(random, random.range(RI_MAILBOX_DATA + 1, SIZE));
        const size_t offset    = random.below(SIZE - data.size() + 1);
        size_t done            = put_parts(offset, data);

        ASSERT_TRUE((done == data.size()) || (done % RI_MAILBOX_DATA == 0)) << done;
        settle();
        ASSERT_TRUE(data.substr(0, done) == look(offset, done)) << done;
        is_whole |= (done == data.size());
    }
}

/* Few parts are posted without a wait, and done here when they are settled: that is noted, too. */
TEST_F(test_mail_parts, few_parts_to_a_target_that_computes)
{
    rng random(3);
    const std::string data = text(random, RI_MAILBOX_DATA + 1);

    EXPECT_EQ(data.size(), put_parts(5, data));
    EXPECT_EQ(0u, m_withdrawn);
    settle();
    EXPECT_EQ(2u, m_withdrawn);
    EXPECT_TRUE(data == look(5, data.size()));
    EXPECT_EQ(0u, put_parts(5, data));
    until_it_looks();
    EXPECT_LT(0u, put_parts(5, data));
    settle();
}

/* Nothing is there, no entry is left, and the puts before are done here. */
TEST_F(test_mail_parts, get_parts_of_a_target_that_computes)
{
    std::string in(PARTS_MAX, '?');

    for (int round = 0; round < 3; ++round) {
        unsigned left_out = 0;

        m_withdrawn = 0;
        EXPECT_EQ(RI_MAIL_DONE, put(0, "first"));
        EXPECT_EQ(RI_MAIL_DONE, put(100, "second"));
        EXPECT_EQ(0u, get_parts(0, &in));
        EXPECT_EQ(2u, m_withdrawn);
        EXPECT_TRUE(ri_mail_is_settled(m_reach));
        EXPECT_EQ("first", look(0, 5));
        EXPECT_EQ("second", look(100, 6));
        while (m_reach->skip_parts > 0) {
            ASSERT_EQ(0u, get_parts(0, &in));
            ++left_out;
        }
        EXPECT_LE(16u, left_out);
    }
    EXPECT_EQ(std::string(PARTS_MAX, '?'), in);
    until_it_looks();
    EXPECT_EQ(RI_MAIL_DONE, put(0, "third"));
    do {
        m_reach->skip_parts = 0;
    } while (get_parts(0, &in) < in.size());
    EXPECT_EQ("third", in.substr(0, 5));
}

/* More puts than leave entries for all parts: they are over before. */
TEST_F(test_mail_parts, get_parts_behind_puts)
{
    rng random(6);
    bool is_whole = false;

    call_takes(1e12);
    until_it_looks();
    for (unsigned i = 0; (i < 100) || !is_whole; ++i) {
        std::string in(random.range(RI_MAILBOX_DATA + 1, SIZE), '?');
        const std::string data = text(random, RI_MAILBOX_DATA);
        unsigned puts          = random.below(RI_MAILBOX_DEPTH + 1);
        size_t done;

        for (unsigned j = 0; j < puts; ++j) {
            ASSERT_EQ(RI_MAIL_DONE, put(j * 1000, data));
        }
        done = get_parts(0, &in);
        ASSERT_TRUE((done == in.size()) || (done % RI_MAILBOX_DATA == 0)) << done;
        settle();
        ASSERT_TRUE(look(0, done) == in.substr(0, done)) << puts;
        is_whole |= (done == in.size());
    }
}

/* Whether long ones go in parts is found by the time that these take, in both directions. */
TEST_F(test_mail_parts, parts_to_a_far_target)
{
    rng random(4);
    const std::string data = text(random, 9 * RI_MAILBOX_DATA);
    std::string in(data.size(), '?');

    until_it_looks();
    ri_quick_rate = 0;
    EXPECT_EQ(0u, put_parts(0, data)) << "it is not known what a tick is";
    for (bool is_put : {true, false}) {
        ri_quick_t &quick = is_put ? m_reach->quick_puts : m_reach->quick_gets;

        call_takes(0);
        for (unsigned i = 0; quick.slow < RI_QUICK_TIMES; ++i) {
            m_reach->skip_parts = 0;
            if (is_put) {
                ASSERT_LT(0u, put_parts(0, data)) << i;
                settle();
            } else {
                get_parts(0, &in);
            }
        }
        m_reach->skip_parts = 0;
        quick.passed_by     = 0;
        quick.doubled       = 0;
        for (unsigned i = 0; i < RI_QUICK_RETRY - 1; ++i) {
            ASSERT_EQ(0u, is_put ? put_parts(0, data) : get_parts(0, &in)) << i;
        }
        EXPECT_EQ(0u, put_parts(0, data.substr(0, PARTS_MAX))) << "a call takes no time";
        call_takes(1e5);
        m_reach->skip_mail = 0;
        EXPECT_EQ(PARTS_MAX, put_parts(0, data.substr(0, PARTS_MAX)));
        settle();
        call_takes(0);
        m_reach->skip_parts = 0;
        EXPECT_EQ(0u, is_put ? put_parts(0, data) : get_parts(0, &in));
        EXPECT_EQ(0u, quick.slow) << "it is tried again";
    }
}

/* A put that finds entries for all of its parts says nothing of the time that the target takes. */
TEST_F(test_mail_parts, parts_that_are_not_waited_for_are_not_judged)
{
    rng random(7);

    until_it_looks();
    call_takes(0);
    for (unsigned i = 0; i < 2 * RI_QUICK_TIMES; ++i) {
        m_reach->skip_parts = 0;
        ASSERT_LT(0u, put_parts(0, text(random, 5 * RI_MAILBOX_DATA)));
        settle();
    }
    EXPECT_EQ(0u, m_reach->quick_puts.slow);
}

/* One that is refused ends the put: the parts behind it go another way. */
TEST_F(test_mail_parts, put_parts_that_are_refused)
{
    rng random(8);
    const std::string data = text(random, SIZE);
    ri_mailbox_head_t h    = head(RI_SERVE_PUT, 0, 0, 0);
    size_t done;

    call_takes(1e12);
    until_it_looks();
    ++h.region;
    done = ri_mail_parts_put(m_reach, &h, data.data(), data.size(), &m_withdrawn);
    EXPECT_LE(size_t(RI_MAILBOX_DEPTH * RI_MAILBOX_DATA), done);
    EXPECT_GE(size_t(2 * RI_MAILBOX_DEPTH * RI_MAILBOX_DATA), done + RI_MAILBOX_DATA);
    settle();
    EXPECT_TRUE(data.substr(0, done) == look(0, done));
    EXPECT_LT(0, m_reach->skip_parts);
}

/* No longer than what a quick ring takes. */
TEST_F(test_mail_parts, parts_have_a_greatest_length)
{
    std::string in(PARTS_MAX + 1, '?');

    ri_config.ring_quick = PARTS_MAX;
    call_takes(1e12);
    until_it_looks();
    EXPECT_EQ(0u, get_parts(0, &in));
    in.pop_back();
    do {
        m_reach->skip_parts = 0;
    } while (get_parts(0, &in) < in.size());
}

/* What the target refuses ends the parts; those behind it leave no entry. */
TEST_F(test_mail_parts, get_parts_across_the_end_of_a_region)
{
    std::string in(PARTS_MAX, '?');
    size_t done;

    until_it_looks();
    do {
        m_reach->skip_parts = 0;
        done                = get_parts(SIZE - 2 * RI_MAILBOX_DATA, &in);
    } while (done < 2 * RI_MAILBOX_DATA);
    EXPECT_EQ(size_t(2 * RI_MAILBOX_DATA), done);
    EXPECT_TRUE(ri_mail_is_settled(m_reach));
    EXPECT_EQ(std::string(2 * RI_MAILBOX_DATA, '?'), in.substr(2 * RI_MAILBOX_DATA));
}

/* Long and short ones, whoever serves and whoever withdraws: the later one is what is there. */
TEST_F(test_mail_parts, random_lengths)
{
    call_takes(1e12);
    for_seeds(10, [&](rng &random) {
        std::string copy(SIZE, '\0');

        m_state->todo = COMPUTE;
        ASSERT_NO_FATAL_FAILURE(put_all(0, copy));
        for (int i = 0; i < 200; ++i) {
            const std::string data = text(random, random.percent(50) ?
                                                          random.range(1, 5000) :
                                                          random.range(4097, 50000));
            const size_t offset    = random.below(SIZE - data.size() + 1);

            if (random.percent(10)) {
                m_state->todo = random.below(END);
            }
            if (data.size() <= RI_MAILBOX_DATA) {
                ASSERT_EQ(RI_MAIL_DONE, put(offset, data));
            } else {
                ASSERT_NO_FATAL_FAILURE(put_all(offset, data));
            }
            copy.replace(offset, data.size(), data);
            if (random.percent(20)) {
                std::string in(random.range(4097, 50000), '?');
                const size_t from = random.below(SIZE - in.size() + 1);
                const size_t got  = get_parts(from, &in);

                ASSERT_TRUE(copy.substr(from, got) == in.substr(0, got)) << i;
            }
            if (random.percent(5)) {
                settle();
                ASSERT_TRUE(copy == look(0, SIZE)) << i;
            }
        }
        settle();
        ASSERT_TRUE(copy == look(0, SIZE));
    });
}

/* Numbers of operations go beyond 32 bits. */
TEST_F(test_mail_parts, numbers_begin_anew)
{
    rng random(11);
    std::string in(3 * RI_MAILBOX_DATA, '?');

    *m_reach->mail.doorbell = m_reach->oldest = m_reach->mail.next = -20u;
    until_it_looks();
    call_takes(1e12);
    for (unsigned i = 0; (i < 40) || (m_reach->mail.next > 1u << 31); ++i) {
        const std::string data = text(random, in.size());

        m_reach->skip_parts = 0;
        put_all(0, data);
        m_reach->skip_parts = 0;
        const size_t done   = get_parts(0, &in);
        ASSERT_TRUE(data.substr(0, done) == in.substr(0, done)) << i;
        settle();
        ASSERT_TRUE(data == look(0, data.size())) << i;
    }
    EXPECT_EQ(UCS_OK, m_reach->lost);
}

/* Two threads have one reach. Each has a half of the memory. */
TEST_F(test_mail_parts, two_threads)
{
    auto run = [&](size_t offset) {
        rng random(offset + 1);
        unsigned withdrawn = 0;
        std::string in(SIZE / 2, '?');

        for (unsigned i = 0; i < 300; ++i) {
            const size_t length    = random.range(RI_MAILBOX_DATA + 1, in.size());
            const std::string data = text(random, length);
            ri_mailbox_head_t h    = head(RI_SERVE_PUT, offset, 0, 0);
            size_t done;

            done = ri_mail_parts_put(m_reach, &h, data.data(), length, &withdrawn);
            ri_mail_settle(m_reach, &withdrawn);
            ASSERT_TRUE(data.substr(0, done) == look(offset, done)) << i;
            h.kind = RI_SERVE_GET;
            done   = ri_mail_parts_get(m_reach, &h, &in[0], done, &withdrawn);
            ASSERT_TRUE(data.substr(0, done) == in.substr(0, done)) << i;
        }
    };

    call_takes(1e12);
    m_state->todo = LOOK_NOW_AND_THEN;
    std::thread other([&] { run(SIZE / 2); });
    run(0);
    other.join();
    EXPECT_EQ(UCS_OK, m_reach->lost);
}

/* The target is killed while it serves parts, at any of them. */
TEST_F(test_mail_parts, killed_in_the_middle)
{
    const std::string data(SIZE, 'x');
    std::string in(SIZE, '?');
    std::thread killer;

    until_it_looks();
    call_takes(1e12);
    killer = std::thread([this, before = int(m_state->done)] {
        wait_for([&] { return m_state->done > before + 100; });
        m_target->end(SIGKILL);
    });
    while (m_reach->lost == UCS_OK) {
        m_reach->skip_parts = 0;
        m_reach->proved     = 0;
        put_parts(0, data);
        get_parts(0, &in);
        settle();
    }
    killer.join();
    EXPECT_TRUE(ri_mail_is_settled(m_reach));
    EXPECT_EQ(0u, get_parts(0, &in));
    EXPECT_EQ(UCS_ERR_UNREACHABLE, m_reach->lost);
}

/* The target writes anything into its mailbox: no byte is written beside the result, and it ends. */
TEST_F(test_mail_parts, hostile_target)
{
    for_share_of_seeds(10, [&](rng &random) {
        std::atomic<bool> is_over{false};
        const uint64_t seed = random.next();
        unsigned answered   = 0;
        std::thread hostile([&] {
            rng other(seed);

            while (!is_over) {
                uint32_t number           = other.below(3) + *m_reach->mail.doorbell - 2;
                ri_mailbox_entry_t *entry = ri_mailbox_tx_entry(&m_reach->mail,
                                                                number & ~3u);

                entry->ready = other.percent(50) ? other.below(20000) : other.next();
                entry->state = RI_MAILBOX_WORD(number & ~3u, other.below(6));
                if (other.percent(10)) {
                    sched_yield();
                }
            }
        });

        call_takes(1e12);
        while (answered < 30) {
            std::string in(SIZE + 2 * PAGE, '~');
            const size_t length = random.range(RI_MAILBOX_DATA + 1, SIZE);
            ri_mailbox_head_t h = head(RI_SERVE_GET, 0, 0, 0);
            size_t done;

            m_reach->skip_parts = 0;
            done = ri_mail_parts_get(m_reach, &h, &in[PAGE], length, &m_withdrawn);
            answered += (done > 0);
            ASSERT_GE(length, done);
            ASSERT_EQ(std::string(PAGE, '~'), in.substr(0, PAGE));
            ASSERT_EQ(std::string(PAGE, '~'), in.substr(PAGE + length, PAGE));
            ASSERT_TRUE(ri_mail_is_settled(m_reach));
        }
        is_over = true;
        hostile.join();
    });
}

} // namespace
