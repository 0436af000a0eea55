/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucs/output.c: names of files for reports. */

extern "C" {
#include "ucs/output.h"
}

#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace {

/* As a process that no launcher has started: a launcher's variables are set back afterwards. */
class test_output : public ::testing::Test {
protected:
    test_output()
    {
        for (const char *name :
             {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "PMIX_NAMESPACE",
              "FLUX_JOB_ID", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK",
              "SLURM_PROCID", "SLURM_STEP_ID"}) {
            unsetenv(name);
        }
    }

    /* The name with what it contains put in, and "+" if it is another one for each process. */
    static std::string path(const char *name, size_t max = 300)
    {
        char text[300];
        int is_own = ri_output_path(name, text, max);

        return text + std::string(is_own ? "+" : "");
    }
};

TEST_F(test_output, without_a_launcher)
{
    std::string pid = std::to_string(getpid());
    char host[256]  = "";

    gethostname(host, sizeof(host) - 1);
    EXPECT_EQ("a", path("a"));
    EXPECT_EQ("a" + pid + "b+", path("a%pb"));
    EXPECT_EQ("p" + pid + "+", path("%r"));
    EXPECT_EQ("x0y", path("x%jy"));
    EXPECT_EQ(host, path("%h"));
}

TEST_F(test_output, with_a_launcher)
{
    setenv("SLURM_PROCID", "7", 1);
    setenv("SLURM_JOB_ID", "1234", 1);
    EXPECT_EQ("7+", path("%r"));
    EXPECT_NE("0", path("%j"));
    unsetenv("SLURM_PROCID");
    unsetenv("SLURM_JOB_ID");
}

TEST_F(test_output, what_does_not_fit_is_cut_off)
{
    EXPECT_EQ("abc", path("abcdef", 4));
    EXPECT_EQ("", path("abcdef", 1));
}

/* Output of the process itself is no file of that name, and stays open. */
TEST_F(test_output, streams)
{
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(stderr, ri_output_open("stderr"));
        ri_output_close(stderr);
        EXPECT_EQ(stdout, ri_output_open("stdout"));
        ri_output_close(stdout);
        EXPECT_LE(0, fcntl(fileno(stderr), F_GETFD));
        EXPECT_LE(0, fcntl(fileno(stdout), F_GETFD));
    }
    EXPECT_NE(0, unlink("stderr"));
    EXPECT_NE(0, unlink("stdout"));
}

/* A file grows; one that cannot be opened is said, and its output is not lost. */
TEST_F(test_output, files)
{
    char folder[] = "/tmp/test_output.XXXXXX";

    ASSERT_NE(nullptr, mkdtemp(folder));
    std::string name = folder + std::string("/%p");
    std::string file = folder + ("/" + std::to_string(getpid()));

    for (const char *text : {"one ", "two"}) {
        FILE *stream = ri_output_open(name.c_str());
        ASSERT_NE(stderr, stream);
        fputs(text, stream);
        ri_output_close(stream);
    }
    char content[20] = "";
    FILE *stream     = fopen(file.c_str(), "r");
    ASSERT_NE(nullptr, stream);
    EXPECT_NE(nullptr, fgets(content, sizeof(content), stream));
    EXPECT_STREQ("one two", content);
    fclose(stream);
    unlink(file.c_str());
    rmdir(folder);

    testing::internal::CaptureStderr();
    stream           = ri_output_open(name.c_str());
    std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(stderr, stream);
    EXPECT_NE(std::string::npos, said.find("cannot open " + file)) << said;
}

} // namespace
