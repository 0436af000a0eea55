/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_run_env.c */

extern "C" {
#include "tools/ucxri_run_env.h"
}

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace {

const char *const LIB = "/opt/ucxri/lib/libucxri.so";

std::string preload(const char *list, const char *library)
{
    char *value        = run_env_preload(list, library);
    std::string result = (value == nullptr) ? "no memory" : value;

    free(value);
    return result;
}

TEST(test_run_env, launchers)
{
    for (const char *name :
         {"mpiexec", "/usr/bin/mpirun", "mpiexec.hydra", "mpirun.openmpi",
          "mpiexec.mpich", "prterun", "prun", "orterun", "./srun"}) {
        EXPECT_TRUE(run_env_is_launcher(name)) << name;
    }
    for (const char *name :
         {"./app", "mpiexec/app", "mpi", "mpirunner", "srun2", "", "a.mpirun"}) {
        EXPECT_FALSE(run_env_is_launcher(name)) << name;
    }
}

TEST(test_run_env, libraries_for_windows)
{
    char libraries[256];
    std::string folder = testing::TempDir();
    std::string file   = folder + "libucxri_win_mpich.so";

    run_env_add_windows(LIB, nullptr, libraries, sizeof(libraries));
    EXPECT_STREQ(LIB, libraries);
    unlink(file.c_str());
    run_env_add_windows((folder + "libucxri.so").c_str(), "libucxri_win_mpich.so",
                        libraries, sizeof(libraries));
    EXPECT_EQ(folder + "libucxri.so", libraries);
    fclose(fopen(file.c_str(), "w"));
    run_env_add_windows((folder + "libucxri.so").c_str(), "libucxri_win_mpich.so",
                        libraries, sizeof(libraries));
    EXPECT_EQ(folder + "libucxri.so:" + file, libraries);
    EXPECT_EQ(libraries + std::string(":/opt/tool.so"),
              preload("/opt/libucxri_win_openmpi.so:/opt/tool.so:libucxri_win_mpich.so:"
                      "/other/libucxri.so",
                      libraries));
    unlink(file.c_str());
}

TEST(test_run_env, preload_in_front)
{
    EXPECT_EQ(LIB, preload(nullptr, LIB));
    EXPECT_EQ(LIB, preload("", LIB));
    EXPECT_EQ(std::string(LIB) + ":/a.so:b.so", preload("/a.so:b.so", LIB));
    EXPECT_EQ(std::string(LIB) + ":/a.so:b.so", preload(" /a.so  b.so:", LIB));
}

TEST(test_run_env, preload_once)
{
    EXPECT_EQ(LIB, preload(LIB, LIB));
    EXPECT_EQ(std::string(LIB) + ":a.so",
              preload((std::string("a.so:") + LIB + ":" + LIB).c_str(), LIB));
    EXPECT_EQ(LIB, preload("libucxri.so /other/libucxri.so", LIB));
    EXPECT_EQ(std::string(LIB) + ":libucxri.so.1:mylibucxri.so",
              preload("libucxri.so.1:mylibucxri.so", LIB));
}

TEST(test_run_env, preload_removed)
{
    EXPECT_EQ("", preload(nullptr, nullptr));
    EXPECT_EQ("", preload(LIB, nullptr));
    EXPECT_EQ("/a.so:b.so",
              preload((std::string("/a.so:") + LIB + " b.so").c_str(), nullptr));
}

std::string find_library(const std::string &self)
{
    char path[4096];

    run_env_find_library(self.c_str(), path, sizeof(path));
    return path;
}

TEST(test_run_env, library)
{
    const std::string installed = find_library("/nonexistent/bin/ucxri_run");
    char folder[]               = "/tmp/ucxri_test_run_env.XXXXXX";

    ASSERT_NE(nullptr, mkdtemp(folder));
    const std::string top = folder;
    auto file             = [&](const std::string &path) {
        return system(("mkdir -p $(dirname " + path + ") && : >" + path).c_str());
    };
    EXPECT_EQ("/libucxri.so", installed.substr(installed.rfind('/')));
    EXPECT_EQ(installed, find_library(top + "/bin/ucxri_run"));

    /* An installation that was moved: how many folders of the prefix went is not known here */
    for (size_t at = installed.rfind('/'); at != 0;) {
        at = installed.rfind('/', at - 1);
        EXPECT_EQ(0, file(top + installed.substr(at)));
    }
    EXPECT_EQ(0u, find_library(top + "/bin/ucxri_run").find(top + "/"));

    EXPECT_EQ(0, file(top + "/src/libucxri.so"));
    EXPECT_EQ(top + "/src/libucxri.so", find_library(top + "/src/ucxri_run"));
    EXPECT_EQ(0, system(("rm -r " + top).c_str()));
}

class test_run_env_switch : public testing::Test {
protected:
    void SetUp() override
    {
        for (const char *name :
             {"LD_PRELOAD", "UCX_RNDV_SCHEME", "MPI_UCX_RNDV_SCHEME"}) {
            unsetenv(name);
        }
    }

    void TearDown() override { SetUp(); }

    static std::string get(const char *name)
    {
        const char *value = getenv(name);

        return (value == nullptr) ? "(unset)" : value;
    }

    /* What is printed */
    static std::string on(int is_loud)
    {
        testing::internal::CaptureStderr();
        EXPECT_TRUE(run_env_switch_on(LIB, is_loud));
        EXPECT_EQ("recv_init", get("UCX_RNDV_SCHEME"));
        return testing::internal::GetCapturedStderr();
    }
};

TEST_F(test_run_env_switch, on_and_off)
{
    EXPECT_EQ("", on(1));
    EXPECT_EQ(LIB, get("LD_PRELOAD"));
    EXPECT_EQ("", on(1));
    EXPECT_EQ(LIB, get("LD_PRELOAD"));
    EXPECT_TRUE(run_env_switch_off());
    EXPECT_EQ("(unset)", get("LD_PRELOAD"));
    EXPECT_EQ("(unset)", get("UCX_RNDV_SCHEME"));
}

TEST_F(test_run_env_switch, other_values_are_replaced)
{
    setenv("UCX_RNDV_SCHEME", "put_zcopy", 1);
    setenv("MPI_UCX_RNDV_SCHEME", "am", 1);
    EXPECT_EQ("ucxri_run: UCX_RNDV_SCHEME='put_zcopy' is replaced by recv_init (--off "
              "keeps it)\n"
              "ucxri_run: MPI_UCX_RNDV_SCHEME='am' is replaced by recv_init (--off keeps "
              "it)\n",
              on(1));
    EXPECT_EQ("(unset)", get("MPI_UCX_RNDV_SCHEME"));

    setenv("UCX_RNDV_SCHEME", "recv-init", 1);
    EXPECT_EQ("", on(0));
}

TEST_F(test_run_env_switch, a_blank_at_the_end_is_seen)
{
    setenv("UCX_RNDV_SCHEME", "recv_init ", 1);
    EXPECT_EQ("ucxri_run: UCX_RNDV_SCHEME='recv_init ' is misspelt: it counts as "
              "recv_init\n",
              on(1));
}

TEST_F(test_run_env_switch, off_keeps_the_rest)
{
    setenv("UCX_RNDV_SCHEME", "put_zcopy", 1);
    setenv("MPI_UCX_RNDV_SCHEME", "recv-init", 1);
    setenv("LD_PRELOAD", "/a.so", 1);
    EXPECT_TRUE(run_env_switch_off());
    EXPECT_EQ("/a.so", get("LD_PRELOAD"));
    EXPECT_EQ("put_zcopy", get("UCX_RNDV_SCHEME"));
    EXPECT_EQ("(unset)", get("MPI_UCX_RNDV_SCHEME"));
}

} // namespace
