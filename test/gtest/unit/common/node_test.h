/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * One worker with a conn to a peer that the test plays.
 */
#ifndef RI_TEST_NODE_TEST_H
#define RI_TEST_NODE_TEST_H

#include "unit/fakes/fake_ucx.h"

using namespace fake;

namespace {

const uint64_t LOCAL  = 0x1111;
const uint64_t REMOTE = 0x2222;

class node_test : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        start();
    }

    void TearDown() override
    {
        m_node.reset();
        ri_test::TearDown();
    }

    void start()
    {
        m_node = std::make_unique<node>(LOCAL);
        m_ep   = m_node->new_endpoint(nullptr);
        m_conn = m_node->connect(m_ep, REMOTE);
    }

    ri_worker_t *worker() { return m_node->worker(); }

    uint64_t stale() { return m_node->counters().rx_stale; }

    uint64_t malformed() { return m_node->counters().rx_malformed; }

    /* The stream of a conn of a peer's; made by a hello that carries nothing else. */
    ri_stream_t *stream_of(uint64_t uid, uint32_t conn_id, uint64_t host = 0)
    {
        ri_wire_hello_t hello =
                wire_msg(RI_WIRE_EAGER, 0, 0).hello(uid, conn_id, host).greeting;

        return ri_stream_get(worker(), &hello);
    }

    std::unique_ptr<node> m_node;
    endpoint *m_ep;
    ri_conn_t *m_conn;
};

} // namespace

#endif
