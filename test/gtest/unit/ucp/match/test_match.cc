/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/match/match.c: the oldest that fits, and what overlaps.
 */

#include "match_test.h"

namespace {

class test_match : public match_test {};

TEST_F(test_match, init_is_empty)
{
    EXPECT_EQ(nullptr, ri_match_find_posted(&m_match, 1));
    EXPECT_EQ(nullptr, ri_match_find_unexpected(&m_match, 1, 0, 1));
    check_counts();
}

TEST_F(test_match, find_unexpected_takes_the_oldest_that_fits)
{
    arrive(0x11);
    arrive(0x21);
    arrive(0x12);
    arrive(0x11);
    EXPECT_EQ(0x12u, probe(0x02, 0x0f, true)->tag);
    EXPECT_EQ(0x21u, probe(0x20, 0xf0, false)->tag);
    ri_msg_t *first = probe(0x11, ~0ul, false);
    EXPECT_EQ(first, recv(0x10, 0xf0));
    EXPECT_NE(nullptr, probe(0x11, ~0ul, false));
    EXPECT_EQ(nullptr, probe(0x31, ~0ul, false));
    check_counts();
}

TEST_F(test_match, find_unexpected_without_remove_changes_nothing)
{
    arrive(5);
    for (int i = 0; i < 3; ++i) {
        EXPECT_NE(nullptr, probe(5, ~0ul, false));
        check_counts();
    }
    EXPECT_NE(nullptr, probe(5, ~0ul, true));
    EXPECT_EQ(nullptr, probe(5, ~0ul, false));
}

TEST_F(test_match, find_unexpected_with_bits_outside_the_mask)
{
    /* Open MPI sets rank bits in the tag of a wildcard receive */
    arrive(0x1007);
    EXPECT_NE(nullptr, recv(0xff07, 0xff));
    EXPECT_EQ(nullptr, recv(0xff07, 0xff));
    EXPECT_NE(nullptr, arrive(0x2007));
}

TEST_F(test_match, find_unexpected_by_more_masks_than_classes)
{
    for (unsigned i = 0; i < 4 * RI_MATCH_CLASSES; ++i) {
        arrive((1ul << i) | (1ul << 63));
    }
    for (unsigned i = 0; i < 4 * RI_MATCH_CLASSES; ++i) {
        EXPECT_NE(nullptr, probe(1ul << i, 1ul << i, false)) << i;
    }
    EXPECT_EQ((unsigned)RI_MATCH_CLASSES, m_match.num_classes);
    for (unsigned i = 0; i < 4 * RI_MATCH_CLASSES; ++i) {
        EXPECT_NE(nullptr, recv(1ul << i, 1ul << i)) << i;
    }
    check_counts();
}

TEST_F(test_match, add_unexpected_then_new_class_keeps_order)
{
    /* The class of the mask is made when the messages are there already */
    for (uint64_t i = 0; i < 100; ++i) {
        arrive((i << 8) | (i % 3));
    }
    for (uint64_t i = 0; i < 100; ++i) {
        ASSERT_NE(nullptr, recv(i % 3, 0xff)) << i;
    }
    EXPECT_TRUE(m_unexpected.empty());
}

TEST_F(test_match, post_keeps_the_order_over_classes)
{
    recv(0x10, 0xf0);
    recv(0x11, 0xff);
    recv(0, 0);
    recv(0x11, ~0ul);
    recv(0x11, 0xff);
    for (int i = 0; i < 5; ++i) {
        ASSERT_NE(nullptr, arrive(0x11)) << i;
    }
    EXPECT_EQ(nullptr, arrive(0x11));
}

TEST_F(test_match, post_in_the_list_keeps_the_order)
{
    /* All classes have receives posted, so further masks go to the list; the messages must
     * still take the receives in the order of posting. */
    for (unsigned i = 0; i < 3 * RI_MATCH_CLASSES; ++i) {
        recv(0, i);
        recv(0, i);
    }
    EXPECT_EQ(2 * 2 * (size_t)RI_MATCH_CLASSES, m_match.num_listed);
    for (unsigned i = 0; i < 6 * RI_MATCH_CLASSES; ++i) {
        ASSERT_NE(nullptr, arrive(0)) << i;
    }
    EXPECT_EQ(0u, m_match.num_listed);
}

TEST_F(test_match, post_by_class_and_list_of_one_mask)
{
    const uint64_t mask = 0xffff;

    for (unsigned i = 0; i < RI_MATCH_CLASSES; ++i) {
        recv(1ul << 32, (1ul << 32) | (1ul << i)); /* occupies the classes */
    }
    recv(7, mask); /* listed */
    EXPECT_EQ(1u, m_match.num_listed);
    unpost(0); /* a class without receives: may be recycled when it is idle */
    pass_time(0);
    recv(7, mask);
    EXPECT_EQ(1u, m_match.num_listed);
    EXPECT_NE(nullptr, arrive(7));
    EXPECT_EQ(0u, m_match.num_listed);
    EXPECT_NE(nullptr, arrive(7));
    EXPECT_EQ(nullptr, arrive(7));
}

TEST_F(test_match, class_with_receives_is_never_recycled)
{
    for (unsigned i = 0; i < RI_MATCH_CLASSES; ++i) {
        recv(0x100, 0x100 | i);
    }
    pass_time(0xdead);
    recv(0x100, 0xbeef00);
    EXPECT_EQ(1u, m_match.num_listed);
    while (!m_posted.empty()) {
        ASSERT_NE(nullptr, arrive(0x100));
    }
}

TEST_F(test_match, class_is_recycled_only_when_idle)
{
    arrive(1);
    for (unsigned i = 0; i < RI_MATCH_CLASSES; ++i) {
        probe(1, ~0ul - i, false);
    }
    probe(1, 0xabc, false); /* no class is idle: searched without one */
    for (unsigned i = 0; i < RI_MATCH_CLASSES; ++i) {
        EXPECT_NE(0xabcu, m_match.classes[i].mask);
    }

    pass_time(~0ul);
    probe(1, 0xabc, false);
    EXPECT_EQ(~0ul, m_match.classes[0].mask);   /* in use all the time */
    EXPECT_EQ(0xabcu, m_match.classes[1].mask); /* that was unused for longest */
    for (uint64_t i = 0; i < 50; ++i) {
        arrive(i);
    }
    while (!m_unexpected.empty()) {
        ASSERT_NE(nullptr, recv(m_unexpected.back()->tag, 0xabc));
    }
    check_counts();
}

TEST_F(test_match, find_posted_takes_it_out)
{
    recv(1, ~0ul);
    EXPECT_NE(nullptr, arrive(1));
    EXPECT_EQ(nullptr, arrive(1));
    EXPECT_EQ(1u, m_unexpected.size());
    check_counts();
}

TEST_F(test_match, unpost_anywhere)
{
    for (int round = 0; round < 6; ++round) {
        for (int i = 0; i < 6; ++i) {
            recv(3, (i % 2) ? ~0ul : 0xf);
        }
        unpost(round);
        for (int i = 0; i < 5; ++i) {
            ASSERT_NE(nullptr, arrive(3));
        }
        ASSERT_EQ(nullptr, arrive(3));
        ASSERT_NE(nullptr, recv(3, ~0ul));
    }
    check_counts();
}

TEST_F(test_match, peek_from_a_serial)
{
    recv(1, ~0ul);
    recv(0, 0);
    recv(1, ~0ul);
    recv(2, ~0ul);
    recv(1, 0xf);

    uint64_t from = 0;
    for (size_t which : {0, 1, 2, 4}) {
        ri_recv_req_t *found = peek(1, from);
        ASSERT_EQ(posted(which), found) << which;
        EXPECT_TRUE(ri_req_flags(&found->super) & RI_REQ_POSTED) << "still there";
        from = found->serial + 1;
    }
    EXPECT_EQ(nullptr, peek(1, from));
    EXPECT_EQ(posted(1), peek(7, 0));
    EXPECT_EQ(nullptr, peek(7, posted(1)->serial + 1));
    check_counts();
}

TEST_F(test_match, peek_in_the_list)
{
    for (unsigned i = 0; i < 2 * RI_MATCH_CLASSES; ++i) {
        recv(0, i);
        recv(0, i);
    }
    EXPECT_EQ(2 * (size_t)RI_MATCH_CLASSES, m_match.num_listed);
    uint64_t from = 0;
    for (unsigned i = 0; i < 4 * RI_MATCH_CLASSES; ++i) {
        ri_recv_req_t *found = peek(0, from);
        ASSERT_EQ(posted(i), found) << i;
        from = found->serial + 1;
    }
    EXPECT_EQ(nullptr, peek(0, from));
}

TEST_F(test_match, overlapped_by_all_relations_of_masks)
{
    /* the same mask: one class, whatever the tag */
    EXPECT_FALSE(overlapped(1, ~0ul, 1, ~0ul));
    EXPECT_FALSE(overlapped(1, ~0ul, 2, ~0ul));
    EXPECT_FALSE(overlapped(0, 0, 1, 0));

    /* the older one's is wider */
    EXPECT_TRUE(overlapped(0, 0, 1, ~0ul));
    EXPECT_TRUE(overlapped(0x12, 0xf0, 0x13, ~0ul));
    EXPECT_FALSE(overlapped(0x22, 0xf0, 0x13, ~0ul));

    /* the older one's is narrower */
    EXPECT_TRUE(overlapped(1, ~0ul, 0, 0));
    EXPECT_TRUE(overlapped(0x13, ~0ul, 0x12, 0xf0));
    EXPECT_FALSE(overlapped(0x13, ~0ul, 0x22, 0xf0));

    /* neither: some message fits both unless bits of both masks differ */
    EXPECT_TRUE(overlapped(0x10, 0xf0, 0x02, 0x0f));
    EXPECT_TRUE(overlapped(0x110, 0xff0, 0x112, 0xf0f));
    EXPECT_FALSE(overlapped(0x110, 0xff0, 0x212, 0xf0f));
}

TEST_F(test_match, overlapped_by_the_oldest_of_a_tag)
{
    recv(0, 0);
    recv(1, ~0ul);
    recv(0, 0);
    EXPECT_TRUE(overlapped(posted(1)));
    EXPECT_TRUE(overlapped(posted(2)));
    unpost(0);
    EXPECT_FALSE(overlapped(posted(0))) << "by a later one only";
    EXPECT_TRUE(overlapped(posted(1)));
    unpost(0);
    EXPECT_FALSE(overlapped(posted(0)));
}

TEST_F(test_match, overlapped_by_listed_ones)
{
    for (unsigned i = 0; i < RI_MATCH_CLASSES; ++i) {
        recv(1ul << 32, (1ul << 32) | (1ul << i)); /* occupies the classes */
    }
    recv(7, 0xff); /* listed */
    recv((1ul << 32) | 7, (1ul << 32) | 1);
    recv((1ul << 32) | 6, (1ul << 32) | 1);
    ASSERT_EQ(1u, m_match.num_listed);
    for (unsigned i = 0; i < RI_MATCH_CLASSES; ++i) {
        unpost(0);
    }
    EXPECT_TRUE(overlapped(posted(1)));
    EXPECT_FALSE(overlapped(posted(2)));
    unpost(0);
    EXPECT_FALSE(overlapped(posted(0)));
}

TEST_F(test_match, overlapped_when_there_are_too_many)
{
    for (unsigned i = 0; i < 2 * SCAN_MAX; ++i) {
        recv(0x100 + i, ~0ul);
    }
    recv(0, 0xffff00);
    EXPECT_TRUE(overlapped(posted(2 * SCAN_MAX))) << "nobody knows";
    recv(0, ~0ul);
    EXPECT_TRUE(overlapped(posted(2 * SCAN_MAX + 1)));
    unpost(2 * SCAN_MAX);
    EXPECT_FALSE(overlapped(posted(2 * SCAN_MAX))) << "of the same mask";
    while (!m_posted.empty()) {
        unpost(0);
    }
    recv(0, 0xffff00);
    EXPECT_FALSE(overlapped(posted(0)));
}

TEST_F(test_match, any_posted_ends_all)
{
    for (uint64_t i = 0; i < 500; ++i) {
        recv(i * 77, (i % 10) ? ~0ul << (i % 10) : i);
    }
    drain();
}

} // namespace
