/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the ud plane waits for, and what it does not: queue pairs, answers, pieces. Without a device
 * they are skipped. The tests run src/uct/ib/ud/ud_arrive.c and src/uct/ib/ud/ud_wait.c, too.
 */

#include "ud_plane_test.h"

#if HAVE_VERBS

namespace {

class test_ud_waits : public ud_plane_test {};

struct ibv_qp *no_qp(struct ibv_pd *, struct ibv_qp_init_attr *)
{
    errno = ENOMEM;
    return nullptr;
}

int no_change(struct ibv_qp *, struct ibv_qp_attr *, int)
{
    return EIO;
}

/* There is no queue pair that could ever come back: nobody waits for one. */
TEST_F(test_ud_waits, no_queue_pair)
{
    ri_config.ud_qps = 1;
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.b(), t.c()), z(t.b(), t.c());
        auto create = ri_verbs.create_qp;
        auto modify = ri_verbs.modify_qp;

        ri_verbs.create_qp = no_qp;
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, x.start_recv(t.a_c.ep[1]));
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, x.start_recv(t.a_c.ep[1], true));
        ri_verbs.create_qp = create;
        EXPECT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1])) << "now there is one";

        /* It gets lost while others wait for it */
        EXPECT_EQ(UCS_INPROGRESS, y.start_recv(t.b_c.ep[1]));
        EXPECT_EQ(UCS_INPROGRESS, z.start_recv(t.b_c.ep[1]));
        ri_verbs.create_qp = no_qp;
        ri_verbs.modify_qp = no_change;
        ri_ud_cancel(&x.recv.super);
        wait(
                t.list, [&]() { return x.ended() && y.ended() && z.ended(); }, 5);
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, y.recv.status);
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, z.recv.status);
        EXPECT_EQ(0, y.recv.readies + z.recv.readies);
        ri_verbs.create_qp = create;
        ri_verbs.modify_qp = modify;
    });
}

/* None at first says nothing about later; with fewer than there may be others wait for these. */
TEST_F(test_ud_waits, fewer_queue_pairs)
{
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.b(), t.c()), z(t.b(), t.c());
        auto create = ri_verbs.create_qp;

        ri_verbs.create_qp = no_qp;
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, x.start_recv(t.a_c.ep[1]));
        ri_verbs.create_qp = create;
        EXPECT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        EXPECT_EQ(UCS_OK, y.start_recv(t.b_c.ep[1]));
        ri_verbs.create_qp = no_qp;
        EXPECT_EQ(UCS_INPROGRESS, z.start_recv(t.b_c.ep[1]));
        ri_ud_cancel(&x.recv.super);
        wait(
                t.list, [&]() { return z.recv.readies > 0; }, 5);
        ri_ud_cancel(&y.recv.super);
        ri_ud_cancel(&z.recv.super);
        wait(
                t.list, [&]() { return x.ended() && y.ended() && z.ended(); }, 5);
        EXPECT_EQ(2u, t.c().ud()->pool.count);
        ri_verbs.create_qp = create;
    });
}

/* One that could not be made is tried again later: the device may have room by then. */
TEST_F(test_ud_waits, queue_pairs_later)
{
    ri_config.ud_qps = 2;
    for (bool waits : {false, true}) {
        run([waits](trio &t) {
            plane_transfer x(t.a(), t.c()), y(t.b(), t.c()), z(t.b(), t.c());
            auto create = ri_verbs.create_qp;
            int tries   = 0;

            ri_ud_pool_backoff = 0.2;
            ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
            ri_verbs.create_qp = no_qp;
            ASSERT_EQ(UCS_INPROGRESS, y.start_recv(t.b_c.ep[1]));
            EXPECT_EQ(1u, t.c().ud()->pool.failures);
            for (; tries < 100; ++tries) {
                t.c().progress();
            }
            EXPECT_GE(3u, t.c().ud()->pool.failures) << "not each time";
            ri_verbs.create_qp = create;
            if (waits) {
                wait(t.list, [&]() { return y.recv.readies > 0; });
            } else {
                ri_ud_cancel(&y.recv.super);
                wait(t.list, [&]() { return y.ended(); });
                usleep(1000000);
                EXPECT_EQ(UCS_OK, z.start_recv(t.b_c.ep[1]));
            }
            EXPECT_EQ(2u, t.c().ud()->pool.count);
            EXPECT_EQ(0u, t.c().ud()->pool.failures);
            for (plane_transfer *each : {&x, &y, &z}) {
                if (!each->ended()) {
                    ri_ud_cancel(&each->recv.super);
                }
            }
            wait(t.list, [&]() { return x.ended() && y.ended() && z.ended(); });
        });
    }
}

/* Pieces and a question come at once, after the receiver has looked for pieces: none of them is
 * missing. */
TEST_F(test_ud_waits, question_behind_pieces)
{
    run([](trio &t) {
        auto *to        = ri_container_of(t.a_c.ep[1], ri_ud_ep_t, super);
        const size_t MB = 1 << 20;
        plane_transfer x(t.a(), t.c(), MB);
        ri_ud_message_t m = {};

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait_sent(t.a(), x.recv.target.granted);
        m.type   = RI_UD_PROBE;
        m.number = x.recv.target.number;
        m.pieces = x.recv.target.granted;
        ri_ud_recv_probe(to, &m);
        EXPECT_EQ(0u, t.c().counters()->ud_nacks + t.c().counters()->ud_restarts);
        wait(t.list, [&]() { return x.ended(); });
        EXPECT_TRUE(x.is_received());
        EXPECT_EQ(0u, t.c().counters()->ud_restarts);
    });
}

/* A sender that computes does not keep others from theirs: it loses its queue pair, whether it has
 * begun or not, and hears that when it goes on. */
TEST_F(test_ud_waits, sender_that_has_stopped)
{
    ri_config.ud_qps = 1;
    for (bool has_begun : {false, true}) {
        run([has_begun](trio &t) {
            const size_t MB = 1 << 20;
            plane_transfer x(t.a(), t.c(), MB), y(t.b(), t.c());

            ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
            if (has_begun) {
                ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
                t.a().progress();
            }
            EXPECT_EQ(UCS_INPROGRESS, y.start_recv(t.b_c.ep[1]));
            wait(
                    {&t.b(), &t.c()}, [&]() { return y.recv.readies > 0; }, 20);
            EXPECT_EQ(1, x.recv.ends);
            EXPECT_EQ(UCS_ERR_CANCELED, x.recv.status);
            EXPECT_EQ(has_begun, !!x.recv.super.heard);
            ASSERT_EQ(UCS_INPROGRESS, y.start_send(t.b_c.ep[0], y.recv.target));
            wait({&t.b(), &t.c()}, [&]() { return y.ended(); });
            EXPECT_TRUE(y.is_received());
            if (!has_begun) {
                ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
            }
            wait(t.list, [&]() { return x.send.ends > 0; });
            EXPECT_EQ(UCS_ERR_CANCELED, x.send.status);
            ri_ud_number_forget(t.a_c.ep[1], x.recv.target.number);
        });
    }
}

/* ... but who goes on keeps it, however long it takes. */
TEST_F(test_ud_waits, sender_that_is_slow)
{
    ri_config.ud_qps = 1;
    run([](trio &t) {
        const size_t MB = 1 << 20;
        plane_transfer x(t.a(), t.c(), 4 * MB), y(t.b(), t.c());

        t.c().ud()->times.stall = 20000000;
        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        EXPECT_EQ(UCS_INPROGRESS, y.start_recv(t.b_c.ep[1]));
        wait(t.list, [&]() { return x.ended() && (y.recv.readies > 0); });
        EXPECT_TRUE(x.is_received());
        EXPECT_EQ(UCS_OK, x.send.status);
        ASSERT_EQ(UCS_INPROGRESS, y.start_send(t.b_c.ep[0], y.recv.target));
        wait(t.list, [&]() { return y.ended(); });
        EXPECT_TRUE(y.is_received());
    });
}

/* ... and who sends other things is there, though it has not come to this transfer. */
TEST_F(test_ud_waits, sender_that_is_busy_with_others)
{
    ri_config.ud_qps = 2;
    for (bool by_pieces : {false, true}) {
        run([by_pieces](trio &t) {
            const size_t MB = 1 << 20;
            plane_transfer x(t.a(), t.c()), x2(t.a(), t.c(), MB), y(t.b(), t.c());
            auto *from        = ri_container_of(t.a_c.ep[0], ri_ud_ep_t, super);
            auto *to          = ri_container_of(t.a_c.ep[1], ri_ud_ep_t, super);
            ri_ud_message_t m = {};

            ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
            ASSERT_EQ(UCS_OK, x2.start_recv(t.a_c.ep[1]));
            ASSERT_EQ(UCS_INPROGRESS, y.start_recv(t.b_c.ep[1]));
            if (by_pieces) {
                ASSERT_EQ(UCS_INPROGRESS, x2.start_send(t.a_c.ep[0], x2.recv.target));
                for (int i = 0; (i < 10000) && (to->heard == 0); ++i) {
                    t.a().progress();
                    usleep(100);
                    t.c().progress();
                }
                EXPECT_LT(0u, to->heard) << "without any question";
            }
            m.type                  = RI_UD_PROBE;
            m.number                = x2.recv.target.number;
            t.c().ud()->times.stall = 50000000;
            for (int i = 0; (i < 1000) && !by_pieces; ++i) {
                ri_ud_control_send(from, &m);
                usleep(200);
                t.c().progress();
                t.a().progress();
            }
            EXPECT_EQ(0, x.recv.ends);
            EXPECT_EQ(0, x2.recv.ends * !by_pieces);
            ri_ud_cancel(&x.recv.super);
            if (!by_pieces) {
                ri_ud_cancel(&x2.recv.super);
            }
            wait(t.list, [&]() { return x.ended() && x2.ended(); });
            wait(t.list, [&]() { return y.recv.readies > 0; });
            ASSERT_EQ(UCS_INPROGRESS, y.start_send(t.b_c.ep[0], y.recv.target));
            wait(t.list, [&]() { return y.ended(); });
            EXPECT_TRUE(y.is_received());
        });
    }
}

TEST_F(test_ud_waits, nobody_answers)
{
    ri_config.ud_timeout = 0.05;
    run([](trio &t) {
        plane_transfer x(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait({&t.a()}, [&]() { return x.send.ends > 0; });
        EXPECT_EQ(UCS_ERR_UNREACHABLE, x.send.status);
        ri_ud_cancel(&x.recv.super);
        wait(t.list, [&]() { return x.ended(); });
    });
}

/* Who has never answered is waited for less long: datagrams may not get there at all. */
TEST_F(test_ud_waits, nobody_has_ever_answered)
{
    ri_config.ud_timeout = 300;
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.b(), t.c()), z(t.b(), t.c());

        ASSERT_EQ(UCS_OK, y.start_recv(t.b_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, y.start_send(t.b_c.ep[0], y.recv.target));
        wait(t.list, [&]() { return y.ended(); });
        for (ud_node *node : t.list) {
            node->ud()->times.first = 50000000;
        }
        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_OK, z.start_recv(t.b_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        ASSERT_EQ(UCS_INPROGRESS, z.start_send(t.b_c.ep[0], z.recv.target));
        wait(
                {&t.a(), &t.b()}, [&]() { return x.send.ends > 0; }, 5);
        EXPECT_EQ(UCS_ERR_UNREACHABLE, x.send.status);
        EXPECT_EQ(0, z.send.ends) << "it has answered before";
        ri_ud_cancel(&x.recv.super);
        wait(t.list, [&]() { return x.ended() && z.ended(); });
        EXPECT_TRUE(z.is_received());
    });
}

} // namespace

#endif
