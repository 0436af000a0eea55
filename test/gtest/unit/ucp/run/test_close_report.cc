/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/close.h: what is said at the end of a worker of what peers have not received */

#include "unit/common/setting.h"
#include "unit/ucp/run/close_test.h"

namespace {

class test_close_report : public close_test {
protected:
    void SetUp() override
    {
        close_test::SetUp();
        m_level      = ri_log_level;
        ri_log_level = RI_LOG_LEVEL_WARN;
        connect_planes();
    }

    void TearDown() override
    {
        ri_log_level            = m_level;
        ri_config.close_timeout = INFINITY;
        close_test::TearDown();
    }

    /* A conn whose messages nobody receives, and whose close is over */
    ri_conn_t *leave(size_t count, size_t length)
    {
        m_ab2           = m_a->new_endpoint(m_b.get());
        ri_conn_t *conn = m_a->connect(m_ab2, RECEIVER);

        m_a->may_end_open = true;
        conn->flags |= RI_CONN_PLANE_READ; /* as if it had asked */
        for (size_t i = 0; i < count; ++i) {
            m_a->send(conn, bytes(length), 77);
        }
        pump();
        testing::internal::CaptureStderr();
        ri_config.close_timeout = 0;
        ucs_status_ptr_t ret    = start_close(conn);
        pump();
        end(ret);
        testing::internal::GetCapturedStderr();
        EXPECT_TRUE(conn->flags & RI_CONN_LEFT);
        return conn;
    }

    std::string report()
    {
        testing::internal::CaptureStderr();
        ri_close_report_all(m_a->worker());
        return testing::internal::GetCapturedStderr();
    }

    ri_log_level_t m_level;
    setting<double> m_grace{ri_close_grace, 0};
};

TEST_F(test_close_report, sum_over_the_peers)
{
    EXPECT_EQ("", report()) << "nothing is left";
    leave(1, LONG);
    EXPECT_EQ("", report()) << "that of one was told when it was closed";
    leave(2, LONG + 1);
    std::string sum = "3 messages of " + std::to_string(3 * LONG + 2) + " bytes";
    EXPECT_NE(std::string::npos, report().find("2 peers have not received")) << report();
    EXPECT_NE(std::string::npos, report().find(sum)) << report();

    /* From the pool, too */
    leave(1, MEDIUM);
    sum = "4 messages of " + std::to_string(3 * LONG + 2 + MEDIUM) + " bytes";
    EXPECT_NE(std::string::npos, report().find("3 peers have not received")) << report();
    EXPECT_NE(std::string::npos, report().find(sum)) << report();

    /* A peer that closes, too, wants none of it. */
    m_conn->peer->closing = 1;
    EXPECT_EQ("", report());
    m_conn->peer->closing = 0;
}

} // namespace
