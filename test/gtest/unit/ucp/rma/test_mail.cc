/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/mail.h: small operations, and when they are taken back. The target is a child by fork(),
 * whose memory this process has a way to. */

#include "unit/common/rng.h"
#include "unit/ucp/rma/rma_child.h"

#include <gtest/gtest.h>

namespace {

class test_mail : public ::testing::Test {
protected:
    static constexpr size_t SIZE = 64 * 1024;

    /* What the target is to do, and what it has. */
    enum todo_t {
        COMPUTE,
        LOOK,
        LOOK_NOW_AND_THEN,
        END
    };

    struct target_state {
        std::atomic<int> ready, todo, done;
        ri_wire_rkey_t wire;
    };

    void SetUp() override
    {
        ri_config.cma = 1;
        m_target.reset(new rma_child([&] { target(); }));
        wait_for([&] { return m_state->ready == 1; });
        ASSERT_EQ(1, m_state->ready);
        m_reach = ri_reach_get(m_state->wire.plane, m_state->wire.plane_length);
        ASSERT_NE(nullptr, m_reach);
        ri_reach_open_mail(m_reach, m_state->wire.process.pid, m_state->wire.mailbox - 1);
        ASSERT_NE(nullptr, m_reach->mail.area);
    }

    void TearDown() override
    {
        ri_costs = m_costs;
        m_target.reset();
        ri_reach_put(m_reach);
    }

    void target()
    {
        auto memory = static_cast<char *>(mmap(nullptr, SIZE, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        auto memh   = reinterpret_cast<ucp_mem_h>(64);
        unsigned i;

        ri_region_add(memh, memory, SIZE);
        m_state->ready = (ri_describe(memh, 0, &m_state->wire) == UCS_OK);
        for (i = 0; m_state->todo != END; ++i) {
            if ((m_state->todo == LOOK) ||
                ((m_state->todo == LOOK_NOW_AND_THEN) && (i % 50 == 0))) {
                m_state->done += ri_serve();
            }
        }
    }

    ri_mailbox_head_t head(unsigned kind, size_t offset, size_t length,
                           size_t data_length)
    {
        ri_mailbox_head_t h = {};

        h.kind        = kind;
        h.length      = length;
        h.data_length = data_length;
        h.region      = m_state->wire.region;
        h.address     = m_state->wire.address + offset;
        return h;
    }

    ri_mail_fate_t put(size_t offset, const std::string &data)
    {
        ri_mailbox_head_t h = head(RI_SERVE_PUT, offset, data.size(), data.size());

        return ri_mail_put(m_reach, &h, data.data(), &m_taken_back);
    }

    /* In ns, at any length: parts are quick if it is much, or not. */
    static void call_takes(double time)
    {
        ri_quick_rate       = 1;
        ri_costs.plane.call = time;
        ri_costs.plane.rate = 1e9;
        ri_costs.line       = 1;
        ri_costs.line_ticks = 1;
    }

    /* @return What of it was posted. */
    size_t put_parts(size_t offset, const std::string &data)
    {
        ri_mailbox_head_t h = head(RI_SERVE_PUT, offset, 0, 0);

        return ri_mail_put_parts(m_reach, &h, data.data(), data.size(), &m_taken_back);
    }

    /* All of it, in order: as src/ucp/rma/direct.c does it. */
    void put_all(size_t offset, const std::string &data)
    {
        size_t done = put_parts(offset, data);

        ASSERT_GE(data.size(), done);
        if (done < data.size()) {
            settle();
            ASSERT_EQ(UCS_OK, ri_reach_copy(m_reach, 1, data.data() + done,
                                            m_state->wire.address + offset + done,
                                            data.size() - done));
        }
    }

    /* @return What of it is there. */
    size_t get_parts(size_t offset, std::string *data)
    {
        ri_mailbox_head_t h = head(RI_SERVE_GET, offset, 0, 0);

        return ri_mail_get_parts(m_reach, &h, &(*data)[0], data->size(), &m_taken_back);
    }

    static std::string text(rng &random, size_t length)
    {
        std::string data(length, '\0');

        for (char &c : data) {
            c = random.next();
        }
        return data;
    }

    /* By mail. */
    ri_mail_fate_t get(size_t offset, std::string *data)
    {
        ri_mailbox_head_t h = head(RI_SERVE_GET, offset, data->size(), 0);

        return ri_mail_ask(m_reach, &h, nullptr, &(*data)[0], &m_taken_back);
    }

    /* By a copy, whatever the target does. */
    std::string look(size_t offset, size_t length)
    {
        std::string data(length, '?');
        const ri_segment_t local  = {(uintptr_t)data.data(), length};
        const ri_segment_t remote = {m_state->wire.address + offset, length};
        ri_transfer_t transfer    = {};

        transfer.local      = &local;
        transfer.num_local  = 1;
        transfer.remote     = &remote;
        transfer.num_remote = 1;
        transfer.length     = length;
        EXPECT_EQ(UCS_OK, m_reach->ep->plane->ops->read(m_reach->ep, &transfer));
        return data;
    }

    void settle() { ri_mail_settle(m_reach, &m_taken_back); }

    /* Until the target has done something. */
    void until_it_looks()
    {
        int before = m_state->done;

        m_state->todo = LOOK;
        while (m_state->done == before) {
            put(SIZE - 8, "looked");
            settle();
        }
    }

    shared_by_fork<target_state> m_state;
    setting<size_t> m_longest{ri_config.ring_quick, SIZE};
    const ri_costs_t m_costs = ri_costs;
    std::unique_ptr<rma_child> m_target;
    ri_reach_t *m_reach   = nullptr;
    unsigned m_taken_back = 0;
};

TEST_F(test_mail, target_that_computes)
{
    std::string data(8, '?');

    EXPECT_TRUE(ri_mail_is_settled(m_reach));
    EXPECT_EQ(RI_MAIL_DONE, put(0, "one"));
    EXPECT_EQ(RI_MAIL_DONE, put(1, std::string(4096, 'x')));
    EXPECT_FALSE(ri_mail_is_settled(m_reach));
    settle();
    EXPECT_TRUE(ri_mail_is_settled(m_reach));
    EXPECT_EQ(2u, m_taken_back);
    EXPECT_EQ("oxxxx", look(0, 5));

    /* A get finds the puts before it done. */
    EXPECT_EQ(RI_MAIL_DONE, put(0, "two"));
    EXPECT_EQ(RI_MAIL_TAKEN_BACK, get(0, &data));
    EXPECT_EQ(3u, m_taken_back);
    EXPECT_EQ("two", look(0, 3));
    EXPECT_EQ(0, m_state->done);
    EXPECT_EQ(UCS_OK, m_reach->lost);
}

/* More than there are entries: the latest one to a place is there. */
TEST_F(test_mail, many_puts)
{
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(RI_MAIL_DONE, put(i % 3, std::to_string(100000 + i)));
        if (i == 500) {
            m_state->todo = LOOK_NOW_AND_THEN;
        }
    }
    settle();
    EXPECT_EQ("100999", look(0, 6));
    EXPECT_LE(500u, m_taken_back + m_state->done);
}

TEST_F(test_mail, target_that_looks)
{
    until_it_looks();
    for (int i = 0; i < 100; ++i) {
        std::string data = std::to_string(1000 + i), in(4, '?');

        EXPECT_EQ(RI_MAIL_DONE, put(16, data));
        if (get(16, &in) == RI_MAIL_DONE) {
            EXPECT_EQ(data, in);
        }
        EXPECT_EQ(data, look(16, 4));
    }
}

/* Whoever serves and whoever takes back: everything is done once, in its order. */
TEST_F(test_mail, random_order)
{
    for_seeds(20, [&](rng &random) {
        std::string copy(256, '\0');

        m_state->todo = COMPUTE;
        EXPECT_EQ(RI_MAIL_DONE, put(0, copy));
        settle();
        for (int i = 0; i < 300; ++i) {
            size_t length = random.range(1, 100);
            size_t offset = random.below(copy.size() - length);
            std::string data(length, 'a' + random.below(26)), in(length, '?');

            if (random.percent(10)) {
                m_state->todo = random.below(END);
            }
            if (random.percent(70)) {
                ASSERT_EQ(RI_MAIL_DONE, put(offset, data));
                copy.replace(offset, length, data);
            } else if (random.percent(50)) {
                if (get(offset, &in) == RI_MAIL_TAKEN_BACK) {
                    in = look(offset, length);
                }
                ASSERT_EQ(copy.substr(offset, length), in);
            } else {
                settle();
                ASSERT_EQ(copy, look(0, copy.size()));
            }
        }
        settle();
        ASSERT_EQ(copy, look(0, copy.size()));
    });
}

/* What goes in parts in any case. */
const size_t PARTS_MAX = 4 * RI_MAILBOX_DATA;

/* It is tried with as many parts as there are entries, and then left alone for a while. */
TEST_F(test_mail, parts_to_a_target_that_computes)
{
    rng random(1);
    const std::string data = text(random, SIZE);
    const size_t entries   = RI_MAILBOX_DEPTH * RI_MAILBOX_DATA;

    call_takes(1e12);
    for (int round = 0; round < 3; ++round) {
        unsigned left_out = 0;

        m_taken_back = 0;
        EXPECT_EQ(entries, put_parts(0, data));
        EXPECT_EQ(unsigned(RI_MAILBOX_DEPTH), m_taken_back);
        EXPECT_TRUE(ri_mail_is_settled(m_reach));
        EXPECT_TRUE(data.substr(0, entries) == look(0, entries));
        while (m_reach->absent > 0) {
            ASSERT_EQ(0u, put_parts(0, data));
            ++left_out;
        }
        EXPECT_LE(16u, left_out);
    }
    EXPECT_EQ(std::string(1, '\0'), look(entries, 1)) << "nobody has put the rest";
    EXPECT_EQ(UCS_OK, m_reach->lost);
}

TEST_F(test_mail, parts_to_a_target_that_looks)
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
TEST_F(test_mail, few_parts_to_a_target_that_computes)
{
    rng random(3);
    const std::string data = text(random, RI_MAILBOX_DATA + 1);

    EXPECT_EQ(data.size(), put_parts(5, data));
    EXPECT_EQ(0u, m_taken_back);
    settle();
    EXPECT_EQ(2u, m_taken_back);
    EXPECT_TRUE(data == look(5, data.size()));
    EXPECT_EQ(0u, put_parts(5, data));
    until_it_looks();
    EXPECT_LT(0u, put_parts(5, data));
    settle();
}

/* Nothing is there, no entry is left, and the puts before are done here. */
TEST_F(test_mail, get_parts_of_a_target_that_computes)
{
    std::string in(PARTS_MAX, '?');

    for (int round = 0; round < 3; ++round) {
        unsigned left_out = 0;

        m_taken_back = 0;
        EXPECT_EQ(RI_MAIL_DONE, put(0, "first"));
        EXPECT_EQ(RI_MAIL_DONE, put(100, "second"));
        EXPECT_EQ(0u, get_parts(0, &in));
        EXPECT_EQ(2u, m_taken_back);
        EXPECT_TRUE(ri_mail_is_settled(m_reach));
        EXPECT_EQ("first", look(0, 5));
        EXPECT_EQ("second", look(100, 6));
        while (m_reach->absent > 0) {
            ASSERT_EQ(0u, get_parts(0, &in));
            ++left_out;
        }
        EXPECT_LE(16u, left_out);
    }
    EXPECT_EQ(std::string(PARTS_MAX, '?'), in);
    until_it_looks();
    EXPECT_EQ(RI_MAIL_DONE, put(0, "third"));
    do {
        m_reach->absent = 0;
    } while (get_parts(0, &in) < in.size());
    EXPECT_EQ("third", in.substr(0, 5));
}

/* More puts than leave entries for all parts: they are over before. */
TEST_F(test_mail, get_parts_behind_puts)
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
TEST_F(test_mail, parts_to_a_far_target)
{
    rng random(4);
    const std::string data = text(random, 9 * RI_MAILBOX_DATA);
    std::string in(data.size(), '?');

    until_it_looks();
    ri_quick_rate = 0;
    EXPECT_EQ(0u, put_parts(0, data)) << "it is not known what a tick is";
    for (bool is_put : {true, false}) {
        call_takes(0);
        for (unsigned i = 0; m_reach->quick.slow < RI_QUICK_TIMES; ++i) {
            m_reach->absent = 0;
            if (is_put) {
                ASSERT_LT(0u, put_parts(0, data)) << i;
                settle();
            } else {
                get_parts(0, &in);
            }
        }
        m_reach->absent          = 0;
        m_reach->quick.passed_by = 0;
        for (unsigned i = 0; i < RI_QUICK_RETRY - 1; ++i) {
            ASSERT_EQ(0u, is_put ? put_parts(0, data) : get_parts(0, &in)) << i;
        }
        EXPECT_EQ(PARTS_MAX, put_parts(0, data.substr(0, PARTS_MAX)));
        settle();
        m_reach->absent = 0;
        EXPECT_EQ(0u, put_parts(0, data));
        EXPECT_EQ(0u, m_reach->quick.slow) << "it is tried again";
    }
}

/* A put that finds entries for all of its parts says nothing of the time that the target takes. */
TEST_F(test_mail, parts_that_are_not_waited_for_are_not_judged)
{
    rng random(7);

    until_it_looks();
    call_takes(0);
    for (unsigned i = 0; i < 2 * RI_QUICK_TIMES; ++i) {
        m_reach->absent = 0;
        ASSERT_LT(0u, put_parts(0, text(random, 5 * RI_MAILBOX_DATA)));
        settle();
    }
    EXPECT_EQ(0u, m_reach->quick.slow);
}

/* One that is refused ends the put: the parts behind it go another way. */
TEST_F(test_mail, put_parts_that_are_refused)
{
    rng random(8);
    const std::string data = text(random, SIZE);
    ri_mailbox_head_t h    = head(RI_SERVE_PUT, 0, 0, 0);
    size_t done;

    call_takes(1e12);
    until_it_looks();
    ++h.region;
    done = ri_mail_put_parts(m_reach, &h, data.data(), data.size(), &m_taken_back);
    EXPECT_LE(size_t(RI_MAILBOX_DEPTH * RI_MAILBOX_DATA), done);
    EXPECT_GE(size_t(2 * RI_MAILBOX_DEPTH * RI_MAILBOX_DATA), done + RI_MAILBOX_DATA);
    settle();
    EXPECT_TRUE(data.substr(0, done) == look(0, done));
    EXPECT_LT(0, m_reach->absent);
}

/* No longer than what a quick ring takes. */
TEST_F(test_mail, parts_have_a_greatest_length)
{
    std::string in(PARTS_MAX + 1, '?');
    setting<size_t> longest(ri_config.ring_quick, PARTS_MAX);

    call_takes(1e12);
    until_it_looks();
    EXPECT_EQ(0u, get_parts(0, &in));
    in.pop_back();
    do {
        m_reach->absent = 0;
    } while (get_parts(0, &in) < in.size());
}

/* What the target refuses ends the parts; those behind it leave no entry. */
TEST_F(test_mail, get_parts_across_the_end_of_a_region)
{
    std::string in(PARTS_MAX, '?');
    size_t done;

    until_it_looks();
    do {
        m_reach->absent = 0;
        done            = get_parts(SIZE - 2 * RI_MAILBOX_DATA, &in);
    } while (done < 2 * RI_MAILBOX_DATA);
    EXPECT_EQ(size_t(2 * RI_MAILBOX_DATA), done);
    EXPECT_TRUE(ri_mail_is_settled(m_reach));
    EXPECT_EQ(std::string(2 * RI_MAILBOX_DATA, '?'), in.substr(2 * RI_MAILBOX_DATA));
}

/* Long and short ones, whoever serves and whoever takes back: the later one is what is there. */
TEST_F(test_mail, random_lengths)
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

/* What is refused is copied, if it is a put; others are not done. */
TEST_F(test_mail, refused)
{
    ri_mailbox_head_t h = head(RI_SERVE_PUT, 8, 3, 3);
    std::string in(3, '?');

    until_it_looks();
    h.region = 12345;
    EXPECT_EQ(RI_MAIL_DONE, ri_mail_put(m_reach, &h, "put", &m_taken_back));
    settle();
    EXPECT_EQ("put", look(8, 3));
    h = head(RI_SERVE_GET, SIZE, 3, 0);
    ri_mail_fate_t fate;
    do {
        fate = ri_mail_ask(m_reach, &h, nullptr, &in[0], &m_taken_back);
    } while (fate == RI_MAIL_TAKEN_BACK);
    EXPECT_EQ(RI_MAIL_REFUSED, fate);
    EXPECT_EQ("???", in);
}

/* Another thread is at it, or there is none. */
TEST_F(test_mail, no_mail)
{
    std::string in(3, '?');

    ASSERT_TRUE(ri_reach_trylock(m_reach));
    EXPECT_EQ(RI_MAIL_REFUSED, put(0, "put"));
    EXPECT_EQ(0u, put_parts(0, std::string(10000, 'x')));
    in.resize(10000);
    EXPECT_EQ(0u, get_parts(0, &in));
    in.resize(3);
    EXPECT_EQ(RI_MAIL_TAKEN_BACK, get(0, &in));
    EXPECT_FALSE(ri_mail_is_settled(m_reach));
    ri_reach_unlock(m_reach);
    EXPECT_EQ(RI_MAIL_DONE, put(0, "put"));

    settle();

    ri_mailbox_area_t *area = m_reach->mail.area;
    m_reach->mail.area      = nullptr;
    EXPECT_EQ(RI_MAIL_REFUSED, put(0, "put"));
    EXPECT_EQ(RI_MAIL_REFUSED, get(0, &in));
    m_reach->mail.area = area;
}

/* The target is killed in the middle of an operation: nobody waits for it, and the loss is known. */
TEST_F(test_mail, killed_while_it_serves)
{
    std::string in(3, '?');

    EXPECT_EQ(RI_MAIL_DONE, put(0, "put"));
    uint32_t number = m_reach->oldest;
    ri_mailbox_tx_entry(&m_reach->mail, number)->state =
            RI_MAILBOX_WORD(number, RI_MAILBOX_SERVING);
    m_target->end(SIGKILL);
    m_reach->proved = 0;
    settle();
    EXPECT_TRUE(ri_mail_is_settled(m_reach));
    EXPECT_NE(UCS_OK, m_reach->lost);
    EXPECT_EQ(RI_MAIL_TAKEN_BACK, get(0, &in));
}

} // namespace
