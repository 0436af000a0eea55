/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * gtest_ucp: tests of the UCP API's semantics. Run it as it is for stock UCX, and with
 * LD_PRELOAD=libucxri.so UCX_RNDV_SCHEME=recv_init for the library; see
 * test/gtest/README.md. --help lists the options of googletest.
 */

#include "peer.h"

#include <signal.h>
#include <unistd.h>

namespace {

/* The helpers' waits have deadlines; this is for calls that block inside UCX. */
void on_alarm(int)
{
    static const char text[] = "gtest_ucp: the test above blocks in a call, giving up\n";

    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0) {
        _exit(2);
    }
    _exit(1);
}

class time_limit : public ::testing::EmptyTestEventListener {
    void OnTestStart(const ::testing::TestInfo &) override
    {
        alarm(ucp_test::test_limit());
    }

    void OnTestEnd(const ::testing::TestInfo &) override { alarm(0); }
};

} // namespace

int main(int argc, char **argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    signal(SIGALRM, on_alarm);
    ucp_test::fork_server_start();
    ::testing::UnitTest::GetInstance()->listeners().Append(new time_limit);
    int ret = RUN_ALL_TESTS();
    ucp_test::fork_server_stop();
    return ret;
}
