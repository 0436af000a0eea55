/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/uct/ib/rc/rc_plane.c, on a device of the test's own: open and connect. */

#include "rc_test.h"

#if HAVE_VERBS

extern "C" {
#include "uct/ib/device/address.h"
}

#include <cerrno>

namespace {

using test_rc = rc_transfer_test;

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

/* Ports of other partitions cannot reach each other: the address tells. */
TEST_F(test_rc, address_has_the_partition)
{
    hca.port().pkeys = {0x8012, 0xffff};
    a.open();
    b.open();
    a.prepare();
    b.prepare();
    EXPECT_EQ(0x8012, a.address().pkey);
    ri_rc_address_t other = b.address();
    other.pkey            = 0x0012; /* a limited member */
    EXPECT_EQ(UCS_OK, a.connect(other));
    a.disconnect();
    other.pkey = 0;
    EXPECT_EQ(UCS_OK, a.connect(other));
}

/* Said once, in a process of its own, as others may have said it */
TEST_F(test_rc, partitions)
{
    const struct {
        uint16_t own, remote;
        int shares;
    } cases[] = {{0xffff, 0xffff, 1}, {0xffff, 0x7fff, 1}, {0x7fff, 0xffff, 1},
                 {0x7fff, 0x7fff, 0}, {0x8001, 0x8002, 0}, {0x8001, 0xffff, 0},
                 {0, 0x7fff, 1},      {0x7fff, 0, 1},      {0, 0, 1}};

    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(
            {
                int bad      = 0;
                ri_log_level = RI_LOG_LEVEL_WARN;
                for (const auto &c : cases) {
                    ri_ib_address_t own = {};
                    own.pkey            = c.own;
                    bad += ri_ib_address_shares_partition(&own, c.remote) != c.shares;
                }
                fprintf(stderr, "%d bad\n", bad);
                _exit(0);
            },
            ::testing::ExitedWithCode(0),
            "^[^\n]*WARN  a peer's port is in another partition .*P_Key 7fff, here "
            "7fff.*UCXRI_IB_PKEY[^\n]*\n0 bad\n$");
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
                 {"partition", [](auto &x) { x.pkey = 0x8002; }},
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

} // namespace

#endif
