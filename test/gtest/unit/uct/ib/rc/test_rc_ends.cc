/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ways of the rc plane (src/uct/ib/rc/rc_end.[hc]) that fail, and that end, on a device of the
 * test's own. The tests run src/uct/ib/rc/rc_queue.c, too.
 */

#include "rc_test.h"

#if HAVE_VERBS

#include <cerrno>

namespace {

using test_rc_ends = rc_transfer_test;

/* Three operations of ten work requests each; one work request fails. */
TEST_F(test_rc_ends, error_at_each_position)
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
TEST_F(test_rc_ends, hostile_segments)
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

TEST_F(test_rc_ends, constant_memory_is_not_written)
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
TEST_F(test_rc_ends, post_fails_at_each_position)
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

TEST_F(test_rc_ends, completion_queue_fails)
{
    start();
    allocate(64);
    rc_op op;
    EXPECT_EQ(UCS_INPROGRESS, move(op, true, 0, 64));
    hca.poll_error = -1;
    EXPECT_NE("", printed(RI_LOG_LEVEL_WARN, [this]() { EXPECT_EQ(1u, a.progress()); }));
    EXPECT_EQ(UCS_ERR_UNREACHABLE, op.status);
    EXPECT_EQ(0u, a.progress());
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.check(a.ep));
    a.disconnect();
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.prepare(a.plane, &a.ep));
}

/* Nothing touches the memory of an operation when it is told to have ended. */
TEST_F(test_rc_ends, disconnect)
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

TEST_F(test_rc_ends, done_starts_another)
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
TEST_F(test_rc_ends, done_disconnects)
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
TEST_F(test_rc_ends, done_connects_anew)
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
TEST_F(test_rc_ends, remote_has_disconnected)
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

} // namespace

#endif
