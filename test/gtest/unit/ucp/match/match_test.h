/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The matching of messages and receives, beside two lists that are searched from their beginning.
 */
#ifndef RI_TEST_MATCH_TEST_H
#define RI_TEST_MATCH_TEST_H

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <algorithm>
#include <list>
#include <memory>
#include <vector>

namespace {

/* What recycling a class takes; match.c has it as a constant of its own. */
const unsigned CLASS_IDLE = 1024;

/* How many receives are looked at for overlaps; a constant of match.c, too. */
const unsigned SCAN_MAX = 64;

class match_test : public ::testing::Test {
protected:
    typedef std::list<std::unique_ptr<ri_recv_req_t>> recvs;
    typedef std::list<std::unique_ptr<ri_msg_t, void (*)(void *)>> msgs;

    void SetUp() override { ri_match_init(&m_match); }

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

} // namespace

#endif
