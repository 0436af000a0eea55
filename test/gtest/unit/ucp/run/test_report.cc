/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/run/report.c. The tests run src/ucp/run/report_values.c and src/ucp/run/report_windows.c,
 * too.
 */

#include "unit/fakes/fake_ucx.h"

#include "ucs/output.h"
extern "C" {
#include "ucp/api/ucxri.h"
#include "ucp/run/report.h"
}

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace fake;

namespace {

const char *const RANKS[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                             "SLURM_PROCID"};

/* Those that each process has. */
constexpr size_t TABLES = RI_REPORT_TABLES - 2;

class test_report : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        for (const char *name : RANKS) {
            unsetenv(name);
        }
        ri_report_reset();
        m_path                = "/tmp/ucxri_test_report." + std::to_string(getpid());
        ri_config.report      = 1;
        ri_config.report_dest = const_cast<char *>(m_path.c_str());
    }

    void TearDown() override
    {
        unlink(m_path.c_str());
        for (const char *name : RANKS) {
            unsetenv(name);
        }
        ri_test::TearDown();
        ri_report_reset();
    }

    /* What the process prints at its end. */
    std::vector<std::string> print()
    {
        std::vector<std::string> lines;
        std::string line;

        ri_report_print();
        std::ifstream file(m_path);
        while (std::getline(file, line)) {
            lines.push_back(line);
        }
        return lines;
    }

    static ri_report_row_t get()
    {
        ri_report_row_t row;

        ri_report_get(&row);
        return row;
    }

    std::string m_path;
};

/* The destructor prints for processes without a worker, too */
TEST_F(test_report, nothing_without_a_worker)
{
    EXPECT_TRUE(print().empty());
    EXPECT_NE(0, access(m_path.c_str(), F_OK));
}

TEST_F(test_report, off)
{
    ri_config.report = 0;
    {
        node n(0x1111);

        EXPECT_FALSE(n.worker()->timed);
        EXPECT_FALSE(n.worker()->guarded);
        n.send(n.connect(n.new_endpoint(nullptr), 0x2222), bytes(10), 1);
        ri_report_worker(n.worker());
        EXPECT_EQ(0u, n.worker()->calls.ticks[RI_CALL_SEND]);
    }
    EXPECT_TRUE(print().empty());
    EXPECT_EQ(0u, get().values[RI_REPORT_AM]);
}

/* Different numbers, each for the bytes of a protocol */
const uint64_t BYTES_OF[] = {1000000, 2000000, 3000000, 4000000,
                             5000000, 6000000, 7000000};

/* Set all counters of conns that messages change to different numbers. */
void set_conn_counters(ri_worker_counters_t &c)
{
    uint64_t sum = 0;

    c.conns.tx_eager_ring       = 1;
    c.conns.tx_eager_am         = 2;
    c.conns.tx_hybrid           = 3;
    c.conns.tx_recv_rndv        = 4;
    c.conns.tx_coop             = 5;
    c.conns.tx_rndv             = 6;
    c.conns.tx_put              = 7;
    c.conns.tx_bulk             = 8;
    c.conns.tx_self             = 9;
    c.conns.tx_control          = 10;
    c.conns.tx_eager_am_bytes   = BYTES_OF[0];
    c.conns.tx_hybrid_bytes     = BYTES_OF[1];
    c.conns.tx_recv_rndv_bytes  = BYTES_OF[2];
    c.conns.tx_coop_bytes       = BYTES_OF[3];
    c.conns.tx_rndv_bytes       = BYTES_OF[4];
    c.conns.tx_put_bytes        = BYTES_OF[5];
    c.conns.tx_bulk_bytes       = BYTES_OF[6];
    c.conns.tx_eager_rdma       = 22;
    c.conns.tx_eager_rdma_bytes = 23;
    c.conns.tx_self_bytes       = 11;
    for (uint64_t length : BYTES_OF) {
        sum += length;
    }
    c.conns.tx_bytes         = sum + 11 + 12 + 23; /* 12 through the ring */
    c.conns.tx_written_bytes = 13;
}

/* Set all other counters to different numbers. */
void set_other_counters(ri_worker_counters_t &c)
{
    c.streams.rx_posted      = 14;
    c.streams.rx_unexpected  = 15;
    c.streams.rx_long        = 21;
    c.streams.rx_read_bytes  = 16;
    c.rtr_sent               = 17;
    c.rtr_used               = 18;
    c.rtr_dropped            = 19;
    c.rtr_suppressed         = 20;
    c.conns.rma_mapped       = 31;
    c.conns.rma_mapped_bytes = 32;
    c.conns.rma_copied       = 33;
    c.conns.rma_copied_bytes = 34;
    c.conns.rma_mailed       = 35;
    c.conns.rma_called       = 36;
    c.conns.rma_withdrawn    = 37;
    c.conns.rma_atomics      = 38;
    c.conns.rma_stock        = 39;
}

/* Every value comes from its counter. */
TEST_F(test_report, values)
{
    node n(0x1111);
    ri_worker_counters_t &c = n.worker()->counters;

    set_conn_counters(c);
    set_other_counters(c);
    ucxri_note_window(UCXRI_WINDOW_TAKEN, 64);
    ucxri_note_window(UCXRI_WINDOW_TAKEN, 32);
    ucxri_note_window(UCXRI_WINDOW_LEFT, 5);
    ucxri_note_window(UCXRI_WINDOW_LAST, 8); /* of a later library: it is ignored */
    ri_report_worker(n.worker());
    ri_report_row_t row = get();

    /* Protocols, traffic and receives, one-sided operations, windows */
    const std::vector<std::vector<uint64_t>> groups = {
            {1, 12, 2, BYTES_OF[0], 22, 23, 3, BYTES_OF[1], 4, BYTES_OF[2], 5,
             BYTES_OF[3], 6, BYTES_OF[4], 7, BYTES_OF[5], 8, BYTES_OF[6]},
            {10, 14, 15, 21, 17, 18, 19, 20, 16, 13, 12 + 23 + BYTES_OF[0] + BYTES_OF[1]},
            {31 + 38, 32, 33, 34, 35, 36, 37, 39},
            {2, 96, 1}};
    std::vector<uint64_t> expected;

    for (const auto &group : groups) {
        expected.insert(expected.end(), group.begin(), group.end());
    }
    ASSERT_EQ((size_t)RI_REPORT_LIFE_US, expected.size());
    for (size_t i = 0; i < RI_REPORT_LIFE_US; ++i) {
        EXPECT_EQ(expected[i], row.values[i]) << i;
    }
    c = {}; /* the rest of the test expects a clean worker */
}

/* Each is added when it is destroyed */
TEST_F(test_report, workers_are_summed)
{
    for (int i = 0; i < 3; ++i) {
        node n(0x1111);

        n.send(n.connect(n.new_endpoint(nullptr), 0x2222), bytes(10), 1);
    }
    EXPECT_EQ(3u, get().values[RI_REPORT_AM]);
    EXPECT_EQ(30u, get().values[RI_REPORT_AM_BYTES]);
}

TEST_F(test_report, label)
{
    ri_report_start();
    EXPECT_STREQ("-", get().rank);
    EXPECT_NE(nullptr, strstr(get().process, (":" + std::to_string(getpid())).c_str()));
    for (int i = 3; i >= 0; --i) { /* each goes before those that are set already */
        setenv(RANKS[i], std::to_string(10 + i).c_str(), 1);
        EXPECT_EQ(std::to_string(10 + i), get().rank);
    }
    for (const char *bad : {"", "-1", "1 2", "x", "123456789012345", "1\n"}) {
        setenv(RANKS[0], bad, 1);
        EXPECT_STREQ("11", get().rank) << bad;
    }
}

/* The column names come once per job: from rank 0, or from whoever does not know better */
TEST_F(test_report, names_once)
{
    ri_report_start();
    for (const char *rank : {"-", "0", "1", "10"}) {
        setenv("PMI_RANK", rank, 1);
        unlink(m_path.c_str());
        std::vector<std::string> lines = print();
        bool names                     = (*rank == '-') || (*rank == '0');
        ASSERT_EQ((names ? 2u : 1u) * TABLES, lines.size()) << rank;
        EXPECT_EQ(names, lines[0].find(" rank ") != std::string::npos);
        ri_report_row_t row;
        EXPECT_EQ(RI_REPORT_TABLE_JOB,
                  ri_report_table_parse_row(lines[names].c_str(), &row));
        EXPECT_STREQ(rank, row.rank);
        EXPECT_EQ(RI_REPORT_TABLE_TIME,
                  ri_report_table_parse_row(lines.back().c_str(), &row));
    }
}

TEST_F(test_report, appends)
{
    ri_report_start();
    setenv("PMI_RANK", "5", 1);
    print();
    EXPECT_EQ(2u * TABLES, print().size());
}

/* Who has one-sided operations has a line more */
TEST_F(test_report, one_sided)
{
    node n(0x1111);

    ri_report_start();
    setenv("PMI_RANK", "3", 1);
    n.worker()->counters.conns.rma_mailed = 1;
    ri_report_worker(n.worker());
    n.worker()->counters           = {};
    std::vector<std::string> lines = print();
    ASSERT_EQ(TABLES + 1, lines.size());
    ri_report_row_t row;
    EXPECT_EQ(RI_REPORT_TABLE_RMA,
              ri_report_table_parse_row(lines[TABLES - 1].c_str(), &row));
    EXPECT_EQ(1u, row.values[RI_REPORT_RMA_MAILED]);
}

/* Who has made windows of MPI has a line more, too */
TEST_F(test_report, windows)
{
    for (int whose = 0; whose < UCXRI_WINDOW_LAST; ++whose) {
        ri_report_reset();
        ri_report_start();
        setenv("PMI_RANK", "3", 1);
        unlink(m_path.c_str());
        ucxri_note_window((ucxri_window_t)whose, 4096);
        std::vector<std::string> lines = print();
        ASSERT_EQ(TABLES + 1, lines.size());
        ri_report_row_t row = {};
        EXPECT_EQ(RI_REPORT_TABLE_WIN,
                  ri_report_table_parse_row(lines[TABLES - 1].c_str(), &row));
        EXPECT_EQ(whose == UCXRI_WINDOW_TAKEN, row.values[RI_REPORT_WINDOWS]);
        EXPECT_EQ((whose == UCXRI_WINDOW_TAKEN) ? 4096u : 0u,
                  row.values[RI_REPORT_WINDOWS_BYTES]);
        EXPECT_EQ(whose == UCXRI_WINDOW_LEFT, row.values[RI_REPORT_WINDOWS_LEFT]);
    }
}

TEST_F(test_report, not_in_a_child)
{
    ri_report_start();
    pid_t child = fork();
    if (child == 0) {
        ri_report_print();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT_NE(0, access(m_path.c_str(), F_OK));
}

TEST_F(test_report, destination_that_cannot_be_opened)
{
    ri_config.report_dest = const_cast<char *>("/nonexistent/report");
    ri_report_start();
    testing::internal::CaptureStderr();
    ri_report_print();
    EXPECT_NE(std::string::npos,
              testing::internal::GetCapturedStderr().find("ucxri:sent"));
}

/* Calls within calls belong to the outermost, and end with it */
TEST_F(test_report, calls)
{
    node n(0x1111);
    ri_worker_t *worker = n.worker();
    uint64_t *ticks     = worker->calls.ticks;

    EXPECT_TRUE(worker->timed);
    EXPECT_TRUE(worker->guarded);
    ri_worker_enter(worker);
    ri_worker_enter(worker);
    ri_worker_leave(worker, RI_CALL_SEND);
    EXPECT_EQ(0u, ticks[RI_CALL_SEND]);
    EXPECT_EQ(1, worker->calls.depth);
    while (ri_clock_ticks() == worker->calls.start) {}
    ri_worker_leave(worker, RI_CALL_WORK);
    EXPECT_EQ(0, worker->calls.depth);
    EXPECT_EQ(0u, ticks[RI_CALL_SEND]);
    EXPECT_GT(ticks[RI_CALL_WORK], 0u);
    uint64_t work = ticks[RI_CALL_WORK];

    ri_worker_enter(worker);
    while (ri_clock_ticks() == worker->calls.start) {}
    ri_worker_leave(worker, RI_CALL_IDLE);
    EXPECT_GT(ticks[RI_CALL_IDLE], 0u);
    EXPECT_EQ(work, ticks[RI_CALL_WORK]);

    /* All of it is less than what has passed */
    ri_report_worker(worker);
    ri_report_row_t row = get();
    EXPECT_LE(row.values[RI_REPORT_WORK_US] + row.values[RI_REPORT_IDLE_US],
              row.values[RI_REPORT_LIFE_US]);
}

/* A worker that several threads enter and that is not timed is locked as ever */
TEST_F(test_report, lock_without_time)
{
    node n(0x1111);
    ri_worker_t *worker = n.worker();

    worker->timed = 0;
    worker->multi = 1;
    ri_worker_enter(worker);
    EXPECT_EQ(0, worker->calls.depth);
    ri_worker_leave(worker, RI_CALL_RECV);
    EXPECT_EQ(0, pthread_mutex_trylock(&worker->lock));
    pthread_mutex_unlock(&worker->lock);
    EXPECT_EQ(0u, worker->calls.ticks[RI_CALL_RECV]);
    worker->multi = 0;
}

} // namespace
