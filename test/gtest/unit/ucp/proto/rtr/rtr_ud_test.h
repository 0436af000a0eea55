/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two workers that reach each other by datagrams only, and receives that offer queue pairs. The
 * test is the network of messages, and says when transfers are heard of and end.
 */
#ifndef RI_TEST_RTR_UD_TEST_H
#define RI_TEST_RTR_UD_TEST_H

#include "offer_test.h"
#include "unit/fakes/fake_ud.h"

extern "C" {
#include "ucp/proto/rtr/rtr_entries.h"
#include "ucp/proto/rtr/rtr_ud.h"
}

namespace {

class rtr_ud_test : public net_offer_test {
protected:
    static constexpr size_t MEDIUM = 12000;
    static constexpr size_t LARGE  = 30000;

    rtr_ud_test() : net_offer_test(LARGE, 3) {}

    void end() override
    {
        stop();
        m_a_ud.reset();
        m_b_ud.reset();
    }

    void start() override
    {
        meet(0, false);
        m_a_ud = std::make_unique<ud>(*m_a);
        m_b_ud = std::make_unique<ud>(*m_b);
        teach(m_conn);
        count_from_now();
    }

    /* Up to a message, which was not handed over. */
    void until(endpoint *ep, ri_wire_type_t type)
    {
        for (unsigned i = 0; (i < 1000) && (ep->count(type) == 0); ++i) {
            endpoint *next = !m_ab->sent.empty() ? m_ab : m_ba;

            if (!next->sent.empty()) {
                pair_test::deliver(next, 0);
            } else {
                progress_both(1);
            }
        }
        ASSERT_EQ(1u, ep->count(type));
    }

    /* A receive whose RTR waits at the sender */
    recv_ptr post_seen(size_t length = LARGE)
    {
        recv_ptr r = post(length);

        EXPECT_EQ(RI_RTR_BY_UD, rtr(r));
        deliver();
        EXPECT_EQ(1u, m_conn->rtr.table->num_waiting);
        return r;
    }

    void check_idle() override
    {
        ri_stream_t *s;

        net_offer_test::check_idle();
        EXPECT_EQ(0u, m_b->worker()->rtr.num_offered);
        for (ud *u : {m_a_ud.get(), m_b_ud.get()}) {
            EXPECT_EQ(0u, u->keys());
            EXPECT_EQ(0u, u->transfers()) << "a queue pair is not home";
        }
        ucs_list_for_each(s, &m_b->worker()->streams, list) {
            EXPECT_TRUE(ucs_list_is_empty(&s->fetching));
            EXPECT_TRUE((s->peer->rtr.entries == nullptr) ||
                        (s->peer->rtr.entries->free == ~0u));
        }
    }

    setting<double> m_rtr_backoff{ri_rtr_ud_backoff, 0};
    setting<double> m_planes_backoff{ri_way_backoff, 0};
    std::unique_ptr<ud> m_a_ud, m_b_ud;
};

} // namespace

#endif
