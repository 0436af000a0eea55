/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers that copy together and have a shelf. The receiver says for each message by which method it
 * goes, by what it has measured; tests that need one or the other method send until that is the next.
 */
#ifndef RI_TEST_COOP_SHELF_TEST_H
#define RI_TEST_COOP_SHELF_TEST_H

#include "coop_test.h"

namespace {

const size_t SHELF    = 4 * RI_SHELF_PLACE;
const unsigned ROUNDS = 10000;

class coop_shelf_test : public coop_test {
protected:
    void SetUp() override
    {
        coop_test::SetUp();
        make_shelf();
    }

    void TearDown() override
    {
        coop_test::TearDown();
        ri_config.shelf_peers = 0;
    }

    void configure() override
    {
        coop_test::configure();
        ri_config.shelf_peers = 2;
        ri_config.shelf_size  = SHELF;
    }

    /* A stream gets one with its fourth message. */
    void make_shelf()
    {
        for (unsigned i = 0; i < 4; ++i) {
            EXPECT_EQ(0u, m_b->worker()->rings.num_shelves);
            exchange(LONG);
        }
        EXPECT_EQ(1u, m_b->worker()->rings.num_shelves);
        EXPECT_EQ(1u, m_b->counters().shelves_made);
    }

    void exchange(size_t length)
    {
        bytes content = pattern(length, length);
        send_ptr s    = send_unmatched(content);
        recv_ptr r    = m_b->recv(5, ~0ul, length);

        pump();
        check(r, content);
        check(s);
    }

    /* A message that is matched and goes by the shelf, with nothing on it yet */
    struct message {
        bytes content;
        send_ptr s;
        recv_ptr r;
    };

    message begin(size_t length = LONG)
    {
        message m;

        /* However much faster the other method is, some in 2,048 go by the shelf */
        for (unsigned i = 0; i < 2 * 2048; ++i) {
            m.content = pattern(i, length);
            m.s       = send_unmatched(m.content);
            m.r       = m_b->recv(5, ~0ul, length);
            if (slot().method == RI_RING_SLOT_METHOD_SHELF) {
                return m;
            }
            EXPECT_EQ(RI_RING_SLOT_METHOD_BOTH, int(slot().method));
            pump();
            check(m.r, m.content);
            m_a->release_done();
            m_b->release_done();
        }
        ADD_FAILURE() << "no message goes by the shelf";
        return m;
    }

    uint64_t put() { return m_a->counters().conns.tx_shelf_bytes; }

    uint64_t taken() { return m_b->counters().streams.rx_shelf_bytes; }

    ri_shelf_tx_t &shelf() { return m_conn->coop.shelf; }
};

} // namespace

#endif
