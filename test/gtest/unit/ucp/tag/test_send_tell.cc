/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/tag/send_tell.c: a line for the first use of a protocol by a conn, at log level info. The
 * tests run src/ucp/core/tell.c, too.
 */

#include "unit/fakes/fake_ucx.h"

#include <algorithm>

using namespace fake;

namespace {

class test_send_tell : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        ucx::get()->rndv_thresh = 1 << 30; /* long messages end at once */
    }

    /* @return What is logged when messages of the lengths are sent. */
    static std::string log_of(node &n, ri_conn_t *conn,
                              std::initializer_list<size_t> lengths)
    {
        ::testing::internal::CaptureStderr();
        for (size_t length : lengths) {
            n.send(conn, bytes(length), 1);
        }
        return ::testing::internal::GetCapturedStderr();
    }
};

TEST_F(test_send_tell, once_for_each_conn_and_protocol)
{
    node n(0x1111);
    ri_conn_t *conn  = n.connect(n.new_endpoint(nullptr), 0x2222);
    ri_conn_t *other = n.connect(n.new_endpoint(nullptr), 0x3333);
    size_t lengthy   = 1 << 20;
    std::string log;

    conn->peer->rank = ri_wire_address_rank(12);
    ri_log_level     = RI_LOG_LEVEL_INFO;
    log              = log_of(n, conn, {lengthy, lengthy, lengthy + 1});
    EXPECT_NE(std::string::npos, log.find("ucxri INFO  to rank 12, 1 MB: ucp, "
                                          "there is no direct copy, and no RDMA\n"))
            << log;
    EXPECT_EQ(1, std::count(log.begin(), log.end(), '\n')) << log;

    log = log_of(n, conn, {10});
    EXPECT_NE(std::string::npos, log.find("to rank 12, 10 B: am, ")) << log;
    log = log_of(n, other, {10, 2048 * 1024 + 1024});
    EXPECT_NE(std::string::npos, log.find("to worker 0x3333, 10 B: am, ")) << log;
    EXPECT_NE(std::string::npos, log.find("to worker 0x3333, 2049 KB: ucp, ")) << log;
    EXPECT_EQ("", log_of(n, other, {11, lengthy}));
}

/* The first active messages go in pieces, and later ones whole: to the user both are am. */
TEST_F(test_send_tell, names_count_and_not_protocols)
{
    node n(0x1111);
    ri_conn_t *conn = n.connect(n.new_endpoint(nullptr), 0x2222);
    std::string log;

    ri_log_level = RI_LOG_LEVEL_INFO;
    conn->flags &= ~RI_CONN_AM_READY;
    log = log_of(n, conn, {1000});
    EXPECT_NE(std::string::npos, log.find("am, UCX has not set its connection up\n"))
            << log;
    conn->flags |= RI_CONN_AM_READY;
    EXPECT_EQ("", log_of(n, conn, {10, 11}));
}

TEST_F(test_send_tell, own_rank)
{
    node n(0x1111);
    ri_conn_t *conn = n.connect(n.new_endpoint(nullptr), 0x2222);
    std::string log;

    setenv("PMI_RANK", "3", 1);
    conn->peer->rank = ri_wire_address_rank(12);
    ri_log_level     = RI_LOG_LEVEL_INFO;
    log              = log_of(n, conn, {1 << 20});
    unsetenv("PMI_RANK");
    EXPECT_NE(std::string::npos, log.find("ucxri INFO  rank 3 to rank 12, 1 MB: ucp, "))
            << log;
}

TEST_F(test_send_tell, not_at_another_level)
{
    node n(0x1111);
    ri_conn_t *conn = n.connect(n.new_endpoint(nullptr), 0x2222);

    ri_log_level = RI_LOG_LEVEL_WARN;
    EXPECT_EQ("", log_of(n, conn, {10, 1 << 20}));
    EXPECT_EQ(0u, conn->told.protocols);
}

} // namespace
