/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What progress does when there is attention: each line of the list gets its turn, and attention
 * goes when none has anything to do. (src/ucp/run/worker_progress.c, src/ucp/run/work.h)
 */

#include "unit/ucp/proto/rtr/rtr_test.h"

extern "C" {
#include "ucp/link/way.h"
#include "ucp/run/work.h"
}

namespace {

/* A line of the list */
struct work {
    const char *name;
    std::function<int(ri_worker_t *)> has_work;
};

const work WORKS[] = {
#define WORK(_name, _has_work, _progress) {#_name, _has_work},
        RI_WORKS(WORK)
#undef WORK
};

/* How a test makes something that is to be done, and sees that it was done. */
struct example {
    std::function<void()> make;
    std::function<void()> allow; /* it could not be done before; NULL: it could */
    std::function<bool()> is_done;
    bool by_receiver = false; /* m_b does it */
};

class test_worker_progress : public rtr_test {
protected:
    static constexpr uint64_t STRANGER = 0x3333;

    void configure() override
    {
        rtr_test::configure();
        ri_config.hybrid_thresh = 65536;
        ri_config.pool_size     = 512 * 1024;
    }

    void start() override
    {
        rtr_test::start();
        m_third = m_a->new_endpoint(nullptr);
        m_other = m_a->connect(m_third, STRANGER);
        pump();
        ASSERT_FALSE(ri_worker_has_work(m_a->worker()));
        ASSERT_FALSE(m_a->worker()->attention);
    }

    /* Whatever an example has left */
    void end() override
    {
        m_ab->sent.clear();
        m_ba->sent.clear();
        for (fake::request *req : m_ucx->requests) { /* nobody fetches these data */
            req->ready = true;
        }
        m_ucx->complete(UCS_ERR_CANCELED);
        m_a->may_end_open = m_b->may_end_open = true;
        m_b->worker()->reqs.in_use -= (m_offered != nullptr) && !m_offered->done;
        stop();
        m_offered.reset();
        m_send.reset();
    }

    void TearDown() override
    {
        end();
        ri_test::TearDown();
    }

    ri_stream_t *back() { return ri_stream_find(m_a->worker(), RECEIVER, m_back->id); }

    void fill_ring()
    {
        do {
            m_send = m_a->send(m_conn, bytes(1024), 5);
        } while (m_send->done);
    }

    void read_ring()
    {
        for (int i = 0; i < 100; ++i) {
            m_b->progress();
        }
    }

    void control_without_memory()
    {
        ri_wire_msg_t msg = {};

        msg.type      = RI_WIRE_PLANE_REQ;
        msg.id        = m_conn->remote_id;
        m_ucx->memory = 0;
        ri_control_send_on(m_conn, &msg);
    }

    void lose_way()
    {
        m_conn->peer->way.end_untold       = 1;
        m_a->worker()->net.way_ends_untold = 1;
        m_a->worker()->attention           = 1;
    }

    void close_with_a_message()
    {
        ucp_request_param_t param = {};

        m_a->send(m_conn, bytes(MEDIUM), 5);
        EXPECT_TRUE(UCS_PTR_IS_PTR(ri_ep_close(m_conn, &param)));
        --m_a->worker()->reqs.in_use;
    }

    /* A put by mail, which is over already */
    void post_nothing()
    {
        m_reach.users = 1; /* this test */
        ri_posts_note(m_conn, &m_reach);
    }

    void receive_and_release()
    {
        m_b->recv(5, ALL, MEDIUM);
        for (int i = 0; i < 300; ++i) {
            m_b->progress();
        }
    }

    void ask_who_may_be_silent()
    {
        m_other->flags |= RI_CONN_BY_SOCKADDR;
        ri_control_ask(m_other);
    }

    /* An RTR that comes when its message was announced */
    void offer_late()
    {
        ri_rtr_send_host_patience = 1e9;
        m_offered                 = post();
        m_send                    = send();
        m_a->progress();
    }

    /* A receive that waited for another one */
    void queue_offer()
    {
        recv_ptr any = m_b->recv(0, 0, LARGE);

        m_offered = post();
        EXPECT_EQ(RI_RTR_QUEUED, rtr(m_offered));
        cancel(any);
    }

    void lose_message()
    {
        back()->rtr.lost         = 1;
        m_a->worker()->net.lost  = 1;
        m_a->worker()->attention = 1;
    }

    /* The receiver cannot read what is in the pool. */
    void refuse_pool()
    {
        size_t coop_thresh = ri_config.coop_thresh;

        ri_config.coop_thresh = SIZE_MAX; /* those that have no buffer are a row */
        for (int i = 0; (i < 10) && ucs_list_is_empty(&m_conn->lent); ++i) {
            m_a->send(m_conn, bytes(MEDIUM), 5);
        }
        ri_config.coop_thresh = coop_thresh;
        ASSERT_FALSE(ucs_list_is_empty(&m_conn->lent));
        wire_msg msg(RI_WIRE_NACK, m_conn->id,
                     ucs_list_head(&m_conn->lent, ri_pool_buffer_t, list)->id);

        msg.flags     = RI_WIRE_NACK_POOL;
        m_ucx->memory = 0;
        m_a->deliver(msg);
    }

    /* By the name of the line */
    const std::map<std::string, example> m_examples = {
            {"full",
             {[this] { ri_activity_note_full(m_a->worker()); }, nullptr,
              [this] { return !ri_activity_was_full(m_a->worker()); }}},
            {"pending",
             {[this] { fill_ring(); }, [this] { read_ring(); },
              [this] { return m_send->done; }}},
            {"control",
             {[this] { control_without_memory(); }, [this] { m_ucx->memory = -1; },
              [this] { return m_ab->count(RI_WIRE_PLANE_REQ) == 1; }}},
            {"ways",
             {[this] { lose_way(); }, nullptr,
              [this] { return m_ab->count(RI_WIRE_PLANE_REQ) == 1; }}},
            {"ep_ops",
             {[this] { close_with_a_message(); }, [this] { receive_and_release(); },
              [this] { return m_ab->closed; }}},
            {"posts",
             {[this] { post_nothing(); }, nullptr,
              [this] { return !(m_conn->flags & RI_CONN_POSTED); }}},
            {"timeouts",
             {[this] { ask_who_may_be_silent(); }, [] { ri_config.connect_timeout = 0; },
              [this] { return m_other->status == UCS_ERR_UNREACHABLE; }}},
            {"asks",
             {[this] { ri_control_ask_later(m_other); }, [] {},
              [this] { return m_third->count(RI_WIRE_CONN_REQ) == 1; }}},
            {"rtr_send_host",
             {[this] { offer_late(); }, [] { ri_rtr_send_host_patience = 0; },
              [this] { return m_send->done; }}},
            {"rtr",
             {[this] { queue_offer(); }, nullptr,
              [this] { return rtr(m_offered) == RI_RTR_BY_GRANT; }, true}},
            {"rtr_lost",
             {[this] { lose_message(); }, nullptr, [this] { return !!back()->broken; }}},
            {"pool_send",
             {[this] { refuse_pool(); }, [this] { m_ucx->memory = -1; },
              [this] { return m_ab->count(RI_WIRE_RNDV_DATA) == 1; }}}};

    endpoint *m_third;
    ri_conn_t *m_other;
    ri_reach_t m_reach = {};
    send_ptr m_send;
    recv_ptr m_offered;
};

/* It is done when it can be, and then progress has nothing to look for any more. */
TEST_F(test_worker_progress, each_line_of_the_list)
{
    for (const work &w : WORKS) {
        SCOPED_TRACE(w.name);
        ASSERT_EQ(1u, m_examples.count(w.name)) << "a new line needs an example";
        const example &e    = m_examples.at(w.name);
        node &n             = e.by_receiver ? *m_b : *m_a;
        ri_worker_t *worker = n.worker();

        EXPECT_FALSE(w.has_work(worker));
        ::testing::internal::CaptureStderr(); /* some of it is an error */
        e.make();
        for (int i = 0; (i < 10) && e.allow; ++i) {
            EXPECT_FALSE(e.is_done());
            n.progress();
        }
        EXPECT_TRUE(w.has_work(worker));
        EXPECT_TRUE(ri_worker_has_work(worker)) << "the application may sleep";
        EXPECT_TRUE(worker->attention);

        if (e.allow) {
            e.allow();
        }
        for (int i = 0; (i < 100) && worker->attention; ++i) {
            n.progress();
        }
        ::testing::internal::GetCapturedStderr();
        EXPECT_TRUE(e.is_done());
        EXPECT_FALSE(w.has_work(worker));
        EXPECT_FALSE(ri_worker_has_work(worker));
        EXPECT_FALSE(worker->attention);
        end();
        start();
    }
    EXPECT_EQ(sizeof(WORKS) / sizeof(WORKS[0]), m_examples.size());
}

/* A callback of progress calls progress, which may be in the middle of any of it. */
TEST_F(test_worker_progress, nothing_is_done_within_progress)
{
    control_without_memory();
    m_ucx->memory              = -1;
    m_a->worker()->progressing = 1;
    m_a->progress();
    EXPECT_TRUE(ri_worker_has_work(m_a->worker()));
    m_a->worker()->progressing = 0;
    m_a->progress();
    EXPECT_FALSE(ri_worker_has_work(m_a->worker()));
}

TEST_F(test_worker_progress, attention_for_nothing)
{
    m_a->worker()->attention = 1;
    m_a->progress();
    EXPECT_FALSE(m_a->worker()->attention);
    EXPECT_FALSE(is_any_sent());
}

/* What each call looks at is no line of the list, but keeps the application from sleeping, and
 * attention with it. */
TEST_F(test_worker_progress, what_each_call_looks_at)
{
    ri_worker_t *worker = m_a->worker();

    for (unsigned *count :
         {&worker->num_coops, &worker->num_transfers, &worker->linger}) {
        *count = 1;
        EXPECT_TRUE(ri_worker_has_work(worker));
        *count = 0;
        EXPECT_FALSE(ri_worker_has_work(worker));
    }
    worker->linger    = 3;
    worker->attention = 1;
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_TRUE(worker->attention) << i;
        m_a->progress();
    }
    EXPECT_FALSE(worker->attention);
}

} // namespace
