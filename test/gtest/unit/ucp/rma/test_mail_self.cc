/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/mail.[hc]: a process that asks itself, and serves itself while it waits. */

#include "mail_test.h"
#include "unit/common/rng.h"

#include <memory>
#include <sched.h>
#include <thread>
#include <vector>

namespace {

class test_mail_self : public mail_test {};

/* Another thread has locked the regions, as long as this lives: nobody serves. */
class nobody_serves {
public:
    nobody_serves()
    {
        m_thread = std::thread([this] {
            ri_region_lock();
            m_step = 1;
            while (m_step == 1) {
                sched_yield();
            }
            ri_region_unlock();
        });
        while (m_step == 0) {
            sched_yield();
        }
    }

    ~nobody_serves()
    {
        m_step = 2;
        m_thread.join();
    }

private:
    std::atomic<int> m_step{0};
    std::thread m_thread;
};

TEST_F(test_mail_self, ask)
{
    uint64_t old = 77;

    m_words[0] = 5;
    EXPECT_EQ(RI_MAIL_DONE, add(3, &old));
    EXPECT_EQ(5u, old);
    EXPECT_EQ(8u, m_words[0]);
    EXPECT_EQ(RI_MAIL_DONE, add(3, nullptr)) << "the result is not wanted";
    EXPECT_EQ(11u, m_words[0]);
    for (size_t length : {1ul, 8ul, 96ul, 97ul, 4096ul}) {
        std::string data(length, '.');

        for (size_t i = 0; i < length; ++i) {
            text()[i] = 'a' + (i + length) % 26;
        }
        EXPECT_EQ(RI_MAIL_DONE, get(m_words, &data));
        EXPECT_EQ(std::string(text(), length), data);
    }
    expect_withdrawn(0);
    EXPECT_TRUE(ri_mail_is_settled(m_way));
}

/* All numbers of operations */
TEST_F(test_mail_self, ask_often)
{
    for (uint64_t i = 0; i < 600; ++i) {
        uint64_t old = 0;

        ASSERT_EQ(RI_MAIL_DONE, add(1, &old));
        ASSERT_EQ(i, old);
    }
}

TEST_F(test_mail_self, ask_while_nobody_serves)
{
    uint64_t old = 77;

    {
        nobody_serves locked;

        EXPECT_EQ(RI_MAIL_WITHDRAWN, add(3, &old));
        EXPECT_EQ(RI_MAIL_WITHDRAWN, add(3, &old));
    }
    EXPECT_EQ(77u, old);
    EXPECT_EQ(0u, ri_serve());
    EXPECT_EQ(0u, m_words[0]) << "nothing was done";
    EXPECT_EQ(RI_MAIL_DONE, add(3, &old));
    EXPECT_EQ(0u, old);
    expect_withdrawn(0);
}

TEST_F(test_mail_self, without_a_mailbox)
{
    ri_reach_t none         = {};
    ri_mailbox_head_t asked = head(RI_SERVE_GET, m_words, 8, 0);
    uint64_t result         = 77;

    EXPECT_EQ(RI_MAIL_REFUSED,
              ri_mail_ask(&none, &asked, nullptr, &result, &m_withdrawn));
    asked = head(RI_SERVE_PUT, m_words, 8, 8);
    EXPECT_EQ(RI_MAIL_REFUSED, ri_mail_put(&none, &asked, &result, &m_withdrawn));
    EXPECT_EQ(77u, result);
    EXPECT_EQ(0, none.mailing.load());
    expect_withdrawn(0);
}

/* Who would have to wait for another thread does it in another way. */
TEST_F(test_mail_self, another_thread_is_at_it)
{
    std::string data(8, '.');

    m_way->mailing = 1;
    EXPECT_EQ(RI_MAIL_WITHDRAWN, get(m_words, &data));
    EXPECT_EQ(RI_MAIL_REFUSED, put(m_words, "data"));
    EXPECT_FALSE(ri_mail_is_settled(m_way));
    EXPECT_EQ(1, m_way->mailing.load());
    m_way->mailing = 0;
    EXPECT_EQ(RI_MAIL_DONE, get(m_words, &data));
    EXPECT_EQ(0, m_way->mailing.load());
    EXPECT_TRUE(ri_mail_is_settled(m_way));
}

TEST_F(test_mail_self, refused_by_the_target)
{
    ri_mailbox_head_t asked = head(RI_SERVE_GET, m_words, 8, 0);
    uint64_t result         = 77;

    asked.region = 0;
    for (unsigned i = 0; i < 20; ++i) {
        EXPECT_EQ(RI_MAIL_REFUSED, ask(asked, nullptr, &result));
    }
    EXPECT_EQ(77u, result);
    EXPECT_EQ(RI_MAIL_DONE, add(3, &result));
    EXPECT_EQ(0u, result);
    expect_withdrawn(0);
}

TEST_F(test_mail_self, put)
{
    EXPECT_TRUE(ri_mail_is_settled(m_way));
    EXPECT_EQ(RI_MAIL_DONE, put(m_words, "put"));
    EXPECT_FALSE(ri_mail_is_settled(m_way));
    EXPECT_STREQ("", text()) << "nobody has looked";
    EXPECT_EQ(1u, ri_serve());
    EXPECT_STREQ("put", text());
    EXPECT_TRUE(ri_mail_is_settled(m_way));
    expect_withdrawn(0);
}

TEST_F(test_mail_self, put_and_settle)
{
    for (unsigned count = 0; count <= 2 * RI_MAILBOX_DEPTH; ++count) {
        memset(m_words, 0, sizeof(m_words));
        for (unsigned i = 0; i < count; ++i) {
            EXPECT_EQ(RI_MAIL_DONE, put(&m_words[i], std::string(8, 'a' + i)));
        }
        ri_mail_settle(m_way, &m_withdrawn);
        EXPECT_TRUE(ri_mail_is_settled(m_way));
        for (unsigned i = 0; i < count; ++i) {
            EXPECT_EQ(std::string(8, 'a' + i), std::string((char *)&m_words[i], 8));
        }
        EXPECT_EQ(0u, m_words[count]);
        expect_withdrawn(0);
    }
}

/* Of more than there are entries, the first ones make way. */
TEST_F(test_mail_self, puts_that_are_not_looked_at)
{
    const unsigned count = RI_MAILBOX_DEPTH + 3;

    {
        nobody_serves locked;

        for (unsigned i = 0; i < count; ++i) {
            EXPECT_EQ(RI_MAIL_DONE,
                      put(&m_words[i / 2],
                          (i % 2) ? std::string(8, 'a' + i) : std::string(4, 'A' + i)));
        }
        EXPECT_EQ((unsigned)RI_MAILBOX_DEPTH, m_withdrawn);
        ri_mail_settle(m_way, &m_withdrawn);
    }
    EXPECT_TRUE(ri_mail_is_settled(m_way));
    EXPECT_EQ(0u, ri_serve());
    /* Each is there, in order */
    for (unsigned i = 1; i < count; i += 2) {
        EXPECT_EQ(std::string(8, 'a' + i), std::string((char *)&m_words[i / 2], 8));
    }
    expect_withdrawn(count);
}

TEST_F(test_mail_self, long_puts_that_are_not_looked_at)
{
    const std::string first(96, 'f'), second(97, 's'), third(4096, 't');

    {
        nobody_serves locked;

        EXPECT_EQ(RI_MAIL_DONE, put(text(), first));
        EXPECT_EQ(RI_MAIL_DONE, put(text() + 100, second));
        EXPECT_EQ(RI_MAIL_DONE, put(text() + 200, third));
        ri_mail_settle(m_way, &m_withdrawn);
    }
    EXPECT_EQ(first, std::string(text(), 96));
    EXPECT_EQ(second, std::string(text() + 100, 97));
    EXPECT_EQ(third, std::string(text() + 200, 4096));
    EXPECT_EQ(0, text()[4296]);
    expect_withdrawn(3);
}

/* What the target may write into the entry does not say where the origin copies to. */
TEST_F(test_mail_self, hostile_target)
{
    {
        nobody_serves locked;

        EXPECT_EQ(RI_MAIL_DONE, put(&m_words[1], "12345678"));
        ri_mailbox_entry_t *entry = ri_mailbox_tx_entry(&m_way->mail, m_way->oldest);
        entry->head.address += 64;
        entry->head.length      = 4096;
        entry->head.data_length = 4096;
        ri_mail_settle(m_way, &m_withdrawn);
    }
    EXPECT_EQ(0, memcmp("12345678", &m_words[1], 8));
    for (unsigned i = 2; i < 1024; ++i) {
        ASSERT_EQ(0u, m_words[i]) << i;
    }
    expect_withdrawn(1);
}

/* A target that writes what has no meaning is not waited for. */
TEST_F(test_mail_self, answers_of_no_meaning)
{
    uint32_t number = m_way->mail.next;

    for (uint32_t word : {0u, 77u, ~0u, RI_MAILBOX_WORD(number + 800, RI_MAILBOX_POSTED),
                          RI_MAILBOX_WORD(number + 800, RI_MAILBOX_SERVING)}) {
        nobody_serves locked;

        EXPECT_EQ(RI_MAIL_DONE, put(&m_words[1], "12345678"));
        EXPECT_EQ(RI_MAIL_DONE, put(&m_words[2], "abcdefgh"));
        ri_mailbox_tx_entry(&m_way->mail, m_way->oldest)->state     = word;
        ri_mailbox_tx_entry(&m_way->mail, m_way->oldest + 1)->state = word;
        ri_mail_settle(m_way, &m_withdrawn);
        EXPECT_EQ(0, memcmp("12345678abcdefgh", &m_words[1], 16));
        memset(m_words, 0, sizeof(m_words));
    }
    expect_withdrawn(0);
}

/* A get, or an atomic operation, finds what was put before. */
TEST_F(test_mail_self, ask_behind_puts)
{
    uint64_t value = 40, old = 0;
    std::string data(8, '.');

    for (unsigned i = 0; i < 20; ++i) {
        EXPECT_EQ(RI_MAIL_DONE, put(m_words, std::string((char *)&value, 8)));
        EXPECT_EQ(RI_MAIL_DONE, put(&m_words[1], std::string(8, 'a' + i)));
        EXPECT_EQ(RI_MAIL_DONE, add(2, &old));
        EXPECT_EQ(value, old);
        EXPECT_EQ(RI_MAIL_DONE, get(&m_words[1], &data));
        EXPECT_EQ(std::string(8, 'a' + i), data);
        EXPECT_TRUE(ri_mail_is_settled(m_way));
        value = old + 2;
    }
    expect_withdrawn(0);
}

/* It is withdrawn, and the puts before it are done here. */
TEST_F(test_mail_self, ask_behind_puts_that_are_not_looked_at)
{
    uint64_t old = 77;

    {
        nobody_serves locked;

        EXPECT_EQ(RI_MAIL_DONE, put(&m_words[1], "12345678"));
        EXPECT_EQ(RI_MAIL_DONE, put(&m_words[2], "abcdefgh"));
        EXPECT_EQ(RI_MAIL_WITHDRAWN, add(2, &old));
    }
    EXPECT_EQ(0, memcmp("12345678abcdefgh", &m_words[1], 16));
    EXPECT_EQ(0u, m_words[0]);
    EXPECT_EQ(77u, old);
    EXPECT_TRUE(ri_mail_is_settled(m_way));
    expect_withdrawn(2);
}

/* A put that the target refuses is tried by the plane; what cannot be done so is lost. */
TEST_F(test_mail_self, lost_puts)
{
    EXPECT_EQ(RI_MAIL_DONE, put(&m_words[1], "before  "));
    EXPECT_EQ(RI_MAIL_DONE, put((void *)8, "nowhere "));
    EXPECT_EQ(RI_MAIL_DONE, put(&m_words[2], "behind  "));
    EXPECT_EQ(3u, ri_serve());
    EXPECT_FALSE(ri_mail_is_settled(m_way)) << "somebody has to be told";
    EXPECT_EQ(UCS_OK, m_way->lost);
    ri_mail_settle(m_way, &m_withdrawn);
    EXPECT_NE(UCS_OK, m_way->lost);
    EXPECT_TRUE(ri_mail_lost);
    EXPECT_EQ(0u, m_withdrawn);
    EXPECT_EQ(0, memcmp("before  behind  ", &m_words[1], 16));
    EXPECT_TRUE(ri_mail_is_settled(m_way));
}

/* The region may have gone, and its memory be there. */
TEST_F(test_mail_self, refused_puts)
{
    ri_mailbox_head_t asked = head(RI_SERVE_PUT, &m_words[1], 8, 8);

    asked.region = 0;
    EXPECT_EQ(RI_MAIL_DONE, ri_mail_put(m_way, &asked, "12345678", &m_withdrawn));
    EXPECT_EQ(1u, ri_serve());
    EXPECT_EQ(0u, m_words[1]);
    ri_mail_settle(m_way, &m_withdrawn);
    EXPECT_EQ(0, memcmp("12345678", &m_words[1], 8)) << "by the plane";
    expect_withdrawn(0);
}

/* Threads that ask, and threads that serve: each operation is done once or not at all. */
TEST_F(test_mail_self, threads)
{
    std::vector<std::thread> threads;
    std::atomic<bool> stop(false);
    std::atomic<unsigned> done(0);

    std::thread server([&stop] {
        while (!stop) {
            if (ri_serve() == 0) {
                sched_yield();
            }
        }
    });
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            ri_mailbox_head_t asked = head(RI_SERVE_ADD, m_words, 8, 8);
            unsigned sum            = 0;
            uint64_t one            = 1, old;

            for (unsigned i = 0; i < 3000; ++i) {
                done += (ri_mail_ask(m_way, &asked, &one, &old, &sum) == RI_MAIL_DONE);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    stop = true;
    server.join();
    EXPECT_EQ(done, m_words[0]);
    EXPECT_GT(done, 0u);
}

/* Puts and atomic operations against a model, now and then with nobody who looks. */
TEST_F(test_mail_self, random)
{
    for_seeds(5, [&](rng &random) {
        std::vector<uint64_t> model(32);

        memset(m_words, 0, sizeof(m_words));
        for (unsigned round = 0; round < 40; ++round) {
            std::unique_ptr<nobody_serves> locked(random.percent(40) ? new nobody_serves :
                                                                       nullptr);

            for (unsigned i = random.below(30); i > 0; --i) {
                unsigned at    = random.below(model.size());
                uint64_t value = random.next(), old = 0;
                ri_mailbox_head_t asked = head(RI_SERVE_ADD, &m_words[at], 8, 8);

                if (random.percent(70)) {
                    ASSERT_EQ(RI_MAIL_DONE,
                              put(&m_words[at], std::string((char *)&value, 8)));
                    model[at] = value;
                } else if (ask(asked, &value, &old) == RI_MAIL_DONE) {
                    ASSERT_EQ(model[at], old);
                    model[at] += value;
                } else {
                    ASSERT_TRUE(locked != nullptr);
                }
                if (random.percent(10)) {
                    locked.reset();
                    ri_serve();
                }
            }
            ri_mail_settle(m_way, &m_withdrawn);
            ASSERT_EQ(0, memcmp(model.data(), m_words, model.size() * 8));
        }
        EXPECT_EQ(UCS_OK, m_way->lost);
    });
}

} // namespace
