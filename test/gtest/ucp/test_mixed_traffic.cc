/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Other UCP traffic on workers that also do tag matching: the application's own active
 * messages, streams, put and get, and connections made by socket address.
 */

#include "ucp_test.h"

#include <arpa/inet.h>
#include <cstring>
#include <netinet/in.h>

using namespace ucp_test;

class test_mixed_traffic : public transport_test {
protected:
    struct am_record {
        int count = 0;
        std::string header, data;
        ucp_worker_h worker = nullptr;
        op *fetch           = nullptr; /* of a rendezvous */
        bool bad            = false;
    };

    static ucs_status_t am_cb(void *arg, const void *header, size_t header_length,
                              void *data, size_t length, const ucp_am_recv_param_t *param)
    {
        am_record *rec = static_cast<am_record *>(arg);

        ++rec->count;
        rec->header.assign(static_cast<const char *>(header), header_length);
        rec->data.assign(length, '\0');
        if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
            ucp_request_param_t p = {};
            if (rec->fetch == nullptr) {
                rec->bad = true;
                return UCS_OK;
            }
            p            = rec->fetch->send_param(UCP_OP_ATTR_FLAG_NO_IMM_CMPL);
            p.cb.recv_am = [](void *, ucs_status_t status, size_t, void *user_data) {
                static_cast<op *>(user_data)->completed(status);
            };
            rec->fetch->started(
                    ucp_am_recv_data_nbx(rec->worker, data, &rec->data[0], length, &p));
            return UCS_INPROGRESS;
        }
        rec->data.assign(static_cast<const char *>(data), length);
        return UCS_OK;
    }

    void set_handler(entity &e, unsigned id, am_record &rec)
    {
        ucp_am_handler_param_t p = {};

        rec.worker   = e.worker();
        p.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
        p.id  = id;
        p.cb  = am_cb;
        p.arg = &rec;
        check_status(ucp_worker_set_am_recv_handler(e.worker(), &p), "set handler");
    }

    /* One tag message each way, which must work between anything else. */
    void tag_exchange(size_t size, uint64_t seed)
    {
        std::string out = pattern(size, seed), in1(size, '\0'), in2(size, '\0');
        op_ptr s1       = send(ab(), out.data(), size, 1);
        op_ptr r2       = recv(a().worker(), &in2[0], size, 2);
        op_ptr r1       = recv(b().worker(), &in1[0], size, 1);
        op_ptr s2       = send_sync(ba(), out.data(), size, 2);

        wait(*r1);
        wait(*r2);
        wait(*s1);
        wait(*s2);
        EXPECT_TRUE(in1 == out);
        EXPECT_TRUE(in2 == out);
    }

    ucs_status_ptr_t am_send(ucp_ep_h ep, unsigned id, const std::string &header,
                             const std::string &data, uint32_t flags)
    {
        ucp_request_param_t p = {};
        p.op_attr_mask        = UCP_OP_ATTR_FIELD_FLAGS;
        p.flags               = flags;
        return ucp_am_send_nbx(ep, id, header.data(), header.size(), data.data(),
                               data.size(), &p);
    }
};

/*
 * Ids next to the library's (4079 unless UCXRI_AM_ID says otherwise), which stock does not
 * use. A message to an id without a handler is dropped with a warning; not one beyond the
 * table of handlers, because stock 1.13 reads there before it checks the id. The highest
 * id is registered first, the others after it: stock 1.13 to 1.16 leaves the slots below a
 * sparse one uninitialised.
 */
TEST_P(test_mixed_traffic, active_messages_next_to_the_library)
{
    entity_params params;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_AM;
    make_pair(params);
    constexpr unsigned LIBRARY = 4079, LAST = 4081, USED = 4074;
    am_record rec[LAST + 1];
    int sent = 0;

    for (unsigned id = LAST; id >= USED; --id) {
        if (id != LIBRARY) {
            set_handler(b(), id, rec[id]);
        }
    }
    for (unsigned id = 0; id < USED; ++id) {
        ucp_am_handler_param_t p = {};
        p.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB;
        p.id         = id;
        check_status(ucp_worker_set_am_recv_handler(b().worker(), &p), "set handler");
    }
    for (size_t size : {0, 8, 100, 8000}) {
        std::string data = pattern(size, size);

        ++sent;
        for (unsigned id : {LIBRARY - 1, LIBRARY + 1, LAST}) {
            ucs_status_ptr_t ret = am_send(ab(), id, "", data, UCP_AM_SEND_FLAG_EAGER);
            wait([&] { return rec[id].count == sent; }, "active message");
            wait_handle(ret);
            EXPECT_TRUE(rec[id].data == data);
            tag_exchange(size, id);
        }
        for (unsigned id : {0u, USED - 1}) {
            wait_handle(am_send(ab(), id, "", data, UCP_AM_SEND_FLAG_EAGER));
            tag_exchange(size, id);
        }
    }
    for (unsigned id = USED; id <= LAST; ++id) {
        bool used = (id == LIBRARY - 1) || (id == LIBRARY + 1) || (id == LAST);
        EXPECT_EQ(used ? sent : 0, rec[id].count) << "id " << id;
    }
}

/*
 * Ids 0 to 5, of which 0, 1 and 5 are used. All are registered in order: stock 1.13 to
 * 1.16 leaves the slots below a sparse id uninitialised.
 */
TEST_P(test_mixed_traffic, application_active_messages)
{
    entity_params params;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_AM;
    make_pair(params);
    am_record rec[6];
    int sent[6] = {};

    for (unsigned id = 0; id < 6; ++id) {
        set_handler(b(), id, rec[id]);
    }
    for (size_t size : ALL_SIZES) {
        for (unsigned id : {0u, 1u, 5u}) {
            for (size_t header_size : {size_t(0), size_t(24)}) {
                SCOPED_TRACE("id " + std::to_string(id) + " size " +
                             std::to_string(size));
                std::string header = pattern(header_size, id);
                std::string data   = pattern(size, id + 7);
                op fetch;
                rec[id].fetch       = &fetch;
                int before          = rec[id].count;
                ucs_status_ptr_t rq = am_send(ab(), id, header, data, 0);
                tag_exchange(size, id);
                wait([&] { return rec[id].count > before; }, "active message");
                wait([&] { return rec[id].data == data; }, "data");
                wait_handle(rq);
                EXPECT_EQ(before + 1, rec[id].count);
                EXPECT_TRUE(rec[id].header == header);
                EXPECT_FALSE(rec[id].bad);
                ++sent[id];
            }
        }
    }
    for (unsigned id = 0; id < 6; ++id) {
        EXPECT_EQ(sent[id], rec[id].count) << "id " << id;
    }
}

/* A handler that is replaced or removed affects nothing else. */
TEST_P(test_mixed_traffic, active_message_handler_replaced)
{
    entity_params params;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_AM;
    make_pair(params);
    am_record first, second;

    set_handler(b(), 0, first);
    wait_handle(am_send(ab(), 0, "", "one", UCP_AM_SEND_FLAG_EAGER));
    wait([&] { return first.count == 1; });
    tag_exchange(1024, 1);
    set_handler(b(), 0, second);
    wait_handle(am_send(ab(), 0, "", "two", UCP_AM_SEND_FLAG_EAGER));
    wait([&] { return second.count == 1; });
    EXPECT_EQ("two", second.data);
    EXPECT_EQ(1, first.count);
    tag_exchange(1048576, 1);
}

TEST_P(test_mixed_traffic, put_and_get)
{
    entity_params params;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
    make_pair(params);

    std::vector<char> window(1048576);
    ucp_mem_map_params_t map = {};
    ucp_mem_h memh;
    void *packed;
    size_t packed_size;
    ucp_rkey_h rkey;

    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address    = window.data();
    map.length     = window.size();
    ASSERT_EQ(UCS_OK, ucp_mem_map(b().context(), &map, &memh));
    ASSERT_EQ(UCS_OK, ucp_rkey_pack(b().context(), memh, &packed, &packed_size));
    ASSERT_EQ(UCS_OK, ucp_ep_rkey_unpack(ab(), packed, &rkey));
    ucp_rkey_buffer_release(packed);

    for (size_t size : ALL_SIZES) {
        if (size == 0) {
            continue;
        }
        SCOPED_TRACE(size);
        const uint64_t remote = reinterpret_cast<uint64_t>(window.data());
        std::string out       = pattern(size, 4), in(size, '\0');
        ucp_request_param_t p = {};
        ucs_status_ptr_t put  = ucp_put_nbx(ab(), out.data(), size, remote, rkey, &p);
        tag_exchange(size, 5);
        wait_handle(put);
        wait_handle(ucp_ep_flush_nbx(ab(), &p));
        expect_pattern(window.data(), size, 4);
        ucs_status_ptr_t get = ucp_get_nbx(ab(), &in[0], size, remote, rkey, &p);
        tag_exchange(size, 6);
        wait_handle(get);
        EXPECT_TRUE(in == out);
        /* The window is a buffer like others. */
        op_ptr r = recv(b().worker(), window.data(), size, 8);
        op_ptr s = send(ab(), in.data(), size, 8);
        wait(*r);
        wait(*s);
        expect_pattern(window.data(), size, 4);
    }
    ucp_rkey_destroy(rkey);
    EXPECT_EQ(UCS_OK, ucp_mem_unmap(b().context(), memh));
}

INSTANTIATE_TRANSPORTS(test_mixed_traffic);

/* Which end of two endpoints to the own worker a stream comes out of is undefined. */
class test_mixed_traffic_remote : public test_mixed_traffic {};

TEST_P(test_mixed_traffic_remote, streams)
{
    entity_params params;
    params.features = UCP_FEATURE_TAG | UCP_FEATURE_STREAM;
    make_pair(params);

    for (size_t size : ALL_SIZES) {
        if (size == 0) {
            continue;
        }
        SCOPED_TRACE(size);
        std::string out        = pattern(size, 9), in(size, '\0');
        ucp_request_param_t sp = {}, rp = {};
        size_t length       = 0;
        rp.op_attr_mask     = UCP_OP_ATTR_FIELD_FLAGS;
        rp.flags            = UCP_STREAM_RECV_FLAG_WAITALL;
        ucs_status_ptr_t rr = ucp_stream_recv_nbx(ba(), &in[0], size, &length, &rp);
        ucs_status_ptr_t sr = ucp_stream_send_nbx(ab(), out.data(), size, &sp);
        tag_exchange(size, 3);
        wait_handle(sr);
        if (UCS_PTR_IS_PTR(rr)) {
            wait(
                    [&] {
                        return ucp_stream_recv_request_test(rr, &length) !=
                               UCS_INPROGRESS;
                    },
                    "stream");
        }
        wait_handle(rr);
        EXPECT_EQ(size, length);
        EXPECT_TRUE(in == out);
    }
}

INSTANTIATE_REMOTE_TRANSPORTS(test_mixed_traffic_remote);

/* Endpoints made by socket address need a transport that can be set up that way. */
class test_sockaddr : public transport_test {
protected:
    static void on_connection(ucp_conn_request_h request, void *arg)
    {
        static_cast<test_sockaddr *>(arg)->m_request = request;
    }

    ucp_conn_request_h m_request = nullptr;
};

TEST_P(test_sockaddr, tag_traffic_both_ways)
{
    entity &server           = create();
    entity &client           = create();
    ucp_listener_params_t lp = {};
    ucp_listener_attr_t attr = {};
    ucp_listener_h listener;
    sockaddr_in address = {};
    ucp_ep_params_t ep  = {};
    ucp_ep_h to_server, to_client;

    address.sin_family      = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    lp.field_mask           = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                    UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    lp.sockaddr     = {reinterpret_cast<sockaddr *>(&address), sizeof(address)};
    lp.conn_handler = {on_connection, this};
    ASSERT_EQ(UCS_OK, ucp_listener_create(server.worker(), &lp, &listener));
    attr.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
    ASSERT_EQ(UCS_OK, ucp_listener_query(listener, &attr));

    for (int round = 0; round < 3; ++round) {
        ep            = {};
        ep.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
        ep.flags      = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
        ep.sockaddr = {reinterpret_cast<sockaddr *>(&attr.sockaddr), sizeof(sockaddr_in)};
        m_request   = nullptr;
        ASSERT_EQ(UCS_OK, ucp_ep_create(client.worker(), &ep, &to_server));
        client.adopt(to_server);
        wait([&] { return m_request != nullptr; }, "connection request");
        ep              = {};
        ep.field_mask   = UCP_EP_PARAM_FIELD_CONN_REQUEST;
        ep.conn_request = m_request;
        ASSERT_EQ(UCS_OK, ucp_ep_create(server.worker(), &ep, &to_client));
        server.adopt(to_client);

        for (size_t size : ALL_SIZES) {
            SCOPED_TRACE(size);
            std::string out = pattern(size, round), in1(size, '\0'), in2(size, '\0');
            std::vector<op_ptr> ops;
            ops.push_back(recv(server.worker(), &in1[0], size, 1));
            ops.push_back(send(to_server, out.data(), size, 1));
            ops.push_back(send(to_client, out.data(), size, 2));
            ops.push_back(recv(client.worker(), &in2[0], size, 2));
            wait_all(ops);
            EXPECT_TRUE(in1 == out);
            EXPECT_TRUE(in2 == out);
        }
        ucs_status_ptr_t c1 = client.close_nbx(to_server);
        ucs_status_ptr_t c2 = server.close_nbx(to_client);
        wait_handle(c1);
        wait_handle(c2);
    }
    ucp_listener_destroy(listener);
}

INSTANTIATE_TEST_SUITE_P(ucp, test_sockaddr, ::testing::Values(TCP), transport_name);
