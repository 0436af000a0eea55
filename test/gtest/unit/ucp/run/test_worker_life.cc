/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker ends with everything under way: in which order that ends, and what its peers have been
 * told by then. (src/ucp/run/worker_life.c, and the phases in src/ucp/core/types/module.h)
 */

#include "unit/common/pair_test.h"
#include "unit/fakes/fake_malloc.h"

namespace {

class test_worker_life : public pair_test {
protected:
    static constexpr uint64_t ALL      = ~0ul;
    static constexpr uint64_t STRANGER = 0x3333;
    static constexpr uint64_t TAG      = 1; /* of receives that are offered */
    static constexpr size_t MEDIUM     = 20000;
    static constexpr size_t LARGE      = 100000;
    static constexpr size_t GIANT      = 5000001; /* both sides copy */

    void SetUp() override
    {
        ri_test::SetUp();
        ri_config.ring_peers    = 4;
        ri_config.hybrid_thresh = 65536;
        ri_config.pool_size     = 512 * 1024;
        begin();
    }

    void TearDown() override
    {
        stop();
        ri_test::TearDown();
    }

    /* Two workers with rings and planes that know who sends what, and a third one that is reached
     * by UCX only. */
    void begin()
    {
        meet();
        m_node  = m_b.get(); /* also while it ends */
        m_other = m_b->connect(m_b->new_endpoint(nullptr), STRANGER);
        talk(m_conn, 9, [this] { pump(); });
        for (unsigned i = 0; i < 2; ++i) {
            recv_ptr r = m_b->recv(TAG, ALL, LARGE);
            m_a->send(m_conn, bytes(LARGE), TAG);
            pump();
            ASSERT_TRUE(r->done);
        }
        /* Receives are late, too: so the pool is used. */
        for (unsigned i = 0; i < 8; ++i) {
            m_a->send(m_conn, bytes(MEDIUM), 7);
            pump();
            m_b->recv(7, ALL, MEDIUM);
            pump();
        }
        progress_both(300);
        ASSERT_EQ(0u, num_lent(*m_a));
        ASSERT_TRUE((m_conn->ring != nullptr) && (m_back->ring != nullptr));
        m_a_plane->writes      = 0;
        m_b_plane->on_withdraw = [this] { note("withdraw", UCS_OK); };
        m_b_plane->on_close    = [this] { note("planes", UCS_OK); };
        m_log.clear();
        m_at = nullptr;
    }

    void pump()
    {
        do {
            deliver();
            progress_both(50);
        } while (m_ucx->complete() || is_any_sent());
    }

    ri_worker_t *worker() { return m_node->worker(); }

    /* What m_b has under way. Nothing of it ends before the worker does. */
    void make_busy()
    {
        /* It waits for the application */
        m_unread = m_a->send(m_conn, pattern(1, LARGE), 5);
        m_copied = m_a->send(m_conn, pattern(2, GIANT), 6);
        for (unsigned i = 0; i < 3; ++i) {
            m_a->send(m_conn, pattern(3, MEDIUM), 7);
        }
        m_a->send(m_conn, bytes(8), 10);
        m_b->progress();
        ASSERT_EQ(6u, worker()->match.num_unexpected);

        /* An offer, a pool buffer that is lent, a send, a close, and a flush */
        m_offered = post(TAG, LARGE);
        ASSERT_EQ(RI_RTR_BY_GRANT, req(m_offered)->rtr.state);
        m_pooled = m_b->send(m_back, pattern(4, MEDIUM), 11);
        ASSERT_TRUE(m_pooled->done);
        send_back();
        close_back();
        flush_all();

        /* Data that the third one is asked for */
        recv("data", 8, LARGE);
        from_stranger(8);

        /* Pool buffers to be given back, and a copy */
        for (unsigned i = 0; i < 3; ++i) {
            ASSERT_TRUE(m_b->recv(7, ALL, MEDIUM)->done);
        }
        ASSERT_EQ(3u, num_lent(*m_a));
        recv("copy", 6, GIANT);
        ASSERT_EQ(1u, worker()->num_coops);
        ASSERT_TRUE(m_log.empty());
    }

    /* A receive that nobody completes */
    recv_ptr post(uint64_t tag, size_t length)
    {
        recv_ptr r = m_b->recv(tag, ALL, length);

        --worker()->reqs.in_use;
        return r;
    }

    static ri_recv_req_t *req(const recv_ptr &r)
    {
        return reinterpret_cast<ri_recv_req_t *>(ri_req_of_handle(r->handle));
    }

    void recv(const char *name, uint64_t tag, size_t length)
    {
        recv_ptr *r = &m_recvs[name];

        *r = m_b->recv(tag, ALL, length, [this, name, r] { note(name, (*r)->status); });
        ASSERT_FALSE((*r)->done);
    }

    /* Something whose callback is noted; the request is the test's, which does not release it */
    void start(const char *name,
               const std::function<ucs_status_ptr_t(const ucp_request_param_t *)> &func)
    {
        ucp_request_param_t param = {};

        m_ops.push_back({this, name});
        param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        param.cb.send      = [](void *, ucs_status_t status, void *user_data) {
            operation *op = static_cast<operation *>(user_data);

            op->test->note(op->name, status);
        };
        param.user_data = &m_ops.back();
        ASSERT_TRUE(UCS_PTR_IS_PTR(func(&param))) << name;
        --worker()->reqs.in_use;
    }

    void send_back()
    {
        m_content = pattern(5, LARGE);
        start("send", [this](const ucp_request_param_t *param) {
            return ri_tag_send(m_back, m_content.data(), LARGE, 12, param, 0);
        });
    }

    void close_back()
    {
        start("close", [this](const ucp_request_param_t *param) {
            return ri_ep_close(m_back, param);
        });
    }

    /* It waits for a put to the third one */
    void flush_all()
    {
        ri_rma_op_t *op = ri_rma_op_new(worker());

        ASSERT_NE(nullptr, op);
        ri_rma_pending(m_other, op, RI_RMA_PUT, 1);
        start("flush", [this](const ucp_request_param_t *param) {
            return ri_ep_flush_worker(worker(), param);
        });
    }

    /* A message whose data is there. This side cannot read it. */
    void from_stranger(uint64_t tag)
    {
        wire_msg msg(RI_WIRE_RTS, 0, 1);

        msg.tag    = tag;
        msg.req_id = 0x777;
        m_b->deliver(
                msg.hello(STRANGER, 0x70),
                rts_payload({{reinterpret_cast<uintptr_t>(m_content.data()), LARGE}}));
    }

    static unsigned num_lent(node &n) { return n.worker()->pool.used / 32768; }

    /* Something has ended: that is the moment to look at what has, and what has not. */
    void note(const std::string &name, ucs_status_t status)
    {
        m_log.push_back(name);
        m_statuses[name] = status;
        if (m_at) {
            m_at(name);
        }
    }

    /* m_b ends. */
    void end()
    {
        m_b->may_end_open = true;
        m_b.reset();
        m_b_plane.reset();
        m_ba = nullptr;
    }

    void check_end()
    {
        EXPECT_EQ((std::vector<std::string>{"copy", "withdraw", "send", "close", "flush",
                                            "data", "planes"}),
                  m_log);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_statuses["copy"]);
        EXPECT_EQ(UCS_ERR_CANCELED, m_statuses["send"]);
        EXPECT_EQ(UCS_ERR_CANCELED, m_statuses["close"]);
        EXPECT_EQ(UCS_ERR_CANCELED, m_statuses["flush"]);
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, m_statuses["data"]);
    }

    /* ... and then m_a, with what it may have begun afterwards. */
    void end_other()
    {
        m_ab->sent.clear();
        m_a->may_end_open = true;
        m_a.reset();
        m_a_plane.reset();
        m_ops.clear();
        m_recvs.clear();
    }

    struct operation {
        test_worker_life *test;
        const char *name;
    };

    node *m_node;
    ri_conn_t *m_other;
    send_ptr m_unread, m_copied, m_pooled;
    recv_ptr m_offered;
    bytes m_content;
    std::deque<operation> m_ops;
    std::map<std::string, recv_ptr> m_recvs;
    std::vector<std::string> m_log;
    std::map<std::string, ucs_status_t> m_statuses;
    std::function<void(const std::string &)> m_at;
};

/* Each phase: what it promises holds when the next one begins. */
TEST_F(test_worker_life, phases)
{
    make_busy();
    m_at = [this](const std::string &name) {
        ri_worker_t *w = worker();

        m_a->progress(); /* so it knows what it was told until now */
        EXPECT_TRUE(m_unread->done) << name << ": told as long as conns are usable";
        EXPECT_TRUE(m_copied->done) << name << ": told as well";
        if (name == "copy") { /* worker_says */
            EXPECT_GT(num_lent(*m_a), 0u) << "they wait for company";
            return;
        }
        EXPECT_EQ(0u, w->num_coops) << name;
        EXPECT_EQ(0u, num_lent(*m_a)) << name << ": given back by worker_stops";
        if (name == "withdraw") { /* the last of worker_stops */
            EXPECT_EQ(2u, ucs_list_length(&w->conns));
            EXPECT_NE(nullptr, m_back->ring);
            EXPECT_EQ(RI_RTR_BY_GRANT, req(m_offered)->rtr.state);
            return;
        }
        EXPECT_EQ(RI_RTR_NONE, req(m_offered)->rtr.state)
                << name << ": withdrawn with the ring";
        if ((name == "send") || (name == "close")) { /* a conn */
            EXPECT_EQ(nullptr, m_back->ring) << "nothing is sent any more";
            EXPECT_FALSE(ucs_list_is_empty(&w->rma.ops[RI_RMA_PUT]));
            return;
        }
        EXPECT_TRUE(ucs_list_is_empty(&w->conns)) << name;
        if (name == "flush") { /* the first of worker_ends */
            EXPECT_GT(w->num_rings, 0u);
            return;
        }
        EXPECT_EQ(0u, w->num_rings) << name;
        if (name == "data") {
            EXPECT_EQ(1u, w->match.num_unexpected) << "a callback may receive it still";
            EXPECT_EQ(2u, ucs_list_length(&w->streams));
            return;
        }
        EXPECT_EQ("planes", name); /* worker_closes */
        EXPECT_EQ(0u, w->match.num_unexpected);
        EXPECT_TRUE(ucs_list_is_empty(&w->streams));
        for (uint64_t uid : {SENDER, STRANGER}) {
            EXPECT_EQ(nullptr, ri_map_get(&w->peers, uid));
        }
        EXPECT_FALSE(w->destroyed);
    };
    end();
    check_end();

    /* Nobody writes by the offer, and what was sent from the pool is there still. */
    EXPECT_EQ(0u, m_conn->rtr.table->num_waiting);
    m_a->send(m_conn, pattern(6, LARGE), TAG);
    EXPECT_EQ(0u, m_a_plane->writes);
    recv_ptr r = m_a->recv(11, ALL, MEDIUM);
    m_a->progress();
    ASSERT_TRUE(r->done);
    EXPECT_EQ(UCS_OK, r->status);
    EXPECT_EQ(pattern(4, MEDIUM), r->buffer);
    end_other();
}

/* Stock has freed an endpoint of a worker, and another worker gets one at its address: the threads
 * of both may be at work. */
TEST_F(test_worker_life, endpoint_of_another_worker)
{
    endpoint *ep    = m_a->new_endpoint(nullptr);
    ri_conn_t *of_a = m_a->connect(ep, 0x77, 0);
    ri_conn_t *of_b = m_b->connect(ep, 0x77, 0);

    EXPECT_NE(of_a, of_b);
    EXPECT_EQ(m_a->worker(), of_a->worker);
    EXPECT_EQ(of_b, ri_conn_find(ep->handle()));
    ri_conn_destroy(of_a, UCS_ERR_CANCELED);
    EXPECT_EQ(of_b, ri_conn_find(ep->handle()));
    ri_conn_destroy(of_b, UCS_ERR_CANCELED);
    EXPECT_EQ(nullptr, ri_conn_find(ep->handle()));
}

/* A callback may do anything, while there is something that it can do it with. */
TEST_F(test_worker_life, callbacks_receive_and_send)
{
    send_ptr last;

    make_busy();
    m_at = [&](const std::string &name) {
        if (name == "copy") {
            last = m_node->send(m_other, bytes(8), 20);
        } else if (name == "data") {
            EXPECT_TRUE(m_node->recv(10, ALL, 8)->done);
        }
    };
    end();
    check_end();
    EXPECT_TRUE(last->done);
    end_other();
}

/* The peer was killed, with a part of the copy in its hands: nothing waits for it. */
TEST_F(test_worker_life, killed_peer)
{
    ri_slot_part_t part;
    unsigned busy = 0;

    make_busy();
    for (ri_ring_slot_t &slot : m_conn->ring->control->slots) {
        if (ri_slot_is_busy(&slot) && (ri_slot_units(GIANT) > 0) &&
            (ri_slot_claim(&slot, ri_slot_units(GIANT), RI_SLOT_BACK, RI_SLOT_SHARE,
                           &part) == UCS_OK)) {
            ++busy;
        }
    }
    EXPECT_GT(busy, 0u);
    m_b_plane->gone = true;
    ::testing::internal::CaptureStderr();
    end();
    EXPECT_EQ("", ::testing::internal::GetCapturedStderr());
    check_end();
    end_other();
}

/* There is no memory for what is to be told, or UCX has none: all ends in the same order. */
TEST_F(test_worker_life, no_memory)
{
    for (int good = 0; good < 10; ++good) {
        SCOPED_TRACE(good);
        make_busy();
        if (good == 0) {
            m_ucx->memory = 0;
        } else {
            fake::malloc_fails_after = good - 1;
        }
        ::testing::internal::CaptureStderr();
        end();
        ::testing::internal::GetCapturedStderr();
        fake::malloc_fails_after = -1;
        m_ucx->memory            = -1;
        check_end();
        end_other();
        begin();
    }
}

/* A worker that nothing was done with */
TEST_F(test_worker_life, idle)
{
    end();
    EXPECT_EQ((std::vector<std::string>{"withdraw", "planes"}), m_log);
}

/* What cannot be set up leaves nothing behind. */
class test_worker_made : public ri_test {
protected:
    void SetUp() override
    {
        ucp_params_t params = {};

        ri_test::SetUp();
        params.field_mask = UCP_PARAM_FIELD_FEATURES;
        params.features   = UCP_FEATURE_TAG;
        ASSERT_EQ(UCS_OK,
                  ri_context_create(reinterpret_cast<ucp_context_h>(&m_key), &params));
        m_context = ri_context_find(reinterpret_cast<ucp_context_h>(&m_key));
    }

    void TearDown() override
    {
        ri_context_destroy(m_context);
        ri_test::TearDown();
    }

    void check_fails(ucs_status_t status)
    {
        ucp_worker_h stock  = reinterpret_cast<ucp_worker_h>(&m_key);
        ri_worker_t *worker = nullptr;

        EXPECT_EQ(status, ri_worker_create(m_context, stock, &worker));
        EXPECT_EQ(nullptr, worker);
        EXPECT_EQ(nullptr, ri_worker_find(stock));
    }

    uint64_t m_key;
    ri_context_t *m_context;
};

TEST_F(test_worker_made, no_memory)
{
    fake::aligned_alloc_fails = true;
    check_fails(UCS_ERR_NO_MEMORY);
    fake::aligned_alloc_fails = false;
}

TEST_F(test_worker_made, stock_tells_nothing)
{
    ri_stock.worker_query = [](ucp_worker_h, ucp_worker_attr_t *) {
        return UCS_ERR_IO_ERROR;
    };
    check_fails(UCS_ERR_IO_ERROR);
}

TEST_F(test_worker_made, stock_takes_no_handler)
{
    ri_stock.worker_set_am_recv_handler = [](ucp_worker_h,
                                             const ucp_am_handler_param_t *) {
        return UCS_ERR_UNSUPPORTED;
    };
    check_fails(UCS_ERR_UNSUPPORTED);
}

} // namespace
