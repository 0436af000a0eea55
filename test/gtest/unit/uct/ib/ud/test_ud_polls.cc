/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which completion queues of the ud plane are polled when many receive, on whatever device there
 * is (LD_PRELOAD=test/bin/libsofthca.so is one). Without any they are skipped.
 * (src/uct/ib/ud/ud_recv.c)
 */

#include "ud_test.h"

#if HAVE_VERBS

namespace {

const unsigned RECVS     = 32;
const size_t RECV_LENGTH = 10000;

__typeof__(ibv_context_ops::poll_cq) real_poll;
std::map<struct ibv_cq *, unsigned> polls;

int counting_poll(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
    ++polls[cq];
    return real_poll(cq, max, wc);
}

/* As many receives at b as make it leave some out. */
struct many_recvs {
    many_recvs()
    {
        EXPECT_TRUE(a.open() && b.open());
        way.join(a, b);
        memory.reset(new ud_buffer(b.plane, RECVS * RECV_LENGTH));
        for (unsigned i = 0; i < RECVS; ++i) {
            recvs.emplace_back(new ud_op());
            EXPECT_EQ(UCS_OK, recvs[i]->recv(way.ep[1], {{at(i), RECV_LENGTH}},
                                             memory->key(), RECV_LENGTH));
        }
        struct ibv_context_ops *ops = &b.ud()->ib.device->context->ops;
        real_poll                   = ops->poll_cq;
        ops->poll_cq                = counting_poll;
    }

    ~many_recvs()
    {
        b.ud()->ib.device->context->ops.poll_cq = real_poll;
        for (auto &op : recvs) {
            if (op->ends == 0) {
                ri_ud_cancel(&op->super);
            }
        }
        b.progress();
        memory.reset();
        a.close();
        b.close();
    }

    uintptr_t at(unsigned i) const { return (uintptr_t)memory->data() + i * RECV_LENGTH; }

    void poll(unsigned times, bool all = false)
    {
        polls.clear();
        for (unsigned i = 0; i < times; ++i) {
            ri_ud_recv_progress(b.ud(), all);
        }
    }

    ud_node a, b;
    ud_way way;
    std::unique_ptr<ud_buffer> memory;
    std::vector<std::unique_ptr<ud_op>> recvs;
};

class test_ud_polls : public ud_test {
protected:
    void SetUp() override
    {
        ud_test::SetUp();
        ri_config.ud_qps = RECVS;
    }
};

TEST_F(test_ud_polls, some_are_left_out)
{
    in_process({}, [] {
        many_recvs m;
        unsigned sum = 0;

        m.poll(100);
        m.poll(90);
        ASSERT_EQ(RECVS, polls.size());
        for (const auto &p : polls) {
            EXPECT_GE(p.second, 90u / 16) << "forgotten";
            sum += p.second;
        }
        EXPECT_LT(sum, 90 * RECVS / 4);
    });
}

TEST_F(test_ud_polls, none_for_long)
{
    in_process({}, [] {
        many_recvs m;

        m.poll(100);
        m.poll(1, true);
        EXPECT_EQ(RECVS, polls.size());
        /* So it is when progress is called after a while */
        m.poll(100);
        polls.clear();
        usleep(1000);
        m.b.progress();
        EXPECT_LE(RECVS, polls.size()) << "and that for control messages";
    });
}

/* That to which something comes is not left out. */
TEST_F(test_ud_polls, not_the_busy_one)
{
    in_process({}, [] {
        many_recvs m;

        m.poll(100);
        for (unsigned i : {0u, RECVS / 2, RECVS - 1}) {
            ud_buffer from(m.a.plane, RECV_LENGTH);
            struct ibv_cq *cq;
            ud_op send;

            memset(from.data(), 'a' + i, RECV_LENGTH);
            cq = ri_container_of((ri_ud_transfer_t *)m.recvs[i]->super.transfer,
                                 ri_ud_recv_t, super)
                         ->qp->cq;
            ASSERT_EQ(UCS_INPROGRESS,
                      send.send(m.way.ep[0], {{(uintptr_t)from.data(), RECV_LENGTH}},
                                from.key(), RECV_LENGTH, m.recvs[i]->target));
            polls.clear();
            wait({&m.a, &m.b}, [&] { return (m.recvs[i]->ends > 0) && (send.ends > 0); });
            EXPECT_EQ(UCS_OK, m.recvs[i]->status);
            EXPECT_EQ(0, memcmp(from.data(), (void *)m.at(i), RECV_LENGTH));
            EXPECT_GT(polls[cq], 0u);
        }
    });
}

/* A few are all polled each time. */
TEST_F(test_ud_polls, all_of_a_few)
{
    in_process({}, [] {
        many_recvs m;

        for (unsigned i = 3; i < RECVS; ++i) {
            ri_ud_cancel(&m.recvs[i]->super);
        }
        m.b.progress();
        m.poll(10);
        EXPECT_EQ(3u, polls.size());
        for (const auto &p : polls) {
            EXPECT_EQ(10u, p.second);
        }
    });
}

} // namespace

#endif
