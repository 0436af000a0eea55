/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/core/rma_order.c against a model: one-sided operations of two conns begin and end at any
 * time, flushes, too. A message takes the ring neither too early nor too late.
 */

#include "rma_order_test.h"
#include "unit/common/rng.h"

#include <vector>

namespace {

/* One operation, as the test knows it. */
struct op_model {
    enum state_t {
        OPEN,
        ENDED, /* here; a put may be under way */
        OVER
    };
    int conn;
    ri_rma_kind_t kind;
    bool unknown;    /* its end is not seen */
    state_t state;   /* what it is */
    bool told;       /* that it is over, by a flush that the application began after it */
    bool ordered;    /* the peer has confirmed it */
    unsigned number; /* of the start */
};

/* A flush: the operations that it covers as the application began it, and those that had ended when
 * stock began. */
struct flush_model {
    int conn; /* -1: all */
    ucs_status_ptr_t handle;
    unsigned before; /* operations started before it */
    request *stock;
    std::vector<size_t> covers; /* ended then, hence carried out at the end */

    bool is_for(const op_model &op) const { return (conn < 0) || (op.conn == conn); }
};

class test_rma_order_random : public rma_order_test {
protected:
    void look();
    void finish(size_t which);
    void check_conn(int c);
    void check();
    void start_one(rng &random);
    void end_one(size_t i);
    void flush_one(rng &random);
    void confirm(int c);
    void step(rng &random);
    void end_all();
    void run(rng &random);

    ri_conn_t *m_conns[2];
    std::vector<op_model> m_ops;
    std::vector<pending> m_pendings; /* by op */
    std::vector<flush_model> m_flushes;
};

/* Which of the library's flushes were handed to stock meanwhile, oldest first: they are handed over
 * in any order, so each is told by its callback's argument. */
void test_rma_order_random::look()
{
    for (request *req : m_ucx->requests) {
        for (flush_model &f : m_flushes) {
            if ((f.stock != nullptr) ||
                (req->param.user_data != ri_req_of_handle(f.handle))) {
                continue;
            }
            f.stock = req;
            for (size_t i = 0; i < m_ops.size(); ++i) {
                if (f.is_for(m_ops[i]) && (m_ops[i].state != op_model::OPEN)) {
                    f.covers.push_back(i);
                }
            }
        }
    }
}

void test_rma_order_random::finish(size_t which)
{
    flush_model f = m_flushes[which];

    m_flushes.erase(m_flushes.begin() + which);
    m_ucx->requests.remove(f.stock);
    f.stock->param.cb.send(f.stock, UCS_OK, f.stock->param.user_data);
    delete f.stock;
    for (size_t i : f.covers) {
        m_ops[i].state = op_model::OVER;
    }
    for (op_model &op : m_ops) {
        op.told |= f.is_for(op) && (op.number < f.before);
    }
    give_back(f.handle);
}

void test_rma_order_random::check_conn(int c)
{
    bool under_way = false, may_stay = false;

    for (const op_model &op : m_ops) {
        if (op.conn != c) {
            continue;
        }
        under_way |= !op.ordered && (op.state != op_model::OVER);
        may_stay |= (!op.unknown && (op.state == op_model::OPEN)) ||
                    (!op.ordered &&
                     (op.unknown || ((op.kind == RI_RMA_PUT) && !op.told)));
    }
    if (under_way) {
        ASSERT_TRUE(behind(m_conns[c])) << "too early";
    }
    if (!may_stay) {
        ASSERT_FALSE(behind(m_conns[c])) << "too late";
    }
}

void test_rma_order_random::check()
{
    ASSERT_NO_FATAL_FAILURE(check_conn(0));
    ASSERT_NO_FATAL_FAILURE(check_conn(1));
}

void test_rma_order_random::start_one(rng &random)
{
    op_model op = {};
    pending p   = {};

    op.conn    = random.below(2);
    op.kind    = random.percent(50) ? RI_RMA_PUT : RI_RMA_GET;
    op.unknown = random.percent(10);
    op.state   = op_model::OPEN;
    op.number  = m_ops.size();
    if (op.unknown) {
        ri_rma_note(m_conns[op.conn], op.kind, any());
    } else if (random.percent(50)) {
        p = start(op.kind, m_conns[op.conn]);
    } else {
        at_once(op.kind, m_conns[op.conn]);
        op.state = (op.kind == RI_RMA_GET) ? op_model::OVER : op_model::ENDED;
    }
    m_ops.push_back(op);
    m_pendings.push_back(p);
}

void test_rma_order_random::end_one(size_t i)
{
    op_model &op = m_ops[i];

    if (op.state == op_model::OPEN) {
        op.state = (op.kind == RI_RMA_GET) ? op_model::OVER : op_model::ENDED;
        if (!op.unknown) {
            end(m_pendings[i]);
        }
    }
}

/* Where nothing is behind, a flush is stock's own, and not looked at. */
void test_rma_order_random::flush_one(rng &random)
{
    flush_model f = {
            int(random.below(3)) - 1, nullptr, unsigned(m_ops.size()), nullptr, {}};

    if ((f.conn < 0) ? !(behind(m_conns[0]) || behind(m_conns[1])) :
                       !behind(m_conns[f.conn])) {
        return;
    }
    f.handle = flush((f.conn < 0) ? nullptr : m_conns[f.conn]);
    ASSERT_TRUE(UCS_PTR_IS_PTR(f.handle));
    m_flushes.push_back(f);
}

/* The peer confirms the order of all that was started. */
void test_rma_order_random::confirm(int c)
{
    ri_rma_ordered(m_conns[c]);
    for (op_model &op : m_ops) {
        op.ordered |= (op.conn == c);
    }
}

void test_rma_order_random::step(rng &random)
{
    size_t i;

    switch (random.below(8)) {
    case 0:
    case 1:
    case 2:
        start_one(random);
        break;
    case 3:
    case 4:
        if (!m_ops.empty()) {
            end_one(random.below(m_ops.size()));
        }
        break;
    case 5:
        flush_one(random);
        break;
    case 6: /* a flush ends */
        if (!m_flushes.empty()) {
            i = random.below(m_flushes.size());
            if (m_flushes[i].stock != nullptr) {
                finish(i);
            }
        }
        break;
    case 7:
        if (random.percent(20)) {
            confirm(random.below(2));
        }
        m_node->progress();
        break;
    }
}

void test_rma_order_random::end_all()
{
    for (size_t i = 0; i < m_ops.size(); ++i) {
        end_one(i);
    }
    m_node->progress();
    look();
    while (!m_flushes.empty() && !HasFailure()) {
        ASSERT_NE(nullptr, m_flushes[0].stock) << "a flush waits for nothing";
        finish(0);
        check();
    }
}

void test_rma_order_random::run(rng &random)
{
    m_conns[0] = m_conn;
    m_conns[1] = m_node->connect(m_node->new_endpoint(nullptr), REMOTE);
    m_ops.clear();
    m_pendings.clear();
    m_flushes.clear();
    m_ucx->flush_mode = LATER;
    for (int i = 0; (i < 150) && !HasFailure(); ++i) {
        step(random);
        look();
        check();
    }
    end_all();
}

TEST_F(test_rma_order_random, against_a_model)
{
    for_seeds(300, [&](rng &random) {
        TearDown();
        SetUp();
        run(random);
    });
}

} // namespace
