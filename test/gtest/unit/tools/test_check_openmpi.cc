/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/tools/ucxri_check_openmpi.c */

extern "C" {
#include "tools/ucxri_check_openmpi.h"
}

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>

namespace {

/* An installation in a folder, and a home in it. */
class test_check_openmpi : public testing::Test {
protected:
    void SetUp() override
    {
        char folder[] = "/tmp/ucxri_test_openmpi.XXXXXX";

        ASSERT_NE(nullptr, mkdtemp(folder));
        m_top    = folder;
        m_libmpi = m_top + "/lib/libmpi.so.40";
        file(m_libmpi);
        m_home = (getenv("HOME") == nullptr) ? "" : getenv("HOME");
        setenv("HOME", (m_top + "/home").c_str(), 1);
        unset();
    }

    void TearDown() override
    {
        unset();
        setenv("HOME", m_home.c_str(), 1);
        EXPECT_EQ(0, system(("rm -r " + m_top).c_str()));
    }

    static void unset()
    {
        for (const char *name :
             {"OMPI_MCA_pml", "OMPI_MCA_mca_base_component_path", "OPAL_PREFIX"}) {
            unsetenv(name);
        }
    }

    void file(const std::string &path, const std::string &content = "")
    {
        ASSERT_EQ(0, system(("mkdir -p $(dirname " + path + ")").c_str()));
        std::ofstream(path) << content;
    }

    std::string find()
    {
        char path[4096];

        return check_openmpi_find_component(m_libmpi.c_str(), path, sizeof(path)) ?
                       path :
                       "(none)";
    }

    /* "value by where" */
    std::string pml(int is_by_user)
    {
        char value[256], where[256];

        return check_openmpi_get("pml", is_by_user ? nullptr : m_libmpi.c_str(), value,
                                 where, sizeof(value)) ?
                       std::string(value) + " by " + where :
                       "(none)";
    }

    std::string m_top, m_libmpi, m_home;
};

TEST_F(test_check_openmpi, component)
{
    EXPECT_EQ("(none)", find());
    for (const char *folder :
         {"lib/openmpi/lib/openmpi3", "lib/openmpi3", "lib/openmpi"}) {
        std::string path = m_top + "/" + folder + "/mca_pml_ucx.so";

        file(path);
        EXPECT_EQ(path, find());
    }
}

TEST_F(test_check_openmpi, component_where_the_user_says)
{
    std::string path = m_top + "/mine/mca_pml_ucx.so";

    file(m_top + "/lib/openmpi/mca_pml_ucx.so");
    file(path);
    setenv("OMPI_MCA_mca_base_component_path", ("system:" + m_top + "/mine").c_str(), 1);
    EXPECT_EQ(path, find());
    unset();
    path = m_top + "/prefix/lib64/openmpi/mca_pml_ucx.so";
    file(path);
    setenv("OPAL_PREFIX", (m_top + "/prefix").c_str(), 1);
    EXPECT_EQ(path, find());
}

TEST_F(test_check_openmpi, parameters)
{
    std::string system_file = m_top + "/lib/../etc/openmpi-mca-params.conf";
    std::string user_file   = m_top + "/home/.openmpi/mca-params.conf";

    EXPECT_EQ("(none)", pml(1));
    file(system_file, "# pml = x\npml_base = y\n  pml=^ucx # why\nbtl = z\n");
    EXPECT_EQ("^ucx by " + system_file, pml(0));
    EXPECT_EQ("(none)", pml(1));
    file(user_file, "pml = cm\npml\t=\tob1\n");
    EXPECT_EQ("ob1 by " + user_file, pml(0));
    EXPECT_EQ("ob1 by " + user_file, pml(1));
    setenv("OMPI_MCA_pml", "ucx", 1);
    EXPECT_EQ("ucx by OMPI_MCA_pml", pml(1));
}

TEST_F(test_check_openmpi, allows_ucx)
{
    for (const char *pml : {"ucx", "ucx,ob1", "ob1,ucx", "^ob1", "^cm,ob1"}) {
        EXPECT_TRUE(check_openmpi_allows_ucx(pml)) << pml;
    }
    for (const char *pml : {"ob1", "^ucx", "^cm,ucx", "", "ucx2", "cm,ob1"}) {
        EXPECT_FALSE(check_openmpi_allows_ucx(pml)) << pml;
    }
}

} // namespace
