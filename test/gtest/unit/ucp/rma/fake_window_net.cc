/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * The functions of UCX that windows through a network use. All endpoints lead back to this process.
 * A message is copied and its send ends at once; a put, a get or a flush is noted. A call of
 * progress delivers one message and ends one operation, each the oldest, unless the test has
 * stopped that. Each handle is a block of memory of its own, so that a sanitizer sees a handle that
 * is freed twice. What was not given back is counted; the fixture ends the worker of the windows
 * before that is looked at.
 */

#include "unit/common/ri_cpp.h"
#include "unit/ucp/rma/fake_window_net.h"

namespace {

net_ucx *ucx;

/* Something that is returned for a handle. */
template <typename handle> handle made(int &count)
{
    ++count;
    return reinterpret_cast<handle>(new char);
}

template <typename handle> void ended(int &count, handle what)
{
    --count;
    delete reinterpret_cast<char *>(what);
}

/* A move or flush that ends later. */
ucs_status_ptr_t later(const ucp_request_param_t *param, std::function<void()> copy,
                       bool is_put = false)
{
    if (ucx->fails != UCS_OK) {
        return UCS_STATUS_PTR(ucx->fails);
    }
    ucx->moves.push_back(
            {made<void *>(ucx->num_requests), std::move(copy), *param, is_put});
    return ucx->moves.back().request;
}

/* The functions of contexts and workers */
void fill_workers(ri_stock_t *stock)
{
    stock->config_read = [](const char *, const char *, ucp_config_t **config) {
        *config = nullptr;
        return UCS_OK;
    };
    stock->config_release = [](ucp_config_t *) {};
    stock->init_version   = [](unsigned, unsigned, const ucp_params_t *,
                             const ucp_config_t *, ucp_context_h *context) {
        if (ucx->fails != UCS_OK) {
            return ucx->fails;
        }
        *context = made<ucp_context_h>(ucx->num_contexts);
        return UCS_OK;
    };
    stock->cleanup = [](ucp_context_h context) { ended(ucx->num_contexts, context); };
    stock->worker_create = [](ucp_context_h, const ucp_worker_params_t *,
                              ucp_worker_h *worker) {
        *worker = made<ucp_worker_h>(ucx->num_contexts);
        return UCS_OK;
    };
    stock->worker_destroy = [](ucp_worker_h worker) { ended(ucx->num_contexts, worker); };
    stock->worker_set_am_recv_handler = [](ucp_worker_h,
                                           const ucp_am_handler_param_t *param) {
        EXPECT_EQ(RI_WINDOW_NET_AM_ID, (int)param->id);
        ucx->handler = param->cb;
        return UCS_OK;
    };
    stock->worker_get_address = [](ucp_worker_h, ucp_address_t **address,
                                   size_t *length) {
        *address = (ucp_address_t *)"address";
        *length  = 7;
        return UCS_OK;
    };
    stock->worker_release_address = [](ucp_worker_h, ucp_address_t *) {};
    stock->worker_progress        = [](ucp_worker_h) {
        if (ucx->delivers && !ucx->sent.empty()) {
            ucx->deliver();
        }
        if (ucx->finishes && !ucx->moves.empty()) {
            ucx->finish();
        }
        return 0u;
    };
}

/* The functions of endpoints */
void fill_endpoints(ri_stock_t *stock)
{
    stock->ep_create = [](ucp_worker_h, const ucp_ep_params_t *params, ucp_ep_h *ep) {
        if (ucx->fails != UCS_OK) {
            return ucx->fails;
        }
        EXPECT_EQ(0, memcmp(params->address, "address", 7));
        ucx->error = params->err_handler;
        *ep        = made<ucp_ep_h>(ucx->num_eps);
        return UCS_OK;
    };
    stock->ep_close_nbx = [](ucp_ep_h ep, const ucp_request_param_t *) {
        ended(ucx->num_eps, ep);
        return (ucs_status_ptr_t) nullptr;
    };
    stock->am_send_nbx = [](ucp_ep_h, unsigned, const void *header, size_t header_length,
                            const void *data, size_t length,
                            const ucp_request_param_t *param) {
        if (ucx->fails != UCS_OK) {
            return (ucs_status_ptr_t)UCS_STATUS_PTR(ucx->fails);
        }
        auto *h = static_cast<const uint8_t *>(header);
        auto *d = static_cast<const uint8_t *>(data);
        net_message message{{h, h + header_length}, {d, d + length}};

        if (ucx->sends_later) {
            return later(param, [=] { ucx->sent.push_back(message); });
        }
        ucx->sent.push_back(message);
        return (ucs_status_ptr_t) nullptr;
    };
}

/* The functions of memory and its keys */
void fill_memory(ri_stock_t *stock)
{
    stock->mem_map = [](ucp_context_h, const ucp_mem_map_params_t *, ucp_mem_h *memh) {
        *memh = made<ucp_mem_h>(ucx->num_mapped);
        return UCS_OK;
    };
    stock->mem_unmap = [](ucp_context_h, ucp_mem_h memh) {
        ended(ucx->num_mapped, memh);
        return UCS_OK;
    };
    stock->rkey_pack = [](ucp_context_h, ucp_mem_h, void **key, size_t *length) {
        *key    = new char[3]{'k', 'e', 'y'};
        *length = 3;
        return UCS_OK;
    };
    stock->rkey_buffer_release = [](void *key) { delete[] static_cast<char *>(key); };
    stock->ep_rkey_unpack      = [](ucp_ep_h, const void *key, ucp_rkey_h *rkey) {
        EXPECT_EQ(0, memcmp(key, "key", 3));
        *rkey = made<ucp_rkey_h>(ucx->num_keys);
        return UCS_OK;
    };
    stock->rkey_destroy = [](ucp_rkey_h key) { ended(ucx->num_keys, key); };
}

/* Puts, gets, and what ends them */
void fill_moves(ri_stock_t *stock)
{
    stock->put_nbx = [](ucp_ep_h, const void *data, size_t length, uint64_t address,
                        ucp_rkey_h, const ucp_request_param_t *param) {
        return later(
                param, [=] { memcpy((void *)address, data, length); }, true);
    };
    stock->get_nbx = [](ucp_ep_h, void *data, size_t length, uint64_t address, ucp_rkey_h,
                        const ucp_request_param_t *param) {
        return later(param, [=] { memcpy(data, (void *)address, length); });
    };
    stock->ep_flush_nbx = [](ucp_ep_h, const ucp_request_param_t *param) {
        ++ucx->num_flushes;
        for (const net_move &move : ucx->moves) {
            ucx->num_early += move.is_put ? 1 : 0;
        }
        return later(param, [] {});
    };
    stock->request_free      = [](void *request) { ended(ucx->num_requests, request); };
    stock->ucs_status_string = [](ucs_status_t) { return "a status"; };
}

void fill(ri_stock_t *stock)
{
    fill_workers(stock);
    fill_endpoints(stock);
    fill_memory(stock);
    fill_moves(stock);
}

} // namespace

net_ucx::net_ucx() : m_stock(ri_stock, ri_stock_t{})
{
    ri_stock_resolved = 1;
    ucx               = this;
    fill(&ri_stock);
}

net_ucx::~net_ucx()
{
    EXPECT_EQ(0, num_contexts);
    EXPECT_EQ(0, num_eps);
    EXPECT_EQ(0, num_keys);
    EXPECT_EQ(0, num_requests);
    ucx = nullptr;
}

void net_ucx::deliver(const net_message &message)
{
    ucp_am_recv_param_t param = {};

    EXPECT_EQ(UCS_OK, handler(nullptr, message.header.data(), message.header.size(),
                              const_cast<uint8_t *>(message.data.data()),
                              message.data.size(), &param));
}

void net_ucx::deliver()
{
    net_message message = sent.front();

    sent.pop_front();
    deliver(message);
}

void net_ucx::finish(ucs_status_t status)
{
    net_move move = moves.front();

    moves.pop_front();
    if (status == UCS_OK) {
        move.copy();
    }
    move.param.cb.send(move.request, status, move.param.user_data);
}

window_net_test::window_net_test() : m_memory(SIZE)
{
    ri_window_server_t server = {};

    m_ops          = ri_window_memory(RI_WINDOW_OPS_VERSION)->net;
    server.has     = has;
    server.apply   = apply;
    server.command = command;
    server.arg     = this;
    m_region       = ri_region_open(&server);
}

window_net_test::~window_net_test()
{
    ri_region_close(m_region);
    if (m_reach != nullptr) {
        m_ops->reach.disconnect(m_reach);
    }
    if (m_shown != nullptr) {
        m_ops->hide(m_shown);
    }
    ri_window_net_end();
}

void *window_net_test::connect(size_t size)
{
    ri_window_net_memory_t memory = {};
    void *told                    = nullptr;
    size_t length                 = 0;
    uint64_t base                 = 0;

    memory.base   = m_memory.data();
    memory.size   = size;
    memory.region = m_region;
    m_shown       = m_ops->show(&memory, &told, &length);
    if (m_shown == nullptr) {
        return nullptr;
    }
    m_told.assign(static_cast<uint8_t *>(told), static_cast<uint8_t *>(told) + length);
    free(told);
    m_reach = m_ops->connect(m_told.data(), m_told.size(), &base);
    EXPECT_EQ((uintptr_t)m_memory.data(), base);
    return m_reach;
}

int window_net_test::has(void *arg, uint64_t address, size_t length)
{
    auto test = static_cast<window_net_test *>(arg);
    auto base = reinterpret_cast<uint64_t>(test->m_memory.data());

    if (address == reinterpret_cast<uint64_t>(test->m_page)) {
        return length <= 8;
    }
    return (address >= base) && (length <= SIZE) && (address - base <= SIZE - length);
}

int window_net_test::apply(void *arg, const ri_mailbox_head_t *head, uint8_t *data)
{
    auto test   = static_cast<window_net_test *>(arg);
    auto memory = reinterpret_cast<uint8_t *>(head->address);

    if (!has(arg, head->address, head->length) || (head->data_length != head->length) ||
        (head->length > RI_MAILBOX_DATA)) {
        return -1;
    }
    if (test->m_busy > 0) {
        --test->m_busy;
        return RI_WINDOW_OPS_BUSY;
    }
    test->m_applied.push_back(head->address - (uint64_t)test->m_memory.data());
    for (size_t i = 0; i < head->length; ++i) {
        uint8_t old = memory[i];

        memory[i] = uint8_t(old + data[i]);
        data[i]   = old;
    }
    return head->length;
}

ri_window_served_t window_net_test::command(void *arg, const ri_window_command_t *command,
                                            uint64_t *state)
{
    auto test = static_cast<window_net_test *>(arg);

    if (command->kind == RI_WINDOW_COMMAND_KINDS) {
        return RI_WINDOW_SERVED_BAD;
    }
    EXPECT_EQ(*state, (command->kind == RI_WINDOW_COMMAND_ENTER) ? *state : 0u);
    ++*state;
    if ((command->kind == RI_WINDOW_COMMAND_ENTER) && (test->m_later > 0)) {
        --test->m_later;
        return RI_WINDOW_SERVED_LATER;
    }
    test->m_commands.push_back(*command);
    return RI_WINDOW_SERVED_DONE;
}

ri_mailbox_head_t window_net_test::add(size_t offset, size_t length) const
{
    ri_mailbox_head_t head = {};

    head.kind        = RI_WINDOW_OPS_KIND | 1;
    head.length      = uint16_t(length);
    head.data_length = uint16_t(length);
    head.address     = (uint64_t)m_memory.data() + offset;
    return head;
}
