/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* The RDMA device of the unit tests: queues and memory. See fake_verbs.h. */

#include "fake_verbs_context.h"

#include <sys/eventfd.h>
#include <unistd.h>

#if HAVE_VERBS

#include <cerrno>

namespace fake {

hca *hca::current;

namespace {

struct ibv_pd *alloc_pd(struct ibv_context *super)
{
    if (hca::current->alloc_pd_error != 0) {
        return null_with<struct ibv_pd>(hca::current->alloc_pd_error);
    }
    auto *pd    = new struct ibv_pd();
    pd->context = super;
    ++outer<context>(super)->users;
    ++hca::current->pds;
    return pd;
}

int dealloc_pd(struct ibv_pd *pd)
{
    EXPECT_TRUE(hca::current->mrs.empty() && hca::current->qps.empty());
    --outer<context>(pd->context)->users;
    --hca::current->pds;
    delete pd;
    return 0;
}

struct ibv_mr *reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    hca *h = hca::current;

    ++h->regs;
    if (h->reg_error != 0) {
        return null_with<struct ibv_mr>(h->reg_error);
    }
    if (h->mrs.size() >= h->max_mrs) {
        return null_with<struct ibv_mr>(ENOMEM);
    }
    EXPECT_LT(0u, length);
    if (((uintptr_t)h->read_only - (uintptr_t)address < length) &&
        (access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE))) {
        return null_with<struct ibv_mr>(EFAULT);
    }
    EXPECT_TRUE(!(access & IBV_ACCESS_REMOTE_WRITE) || (access & IBV_ACCESS_LOCAL_WRITE));
    auto *mr            = new struct ibv_mr();
    mr->context         = pd->context;
    mr->pd              = pd;
    mr->addr            = address;
    mr->length          = length;
    mr->lkey            = h->next_key;
    mr->rkey            = h->next_key + 1;
    h->mrs[mr->lkey]    = mr;
    h->access[mr->lkey] = access;
    h->next_key += 0x100;
    return mr;
}

int dereg_mr(struct ibv_mr *mr)
{
    EXPECT_EQ(1u, hca::current->mrs.erase(mr->lkey));
    delete mr;
    return 0;
}

struct ibv_cq *create_cq(struct ibv_context *super, int cqe, void *,
                         struct ibv_comp_channel *, int)
{
    if (hca::current->create_cq_error != 0) {
        return null_with<struct ibv_cq>(hca::current->create_cq_error);
    }
    EXPECT_LE(cqe, device_of(super)->attr.max_cqe);
    auto *cq          = new hca_cq();
    cq->super.context = super;
    cq->super.cqe     = cqe;
    ++outer<context>(super)->users;
    ++hca::current->cqs;
    return &cq->super;
}

int destroy_cq(struct ibv_cq *super)
{
    EXPECT_EQ(0u, outer<hca_cq>(super)->qps);
    --outer<context>(super->context)->users;
    --hca::current->cqs;
    delete outer<hca_cq>(super);
    return 0;
}

struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    hca *h                              = hca::current;
    const struct ibv_device_attr &limit = device_of(pd->context)->attr;

    if (h->create_qp_error != 0) {
        return null_with<struct ibv_qp>(h->create_qp_error);
    }
    EXPECT_EQ(IBV_QPT_RC, init->qp_type);
    EXPECT_LE(init->cap.max_send_wr, (unsigned)limit.max_qp_wr);
    EXPECT_LE(init->cap.max_send_sge, (unsigned)limit.max_sge);
    if (init->cap.max_inline_data > h->max_inline) {
        return null_with<struct ibv_qp>(EINVAL);
    }
    auto *qp          = new hca_qp();
    qp->super.context = pd->context;
    qp->super.qp_num  = h->next_qp++;
    qp->super.state   = IBV_QPS_RESET;
    qp->cap           = init->cap;
    qp->cq            = outer<hca_cq>(init->send_cq);
    ++qp->cq->qps;
    h->qps[qp->super.qp_num] = qp;
    return &qp->super;
}

int modify_qp(struct ibv_qp *super, struct ibv_qp_attr *attr, int mask)
{
    hca_qp *qp = outer<hca_qp>(super);
    hca *h     = hca::current;

    EXPECT_TRUE(mask & IBV_QP_STATE);
    if ((h->modify_error != 0) && (h->modify_error_to == (int)attr->qp_state)) {
        return h->modify_error;
    }
    EXPECT_EQ((int)super->state + 1, (int)attr->qp_state) << "not in order";
    switch (attr->qp_state) {
    case IBV_QPS_INIT:
        EXPECT_EQ(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                  mask);
        qp->attr = *attr;
        break;
    case IBV_QPS_RTR:
        EXPECT_EQ(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                          IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                          IBV_QP_MIN_RNR_TIMER,
                  mask);
        qp->attr.path_mtu           = attr->path_mtu;
        qp->attr.dest_qp_num        = attr->dest_qp_num;
        qp->attr.rq_psn             = attr->rq_psn;
        qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
        qp->attr.ah_attr            = attr->ah_attr;
        break;
    default:
        EXPECT_EQ(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                          IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
                  mask);
        qp->attr.sq_psn        = attr->sq_psn;
        qp->attr.max_rd_atomic = attr->max_rd_atomic;
        EXPECT_GT(attr->timeout, 0) << "waits for ever";
        EXPECT_LT(attr->retry_cnt, 7) << "what rxe takes for ever";
        break;
    }
    super->state = attr->qp_state;
    return 0;
}

void complete(hca_qp *qp, const struct ibv_send_wr &wr, enum ibv_wc_status status)
{
    struct ibv_wc wc = {};

    ++qp->silent;
    if ((status == IBV_WC_SUCCESS) && !(wr.send_flags & IBV_SEND_SIGNALED)) {
        return;
    }
    wc.wr_id  = wr.wr_id;
    wc.status = status;
    wc.qp_num = qp->super.qp_num;
    qp->cq->entries.push_back(wc);
    qp->places.emplace_back(wr.wr_id, qp->silent);
    qp->silent = 0;
    EXPECT_LE(qp->cq->entries.size(), (size_t)qp->cq->super.cqe) << "overrun";
}

void flush(hca_qp *qp)
{
    while (!qp->queue.empty()) {
        struct ibv_send_wr wr = qp->queue.front().wr;

        qp->queue.pop_front();
        complete(qp, wr, IBV_WC_WR_FLUSH_ERR);
    }
}

int destroy_qp(struct ibv_qp *super)
{
    hca_qp *qp = outer<hca_qp>(super);
    hca *h     = hca::current;

    EXPECT_EQ(1u, h->qps.erase(super->qp_num));
    if (h->stale) {
        flush(qp);
    } else {
        auto &entries = qp->cq->entries;

        for (size_t i = entries.size(); i-- > 0;) {
            if (entries[i].qp_num == super->qp_num) {
                entries.erase(entries.begin() + i);
            }
        }
    }
    --qp->cq->qps;
    delete qp;
    return 0;
}

/* @return Whether memory of a key may be accessed. */
bool may_access(bool remote, uint32_t key, uint64_t address, uint64_t length, int access)
{
    auto mr = hca::current->mrs.find(remote ? key - 1 : key);

    return (mr != hca::current->mrs.end()) && (address >= (uintptr_t)mr->second->addr) &&
           (length <= mr->second->length) &&
           (address - (uintptr_t)mr->second->addr <= mr->second->length - length) &&
           ((hca::current->access[mr->first] & access) == access);
}

enum ibv_wc_status execute(hca_qp *qp, const hca_qp::request &request)
{
    uint64_t remote = request.wr.wr.rdma.remote_addr, length = 0;
    bool read     = request.wr.opcode == IBV_WR_RDMA_READ;
    hca_qp *other = hca::current->find(qp->attr.dest_qp_num);

    bool inlined = request.wr.send_flags & IBV_SEND_INLINE;

    for (const struct ibv_sge &sge : request.sges) {
        length += sge.length;
        if (!inlined && !may_access(false, sge.lkey, sge.addr, sge.length,
                                    read ? IBV_ACCESS_LOCAL_WRITE : 0)) {
            return IBV_WC_LOC_PROT_ERR;
        }
    }
    if ((other == nullptr) || (other->super.state < IBV_QPS_RTR) ||
        (other->super.state > IBV_QPS_RTS) ||
        (other->attr.dest_qp_num != qp->super.qp_num) ||
        (other->attr.rq_psn != qp->attr.sq_psn)) {
        return IBV_WC_RETRY_EXC_ERR;
    }
    if (!may_access(true, request.wr.wr.rdma.rkey, remote, length,
                    read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE)) {
        other->super.state = IBV_QPS_ERR;
        flush(other);
        return IBV_WC_REM_ACCESS_ERR;
    }
    if (inlined) {
        memcpy((void *)(uintptr_t)remote, request.inlined.data(), request.inlined.size());
        return IBV_WC_SUCCESS;
    }
    for (const struct ibv_sge &sge : request.sges) {
        auto *l = (void *)(uintptr_t)sge.addr, *r = (void *)(uintptr_t)remote;

        memcpy(read ? l : r, read ? r : l, sge.length);
        remote += sge.length;
    }
    return IBV_WC_SUCCESS;
}

int check_post(hca_qp *qp, const struct ibv_send_wr *wr)
{
    uint64_t length = 0;

    EXPECT_TRUE((qp->super.state == IBV_QPS_RTS) || (qp->super.state == IBV_QPS_ERR));
    EXPECT_LT(qp->in_queue, qp->cap.max_send_wr) << "more than the queue holds";
    EXPECT_GE(wr->num_sge, 1);
    EXPECT_LE(wr->num_sge, (int)qp->cap.max_send_sge);
    for (int i = 0; i < wr->num_sge; ++i) {
        EXPECT_GT(wr->sg_list[i].length, 0u);
        length += wr->sg_list[i].length;
    }
    EXPECT_LE(length, device_of(qp->super.context)->ports[0].attr.max_msg_sz);
    if (wr->send_flags & IBV_SEND_INLINE) {
        EXPECT_LE(length, qp->cap.max_inline_data);
        EXPECT_NE(IBV_WR_RDMA_READ, wr->opcode);
    }
    return (hca::current->posted + 1 == hca::current->fail_post) ? ENOMEM : 0;
}

int post_send(struct ibv_qp *super, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    hca_qp *qp = outer<hca_qp>(super);
    hca *h     = hca::current;

    ++h->posts;
    for (; wr != nullptr; wr = wr->next) {
        int error = check_post(qp, wr);

        if (error != 0) {
            *bad = wr;
            return error;
        }
        hca_qp::request request;
        request.wr = *wr;
        request.sges.assign(wr->sg_list, wr->sg_list + wr->num_sge);
        if (wr->send_flags & IBV_SEND_INLINE) {
            for (const struct ibv_sge &sge : request.sges) {
                const uint8_t *from = (const uint8_t *)(uintptr_t)sge.addr;

                request.inlined.insert(request.inlined.end(), from, from + sge.length);
            }
            ++h->inlined;
        }
        qp->queue.push_back(request);
        ++qp->in_queue;
        ++h->posted;
        h->signalled += (wr->send_flags & IBV_SEND_SIGNALED) != 0;
        h->flags_seen |= wr->send_flags;
    }
    if (qp->super.state == IBV_QPS_ERR) {
        flush(qp);
    }
    return 0;
}

int poll_cq(struct ibv_cq *super, int max, struct ibv_wc *wc)
{
    hca_cq *cq = outer<hca_cq>(super);
    hca *h     = hca::current;
    int count  = 0;

    ++h->polls;
    if (h->poll_error != 0) {
        return h->poll_error;
    }
    if (h->automatic) {
        h->run();
    }
    while ((count < max) && !cq->entries.empty()) {
        wc[count] = cq->entries.front();
        cq->entries.pop_front();
        hca_qp *qp = h->find(wc[count].qp_num);
        if ((qp != nullptr) && (qp->cq == cq)) {
            EXPECT_EQ(wc[count].wr_id, qp->places.front().first);
            qp->in_queue -= qp->places.front().second;
            qp->places.pop_front();
        }
        ++count;
    }
    return count;
}

struct ibv_context *open_device(struct ibv_device *super)
{
    if (hca::current->open_error != 0) {
        return null_with<struct ibv_context>(hca::current->open_error);
    }
    auto *c                = new context();
    c->device              = outer<hca_device>(super);
    c->super.device        = super;
    c->super.async_fd      = eventfd(0, 0);
    c->super.ops.post_send = post_send;
    c->super.ops.poll_cq   = poll_cq;
    ++hca::current->contexts;
    ++hca::current->opens;
    return &c->super;
}

int close_device(struct ibv_context *super)
{
    EXPECT_EQ(0u, outer<context>(super)->users);
    close(super->async_fd);
    --hca::current->contexts;
    delete outer<context>(super);
    return 0;
}

/* As they are with a library, so that it is not looked for later */
ri_verbs_t &resolved_verbs()
{
    ri_verbs_resolve();
    return ri_verbs;
}

} // namespace

hca::hca() : m_verbs(resolved_verbs(), {})
{
    EXPECT_EQ(nullptr, current);
    current = this;
    devices.emplace_back(new hca_device("mlx5_0"));

    fill_device_functions();
    ri_verbs.open_device  = open_device;
    ri_verbs.close_device = close_device;
    ri_verbs.alloc_pd     = alloc_pd;
    ri_verbs.dealloc_pd   = dealloc_pd;
    ri_verbs.reg_mr       = reg_mr;
    ri_verbs.dereg_mr     = dereg_mr;
    ri_verbs.create_cq    = create_cq;
    ri_verbs.destroy_cq   = destroy_cq;
    ri_verbs.create_qp    = create_qp;
    ri_verbs.modify_qp    = modify_qp;
    ri_verbs.destroy_qp   = destroy_qp;
}

hca::~hca()
{
    EXPECT_EQ(0u, contexts);
    EXPECT_EQ(0u, pds);
    EXPECT_EQ(0u, cqs);
    EXPECT_TRUE(qps.empty());
    EXPECT_TRUE(mrs.empty());
    current = nullptr;
}

hca_qp *hca::find(uint32_t number)
{
    auto qp = qps.find(number);

    return (qp == qps.end()) ? nullptr : qp->second;
}

void hca::run(unsigned count)
{
    for (auto &entry : qps) {
        hca_qp *qp = entry.second;

        for (unsigned i = 0;
             (i < count) && !qp->queue.empty() && (qp->super.state != IBV_QPS_ERR); ++i) {
            hca_qp::request request   = qp->queue.front();
            enum ibv_wc_status status = (++ran == fail_run) ? fails :
                                                              execute(qp, request);

            qp->queue.pop_front();
            complete(qp, request.wr, status);
            if (status != IBV_WC_SUCCESS) {
                qp->super.state = IBV_QPS_ERR;
                if (!flush_late) {
                    flush(qp);
                }
            }
        }
    }
}

} // namespace fake

#endif
