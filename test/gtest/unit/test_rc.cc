/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/ib/rc.[hc] and rc_queue.[hc], on a device of the test's own. */

#include "rc_test.h"

#if HAVE_VERBS

#include <cerrno>

namespace {

class test_rc : public rc_transfer_test {
protected:
    /* @a count segments of @a length, with gaps of the same length */
    static segments pieces(rc_memory &memory, size_t count, size_t length)
    {
        segments list;

        for (size_t i = 0; i < count; ++i) {
            list.push_back({(uintptr_t)memory.data() + 2 * i * length, length});
        }
        return list;
    }

    /* A work request for each of @a count pieces. */
    ucs_status_t move_pieces(rc_op &op, bool write, size_t count, size_t length)
    {
        return op.start(a.ep, write, {m_local->all()}, m_local->local_key(),
                        pieces(*m_remote, count, length), m_remote->remote_key(), 0,
                        count * length);
    }

    /* Cut memory into a list in random order, with gaps and empty pieces. */
    static segments cut(rng &random, rc_memory &memory, size_t count)
    {
        size_t pos = 0, step = 2 * memory.size() / count + 1;
        segments list;

        while (list.size() < count) {
            size_t piece = random.percent(15) ? 0 : random.range(0, step);

            pos += random.percent(50) ? 0 : random.below(step / 8 + 2);
            if (pos + piece > memory.size()) {
                break;
            }
            list.push_back({(uintptr_t)memory.data() + pos, piece});
            pos += piece;
        }
        for (size_t i = list.size(); i > 1; --i) {
            std::swap(list[i - 1], list[random.below(i)]);
        }
        return list;
    }

    static size_t total(const segments &list)
    {
        size_t sum = 0;

        for (const ri_segment_t &s : list) {
            sum += s.length;
        }
        return sum;
    }

    static std::vector<uint8_t *> bytes(const segments &list)
    {
        std::vector<uint8_t *> all;

        for (const ri_segment_t &s : list) {
            for (size_t i = 0; i < s.length; ++i) {
                all.push_back((uint8_t *)(uintptr_t)s.address + i);
            }
        }
        return all;
    }

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

TEST_F(test_rc, open)
{
    a.open();
    EXPECT_STREQ("rc", a.plane->ops->name);
    EXPECT_EQ((unsigned)(RI_PLANE_READ | RI_PLANE_WRITE | RI_PLANE_NOTIFY |
                         RI_PLANE_LISTS | RI_PLANE_KEYS),
              a.plane->capabilities);
    EXPECT_EQ(nullptr, ri_plane_rc.address);
    EXPECT_EQ(0u, a.progress());
    EXPECT_EQ(0u, hca.polls);
}

TEST_F(test_rc, connect)
{
    a.open();
    b.open();
    a.prepare();
    b.prepare();
    ri_rc_address_t of_b = b.address();
    of_b.mtu             = IBV_MTU_1024;
    of_b.rd_atomic       = 5;
    EXPECT_EQ(UCS_OK, a.connect(of_b));
    EXPECT_EQ(UCS_OK, b.connect(a.address()));

    fake::hca_qp *qp = hca.find(a.address().qp);
    EXPECT_EQ(IBV_QPS_RTS, qp->super.state);
    EXPECT_EQ(1, qp->attr.port_num);
    EXPECT_EQ((unsigned)(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE),
              qp->attr.qp_access_flags);
    EXPECT_EQ(IBV_MTU_1024, qp->attr.path_mtu);
    EXPECT_EQ(5, qp->attr.max_rd_atomic);
    EXPECT_EQ(5, qp->attr.max_dest_rd_atomic);
    EXPECT_EQ(of_b.qp, qp->attr.dest_qp_num);
    EXPECT_EQ(of_b.psn, qp->attr.rq_psn);
    EXPECT_EQ(a.address().psn, qp->attr.sq_psn);
    EXPECT_EQ(7, qp->attr.ah_attr.dlid);
    EXPECT_EQ(0, qp->attr.ah_attr.is_global);
    qp = hca.find(b.address().qp);
    EXPECT_EQ(IBV_MTU_4096, qp->attr.path_mtu);
    EXPECT_EQ(16, qp->attr.max_rd_atomic);
    EXPECT_EQ(UCS_OK, ri_plane_rc.check(a.ep));
}

TEST_F(test_rc, connect_roce)
{
    fake::hca_gid gid = {};

    gid.gid.raw[10] = gid.gid.raw[11] = 0xff;
    gid.gid.raw[15]                   = 3;
    gid.type                          = IBV_GID_TYPE_ROCE_V2;
    hca.port().attr.link_layer        = IBV_LINK_LAYER_ETHERNET;
    hca.port().attr.lid               = 0;
    hca.port().gids.push_back(gid);
    start();
    fake::hca_qp *qp = hca.find(a.address().qp);
    EXPECT_EQ(1, qp->attr.ah_attr.is_global);
    EXPECT_EQ(1, qp->attr.ah_attr.grh.sgid_index);
    EXPECT_GT(qp->attr.ah_attr.grh.hop_limit, 1);
    EXPECT_EQ(0, memcmp(&gid.gid, &qp->attr.ah_attr.grh.dgid, sizeof(gid.gid)));
}

TEST_F(test_rc, connect_without_preparing)
{
    a.open();
    b.open();
    a.prepare();
    EXPECT_EQ(UCS_OK, b.connect(a.address()));
    ASSERT_NE(nullptr, b.ep);
    EXPECT_EQ(UCS_OK, a.connect(b.address()));
    allocate(8);
    rc_op op;
    EXPECT_EQ(UCS_INPROGRESS, move(op, true, 0, 8));
    a.progress_all();
    EXPECT_EQ(UCS_OK, op.status);
}

TEST_F(test_rc, connect_fails)
{
    a.open();
    b.open();
    b.prepare();
    hca.modify_error = ETIMEDOUT;
    for (int state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
        hca.modify_error_to = state;
        EXPECT_EQ(UCS_ERR_UNREACHABLE, a.connect(b.address()));
        EXPECT_EQ(nullptr, a.ep);
    }
    a.prepare();
    hca.modify_error_to = IBV_QPS_RTS;
    ri_plane_ep_t *old  = a.ep;
    EXPECT_EQ(UCS_ERR_UNREACHABLE, a.connect(b.address()));
    EXPECT_EQ(old, a.ep);
    allocate(8);
    rc_op op;
    EXPECT_EQ(UCS_ERR_UNREACHABLE, move(op, true, 0, 8));
    a.disconnect();
    EXPECT_EQ(1u, hca.qps.size());
}

TEST_F(test_rc, connect_twice)
{
    start();
    ri_plane_ep_t *old = a.ep;
    EXPECT_EQ(UCS_ERR_UNREACHABLE, a.connect(b.address()));
    EXPECT_EQ(old, a.ep);
    allocate(8);
    rc_op op;
    EXPECT_EQ(UCS_INPROGRESS, move(op, false, 0, 8));
    a.progress_all();
    EXPECT_EQ(UCS_OK, op.status);
}

TEST_F(test_rc, malformed_address)
{
    a.open();
    b.open();
    b.prepare();
    const ri_rc_address_t good = b.address();
    uint8_t buffer[64]         = {};
    ri_rc_address_t bad;

    memcpy(buffer, &good, sizeof(good));
    for (size_t length = 0; length <= sizeof(buffer); ++length) {
        std::string text = printed(RI_LOG_LEVEL_INFO, [&]() {
            ucs_status_t status = ri_plane_rc.connect(a.plane, buffer, length, &a.ep);

            EXPECT_EQ((length == sizeof(good)) ? UCS_OK : UCS_ERR_UNREACHABLE, status);
        });
        EXPECT_EQ(length == sizeof(good), text.empty());
    }
    a.disconnect();

    struct {
        const char *name;
        std::function<void(ri_rc_address_t &)> change;
    } cases[] = {{"version", [](auto &x) { x.version = 0; }},
                 {"version", [](auto &x) { x.version = 2; }},
                 {"link", [](auto &x) { x.link = 0; }},
                 {"link", [](auto &x) { x.link = 255; }},
                 {"mtu", [](auto &x) { x.mtu = 0; }},
                 {"mtu", [](auto &x) { x.mtu = 6; }},
                 {"mtu", [](auto &x) { x.mtu = 255; }},
                 {"rd_atomic", [](auto &x) { x.rd_atomic = 0; }},
                 {"qp", [](auto &x) { x.qp = 0; }},
                 {"qp", [](auto &x) { x.qp = 1; }},
                 {"qp", [](auto &x) { x.qp = 1u << 24; }},
                 {"psn", [](auto &x) { x.psn = 1u << 24; }},
                 {"lid", [](auto &x) { x.lid = 0; }},
                 {"lid", [](auto &x) { x.lid = 0xffff; }},
                 {"reserved", [](auto &x) { x.reserved = 1; }},
                 {"subnet", [](auto &x) { x.gid[3] ^= 4; }}};
    for (auto &c : cases) {
        bad = good;
        c.change(bad);
        EXPECT_EQ(UCS_ERR_UNREACHABLE, a.connect(bad)) << c.name;
        EXPECT_EQ(nullptr, a.ep);
    }
    EXPECT_EQ(1u, hca.qps.size());

    for_seeds(200, [&](rng &random) {
        bad = good;
        for (int i = random.range(1, 4); i > 0; --i) {
            ((uint8_t *)&bad)[random.below(sizeof(bad))] = random.next();
        }
        ri_plane_rc.connect(a.plane, &bad, sizeof(bad), &a.ep);
        a.disconnect();
    });
}

/* What fits is one call and one completion. */
TEST_F(test_rc, one_doorbell)
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
TEST_F(test_rc, short_writes)
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

TEST_F(test_rc, messages_above_the_maximum)
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

TEST_F(test_rc, lists)
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
TEST_F(test_rc, random)
{
    for_seeds(400, [this](rng &random) {
        random_device(random);
        start();
        allocate(random.range(1, 6000));
        for (int i = 0; i < 3; ++i) {
            bool write  = random.percent(50);
            segments ll = cut(random, *m_local, random.range(1, 80));
            segments rl = cut(random, *m_remote, random.range(1, 80));
            size_t most = std::min(total(ll), total(rl));
            size_t from = random.percent(50) ? 0 : random.range(0, most);
            size_t size = random.percent(50) ? most - from : random.range(0, most - from);

            m_local->fill(random);
            m_remote->fill(random);
            rc_memory &to                = write ? *m_remote : *m_local;
            std::vector<uint8_t *> in    = bytes(write ? ll : rl);
            std::vector<uint8_t *> out   = bytes(write ? rl : ll);
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
TEST_F(test_rc, random_operations)
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
TEST_F(test_rc, more_than_the_queue)
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
TEST_F(test_rc, few_completions)
{
    hca.device().attr.max_cqe = 5;
    hca.automatic             = false;
    start();
    rc_end second, other;
    second.plane = a.plane;
    other.plane  = b.plane;
    second.prepare();
    other.prepare();
    ASSERT_EQ(UCS_OK, second.connect(other.address()));
    ASSERT_EQ(UCS_OK, other.connect(second.address()));
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
TEST_F(test_rc, completions_of_ways_that_are_gone)
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
TEST_F(test_rc, completions_of_ways_that_have_failed)
{
    hca.device().attr.max_cqe = 4;
    hca.stale = hca.flush_late = true;
    hca.automatic              = false;
    start();
    rc_end second, other;
    second.plane = a.plane;
    other.plane  = b.plane;
    second.prepare();
    other.prepare();
    ASSERT_EQ(UCS_OK, second.connect(other.address()));
    ASSERT_EQ(UCS_OK, other.connect(second.address()));
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

/* Three operations of ten work requests; one of these fails. */
TEST_F(test_rc, error_at_each_position)
{
    struct {
        enum ibv_wc_status fails;
        ucs_status_t status;
    } kinds[] = {{IBV_WC_RETRY_EXC_ERR, UCS_ERR_UNREACHABLE},
                 {IBV_WC_REM_ACCESS_ERR, UCS_ERR_INVALID_ADDR},
                 {IBV_WC_LOC_PROT_ERR, UCS_ERR_INVALID_ADDR},
                 {IBV_WC_WR_FLUSH_ERR, UCS_ERR_UNREACHABLE},
                 {IBV_WC_REM_OP_ERR, UCS_ERR_UNREACHABLE}};

    for (unsigned depth : {4u, 256u}) {
        for (unsigned at = 1; at <= 30; ++at) {
            auto &kind            = kinds[at % 5];
            ri_config.ib_tx_queue = depth;
            hca.stale             = at % 2;
            hca.fails             = kind.fails;
            start();
            allocate(1000);
            hca.fail_run = hca.ran + at;
            std::vector<rc_op *> order;
            rc_op ops[3] = {rc_op(&order), rc_op(&order), rc_op(&order)};
            for (rc_op &op : ops) {
                EXPECT_EQ(UCS_INPROGRESS, move_pieces(op, at % 3, 10, 10));
            }
            a.progress_all();
            for (unsigned i = 0; i < 3; ++i) {
                ucs_status_t expected = (at > (i + 1) * 10) ? UCS_OK :
                                        (at > i * 10)       ? kind.status :
                                                              UCS_ERR_UNREACHABLE;
                EXPECT_EQ(expected, ops[i].status) << at << " " << i;
                EXPECT_EQ(1, ops[i].ends);
            }
            EXPECT_EQ((std::vector<rc_op *>{&ops[0], &ops[1], &ops[2]}), order);

            /* Nothing is moved any more */
            rc_op later;
            EXPECT_EQ(UCS_ERR_UNREACHABLE, move(later, true, 0, 8));
            EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.check(a.ep));
            EXPECT_EQ(UCS_OK, ri_plane_rc.check(b.ep));
            EXPECT_EQ(1u, hca.qps.size());
            EXPECT_EQ(0u, a.rc()->outstanding);
            m_local.reset();
            m_remote.reset();
            a.close();
            b.close();
        }
    }
}

/* What the remote side described does not exist. */
TEST_F(test_rc, hostile_segments)
{
    struct {
        uint64_t shift, length;
        uint32_t key;
    } cases[] = {{0, 4096, 77}, {1, 4096, 0},       {~0ul, 4096, 0},
                 {4096, 1, 0},  {1ul << 63, 64, 0}, {0 - 64ul, 64, 0}};

    for (auto &c : cases) {
        for (bool write : {false, true}) {
            start();
            allocate(4096);
            std::vector<uint8_t> before(m_local->data(), m_local->data() + 4096);
            ri_segment_t remote = m_remote->all();
            remote.address += c.shift;
            remote.length = c.length;
            rc_op op;
            EXPECT_EQ(UCS_INPROGRESS,
                      op.start(a.ep, write, {m_local->all()}, m_local->local_key(),
                               {remote}, m_remote->remote_key() + c.key, 0, c.length));
            a.progress_all();
            EXPECT_EQ(UCS_ERR_INVALID_ADDR, op.status);
            EXPECT_TRUE(std::equal(before.begin(), before.end(), m_local->data()));
            m_local.reset();
            m_remote.reset();
            a.close();
            b.close();
        }
    }
}

TEST_F(test_rc, constant_memory_is_not_written)
{
    alignas(4096) static const uint64_t word[512] = {5};
    ri_plane_memory_t memory                      = {};

    start();
    allocate(8);
    hca.read_only = word;
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, ri_plane_rc.reg(a.plane, (void *)word, 8, &memory));
    ASSERT_EQ(UCS_OK, ri_plane_rc.reg_source(a.plane, (void *)word, 8, &memory));
    segments list = {{(uintptr_t)word, 8}};
    rc_op send, recv;
    EXPECT_EQ(UCS_INPROGRESS,
              send.start(a.ep, true, list, memory.local_key, {m_remote->all()},
                         m_remote->remote_key(), 0, 8));
    a.progress_all();
    EXPECT_EQ(UCS_OK, send.status);
    EXPECT_EQ(0, memcmp(word, m_remote->data(), 8));
    EXPECT_EQ(UCS_INPROGRESS,
              recv.start(a.ep, false, list, memory.local_key, {m_remote->all()},
                         m_remote->remote_key(), 0, 8));
    a.progress_all();
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, recv.status);
    ri_plane_rc.release(a.plane, &memory);
}

/* The one whose work request cannot be posted is told at once, or by done() if it had been
 * waiting. */
TEST_F(test_rc, post_fails_at_each_position)
{
    for (unsigned depth : {4u, 256u}) {
        for (bool run : {false, true}) {
            for (unsigned at = 1; at <= 30; ++at) {
                ri_config.ib_tx_queue = depth;
                hca.stale             = at % 2;
                start();
                allocate(1000);
                hca.fail_post = hca.posted + at;
                std::vector<rc_op *> order;
                rc_op ops[3] = {rc_op(&order), rc_op(&order), rc_op(&order)};
                ucs_status_t status[3];
                for (int i = 0; i < 3; ++i) {
                    status[i] = move_pieces(ops[i], true, 10, 10);
                    if (run) {
                        hca.run();
                    }
                }
                a.progress_all();
                EXPECT_EQ(0u, a.rc()->outstanding);
                for (unsigned i = 0; i < 3; ++i) {
                    bool good = at > (i + 1) * 10;

                    if (status[i] == UCS_INPROGRESS) {
                        EXPECT_EQ(1, ops[i].ends);
                        EXPECT_TRUE((ops[i].status == UCS_OK) ||
                                    (ops[i].status == UCS_ERR_UNREACHABLE));
                        EXPECT_TRUE(good || (ops[i].status != UCS_OK));
                    } else {
                        EXPECT_EQ(UCS_ERR_UNREACHABLE, status[i]);
                        EXPECT_FALSE(good);
                    }
                }
                EXPECT_TRUE((depth == 4) || (status[(at - 1) / 10] != UCS_INPROGRESS));
                EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.check(a.ep));
                hca.fail_post = 0;
                m_local.reset();
                m_remote.reset();
                a.close();
                b.close();
            }
        }
    }
}

TEST_F(test_rc, completion_queue_fails)
{
    start();
    allocate(64);
    rc_op op;
    EXPECT_EQ(UCS_INPROGRESS, move(op, true, 0, 64));
    hca.poll_error = -1;
    EXPECT_NE("", printed(RI_LOG_LEVEL_ERROR, [this]() { EXPECT_EQ(1u, a.progress()); }));
    EXPECT_EQ(UCS_ERR_UNREACHABLE, op.status);
    EXPECT_EQ(0u, a.progress());
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.check(a.ep));
    a.disconnect();
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.prepare(a.plane, &a.ep));
}

/* Nothing touches the memory of an operation when it is told to have ended. */
TEST_F(test_rc, disconnect)
{
    for (unsigned depth : {4u, 256u}) {
        for (unsigned ran = 0; ran <= 20; ++ran) {
            ri_config.ib_tx_queue = depth;
            hca.automatic         = false;
            hca.stale             = ran % 2;
            start();
            allocate(1000);
            rc_op first, second;
            first.then = second.then = [this](rc_op &) { EXPECT_EQ(1u, hca.qps.size()); };
            EXPECT_EQ(UCS_INPROGRESS, move_pieces(first, true, 10, 10));
            EXPECT_EQ(UCS_INPROGRESS, move_pieces(second, false, 10, 10));
            hca.run(ran);
            a.disconnect();
            EXPECT_EQ(UCS_ERR_UNREACHABLE, first.status);
            EXPECT_EQ(UCS_ERR_UNREACHABLE, second.status);
            EXPECT_EQ(0u, a.progress());
            EXPECT_EQ(0u, a.rc()->outstanding);
            m_local.reset();
            m_remote.reset();
            a.close();
            b.close();
        }
    }
}

TEST_F(test_rc, done_starts_another)
{
    start();
    allocate(64);
    rc_op first, second;
    first.then = [&](rc_op &) { EXPECT_EQ(UCS_INPROGRESS, move(second, false, 0, 64)); };
    EXPECT_EQ(UCS_INPROGRESS, move(first, true, 0, 64));
    EXPECT_EQ(1u, a.progress());
    EXPECT_EQ(0, second.ends);
    EXPECT_EQ(1u, a.progress());
    EXPECT_EQ(UCS_OK, second.status);
}

/* Ends the way while others of it have ended, are under way, and wait. */
TEST_F(test_rc, done_disconnects)
{
    hca.automatic         = false;
    ri_config.ib_tx_queue = 4;
    start();
    allocate(1000);
    rc_op ops[4];
    ops[0].then = [this](rc_op &) { a.disconnect(); };
    EXPECT_EQ(UCS_INPROGRESS, move_pieces(ops[0], true, 1, 10));
    EXPECT_EQ(UCS_INPROGRESS, move_pieces(ops[1], true, 1, 10));
    EXPECT_EQ(UCS_INPROGRESS, move_pieces(ops[2], true, 1, 10));
    EXPECT_EQ(UCS_INPROGRESS, move_pieces(ops[3], true, 10, 10));
    hca.run(2);
    EXPECT_EQ(1u, a.progress());
    EXPECT_EQ(UCS_OK, ops[0].status);
    EXPECT_EQ(UCS_OK, ops[1].status);
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ops[2].status);
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ops[3].status);
    EXPECT_EQ(0u, a.progress());
    EXPECT_EQ(0u, a.rc()->outstanding);
}

/* An error's done() ends the way, and connects another with the same plane. */
TEST_F(test_rc, done_connects_anew)
{
    start();
    allocate(100);
    hca.fail_run = hca.ran + 1;
    rc_op first, second;
    first.then = [&](rc_op &) {
        a.disconnect();
        b.disconnect();
        join();
        EXPECT_EQ(UCS_INPROGRESS, move(second, true, 0, 100));
    };
    EXPECT_EQ(UCS_INPROGRESS, move(first, true, 0, 100));
    a.progress_all();
    EXPECT_EQ(UCS_ERR_UNREACHABLE, first.status);
    EXPECT_EQ(UCS_OK, second.status);
}

/* The remote side has closed its end. */
TEST_F(test_rc, remote_has_disconnected)
{
    start();
    allocate(100);
    b.disconnect();
    rc_op op;
    EXPECT_EQ(UCS_OK, ri_plane_rc.check(a.ep)) << "nobody has told";
    EXPECT_EQ(UCS_INPROGRESS, move(op, true, 0, 100));
    a.progress_all();
    EXPECT_EQ(UCS_ERR_UNREACHABLE, op.status);
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.check(a.ep));
}

/* The number of work requests begins anew. */
TEST_F(test_rc, numbers_wrap)
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
TEST_F(test_rc, many_operations)
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
