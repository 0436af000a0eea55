/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Devices at fault below the ud plane: queues that fail without that anything tells of it, and
 * objects that cannot be destroyed. Without a device they are skipped. The tests run
 * src/uct/ib/ud/ud_buffer.c, src/uct/ib/ud/ud_event.c and src/uct/ib/ud/ud_qp.c, too.
 */

#include "ud_plane_test.h"

#if HAVE_VERBS

extern "C" {
#include "uct/ib/device/events.h"
}

#include <algorithm>
#include <deque>
#include <set>

namespace {

/* What the device has to tell; what cannot be destroyed; and what was destroyed. */
std::deque<struct ibv_async_event> events;
std::set<const void *> stuck;
std::vector<const void *> gone;
bool no_reset;
ri_verbs_t real;

int get_event(struct ibv_context *, struct ibv_async_event *event)
{
    if (events.empty()) {
        return -1;
    }
    *event = events.front();
    events.pop_front();
    return 0;
}

void ack_event(struct ibv_async_event *) {}

template <typename type> int end(type *object, int (*func)(type *))
{
    if (stuck.count(object) > 0) {
        return EBUSY;
    }
    gone.push_back(object);
    return func(object);
}

int destroy_qp(struct ibv_qp *qp)
{
    return end(qp, real.destroy_qp);
}

int destroy_cq(struct ibv_cq *cq)
{
    return end(cq, real.destroy_cq);
}

int dereg_mr(struct ibv_mr *mr)
{
    return end(mr, real.dereg_mr);
}

int modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    return (no_reset && (attr->qp_state == IBV_QPS_RESET)) ?
                   EIO :
                   real.modify_qp(qp, attr, mask);
}

bool is_gone(const void *object)
{
    return std::find(gone.begin(), gone.end(), object) != gone.end();
}

class test_ud_plane_faults : public ud_plane_test {
protected:
    void SetUp() override
    {
        ud_plane_test::SetUp();
        ri_config.ud_qps = 1;
    }

    void run(const std::function<void(trio &)> &func)
    {
        ud_plane_test::run([&](trio &t) {
            take();
            func(t);
            give_back();
        });
    }

    /* From now on the device does what the test says. */
    static void take()
    {
        real                     = ri_verbs;
        ri_verbs.get_async_event = get_event;
        ri_verbs.ack_async_event = ack_event;
        ri_verbs.destroy_qp      = destroy_qp;
        ri_verbs.destroy_cq      = destroy_cq;
        ri_verbs.dereg_mr        = dereg_mr;
        ri_verbs.modify_qp       = modify_qp;
    }

    static void give_back() { ri_verbs = real; }

    static void raise(enum ibv_event_type type, struct ibv_cq *cq, struct ibv_qp *qp)
    {
        struct ibv_async_event event = {};

        event.event_type = type;
        if (cq != nullptr) {
            event.element.cq = cq;
        } else {
            event.element.qp = qp;
        }
        events.push_back(event);
    }

    /* Until the device is asked */
    static void look(ud_node &node)
    {
        for (unsigned i = 0; i < RI_IB_EVENTS_CALLS; ++i) {
            node.progress();
        }
        EXPECT_TRUE(events.empty());
    }

    static ri_ud_qp_t *idle(ud_node &node)
    {
        EXPECT_EQ(1u, ucs_list_length(&node.ud()->pool.idle));
        return ucs_list_head(&node.ud()->pool.idle, ri_ud_qp_t, list);
    }

    /* That of the one transfer to a node */
    static ri_ud_qp_t *used(ud_node &node)
    {
        EXPECT_EQ(1u, ucs_list_length(&node.ud()->active));
        return ucs_list_head(&node.ud()->active, ri_ud_recv_t, super.list)->qp;
    }

    static void exchange(trio &t)
    {
        plane_transfer x(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
        wait(t.list, [&]() { return x.ended(); });
        EXPECT_EQ(UCS_OK, x.recv.status);
        EXPECT_TRUE(x.is_received());
    }
};

/* A completion queue of the pool has failed, from which nothing comes any more: its transfer ends,
 * and it is used no more. Others go on. */
TEST_F(test_ud_plane_faults, completion_queue)
{
    for (bool has_begun : {false, true}) {
        run([has_begun](trio &t) {
            plane_transfer x(t.a(), t.c(), 1 << 20), y(t.b(), t.c());

            ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
            if (has_begun) {
                ASSERT_EQ(UCS_INPROGRESS, x.start_send(t.a_c.ep[0], x.recv.target));
                wait(t.list, [&]() { return t.c().counters()->ud_received > 0; });
                ASSERT_EQ(0, x.recv.ends);
            }
            ASSERT_EQ(UCS_INPROGRESS, y.start_recv(t.b_c.ep[1]));
            y.recv.then = [&]() {
                if (y.recv.ends == 0) {
                    y.start_send(t.b_c.ep[0], y.recv.target);
                }
            };
            struct ibv_cq *cq = used(t.c())->cq;
            struct ibv_qp *qp = used(t.c())->qp;

            raise(IBV_EVENT_CQ_ERR, cq, nullptr);
            look(t.c());
            EXPECT_EQ(1, x.recv.ends);
            EXPECT_EQ(UCS_ERR_IO_ERROR, x.recv.status);
            EXPECT_TRUE(is_gone(qp) && is_gone(cq));
            memset(x.sink.data(), FILL, x.length);
            wait(t.list, [&]() { return x.ended() && y.ended(); });
            EXPECT_EQ(has_begun ? UCS_ERR_CANCELED : UCS_INPROGRESS, x.send.status);
            EXPECT_EQ((ptrdiff_t)x.length,
                      std::count(x.sink.data(), x.sink.data() + x.length, FILL));
            EXPECT_TRUE(y.is_received());
            EXPECT_EQ(UCS_OK, ri_plane_ud.check(t.a_c.ep[1])) << "the way is there";
            exchange(t);
        });
    }
}

/* ... or cannot be read, which is found out by reading it */
TEST_F(test_ud_plane_faults, completion_queue_is_not_read)
{
    run([](trio &t) {
        static __typeof__(ibv_context_ops::poll_cq) poll;
        static struct ibv_cq *bad;
        struct ibv_context_ops *ops = &t.c().ud()->ib.device->context->ops;
        plane_transfer x(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        poll         = ops->poll_cq;
        bad          = used(t.c())->cq;
        ops->poll_cq = [](struct ibv_cq *cq, int max, struct ibv_wc *wc) {
            return (cq == bad) ? -1 : poll(cq, max, wc);
        };
        t.c().progress();
        EXPECT_EQ(1, x.recv.ends);
        EXPECT_NE(UCS_OK, x.recv.status);
        EXPECT_TRUE(is_gone(bad));
        ops->poll_cq = poll;
        exchange(t);
    });
}

/* While nobody uses it */
TEST_F(test_ud_plane_faults, idle)
{
    run([](trio &t) {
        exchange(t);
        struct ibv_cq *cq = idle(t.c())->cq;

        raise(IBV_EVENT_CQ_ERR, cq, nullptr);
        look(t.c());
        EXPECT_TRUE(is_gone(cq));
        EXPECT_EQ(0u, t.c().ud()->pool.count);
        exchange(t);

        /* A queue pair itself is reset before it is used */
        uint32_t use           = idle(t.c())->use;
        struct ibv_qp_attr err = {};

        err.qp_state = IBV_QPS_ERR;
        ASSERT_EQ(0, real.modify_qp(idle(t.c())->qp, &err, IBV_QP_STATE));
        raise(IBV_EVENT_QP_FATAL, nullptr, idle(t.c())->qp);
        look(t.c());
        exchange(t);
        EXPECT_EQ(use + 1, idle(t.c())->use);
        EXPECT_EQ(0u, t.c().counters()->ud_restarts);

        /* Others are nobody's */
        raise(IBV_EVENT_CQ_ERR, cq, nullptr);
        raise(IBV_EVENT_QP_FATAL, nullptr, t.a().ud()->data.qp);
        look(t.c());
        exchange(t);
    });
}

/* A queue pair that cannot be destroyed may still write: its memory, and its completion queue,
 * stay. */
TEST_F(test_ud_plane_faults, pool_is_not_destroyed)
{
    run([](trio &t) {
        exchange(t);
        ri_ud_qp_t left = *idle(t.c());

        stuck.insert(left.qp);
        ri_ud_pool_cleanup(&t.c().ud()->pool);
        EXPECT_FALSE(is_gone(left.cq) || is_gone(left.fixed.mr));
        EXPECT_EQ(0u, t.c().counters()->ud_pool_bytes);
        stuck.clear();
        exchange(t);
        EXPECT_EQ(0, real.destroy_qp(left.qp));
        EXPECT_EQ(0, real.destroy_cq(left.cq));
        EXPECT_EQ(0, real.dereg_mr(left.fixed.mr));
    });
}

TEST_F(test_ud_plane_faults, plane_is_not_destroyed)
{
    in_process({}, []() {
        ud_node node;

        ASSERT_TRUE(node.open());
        take();
        ri_ud_control_qp_t control = node.ud()->control;
        ri_ud_data_t data          = node.ud()->data;

        stuck = {control.qp, data.qp};
        node.close();
        EXPECT_FALSE(is_gone(control.send_cq) || is_gone(control.recv_cq));
        EXPECT_FALSE(is_gone(control.buffer.mr) || is_gone(data.cq));
        give_back();
    });
}

/* ... and memory of the application's is never handed back then. */
TEST_F(test_ud_plane_faults, process_ends)
{
    in_process({}, []() {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            trio t;
            plane_transfer x(t.a(), t.c());

            take();
            x.start_recv(t.a_c.ep[1]);
            stuck    = {used(t.c())->qp};
            no_reset = true;
            ri_ud_cancel(&x.recv.super);
            _exit(0);
        }
        ASSERT_EQ(pid, waitpid(pid, &status, 0));
        EXPECT_TRUE(WIFSIGNALED(status) && (WTERMSIG(status) == SIGABRT)) << status;
    });
}

/* A device that has failed writes nothing. */
TEST_F(test_ud_plane_faults, device_has_failed)
{
    run([](trio &t) {
        plane_transfer x(t.a(), t.c());

        ASSERT_EQ(UCS_OK, x.start_recv(t.a_c.ep[1]));
        ri_ud_qp_t left = *used(t.c());

        raise(IBV_EVENT_DEVICE_FATAL, nullptr, nullptr);
        stuck    = {left.qp};
        no_reset = true;
        ri_ud_cancel(&x.recv.super);
        t.c().progress();
        EXPECT_EQ(UCS_ERR_CANCELED, x.recv.status);
        EXPECT_FALSE(is_gone(left.cq) || is_gone(left.fixed.mr));
        no_reset = false;
    });
}

} // namespace

#endif
