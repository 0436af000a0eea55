/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that wait with their RTR, in random sequences: what still waits has a reason to. The
 * tests run src/ucp/proto/rtr/rtr_queue.c, too.
 */

#include "rtr_wait_test.h"

namespace {

/* Everything at once. When nothing happens any more, whatever still waits has a reason to, and
 * with one sender each message is that of its receive. */
class test_rtr_wait_random : public test_rtr_wait {
protected:
    bool is_posted(const recv_ptr &r)
    {
        return !r->done && (ri_req_flags(&req(r)->super) & RI_REQ_POSTED);
    }

    static bool is_kin(const ri_recv_req_t *a, const ri_recv_req_t *b)
    {
        return (a->mask == b->mask) && (((a->tag ^ b->tag) & a->mask) == 0);
    }

    bool is_too_large(const ri_mask_class_t *c)
    {
        return (c->posted.count > 0) &&
               ((c->posted.count > 64) || ((1ul << (64 - c->posted.shift)) > 64));
    }

    /* By all that is posted, and not by what the library has noted */
    bool has_reason(const ri_recv_req_t *recv)
    {
        unsigned ahead = 0;

        for (const recv_ptr &one : m_r) {
            const ri_recv_req_t *other = is_posted(one) ? req(one) : nullptr;

            if ((other == nullptr) || (other == recv)) {
                continue;
            }
            if (is_kin(other, recv)) {
                ahead += (other->serial < recv->serial);
                if (ri_rtr_table_is_out(other) && (recv->rtr.awaits == &other->waiters)) {
                    return true;
                }
            } else if ((other->mask != recv->mask) && (other->serial < recv->serial) &&
                       (((other->tag ^ recv->tag) & other->mask & recv->mask) == 0)) {
                return true;
            }
        }
        for (unsigned i = 0; i < m_b->worker()->match.num_classes; ++i) {
            const ri_mask_class_t *c = &m_b->worker()->match.classes[i];

            if ((recv->rtr.awaits == &c->waiters) && is_too_large(c)) {
                return true;
            }
        }
        return (recv->rtr.awaits == &m_b->worker()->rtr.deep) ?
                       (ahead >= 64) :
                       (recv->rtr.awaits == nullptr) && is_queue_full();
    }

    static bool ri_rtr_table_is_out(const ri_recv_req_t *r)
    {
        return (r->rtr.state == RI_RTR_BY_GRANT) || (r->rtr.state == RI_RTR_KEPT);
    }

    /* There is no grant */
    bool is_queue_full()
    {
        size_t out = 0;

        for (const recv_ptr &one : m_r) {
            out += !one->done && (rtr(one) == RI_RTR_BY_GRANT);
        }
        return out == RI_RING_GRANTS;
    }

    void check_waiting()
    {
        size_t count = 0, out = 0;

        progress(60);
        for (const recv_ptr &one : m_r) {
            if (!is_posted(one)) {
                continue;
            }
            count += (rtr(one) != RI_RTR_NONE);
            out += ri_rtr_table_is_out(req(one));
            if (rtr(one) == RI_RTR_QUEUED) {
                ++m_waiting;
                m_deep += (req(one)->rtr.awaits == &m_b->worker()->rtr.deep);
                EXPECT_TRUE(has_reason(req(one)))
                        << std::hex << "forgotten: tag " << req(one)->tag << " mask "
                        << req(one)->mask << " serial " << req(one)->serial;
            }
        }
        EXPECT_LE(count, m_b->worker()->rtr.num);
        EXPECT_LE(out, m_b->worker()->rtr.num_offered);
        EXPECT_EQ(ucs_list_length(&m_b->worker()->rtr.full), m_b->worker()->rtr.num_full);
    }

    void step(rng &random, unsigned senders)
    {
        const size_t lengths[] = {0, 8, EAGER, 5000, 8193, MEDIUM, LARGE};
        uint64_t tag           = m_tags[random.below(m_tags.size())];
        uint64_t mask          = m_masks[random.below(m_masks.size())];

        switch (random.below(6)) {
        case 0:
        case 1:
            m_r.push_back(m_b->recv(tag, mask, random.percent(30) ? EAGER : LARGE));
            break;
        case 2: {
            bool other = (senders > 1) && random.percent(50);
            send_ptr s = m_a->send(other ? m_conn2 : m_conn,
                                   pattern(++m_seed, lengths[random.below(7)]), tag);
            if (senders == 1) {
                m_sent_messages.push_back({tag, s});
            }
            break;
        }
        case 3:
            if (!m_r.empty() && random.percent(30)) {
                m_b->cancel(m_r[m_r.size() - 1 - random.below(ri_min(m_r.size(), 30ul))]);
            }
            break;
        case 4:
            m_a->progress();
            break;
        default:
            m_b->progress();
            deliver();
            expect(tag, mask, (senders > 1) && random.percent(50) ? stream2() : stream());
            ri_sender_map_credit(&m_b->worker()->senders, tag, mask, stream()->id, 1);
            break;
        }
    }

    /* Each message belongs to the first receive that fits it and has none yet. */
    void check_messages()
    {
        std::vector<bool> taken(m_r.size());

        for (const auto &[tag, s] : m_sent_messages) {
            for (size_t i = 0; i < m_r.size(); ++i) {
                const recv_ptr &one = m_r[i];

                if (taken[i] || (((one->tag ^ tag) & one->mask) != 0) ||
                    (one->done && (one->status == UCS_ERR_CANCELED))) {
                    continue;
                }
                taken[i] = true;
                check(one, s);
                break;
            }
        }
    }

    void run(unsigned senders)
    {
        for_seeds(40, [&](rng &random) {
            m_r.clear();
            m_sent_messages.clear();
            m_masks = {ALL, ALL, ALL, LOW, 0};
            m_tags.clear();
            restart();
            if (senders > 1) {
                second();
            }
            for (unsigned i = random.below(5); i > 0; --i) {
                m_masks.push_back(~(0xful << (4 * i)));
            }
            for (unsigned i = random.range(1, 6); i > 0; --i) {
                m_tags.push_back(random.below(0x300));
            }
            for (unsigned i = 0; i < 40; ++i) {
                for (unsigned j = random.range(1, 20); j > 0; --j) {
                    step(random, senders);
                }
                check_waiting();
                if (HasFailure()) {
                    return;
                }
            }
            pump();
            check_waiting();
            if (senders == 1) {
                check_messages();
            }
            finish();
        });
    }

    /* Receives of several tags are posted, and some of them wait until fewer are ahead. Which ones
     * are ahead changes. */
    void run_deep()
    {
        for_seeds(20, [&](rng &random) {
            m_r.clear();
            m_sent_messages.clear();
            m_masks = {ALL};
            m_tags.clear();
            restart();
            for (unsigned i = random.range(1, 6); i > 0; --i) {
                m_tags.push_back(random.below(0x300));
                expect(m_tags.back(), ALL, stream());
                for (unsigned j = random.range(60, 75); j > 0; --j) {
                    m_r.push_back(m_b->recv(m_tags.back(), ALL,
                                            random.percent(5) ? LARGE : EAGER));
                }
            }
            for (unsigned i = 0; i < 40; ++i) {
                step(random, 1);
                if (random.percent(50)) {
                    m_b->cancel(m_r[random.below(m_r.size())]);
                }
                m_r.push_back(m_b->recv(m_tags[random.below(m_tags.size())], ALL, LARGE));
                check_waiting();
                if (HasFailure()) {
                    return;
                }
            }
            pump();
            check_waiting();
            check_messages();
            finish();
        });
    }

    void finish()
    {
        for (const recv_ptr &one : m_r) {
            if (!one->done) {
                cancel(one);
            }
        }
        while (m_b->worker()->match.num_unexpected > 0) {
            m_b->recv(0, 0, LARGE);
            pump();
        }
        m_used_all += m_b->counters().rtr_used;
    }

    std::vector<recv_ptr> m_r;
    std::vector<std::pair<uint64_t, send_ptr>> m_sent_messages;
    std::vector<uint64_t> m_masks, m_tags;
    uint64_t m_waiting = 0, m_deep = 0, m_used_all = 0;
};

TEST_F(test_rtr_wait_random, one_sender)
{
    run(1);
    EXPECT_GT(m_waiting, 1000u);
    EXPECT_GT(m_used_all, 50u);
}

TEST_F(test_rtr_wait_random, two_senders)
{
    run(2);
    EXPECT_GT(m_waiting, 1000u);
    EXPECT_GT(m_used_all, 50u);
}

TEST_F(test_rtr_wait_random, many_ahead)
{
    run_deep();
    EXPECT_GT(m_deep, 1000u);
    EXPECT_GT(m_used_all, 0u);
}

} // namespace
