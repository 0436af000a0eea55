/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that wait with their RTR, and what they wait for.
 */
#ifndef RI_TEST_RTR_WAIT_TEST_H
#define RI_TEST_RTR_WAIT_TEST_H

#include "rtr_test.h"

extern "C" {
#include "ucp/proto/rtr/rtr_entries.h"
}

namespace {

const uint64_t LOW  = 0xff;
const uint64_t HIGH = 0xf00;

class test_rtr_wait : public rtr_test {
protected:
    /* Messages that fit receives of that tag and mask are expected from there. */
    void expect(uint64_t tag, uint64_t mask, ri_stream_t *from)
    {
        ri_sender_map_learn(&m_b->worker()->senders, tag, mask, tag, from->id);
    }

    recv_ptr wait(uint64_t tag = TAG)
    {
        recv_ptr r = post(LARGE, tag);

        EXPECT_EQ(RI_RTR_QUEUED, rtr(r));
        return r;
    }

    /* Whether it waits for another receive, or a class, and not in the queue */
    static bool is_aside(const recv_ptr &r)
    {
        return (rtr(r) == RI_RTR_QUEUED) && (req(r)->rtr.awaits != nullptr);
    }

    void progress(unsigned rounds = 40)
    {
        for (unsigned i = 0; i < rounds; ++i) {
            m_b->progress();
        }
    }

    void expect_out(const std::vector<recv_ptr> &all)
    {
        progress();
        for (const recv_ptr &r : all) {
            EXPECT_EQ(RI_RTR_BY_GRANT, rtr(r));
        }
    }

    void cancel_all(const std::vector<recv_ptr> &all)
    {
        for (const recv_ptr &r : all) {
            cancel(r);
        }
    }

    /* A message that is there before this returns */
    void message(uint64_t tag, size_t length = 8)
    {
        m_a->send(m_conn, bytes(length), tag);
        m_b->progress();
        m_a->progress(); /* or the next one would be one of a row */
    }
};

} // namespace

#endif
