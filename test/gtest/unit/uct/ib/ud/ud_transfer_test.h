/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Tests of the state machines of ud transfers, by the network of ud_sim.h. */
#ifndef RI_UD_TRANSFER_TEST_H
#define RI_UD_TRANSFER_TEST_H

#include "ud_sim.h"

#include <gtest/gtest.h>

namespace ud_sim {

class test_ud_transfer : public ::testing::Test {
protected:
    test_ud_transfer() : m_random(1), m_sim(m_random) {}

    /* @return One transfer of @a pieces pieces, by a window of 8. */
    transfer &make(uint32_t pieces, size_t tail = 0, bool indirect = false)
    {
        m_transfers.emplace_back(new transfer(m_sim, m_qp, m_random,
                                              pieces * PIECE - tail, PIECE, 8, indirect));
        m_transfers.back()->start();
        return *m_transfers.back();
    }

    void run(transfer &t)
    {
        m_sim.run(t);
        m_sim.drain();
        ASSERT_EQ(UCS_OK, t.tx.status);
        ASSERT_EQ(RI_UD_RX_DONE, t.rx.state);
        t.check_received();
    }

    /* Lose the n-th data packet, and so on; the first one is 0. */
    void lose(std::set<unsigned> which)
    {
        m_seen     = 0;
        m_sim.kill = [this, which](const sim::packet &p) {
            return (p.qp != nullptr) && (which.count(m_seen++) > 0);
        };
    }

    /* Lose the first control messages of a type. */
    void lose_control(ri_ud_type_t type, unsigned count)
    {
        m_seen     = 0;
        m_sim.kill = [this, type, count](const sim::packet &p) {
            return (p.qp == nullptr) && (p.message.type == type) && (m_seen++ < count);
        };
    }

    static const size_t PIECE = 16;

    rng m_random;
    sim m_sim;
    queue_pair m_qp;
    unsigned m_seen = 0;
    std::vector<std::unique_ptr<transfer>> m_transfers;
};

} // namespace ud_sim

#endif
