/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Parameter structures with 0xff in every field that their masks leave out. Open MPI 4.1
 * has such a field: it ORs into flags of a worker that it never set.
 */

#include "ucp_test.h"

#include <cstring>

using namespace ucp_test;

namespace {

/* A structure that says nothing but what a test puts into it. */
template <typename T> T noise()
{
    T params;

    memset(static_cast<void *>(&params), 0xff, sizeof(params));
    return params;
}

ucp_request_param_t request_noise(uint32_t attr_mask = 0)
{
    ucp_request_param_t param = noise<ucp_request_param_t>();

    param.op_attr_mask = attr_mask;
    return param;
}

} // namespace

class test_params : public transport_test {
protected:
    /* A context, two workers and an endpoint of each */
    void SetUp() override
    {
        ucp_params_t context_params       = noise<ucp_params_t>();
        ucp_worker_params_t worker_params = noise<ucp_worker_params_t>();
        ucp_config_t *config;

        check_status(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
        check_status(ucp_config_modify(config, "TLS", GetParam().tls), "modify TLS");
        if (GetParam().net_devices != nullptr) {
            check_status(ucp_config_modify(config, "NET_DEVICES", GetParam().net_devices),
                         "modify NET_DEVICES");
        }
        context_params.field_mask = UCP_PARAM_FIELD_FEATURES;
        context_params.features   = UCP_FEATURE_TAG;
        check_status(ucp_init(&context_params, config, &m_context), "ucp_init");
        ucp_config_release(config);

        worker_params.field_mask = 0;
        for (worker_h &worker : m_workers) {
            check_status(ucp_worker_create(m_context, &worker_params, &worker.handle),
                         "ucp_worker_create");
        }
        for (int i = 0; i < 2; ++i) {
            m_workers[i].ep = connect(m_workers[i].handle, m_workers[peer(i)].handle);
        }
    }

    void TearDown() override
    {
        for (worker_h &worker : m_workers) {
            ucp_request_param_t param = request_noise();

            m_closing.push_back(ucp_ep_close_nbx(worker.ep, &param));
        }
        for (ucs_status_ptr_t ret : m_closing) {
            wait(ret);
        }
        for (worker_h &worker : m_workers) {
            ucp_worker_destroy(worker.handle);
        }
        ucp_cleanup(m_context);
    }

    static ucp_ep_h connect(ucp_worker_h from, ucp_worker_h to)
    {
        ucp_ep_params_t params = noise<ucp_ep_params_t>();
        ucp_worker_attr_t attr = noise<ucp_worker_attr_t>();
        ucp_ep_h ep;

        attr.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS;
        check_status(ucp_worker_query(to, &attr), "ucp_worker_query");
        params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
        params.address    = attr.address;
        check_status(ucp_ep_create(from, &params, &ep), "ucp_ep_create");
        ucp_worker_release_address(to, attr.address);
        return ep;
    }

    /* The self transport reaches the own worker only. */
    static int peer(int i) { return GetParam().is_self() ? i : 1 - i; }

    ucs_status_t wait(ucs_status_ptr_t ret)
    {
        ucs_status_t status = UCS_PTR_STATUS(ret);

        if (!UCS_PTR_IS_PTR(ret)) {
            return status;
        }
        if (!poll_until([&] { return ucp_request_check_status(ret) != UCS_INPROGRESS; },
                        [&] {
                            return ucp_worker_progress(m_workers[0].handle) +
                                   ucp_worker_progress(m_workers[1].handle);
                        })) {
            throw failure("timeout of a request");
        }
        status = ucp_request_check_status(ret);
        ucp_request_free(ret);
        return status;
    }

    ucp_context_h m_context;
    struct worker_h {
        ucp_worker_h handle;
        ucp_ep_h ep;
    } m_workers[2];
    std::vector<ucs_status_ptr_t> m_closing;
};

/* Also the flags of the operation: what is not masked there is no flag. */
TEST_P(test_params, tag_messages)
{
    for (size_t size : ALL_SIZES) {
        for (bool sync : {false, true}) {
            for (bool expected : {true, false}) {
                std::string out           = pattern(size, size), in(size, '\0');
                ucp_request_param_t param = request_noise();
                ucp_worker_h receiver     = m_workers[peer(0)].handle;
                ucs_status_ptr_t send, recv = nullptr;

                if (expected) {
                    recv = ucp_tag_recv_nbx(receiver, &in[0], size, 1, TAG_FULL, &param);
                }
                send = sync ? ucp_tag_send_sync_nbx(m_workers[0].ep, out.data(), size, 1,
                                                    &param) :
                              ucp_tag_send_nbx(m_workers[0].ep, out.data(), size, 1,
                                               &param);
                if (!expected) {
                    recv = ucp_tag_recv_nbx(receiver, &in[0], size, 1, TAG_FULL, &param);
                }
                EXPECT_EQ(UCS_OK, wait(recv));
                EXPECT_EQ(UCS_OK, wait(send));
                ASSERT_TRUE(in == out) << "size " << size;
            }
        }
    }
}

TEST_P(test_params, message_of_a_probe)
{
    ucp_request_param_t param = request_noise();
    ucp_worker_h receiver     = m_workers[peer(0)].handle;

    for (size_t size : {0, 8, 1000, 100000}) {
        std::string out           = pattern(size, size), in(size, '\0');
        ucs_status_ptr_t send     = ucp_tag_send_nbx(m_workers[0].ep, out.data(), size, 1,
                                                     &param);
        ucp_tag_message_h message = nullptr;
        ucp_tag_recv_info_t info;

        ASSERT_TRUE(poll_until(
                [&] {
                    message = ucp_tag_probe_nb(receiver, 1, TAG_FULL, 1, &info);
                    return message != nullptr;
                },
                [&] {
                    return ucp_worker_progress(m_workers[0].handle) +
                           ucp_worker_progress(m_workers[1].handle);
                }));
        EXPECT_EQ(UCS_OK,
                  wait(ucp_tag_msg_recv_nbx(receiver, &in[0], size, message, &param)));
        EXPECT_EQ(UCS_OK, wait(send));
        EXPECT_TRUE(in == out) << "size " << size;
    }
}

/* A callback without user data */
TEST_P(test_params, callback_only)
{
    static int called;
    ucp_request_param_t send_param = request_noise(UCP_OP_ATTR_FIELD_CALLBACK);
    ucp_request_param_t recv_param = send_param;
    std::string out                = pattern(100000, 1), in(100000, '\0');

    called             = 0;
    send_param.cb.send = [](void *, ucs_status_t status, void *) {
        EXPECT_EQ(UCS_OK, status);
        ++called;
    };
    recv_param.cb.recv = [](void *, ucs_status_t status, const ucp_tag_recv_info_t *,
                            void *) {
        EXPECT_EQ(UCS_OK, status);
        ++called;
    };
    ucs_status_ptr_t recv = ucp_tag_recv_nbx(m_workers[peer(0)].handle, &in[0], in.size(),
                                             1, TAG_FULL, &recv_param);
    ucs_status_ptr_t send = ucp_tag_send_nbx(m_workers[0].ep, out.data(), out.size(), 1,
                                             &send_param);
    int expected          = UCS_PTR_IS_PTR(recv) + UCS_PTR_IS_PTR(send);
    EXPECT_EQ(UCS_OK, wait(recv));
    EXPECT_EQ(UCS_OK, wait(send));
    EXPECT_EQ(expected, called);
    EXPECT_TRUE(in == out);
}

/* Were its flags read, the close would be one by force, which mode NONE refuses. */
TEST_P(test_params, flush_and_close)
{
    ucp_request_param_t param = request_noise();
    ucp_worker_h receiver     = m_workers[peer(0)].handle;
    ucp_ep_h ep               = connect(m_workers[0].handle, receiver);
    uint64_t out = 17, in = 0;
    ucs_status_ptr_t recv = ucp_tag_recv_nbx(receiver, &in, sizeof(in), 1, TAG_FULL,
                                             &param);

    EXPECT_EQ(UCS_OK, wait(ucp_tag_send_nbx(ep, &out, sizeof(out), 1, &param)));
    EXPECT_EQ(UCS_OK, wait(ucp_ep_flush_nbx(ep, &param)));
    EXPECT_EQ(UCS_OK, wait(ucp_worker_flush_nbx(m_workers[0].handle, &param)));
    EXPECT_EQ(UCS_OK, wait(recv));
    EXPECT_EQ(out, in);
    EXPECT_EQ(UCS_OK, wait(ucp_ep_close_nbx(ep, &param)));
}

/* Only what was asked for is written. */
TEST_P(test_params, queries)
{
    ucp_context_attr_t context_attr = noise<ucp_context_attr_t>();
    ucp_worker_attr_t worker_attr   = noise<ucp_worker_attr_t>();

    context_attr.field_mask = UCP_ATTR_FIELD_THREAD_MODE;
    EXPECT_EQ(UCS_OK, ucp_context_query(m_context, &context_attr));
    EXPECT_EQ(~size_t(0), context_attr.request_size);

    worker_attr.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE;
    EXPECT_EQ(UCS_OK, ucp_worker_query(m_workers[0].handle, &worker_attr));
    EXPECT_EQ(UCS_THREAD_MODE_SINGLE, worker_attr.thread_mode);
    EXPECT_EQ(~uintptr_t(0), reinterpret_cast<uintptr_t>(worker_attr.address));
    EXPECT_EQ(~size_t(0), worker_attr.address_length);
}

INSTANTIATE_TRANSPORTS(test_params);
