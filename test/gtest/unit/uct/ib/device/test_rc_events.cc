/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a device tells without being asked. (src/uct/ib/device/events.c) The tests run
 * src/uct/ib/device/plane_common.c, too.
 */

#include "unit/uct/ib/rc/rc_test.h"

#if HAVE_VERBS

extern "C" {
#include "ucp/core/settings/config.h"
#include "uct/ib/device/events.h"
}

namespace {

class test_rc_events : public ::testing::Test {
protected:
    void SetUp() override
    {
        ri_config              = {};
        ri_config.ib_devices   = const_cast<char *>("all");
        ri_config.ib_gid_index = UCS_ULUNITS_AUTO;
        ri_config.ib_tx_queue  = 16;
        ri_config.rc_max_peers = 4;
        ri_config.reg_cache    = 0;
        for (rc_end *end : {&a, &b, &a2}) {
            end->open();
            end->prepare();
        }
        ASSERT_EQ(UCS_OK, a.connect(b.address()));
        ASSERT_EQ(UCS_OK, b.connect(a.address()));
    }

    void TearDown() override
    {
        for (rc_end *end : {&a, &b, &a2}) {
            end->close();
        }
        EXPECT_TRUE(hca.events.empty());
        EXPECT_EQ(0u, hca.unacked);
    }

    /* As long as it takes until the device is asked */
    void progress(rc_end &end)
    {
        for (unsigned i = 0; i < RI_IB_EVENTS_CALLS; ++i) {
            end.progress();
        }
    }

    static bool works(const rc_end &end) { return ri_plane_rc.check(end.ep) == UCS_OK; }

    fake::hca hca;
    rc_end a, b, a2;
};

/* A queue pair has failed: its worker hears of it, whoever has read it. */
TEST_F(test_rc_events, queue_pair)
{
    for (auto type :
         {IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR}) {
        SCOPED_TRACE(type);
        hca.raise(type, a.rc_ep()->qp);
        progress(b);
        EXPECT_TRUE(hca.events.empty());
        EXPECT_TRUE(works(a) && works(b));
        progress(a);
        EXPECT_FALSE(works(a));
        EXPECT_TRUE(works(b));
        EXPECT_EQ(1u, a.plane->failures);
        a.close();
        b.disconnect();
        a.open();
        a.prepare();
        b.prepare();
        ASSERT_EQ(UCS_OK, a.connect(b.address()));
        ASSERT_EQ(UCS_OK, b.connect(a.address()));
        progress(a);
        EXPECT_TRUE(works(a)) << "it was before that plane";
    }
}

/* What is under way ends. */
TEST_F(test_rc_events, under_way)
{
    rc_memory from(a, 4096), to(b, 4096);
    rc_op op;

    hca.automatic = false;
    ASSERT_EQ(UCS_INPROGRESS, op.start(a.ep, true, {from.all()}, from.local_key(),
                                       {to.all()}, to.remote_key(), 0, 4096));
    hca.raise(IBV_EVENT_QP_FATAL, a.rc_ep()->qp);
    progress(a);
    EXPECT_EQ(1, op.ends);
    EXPECT_EQ(UCS_ERR_UNREACHABLE, op.status);
}

TEST_F(test_rc_events, device)
{
    hca.raise(IBV_EVENT_DEVICE_FATAL);
    progress(a);
    progress(b);
    EXPECT_FALSE(works(a) || works(b));
    a.disconnect();
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.prepare(a.plane, &a.ep));
    a.close();
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, ri_plane_rc.open(&a.plane)) << "nor for others";
}

/* A device that has failed cannot destroy queue pairs, nor reset them. That does not end the
 * process, even if nobody has asked the device yet. */
TEST_F(test_rc_events, device_cannot_destroy)
{
    static __typeof__(ri_verbs.destroy_qp) destroy = ri_verbs.destroy_qp;
    struct ibv_qp *left                            = a.rc_ep()->qp;

    hca.raise(IBV_EVENT_DEVICE_FATAL);
    ri_verbs.destroy_qp = [](struct ibv_qp *) { return EIO; };
    hca.modify_error    = EIO;
    hca.modify_error_to = IBV_QPS_RESET;
    a.disconnect();
    ri_verbs.destroy_qp = destroy;
    EXPECT_EQ(0, destroy(left));
    progress(b);
    EXPECT_FALSE(works(b));
}

/* That is told however much else is, and once. */
TEST_F(test_rc_events, device_and_many)
{
    struct ibv_qp unknown = {};

    hca.raise(IBV_EVENT_DEVICE_FATAL);
    unknown.qp_num = 1;
    for (unsigned i = 0; i < 2 * RI_IB_EVENTS_KEPT; ++i) {
        hca.raise(IBV_EVENT_QP_FATAL, &unknown);
    }
    progress(a2);
    progress(a);
    EXPECT_FALSE(works(a));
    EXPECT_EQ(1u, a.plane->failures);
    progress(a);
    EXPECT_EQ(1u, a.plane->failures);
}

/* What was told of a queue pair that is gone does not end the next one of its number. */
TEST_F(test_rc_events, number_again)
{
    for (bool is_read : {false, true}) {
        SCOPED_TRACE(is_read);
        hca.raise(IBV_EVENT_QP_FATAL, a.rc_ep()->qp);
        if (is_read) {
            progress(b);
        }
        hca.next_qp = a.address().qp;
        a.disconnect();
        b.disconnect();
        a.prepare();
        hca.next_qp += 100;
        b.prepare();
        ASSERT_EQ(UCS_OK, a.connect(b.address()));
        ASSERT_EQ(UCS_OK, b.connect(a.address()));
        progress(a);
        EXPECT_TRUE(works(a));
    }
}

/* Others are taken, and change nothing. */
TEST_F(test_rc_events, others)
{
    for (auto type : {IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE, IBV_EVENT_LID_CHANGE,
                      IBV_EVENT_PKEY_CHANGE, IBV_EVENT_CLIENT_REREGISTER,
                      IBV_EVENT_GID_CHANGE, IBV_EVENT_SRQ_ERR}) {
        hca.raise(type);
    }
    hca.raise(IBV_EVENT_COMM_EST, a.rc_ep()->qp);
    hca.raise(IBV_EVENT_SQ_DRAINED, a.rc_ep()->qp);
    progress(a);
    progress(b);
    EXPECT_TRUE(works(a) && works(b));
    EXPECT_TRUE(hca.events.empty());
}

/* More than are kept: the latest count. */
TEST_F(test_rc_events, many)
{
    struct ibv_qp unknown = {};

    hca.raise(IBV_EVENT_QP_FATAL, a.rc_ep()->qp);
    for (unsigned i = 0; i < RI_IB_EVENTS_KEPT; ++i) {
        hca.raise(IBV_EVENT_QP_FATAL, &unknown);
    }
    hca.raise(IBV_EVENT_QP_FATAL, b.rc_ep()->qp);
    progress(a2);
    progress(a);
    progress(b);
    EXPECT_TRUE(works(a)) << "its requests will fail";
    EXPECT_FALSE(works(b));
}

/* A library without the functions */
TEST_F(test_rc_events, cannot_be_read)
{
    for (rc_end *end : {&a, &b, &a2}) {
        end->close();
    }
    auto get = ri_verbs.get_async_event;

    ri_verbs.get_async_event = nullptr;
    a.open();
    a.prepare();
    progress(a);
    a.close();
    ri_verbs.get_async_event = get;
    b.open();
}

} // namespace

#endif
