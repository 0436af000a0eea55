/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/match/sender_map.c */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

extern "C" {
#include "ucp/match/sender_map.h"
}

#include <dlfcn.h>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

namespace {

const uint64_t ALL = ~0ul;

/* sender_map.c has these as constants of its own. */
const unsigned UNUSED_NEW = 2; /* number of unused RTRs that end a class that is new */
const unsigned UNUSED_USED =
        5;                 /* number of unused RTRs that end a class that was of use */
const unsigned RETURN = 2; /* number of messages that bring a class back */

/* Tags as MPIs make them: context, rank of the sender, the application's tag. */
struct layout {
    const char *name;
    uint64_t sender_mask;
    uint64_t exact;   /* masks of receives */
    uint64_t any_tag; /* of one sender */
    uint64_t any_source;
    uint64_t any;
    uint64_t (*tag)(uint64_t context, uint64_t rank, uint64_t tag);
};

const layout MPICH = {"MPICH",
                      0xffffffff00000000ul,
                      0xffffffff9ffffffful,
                      0xffffffff90000000ul,
                      0xffff00009ffffffful,
                      0xffff000090000000ul,
                      [](uint64_t context, uint64_t rank, uint64_t tag) {
                          return (context << 48) | (rank << 32) | tag;
                      }};

const layout OPEN_MPI = {"Open MPI",
                         0x800000fffffffffful,
                         0xfffffffffffffffful,
                         0x800000fffffffffful,
                         0xffffff00000ffffful,
                         0x80000000000ffffful,
                         [](uint64_t context, uint64_t rank, uint64_t tag) {
                             return (tag << 40) | (rank << 20) | context;
                         }};

class test_sender_map : public ::testing::Test {
protected:
    void SetUp() override { ri_sender_map_init(&m_map, 0); }

    void TearDown() override { ri_sender_map_cleanup(&m_map); }

    void start(uint64_t sender_mask)
    {
        ri_sender_map_cleanup(&m_map);
        ri_sender_map_init(&m_map, sender_mask);
    }

    uint32_t find(uint64_t tag, uint64_t mask = ALL)
    {
        return ri_sender_map_find(&m_map, tag, mask);
    }

    /* A message with the receive's tag */
    void learn(uint64_t tag, uint32_t stream_id, uint64_t mask = ALL)
    {
        ri_sender_map_learn(&m_map, tag, mask, tag, stream_id);
    }

    bool is_worth(uint64_t tag, uint64_t mask = ALL)
    {
        return ri_sender_map_is_worth(&m_map, tag, mask);
    }

    void credit(uint64_t tag, int change, uint32_t stream_id = 1, uint64_t mask = ALL)
    {
        ri_sender_map_credit(&m_map, tag, mask, stream_id, change);
    }

    void costly(uint64_t tag, int used)
    {
        ri_sender_map_credit_costly(&m_map, tag, ALL, 1, used);
    }

    /* @return How many unused RTRs it takes to end a class. */
    unsigned unused_until_end(uint64_t tag)
    {
        unsigned count = 0;

        for (; is_worth(tag) && (count < 100); ++count) {
            credit(tag, -1);
        }
        return count;
    }

    /* @return How many messages it takes to bring it back. */
    unsigned missed_until_back(uint64_t tag)
    {
        unsigned count = 0;

        for (; !is_worth(tag) && (count < 10000); ++count) {
            credit(tag, 1);
        }
        return count;
    }

    ri_sender_map_t m_map;
};

TEST_F(test_sender_map, nothing_is_known_at_first)
{
    for (uint64_t sender_mask : {0ul, 0xff00ul, ALL}) {
        start(sender_mask);
        EXPECT_EQ(0u, find(0));
        EXPECT_EQ(0u, find(5));
        EXPECT_EQ(0u, find(0, 0));
        EXPECT_TRUE(is_worth(0));
        EXPECT_TRUE(is_worth(5, 0));
    }
}

TEST_F(test_sender_map, learn_without_a_sender_mask)
{
    learn(5, 11);
    EXPECT_EQ(11u, find(5));
    EXPECT_EQ(0u, find(6)) << "another tag";
    EXPECT_EQ(0u, find(5, 0xff)) << "another mask";
    learn(0x105, 12, 0xff);
    EXPECT_EQ(12u, find(0x205, 0xff)) << "bits that the mask leaves out do not count";
    EXPECT_EQ(11u, find(5));
    learn(0, 13, 0);
    EXPECT_EQ(13u, find(77, 0)) << "a receive of anything, as the one before";
    learn(5, 14);
    EXPECT_EQ(14u, find(5)) << "the latest";
}

TEST_F(test_sender_map, learn_with_a_sender_mask)
{
    start(0xff00);
    learn(0x0105, 11);
    EXPECT_EQ(11u, find(0x0105));
    EXPECT_EQ(11u, find(0x0106)) << "the same sender";
    EXPECT_EQ(11u, find(0x0106, 0xff0f));
    EXPECT_EQ(11u, find(0x0177, 0xff00)) << "any tag";
    EXPECT_EQ(0u, find(0x0205)) << "another sender";
    EXPECT_EQ(0u, find(0x0105, 0x00ff)) << "any source";
    EXPECT_EQ(0u, find(0x0105, 0x0fff)) << "some sources";
    EXPECT_EQ(0u, find(0, 0));
}

TEST_F(test_sender_map, learn_by_a_receive_from_any_source)
{
    start(0xff00);
    ri_sender_map_learn(&m_map, 5, 0x00ff, 0x0105, 11);
    EXPECT_EQ(0u, find(5, 0x00ff)) << "the next one may be another's";
    EXPECT_EQ(11u, find(0x0105)) << "but the sender is known now";
}

TEST_F(test_sender_map, the_sender_counts_more_than_the_class)
{
    start(0xff00);
    learn(0x0105, 11);
    learn(0x0106, 12); /* the sender's messages come by another way */
    EXPECT_EQ(12u, find(0x0105));
}

TEST_F(test_sender_map, entries_are_replaced)
{
    for (uint64_t sender_mask : {0ul, ALL << 16}) {
        std::map<uint64_t, uint32_t> all;
        unsigned known = 0;

        start(sender_mask);
        for (uint32_t i = 1; i <= 5000; ++i) {
            uint64_t tag = (uint64_t)i << 16;

            learn(tag, i);
            ASSERT_EQ(i, find(tag)) << "the latest is there";
            all[tag] = i;
        }
        for (const auto &entry : all) {
            uint32_t found = find(entry.first);

            ASSERT_TRUE((found == 0) || (found == entry.second)) << "never a wrong one";
            known += (found != 0);
        }
        EXPECT_GT(known, 300u);
        EXPECT_LE(known, 2048u);
    }
}

TEST_F(test_sender_map, random_is_right_or_not_known)
{
    const uint64_t masks[] = {ALL, 0xffff, 0xff00, 0xf, 0};

    for_seeds(100, [&](rng &random) {
        std::map<std::pair<uint64_t, uint64_t>, uint32_t> all;

        start(0);
        for (unsigned i = 0; i < 3000; ++i) {
            uint64_t mask = masks[random.below(5)], tag = random.below(3000);

            if (random.percent(50)) {
                uint32_t id = random.range(1, 1 << 24);
                learn(tag, id, mask);
                all[{tag & mask, mask}] = id;
            } else {
                uint32_t found = find(tag, mask);
                if (found != 0) {
                    EXPECT_EQ((all[{tag & mask, mask}]), found);
                }
            }
        }
    });
}

TEST_F(test_sender_map, credit_backs_off_and_comes_back)
{
    learn(5, 1);
    EXPECT_EQ(UNUSED_NEW, unused_until_end(5));
    EXPECT_TRUE(is_worth(6)) << "others go on";
    EXPECT_EQ(1u, find(5)) << "it is known all the same";
    EXPECT_EQ(1u, missed_until_back(5));

    for (unsigned i = 0; i < 100; ++i) {
        credit(5, 1); /* used */
    }
    EXPECT_EQ(UNUSED_USED, unused_until_end(5));
    for (unsigned i = 0; i < 100; ++i) {
        credit(5, -1); /* what was out when it ended */
    }
    EXPECT_EQ(RETURN, missed_until_back(5)) << "not too deep";
    EXPECT_EQ(1u, unused_until_end(5));
}

/* Each RTR that costs more, and was not used, is followed by a longer pause. */
TEST_F(test_sender_map, costly_ones_pause)
{
    learn(5, 1);
    for (unsigned pause : {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 4096}) {
        costly(5, 0);
        EXPECT_FALSE(is_worth(5));
        costly(5, 0); /* was out with it */
        credit(5, -1);
        EXPECT_EQ(pause, missed_until_back(5));
    }
    for (unsigned i = 0; i < 100; ++i) {
        costly(5, 1);
    }
    costly(5, 0);
    costly(5, 0);
    EXPECT_TRUE(is_worth(5)) << "most are used";
    costly(5, 0);
    EXPECT_FALSE(is_worth(5));
    costly(5, 1);
    EXPECT_TRUE(is_worth(5)) << "one that was out with it was used";
    costly(5, 0);
    EXPECT_EQ(16u, missed_until_back(5)) << "it begins anew";
}

/* Receives that get messages of two senders in turn are never offered to the right one. */
TEST_F(test_sender_map, costly_ones_of_senders_in_turn)
{
    learn(5, 1);
    learn(5, 2);
    costly(5, 0);
    EXPECT_FALSE(is_worth(5));
    learn(5, 1);
    EXPECT_FALSE(is_worth(5));
    EXPECT_EQ(16u, missed_until_back(5));
}

TEST_F(test_sender_map, credit_of_a_class_that_is_not_there)
{
    EXPECT_EQ(UNUSED_NEW, unused_until_end(5));
    EXPECT_EQ(1u, find(5)) << "then it is";
    start(0xff00);
    EXPECT_EQ(UNUSED_NEW, unused_until_end(0x105));
}

TEST_F(test_sender_map, learning_the_same_keeps_the_credit)
{
    learn(5, 1);
    unused_until_end(5);
    learn(5, 1);
    EXPECT_FALSE(is_worth(5));
    learn(5, 2);
    EXPECT_TRUE(is_worth(5)) << "another sender is another matter";
    EXPECT_EQ(UNUSED_NEW, unused_until_end(5));
}

TEST_F(test_sender_map, credit_is_of_the_class_also_with_a_sender_mask)
{
    start(0xff00);
    learn(0x0105, 1);
    learn(0x0106, 1);
    unused_until_end(0x0105);
    EXPECT_FALSE(is_worth(0x0105));
    EXPECT_TRUE(is_worth(0x0106));
    EXPECT_EQ(1u, find(0x0105));
}

/* Layouts of MPIs */

TEST_F(test_sender_map, tags_of_mpis)
{
    for (const layout &mpi : {MPICH, OPEN_MPI}) {
        SCOPED_TRACE(mpi.name);
        start(mpi.sender_mask);
        for (uint64_t rank = 0; rank < 8; ++rank) {
            ri_sender_map_learn(&m_map, mpi.tag(3, rank, 10), mpi.exact,
                                mpi.tag(3, rank, 10), 100 + rank);
        }
        for (uint64_t rank = 0; rank < 8; ++rank) {
            for (uint64_t tag : {0, 10, 77, 4711}) {
                EXPECT_EQ(100 + rank, find(mpi.tag(3, rank, tag), mpi.exact));
                EXPECT_EQ(0u, find(mpi.tag(3, rank, tag), mpi.any_source));
                EXPECT_EQ(0u, find(mpi.tag(4, rank, tag), mpi.exact)) << "context";
            }
            EXPECT_EQ(100 + rank, find(mpi.tag(3, rank, 0), mpi.any_tag));
            EXPECT_EQ(0u, find(mpi.tag(3, rank, 0), mpi.any));
        }
        EXPECT_EQ(0u, find(mpi.tag(3, 8, 10), mpi.exact));
    }
}

/* Open MPI leaves the rank of a wildcard in the tag, and MPICH error bits in a message's. */
TEST_F(test_sender_map, bits_that_the_mask_leaves_out)
{
    start(OPEN_MPI.sender_mask);
    ri_sender_map_learn(&m_map, OPEN_MPI.tag(3, 0xfffff, 1), OPEN_MPI.any_source,
                        OPEN_MPI.tag(3, 2, 1), 100);
    EXPECT_EQ(100u, find(OPEN_MPI.tag(3, 2, 9), OPEN_MPI.exact));
    EXPECT_EQ(0u, find(OPEN_MPI.tag(3, 0xfffff, 1), OPEN_MPI.any_source));

    start(MPICH.sender_mask);
    ri_sender_map_learn(&m_map, MPICH.tag(3, 2, 1), MPICH.exact,
                        MPICH.tag(3, 2, 1) | (1ul << 30), 100);
    EXPECT_EQ(100u, find(MPICH.tag(3, 2, 1), MPICH.exact));
    EXPECT_EQ(100u, find(MPICH.tag(3, 2, 7), MPICH.exact));
}

/* A communicator ends, and another one gets its context; rank 1 is another process there. */
TEST_F(test_sender_map, context_is_used_again)
{
    for (const layout &mpi : {MPICH, OPEN_MPI}) {
        SCOPED_TRACE(mpi.name);
        start(mpi.sender_mask);
        ri_sender_map_learn(&m_map, mpi.tag(3, 1, 10), mpi.exact, mpi.tag(3, 1, 10), 100);
        ri_sender_map_learn(&m_map, mpi.tag(3, 1, 11), mpi.exact, mpi.tag(3, 1, 11), 100);
        ri_sender_map_learn(&m_map, mpi.tag(3, 1, 10), mpi.exact, mpi.tag(3, 1, 10), 200);
        EXPECT_EQ(200u, find(mpi.tag(3, 1, 10), mpi.exact));
        EXPECT_EQ(200u, find(mpi.tag(3, 1, 11), mpi.exact));
        EXPECT_EQ(200u, find(mpi.tag(3, 1, 0), mpi.any_tag));
        EXPECT_TRUE(is_worth(mpi.tag(3, 1, 10), mpi.exact));
    }
}

/* What tells the sender mask; UCXRI_TAG_SENDER_MASK itself is in test_config. */

class config_sender_mask : public test_sender_map {
protected:
    uint64_t mask(const char *value, uint64_t of_application)
    {
        ri_config.tag_sender_mask = const_cast<char *>(value);
        return ri_config_sender_mask(of_application);
    }
};

TEST_F(config_sender_mask, in_what_order)
{
    EXPECT_EQ(0u, mask("auto", 0));
    EXPECT_EQ(0u, mask("Auto", 0));
    EXPECT_EQ(0x800000fffffffffful, mask("auto", 0x800000fffffffffful));
    EXPECT_EQ(0xff00u, mask("0xff00", 0));
    EXPECT_EQ(0xff00u, mask("ff00", 0x1)) << "more than what the application says";
    EXPECT_EQ(0u, mask("0", 0x1)) << "not known";
    EXPECT_EQ(ALL, mask("ffffffffffffffff", 0));
}

/* MPICH does not tell UCX: it is known by its version. In a process of its own. */
TEST_F(config_sender_mask, of_mpich)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (dlopen("libmpich.so.12", RTLD_LAZY | RTLD_GLOBAL) == nullptr) {
            _exit(77);
        }
        bool right = (mask("auto", 0) == MPICH.sender_mask) && (mask("auto", 5) == 5) &&
                     (mask("0", 0) == 0);
        _exit(right ? 0 : 1);
    }
    ASSERT_EQ(pid, waitpid(pid, &status, 0));
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        GTEST_SKIP() << "there is no MPICH here";
    }
    EXPECT_EQ(0, WEXITSTATUS(status));
}

} // namespace
