/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The generations of RTRs by message, in jobs that send billions of them: what is an old one.
 * (docs/protocol.md section 8; src/ucp/proto/rtr/rtr_net.c, rtr_table.c)
 */

#include "rtr_net_test.h"

extern "C" {
#include "ucp/proto/rtr/rtr_entries.h"
}

namespace {

class test_rtr_numbers : public rtr_net_test {
protected:
    /* The generation of the RTR of a receive, as the sender is told */
    uint32_t generation(const recv_ptr &r)
    {
        ri_wire_rtr_msg_t msg;

        for (const packet &p : m_ba->sent) {
            if (p.data.size() == sizeof(msg)) {
                memcpy(&msg, p.data.data(), sizeof(msg));
                if ((msg.base.type == RI_WIRE_RTR) && (msg.base.value == req(r)->id)) {
                    return msg.generation;
                }
            }
        }
        ADD_FAILURE() << "no RTR";
        return 0;
    }

    void message(const recv_ptr &r)
    {
        send_ptr s = send();

        pump();
        check(r, s);
        check_sent(s);
    }
};

/* The sender takes an RTR for an old one whose generation is not above the latest of its entry.
 * So an entry that others are used instead of for long, as they are free first, must not fall
 * behind: after 2^31 RTRs it would be of no use. */
TEST_F(test_rtr_numbers, slot_that_is_seldom_used)
{
    recv_ptr first = post(), second = post();
    uint32_t seldom = generation(second);

    ASSERT_NE(req(first)->rtr.index, req(second)->rtr.index);
    deliver();
    message(first);
    message(second);

    for (unsigned i = 0; i < 5; ++i) {
        recv_ptr r    = post();
        uint32_t last = generation(r);

        deliver();
        message(r);
        r = post();
        EXPECT_EQ(last + 1, generation(r));
        deliver();
        message(r);
    }

    first  = post();
    second = post();
    EXPECT_EQ(seldom + 1, generation(second));
    deliver();
    EXPECT_EQ(2u, waiting());
    message(first);
    message(second);
    EXPECT_EQ(0u, m_a->counters().rx_stale);
}

/* They wrap. */
TEST_F(test_rtr_numbers, generations_wrap)
{
    for (uint32_t before : {0x80000000u, 0u}) { /* and 0 is one as others are */
        for (uint32_t i = 0; i < RI_WIRE_RTR_ENTRIES; ++i) {
            stream()->peer->rtr.entries->entry[i].generation = before - 4;
            m_conn->rtr.words->word[i].word                  = ri_grant_word(before - 4,
                                                                             RI_RING_GRANT_FREE);
        }
        for (unsigned i = 0; i < 8; ++i) {
            recv_ptr r = post(), r2 = post();
            recv_ptr back = post();

            EXPECT_EQ(before - 3 + i, generation(r));
            deliver();
            EXPECT_EQ(3u, waiting());
            m_b->cancel(back);
            pump();
            check_canceled(back);
            EXPECT_EQ(2u, waiting());
            message(r);
            message(r2);
        }
    }
    EXPECT_EQ(0u, m_a->counters().rx_stale + m_b->counters().rx_stale);
    EXPECT_EQ(0u, malformed());
}

} // namespace
