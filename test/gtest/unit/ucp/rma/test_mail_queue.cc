/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/rma/mail_queue.h: puts that only their target can do, which are posted once more. */

#include "mail_target_test.h"

#include <thread>

namespace {

class test_mail_queue : public mail_target_test {
protected:
    void SetUp() override
    {
        mail_target_test::SetUp();
        m_state->todo = PROTECT;
        wait_for([&] { return m_state->protects == 1; });
    }

    uint32_t rung() { return *m_reach->mail.doorbell; }

    /* Another thread of this process does something that waits for the target (@a waits). As soon
     * as @a posted operations were posted in all, do the rest. */
    void meanwhile(const std::function<void()> &waits, uint32_t posted,
                   const std::function<void()> &rest)
    {
        std::thread thread(waits);

        wait_for([&] { return rung() == posted; });
        EXPECT_EQ(posted, rung());
        rest();
        thread.join();
    }

    void target_looks() { m_state->todo = LOOK; }

    /* What was put is settled, and the target dies when one put was posted once more. */
    void expect_death()
    {
        meanwhile([&] { settle(); }, rung() + 1,
                  [&] {
                      m_target->end(SIGKILL);
                      m_reach->proved = 0;
                  });
        EXPECT_EQ(UCS_ERR_UNREACHABLE, m_reach->lost);
        EXPECT_TRUE(ri_mail_is_settled(m_reach));
    }

    void expect_left()
    {
        EXPECT_TRUE(m_reach->stock_only);
        EXPECT_TRUE(ri_reach_is_out(m_reach));
        EXPECT_TRUE(ri_mail_is_settled(m_reach));
    }

    /* The mailbox can be used on. */
    void expect_usable()
    {
        std::string in(3, '?');

        target_looks();
        EXPECT_EQ(RI_MAIL_DONE, put(2 * PAGE, "end"));
        settle();
        EXPECT_EQ("end", look(2 * PAGE, 3));
        while (get(2 * PAGE, &in) == RI_MAIL_WITHDRAWN) {}
        EXPECT_EQ("end", in);
        EXPECT_TRUE(ri_mail_is_settled(m_reach));
    }
};

TEST_F(test_mail_queue, target_mends)
{
    EXPECT_EQ(RI_MAIL_DONE, put(PAGE, "first"));
    EXPECT_EQ(RI_MAIL_DONE, put(0, "protected"));
    EXPECT_EQ(RI_MAIL_DONE, put(PAGE, "behind"));
    EXPECT_EQ(RI_MAIL_DONE, put(0, "PRO"));
    meanwhile([&] { settle(); }, rung() + 1, [&] { target_looks(); });
    EXPECT_EQ("behind", look(PAGE, 6));
    EXPECT_EQ("PROtected", look(0, 9));
    EXPECT_EQ(1, m_state->mended);
    EXPECT_EQ(UCS_OK, m_reach->lost);
    EXPECT_EQ(4u, m_withdrawn);
    expect_left();
    expect_usable();
}

/* All entries are taken, so each is posted into its own once more. */
TEST_F(test_mail_queue, full_queue)
{
    for (unsigned i = 0; i < RI_MAILBOX_DEPTH; ++i) {
        EXPECT_EQ(RI_MAIL_DONE, put(7 * i, std::string(1000, 'a' + i)));
    }
    meanwhile([&] { put(PAGE, "one more"); }, rung() + 1, [&] { target_looks(); });
    settle();
    for (unsigned i = 0; i < RI_MAILBOX_DEPTH; ++i) {
        EXPECT_EQ(std::string(7, 'a' + i), look(7 * i, 7));
    }
    EXPECT_EQ("one more", look(PAGE, 8));
    EXPECT_EQ(UCS_OK, m_reach->lost);
    expect_left();
    expect_usable();
}

/* An operation with a result was posted behind the puts. */
TEST_F(test_mail_queue, get_behind)
{
    std::string in(9, '?');

    EXPECT_EQ(RI_MAIL_DONE, put(0, "protected"));
    meanwhile([&] { EXPECT_EQ(RI_MAIL_WITHDRAWN, get(0, &in)); }, rung() + 2,
              [&] { target_looks(); });
    EXPECT_EQ("protected", look(0, 9));
    EXPECT_EQ("?????????", in);
    expect_left();
    expect_usable();
}

TEST_F(test_mail_queue, get_in_parts_behind)
{
    std::string in(3 * PAGE, '?');

    EXPECT_EQ(RI_MAIL_DONE, put(0, "protected"));
    meanwhile([&] { EXPECT_EQ(0u, get_parts(0, &in)); }, rung() + 1,
              [&] { target_looks(); });
    EXPECT_EQ("protected", look(0, 9));
    EXPECT_EQ(std::string(3 * PAGE, '?'), in);
    expect_left();
    expect_usable();
}

/* The rest of a put in parts is left to UCX. */
TEST_F(test_mail_queue, put_in_parts)
{
    const std::string data(SIZE, 'p');
    size_t done = 0;

    call_takes(1e12);
    meanwhile([&] { done = put_parts(0, data); }, rung() + RI_MAILBOX_DEPTH + 1,
              [&] { target_looks(); });
    settle();
    EXPECT_EQ(RI_MAILBOX_DEPTH * RI_MAILBOX_DATA, done);
    EXPECT_TRUE(data.substr(0, done) == look(0, done));
    expect_left();
    expect_usable();
}

TEST_F(test_mail_queue, target_dies)
{
    EXPECT_EQ(RI_MAIL_DONE, put(0, "protected"));
    EXPECT_EQ(RI_MAIL_DONE, put(PAGE, "behind"));
    expect_death();
}

/* There is one put only: its own failure does not say that the target is gone. */
TEST_F(test_mail_queue, target_dies_behind_one_put)
{
    EXPECT_EQ(RI_MAIL_DONE, put(0, "protected"));
    expect_death();
}

/* It has begun with an operation that is to be withdrawn, and never ends it. */
TEST_F(test_mail_queue, target_dies_at_one)
{
    ri_mailbox_entry_t *entry = ri_mailbox_tx_entry(&m_reach->mail, m_reach->mail.next);

    entry->state = RI_MAILBOX_SERVING;
    m_target->end(SIGKILL);
    ri_mail_queue_withdraw(m_reach, m_reach->mail.next);
    EXPECT_EQ(RI_MAILBOX_SERVING, entry->state);
    entry->state = RI_MAILBOX_FREE;
}

/* It may wait for this process itself. */
TEST_F(test_mail_queue, target_does_not_come)
{
    setting<double> patience{ri_mail_queue_patience, 0.01};

    EXPECT_EQ(RI_MAIL_DONE, put(0, "protected"));
    EXPECT_EQ(RI_MAIL_DONE, put(PAGE, "behind"));
    EXPECT_EQ(RI_MAIL_DONE, put(0, "also"));
    settle();
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, m_reach->lost);
    EXPECT_EQ(std::string(4, '\0'), look(0, 4));
    EXPECT_EQ("behind", look(PAGE, 6));
    EXPECT_TRUE(ri_mail_is_settled(m_reach));
    target_looks();
    EXPECT_EQ(RI_MAIL_DONE, put(PAGE, "end"));
    settle();
    EXPECT_EQ(std::string(4, '\0'), look(0, 4)) << "it was withdrawn for good";
    EXPECT_EQ(0, m_state->mended);
}

/* There is no memory: the target is not asked to write there. */
TEST_F(test_mail_queue, no_memory_at_the_target)
{
    ri_mailbox_head_t h = head(RI_SERVE_PUT, 0, 3, 3);
    uint32_t posted     = rung() + 1;

    h.address = PAGE; /* which nobody has */
    EXPECT_EQ(RI_MAIL_DONE, ri_mail_put(m_reach, &h, "put", &m_withdrawn));
    settle();
    EXPECT_EQ(posted, rung());
    EXPECT_NE(UCS_OK, m_reach->lost);
    EXPECT_FALSE(m_reach->stock_only);
    EXPECT_TRUE(ri_mail_is_settled(m_reach));
}

/* The target does not take it either: its region is not there. That is not a target that is
 * gone. */
TEST_F(test_mail_queue, target_refuses)
{
    ri_mailbox_head_t h = head(RI_SERVE_PUT, 0, 3, 3);

    ++h.region;
    EXPECT_EQ(RI_MAIL_DONE, ri_mail_put(m_reach, &h, "put", &m_withdrawn));
    meanwhile([&] { settle(); }, rung() + 1, [&] { target_looks(); });
    EXPECT_NE(UCS_OK, m_reach->lost);
    EXPECT_NE(UCS_ERR_UNREACHABLE, m_reach->lost);
    EXPECT_EQ(0, m_state->mended);
    EXPECT_EQ(std::string(3, '\0'), look(0, 3));
    EXPECT_TRUE(ri_mail_is_settled(m_reach));
}

/* Random puts to memory of both kinds: in the end there is what was put last. */
TEST_F(test_mail_queue, random_order)
{
    for_seeds(10, [&](rng &random) {
        std::string model(2 * PAGE, '\0');
        std::atomic<bool> is_over{false};
        std::thread sometimes([&] {
            while (!is_over) {
                const int done = m_state->done, protects = m_state->protects;

                m_state->todo = LOOK_NOW_AND_THEN;
                wait_for([&] { return is_over || (m_state->done != done); });
                m_state->todo = PROTECT;
                wait_for([&] { return m_state->protects != protects; });
            }
            m_state->todo = LOOK;
        });

        model = look(0, model.size());
        for (unsigned i = 0; i < 300; ++i) {
            const std::string data = text(random, random.range(1, 200));
            const size_t offset    = random.below(model.size() - data.size());

            ASSERT_EQ(RI_MAIL_DONE, put(offset, data));
            model.replace(offset, data.size(), data);
            if (random.below(10) == 0) {
                settle();
                ASSERT_TRUE(model == look(0, model.size())) << i;
            }
        }
        is_over = true;
        sometimes.join();
        settle();
        ASSERT_TRUE(model == look(0, model.size()));
        ASSERT_EQ(UCS_OK, m_reach->lost);
    });
}

} // namespace
