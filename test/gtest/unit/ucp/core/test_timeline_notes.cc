/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/core/timeline_notes.c: what the life of messages tells a timeline. */

#include "unit/common/rndv_test.h"
#include "unit/common/timeline_reader.h"

extern "C" {
#include "ucp/core/timeline_notes.h"
}

#include <unistd.h>

namespace {

class test_timeline_notes : public rndv_test {
protected:
    void SetUp() override
    {
        ri_timeline_reset();
        m_path = "/tmp/ucxri_test_timeline_notes." + std::to_string(getpid()) + ".%p";
        rndv_test::SetUp();
        stop();
        ri_config.trace_file  = m_path.c_str();
        ri_config.trace_limit = 1 << 30;
        start();
    }

    void TearDown() override
    {
        rndv_test::TearDown();
        ri_timeline_reset();
        unlink(path().c_str());
    }

    std::string path() const
    {
        return m_path.substr(0, m_path.size() - 2) + std::to_string(getpid());
    }

    /* One long message, whose receive is first */
    void exchange()
    {
        memory from(CONTIG, LONG), to(CONTIG, LONG);
        recv_ptr r = recv(to, 5);
        rndv_ptr s = send(from, 5);

        pump();
        ASSERT_TRUE(r->done && s->done);
    }

    /* End both workers, and read what they have noted. */
    void read()
    {
        stop();
        m_file.read(path());
        ri_config.trace_file = nullptr;
        start();
    }

    std::string m_path;
    timeline_reader m_file;
};

/* Both sides tell of the same message, and of a short one none. */
TEST_F(test_timeline_notes, long_and_short)
{
    const uint64_t uids[] = {m_a->uid(), m_b->uid()};
    memory small(CONTIG, 8), in(CONTIG, 8);

    {
        recv_ptr r = recv(in, 6);
        rndv_ptr s = send(small, 6);

        pump();
        ASSERT_TRUE(r->done && s->done);
    }
    exchange();
    read();
    uint64_t flow = 0;
    for (const auto &entry : m_file.entries) {
        switch (timeline_reader::event(entry)) {
        case RI_TIMELINE_SEND:
            EXPECT_EQ(LONG, entry.arg[0]);
            EXPECT_EQ(uids[1], entry.arg[1]);
            break;
        case RI_TIMELINE_SEND_BY:
            flow = entry.arg[0];
            EXPECT_NE(0u, entry.arg[1]); /* the name */
            break;
        case RI_TIMELINE_RECV:
            EXPECT_EQ(LONG, entry.arg[0]);
            EXPECT_EQ(uids[0], entry.arg[1]);
            EXPECT_EQ(flow, entry.arg[2]);
            break;
        case RI_TIMELINE_SEND_END:
        case RI_TIMELINE_RECV_END:
            EXPECT_EQ(UCS_OK, (ucs_status_t)entry.arg[0]);
            break;
        }
    }
    EXPECT_NE(0u, flow);
    for (unsigned event : {RI_TIMELINE_SEND, RI_TIMELINE_SEND_BY, RI_TIMELINE_SEND_END,
                           RI_TIMELINE_RECV, RI_TIMELINE_RECV_END}) {
        EXPECT_EQ(1u, m_file.count(event)) << event;
    }
}

/* A message that came first has waited for its receive, and the receive for nothing. */
TEST_F(test_timeline_notes, message_first)
{
    {
        memory from(CONTIG, LONG), to(CONTIG, LONG);
        rndv_ptr s = send(from, 5);

        pump();
        recv_ptr r = recv(to, 5);
        pump();
        ASSERT_TRUE(r->done && s->done);
    }
    read();
    EXPECT_EQ(1u, m_file.count(RI_TIMELINE_RECV_END));
    for (const auto &entry : m_file.entries) {
        if (timeline_reader::event(entry) == RI_TIMELINE_RECV) {
            EXPECT_EQ(0u, entry.arg[3]);
        }
    }
}

} // namespace
