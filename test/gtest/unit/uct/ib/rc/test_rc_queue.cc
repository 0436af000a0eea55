/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/ib/rc/rc_queue.[hc], on a device of the test's own: transfers that end well. */

#include "rc_test.h"

#if HAVE_VERBS

namespace {

class test_rc_queue : public rc_transfer_test {
protected:
    /* A device with limits that are often reached. */
    void random_device(rng &random)
    {
        hca.device().attr.max_sge  = random.range(1, random.percent(50) ? 3 : 20);
        hca.device().attr.max_cqe  = random.range(1, random.percent(50) ? 8 : 300);
        hca.port().attr.max_msg_sz = random.range(1, random.percent(50) ? 100 : 5000);
        ri_config.ib_tx_queue      = random.range(1, random.percent(50) ? 5 : 300);
        hca.automatic              = random.percent(50);
        hca.stale                  = random.percent(50);
    }

    /* Another way between both sides */
    void connect(rc_end &at_a, rc_end &at_b)
    {
        at_a.plane = a.plane;
        at_b.plane = b.plane;
        at_a.prepare();
        at_b.prepare();
        ASSERT_EQ(UCS_OK, at_a.connect(at_b.address()));
        ASSERT_EQ(UCS_OK, at_b.connect(at_a.address()));
    }

    /* Let some work requests run, and see to what has ended. */
    void step(rng &random)
    {
        if (!hca.automatic) {
            hca.run(random.range(0, 4));
        }
        a.progress();
        b.progress();
    }

    /* Until all that was started has ended */
    void drain()
    {
        for (int i = 0; (i < 100000) && (a.rc()->outstanding + b.rc()->outstanding > 0);
             ++i) {
            hca.run();
            a.progress();
            b.progress();
        }
        a.progress();
        b.progress();
        EXPECT_EQ(0u, a.rc()->outstanding);
    }
};

/* What fits is one call and one completion. */
TEST_F(test_rc_queue, one_doorbell)
{
    hca.device().attr.max_sge = 4;
    start();
    allocate(1 << 16);
    for (bool write : {false, true}) {
        rc_op op;
        unsigned polls = hca.polls;
        hca.posts = hca.posted = hca.signalled = 0;

        /* 4 local pieces for each of 30 remote ones */
        EXPECT_EQ(UCS_INPROGRESS,
                  op.start(a.ep, write, pieces(*m_local, 120, 25), m_local->local_key(),
                           pieces(*m_remote, 30, 100), m_remote->remote_key(), 0, 3000));
        EXPECT_EQ(1u, hca.posts);
        EXPECT_EQ(30u, hca.posted);
        EXPECT_EQ(1u, hca.signalled);
        EXPECT_EQ(polls, hca.polls);
        EXPECT_EQ(1u, a.progress());
        EXPECT_EQ(UCS_OK, op.status);
        EXPECT_EQ(0u, a.progress());
        EXPECT_EQ(polls + 1, hca.polls) << "asks while nothing is outstanding";
    }
}

/* Work requests hold short writes themselves: the memory may change once they are posted. */
TEST_F(test_rc_queue, short_writes)
{
    for (unsigned max : {0u, 32u, 64u, 150u, 220u}) {
        hca.max_inline = max;
        start();
        allocate(4096);
        rng random(max);
        hca.inlined   = 0;
        hca.automatic = false;
        for (size_t length : {1, 32, 33, 64, 65, 128, 220, 221, 1000}) {
            for (bool write : {false, true}) {
                unsigned before = hca.inlined;
                rc_op op;

                m_local->fill(random);
                m_remote->fill(random);
                std::vector<uint8_t> expected(m_local->data(), m_local->data() + length);
                EXPECT_EQ(UCS_INPROGRESS, move(op, write, 0, length));
                bool holds = write && (length <= ((max == 150) ? 128 : max));
                EXPECT_EQ(before + holds, hca.inlined) << length;
                if (holds) {
                    m_local->fill(random);
                }
                hca.run();
                a.progress_all();
                EXPECT_EQ(UCS_OK, op.status);
                if (write) {
                    EXPECT_EQ(0, memcmp(expected.data(), m_remote->data(), length));
                }
            }
        }
        m_local.reset();
        m_remote.reset();
        a.close();
        b.close();
    }
}

TEST_F(test_rc_queue, messages_above_the_maximum)
{
    hca.port().attr.max_msg_sz = 1000;
    start();
    allocate(10001);
    rng random(1);
    for (bool write : {false, true}) {
        rc_op op;

        m_local->fill(random);
        m_remote->fill(random);
        hca.posted = 0;
        EXPECT_EQ(UCS_INPROGRESS, move(op, write, 0, 10001));
        EXPECT_EQ(11u, hca.posted);
        a.progress_all();
        EXPECT_EQ(UCS_OK, op.status);
        EXPECT_EQ(0, memcmp(m_local->data(), m_remote->data(), 10001));
    }
}

TEST_F(test_rc_queue, lists)
{
    start();
    allocate(64);
    auto l = (uintptr_t)m_local->data(), r = (uintptr_t)m_remote->data();
    struct {
        segments local, remote;
        size_t offset, length;
        ucs_status_t status;
    } cases[] = {{{}, {}, 0, 0, UCS_OK},
                 {{}, {}, 0, 1, UCS_ERR_INVALID_PARAM},
                 {{{l, 8}}, {}, 0, 1, UCS_ERR_INVALID_PARAM},
                 {{}, {{r, 8}}, 0, 1, UCS_ERR_INVALID_PARAM},
                 {{{l, 8}}, {{r, 8}}, 0, 9, UCS_ERR_INVALID_PARAM},
                 {{{l, 9}}, {{r, 8}}, 0, 9, UCS_ERR_INVALID_PARAM},
                 {{{l, 8}}, {{r, 9}}, 0, 9, UCS_ERR_INVALID_PARAM},
                 {{{l, 8}}, {{r, 8}}, 1, 8, UCS_ERR_INVALID_PARAM},
                 {{{l, 8}}, {{r, 8}}, 8, 1, UCS_ERR_INVALID_PARAM},
                 {{{l, 8}}, {{r, 8}}, 8, 0, UCS_OK},
                 {{{l, 8}}, {{r, 8}}, SIZE_MAX, 2, UCS_ERR_INVALID_PARAM},
                 {{{l, 8}}, {{r, 8}}, 4, SIZE_MAX, UCS_ERR_INVALID_PARAM},
                 {{{l, 8}}, {{r, SIZE_MAX}, {r, SIZE_MAX}}, 0, 9, UCS_ERR_INVALID_PARAM},
                 {{{l, 0}, {l, 0}}, {{r, 0}}, 0, 1, UCS_ERR_INVALID_PARAM},
                 {{{l, 0}, {l, 4}, {l, 0}, {l + 4, 4}, {l, 0}},
                  {{r, 0}, {r, 0}, {r, 8}, {r, 0}},
                  2,
                  6,
                  UCS_INPROGRESS}};

    for (auto &c : cases) {
        for (bool write : {false, true}) {
            rc_op op;

            EXPECT_EQ(c.status,
                      op.start(a.ep, write, c.local, m_local->local_key(), c.remote,
                               m_remote->remote_key(), c.offset, c.length))
                    << &c - cases;
            a.progress_all();
            EXPECT_EQ(c.status == UCS_INPROGRESS ? UCS_OK : UCS_INPROGRESS, op.status);
        }
    }
}

/* One operation with random lists, compared with a copy byte by byte. */
TEST_F(test_rc_queue, random)
{
    for_seeds(400, [this](rng &random) {
        random_device(random);
        start();
        allocate(random.range(1, 6000));
        for (int i = 0; i < 3; ++i) {
            bool write  = random.percent(50);
            segments ll = cut(random, m_local->data(), m_local->size(),
                              random.range(1, 80));
            segments rl = cut(random, m_remote->data(), m_remote->size(),
                              random.range(1, 80));
            size_t most = std::min(total(ll), total(rl));
            size_t from = random.percent(50) ? 0 : random.range(0, most);
            size_t size = random.percent(50) ? most - from : random.range(0, most - from);

            m_local->fill(random);
            m_remote->fill(random);
            rc_memory &to                = write ? *m_remote : *m_local;
            std::vector<uint8_t *> in    = places(write ? ll : rl);
            std::vector<uint8_t *> out   = places(write ? rl : ll);
            std::vector<uint8_t> results = {to.data(), to.data() + to.size()};
            for (size_t k = from; k < from + size; ++k) {
                results[out[k] - to.data()] = *in[k];
            }

            rc_op op;
            ASSERT_EQ((size == 0) ? UCS_OK : UCS_INPROGRESS,
                      op.start(a.ep, write, ll, m_local->local_key(), rl,
                               m_remote->remote_key(), from, size));
            for (int k = 0; (k < 20000) && op.started && (op.ends == 0); ++k) {
                step(random);
            }
            ASSERT_TRUE(!op.started || (op.status == UCS_OK));
            ASSERT_TRUE(std::equal(results.begin(), results.end(), to.data()))
                    << ll.size() << ":" << rl.size() << " segments, " << size << " bytes";
        }
        EXPECT_EQ(0u, a.rc()->outstanding);
        m_local.reset();
        m_remote.reset();
        a.close();
        b.close();
    });
}

/* Many at a time in both directions, of which each has bytes of its own. */
TEST_F(test_rc_queue, random_operations)
{
    for_seeds(150, [this](rng &random) {
        const size_t part = random.range(1, 300);
        std::vector<rc_op *> order;
        std::vector<std::unique_ptr<rc_op>> ops;

        random_device(random);
        start();
        allocate(part * 40);
        m_local->fill(random);
        m_remote->fill(random);
        std::vector<uint8_t> local(m_local->data(), m_local->data() + m_local->size());
        std::vector<uint8_t> remote(m_remote->data(), m_remote->data() + m_local->size());
        for (size_t i = 0; i < 40; ++i) {
            bool write = random.percent(50);

            ops.emplace_back(new rc_op(&order));
            ASSERT_EQ(UCS_INPROGRESS, move(*ops.back(), write, i * part, part));
            memcpy(write ? &remote[i * part] : &local[i * part],
                   write ? &local[i * part] : &remote[i * part], part);
            if (random.percent(30)) {
                step(random);
            }
        }
        drain();
        ASSERT_EQ(ops.size(), order.size());
        for (size_t i = 0; i < ops.size(); ++i) {
            EXPECT_EQ(UCS_OK, ops[i]->status);
            EXPECT_EQ(ops[i].get(), order[i]) << "not in order";
        }
        EXPECT_TRUE(std::equal(local.begin(), local.end(), m_local->data()));
        EXPECT_TRUE(std::equal(remote.begin(), remote.end(), m_remote->data()));
        m_local.reset();
        m_remote.reset();
        a.close();
        b.close();
    });
}

/* More than the queue holds goes on from progress, and completions free it in parts. */
TEST_F(test_rc_queue, more_than_the_queue)
{
    ri_config.ib_tx_queue = 8;
    hca.automatic         = false;
    start();
    allocate(1000);
    rc_op first, second;
    EXPECT_EQ(UCS_INPROGRESS, move_pieces(first, true, 30, 10));
    EXPECT_EQ(UCS_INPROGRESS, move_pieces(second, false, 1, 10));
    EXPECT_EQ(8u, hca.posted);
    EXPECT_EQ(1u, hca.posts);
    EXPECT_EQ(0u, a.progress());
    EXPECT_EQ(8u, hca.posted);
    hca.run(1);
    EXPECT_EQ(0u, a.progress());
    EXPECT_EQ(8u, hca.posted) << "that did not tell its end";
    hca.run(1);
    EXPECT_EQ(0u, a.progress());
    EXPECT_EQ(10u, hca.posted);
    hca.run(7);
    EXPECT_EQ(0u, a.progress());
    EXPECT_EQ(16u, hca.posted) << "one of the seven is not known to have ended";
    drain();
    EXPECT_EQ(31u, hca.posted);
    EXPECT_EQ(UCS_OK, first.status);
    EXPECT_EQ(UCS_OK, second.status);
    EXPECT_EQ(0, memcmp(m_remote->data() + 20, m_local->data() + 10, 10));
}

/* The completion queue has no room for all of them: ways wait for each other. */
TEST_F(test_rc_queue, few_completions)
{
    hca.device().attr.max_cqe = 5;
    hca.automatic             = false;
    start();
    rc_end second, other;
    connect(second, other);
    allocate(1000);
    rc_op of_first, of_second;
    EXPECT_EQ(UCS_INPROGRESS, move_pieces(of_first, true, 12, 10));
    EXPECT_EQ(5u, hca.posted);
    EXPECT_EQ(UCS_INPROGRESS,
              of_second.start(second.ep, true, {m_local->all()}, m_local->local_key(),
                              pieces(*m_remote, 12, 10), m_remote->remote_key(), 0, 120));
    EXPECT_EQ(5u, hca.posted);
    drain();
    EXPECT_EQ(24u, hca.posted);
    EXPECT_EQ(UCS_OK, of_first.status);
    EXPECT_EQ(UCS_OK, of_second.status);
    second.disconnect();
    other.disconnect();
}

/* Places of a way that is gone come back, also where its completions are still there. */
TEST_F(test_rc_queue, completions_of_ways_that_are_gone)
{
    hca.device().attr.max_cqe = 4;
    for (bool stale : {false, true}) {
        hca.stale     = stale;
        hca.automatic = false;
        start();
        allocate(1000);
        for (int i = 0; i < 10; ++i) {
            rc_op op;
            EXPECT_EQ(UCS_INPROGRESS, move_pieces(op, true, 10, 10));
            hca.run(i % 4);
            a.disconnect();
            EXPECT_EQ(UCS_ERR_UNREACHABLE, op.status);
            b.disconnect();

            join();
            rc_op next;
            EXPECT_EQ(UCS_INPROGRESS, move_pieces(next, true, 10, 10));
            drain();
            EXPECT_EQ(UCS_OK, next.status);
        }
        m_local.reset();
        m_remote.reset();
        a.close();
        b.close();
    }
}

/* So do those of a way that has failed, when the last of its completions has been seen. */
TEST_F(test_rc_queue, completions_of_ways_that_have_failed)
{
    hca.device().attr.max_cqe = 4;
    hca.stale = hca.flush_late = true;
    hca.automatic              = false;
    start();
    rc_end second, other;
    connect(second, other);
    allocate(1000);
    hca.fail_run = 1;
    rc_op of_first, of_second;
    EXPECT_EQ(UCS_INPROGRESS, move_pieces(of_first, true, 4, 10));
    EXPECT_EQ(UCS_INPROGRESS,
              of_second.start(second.ep, true, {m_local->all()}, m_local->local_key(),
                              pieces(*m_remote, 4, 10), m_remote->remote_key(), 0, 40));
    hca.run();
    EXPECT_EQ(1u, a.progress());
    EXPECT_EQ(UCS_ERR_UNREACHABLE, of_first.status);
    EXPECT_EQ(4u, hca.posted) << "three places are still taken";
    drain();
    EXPECT_EQ(8u, hca.posted);
    EXPECT_EQ(UCS_OK, of_second.status);
    second.disconnect();
    other.disconnect();
}

/* The number of work requests begins anew. */
TEST_F(test_rc_queue, numbers_wrap)
{
    ri_config.ib_tx_queue = 8;
    start();
    allocate(1000);
    a.rc_ep()->posted = a.rc_ep()->ended = UINT32_MAX - 14;
    rc_op ops[3];
    for (rc_op &op : ops) {
        EXPECT_EQ(UCS_INPROGRESS, move_pieces(op, true, 10, 10));
    }
    a.progress_all();
    for (rc_op &op : ops) {
        EXPECT_EQ(UCS_OK, op.status);
    }
    EXPECT_EQ(15u, a.rc_ep()->posted);

    hca.automatic     = false;
    a.rc_ep()->posted = a.rc_ep()->ended = UINT32_MAX - 3;
    rc_op op;
    EXPECT_EQ(UCS_INPROGRESS, move_pieces(op, true, 8, 10));
    hca.run(2);
    EXPECT_EQ(0u, a.progress());
    EXPECT_EQ(2u, a.rc_ep()->ended - (UINT32_MAX - 3));
    drain();
    EXPECT_EQ(UCS_OK, op.status);
}

/* More operations than there is memory for at first */
TEST_F(test_rc_queue, many_operations)
{
    hca.automatic = false;
    start();
    allocate(1000);
    std::vector<std::unique_ptr<rc_op>> ops;
    for (int i = 0; i < 1000; ++i) {
        ops.emplace_back(new rc_op);
        EXPECT_EQ(UCS_INPROGRESS, move(*ops.back(), i % 2, i, 1));
    }
    EXPECT_EQ(256u, hca.posted);
    drain();
    for (auto &op : ops) {
        EXPECT_EQ(UCS_OK, op->status);
    }
}

} // namespace

#endif
