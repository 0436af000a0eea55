/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/rank.c */

extern "C" {
#include "ucs/rank.h"
}

#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

const char *const VARIABLES[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                 "SLURM_PROCID"};
const char *const COUNTS[]    = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
const char *const LOCALS[]    = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
const char *const JOBS[] = {"SLURM_JOB_ID", "SLURM_STEP_ID", "PBS_JOBID",     "LSB_JOBID",
                            "JOB_ID",       "FLUX_JOB_ID",   "PMIX_NAMESPACE"};

class test_rank : public testing::Test {
protected:
    void SetUp() override
    {
        for (const char *name : VARIABLES) {
            unsetenv(name);
        }
        for (const char *name : COUNTS) {
            unsetenv(name);
        }
        for (const char *name : LOCALS) {
            unsetenv(name);
        }
        for (const char *name : JOBS) {
            unsetenv(name);
        }
    }

    void TearDown() override { SetUp(); }
};

TEST_F(test_rank, none)
{
    EXPECT_EQ(nullptr, ri_rank_text());
    EXPECT_EQ(-1, ri_rank_number());
    EXPECT_TRUE(ri_rank_is_first());
}

TEST_F(test_rank, each_launcher)
{
    for (const char *name : VARIABLES) {
        setenv(name, "12", 1);
        EXPECT_STREQ("12", ri_rank_text()) << name;
        EXPECT_EQ(12, ri_rank_number()) << name;
        EXPECT_FALSE(ri_rank_is_first()) << name;
        setenv(name, "0", 1);
        EXPECT_STREQ("0", ri_rank_text()) << name;
        EXPECT_TRUE(ri_rank_is_first()) << name;
        unsetenv(name);
    }
}

/* A Slurm job may run another launcher, whose rank counts. */
TEST_F(test_rank, slurm_comes_last)
{
    setenv("SLURM_PROCID", "0", 1);
    setenv("PMI_RANK", "3", 1);
    EXPECT_STREQ("3", ri_rank_text());
}

TEST_F(test_rank, what_is_no_number_is_no_rank)
{
    for (const char *text : {"", "-1", "x", "1 ", "0x1", "12345678901"}) {
        setenv("PMI_RANK", text, 1);
        EXPECT_EQ(nullptr, ri_rank_text()) << text;
    }
    setenv("SLURM_PROCID", "5", 1);
    EXPECT_STREQ("5", ri_rank_text());
}

TEST_F(test_rank, number_of_ranks)
{
    EXPECT_EQ(nullptr, ri_rank_count_text());
    for (const char *name : COUNTS) {
        setenv(name, "x", 1);
        EXPECT_EQ(nullptr, ri_rank_count_text());
        setenv(name, "512", 1);
        EXPECT_STREQ("512", ri_rank_count_text()) << name;
        unsetenv(name);
    }
}

TEST_F(test_rank, ranks_on_this_host)
{
    EXPECT_EQ(-1, ri_rank_local_count());
    for (const char *name : LOCALS) {
        setenv(name, "-3", 1);
        EXPECT_EQ(-1, ri_rank_local_count());
        setenv(name, "48", 1);
        EXPECT_EQ(48, ri_rank_local_count()) << name;
        unsetenv(name);
    }
}

/* Each launcher's place among the ranks of the host; without it, rank 0 speaks. */
TEST_F(test_rank, first_of_host)
{
    EXPECT_TRUE(ri_rank_is_first_of_host());
    setenv("PMI_RANK", "3", 1);
    EXPECT_FALSE(ri_rank_is_first_of_host());
    for (const char *name : {"OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_LOCAL_RANK",
                             "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
        setenv(name, "0", 1);
        EXPECT_TRUE(ri_rank_is_first_of_host()) << name;
        setenv(name, "1", 1);
        EXPECT_FALSE(ri_rank_is_first_of_host()) << name;
        unsetenv(name);
    }
}

TEST_F(test_rank, job)
{
    char job[64] = "", cut[4] = "";

    EXPECT_FALSE(ri_rank_job(job, sizeof(job)));
    EXPECT_STREQ("-", job);
    setenv("SLURM_STEP_ID", "3", 1); /* of no job */
    for (const char *name :
         {"PMIX_NAMESPACE", "FLUX_JOB_ID", "JOB_ID", "LSB_JOBID", "PBS_JOBID"}) {
        setenv(name, name, 1); /* each goes before those that are set already */
        EXPECT_TRUE(ri_rank_job(job, sizeof(job)));
        EXPECT_STREQ(name, job);
    }
    setenv("SLURM_JOB_ID", "4711", 1);
    EXPECT_TRUE(ri_rank_job(job, sizeof(job)));
    EXPECT_STREQ("4711.3", job);
    unsetenv("SLURM_STEP_ID");
    ri_rank_job(job, sizeof(job));
    EXPECT_STREQ("4711", job);
    ri_rank_job(cut, sizeof(cut));
    EXPECT_STREQ("471", cut);
    setenv("SLURM_JOB_ID", "", 1); /* is none */
    ri_rank_job(job, sizeof(job));
    EXPECT_STREQ("PBS_JOBID", job);
    setenv("PBS_JOBID", "/a b/c", 1);
    ri_rank_job(job, sizeof(job));
    EXPECT_STREQ("_a_b_c", job);
}

TEST_F(test_rank, host_has_no_domain)
{
    char host[64] = "", cut[2] = "";

    ri_rank_host(host, sizeof(host));
    EXPECT_STRNE("", host);
    EXPECT_EQ(nullptr, strchr(host, '.'));
    ri_rank_host(cut, sizeof(cut));
    EXPECT_EQ(host[0], cut[0]);
    EXPECT_EQ('\0', cut[1]);
}

TEST_F(test_rank, names_of_host_and_process)
{
    char name[256], host[64], process[80], few[4];

    ASSERT_EQ(0, gethostname(name, sizeof(name)));
    std::string expected = std::string(name).substr(0, std::string(name).find('.'));
    ri_rank_host(host, sizeof(host));
    EXPECT_EQ(expected.substr(0, sizeof(host) - 1), host);
    ri_rank_process(process, sizeof(process));
    EXPECT_EQ(std::string(host) + ":" + std::to_string(getpid()), process);
    ri_rank_host(few, sizeof(few));
    EXPECT_EQ(expected.substr(0, 3), few);
}

/* Hydra's proxy is a shell here, which has the arguments of one. Behind it there may be other shells,
 * and at the end this program, with the test of test_rank_told alone. */
class test_rank_hydra : public test_rank {
protected:
    static constexpr const char *BEGIN = "the job: ";

    void SetUp() override
    {
        char folder[] = "/tmp/test_rank.XXXXXX";

        test_rank::SetUp();
        ASSERT_NE(nullptr, mkdtemp(folder));
        m_folder = folder;
        m_files  = {m_folder + "/a) R 1 (b"}; /* a shell, with a name that is allowed */
        ASSERT_EQ(0, symlink("/bin/sh", m_files[0].c_str()));
    }

    void TearDown() override
    {
        for (const std::string &file : m_files) {
            unlink(file.c_str());
        }
        rmdir(m_folder.c_str());
        test_rank::TearDown();
    }

    /* A command that a shell with some arguments runs, and waits for */
    std::string below(const std::string &command, const std::string &arguments = "")
    {
        m_files.push_back(m_folder + "/" + std::to_string(m_files.size()));
        std::ofstream(m_files.back()) << command << "\nexit $?\n";
        return "'" + m_files[0] + "' " + m_files.back() + " " + arguments;
    }

    static std::string self()
    {
        char path[4096];
        ssize_t length = readlink("/proc/self/exe", path, sizeof(path));

        return std::string(path, (length < 0) ? 0 : length) +
               " --gtest_filter=test_rank_told.job";
    }

    /* @return What the program says at the end of a chain. It is to run its one test, whichever tests
     * this one is to run. */
    static std::string said(const std::string &command)
    {
        const std::string all = "unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX GTEST_OUTPUT;"
                                "PMI_RANK=0 ";
        FILE *stream          = popen((all + command).c_str(), "r");
        std::string text;
        char line[512];

        while ((stream != nullptr) && (fgets(line, sizeof(line), stream) != nullptr)) {
            text += line;
        }
        EXPECT_EQ(0, pclose(stream)) << text;
        size_t begin = text.find(BEGIN);
        if (begin == std::string::npos) {
            return text;
        }
        begin += strlen(BEGIN);
        return text.substr(begin, text.find('\n', begin) - begin);
    }

    std::string m_folder;
    std::vector<std::string> m_files;
};

TEST_F(test_rank_hydra, job_is_where_mpiexec_listens)
{
    EXPECT_EQ("node7-4711", said(below(self(), "--rmk user --control-port node7:4711")));
    EXPECT_EQ("no%de-4711", said(below(self(), "--control-port no%de:4711")));
    EXPECT_EQ("node7.x-12345678",
              said(below(self(), "--control-port node7.x:1234567890 --last")));
    EXPECT_EQ(std::string(40, 'n') + "-4711",
              said(below(self(), "--control-port " + std::string(50, 'n') + ":4711")));
}

/* The nearest one counts, as jobs may be started in jobs; and not from far away. */
TEST_F(test_rank_hydra, shells_stand_between)
{
    std::string command = below(self());

    EXPECT_EQ("node7-4711", said(below(command, "--control-port node7:4711")));
    EXPECT_EQ("near-1", said(below(below(command, "--control-port near:1"),
                                   "--control-port far:2")));
    command = below(below(below(command)));
    EXPECT_EQ("node7-4711", said(below(command, "--control-port node7:4711")));
    EXPECT_EQ("-", said(below(below(command), "--control-port node7:4711")));
}

TEST_F(test_rank_hydra, none)
{
    EXPECT_EQ("-", said(below(self())));
    EXPECT_EQ("-", said(below(self(), "--control-port node7")));
    EXPECT_EQ("-", said(below(self(), "--control-port"))) << "nothing is behind it";
    EXPECT_EQ("-",
              said(below(below(self(), "--control-port node7"), "--control-port far:2")))
            << "it is the nearest one that says nothing";
}

/* What the program at the end of those chains does, which is right of any parents. It asks once without
 * a rank: then no launcher is looked for, whatever its parents are. */
class test_rank_told : public test_rank {
protected:
    static unsigned num_files()
    {
        DIR *files     = opendir("/proc/self/fd");
        unsigned count = 0;

        while (readdir(files) != nullptr) {
            ++count;
        }
        closedir(files);
        return count;
    }
};

TEST_F(test_rank_told, job)
{
    unsigned files = num_files();
    char job[256];

    EXPECT_FALSE(ri_rank_job(job, sizeof(job)));
    EXPECT_STREQ("-", job);
    setenv("PMI_RANK", "0", 1);
    int is_any = ri_rank_job(job, sizeof(job));
    EXPECT_EQ(strcmp(job, "-") != 0, is_any != 0);
    printf("the job: %s\n", job);
    EXPECT_EQ(files, num_files());
}

} // namespace
