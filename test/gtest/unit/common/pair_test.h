/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers with planes that the test makes, and an endpoint each way, on which the test is
 * the network: for tests of protocols by which both sides reach each other's memory.
 */
#ifndef RI_TEST_PAIR_TEST_H
#define RI_TEST_PAIR_TEST_H

#include "unit/common/setting.h"
#include "unit/fakes/fake_plane.h"

using namespace fake;

namespace {

const uint64_t SENDER   = 0x1111;
const uint64_t RECEIVER = 0x2222;

class pair_test : public ri_test {
protected:
    /* Two workers that know nothing of each other */
    void meet(unsigned capabilities = RI_PLANE_WRITE, bool have_planes = true)
    {
        m_a             = std::make_unique<node>(SENDER);
        ri_config.am_id = 4080; /* each has an active message id of its own */
        m_b             = std::make_unique<node>(RECEIVER);
        if (have_planes) {
            m_a_plane = std::make_unique<plane>(*m_a, capabilities);
            m_b_plane = std::make_unique<plane>(*m_b, capabilities);
        }
        m_ab    = m_a->new_endpoint(m_b.get());
        m_ba    = m_b->new_endpoint(m_a.get());
        m_ab2   = nullptr;
        m_conn2 = nullptr;
        m_conn  = m_a->connect(m_ab, RECEIVER);
        m_back  = m_b->connect(m_ba, SENDER);
        m_first = m_conn->tx_sn + 1;
    }

    void stop()
    {
        m_a.reset();
        m_b.reset();
        m_a_plane.reset();
        m_b_plane.reset();
    }

    /* Hand over what was sent as that one. */
    void deliver(endpoint *ep, size_t which)
    {
        packet p = ep->sent[which];

        ep->sent.erase(ep->sent.begin() + which);
        ep->to->deliver(p.header, p.data, p.rndv ? RNDV : PLAIN,
                        p.reply ? ((ep == m_ba) ? m_ab : m_ba) : nullptr, p.req);
    }

    /* ... all that was sent. @return Whether there was anything. */
    bool deliver()
    {
        bool any = false;

        for (endpoint *ep : {m_ab, m_ba, m_ab2}) {
            while ((ep != nullptr) && !ep->sent.empty()) {
                deliver(ep, 0);
                any = true;
            }
        }
        return any;
    }

    bool is_any_sent() const
    {
        return !m_ab->sent.empty() || !m_ba->sent.empty() ||
               ((m_ab2 != nullptr) && !m_ab2->sent.empty());
    }

    /* Have all pool buffers given back, as if enough time and progress calls had passed. */
    void housekeeping()
    {
        setting<double> time(ri_release_time, 0);

        m_a->worker()->countdown = m_b->worker()->countdown = 1;
        progress_both(1);
    }

    void progress_both(unsigned rounds)
    {
        for (unsigned i = 0; i < rounds; ++i) {
            m_a->progress();
            m_b->progress();
        }
    }

    /* Short messages both ways, until there are rings if there may be any */
    void talk(ri_conn_t *conn, uint64_t tag, const std::function<void()> &pump)
    {
        for (unsigned i = 0; i < 8; ++i) {
            recv_ptr r = m_b->recv(tag, ~0ul, 8), r2 = m_a->recv(tag, ~0ul, 8);

            m_a->send(conn, bytes(8), tag);
            m_b->send(m_back, bytes(8), tag);
            pump();
            ASSERT_TRUE(r->done && r2->done);
        }
    }

    std::unique_ptr<node> m_a, m_b;
    std::unique_ptr<plane> m_a_plane, m_b_plane;
    endpoint *m_ab, *m_ba;
    endpoint *m_ab2; /* of another conn, or NULL */
    ri_conn_t *m_conn, *m_back, *m_conn2;
    uint32_t m_first; /* number of m_conn's first message */
};

} // namespace

#endif
