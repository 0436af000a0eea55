/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/select_why.c: what is said of a choice is true, and fits the tables of
 * ucxri_info --protocols. */

#include "select_param.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace {

struct reason {
    unsigned what;
    size_t length;
    const char *name, *why;
};

const reason REASONS[] = {
        {SELF, 10, "self", "it is to the own process"},
        {RING | READY, 10, "ring", "it is up to EAGER_THRESH"},
        {CHANNEL | READY, 10, "channel", "it is up to IB_EAGER_MAX"},
        {READY, 10, "am", "it is short, and there is no ring"},
        {READY, EAGER_THRESH, "am", "it is short, and there is no ring"},
        {RING | READY, RING_MAX + 1, "am", "it is too long for the pair's ring"},
        {HELLO, EAGER_THRESH, "am", "UCX has not set its connection up"},
        {FULL, HYBRID_THRESH, "hybrid", "no receive is known, the sender goes on"},
        {FULL, HYBRID_THRESH + 1, "get", "it is longer than HYBRID_THRESH"},
        {FULL | AWAITED, HYBRID_THRESH, "get", "the receiver waits, a copy costs time"},
        {FULL | AWAITED, HYBRID_THRESH + 1, "get", "it is longer than HYBRID_THRESH"},
        {FULL | EXPECTED, HYBRID_THRESH, "get", "the receiver waits, a copy costs time"},
        {BOTH | COOP, HYBRID_THRESH, "get", "the pool is full"},
        {FULL | SYNC, HYBRID_THRESH, "get", "a synchronous send ends when matched"},
        {FULL | EARLY, HYBRID_THRESH, "rtr", "it has an RTR"},
        {FULL, COOP_THRESH, "coop", "two copy faster than one"},
        {FULL | EARLY, COOP_THRESH, "coop", "the sender begins, two are faster"},
        {FULL | PUT, HYBRID_THRESH + 1, "put", "SENDER_SCHEME is put"},
        {WRITE | PIECES, LARGE, "put", "the receiver cannot read"},
        {NET | PIECES | NET_EARLY, LARGE, "rtr", "it has an RTR"},
        {NET | PIECES | POOL | NET_EARLY, HYBRID_NET, "rtr",
         "it has an RTR, and the sender goes on"},
        {NET | PIECES | POOL, HYBRID_NET, "hybrid",
         "no receive is known, the sender goes on"},
        {NET | PIECES | POOL, LARGE, "get", "it is longer than HYBRID_THRESH"},
        {UD | PIECES | NET_EARLY, LARGE, "rtr", "it has an RTR"},
        {UD | PIECES, LARGE, "put", "no receive is known: it is matched first"},
        {READY, LARGE, "ucp", "there is no direct copy, and no RDMA"},
        {PLANE | DEVICE, LARGE, "ucp", "its memory is not the processor's"},
        {PLANE | PEER, LARGE, "ucp", "of error handling mode PEER"},
        {(BOTH | COOP) & ~PIECES, LARGE, "ucp", "only UCX moves data in such pieces"},
};

TEST(test_select_why, reasons)
{
    ri_config.rtr = UCS_AUTO;
    for (const reason &r : REASONS) {
        ri_select_param_t param = make_param(r.what, r.length);
        ri_choice_t choice      = ri_select(&param);

        EXPECT_STREQ(r.name, ri_select_why_name(choice.proto))
                << r.what << " " << r.length;
        EXPECT_STREQ(r.why, ri_select_why(&param, choice)) << r.what << " " << r.length;
    }
}

/* Why no receive is known */
TEST(test_select_why, nothing_is_offered)
{
    ri_select_param_t param = make_param(FULL, HYBRID_THRESH);

    ri_config.rtr = UCS_NO;
    EXPECT_STREQ("RTR is n, and the sender goes on",
                 ri_select_why(&param, ri_select(&param)));
    ri_config.rtr  = UCS_AUTO;
    param.has_ring = 0;
    EXPECT_STREQ("no ring for RTRs, the sender goes on",
                 ri_select_why(&param, ri_select(&param)));
}

/* Several messages */
TEST(test_select_why, who_copies_of_several)
{
    ri_select_param_t param = make_param(FULL | AWAITED, COOP_THRESH);

    param.in_row = 1;
    EXPECT_STREQ("one of several, each side copies whole ones",
                 ri_select_why(&param, ri_select(&param)));
    param.exchanges = param.alone = 1;
    EXPECT_STREQ("both send at once, the first copies",
                 ri_select_why(&param, ri_select(&param)));
}

TEST(test_select_why, ring_above_the_threshold)
{
    ri_select_param_t param = make_param(RING | READY, EAGER_THRESH + 1);

    param.ring_takes = 1;
    EXPECT_STREQ("two copies beat a system call",
                 ri_select_why(&param, ri_select(&param)));
    param.contig = 0;
    EXPECT_STREQ("two copies beat a call per run",
                 ri_select_why(&param, ri_select(&param)));
}

/* Whatever the facts are, there are words, and they are short enough for a line of 100 columns. */
TEST(test_select_why, all_facts_have_words)
{
    const size_t lengths[] = {
            0,           RING_MAX + 1, EAGER_THRESH + 1, HYBRID_THRESH, HYBRID_THRESH + 1,
            COOP_THRESH, LARGE};
    std::set<ri_proto_t> seen;
    uint64_t random = 1;

    for (unsigned i = 0; i < 200000; ++i) {
        random                  = random * 6364136223846793005ul + 1442695040888963407ul;
        unsigned what           = (random >> 33) & ((EVERY << 1) - 1);
        ri_select_param_t param = make_param(what, lengths[(random >> 28) % 7]);
        ri_choice_t choice      = ri_select(&param);

        seen.insert(choice.proto);
        ASSERT_NE(nullptr, ri_select_why_name(choice.proto));
        ASSERT_GE(7u, strlen(ri_select_why_name(choice.proto)));
        ASSERT_GE(35u, strlen(ri_select_why_mover(choice)))
                << ri_select_why_mover(choice);
        ASSERT_GE(40u, strlen(ri_select_why(&param, choice)));
        ASSERT_LT(0u, strlen(ri_select_why(&param, choice)));
    }
    EXPECT_LT(15u, seen.size());
}

} // namespace
