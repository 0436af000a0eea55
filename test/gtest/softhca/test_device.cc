/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the devices of softhca say of themselves, what they refuse, and that no file stays behind;
 * all in this process. On other devices only the names of values are tested, which the real library
 * has there. Variables are read when the first device is opened, so each test closes all that it
 * has opened. That real devices are hidden can be seen only on a host that has one.
 */
#include "hca.h"

#include <arpa/inet.h>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

class test_softhca_device : public softhca_test {};

TEST_F(test_softhca_device, list)
{
    SOFTHCA_ONLY("its settings");
    struct ibv_device **list;
    int count = 0;

    set("SOFTHCA_DEVICES", "3");
    list = ibv_get_device_list(&count);
    ASSERT_NE(nullptr, list);
    ASSERT_EQ(3, count);
    EXPECT_EQ(nullptr, list[3]);
    EXPECT_STREQ("softhca0", ibv_get_device_name(list[0]));
    EXPECT_STREQ("softhca2", ibv_get_device_name(list[2]));
    EXPECT_NE(ibv_get_device_guid(list[0]), ibv_get_device_guid(list[1]));
    EXPECT_EQ(2, ibv_get_device_index(list[2]));
    ibv_free_device_list(list);
}

TEST_F(test_softhca_device, none)
{
    SOFTHCA_ONLY("its settings");
    struct ibv_device **list;
    int count = -1;

    set("SOFTHCA_DEVICES", "0");
    list = ibv_get_device_list(&count);
    ASSERT_NE(nullptr, list);
    EXPECT_EQ(0, count);
    EXPECT_EQ(nullptr, list[0]);
    ibv_free_device_list(list);
}

/* libmlx5 compares a pointer behind the structure with its own. */
TEST_F(test_softhca_device, memory_behind_the_structure)
{
    SOFTHCA_ONLY("how it is made");
    struct ibv_device **list = ibv_get_device_list(nullptr);
    const char *behind       = reinterpret_cast<const char *>(list[0] + 1);

    for (int i = 0; i < 1024; ++i) {
        ASSERT_EQ(0, behind[i]);
    }
    ibv_free_device_list(list);
}

TEST_F(test_softhca_device, attributes)
{
    SOFTHCA_ONLY("its size");
    struct ibv_context *context = open_device();
    struct ibv_device_attr_ex extended;
    struct ibv_device_attr attr;
    struct ibv_port_attr port;

    ASSERT_NE(nullptr, context);
    ASSERT_EQ(0, ibv_query_device(context, &attr));
    EXPECT_EQ(1, attr.phys_port_cnt);
    EXPECT_EQ(ibv_get_device_guid(context->device), attr.node_guid);
    EXPECT_EQ(16, attr.max_qp_rd_atom);
    ASSERT_EQ(0, ibv_query_device_ex(context, nullptr, &extended));
    EXPECT_EQ(attr.max_qp_wr, extended.orig_attr.max_qp_wr);
    EXPECT_EQ(0u, extended.odp_caps.general_caps);
    ASSERT_EQ(0, ibv_query_port(context, 1, &port));
    EXPECT_EQ(IBV_PORT_ACTIVE, port.state);
    EXPECT_EQ(IBV_MTU_4096, port.active_mtu);
    EXPECT_EQ(IBV_LINK_LAYER_INFINIBAND, port.link_layer);
    EXPECT_NE(0, port.lid);
    EXPECT_NE(0, ibv_query_port(context, 2, &port));
    EXPECT_EQ(0, ibv_close_device(context));
}

TEST_F(test_softhca_device, mtu)
{
    SOFTHCA_ONLY("its settings");
    struct ibv_context *context;
    struct ibv_port_attr port;

    set("SOFTHCA_MTU", "1024");
    context = open_device();
    ASSERT_EQ(0, ibv_query_port(context, 1, &port));
    EXPECT_EQ(IBV_MTU_1024, port.active_mtu);
    EXPECT_EQ(0, ibv_close_device(context));
}

/* A preset of the link has its own, but for who asks for another one. */
TEST_F(test_softhca_device, mtu_of_a_link)
{
    SOFTHCA_ONLY("its settings");
    struct ibv_context *context;
    struct ibv_port_attr port;

    for (const char *mtu : {"", "4096"}) {
        set("SOFTHCA_LINK", "ddr2k");
        set("SOFTHCA_MTU", mtu);
        context = open_device();
        ASSERT_EQ(0, ibv_query_port(context, 1, &port));
        EXPECT_EQ(*mtu ? IBV_MTU_4096 : IBV_MTU_2048, port.active_mtu);
        EXPECT_EQ(0, ibv_close_device(context));
    }
}

TEST_F(test_softhca_device, tables)
{
    SOFTHCA_ONLY("its size");
    struct ibv_context *context = open_device();
    struct ibv_gid_entry entry;
    union ibv_gid gid;
    __be16 pkey;

    ASSERT_EQ(0, ibv_query_gid(context, 1, 0, &gid));
    EXPECT_EQ(ibv_get_device_guid(context->device), gid.global.interface_id);
    EXPECT_NE(0, ibv_query_gid(context, 1, 1, &gid));
    ASSERT_EQ(0, ibv_query_gid_ex(context, 1, 0, &entry, 0));
    EXPECT_EQ(0, memcmp(&gid, &entry.gid, sizeof(gid)));
    EXPECT_EQ(1, ibv_query_gid_table(context, &entry, 1, 0));
    ASSERT_EQ(0, ibv_query_pkey(context, 1, 0, &pkey));
    EXPECT_EQ(htons(0xffff), pkey);
    EXPECT_EQ(0, ibv_get_pkey_index(context, 1, pkey));
    EXPECT_EQ(-1, ibv_get_pkey_index(context, 1, htons(0x7fff)));
    EXPECT_EQ(0, ibv_close_device(context));
}

TEST_F(test_softhca_device, roce)
{
    SOFTHCA_ONLY("its settings");
    struct ibv_context *context;
    struct ibv_port_attr port;

    set("SOFTHCA_LINK_LAYER", "ethernet");
    context = open_device();
    ASSERT_EQ(0, ibv_query_port(context, 1, &port));
    EXPECT_EQ(IBV_LINK_LAYER_ETHERNET, port.link_layer);
    EXPECT_EQ(0, port.lid);
    EXPECT_EQ(0, ibv_close_device(context));

    node a, b;
    connect(a, b);
    ASSERT_EQ(0, b.recv(0, 100));
    ASSERT_EQ(0, a.send(0, 100));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    struct ibv_wc wc = b.wait();
    EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    EXPECT_EQ(IBV_WC_GRH, static_cast<int>(wc.wc_flags)) << "as with rxe";
}

TEST_F(test_softhca_device, strings)
{
    EXPECT_STREQ("success", ibv_wc_status_str(IBV_WC_SUCCESS));
    EXPECT_STREQ("unknown", ibv_wc_status_str(static_cast<enum ibv_wc_status>(1000)));
    EXPECT_STREQ("InfiniBand channel adapter", ibv_node_type_str(IBV_NODE_CA));
    EXPECT_NE(nullptr, ibv_node_type_str(IBV_NODE_UNKNOWN));
    EXPECT_STREQ("active", ibv_port_state_str(IBV_PORT_ACTIVE));
    for (int i = IBV_EVENT_CQ_ERR; i <= IBV_EVENT_WQ_FATAL; ++i) {
        EXPECT_STRNE("unknown", ibv_event_type_str(static_cast<enum ibv_event_type>(i)));
    }
    EXPECT_EQ(8, ibv_rate_to_mult(IBV_RATE_20_GBPS));
    EXPECT_EQ(IBV_RATE_20_GBPS, mult_to_ibv_rate(8));
    EXPECT_EQ(20000, ibv_rate_to_mbps(IBV_RATE_20_GBPS));
    EXPECT_EQ(IBV_RATE_20_GBPS, mbps_to_ibv_rate(20000));
}

TEST_F(test_softhca_device, what_it_cannot_do)
{
    SOFTHCA_ONLY("how it is made");
    struct ibv_context *context          = open_device();
    struct ibv_pd *pd                    = ibv_alloc_pd(context);
    struct ibv_alloc_dm_attr dm          = {};
    struct ibv_td_init_attr td           = {};
    struct ibv_xrcd_init_attr xrcd       = {};
    struct ibv_qp_init_attr init         = {};
    struct ibv_qp_init_attr_ex long_init = {};

    errno = 0;
    EXPECT_EQ(nullptr, ibv_alloc_mw(pd, IBV_MW_TYPE_1));
    EXPECT_EQ(EOPNOTSUPP, errno);
    EXPECT_EQ(nullptr, ibv_alloc_dm(context, &dm));
    EXPECT_EQ(nullptr, ibv_alloc_td(context, &td));
    EXPECT_EQ(nullptr, ibv_open_xrcd(context, &xrcd));
    EXPECT_EQ(nullptr, ibv_reg_dmabuf_mr(pd, 0, 4096, 0, 0, 0));
    EXPECT_EQ(nullptr, ibv_import_device(0));
    init.qp_type = IBV_QPT_UC;
    EXPECT_EQ(nullptr, ibv_create_qp(pd, &init));
    long_init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    long_init.pd        = pd;
    EXPECT_EQ(nullptr, ibv_create_qp_ex(context, &long_init));
    EXPECT_EQ(IBV_FORK_UNNEEDED, ibv_is_fork_initialized());
    EXPECT_EQ(0, ibv_fork_init());
    EXPECT_EQ(0, ibv_dealloc_pd(pd));
    EXPECT_EQ(0, ibv_close_device(context));
}

/* Nothing stays in /dev/shm. */
TEST_F(test_softhca_device, files_go)
{
    SOFTHCA_ONLY("its files");
    std::string name = std::string("/dev/shm/softhca.") + getenv("SOFTHCA_FABRIC") + "." +
                       std::to_string(getuid());
    struct ibv_context *first  = open_device();
    struct ibv_context *second = open_device();

    EXPECT_EQ(0, access(name.c_str(), F_OK));
    EXPECT_EQ(0, ibv_close_device(first));
    EXPECT_EQ(0, access(name.c_str(), F_OK));
    EXPECT_EQ(0, ibv_close_device(second));
    EXPECT_NE(0, access(name.c_str(), F_OK));
}
