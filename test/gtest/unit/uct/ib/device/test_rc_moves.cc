/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port of a device gets another address. (src/uct/ib/device/address.c) The tests run
 * src/uct/ib/device/link.c, too.
 */

#include "unit/uct/ib/rc/rc_test.h"

#if HAVE_VERBS

extern "C" {
#include "ucp/core/settings/config.h"
#include "uct/ib/device/events.h"
}

namespace {

class test_rc_moves : public rc_test {
protected:
    void TearDown() override
    {
        c.close();
        rc_test::TearDown();
        EXPECT_EQ(0u, hca.unacked);
    }

    void tell(enum ibv_event_type type, int port = 1)
    {
        struct ibv_async_event event = {};

        event.event_type       = type;
        event.element.port_num = port;
        hca.events.push_back(event);
    }

    void move(uint16_t lid, enum ibv_event_type type = IBV_EVENT_LID_CHANGE)
    {
        hca.port().attr.lid = lid;
        tell(type);
    }

    /* As long as it takes until the device is asked */
    static void look(rc_end &end)
    {
        for (unsigned i = 0; i < RI_IB_EVENTS_CALLS; ++i) {
            end.progress();
        }
    }

    static bool works(const rc_end &end) { return ri_plane_rc.check(end.ep) == UCS_OK; }

    static fake::hca_gid gid(uint8_t last, bool is_ipv4 = true)
    {
        fake::hca_gid gid = {};

        gid.type        = IBV_GID_TYPE_ROCE_V2;
        gid.gid.raw[0]  = is_ipv4 ? 0 : 0x20;
        gid.gid.raw[10] = gid.gid.raw[11] = is_ipv4 ? 0xff : 0;
        gid.gid.raw[15]                   = last;
        return gid;
    }

    void roce(const std::vector<fake::hca_gid> &gids)
    {
        hca.port().attr.link_layer = IBV_LINK_LAYER_ETHERNET;
        hca.port().gids            = gids;
    }

    rc_end c;
};

/* Whatever tells of it: the ways of all planes end, also one that was prepared only, and others are
 * made with the new address. What is under way ends. */
TEST_F(test_rc_moves, lid)
{
    uint16_t lid = hca.port().attr.lid;

    for (auto type : {IBV_EVENT_LID_CHANGE, IBV_EVENT_CLIENT_REREGISTER,
                      IBV_EVENT_SM_CHANGE, IBV_EVENT_PORT_ACTIVE}) {
        SCOPED_TRACE(type);
        start();
        c.open();
        c.prepare();
        ASSERT_EQ(lid, a.address().lid);
        {
            rc_memory from(a, 4096), to(b, 4096);
            rc_op op;

            hca.automatic = false;
            ASSERT_EQ(UCS_INPROGRESS, op.start(a.ep, true, {from.all()}, from.local_key(),
                                               {to.all()}, to.remote_key(), 0, 4096));
            move(++lid, type);
            for (rc_end *end : {&a, &b, &c}) {
                look(*end);
                EXPECT_FALSE(works(*end));
                EXPECT_EQ(1u, end->plane->failures);
            }
            EXPECT_EQ(UCS_ERR_UNREACHABLE, op.status);
            hca.automatic = true;
        }
        for (rc_end *end : {&a, &b, &c}) {
            end->disconnect();
        }
        join();
        EXPECT_EQ(lid, a.address().lid);
        EXPECT_EQ(lid, hca.find(a.address().qp)->attr.ah_attr.dlid);
        look(a);
        EXPECT_TRUE(works(a)) << "once is enough";
        for (rc_end *end : {&a, &b, &c}) {
            end->close();
        }
    }
}

/* A way that is prepared has the address that the device has by then, though nobody has looked;
 * when its plane does, it stays. */
TEST_F(test_rc_moves, prepared_before_the_look)
{
    start();
    c.open();
    move(99);
    c.prepare();
    EXPECT_EQ(99, c.address().lid);
    EXPECT_TRUE(works(a));
    for (rc_end *end : {&a, &c}) {
        look(*end);
    }
    EXPECT_TRUE(works(c));
    EXPECT_FALSE(works(a));
}

/* Other events, other ports, and ports that are down, change nothing. */
TEST_F(test_rc_moves, others)
{
    start();
    for (auto type : {IBV_EVENT_LID_CHANGE, IBV_EVENT_PKEY_CHANGE, IBV_EVENT_SM_CHANGE,
                      IBV_EVENT_GID_CHANGE, IBV_EVENT_CLIENT_REREGISTER}) {
        tell(type);
    }
    look(a);
    EXPECT_TRUE(works(a)) << "it has the same address";

    hca.port().attr.lid = 9;
    tell(IBV_EVENT_LID_CHANGE, 2);
    look(a);
    EXPECT_TRUE(works(a)) << "another port's";

    hca.port().attr.state = IBV_PORT_DOWN;
    hca.port().attr.lid   = 0;
    tell(IBV_EVENT_LID_CHANGE);
    look(a);
    EXPECT_TRUE(works(a)) << "it has none now";
    EXPECT_EQ(7, a.address().lid);

    hca.port().attr.state = IBV_PORT_ACTIVE;
    move(11, IBV_EVENT_PORT_ACTIVE);
    look(a);
    EXPECT_FALSE(works(a));
    EXPECT_EQ(11, a.address().lid);
}

/* An entry of the table stays in use whatever others come; then one of its kind is chosen. Another
 * kind is none: the address may have gone for a moment only. */
TEST_F(test_rc_moves, gid)
{
    roce({gid(1, false)});
    start();
    roce({gid(1, false), gid(2)});
    tell(IBV_EVENT_GID_CHANGE);
    look(a);
    EXPECT_TRUE(works(a));
    EXPECT_EQ(0, a.rc()->ib.device->address.gid_index);

    roce({gid(2), {}});
    hca.port().gids[1].gid = {};
    tell(IBV_EVENT_GID_CHANGE);
    look(a);
    EXPECT_TRUE(works(a)) << "it has none of that kind";
    roce({gid(1, false), gid(2)});
    tell(IBV_EVENT_GID_CHANGE);
    look(a);
    EXPECT_TRUE(works(a)) << "it is there again";

    roce({gid(2), gid(3, false)});
    tell(IBV_EVENT_GID_CHANGE);
    look(a);
    EXPECT_FALSE(works(a));
    EXPECT_EQ(1, a.rc()->ib.device->address.gid_index);
    EXPECT_EQ(3, a.address().gid[15]);
    look(b);
    a.disconnect();
    b.disconnect();
    join();
    EXPECT_EQ(1, hca.find(a.address().qp)->attr.ah_attr.grh.sgid_index);

    roce({gid(3, false), {}});
    hca.port().gids[0].gid = {};
    tell(IBV_EVENT_GID_CHANGE);
    look(a);
    EXPECT_TRUE(works(a)) << "it has none now";
}

/* A partition that has another place now; one that is not there for a while. */
TEST_F(test_rc_moves, pkey)
{
    hca.port().pkeys = {0x8001, 0xffff};
    start();
    EXPECT_EQ(0, hca.find(a.address().qp)->attr.pkey_index);
    hca.port().pkeys = {0xffff, 0x8001};
    tell(IBV_EVENT_PKEY_CHANGE);
    look(a);
    look(b);
    EXPECT_FALSE(works(a));
    a.disconnect();
    b.disconnect();
    join();
    EXPECT_EQ(1, hca.find(a.address().qp)->attr.pkey_index) << "of the same number";
    hca.port().pkeys = {0xffff};
    tell(IBV_EVENT_PKEY_CHANGE);
    look(a);
    EXPECT_TRUE(works(a)) << "it has none now: not another partition";
    EXPECT_EQ(1, a.rc()->ib.device->address.pkey_index);
}

/* Who calls progress seldom is told after few calls. */
TEST_F(test_rc_moves, seldom)
{
    start();
    tell(IBV_EVENT_DEVICE_FATAL);
    for (int i = 0; i < 4; ++i) {
        usleep(60000);
        a.progress();
    }
    EXPECT_FALSE(works(a));
}

} // namespace

#endif
