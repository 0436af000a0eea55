/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Control messages of the ud plane that get lost, one type after the other, and who knows of the
 * end of a transfer (src/uct/ib/ud/ud_heard.c). They need the software HCA; without any device they
 * are skipped.
 */

#include "ud_plane_test.h"

#if HAVE_VERBS

namespace {

class test_ud_heard : public ud_plane_test {
protected:
    static std::string lose(ri_ud_type_t type, unsigned count = 0)
    {
        return "ud_lose=" + std::to_string(type) +
               (count ? "/" + std::to_string(count) : "");
    }

    static void send_all(trio &t, plane_transfer &x)
    {
        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
    }

    static void finish(trio &t, plane_transfer &x)
    {
        wait(t.list, [&]() { return x.ended(); });
        EXPECT_EQ(UCS_OK, x.recv.status);
        EXPECT_EQ(UCS_OK, x.send.status);
        EXPECT_TRUE(x.is_received());
    }

    static unsigned unheard(trio &t) { return ri_ud_heard_list(t.a_c.ep[1], nullptr, 0); }

    /* What arrived at the receiver. */
    static void give(trio &t, const ri_ud_message_t &message)
    {
        ri_ud_heard_done(ri_container_of(t.a_c.ep[1], ri_ud_ep_t, super), &message);
    }

    static ri_ud_message_t done(uint32_t number, uint32_t bits)
    {
        ri_ud_message_t m = {};

        m.type     = RI_UD_DONE;
        m.number   = number;
        m.num_bits = 32;
        memcpy(m.bits, &bits, sizeof(bits));
        return m;
    }
};

/* Each type is lost several times, in transfers that need it. */
TEST_F(test_ud_heard, each_type_is_lost)
{
    ri_config.ud_window = 8;
    for (int type = RI_UD_GRANT; type < RI_UD_TYPE_LAST; ++type) {
        for (unsigned count : {1, 4}) {
            SCOPED_TRACE(std::to_string(type) + " " + std::to_string(count));
            std::string faults = lose((ri_ud_type_t)type, count) + ",ud_drop=5%";

            run(
                    [type](trio &t) {
                        struct ibv_qp_attr attr = {};

                        for (int i = 0; i < 6; ++i) {
                            plane_transfer x(t.a(), t.c());

                            send_all(t, x);
                            if (type == RI_UD_RESTART) {
                                auto *recv    = ucs_list_head(&t.c().ud()->active,
                                                              ri_ud_recv_t, super.list);
                                attr.qp_state = IBV_QPS_ERR;
                                ri_verbs.modify_qp(recv->qp->qp, &attr, IBV_QP_STATE);
                            }
                            finish(t, x);
                        }
                        plane_transfer x(t.a(), t.c());
                        send_all(t, x);
                        ri_ud_cancel(&x.recv.super); /* CANCEL */
                        wait(t.list, [&]() { return x.ended(); });
                        EXPECT_EQ(UCS_ERR_CANCELED, x.send.status);
                    },
                    faults.c_str());
        }
    }
}

/* In the usual case the receiver knows soon, and is told of several at a time. */
TEST_F(test_ud_heard, done_is_said)
{
    ri_config.ud_qps = 64;
    run([](trio &t) {
        std::vector<std::unique_ptr<plane_transfer>> all;

        for (int i = 0; i < 40; ++i) {
            all.emplace_back(new plane_transfer(t.a(), t.c(), 20000));
            send_all(t, *all.back());
        }
        for (auto &x : all) {
            finish(t, *x);
        }
        wait(t.list, [&]() { return unheard(t) == 0; });
        EXPECT_TRUE(ri_ud_heard_remind(t.a_c.ep[1]));
    });
}

/* The sender does not know, does not look, and is reminded in time. */
TEST_F(test_ud_heard, done_is_lost)
{
    run(
            [](trio &t) {
                plane_transfer x(t.a(), t.c());
                double start = ri_clock_now();

                send_all(t, x);
                finish(t, x);
                for (int i = 0; i < 1000; ++i) {
                    t.a().progress();
                    t.c().progress();
                }
                EXPECT_EQ(1u, unheard(t));
                wait(t.list, [&]() {
                    EXPECT_TRUE(ri_ud_heard_remind(t.a_c.ep[1]));
                    return unheard(t) == 0;
                });
                EXPECT_GT(ri_clock_now(), start + 0.0009)
                        << "at once, it may be on its way";
            },
            lose(RI_UD_DONE, 2).c_str());
}

/* Nothing gets through: it is said by another way. */
TEST_F(test_ud_heard, no_ack_arrives)
{
    run(
            [](trio &t) {
                plane_transfer x(t.a(), t.c()), y(t.a(), t.c());
                uint32_t numbers[3] = {7, 7, 7};

                send_all(t, x);
                send_all(t, y);
                wait(t.list, [&]() { return x.recv.ends && y.recv.ends; });
                wait(
                        t.list, [&]() { return !ri_ud_heard_remind(t.a_c.ep[1]); }, 5);
                EXPECT_EQ(0, x.send.ends + y.send.ends);
                EXPECT_EQ(2u, ri_ud_heard_list(t.a_c.ep[1], numbers, 1));
                EXPECT_EQ(7u, numbers[1]);
                EXPECT_EQ(2u, ri_ud_heard_list(t.a_c.ep[1], numbers, 3));
                EXPECT_EQ(1u, numbers[0] + numbers[1]);
                EXPECT_EQ(7u, numbers[2]);

                ri_ud_send_heard(t.a_c.ep[0], 2); /* of the future */
                ri_ud_send_heard(t.a_c.ep[0], y.recv.target.number);
                wait(t.list, [&]() { return y.send.ends > 0; });
                EXPECT_EQ(UCS_OK, y.send.status);
                EXPECT_EQ(0, x.send.ends);
                ri_ud_send_heard(t.a_c.ep[0], y.recv.target.number); /* repeated */
                ri_ud_send_heard(t.a_c.ep[0], x.recv.target.number);
                wait(t.list, [&]() { return x.ended(); });
                EXPECT_EQ(UCS_OK, x.send.status);
            },
            lose(RI_UD_ACK).c_str());
}

/* DONE: too early, of others, of none, repeated. */
TEST_F(test_ud_heard, hostile_done)
{
    ri_config.ud_window = 8;
    run(
            [](trio &t) {
                plane_transfer x(t.a(), t.c()), y(t.a(), t.c());

                give(t, done(0, ~0u));
                send_all(t, x);
                send_all(t, y);
                give(t, done(0, ~0u)); /* they go on */
                wait(t.list, [&]() { return x.recv.ends && y.recv.ends; });
                EXPECT_EQ(2u, unheard(t));
                give(t, done(2, ~0u));
                give(t, done(0, 0));
                ri_ud_message_t m = done(0, 1);
                m.num_bits        = 0;
                give(t, m);
                EXPECT_EQ(2u, unheard(t));
                give(t, done((uint32_t)-30, 1u << 31)); /* wraps around: number 1 */
                EXPECT_EQ(1u, unheard(t));
                give(t, done(0, 1));
                EXPECT_EQ(0u, unheard(t));
                give(t, done(0, 1));
                EXPECT_EQ(0u, unheard(t));
                ri_ud_send_heard(t.a_c.ep[0], 0);
                ri_ud_send_heard(t.a_c.ep[0], 1);
                wait(t.list, [&]() { return x.ended() && y.ended(); });
            },
            lose(RI_UD_ACK).c_str());
}

/* One DONE tells of 32 numbers in a row; another one of what is behind them. */
TEST_F(test_ud_heard, numbers_far_apart)
{
    run([](trio &t) {
        auto *here  = ri_container_of(t.a_c.ep[0], ri_ud_ep_t, super);
        auto *there = ri_container_of(t.a_c.ep[1], ri_ud_ep_t, super);

        for (uint32_t distance : {1u, 31u, 32u, 33u, 64u}) {
            SCOPED_TRACE(distance);
            plane_transfer x(t.a(), t.c());
            send_all(t, x); /* while it is under way, others are collected */
            for (uint32_t number : {1000u, 1000u + distance}) {
                ri_ud_send_t other = {};

                ri_ud_heard_received(there, number);
                other.super.ep     = here;
                other.super.number = number;
                other.tx.status    = UCS_OK;
                ri_ud_heard_sent(&other);
            }
            finish(t, x);
            wait(t.list, [&]() { return unheard(t) == 0; });
            EXPECT_EQ(0u, unheard(t));
        }
    });
}

/* A receiver keeps a limited number of them. */
TEST_F(test_ud_heard, never_said)
{
    run([](trio &t) {
        auto *ep = ri_container_of(t.a_c.ep[1], ri_ud_ep_t, super);
        std::vector<uint32_t> numbers(2000);

        for (uint32_t i = 0; i < 1500; ++i) {
            ri_ud_heard_received(ep, i);
        }
        EXPECT_EQ(1024u, ri_ud_heard_list(t.a_c.ep[1], numbers.data(), 2000));
        EXPECT_EQ(476u, numbers[0]);
        EXPECT_EQ(1499u, numbers[1023]);
    });
}

} // namespace

#endif
