/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/rma/mail.h: small operations, and when they are withdrawn. The tests run src/ucs/base.h,
 * too.
 */

#include "mail_target_test.h"

namespace {

class test_mail : public mail_target_test {};

TEST_F(test_mail, target_that_computes)
{
    std::string data(8, '?');

    EXPECT_TRUE(ri_mail_is_settled(m_reach));
    EXPECT_EQ(RI_MAIL_DONE, put(0, "one"));
    EXPECT_EQ(RI_MAIL_DONE, put(1, std::string(4096, 'x')));
    EXPECT_FALSE(ri_mail_is_settled(m_reach));
    settle();
    EXPECT_TRUE(ri_mail_is_settled(m_reach));
    EXPECT_EQ(2u, m_withdrawn);
    EXPECT_EQ("oxxxx", look(0, 5));

    /* A get finds the puts before it done. */
    EXPECT_EQ(RI_MAIL_DONE, put(0, "two"));
    EXPECT_EQ(RI_MAIL_WITHDRAWN, get(0, &data));
    EXPECT_EQ(3u, m_withdrawn);
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
    EXPECT_LE(500u, m_withdrawn + m_state->done);
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

/* Whoever serves and whoever withdraws: everything is done once, in its order. */
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
                if (get(offset, &in) == RI_MAIL_WITHDRAWN) {
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

/* What is refused is copied, if it is a put; others are not done. */
TEST_F(test_mail, refused)
{
    ri_mailbox_head_t h = head(RI_SERVE_PUT, 8, 3, 3);
    std::string in(3, '?');

    until_it_looks();
    h.region = 12345;
    EXPECT_EQ(RI_MAIL_DONE, ri_mail_put(m_reach, &h, "put", &m_withdrawn));
    settle();
    EXPECT_EQ("put", look(8, 3));
    h = head(RI_SERVE_GET, SIZE, 3, 0);
    ri_mail_fate_t fate;
    do {
        fate = ri_mail_ask(m_reach, &h, nullptr, &in[0], &m_withdrawn);
    } while (fate == RI_MAIL_WITHDRAWN);
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
    EXPECT_EQ(RI_MAIL_WITHDRAWN, get(0, &in));
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
    EXPECT_EQ(RI_MAIL_WITHDRAWN, get(0, &in));
}

} // namespace
