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
        unsetenv("OMPI_MCA_pml");
    }

    void TearDown() override
    {
        unsetenv("OMPI_MCA_pml");
        unsetenv("UCX_RNDV_SCHEME");
        if (!m_scheme.empty()) {
            setenv("UCX_RNDV_SCHEME", m_scheme.c_str(), 1);
        }
    }

    /* What follows "because", or "": nothing is said. */
    static std::string explain(unsigned facts)
    {
        char text[512] = "untouched";

        return ri_inert_explain(facts, text, sizeof(text)) ? text : "";
    }

    static void expect(unsigned facts, const std::string &part)
    {
        EXPECT_NE(std::string::npos, explain(facts).find(part))
                << "'" << explain(facts) << "' has no '" << part << "'";
    }

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
    expect(RI_INERT_NO_SWITCH, "UCX_RNDV_SCHEME is not set");
    expect(RI_INERT_NO_SWITCH | OPENMPI | RI_INERT_HAS_UCP | RI_INERT_NO_TAGS,
           "UCX_RNDV_SCHEME is not set");
    setenv("UCX_RNDV_SCHEME", "put_zcopy", 1);
    expect(RI_INERT_NO_SWITCH, "UCX_RNDV_SCHEME is 'put_zcopy'");
    setenv("UCX_RNDV_SCHEME", "recv_init", 1);
    expect(RI_INERT_NO_SWITCH, "has chosen another value");
}

TEST_F(test_inert, other_pml)
{
    expect(OPENMPI, "OMPI_MCA_pml is not set");
    setenv("OMPI_MCA_pml", "ob1", 1);
    expect(OPENMPI, "OMPI_MCA_pml is ob1");
    /* its component was opened, and not taken */
    expect(OPENMPI | RI_INERT_NO_WORKER | RI_INERT_HAS_UCP, "OMPI_MCA_pml is ob1");
    /* its windows are UCX's */
    expect(OPENMPI | RI_INERT_ONE_SIDED | RI_INERT_HAS_UCP, "OMPI_MCA_pml is ob1");
}

TEST_F(test_inert, other_reasons)
{
    EXPECT_EQ("", explain(RI_INERT_ONE_SIDED | RI_INERT_NO_WORKER | RI_INERT_HAS_UCP));
    expect(RI_INERT_NO_TAGS | RI_INERT_HAS_UCP, "asked UCX neither for tag matching");
    expect(RI_INERT_NO_WORKER | RI_INERT_HAS_UCP, "no worker");
    expect(RI_INERT_HAS_MPI, "did not use UCX");
    expect(RI_INERT_HAS_MPI | RI_INERT_HAS_UCP, "did not use UCX");
    expect(RI_INERT_HAS_UCP, "no context of UCX");
}

} // namespace
