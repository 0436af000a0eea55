/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/notes/timeline.c: the file, and src/ucp/run/timeline_progress.c: what progress notes. What is
 * made of the file, timeline.test looks at. */

#include "unit/common/timeline_reader.h"
#include "unit/fakes/fake_ucx.h"

extern "C" {
#include "ucp/run/timeline_progress.h"
}

#include <algorithm>
#include <cmath>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fake;

namespace {

class test_timeline : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        ri_timeline_reset();
        setenv("PMI_RANK", "3", 1);
        m_name                = "/tmp/ucxri_test_timeline." + std::to_string(getpid());
        m_path                = m_name + ".3";
        m_pattern             = m_name + ".%r";
        ri_config.trace_file  = m_pattern.c_str();
        ri_config.trace_limit = 1 << 30;
        memset(&m_timeline, 0, sizeof(m_timeline));
    }

    void TearDown() override
    {
        ri_timeline_stop(&m_timeline);
        ri_timeline_reset();
        unlink(m_path.c_str());
        unsetenv("PMI_RANK");
        ri_test::TearDown();
    }

    std::string m_name, m_path, m_pattern;
    ri_timeline_t m_timeline;
    timeline_reader m_file;
    const ri_timeline_head_t &m_head                  = m_file.head;
    const std::vector<ri_timeline_block_t> &m_blocks  = m_file.blocks;
    const std::vector<ri_timeline_entry_t> &m_entries = m_file.entries;
};

TEST_F(test_timeline, not_wanted)
{
    ri_config.trace_file = nullptr;
    ri_timeline_start(&m_timeline, 7);
    EXPECT_EQ(nullptr, m_timeline.entries);
    ri_timeline_note(&m_timeline, RI_TIMELINE_SEND, this, 1, 2, 3, 4);
    EXPECT_EQ(0u, ri_timeline_now(&m_timeline));
    ri_timeline_stop(&m_timeline);
    EXPECT_NE(0, access(m_path.c_str(), F_OK));
}

TEST_F(test_timeline, head_and_entries)
{
    ri_timeline_start(&m_timeline, 7);
    ri_timeline_note(&m_timeline, RI_TIMELINE_SEND, this, 1, 2, 3, 4);
    ri_timeline_stop(&m_timeline);
    EXPECT_EQ(nullptr, m_timeline.entries);
    m_file.read(m_path);
    EXPECT_STREQ(RI_TIMELINE_MAGIC, m_head.magic);
    EXPECT_EQ(RI_TIMELINE_VERSION, (int)m_head.version);
    EXPECT_EQ((uint32_t)getpid(), m_head.pid);
    EXPECT_STREQ("3", m_head.rank);
    EXPECT_STREQ("-", m_head.ranks);
    EXPECT_STRNE("", m_head.host);
    EXPECT_STRNE("", m_head.clock);
    ASSERT_EQ(2u, m_blocks.size()); /* the start, and the end */
    EXPECT_EQ(7u, m_blocks[1].uid);
    EXPECT_LT(m_blocks[0].ticks, m_blocks[1].ticks);
    EXPECT_LT(m_blocks[0].mono, m_blocks[1].mono);
    ASSERT_EQ(1u, m_entries.size());
    EXPECT_EQ(RI_TIMELINE_SEND, (int)timeline_reader::event(m_entries[0]));
    EXPECT_EQ((uint64_t)(uintptr_t)this, m_entries[0].key >> 16);
    EXPECT_EQ(4u, m_entries[0].arg[3]);
    EXPECT_GE(m_entries[0].ticks, m_blocks[0].ticks);
    EXPECT_LE(m_entries[0].ticks, m_blocks[1].ticks);
}

TEST_F(test_timeline, more_than_fits_the_memory)
{
    const size_t many = 3 * RI_TIMELINE_ENTRIES + 5;

    ri_timeline_start(&m_timeline, 7);
    for (size_t i = 0; i < many; ++i) {
        ri_timeline_note(&m_timeline, RI_TIMELINE_COUNT, nullptr, i, 0, 0, 0);
    }
    ri_timeline_stop(&m_timeline);
    m_file.read(m_path);
    ASSERT_EQ(many, m_entries.size());
    for (size_t i = 0; i < many; ++i) {
        EXPECT_EQ(i, m_entries[i].arg[0]);
    }
}

/* What all clocks show at one moment is in each block, also if the thread is interrupted between two
 * of them: a handler of signals, which come all the time, does so. */
TEST_F(test_timeline, interrupted_between_two_clocks)
{
    const struct itimerval often = {{0, 70}, {0, 70}};
    struct sigaction action      = {};
    struct sigaction previous;
    double rate, off;
    double most = 0;

    action.sa_flags   = SA_RESTART;
    action.sa_handler = [](int) {
        const uint64_t start = ri_clock_ticks();
        while (ri_clock_ticks() - start < 40000) { /* some 15 us */
        }
    };
    sigaction(SIGALRM, &action, &previous);
    ri_timeline_start(&m_timeline, 7);
    setitimer(ITIMER_REAL, &often, nullptr);
    for (int i = 0; i < 12000; ++i) {
        ri_timeline_flush(&m_timeline);
    }
    setitimer(ITIMER_REAL, nullptr, nullptr);
    ri_timeline_stop(&m_timeline);
    sigaction(SIGALRM, &previous, nullptr);

    m_file.read(m_path);
    for (size_t i = 1; i + 1 < m_blocks.size(); ++i) {
        const ri_timeline_block_t &before = m_blocks[i - 1], &after = m_blocks[i + 1];

        /* Not from the first one to the last: the rate of the clock may be adjusted */
        rate = (double)(after.mono - before.mono) / (after.ticks - before.ticks);
        off  = (m_blocks[i].ticks - before.ticks) * rate -
              (m_blocks[i].mono - before.mono);
        most = std::max(most, std::abs(off));
    }
    EXPECT_LT(most, 5000) << "nanoseconds between two clocks of a block";
}

TEST_F(test_timeline, two_workers_have_one_file)
{
    ri_timeline_t other = {};

    ri_timeline_start(&m_timeline, 7);
    ri_timeline_start(&other, 8);
    ri_timeline_note(&other, RI_TIMELINE_SEND, this, 0, 0, 0, 0);
    ri_timeline_stop(&other);
    ri_timeline_stop(&m_timeline);
    m_file.read(m_path);
    ASSERT_EQ(4u, m_blocks.size());
    EXPECT_EQ(8u, m_blocks[2].uid);
    EXPECT_EQ(1u, m_blocks[2].count);
}

TEST_F(test_timeline, as_long_as_it_may_be)
{
    ri_config.trace_limit = 1000;
    ri_timeline_start(&m_timeline, 7);
    for (size_t i = 0; i < 10 * RI_TIMELINE_ENTRIES; ++i) {
        ri_timeline_note(&m_timeline, RI_TIMELINE_COUNT, nullptr, i, 0, 0, 0);
    }
    EXPECT_EQ(nullptr, m_timeline.entries);
    m_file.read(m_path);
    EXPECT_NE(0u, m_blocks.back().ended);
    EXPECT_EQ(2u * RI_TIMELINE_ENTRIES, m_entries.size());
}

TEST_F(test_timeline, file_that_cannot_be_written)
{
    ri_config.trace_file = "/nonexistent/%r";
    ri_timeline_start(&m_timeline, 7);
    EXPECT_EQ(nullptr, m_timeline.entries);
}

TEST_F(test_timeline, disk_is_full)
{
    if (access("/dev/full", W_OK) != 0) {
        GTEST_SKIP() << "no /dev/full";
    }
    ASSERT_EQ(0, symlink("/dev/full", m_path.c_str()));
    ri_timeline_start(&m_timeline, 7);
    EXPECT_EQ(nullptr, m_timeline.entries);
}

/* A child has the file of its parent open, and must not write to it. */
TEST_F(test_timeline, child_by_fork)
{
    ri_timeline_start(&m_timeline, 7);
    ri_timeline_note(&m_timeline, RI_TIMELINE_SEND, this, 0, 0, 0, 0);
    pid_t child = fork();
    if (child == 0) {
        ri_timeline_t own = {};

        ri_timeline_stop(&m_timeline);
        ri_timeline_start(&own, 8); /* a worker of its own */
        _exit(own.entries != nullptr);
    }
    int status = 1;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
    ri_timeline_stop(&m_timeline);
    m_file.read(m_path);
    EXPECT_EQ(2u, m_blocks.size());
    EXPECT_EQ(1u, m_entries.size());
}

/* Another thread may be within the worker when the process exits: nothing is freed. */
TEST_F(test_timeline, process_exits)
{
    ri_timeline_start(&m_timeline, 7);
    ri_timeline_note(&m_timeline, RI_TIMELINE_SEND, this, 0, 0, 0, 0);
    ri_timeline_write_last(&m_timeline);
    EXPECT_NE(nullptr, m_timeline.entries);
    ri_timeline_close();
    ri_timeline_note(&m_timeline, RI_TIMELINE_SEND, this, 0, 0, 0, 0);
    ri_timeline_flush(&m_timeline);
    EXPECT_EQ(nullptr, m_timeline.entries);
    m_file.read(m_path);
    EXPECT_EQ(1u, m_entries.size());
}

/* A thread may have moved to a core whose clock is behind: that is no span. */
TEST_F(test_timeline, clocks_of_cores_differ)
{
    ri_timeline_start(&m_timeline, 7);
    ri_timeline_application(&m_timeline, m_timeline.last - 10);
    EXPECT_EQ(0u, m_timeline.count);
}

TEST_F(test_timeline, application_waits_and_computes)
{
    ri_timeline_start(&m_timeline, 7);
    const uint64_t span = m_timeline.shortest;
    const uint64_t t    = m_timeline.last;

    ri_timeline_application(&m_timeline, t + span - 1); /* too short */
    EXPECT_EQ(0u, m_timeline.count);
    m_timeline.idle = t + span - 1;
    m_timeline.last = t + 4 * span; /* it has waited up to then */
    ri_timeline_application(&m_timeline, t + 6 * span);
    ASSERT_EQ(2u, m_timeline.count);
    EXPECT_EQ(RI_TIMELINE_WAIT, (int)timeline_reader::event(m_timeline.entries[0]));
    EXPECT_EQ(t + span - 1, m_timeline.entries[0].arg[0]);
    EXPECT_EQ(t + 4 * span, m_timeline.entries[0].arg[1]);
    EXPECT_EQ(RI_TIMELINE_COMPUTE, (int)timeline_reader::event(m_timeline.entries[1]));
    EXPECT_EQ(t + 4 * span, m_timeline.entries[1].arg[0]);
    EXPECT_EQ(t + 6 * span, m_timeline.entries[1].arg[1]);
    EXPECT_EQ(0u, m_timeline.idle);
    EXPECT_EQ(t + 6 * span, m_timeline.last);
}

/* Calls that find nothing are one wait until one finds something. */
TEST_F(test_timeline, progress_waits)
{
    node n(0x1111);
    ri_timeline_t *timeline = &n.worker()->timeline;

    ASSERT_NE(nullptr, timeline->entries);
    const uint64_t span   = timeline->shortest;
    const uint64_t t      = timeline->last + 1;
    const unsigned before = timeline->count;

    timeline->due = UINT64_MAX;
    for (uint64_t i = 0; i < 100; ++i) {
        ri_timeline_progress(n.worker(), t + i * span / 10, 0);
    }
    EXPECT_EQ(before, timeline->count);
    ri_timeline_progress(n.worker(), t + 10 * span, 1);
    ASSERT_EQ(before + 1, timeline->count);
    EXPECT_EQ(RI_TIMELINE_WAIT, (int)timeline_reader::event(timeline->entries[before]));
    EXPECT_EQ(t, timeline->entries[before].arg[0]);
    EXPECT_EQ(t + 99 * span / 10, timeline->entries[before].arg[1]);
    EXPECT_EQ(0u, timeline->idle);
}

TEST_F(test_timeline, progress_samples_counters)
{
    {
        node n(0x1111);

        n.worker()->timeline.due = 0;
        ri_timeline_progress(n.worker(), ri_clock_ticks(), 0);
        EXPECT_EQ(0u, n.worker()->timeline.count); /* it was written at once */
        EXPECT_GT(n.worker()->timeline.due, ri_clock_ticks());
    }
    m_file.read(m_path);
    EXPECT_EQ(1u, m_file.count(RI_TIMELINE_COUNT));
}

} // namespace
