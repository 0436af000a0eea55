/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/inert.c: the reasons. What a process prints is tested by report.test. */

extern "C" {
#include "ucp/run/inert.h"
}

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace {

const unsigned OPENMPI = RI_INERT_HAS_MPI | RI_INERT_HAS_OPENMPI;

class test_inert : public testing::Test {
protected:
    void SetUp() override
    {
        const char *value = getenv("UCX_RNDV_SCHEME");

        m_scheme = (value == nullptr) ? "" : value;
        unsetenv("UCX_RNDV_SCHEME");
        clear();
    }

    void TearDown() override
    {
        clear();
        unsetenv("UCX_RNDV_SCHEME");
        if (!m_scheme.empty()) {
            setenv("UCX_RNDV_SCHEME", m_scheme.c_str(), 1);
        }
    }

    static void clear()
    {
        for (auto name :
             {"MPI_UCX_RNDV_SCHEME", "OMPI_MCA_pml", "OMPI_MCA_opal_common_ucx_tls",
              "OMPI_MCA_opal_common_ucx_devices"}) {
            unsetenv(name);
        }
    }

    /* What follows "because", or "": nothing is said. */
    std::string explain(unsigned facts)
    {
        char because[RI_INERT_TEXT_MAX] = "untouched";
        char remedy[RI_INERT_TEXT_MAX]  = "";
        int said                        = ri_inert_explain(facts, because, remedy);

        m_remedy = remedy;
        return said ? because : "";
    }

    void expect(unsigned facts, const std::string &part, const std::string &remedy = "")
    {
        EXPECT_NE(std::string::npos, explain(facts).find(part))
                << "'" << explain(facts) << "' has no '" << part << "'";
        EXPECT_NE(std::string::npos, m_remedy.find(remedy))
                << "'" << m_remedy << "' has no '" << remedy << "'";
    }

    std::string m_remedy;

private:
    std::string m_scheme;
};

TEST_F(test_inert, a_served_worker_is_not_inert)
{
    EXPECT_EQ("", explain(RI_INERT_NOT_AT_ALL));
    EXPECT_EQ("", explain(~0u));
}

TEST_F(test_inert, shells_say_nothing)
{
    EXPECT_EQ("", explain(0));
    EXPECT_EQ("", explain(RI_INERT_HAS_OPENMPI)); /* mpirun */
}

TEST_F(test_inert, switch_is_missing)
{
    expect(RI_INERT_NO_SWITCH, "UCX_RNDV_SCHEME is not set",
           "use ucxri_run, or set UCX_RNDV_SCHEME=recv_init");
    expect(RI_INERT_NO_SWITCH | OPENMPI | RI_INERT_HAS_UCP | RI_INERT_NO_TAGS,
           "UCX_RNDV_SCHEME is not set");
    setenv("UCX_RNDV_SCHEME", "put_zcopy", 1);
    expect(RI_INERT_NO_SWITCH, "UCX_RNDV_SCHEME is 'put_zcopy'");
    setenv("UCX_RNDV_SCHEME", "recv_init", 1);
    expect(RI_INERT_NO_SWITCH, "has chosen another scheme");
}

/* The variable with a prefix wins where the program has given that to UCX. */
TEST_F(test_inert, variable_with_a_prefix)
{
    setenv("UCX_RNDV_SCHEME", "recv_init", 1);
    setenv("MPI_UCX_RNDV_SCHEME", "get_zcopy", 1);
    expect(RI_INERT_NO_SWITCH | OPENMPI, "MPI_UCX_RNDV_SCHEME is 'get_zcopy'",
           "unset MPI_UCX_RNDV_SCHEME");
    expect(RI_INERT_NO_SWITCH, "MPI_UCX_RNDV_SCHEME is 'get_zcopy'");
    setenv("UCX_RNDV_SCHEME", "am", 1);
    expect(RI_INERT_NO_SWITCH, "UCX_RNDV_SCHEME is 'am'");
    unsetenv("MPI_UCX_RNDV_SCHEME");
}

TEST_F(test_inert, ucx_refuses_the_value)
{
    setenv("UCX_RNDV_SCHEME", "rtr", 1);
    expect(RI_INERT_REFUSED | RI_INERT_HAS_MPI | RI_INERT_HAS_UCP,
           "UCX refuses it: UCX_RNDV_SCHEME is 'rtr'", "ucxri_run");
    setenv("UCX_RNDV_SCHEME", "recv_init", 1);
    expect(RI_INERT_REFUSED | RI_INERT_HAS_MPI | RI_INERT_HAS_UCP,
           "UCX has refused its configuration");
}

TEST_F(test_inert, other_pml)
{
    expect(OPENMPI, "another pml than ucx", "use ucxri_run");
    /* its component was opened, and not taken */
    expect(OPENMPI | RI_INERT_NO_WORKER | RI_INERT_HAS_UCP, "another pml than ucx");
    /* its windows are UCX's */
    expect(OPENMPI | RI_INERT_ONE_SIDED | RI_INERT_HAS_UCP, "another pml than ucx");
}

/* What the user has set of Open MPI is what can be unset */
TEST_F(test_inert, parameters_of_open_mpi)
{
    setenv("OMPI_MCA_pml", "ucx", 1);
    expect(OPENMPI, "another pml than ucx", "use ucxri_run, which sets");
    setenv("OMPI_MCA_opal_common_ucx_tls", "rc", 1);
    expect(OPENMPI, "another pml than ucx",
           "unset OMPI_MCA_opal_common_ucx_tls, and use");
    setenv("OMPI_MCA_pml", "ob1", 1);
    expect(OPENMPI, "another pml than ucx", "unset OMPI_MCA_pml, and use");
}

TEST_F(test_inert, other_reasons)
{
    EXPECT_EQ("", explain(RI_INERT_ONE_SIDED | RI_INERT_NO_WORKER | RI_INERT_HAS_UCP));
    expect(RI_INERT_NO_TAGS | RI_INERT_HAS_UCP, "asked UCX for no messages");
    expect(RI_INERT_NO_WORKER | RI_INERT_HAS_UCP, "no worker");
    expect(RI_INERT_HAS_MPI, "did not use UCX");
    expect(RI_INERT_HAS_MPI | RI_INERT_HAS_UCP, "did not use UCX");
    expect(RI_INERT_HAS_UCP, "no context of UCX");
}

/* A line of the report has 57 columns in front, and fits a terminal. */
TEST_F(test_inert, lines_are_short)
{
    for (unsigned facts = 0; facts < 512; ++facts) {
        EXPECT_GE(43u, explain(facts).size()) << explain(facts);
        EXPECT_GE(54u, m_remedy.size()) << m_remedy;
    }
}

} // namespace
