/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/notes/trace.c, and output.c, through which it reports. */

#include "unit/fakes/fake_ucx.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace fake;

namespace {

class test_trace : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        m_dest = ::testing::TempDir() + "ucxri_trace." + std::to_string(getpid());
        ri_config.trace      = 1;
        ri_config.trace_dest = const_cast<char *>(m_dest.c_str());
        unlink(m_dest.c_str());
    }

    void TearDown() override
    {
        unlink(m_dest.c_str());
        ri_test::TearDown();
    }

    std::string text()
    {
        std::ifstream file(m_dest);
        std::stringstream content;

        content << file.rdbuf();
        return content.str();
    }

    static size_t lines(const std::string &text)
    {
        return std::count(text.begin(), text.end(), '\n');
    }

    std::string m_dest;
    ri_trace_t m_trace;
};

TEST_F(test_trace, off)
{
    ri_config.trace = 0;
    ASSERT_EQ(UCS_OK, ri_trace_init(&m_trace));
    ri_trace(&m_trace, RI_TRACE_SEND, 1, 2);
    EXPECT_EQ(0u, m_trace.next);
    ri_trace_dump(&m_trace, "nothing");
    EXPECT_EQ("", text());
    ri_trace_cleanup(&m_trace);
}

TEST_F(test_trace, every_event_has_a_text)
{
    ASSERT_EQ(UCS_OK, ri_trace_init(&m_trace));
    for (int event = 0; event < RI_TRACE_LAST; ++event) {
        ri_trace(&m_trace, (ri_trace_event_t)event, 0xabc, 17);
    }
    ri_trace_dump(&m_trace, "a test");
    EXPECT_EQ(1u + RI_TRACE_LAST, lines(text())) << text();
    EXPECT_NE(std::string::npos, text().find("a test")) << text();
    EXPECT_NE(std::string::npos, text().find("send tag 0xabc length 17")) << text();
    ri_trace_cleanup(&m_trace);
}

/* The outputs of several ranks may be one */
TEST_F(test_trace, lines_name_the_rank)
{
    ASSERT_EQ(UCS_OK, ri_trace_init(&m_trace));
    ri_trace(&m_trace, RI_TRACE_SEND, 0xabc, 17);
    setenv("PMI_RANK", "3", 1);
    ri_trace_dump(&m_trace, "a test");
    unsetenv("PMI_RANK");
    std::string title = "ucxri: [3] trace of a test, process ";
    EXPECT_EQ(title, text().substr(0, title.size()));
    EXPECT_NE(std::string::npos, text().find(": 1 events, the latest 1:\n[3] "))
            << text();
    ri_trace_cleanup(&m_trace);
}

TEST_F(test_trace, types_have_names)
{
    ASSERT_EQ(UCS_OK, ri_trace_init(&m_trace));
    ri_trace(&m_trace, RI_TRACE_CONTROL_TX, RI_WIRE_CONN_REQ, 0x17);
    ri_trace(&m_trace, RI_TRACE_CONTROL_RX, RI_WIRE_FIN, 0x18);
    ri_trace(&m_trace, RI_TRACE_DROPPED, 77, 0x19);
    ri_trace_dump(&m_trace, "a test");
    EXPECT_NE(std::string::npos, text().find("out: type CONN_REQ, argument 0x17\n"));
    EXPECT_NE(std::string::npos, text().find("in: type FIN, argument 0x18\n"));
    EXPECT_NE(std::string::npos, text().find("dropped: type 77, id 0x19\n"));
    ri_trace_cleanup(&m_trace);
}

TEST_F(test_trace, keeps_the_latest)
{
    ri_config.trace_size = 33; /* rounded up to 64 */
    ASSERT_EQ(UCS_OK, ri_trace_init(&m_trace));
    for (unsigned i = 0; i < 1000; ++i) {
        ri_trace(&m_trace, RI_TRACE_SEND, i, 0);
    }
    ri_trace_dump(&m_trace, "a test");
    EXPECT_EQ(65u, lines(text()));
    EXPECT_NE(std::string::npos, text().find("1000 events")) << text();
    EXPECT_EQ(std::string::npos, text().find("tag 0x3a7 ")) << text();
    size_t oldest = text().find("tag 0x3a8 "), latest = text().find("tag 0x3e7 ");
    EXPECT_NE(std::string::npos, oldest);
    EXPECT_NE(std::string::npos, latest);
    EXPECT_LT(oldest, latest);
    ri_trace_cleanup(&m_trace);
}

TEST_F(test_trace, of_a_worker)
{
    {
        node n(0x1111);
        endpoint *ep = n.new_endpoint(nullptr);

        n.send(n.connect(ep, 0x2222), bytes(8), 0x77);
        wire_msg msg(RI_WIRE_EAGER, 0, 1);
        msg.tag = 0x88;
        n.deliver(msg.hello(0x2222, 1), bytes(8));
        EXPECT_TRUE(n.recv(0x88, ~0ul, 8)->done);
    } /* dumped at the end */
    for (const char *event : {"send tag 0x77 length 8", "message sn 1 tag 0x88",
                              "unexpected, tag 0x88", "receive done, sender tag 0x88"}) {
        EXPECT_NE(std::string::npos, text().find(event)) << event << "\n" << text();
    }
}

TEST_F(test_trace, on_signal)
{
    node n(0x1111);

    ri_worker_housekeeping(n.worker());
    EXPECT_EQ("", text());
    raise(SIGUSR2);
    ri_worker_housekeeping(n.worker());
    EXPECT_NE(std::string::npos, text().find("SIGUSR2")) << text();
    std::string once = text();
    ri_worker_housekeeping(n.worker());
    EXPECT_EQ(once, text());
}

TEST_F(test_trace, output_names)
{
    std::string dest = ::testing::TempDir() + "ucxri_%p_%h_out";
    char host[64]    = "";

    gethostname(host, sizeof(host) - 1);
    std::string path = ::testing::TempDir() + "ucxri_" + std::to_string(getpid()) + "_" +
                       host + "_out";
    FILE *stream = ri_output_open(dest.c_str());
    fputs("text", stream);
    ri_output_close(stream);
    EXPECT_EQ(0, unlink(path.c_str())) << path;

    EXPECT_EQ(stderr, ri_output_open("stderr"));
    EXPECT_EQ(stdout, ri_output_open("stdout"));
    ri_output_close(stdout); /* must stay open */
    EXPECT_NE(-1, fileno(stdout));
    EXPECT_EQ(stderr, ri_output_open("/nonexistent/directory/file"));
    std::string much(10000, '%');
    ri_output_close(ri_output_open(much.c_str())); /* too long for a path */
}

/* Each send is in the trace with its tag, whatever way it goes; the fast path as well. */
TEST_F(test_trace, each_send)
{
    node sender(0x1111);
    endpoint *ep    = sender.new_endpoint(nullptr);
    ri_conn_t *conn = sender.connect(ep, 0x2222);
    ri_trace_t *t   = &sender.worker()->trace;

    for (uint32_t remote_id : {0, 7}) {
        conn->remote_id = remote_id;
        ri_conn_update_fast(conn);
        EXPECT_EQ(remote_id != 0, conn->fast_max > 0);
        t->next = 0;
        sender.send(conn, bytes(8), 5);
        ASSERT_EQ(2u, t->next);
        EXPECT_EQ((uint64_t)RI_TRACE_SEND, t->entries[0].event);
        EXPECT_EQ(5u, t->entries[0].arg[0]);
        EXPECT_EQ(8u, t->entries[0].arg[1]);
        EXPECT_EQ((uint64_t)RI_TRACE_SEND_AM, t->entries[1].event);
    }
}

} // namespace
