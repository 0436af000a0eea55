/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* A worker of the library under test, on the stock UCX of fake_ucx.cc: what an application and a
 * network do with it. See fake_ucx.h. */

#include "fake_ucx.h"

namespace fake {

/* A block of exactly the size of @a content. */
static std::unique_ptr<uint8_t[]> exact_copy(const bytes &content)
{
    std::unique_ptr<uint8_t[]> copy(new uint8_t[content.size()]);

    std::copy(content.begin(), content.end(), copy.get());
    return copy;
}

node::node(uint64_t uid, uint64_t features) : m_uid(uid)
{
    ucp_context_h stock_context = reinterpret_cast<ucp_context_h>(&m_context_key);
    ucp_params_t params         = {};

    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features   = features;
    EXPECT_EQ(UCS_OK, ri_context_create(stock_context, &params));
    m_context = ri_context_find(stock_context);
    EXPECT_EQ(UCS_OK, ri_worker_create(m_context, reinterpret_cast<ucp_worker_h>(this),
                                       &m_worker));
    m_worker->self.process.host =
            0; /* as planes: nobody looks for it, but where a test says so */
}

node::~node()
{
    EXPECT_TRUE(release_done() || may_end_open) << "requests are left open";
    ri_worker_destroy(m_worker);
    ucx::get()->complete(UCS_ERR_CANCELED);
    release_done();
    EXPECT_EQ(0u, m_worker->reqs.in_use) << "requests leaked";
    EXPECT_EQ(0u, m_worker->counters.held_bytes);
    EXPECT_EQ(0u, m_worker->num_rings);
    ri_worker_free(m_worker);
    ri_context_destroy(m_context);
}

void node::set_handler(const ucp_am_handler_param_t &param)
{
    ++num_registered;
    if (param.id >= m_handlers.size()) {
        if (ri_stock_version_at_least(1, 17)) {
            m_handlers.resize(param.id + 1, {true, nullptr, nullptr});
        } else {
            size_t length = std::max<size_t>(2 * m_handlers.size(), param.id + 1);

            m_handlers.resize(length + length % 2);
        }
    }
    m_handlers[param.id] = {true, param.cb, param.arg};
}

endpoint *node::new_endpoint(node *to)
{
    m_endpoints.emplace_back(new endpoint());
    m_endpoints.back()->from  = this;
    m_endpoints.back()->to    = to;
    m_endpoints.back()->am_id = ((to == nullptr) ? m_worker : to->worker())->self.am_id -
                                1;
    return m_endpoints.back().get();
}

ri_conn_t *node::connect(endpoint *ep, uint64_t remote_uid, uint32_t flags)
{
    return connect_by(ep, remote_uid, (ep->to == nullptr) ? -1 : ep->am_id, flags);
}

ri_conn_t *node::connect_by(endpoint *ep, uint64_t remote_uid, int am_id, uint32_t flags)
{
    ri_wire_worker_t remote = {remote_uid, static_cast<uint16_t>(am_id + 1), 0};
    ri_conn_t *conn         = nullptr;

    EXPECT_EQ(UCS_OK,
              ri_conn_create(m_worker, ep->handle(), &remote, UCS_OK, flags, &conn));
    return conn;
}

ucs_status_t node::deliver(const bytes &header, const bytes &data, arrival_t arrival,
                           endpoint *reply, request *sender)
{
    ucx *u                                 = ucx::get();
    std::unique_ptr<uint8_t[]> header_copy = exact_copy(header);
    std::unique_ptr<uint8_t[]> data_copy = exact_copy((arrival == RNDV) ? bytes() : data);
    void *pointer                        = data_copy.get();
    ucp_am_recv_param_t param            = {};
    ucs_status_t status;

    if (arrival != PLAIN) {
        descriptor &desc = u->descriptors[pointer];
        desc.memory      = std::move(data_copy);
        desc.rndv        = (arrival == RNDV);
        desc.sender      = sender;
        if (desc.rndv) {
            desc.content = data;
        }
        param.recv_attr |= desc.rndv ? UCP_AM_RECV_ATTR_FLAG_RNDV :
                                       UCP_AM_RECV_ATTR_FLAG_DATA;
    }
    if (reply != nullptr) {
        param.recv_attr |= UCP_AM_RECV_ATTR_FIELD_REPLY_EP;
        param.reply_ep = reply->handle();
    }

    status = ri_am_in(m_worker, header.empty() ? nullptr : header_copy.get(),
                      header.size(), pointer, data.size(), &param);
    EXPECT_TRUE((status == UCS_OK) || (status == UCS_INPROGRESS)) << status;
    if (arrival == PLAIN) {
        EXPECT_EQ(UCS_OK, status) << "nothing that could have been kept";
        return status;
    }

    auto it = u->descriptors.find(pointer);
    EXPECT_TRUE(it != u->descriptors.end());
    it->second.in_callback = false;
    if (it->second.fetched + it->second.released > 0) {
        EXPECT_EQ(UCS_INPROGRESS, status) << "a used descriptor is given back";
        u->descriptors.erase(it);
    } else if (status == UCS_OK) {
        u->end_descriptor(it, UCS_OK); /* stock releases it */
    }
    return status;
}

static void recv_done(void *handle, ucs_status_t status, const ucp_tag_recv_info_t *info,
                      void *user_data)
{
    recv_op *op = static_cast<recv_op *>(user_data);

    EXPECT_FALSE(op->done) << "a receive completed twice";
    op->handle = handle;
    op->done   = true;
    op->status = status;
    op->info   = *info;
    if (op->on_done) {
        op->on_done();
    }
}

static void send_done(void *handle, ucs_status_t status, void *user_data)
{
    send_op *op = static_cast<send_op *>(user_data);

    EXPECT_FALSE(op->done) << "a send completed twice";
    op->done   = true;
    op->status = status;
}

recv_ptr node::start_recv(
        const std::function<ucs_status_ptr_t(recv_op *, const ucp_request_param_t *)>
                &start,
        size_t capacity)
{
    recv_ptr op               = std::make_shared<recv_op>();
    ucp_request_param_t param = {};
    ucs_status_ptr_t ret;

    op->buffer.resize(capacity);
    m_recvs.push_back(op);
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv   = recv_done;
    param.user_data = op.get();
    ret             = start(op.get(), &param);
    EXPECT_TRUE(UCS_PTR_IS_PTR(ret));
    op->handle = ret;
    return op;
}

recv_ptr node::recv(uint64_t tag, uint64_t mask, size_t capacity,
                    std::function<void()> on_done)
{
    return start_recv(
            [&](recv_op *op, const ucp_request_param_t *param) {
                op->tag     = tag;
                op->mask    = mask;
                op->on_done = on_done;
                return ri_tag_recv(m_worker, op->buffer.data(), capacity, tag, mask,
                                   param);
            },
            capacity);
}

recv_ptr node::msg_recv(ri_msg_t *msg, size_t capacity)
{
    return start_recv(
            [&](recv_op *op, const ucp_request_param_t *param) {
                return ri_tag_recv_msg(m_worker, op->buffer.data(), capacity, msg, param);
            },
            capacity);
}

recv_ptr node::recv_into(void *buffer, size_t count, uint64_t tag,
                         const ucp_request_param_t &extra)
{
    return start_recv(
            [&](recv_op *op, const ucp_request_param_t *param) {
                ucp_request_param_t all = *param;

                all.op_attr_mask |= extra.op_attr_mask;
                all.datatype    = extra.datatype;
                all.memory_type = extra.memory_type;
                return ri_tag_recv(m_worker, buffer, count, tag, ~0ul, &all);
            },
            0);
}

send_ptr node::send(ri_conn_t *conn, const bytes &data, uint64_t tag, bool sync)
{
    send_ptr op = std::make_shared<send_op>();

    op->data = data;
    return start_send(op, conn, op->data.data(), op->data.size(), tag, sync);
}

send_ptr node::send_from(ri_conn_t *conn, device_memory &memory, uint64_t tag, bool sync)
{
    return start_send(std::make_shared<send_op>(), conn, memory.data(), memory.length(),
                      tag, sync);
}

send_ptr node::send_of(ri_conn_t *conn, const void *buffer, size_t count,
                       ucp_datatype_t datatype, uint64_t tag, bool sync)
{
    ucp_request_param_t extra = {};

    extra.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
    extra.datatype     = datatype;
    return start_send(std::make_shared<send_op>(), conn, buffer, count, tag, sync, extra);
}

send_ptr node::start_send(const send_ptr &op, ri_conn_t *conn, const void *data,
                          size_t count, uint64_t tag, bool sync,
                          const ucp_request_param_t &extra)
{
    ucp_request_param_t param = extra;
    ucs_status_ptr_t ret;

    param.op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.send   = send_done;
    param.user_data = op.get();
    ret             = ri_tag_send(conn, data, count, tag, &param, sync);
    if (UCS_PTR_IS_PTR(ret)) {
        op->handle = ret;
        m_sends.push_back(op);
    } else {
        EXPECT_FALSE(op->done) << "called back and completed at once";
        op->done   = true;
        op->status = UCS_PTR_STATUS(ret);
    }
    return op;
}

void node::cancel(const recv_ptr &op)
{
    ri_tag_recv_cancel(reinterpret_cast<ri_recv_req_t *>(ri_req_of_handle(op->handle)));
}

void node::progress()
{
    ri_worker_progress(m_worker);
}

ri_worker_counters_t node::counters() const
{
    ri_worker_counters_t counters;

    ri_worker_counters_snapshot(m_worker, &counters);
    return counters;
}

template <typename T> static bool release_list(std::list<std::shared_ptr<T>> &ops)
{
    for (auto it = ops.begin(); it != ops.end();) {
        if ((*it)->done) {
            if ((*it)->handle != nullptr) {
                ri_req_put(ri_req_of_handle((*it)->handle));
            }
            it = ops.erase(it);
        } else {
            ++it;
        }
    }
    return ops.empty();
}

bool node::release_done()
{
    bool recvs = release_list(m_recvs);
    bool sends = release_list(m_sends);

    return recvs && sends;
}

} // namespace fake
