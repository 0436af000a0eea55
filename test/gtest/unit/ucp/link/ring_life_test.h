/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Workers that talk to each other over rings, and over a UCX that delivers when the test says so.
 */
#ifndef RI_TEST_RING_LIFE_TEST_H
#define RI_TEST_RING_LIFE_TEST_H

#include "unit/fakes/fake_ucx.h"

#include <unistd.h>

using namespace fake;

namespace {

class ring_life_test : public ri_test {
protected:
    void SetUp() override
    {
        ri_test::SetUp();
        ri_config.ring_size    = 4096;
        ri_config.eager_thresh = 1024;
        ri_config.am_inline    = 128;
        m_ucx->rndv_thresh     = 2000;
    }

    void TearDown() override
    {
        m_eps.clear();
        m_nodes.clear();
        ri_test::TearDown();
    }

    node *add_node()
    {
        m_nodes.push_back(std::make_unique<node>(0x1000 + m_nodes.size()));
        return m_nodes.back().get();
    }

    /* The one endpoint of a pair and direction */
    endpoint *ep(node *from, node *to)
    {
        endpoint *&ep = m_eps[{from, to}];

        if (ep == nullptr) {
            ep = from->new_endpoint(to);
        }
        return ep;
    }

    ri_conn_t *conn(node *from, node *to, uint32_t flags = RI_CONN_USER)
    {
        return from->connect(ep(from, to), to->uid(), flags);
    }

    static arrival_t arrival(const packet &p, rng *random)
    {
        return p.rndv                                       ? RNDV :
               ((random != nullptr) && random->percent(30)) ? DATA :
                                                              PLAIN;
    }

    void deliver(endpoint *e, size_t which, rng *random = nullptr)
    {
        packet p = e->sent[which];

        e->sent.erase(e->sent.begin() + which);
        e->to->deliver(p.header, p.data, arrival(p, random),
                       p.reply ? ep(e->to, e->from) : nullptr, p.req);
    }

    /* Deliver and progress until nothing moves any more. */
    void calm_down()
    {
        bool moved;

        do {
            std::vector<endpoint *> eps;
            moved = m_ucx->complete();
            for (auto &entry : m_eps) {
                eps.push_back(entry.second);
            }
            for (endpoint *e : eps) {
                while (!e->sent.empty()) {
                    deliver(e, 0);
                    moved = true;
                }
            }
            for (auto &n : m_nodes) {
                moved |= (ri_ring_in_poll_all(n->worker()) > 0);
                n->progress();
            }
        } while (moved);
    }

    /* Without making a new one of a conn that failed */
    ri_conn_t *conn_of(node *from, node *to)
    {
        return ri_conn_find(ep(from, to)->handle());
    }

    uint64_t ring_messages(node *n) { return n->counters().streams.rx_ring; }

    /* Messages that nobody has to look at, received at once. */
    void exchange(node *from, node *to, unsigned count)
    {
        ri_conn_t *c = conn(from, to);

        for (unsigned i = 0; i < count; ++i) {
            recv_ptr recv = to->recv(1, ~0ul, 8);
            send_ptr send = from->send(c, pattern(i, 8), 1);

            calm_down();
            ASSERT_TRUE(send->done);
            ASSERT_TRUE(recv->done);
            ASSERT_EQ(send->data, recv->buffer);
            from->release_done();
            to->release_done();
        }
    }

    std::vector<std::unique_ptr<node>> m_nodes;
    std::map<std::pair<node *, node *>, endpoint *> m_eps;
};

} // namespace

#endif
