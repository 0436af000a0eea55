/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Writes with an immediate, by the rc plane, on whatever device there is
 * (LD_PRELOAD=test/bin/libsofthca.so is one). Both ends are in this process. Without any device
 * they are skipped. (src/uct/ib/rc/rc_notify.c) The tests run src/uct/ib/device/plane_common.c and
 * src/uct/ib/rc/rc_footprint.c, too.
 */

#include "rc_test.h"

#if HAVE_VERBS

#include <algorithm>
#include <climits>
#include <errno.h>
#include <unistd.h>

namespace {

struct notification {
    ri_plane_ep_t *ep;
    uint32_t immediate;
    size_t length;
    bool in_place; /* the last byte of the memory was 0x55 then */
};

std::vector<notification> notifications;
const uint8_t *watched;

void notified(ri_plane_ep_t *ep, uint32_t immediate, size_t length)
{
    notifications.push_back({ep, immediate, length, *watched == 0x55});
}

class test_rc_notify : public ::testing::Test {
protected:
    static constexpr size_t LENGTH = 1ul << 20;

    void SetUp() override
    {
        ri_config.ib_devices   = const_cast<char *>("all");
        ri_config.ib_gid_index = UCS_ULUNITS_AUTO;
        ri_config.ib_tx_queue  = 64;
        ri_config.reg_cache    = 0;
        ri_config.rc_max_peers = 256;
        notifications.clear();
        if (ri_plane_rc.open(&a.plane) != UCS_OK) {
            GTEST_SKIP() << "no RDMA device (LD_PRELOAD=test/bin/libsofthca.so is one)";
        }
        b.open();
    }

    void TearDown() override
    {
        m_from.reset();
        m_to.reset();
        a.close();
        b.close();
    }

    /* With ways whose remote ends listen */
    void join(bool listen = true)
    {
        if (listen) {
            ASSERT_EQ(UCS_OK, ri_plane_rc.listen(b.plane, notified));
        }
        a.prepare();
        b.prepare();
        a.ep->user = b.ep->user = this;
        ASSERT_EQ(UCS_OK, a.connect(b.address()));
        ASSERT_EQ(UCS_OK, b.connect(a.address()));
        m_from.reset(new rc_memory(a, LENGTH));
        m_to.reset(new rc_memory(b, LENGTH));
        watched = m_to->data() + LENGTH - 1;
    }

    /* A write of the last bytes of the memory, in pieces */
    ucs_status_t start(rc_op &op, size_t length, uint32_t immediate, size_t pieces = 1)
    {
        std::vector<ri_segment_t> local, remote;
        ri_transfer_t transfer = {};
        size_t at              = LENGTH - length;

        for (size_t i = 0; i < pieces; ++i) {
            size_t piece = (i + 1 < pieces) ? length / pieces : LENGTH - at;

            local.push_back({(uintptr_t)m_from->data() + at, piece});
            remote.push_back({(uintptr_t)m_to->data() + at, piece});
            at += piece;
        }
        std::vector<uint32_t> lkeys(pieces, m_from->local_key()),
                rkeys(pieces, m_to->remote_key() + (m_bad_key ? 77 : 0));
        m_from->data()[LENGTH - 1] = 0x55;
        transfer.local             = local.data();
        transfer.num_local         = pieces;
        transfer.remote            = remote.data();
        transfer.num_remote        = pieces;
        transfer.length            = length;
        transfer.local_keys        = lkeys.data();
        transfer.remote_keys       = rkeys.data();
        transfer.op                = &op.super;
        transfer.notify            = 1;
        transfer.immediate         = immediate;
        ucs_status_t ret           = ri_plane_rc.write(a.ep, &transfer);
        op.started                 = (ret == UCS_INPROGRESS);
        return ret;
    }

    template <typename done_t> void progress_until(const done_t &done)
    {
        for (double start = ri_clock_now(); !done();) {
            if (a.progress() + b.progress() == 0) {
                usleep(20);
            }
            ASSERT_LT(ri_clock_now(), start + 100) << "does not come";
        }
    }

    void wait(rc_op &op)
    {
        progress_until([&] { return op.ends > 0; });
    }

    void wait_notified(size_t count)
    {
        progress_until([&] { return notifications.size() >= count; });
    }

    /* Write @a count times; all writes have ended, and the other end has not looked for them. */
    void write_unheard(uint32_t count)
    {
        for (uint32_t i = 0; i < count; ++i) {
            rc_op op;

            ASSERT_EQ(UCS_INPROGRESS, start(op, 100, i));
            while (op.ends == 0) {
                a.progress();
            }
        }
    }

    rc_end a, b;
    std::unique_ptr<rc_memory> m_from, m_to;
    bool m_bad_key = false;

private:
};

TEST_F(test_rc_notify, tells_after_the_data)
{
    join();
    EXPECT_TRUE(b.plane->capabilities & RI_PLANE_NOTIFY);
    EXPECT_EQ(32u, b.ep->notifications);
    EXPECT_EQ(0u, a.ep->notifications) << "it does not listen";
    for (size_t length : {(size_t)1, (size_t)4097, LENGTH}) {
        rc_op op;

        notifications.clear();
        m_to->data()[LENGTH - 1] = 0;
        ASSERT_EQ(UCS_INPROGRESS, start(op, length, 0xdeadbeef));
        wait(op);
        wait_notified(1);
        EXPECT_EQ(UCS_OK, op.status);
        ASSERT_EQ(1u, notifications.size());
        EXPECT_EQ(b.ep, notifications[0].ep);
        EXPECT_EQ(0xdeadbeefu, notifications[0].immediate);
        EXPECT_EQ(length, notifications[0].length);
        EXPECT_TRUE(notifications[0].in_place);
    }
}

/* Once, when all is there */
TEST_F(test_rc_notify, in_pieces)
{
    rc_op op;

    join();
    m_to->data()[LENGTH - 1] = 0;
    ASSERT_EQ(UCS_INPROGRESS, start(op, LENGTH, 7, 12));
    wait(op);
    wait_notified(1);
    ASSERT_EQ(1u, notifications.size());
    EXPECT_TRUE(notifications[0].in_place);
    EXPECT_LT(notifications[0].length, LENGTH);
}

TEST_F(test_rc_notify, in_order_and_again)
{
    join();
    for (uint32_t i = 0; i < 200; ++i) {
        rc_op op;

        ASSERT_EQ(UCS_INPROGRESS, start(op, 100, i));
        wait(op);
        wait_notified(i + 1);
        /* Those that have told are posted again by eights */
        EXPECT_EQ(40u - (i + 1) % 8, b.rc_ep()->receives);
    }
    for (uint32_t i = 0; i < 200; ++i) {
        EXPECT_EQ(i, notifications[i].immediate);
    }
}

/* What the sender was told to have ended is told, whoever ends the way, and how. */
TEST_F(test_rc_notify, disconnect_tells_the_rest)
{
    join();
    write_unheard(32);
    EXPECT_TRUE(notifications.empty());
    b.disconnect();
    ASSERT_EQ(32u, notifications.size());
    EXPECT_EQ(0u, b.rc()->recv_used);
    EXPECT_EQ(0u, b.plane->failures);
}

/* The same if all ways end because something else is broken. That is so once. */
TEST_F(test_rc_notify, broken_tells_the_rest)
{
    join();
    write_unheard(32);
    for (int i = 0; i < 2; ++i) {
        ri_rc_end_all(b.rc(), "test");
        b.progress();
        EXPECT_EQ(32u, notifications.size());
        EXPECT_EQ(1u, b.plane->failures);
        EXPECT_EQ(0u, b.plane->lost);
        EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.check(b.ep));
    }
}

/* The queue of receives itself: it is not read again. */
TEST_F(test_rc_notify, cannot_be_read)
{
    static __typeof__(ibv_context_ops::poll_cq) poll;
    static struct ibv_cq *bad;
    static unsigned polls;

    join();
    struct ibv_context_ops *ops = &b.rc()->ib.device->context->ops;
    poll                        = ops->poll_cq;
    bad                         = b.rc()->recv_cq;
    polls                       = 0;
    ops->poll_cq                = [](struct ibv_cq *cq, int max, struct ibv_wc *wc) {
        polls += (cq == bad);
        return (cq == bad) ? -1 : poll(cq, max, wc);
    };
    for (int i = 0; i < 3; ++i) {
        b.progress();
        EXPECT_EQ(1u, polls);
        EXPECT_EQ(1u, b.plane->failures);
        EXPECT_EQ(1u, b.plane->lost);
    }
    ops->poll_cq = poll;
}

/* What has been told to the device is taken even if that has failed since. */
TEST_F(test_rc_notify, does_not_end_and_tells)
{
    static __typeof__(ri_verbs.modify_qp) modify = ri_verbs.modify_qp;
    rc_op op;

    join();
    ri_verbs.modify_qp = [](struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask) {
        return (attr->qp_state == IBV_QPS_ERR) ? EIO : modify(qp, attr, mask);
    };
    ASSERT_EQ(UCS_INPROGRESS, start(op, 100, 3));
    while (op.ends == 0) {
        a.progress();
    }
    ri_rc_end_all(b.rc(), "test");
    EXPECT_EQ(1u, notifications.size());
    EXPECT_EQ(1u, b.plane->lost);
    ri_verbs.modify_qp = modify;
}

/* Ways that fail together end one after the other, not one within the other: there may be
 * thousands of them. */
TEST_F(test_rc_notify, many_fail)
{
    static __typeof__(ri_verbs.modify_qp) modify = ri_verbs.modify_qp;
    static uintptr_t lowest, highest;
    const unsigned COUNT    = 40;
    struct ibv_qp_attr attr = {};
    std::vector<std::unique_ptr<rc_end>> from(COUNT), to(COUNT);

    join();
    for (unsigned i = 0; i < COUNT; ++i) {
        from[i].reset(new rc_end{a.plane, nullptr});
        to[i].reset(new rc_end{b.plane, nullptr});
        from[i]->prepare();
        to[i]->prepare();
        from[i]->ep->user = to[i]->ep->user = this;
        ASSERT_EQ(UCS_OK, from[i]->connect(to[i]->address()));
        ASSERT_EQ(UCS_OK, to[i]->connect(from[i]->address()));
    }
    for (unsigned i = 0; i < COUNT;
         ++i) { /* receives that end at no multiple of a batch */
        rc_op op;

        std::swap(a.ep, from[i]->ep);
        ASSERT_EQ(UCS_INPROGRESS, start(op, 100, i));
        std::swap(a.ep, from[i]->ep);
        wait(op);
    }
    wait_notified(COUNT);
    attr.qp_state = IBV_QPS_ERR;
    for (auto &end : to) {
        ASSERT_EQ(0, modify(end->rc_ep()->qp, &attr, IBV_QP_STATE));
    }
    usleep(20000); /* so that all are flushed */
    lowest             = UINTPTR_MAX;
    highest            = 0;
    ri_verbs.modify_qp = [](struct ibv_qp *qp, struct ibv_qp_attr *what, int mask) {
        uintptr_t here = (uintptr_t)__builtin_frame_address(0);

        lowest  = std::min(lowest, here);
        highest = std::max(highest, here);
        return modify(qp, what, mask);
    };
    progress_until([&] { return b.plane->failures == COUNT; });
    ri_verbs.modify_qp = modify;
    EXPECT_LT(highest - lowest, 4096u) << "bytes of the stack";
    EXPECT_EQ(40u, b.rc()->recv_used) << "the one that works";
    for (unsigned i = 0; i < COUNT; ++i) {
        EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.check(to[i]->ep));
        from[i]->disconnect();
        to[i]->disconnect();
    }
}

/* ... and one that has not had its turn yet can be gone by then. */
TEST_F(test_rc_notify, fails_and_is_gone)
{
    struct ibv_qp_attr attr = {};
    rc_end from{a.plane, nullptr}, to{b.plane, nullptr};

    join();
    from.prepare();
    to.prepare();
    ASSERT_EQ(UCS_OK, from.connect(to.address()));
    ASSERT_EQ(UCS_OK, to.connect(from.address()));
    attr.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(0, ri_verbs.modify_qp(to.rc_ep()->qp, &attr, IBV_QP_STATE));
    usleep(20000);
    b.disconnect(); /* takes what was flushed of the other, too */
    EXPECT_EQ(0u, b.rc()->recv_used);
    EXPECT_EQ(0u, b.plane->failures);
    to.disconnect();
    b.progress();
    EXPECT_EQ(0u, b.plane->failures);
    from.disconnect();
}

/* A device that does not end what is posted: the way is lost. */
TEST_F(test_rc_notify, does_not_end)
{
    static __typeof__(ri_verbs.modify_qp) modify = ri_verbs.modify_qp;

    join();
    ri_verbs.modify_qp = [](struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask) {
        return (attr->qp_state == IBV_QPS_ERR) ? EIO : modify(qp, attr, mask);
    };
    EXPECT_EQ(0u, b.plane->lost);
    b.disconnect();
    EXPECT_EQ(1u, b.plane->lost);
    a.disconnect();
    EXPECT_EQ(0u, a.plane->lost) << "has nothing posted";
    ri_verbs.modify_qp = modify;
    notifications.clear();
}

/* A queue pair that cannot be destroyed is reset: it accesses no memory then. If it cannot be,
 * the process ends. */
TEST_F(test_rc_notify, is_not_destroyed)
{
    static __typeof__(ri_verbs.modify_qp) modify   = ri_verbs.modify_qp;
    static __typeof__(ri_verbs.destroy_qp) destroy = ri_verbs.destroy_qp;
    static struct ibv_qp *left;
    static unsigned resets;
    static bool fails;

    left   = nullptr;
    resets = 0;
    fails  = false;
    join();
    ri_verbs.destroy_qp = [](struct ibv_qp *qp) {
        left = qp;
        return EBUSY;
    };
    ri_verbs.modify_qp = [](struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask) {
        resets += (attr->qp_state == IBV_QPS_RESET);
        return (fails && (attr->qp_state == IBV_QPS_RESET)) ? EIO :
                                                              modify(qp, attr, mask);
    };
    b.disconnect();
    EXPECT_EQ(1u, resets);
    ASSERT_NE(nullptr, left);
    EXPECT_EQ(0, destroy(left));
    EXPECT_EQ(0u, b.plane->lost);
    fails                                   = true;
    ri_log_level                            = RI_LOG_LEVEL_ERROR;
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(a.disconnect(), "the process ends");
    ri_verbs.destroy_qp = destroy;
    ri_verbs.modify_qp  = modify;
}

TEST_F(test_rc_notify, no_user)
{
    rc_op op;

    join();
    b.ep->user = nullptr;
    ASSERT_EQ(UCS_INPROGRESS, start(op, 100, 1));
    wait(op);
    b.disconnect();
    EXPECT_TRUE(notifications.empty());
}

/* The memory is not there: the way fails at both ends, and nothing is told. */
TEST_F(test_rc_notify, remote_error)
{
    rc_op op;

    join();
    m_bad_key = true;
    ASSERT_EQ(UCS_INPROGRESS, start(op, 100, 1));
    wait(op);
    EXPECT_NE(UCS_OK, op.status);
    EXPECT_EQ(1u, a.plane->failures);
    progress_until([&] { return b.plane->failures == 1; });
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.check(b.ep));
    EXPECT_TRUE(notifications.empty());
    EXPECT_EQ(0u, b.rc()->recv_used);
}

TEST_F(test_rc_notify, ways_come_and_go)
{
    join();
    for (uint32_t i = 0; i < 20; ++i) {
        rc_op op;

        m_from.reset();
        m_to.reset();
        a.disconnect();
        b.disconnect();
        join(false);
        notifications.clear();
        EXPECT_EQ(40u, b.rc()->recv_used);
        ASSERT_EQ(UCS_INPROGRESS, start(op, 100, i));
        wait(op);
        wait_notified(1);
        EXPECT_EQ(i, notifications[0].immediate);
    }
}

/* Make @a count ways. @return How many of them are told of writes. */
unsigned notified_ways(ri_plane_t *plane, unsigned count)
{
    std::vector<ri_plane_ep_t *> eps(count, nullptr);
    unsigned result = 0;

    for (ri_plane_ep_t *&ep : eps) {
        EXPECT_EQ(UCS_OK, ri_plane_rc.prepare(plane, &ep));
        EXPECT_TRUE((ep->notifications == 0) || (ep->notifications == 32));
        result += ep->notifications > 0;
    }
    for (ri_plane_ep_t *ep : eps) {
        ri_plane_rc.disconnect(ep);
    }
    EXPECT_EQ(0u, ri_container_of(plane, ri_rc_plane_t, ib.super)->recv_used);
    return result;
}

/* All ways that there may be have places for their completions. */
TEST_F(test_rc_notify, places_for_all_peers)
{
    for (unsigned peers : {1u, 2u, 300u, 600u}) {
        SCOPED_TRACE(peers);
        b.close();
        b.open();
        ri_config.rc_max_peers = peers;
        ASSERT_EQ(UCS_OK, ri_plane_rc.listen(b.plane, notified));
        EXPECT_EQ(std::min(peers, b.rc()->ib.device->max_cqe / 40),
                  notified_ways(b.plane, peers));
    }
}

/* A device with no room for so large a queue has a smaller one. */
TEST_F(test_rc_notify, no_memory_for_all_peers)
{
    static __typeof__(ri_verbs.create_cq) create = ri_verbs.create_cq;
    static int most;

    ri_config.rc_max_peers = 1024;
    ri_verbs.create_cq     = [](struct ibv_context *context, int cqe, void *arg,
                            struct ibv_comp_channel *channel, int vector) {
        errno = ENOMEM;
        return (cqe > most) ? nullptr : create(context, cqe, arg, channel, vector);
    };
    for (int limit : {20000, 1000, 40}) {
        b.close();
        most = INT_MAX;
        b.open();
        most = limit;
        EXPECT_EQ(UCS_OK, ri_plane_rc.listen(b.plane, notified));
        EXPECT_LE(b.rc()->recv_capacity, (unsigned)limit);
        EXPECT_GE(b.rc()->recv_capacity, (unsigned)limit / 2);
    }
    b.close();
    most = INT_MAX;
    b.open();
    most = 0;
    EXPECT_NE(UCS_OK, ri_plane_rc.listen(b.plane, notified));
    EXPECT_EQ(nullptr, b.rc()->recv_cq);
    ri_verbs.create_cq = create;
}

/* A device with few places: that is told, once. */
TEST_F(test_rc_notify, few_places_are_told)
{
    unsigned max_cqe           = b.rc()->ib.device->max_cqe;
    b.rc()->ib.device->max_cqe = 100;
    EXPECT_EQ(UCS_OK, ri_plane_rc.listen(b.plane, notified));
    b.rc()->ib.device->max_cqe = max_cqe;
    ri_log_level               = RI_LOG_LEVEL_INFO;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(2u, notified_ways(b.plane, 2));
    EXPECT_EQ("", ::testing::internal::GetCapturedStderr());
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(2u, notified_ways(b.plane, 5));
    EXPECT_EQ(2u, notified_ways(b.plane, 5));
    std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(std::string::npos, text.find("100 places")) << text;
    EXPECT_EQ(1, std::count(text.begin(), text.end(), '\n')) << text;
}

/* One that does not listen has nothing to tell. */
TEST_F(test_rc_notify, does_not_listen)
{
    ri_log_level = RI_LOG_LEVEL_INFO;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(0u, notified_ways(b.plane, 2));
    EXPECT_EQ("", ::testing::internal::GetCapturedStderr());
}

/* More ways than there are places for completions */
TEST_F(test_rc_notify, places_are_bounded)
{
    std::vector<ri_plane_ep_t *> eps;
    join();
    b.rc()->recv_capacity = 120;
    for (unsigned i = 0; i < 4; ++i) {
        eps.push_back(nullptr);
        ASSERT_EQ(UCS_OK, ri_plane_rc.prepare(b.plane, &eps.back()));
        EXPECT_EQ((i < 2) ? 32u : 0u, eps.back()->notifications);
    }
    for (ri_plane_ep_t *ep : eps) {
        ri_plane_rc.disconnect(ep);
    }
    EXPECT_EQ(40u, b.rc()->recv_used);
}

} // namespace

#endif
