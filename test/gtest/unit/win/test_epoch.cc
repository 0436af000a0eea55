/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/win/epoch.[hc]: what is left of an epoch in which something fails. Gates, words of other
 * ranks and waits are the test's. */

#include "unit/win/win_cpp.h"

#if HAVE_WIN_MPICH

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <new>
#include <utility>
#include <vector>

namespace {

const int RANKS = 4; /* this one is 0 */

typedef std::pair<int, uint32_t> waited_for; /* of a rank */

struct fake_ranks {
    std::vector<int> group;                                 /* of a call */
    std::function<int(const ri_command_gate_t &gate)> lets; /* @return an error */
    std::map<std::pair<int, int>, int> inside;              /* of rank and is_all */
    int fails = -1;                                         /* a wait for this rank */
    std::vector<waited_for> waited;
    std::vector<int> told;
};

fake_ranks *ranks;

} // namespace

int ri_command_enter(ri_window_t *, const ri_command_gate_t *gate, int)
{
    int error = ranks->lets(*gate);

    ranks->inside[{gate->rank, gate->is_all}] += (error == MPI_SUCCESS);
    return error;
}

void ri_command_leave(ri_window_t *, const ri_command_gate_t *gate)
{
    --ranks->inside[{gate->rank, gate->is_all}];
}

int ri_command_write(ri_window_t *, int rank, size_t, uint32_t)
{
    ranks->told.push_back(rank);
    return MPI_SUCCESS;
}

int ri_window_wait_word(ri_window_t *, int rank, _Atomic(uint32_t) *, uint32_t value)
{
    ranks->waited.emplace_back(rank, value);
    return (rank == ranks->fails) ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int ri_window_pause(ri_window_wait_t *)
{
    return MPI_SUCCESS;
}

int ri_remote_settle_slow(ri_window_t *, int)
{
    return MPI_SUCCESS;
}

int ri_remote_settle_here_slow(ri_window_t *, int)
{
    return MPI_SUCCESS;
}

extern "C" int PMPI_Group_size(MPI_Group, int *size)
{
    *size = (int)ranks->group.size();
    return MPI_SUCCESS;
}

extern "C" int PMPI_Group_translate_ranks(MPI_Group, int count, const int *from,
                                          MPI_Group, int *to)
{
    for (int i = 0; i < count; ++i) {
        to[i] = ranks->group[(size_t)from[i]];
    }
    return MPI_SUCCESS;
}

namespace {

class test_epoch : public ::testing::Test {
protected:
    test_epoch()
        : m_targets(RANKS), m_parts(RANKS),
          m_control(new (std::align_val_t(
                  RI_CACHE_LINE)) char[sizeof(ri_window_control_t) +
                                       RANKS * sizeof(ri_window_cell_t)]())
    {
        ranks              = &m_ranks;
        m_ranks.lets       = [](const ri_command_gate_t &) { return MPI_SUCCESS; };
        m_window.size      = RANKS;
        m_window.targets   = m_targets.data();
        m_window.parts     = m_parts.data();
        m_parts[0].control = reinterpret_cast<ri_window_control_t *>(m_control);
    }

    ~test_epoch() override
    {
        ::operator delete[](m_control, std::align_val_t(RI_CACHE_LINE));
        ranks = nullptr;
    }

    /* Have a group for the next call. */
    MPI_Group group(const std::vector<int> &members)
    {
        m_ranks.group = members;
        return MPI_GROUP_EMPTY;
    }

    /* Gates that this rank is inside of. */
    int gates() const
    {
        int count = 0;

        for (const auto &gate : m_ranks.inside) {
            count += gate.second;
        }
        return count;
    }

    ri_window_t m_window = {};
    std::vector<ri_window_target_t> m_targets;
    std::vector<ri_window_part_t> m_parts;
    char *m_control;
    fake_ranks m_ranks;
};

/* Others can still lock targets of a host, one of which this rank could not have to itself. */
TEST_F(test_epoch, lock_that_fails)
{
    for (int type : {MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED}) {
        for (int is_all : {0, 1}) {
            m_ranks.lets = [=](const ri_command_gate_t &gate) {
                return (gate.is_all == is_all) ? MPI_ERR_OTHER : MPI_SUCCESS;
            };
            if ((type == MPI_LOCK_EXCLUSIVE) || !is_all) {
                EXPECT_EQ(MPI_ERR_OTHER, ri_epoch_lock(&m_window, type, 2, 0));
            }
            EXPECT_EQ(0, gates()) << "gate of the host: " << is_all;
            EXPECT_TRUE(ri_epoch_is_over(&m_window));
        }
        m_ranks.lets = [](const ri_command_gate_t &) { return MPI_SUCCESS; };
        EXPECT_EQ(MPI_SUCCESS, ri_epoch_lock(&m_window, type, 2, 0));
        EXPECT_EQ((type == MPI_LOCK_EXCLUSIVE) ? 2 : 1, gates());
        EXPECT_EQ(MPI_SUCCESS, ri_epoch_unlock(&m_window, 2));
        EXPECT_EQ(0, gates());
    }
}

/* The epoch is over, and the next one waits for its own ranks only. */
TEST_F(test_epoch, wait_that_fails)
{
    ASSERT_EQ(MPI_SUCCESS, ri_epoch_post(&m_window, group({3, 1, 2}), 0));
    m_ranks.fails = 2;
    EXPECT_EQ(MPI_ERR_OTHER, ri_epoch_wait(&m_window));
    EXPECT_EQ((std::vector<waited_for>{{1, 1}, {2, 1}}), m_ranks.waited)
            << "not for others any more";
    EXPECT_EQ(MPI_ERR_RMA_SYNC, ri_epoch_wait(&m_window));

    m_ranks.waited.clear();
    ASSERT_EQ(MPI_SUCCESS, ri_epoch_post(&m_window, group({1}), 0));
    EXPECT_EQ(MPI_SUCCESS, ri_epoch_wait(&m_window));
    ASSERT_EQ(MPI_SUCCESS, ri_epoch_post(&m_window, group({3}), 0));
    EXPECT_EQ(MPI_SUCCESS, ri_epoch_wait(&m_window));
    EXPECT_EQ((std::vector<waited_for>{{1, 2}, {3, 2}}), m_ranks.waited);
}

TEST_F(test_epoch, start_that_fails)
{
    m_ranks.fails = 1;
    EXPECT_EQ(MPI_ERR_OTHER, ri_epoch_start(&m_window, group({1, 3, 2}), 0));
    EXPECT_EQ((std::vector<waited_for>{{1, 1}}), m_ranks.waited);
    EXPECT_EQ(MPI_SUCCESS, ri_epoch_complete(&m_window));
    EXPECT_EQ((std::vector<int>{1, 2, 3}), m_ranks.told) << "they wait for it";

    m_ranks.waited.clear();
    EXPECT_EQ(MPI_SUCCESS, ri_epoch_start(&m_window, group({3}), 0));
    EXPECT_EQ((std::vector<waited_for>{{3, 2}}), m_ranks.waited)
            << "not what was posted for the epoch before";
    EXPECT_EQ(MPI_SUCCESS, ri_epoch_complete(&m_window));
}

} // namespace

#endif
