/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/report_file.c */

#include "unit/fakes/fake_ucx.h"

extern "C" {
#include "ucp/run/report.h"
#include "ucp/run/report_file.h"
#include "ucs/clock.h"
#include "ucs/log.h"
}

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fake;

namespace {

class test_report_file : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        ri_report_reset();
        setenv("PMI_RANK", "3", 1);
        setenv("SLURM_JOB_ID", "47", 1);
        m_path                = "/tmp/ucxri_test_report_file." + std::to_string(getpid());
        m_name                = m_path + ".%r";
        ri_config.report      = 1;
        ri_config.report_json = m_name.c_str();
    }

    void TearDown() override
    {
        unlink((m_path + ".3").c_str());
        unsetenv("PMI_RANK");
        unsetenv("SLURM_JOB_ID");
        ri_report_reset();
        ri_test::TearDown();
    }

    static std::string read(const std::string &path)
    {
        std::ifstream stream(path);
        std::stringstream text;

        text << stream.rdbuf();
        return text.str();
    }

    bool has(const std::string &part)
    {
        return read(m_path + ".3").find(part) != std::string::npos;
    }

    static void tick_for(ri_worker_t *worker, double seconds)
    {
        for (double end = ri_clock_now() + seconds; ri_clock_now() < end;) {
            ri_report_file_tick(worker);
        }
    }

    std::string m_path, m_name;
};

TEST_F(test_report_file, not_wanted)
{
    ri_config.report_json = nullptr;
    {
        node n(0x1111);

        EXPECT_EQ(nullptr, n.worker()->sizes);
        EXPECT_FALSE(n.worker()->watched);
        n.send(n.connect(n.new_endpoint(nullptr), 0x2222), bytes(10), 1);
        ri_report_file_tick(n.worker());
        ri_report_worker(n.worker());
    }
    ri_report_file_end();
    EXPECT_NE(0, access((m_path + ".3").c_str(), F_OK));
}

/* Of sends, of conns that were closed, and of those that are open at the end */
TEST_F(test_report_file, what_was_sent)
{
    {
        node n(0x1111);
        ri_conn_t *closed = n.connect(n.new_endpoint(nullptr), 0x2222);

        EXPECT_NE(nullptr, n.worker()->sizes);
        EXPECT_TRUE(n.worker()->watched);
        n.send(closed, bytes(10), 1);
        ri_conn_destroy(closed, UCS_ERR_CANCELED);
        n.send(n.connect(n.new_endpoint(nullptr), 0x3333), bytes(16), 1);
        ri_report_worker(n.worker());
        EXPECT_EQ(nullptr, n.worker()->sizes);
    }
    ri_report_print();
    EXPECT_TRUE(has("\"complete\": true"));
    EXPECT_TRUE(has("\"job\": \"47\""));
    EXPECT_TRUE(has("\"am\": 2,"));
    EXPECT_TRUE(has("\"am\": {\"16\": 2}"));
    EXPECT_TRUE(has("\"workers\": [\"0000000000001111\"]"));
    EXPECT_TRUE(has("{\"worker\": \"0000000000002222\", \"am\": [1, 10]},\n"
                    "{\"worker\": \"0000000000003333\", \"am\": [1, 16]}]"));
}

/* The process may be killed at any time: the file is there from the start, and is written again */
TEST_F(test_report_file, written_meanwhile)
{
    node n(0x1111);

    EXPECT_TRUE(has("\"complete\": false"));
    EXPECT_TRUE(has("\"am\": 0,"));
    n.send(n.connect(n.new_endpoint(nullptr), 0x2222), bytes(10), 1);
    tick_for(n.worker(), 0.1);
    EXPECT_TRUE(has("\"am\": 0,")); /* not at each call */
    tick_for(n.worker(), 1.2);
    EXPECT_TRUE(has("\"am\": 1,"));
    EXPECT_TRUE(has("\"complete\": false"));
    EXPECT_NE(0, access((m_path + ".3.tmp").c_str(), F_OK));
    ri_report_worker(n.worker());
}

/* What is published is not counted twice */
TEST_F(test_report_file, several_workers)
{
    {
        node first(0x1111), second(0x2222);

        first.send(first.connect(first.new_endpoint(nullptr), 0x3333), bytes(10), 1);
        second.send(second.connect(second.new_endpoint(nullptr), 0x3333), bytes(10), 1);
        tick_for(second.worker(), 1.2);
        EXPECT_TRUE(has("\"am\": 1,")); /* what the first has published, nothing */
        ri_report_worker(first.worker());
        ri_report_worker(second.worker());
    }
    ri_report_print();
    EXPECT_TRUE(has("\"am\": 2,"));
    EXPECT_TRUE(has("{\"worker\": \"0000000000003333\", \"am\": [2, 20]}]"));
}

TEST_F(test_report_file, name_without_a_rank)
{
    ri_config.report_json = m_path.c_str();
    {
        node n(0x1111);
        ri_report_worker(n.worker());
    }
    EXPECT_EQ(0, unlink((m_path + ".47.3.json").c_str()));
}

TEST_F(test_report_file, not_in_a_child)
{
    node n(0x1111);
    std::string before = read(m_path + ".3");
    pid_t child        = fork();

    if (child == 0) {
        ri_report_file_end();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT_EQ(before, read(m_path + ".3"));
    ri_report_worker(n.worker());
}

TEST_F(test_report_file, cannot_be_written)
{
    ri_log_level          = RI_LOG_LEVEL_WARN;
    ri_config.report_json = "/nonexistent/%r";
    testing::internal::CaptureStderr();
    {
        node n(0x1111);
        tick_for(n.worker(), 1.2);
        ri_report_worker(n.worker());
    }
    ri_report_print();
    std::string lines = testing::internal::GetCapturedStderr();
    size_t first      = lines.find("cannot write /nonexistent/3.tmp: No such file");
    EXPECT_NE(std::string::npos, first) << lines;
    EXPECT_EQ(std::string::npos, lines.find("cannot write", first + 1)) << lines;
}

} // namespace
