/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Single events of the ud plane on a device: what is late, what comes from others, offers,
 * cancelling, failures. Without a device they are skipped. The tests run src/uct/ib/ud/ud_arrive.c
 * and src/uct/ib/ud/ud_data.c, too.
 */

#include "ud_plane_test.h"

#include <algorithm>

#if HAVE_VERBS

namespace {

class test_ud_plane : public ud_plane_test {};

/* Whether a datagram is from the peer's port: by the header of IPv6 or that of IPv4, whichever
 * its address is of, and nothing else that may stand there. */
TEST_F(test_ud_plane, is_from)
{
    const uint8_t ipv6[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    const uint8_t ipv4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 20, 30, 40};
    ri_ud_port_t port      = {};
    ri_ud_ep_t ep          = {};
    struct ibv_wc wc       = {};
    uint8_t header[RI_UD_GRH_SIZE];

    auto clear   = [&]() { memset(header, FILL, sizeof(header)); };
    auto is_from = [&]() { return ri_ud_way_is_from(&ep, 77, &wc, header) != 0; };
    ep.port      = &port;
    port.link    = RI_IB_LINK_ROCE_V2;
    wc.src_qp    = 77;
    memcpy(port.gid.raw, ipv6, sizeof(ipv6));
    clear();
    EXPECT_FALSE(is_from());
    memcpy(header + 32, ipv6 + 12, 4); /* in the receiver's address, and its own */
    EXPECT_FALSE(is_from());
    memcpy(header + 8, ipv6, 16);
    EXPECT_TRUE(is_from());
    wc.src_qp = 78;
    EXPECT_FALSE(is_from());

    wc.src_qp = 77;
    memcpy(port.gid.raw, ipv4, sizeof(ipv4));
    clear();
    EXPECT_FALSE(is_from());
    memcpy(header + 36, ipv4 + 12, 4); /* to it */
    EXPECT_FALSE(is_from());
    memcpy(header + 32, ipv4 + 12, 4);
    EXPECT_TRUE(is_from());
    clear();
    memcpy(header + 8, ipv4, 16); /* some devices say so */
    EXPECT_TRUE(is_from());

    port.link = RI_IB_LINK_INFINIBAND;
    port.lid  = 5;
    wc.slid   = 6;
    EXPECT_FALSE(is_from());
    wc.slid = 5;
    EXPECT_TRUE(is_from());
}

/* Another process that knows the target uses receives up, and changes nothing. */
TEST_F(test_ud_plane, from_another)
{
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.b(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        EXPECT_LT(0u, t.c().counters()->ud_pool_bytes);
        EXPECT_EQ(0u, t.a().counters()->ud_pool_bytes);
        ASSERT_EQ(UCS_INPROGRESS, y.start_send(t.b_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return t.c().counters()->ud_stale >= 20; });
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return x.ended(); });
        EXPECT_EQ(UCS_OK, x.recv.status);
        EXPECT_EQ(UCS_OK, x.send.status);
        EXPECT_TRUE(x.is_received());
        EXPECT_EQ(0, y.send.ends);
        ri_ud_cancel(&y.send.super);
        wait(t.list, [&]() { return y.ended(); });
        EXPECT_EQ(UCS_ERR_CANCELED, y.send.status);
        EXPECT_TRUE(x.is_received());
    });
}

/* Pieces that nobody has looked at yet are not taken for missing when the sender asks. */
TEST_F(test_ud_plane, probe_behind_its_pieces)
{
    run([](trio &t) {
        ri_ud_message_t probe = {};
        plane_transfer x(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait_sent(t.a(), x.recv.target.granted);
        probe.type   = RI_UD_PROBE;
        probe.number = x.recv.target.number;
        probe.pieces = x.recv.target.granted;
        ri_ud_recv_probe(ri_container_of(t.a_c.ep[1], ri_ud_ep_t, super), &probe);
        wait(t.list, [&]() { return x.ended(); });
        EXPECT_TRUE(x.is_received());
        EXPECT_EQ(0u, t.c().counters()->ud_nacks + t.c().counters()->ud_restarts);
    });
}

/* A message that is sent a second time, when the receive is over. */
TEST_F(test_ud_plane, late)
{
    ri_config.ud_qps = 1;
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return x.ended(); });
        ASSERT_TRUE(x.is_received());
        memset(x.sink.data(), FILL, LENGTH);
        ASSERT_EQ(UCS_INPROGRESS, y.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return y.ended(); });
        EXPECT_EQ(UCS_OK, y.send.status) << "it was received, and is answered so";
        EXPECT_EQ((ptrdiff_t)LENGTH,
                  std::count(x.sink.data(), x.sink.data() + LENGTH, FILL));
    });
}

/* The same, and the queue pair has the next message's memory. */
TEST_F(test_ud_plane, late_for_the_next)
{
    ri_config.ud_qps = 1;
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.a(), t.c()), z(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return x.ended(); });
        ASSERT_EQ(UCS_OK, z.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(x.recv.target.qp, z.recv.target.qp);
        ASSERT_EQ(x.recv.target.qkey, z.recv.target.qkey);
        ASSERT_EQ(UCS_INPROGRESS, y.start_send(t.a_c.ep[0], x.recv.target));
        ASSERT_EQ(UCS_INPROGRESS, z.start_send(t.a_c.ep[0], z.recv.target));
        wait(t.list, [&]() { return y.ended() && z.ended(); });
        EXPECT_GT(t.c().counters()->ud_stale, 0u);
        EXPECT_EQ(UCS_OK, z.recv.status);
        EXPECT_TRUE(z.is_received());
        EXPECT_TRUE(x.is_received());

        /* After this the queue pair has another key, and such datagrams do not arrive */
        uint64_t stale = t.c().counters()->ud_stale;
        plane_transfer v(t.a(), t.c()), w(t.a(), t.c());
        ASSERT_EQ(UCS_OK, v.start_recv(t.a_c.ep[1]));
        EXPECT_NE(x.recv.target.qkey, v.recv.target.qkey);
        ASSERT_EQ(UCS_INPROGRESS, w.start_send(t.a_c.ep[0], x.recv.target));
        ASSERT_EQ(UCS_INPROGRESS, v.start_send(t.a_c.ep[0], v.recv.target));
        wait(t.list, [&]() { return v.ended() && w.ended(); });
        EXPECT_TRUE(v.is_received());
        EXPECT_EQ(stale, t.c().counters()->ud_stale);
    });
}

TEST_F(test_ud_plane, offer)
{
    run([](trio &t) {
        plane_transfer x(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1], true));
        for (int i = 0; i < 1000; ++i) {
            t.c().progress();
        }
        EXPECT_EQ(0u, t.c().counters()->ud_nacks);
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return x.ended(); });
        EXPECT_TRUE(x.is_received());
    });
}

/* An offer is withdrawn as long as nothing has come by it, and nothing comes then. */
TEST_F(test_ud_plane, offer_is_withdrawn)
{
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.a(), t.c(), 20);
        const ri_ud_ops_t *ops = ri_plane_ud.ud;

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1], true));
        ASSERT_EQ(1, ops->withdraw(&x.recv.super));
        ASSERT_EQ(1, ops->withdraw(&x.recv.super));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return x.ended(); });
        EXPECT_EQ(UCS_ERR_CANCELED, x.recv.status);
        EXPECT_EQ(UCS_ERR_CANCELED, x.send.status);
        EXPECT_EQ(0, x.recv.super.heard);
        EXPECT_EQ(0u, t.c().counters()->ud_reclaimed);
        EXPECT_EQ((ptrdiff_t)LENGTH,
                  std::count(x.sink.data(), x.sink.data() + LENGTH, FILL));

        /* What is there counts, though nobody has looked for it yet */
        uint64_t posted = t.a().ud()->data.posted;
        ASSERT_EQ(UCS_OK, y.start_recv(t.a_c.ep[1], true));
        ASSERT_EQ(UCS_INPROGRESS, y.start_send(t.a_c.ep[0], y.recv.target));
        wait_sent(t.a(), posted + 1);
        EXPECT_EQ(0, ops->withdraw(&y.recv.super));
        wait(t.list, [&]() { return y.ended(); });
        EXPECT_TRUE(y.is_received());
    });
}

/* One that was begun, and ends: who has offered it knows that. */
TEST_F(test_ud_plane, offer_is_heard)
{
    run([](trio &t) {
        plane_transfer x(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1], true));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return t.c().counters()->ud_received > 0; });
        if (x.recv.ends == 0) {
            EXPECT_EQ(0, ri_plane_ud.ud->withdraw(&x.recv.super));
            ri_ud_cancel(&x.recv.super);
            wait(t.list, [&]() { return x.ended(); });
            EXPECT_EQ(1, x.recv.super.heard);
        }
        wait(t.list, [&]() { return x.ended(); });
    });
}

TEST_F(test_ud_plane, offer_is_claimed)
{
    ri_config.ud_qps = 1;
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.b(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1], true));
        ri_plane_ud.ud->claim(&x.recv.super);
        ASSERT_EQ(UCS_INPROGRESS, y.start_recv(t.b_c.ep[1]));
        for (int i = 0; i < 1000; ++i) {
            t.c().progress();
        }
        EXPECT_EQ(0, x.recv.ends + y.recv.readies);
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return y.recv.readies > 0; });
        EXPECT_TRUE(x.is_received());
        ri_ud_cancel(&y.recv.super);
        wait(t.list, [&]() { return x.ended() && y.ended(); });
    });
}

TEST_F(test_ud_plane, offer_is_revoked)
{
    ri_config.ud_qps = 1;
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.b(), t.c()), z(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1], true));
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, z.start_recv(t.a_c.ep[1], true));
        y.recv.then = [&]() {
            if (y.recv.ends == 0) {
                y.start_send(t.b_c.ep[0], y.recv.target);
            }
        };
        ASSERT_EQ(UCS_INPROGRESS, y.start_recv(t.b_c.ep[1]));
        wait(t.list, [&]() { return (x.recv.ends > 0) && (y.recv.ends > 0); });
        EXPECT_EQ(UCS_ERR_CANCELED, x.recv.status);
        EXPECT_EQ(1u, t.c().counters()->ud_reclaimed);
        EXPECT_TRUE(y.is_received());

        /* Who uses it all the same is told, as often as that happens */
        for (int i = 0; i < 2; ++i) {
            plane_transfer late(t.a(), t.c());

            ASSERT_EQ(UCS_INPROGRESS, late.start_send(t.a_c.ep[0], x.recv.target));
            wait(t.list, [&]() { return late.ended(); });
            EXPECT_EQ(UCS_ERR_CANCELED, late.send.status);
        }
        EXPECT_EQ((ptrdiff_t)LENGTH,
                  std::count(x.sink.data(), x.sink.data() + LENGTH, FILL));
        ri_ud_number_forget(t.a_c.ep[1], x.recv.target.number);
        ri_ud_number_forget(t.a_c.ep[1], x.recv.target.number);
    });
}

/* Ways wait in turn, not messages. */
TEST_F(test_ud_plane, turns)
{
    ri_config.ud_qps = 1;
    run([](trio &t) {
        std::vector<std::unique_ptr<plane_transfer>> all;
        std::string order;

        for (int i = 0; i < 8; ++i) {
            bool from_b = i >= 6;
            auto way    = from_b ? &t.b_c : &t.a_c;

            all.emplace_back(new plane_transfer(from_b ? t.b() : t.a(), t.c(), 5000));
            plane_transfer &x = *all.back();
            x.recv.then       = [&x, &order, way, from_b]() {
                if (x.recv.ends == 0) {
                    order += from_b ? 'b' : 'a';
                    x.start_send(way->ep[0], x.recv.target);
                }
            };
            if (x.start_recv(way->ep[1]) == UCS_OK) {
                x.recv.then();
            }
        }
        wait(t.list, [&]() {
            return std::all_of(all.begin(), all.end(),
                               [](const auto &x) { return x->ended(); });
        });
        EXPECT_EQ("aababaaa", order);
        for (auto &x : all) {
            EXPECT_TRUE(x->is_received());
        }
    });
}

/* When done() has been called nothing is written any more. */
TEST_F(test_ud_plane, receiver_cancels)
{
    run([](trio &t) {
        for (int progress = 0; progress < 40; progress += 3) {
            plane_transfer x(t.a(), t.c());

            ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
            ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
            for (int i = 0; (i < progress) && (x.recv.ends == 0); ++i) {
                t.a().progress();
                t.c().progress();
            }
            if (x.recv.ends > 0) {
                wait(t.list, [&]() { return x.ended(); });
                break;
            }
            ri_ud_cancel(&x.recv.super);
            ri_ud_cancel(&x.recv.super);
            EXPECT_EQ(0, x.recv.ends);
            t.c().progress();
            ASSERT_EQ(1, x.recv.ends);
            memset(x.sink.data(), FILL, LENGTH);
            wait(t.list, [&]() { return x.ended(); });
            EXPECT_EQ(UCS_ERR_CANCELED, x.recv.status);
            EXPECT_EQ(UCS_ERR_CANCELED, x.send.status);
            usleep(1000);
            t.c().progress();
            EXPECT_EQ((ptrdiff_t)LENGTH,
                      std::count(x.sink.data(), x.sink.data() + LENGTH, FILL));
        }
    });
}

TEST_F(test_ud_plane, receiver_cancels_while_it_waits)
{
    ri_config.ud_qps = 1;
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.a(), t.c()), z(t.b(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, y.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, z.start_recv(t.b_c.ep[1]));
        ri_ud_cancel(&y.recv.super);
        ri_ud_cancel(&z.recv.super);
        ri_ud_cancel(&x.recv.super);
        t.c().progress();
        EXPECT_EQ(UCS_ERR_CANCELED, x.recv.status);
        EXPECT_EQ(UCS_ERR_CANCELED, y.recv.status);
        EXPECT_EQ(UCS_ERR_CANCELED, z.recv.status);
        EXPECT_EQ(0, y.recv.readies + z.recv.readies);
    });
}

TEST_F(test_ud_plane, disconnect)
{
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.b(), t.c()), w(t.c(), t.a());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_OK, y.start_recv(t.b_c.ep[1]));
        ASSERT_EQ(UCS_OK, w.start_recv(t.a_c.ep[0]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        ASSERT_EQ(UCS_INPROGRESS, y.start_send(t.b_c.ep[0], y.recv.target));
        ASSERT_EQ(UCS_INPROGRESS, w.start_send(t.a_c.ep[1], w.recv.target));

        /* All that concerns the way ends within the call */
        ri_plane_ud.disconnect(t.a_c.ep[1]);
        t.c().eps.erase(std::find(t.c().eps.begin(), t.c().eps.end(), t.a_c.ep[1]));
        EXPECT_EQ(UCS_ERR_UNREACHABLE, x.recv.status);
        EXPECT_EQ(UCS_ERR_UNREACHABLE, w.send.status);
        memset(x.sink.data(), FILL, LENGTH);
        memset(w.source.data(), FILL, LENGTH);

        /* The others go on */
        wait(t.list, [&]() { return y.ended(); });
        EXPECT_TRUE(y.is_received());
        EXPECT_EQ((ptrdiff_t)LENGTH,
                  std::count(x.sink.data(), x.sink.data() + LENGTH, FILL));
        if (x.send.ends == 0) {
            ri_ud_cancel(&x.send.super); /* it was not told */
        }
        if (w.recv.ends == 0) {
            ri_ud_cancel(&w.recv.super); /* not all of it had been sent */
        }
        wait(t.list, [&]() { return x.ended() && w.ended(); });
    });
}

/* A queue pair that fails is reset, and what was under way is sent again. */
TEST_F(test_ud_plane, queue_pair_fails)
{
    run([](trio &t) {
        for (int progress = 0; progress < 12; ++progress) {
            plane_transfer x(t.a(), t.c(), 3 * LENGTH);
            struct ibv_qp_attr attr = {};

            ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
            ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
            for (int i = 0; i < progress; ++i) {
                t.a().progress();
                t.c().progress();
            }
            if (!ucs_list_is_empty(&t.c().ud()->active)) {
                auto *recv = ucs_list_head(&t.c().ud()->active, ri_ud_recv_t, super.list);

                attr.qp_state = IBV_QPS_ERR;
                ASSERT_EQ(0, ri_verbs.modify_qp(recv->qp->qp, &attr, IBV_QP_STATE));
            }
            wait(t.list, [&]() { return x.ended(); });
            EXPECT_EQ(UCS_OK, x.recv.status);
            EXPECT_TRUE(x.is_received());
        }
        EXPECT_GT(t.c().counters()->ud_restarts, 0u);
    });
}

/* The sender's memory is none: the transfer fails, and others that use the same queue do not. */
TEST_F(test_ud_plane, bad_key)
{
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_OK, y.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, y.start_send(t.a_c.ep[0], y.recv.target));
        ASSERT_EQ(UCS_INPROGRESS,
                  x.send.send(t.a_c.ep[0], {{(uintptr_t)x.source.data(), LENGTH}},
                              x.source.key() ^ 0x5500, LENGTH, x.recv.target));
        wait(t.list, [&]() { return (x.send.ends > 0) && y.ended(); });
        EXPECT_EQ(UCS_ERR_INVALID_ADDR, x.send.status);
        EXPECT_TRUE(y.is_received());
        ri_ud_cancel(&x.recv.super);
        wait(t.list, [&]() { return x.ended(); });
    });
}

TEST_F(test_ud_plane, bad_key_of_the_receiver)
{
    run([](trio &t) {
        plane_transfer x(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.recv.recv(t.a_c.ep[1], {{(uintptr_t)x.sink.data(), LENGTH}},
                                      x.sink.key() ^ 0x5500, LENGTH));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return x.ended(); });
        /* The kernel's rxe does not say more than that the receive was flushed */
        EXPECT_TRUE((x.recv.status == UCS_ERR_INVALID_ADDR) ||
                    (x.recv.status == UCS_ERR_UNREACHABLE))
                << x.recv.status;
        EXPECT_EQ(UCS_ERR_CANCELED, x.send.status);
    });
}

TEST_F(test_ud_plane, hostile_targets)
{
    run([](trio &t) {
        plane_transfer x(t.a(), t.c()), y(t.a(), t.c());
        ri_ud_target_t bad;

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        bad        = x.recv.target;
        bad.length = LENGTH - 1;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, y.start_send(t.a_c.ep[0], bad));
        bad            = x.recv.target;
        bad.piece_size = bad.piece_size / 2;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, y.start_send(t.a_c.ep[0], bad));
        bad         = x.recv.target;
        bad.granted = UINT32_MAX;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, y.start_send(t.a_c.ep[0], bad));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, y.start_send(t.a_c.ep[0], x.recv.target))
                << "a second one at the same time";
        wait(t.list, [&]() { return x.ended(); });
        EXPECT_TRUE(x.is_received());
    });
}

TEST_F(test_ud_plane, hostile_addresses)
{
    run([](trio &t) {
        ri_ud_address_t good, bad;
        ri_plane_ep_t *ep = t.c().prepare(&good);
        ri_plane_ep_t *made;

        auto refused = [&](const ri_ud_address_t &address) {
            made = nullptr;
            return (ri_plane_ud.connect(t.a().plane, &address, sizeof(address), &made) ==
                    UCS_ERR_UNREACHABLE) &&
                   (made == nullptr);
        };
        bad         = good;
        bad.version = 2;
        EXPECT_TRUE(refused(bad));
        bad          = good;
        bad.link_mtu = 1;
        EXPECT_TRUE(refused(bad));
        bad          = good;
        bad.link_mtu = 0x61;
        EXPECT_TRUE(refused(bad));
        bad          = good;
        bad.link_mtu = (good.link_mtu & 0xf0) | 9;
        EXPECT_TRUE(refused(bad));
        bad            = good;
        bad.control[0] = 1;
        bad.control[1] = bad.control[2] = 0;
        EXPECT_TRUE(refused(bad));
        bad      = good;
        bad.qkey = 1u << 31;
        EXPECT_TRUE(refused(bad));
        bad = good;
        memset(bad.where, 0, sizeof(bad.where));
        EXPECT_TRUE(refused(bad));
        if ((good.link_mtu & 0xf) == RI_IB_LINK_INFINIBAND) {
            bad = good;
            bad.where[10] ^= 1; /* the P_Key */
            EXPECT_TRUE(refused(bad));
        }
        EXPECT_FALSE(refused(good));
        EXPECT_EQ(UCS_ERR_UNREACHABLE,
                  ri_plane_ud.connect(t.a().plane, &good, sizeof(good), &made));
        t.a().eps.push_back(made);
        EXPECT_EQ(UCS_ERR_UNREACHABLE,
                  ri_plane_ud.connect(t.a().plane, &good, sizeof(good) - 1, &made));

        /* A way that is not connected is none */
        plane_transfer x(t.a(), t.c());
        EXPECT_EQ(UCS_ERR_UNREACHABLE, x.start_recv(ep));
    });
}

/* Control messages that nobody sends who is who he should be. */
TEST_F(test_ud_plane, hostile_control)
{
    run([](trio &t) {
        auto *ac = ri_container_of(t.a_c.ep[0], ri_ud_ep_t, super);
        auto *bc = ri_container_of(t.b_c.ep[0], ri_ud_ep_t, super);
        plane_transfer x(t.a(), t.c());
        ri_ud_message_t m = {};
        uint64_t dropped  = 0;

        auto give = [&](ri_ud_ep_t *ep) {
            ri_ud_control_send(ep, &m);
            ++dropped;
            wait(t.list, [&]() { return t.c().counters()->ud_dropped == dropped; });
        };
        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        m.type   = RI_UD_PROBE;
        m.number = x.recv.target.number + 1; /* of the future */
        give(ac);
        m.number     = x.recv.target.number;
        bc->id_there = ac->id_there; /* from another process */
        m.pieces     = 7;
        give(bc);
        ++ac->id_there;
        give(ac);
        --ac->id_there;
        m.type = RI_UD_TYPE_LAST;
        give(ac);
        EXPECT_EQ(0u, t.c().counters()->ud_nacks);

        /* For transfers that are no sends here: too late, or too early */
        m.type = RI_UD_ACK;
        ri_ud_control_send(ac, &m);
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return x.ended(); });
        EXPECT_TRUE(x.is_received());
        EXPECT_EQ(dropped, t.c().counters()->ud_dropped);
    });
}

} // namespace

#endif
