/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/match/match.c, against two lists that are searched from their beginning. */

#include "ri_cpp.h"
#include "rng.h"

#include <algorithm>
#include <list>
#include <memory>
#include <vector>

namespace {

/* What recycling a class takes; match.c has it as a constant of its own. */
const unsigned CLASS_IDLE = 1024;

/* How many receives are looked at for overlaps; likewise. */
const unsigned SCAN_MAX = 64;

class test_match : public ::testing::Test {
protected:
    typedef std::list<std::unique_ptr<ri_recv_req_t>> recvs;
    typedef std::list<std::unique_ptr<ri_msg_t, void (*)(void *)>> msgs;

    void SetUp() override { ASSERT_EQ(UCS_OK, ri_match_init(&m_match)); }

    void TearDown() override { ri_match_cleanup(&m_match); }

    void reset()
    {
        ri_match_cleanup(&m_match);
        m_posted.clear();
        m_unexpected.clear();
        m_taken.clear();
        m_matched.clear();
        ri_match_init(&m_match);
    }

    static bool fits(uint64_t a, uint64_t b, uint64_t mask)
    {
        return ((a ^ b) & mask) == 0;
    }

    msgs::iterator model_find_unexpected(uint64_t tag, uint64_t mask)
    {
        msgs::iterator it = m_unexpected.begin();

        while ((it != m_unexpected.end()) && !fits((*it)->tag, tag, mask)) {
            ++it;
        }
        return it;
    }

    /* Each operation does the same to the matching and to the model, compares what they
     * find, and returns it. */

    ri_msg_t *recv(uint64_t tag, uint64_t mask)
    {
        msgs::iterator expected = model_find_unexpected(tag, mask);
        ri_msg_t *msg           = ri_match_find_unexpected(&m_match, tag, mask, 0);

        EXPECT_EQ((expected == m_unexpected.end()) ? nullptr : expected->get(), msg)
                << std::hex << "receive of tag " << tag << " mask " << mask;
        if (::testing::Test::HasFailure()) {
            return nullptr;
        }
        if (msg != nullptr) {
            ri_match_remove_unexpected(&m_match, msg);
            m_taken.splice(m_taken.end(), m_unexpected, expected);
            return msg;
        }

        m_posted.emplace_back(new ri_recv_req_t());
        m_posted.back()->tag  = tag;
        m_posted.back()->mask = mask;
        ri_match_post(&m_match, m_posted.back().get());
        EXPECT_TRUE(ri_req_flags(&m_posted.back()->super) & RI_REQ_POSTED);
        return nullptr;
    }

    ri_msg_t *probe(uint64_t tag, uint64_t mask, bool remove)
    {
        msgs::iterator expected = model_find_unexpected(tag, mask);
        ri_msg_t *msg           = ri_match_find_unexpected(&m_match, tag, mask, remove);

        EXPECT_EQ((expected == m_unexpected.end()) ? nullptr : expected->get(), msg)
                << std::hex << "probe of tag " << tag << " mask " << mask;
        if ((msg != nullptr) && remove && !::testing::Test::HasFailure()) {
            m_taken.splice(m_taken.end(), m_unexpected, expected);
        }
        return msg;
    }

    ri_recv_req_t *arrive(uint64_t tag)
    {
        recvs::iterator expected = m_posted.begin();

        while ((expected != m_posted.end()) &&
               !fits((*expected)->tag, tag, (*expected)->mask)) {
            ++expected;
        }

        ri_recv_req_t *found = ri_match_find_posted(&m_match, tag);
        EXPECT_EQ((expected == m_posted.end()) ? nullptr : expected->get(), found)
                << std::hex << "message with tag " << tag;
        if (::testing::Test::HasFailure()) {
            return nullptr;
        }
        if (found != nullptr) {
            EXPECT_FALSE(ri_req_flags(&found->super) & RI_REQ_POSTED);
            m_matched.splice(m_matched.end(), m_posted, expected);
            return found;
        }

        ri_msg_t *msg = (ri_msg_t *)calloc(1, sizeof(ri_msg_t));
        msg->tag      = tag;
        m_unexpected.emplace_back(msg, free);
        ri_match_add_unexpected(&m_match, msg);
        return nullptr;
    }

    /* Without taking it out: the oldest that fits, from a serial on. */
    ri_recv_req_t *peek(uint64_t tag, uint64_t from)
    {
        recvs::iterator expected = m_posted.begin();

        while ((expected != m_posted.end()) &&
               (((*expected)->serial < from) ||
                !fits((*expected)->tag, tag, (*expected)->mask))) {
            ++expected;
        }
        ri_recv_req_t *found = ri_match_peek_posted(&m_match, tag, from);
        EXPECT_EQ((expected == m_posted.end()) ? nullptr : expected->get(), found)
                << std::hex << "peek of tag " << tag << " from " << from;
        return found;
    }

    /* An older receive, of another class, that fits some message which @a recv fits. */
    bool model_overlaps(const ri_recv_req_t *recv) const
    {
        return std::any_of(m_posted.begin(), m_posted.end(), [&](const auto &older) {
            return (older->serial < recv->serial) &&
                   (older->mask_class != recv->mask_class) &&
                   fits(older->tag, recv->tag, older->mask & recv->mask);
        });
    }

    /* @return Whether that is known for sure: few enough to be looked at. */
    bool can_scan(const ri_recv_req_t *recv) const
    {
        for (unsigned i = 0; i < m_match.num_classes; ++i) {
            const auto *c = &m_match.classes[i];

            if ((c != recv->mask_class) && (c->posted.count > 0) &&
                ((c->mask & ~recv->mask) != 0) &&
                ((c->posted.count > SCAN_MAX) ||
                 ((1ul << (64 - c->posted.shift)) > SCAN_MAX))) {
                return false;
            }
        }
        return true;
    }

    bool overlapped(const ri_recv_req_t *recv)
    {
        bool found = ri_match_find_overlap(&m_match, recv) != nullptr;

        if (model_overlaps(recv)) {
            EXPECT_TRUE(found) << std::hex << recv->tag << " mask " << recv->mask;
        } else if (can_scan(recv)) {
            EXPECT_FALSE(found) << std::hex << recv->tag << " mask " << recv->mask;
        }
        return found;
    }

    /* Post two receives. @return Whether the second one is overlapped. */
    bool overlapped(uint64_t tag1, uint64_t mask1, uint64_t tag2, uint64_t mask2)
    {
        reset();
        recv(tag1, mask1);
        recv(tag2, mask2);
        EXPECT_FALSE(overlapped(m_posted.front().get())) << "by a later one";
        return overlapped(m_posted.back().get());
    }

    ri_recv_req_t *posted(size_t which)
    {
        return std::next(m_posted.begin(), which)->get();
    }

    void unpost(size_t which)
    {
        recvs::iterator it = std::next(m_posted.begin(), which);

        ri_match_unpost(&m_match, it->get());
        EXPECT_FALSE(ri_req_flags(&(*it)->super) & RI_REQ_POSTED);
        m_posted.erase(it);
    }

    void check_counts()
    {
        size_t listed = 0;

        for (auto &recv : m_posted) {
            listed += (recv->mask_class == nullptr);
        }
        EXPECT_EQ(m_posted.size(), m_match.num_posted);
        EXPECT_EQ(listed, m_match.num_listed);
        EXPECT_EQ(m_unexpected.size(), m_match.num_unexpected);
        EXPECT_EQ(m_unexpected.size(), ucs_list_length(&m_match.unexpected));
        for (unsigned i = 0; i < m_match.num_classes; ++i) {
            EXPECT_EQ(m_unexpected.size(), m_match.classes[i].unexpected.count);
        }
    }

    /* Age all classes but that of @a mask. */
    void pass_time(uint64_t mask)
    {
        for (unsigned i = 0; i <= CLASS_IDLE; ++i) {
            ri_match_find_unexpected(&m_match, 0x123456789, mask, 0);
        }
    }

    struct traffic {
        std::vector<uint64_t> tags;
        std::vector<uint64_t> masks;
        unsigned recv; /* percent of the operations */
        unsigned arrive;
        unsigned probe;
        bool fresh_masks; /* now and then, one never seen before */
    };

    void run(rng &random, const traffic &t, unsigned operations)
    {
        for (unsigned i = 0; (i < operations) && !HasFailure(); ++i) {
            uint64_t tag  = t.tags[random.below(t.tags.size())];
            uint64_t mask = (t.fresh_masks && random.percent(2)) ?
                                    random.next() :
                                    t.masks[random.below(t.masks.size())];
            uint64_t what = random.below(100);

            if (what < t.recv) {
                recv(tag, mask);
            } else if (what < t.recv + t.arrive) {
                arrive(tag);
            } else if (what < t.recv + t.arrive + t.probe) {
                probe(tag, mask, random.percent(30));
            } else if (!m_posted.empty()) {
                ri_recv_req_t *one = posted(random.below(m_posted.size()));

                peek(tag, one->serial + random.below(2));
                if (one->mask_class != nullptr) {
                    overlapped(one);
                }
                unpost(random.below(m_posted.size()));
            }
        }
        check_counts();
    }

    /* Everything that is left must come out in order. */
    void drain()
    {
        while (!m_unexpected.empty() && !HasFailure()) {
            EXPECT_NE(nullptr, recv(0, 0));
        }
        while (!m_posted.empty() && !HasFailure()) {
            unpost(0);
        }
        check_counts();
    }

    static std::vector<uint64_t> random_values(rng &random, size_t count, unsigned bits)
    {
        std::vector<uint64_t> values(count);

        for (uint64_t &value : values) {
            /* Few bits in both halves: tags that agree under some masks only */
            value = (random.below(1ul << bits) << 40) | random.below(1ul << bits);
        }
        return values;
    }

    ri_match_t m_match;
    recvs m_posted; /* oldest first */
    recvs m_matched;
    msgs m_unexpected; /* oldest first */
    msgs m_taken;      /* received or removed, for callers to look at */
};

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

TEST_F(test_match, random_few_masks)
{
    for_seeds(3000, [this](rng &random) {
        traffic t = {random_values(random, random.range(1, 12), 2),
                     {~0ul, 0xfffffffful, 0, random.next()},
                     40,
                     40,
                     10,
                     false};

        run(random, t, 200);
        drain();
        reset();
    });
}

TEST_F(test_match, random_many_masks)
{
    for_seeds(1500, [this](rng &random) {
        traffic t = {random_values(random, random.range(2, 40), 3),
                     random_values(random, random.range(7, 30), 3),
                     35,
                     40,
                     15,
                     true};

        run(random, t, 400);
        drain();
        reset();
    });
}

/* Phases with other masks each, long enough for classes to change hands, over messages and
 * receives that stay from phase to phase. */
TEST_F(test_match, random_changing_masks)
{
    for_seeds(60, [this](rng &random) {
        for (int phase = 0; (phase < 4) && !HasFailure(); ++phase) {
            unsigned recv_share = random.range(25, 45);
            traffic t           = {random_values(random, random.range(2, 60), 3),
                                   random_values(random, random.range(2, 8), 3),
                                   recv_share,
                                   80 - recv_share,
                                   15,
                                   random.percent(50)};

            run(random, t, 2500);
        }
        drain();
        reset();
    });
}

/* Ten thousand different tags, as the benchmark of the empty queue has them. */
TEST_F(test_match, many_tags)
{
    for_seeds(2, [this](rng &random) {
        std::vector<std::unique_ptr<ri_recv_req_t>> posted;
        const size_t count = 10000;

        for (size_t i = 0; i < count; ++i) {
            posted.emplace_back(new ri_recv_req_t());
            posted[i]->tag  = i;
            posted[i]->mask = ~0ul;
            ri_match_post(&m_match, posted[i].get());
        }
        for (size_t i = 0; i < count; ++i) {
            size_t tag = (i * 7919) % count;

            ASSERT_EQ(posted[tag].get(), ri_match_find_posted(&m_match, tag));
        }
        EXPECT_EQ(0u, m_match.num_posted);
        reset();
    });
}

} // namespace
