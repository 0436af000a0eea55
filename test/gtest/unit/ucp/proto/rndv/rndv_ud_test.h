/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers that reach each other by datagrams, and no other way.
 */
#ifndef RI_TEST_SEND_RNDV_UD_TEST_H
#define RI_TEST_SEND_RNDV_UD_TEST_H

#include "unit/common/net_rndv_test.h"
#include "unit/common/setting.h"
#include "unit/fakes/fake_ud.h"

namespace {

class send_rndv_ud_test : public net_rndv_test {
protected:
    void with_net() override
    {
        m_a_ud = std::make_unique<ud>(*m_a);
        m_b_ud = std::make_unique<ud>(*m_b);
    }

    void stop_net() override
    {
        m_r.reset();
        m_s.reset();
        stop();
        m_a_ud.reset();
        m_b_ud.reset();
    }

    rdma &sender_net() override { return *m_a_ud; }

    void connect() override
    {
        net_rndv_test::connect();
        ASSERT_EQ(RI_WIRE_PLANE_UD, m_conn->peer->way.kind);
    }

    void check_idle() override
    {
        for (ud *u : {m_a_ud.get(), m_b_ud.get()}) {
            EXPECT_EQ(0u, u->keys());
            EXPECT_EQ(0u, u->transfers());
        }
        EXPECT_EQ(0u, m_a->worker()->num_transfers);
        EXPECT_EQ(0u, m_b->worker()->num_transfers);
    }

    void check_sent()
    {
        ASSERT_TRUE(m_s->done);
        EXPECT_EQ(UCS_OK, m_s->status);
    }

    void begin()
    {
        m_content = pattern(7, LONG);
        m_from    = std::make_unique<memory>(CONTIG, LONG, m_content);
        m_to      = std::make_unique<memory>(CONTIG, LONG);
        m_r       = recv(*m_to, 5);
        m_s       = send(*m_from, 5);
    }

    void check_all()
    {
        check(m_r, *m_to, m_content, 5);
        check_sent();
        check_idle();
    }

    /* A message that is being sent, until m_a_ud->holds is false */
    void start_send()
    {
        m_a_ud->holds = true;
        begin();
        pump();
        ASSERT_EQ(1u, m_a_ud->transfers());
        ASSERT_EQ(1u, m_b_ud->transfers());
        ASSERT_FALSE(m_r->done);
        ASSERT_FALSE(m_s->done);
    }

    void let_go()
    {
        m_a_ud->holds = false;
        progress_both(10);
    }

    /* Up to a message, which was not handed over. */
    void until(endpoint *ep, ri_wire_type_t type)
    {
        for (unsigned i = 0; (i < 1000) && (ep->count(type) == 0); ++i) {
            endpoint *next = !m_ab->sent.empty() ? m_ab : m_ba;

            if (!next->sent.empty()) {
                deliver(next, 0);
            } else {
                progress_both(1);
            }
        }
        ASSERT_EQ(1u, ep->count(type));
    }

    /* The next message comes, whatever way it goes. */
    void exchange()
    {
        begin();
        pump();
        check_all();
    }

    ri_recv_req_t *recv_req()
    {
        return reinterpret_cast<ri_recv_req_t *>(ri_req_of_handle(m_r->handle));
    }

    setting<double> m_backoff{ri_way_backoff, 0};
    std::unique_ptr<ud> m_a_ud, m_b_ud;
    bytes m_content;
    std::unique_ptr<memory> m_from, m_to;
    recv_ptr m_r;
    rndv_ptr m_s;
};

} // namespace

#endif
