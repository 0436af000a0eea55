/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/uct/ib/device/device.[hc], on devices of the test's own. The tests run
 * src/uct/ib/device/link.c, too.
 */

#include "unit/uct/ib/rc/rc_test.h"

#if HAVE_VERBS

extern "C" {
#include "uct/ib/device/address.h"
#include "uct/ib/device/memlock.h"
}

#include <algorithm>
#include <cerrno>

namespace {

class test_rc_device : public rc_test {
protected:
    void add(const std::string &name)
    {
        hca.devices.emplace_back(new fake::hca_device(name));
    }

    /* The device that is chosen, as name:port; empty if there is none. */
    std::string chosen(const char *names = "all")
    {
        ri_ib_device_t *device = nullptr;
        std::string name;

        ri_config.ib_devices = const_cast<char *>(names);
        if (ri_ib_device_get(&device) == UCS_OK) {
            name = std::string(device->context->device->name) + ":" +
                   std::to_string(device->port);
            m_last = *device;
            ri_ib_device_put(device);
        }
        return name;
    }

    /* Make the first port one of RoCE, with addresses "4" (IPv4) or "6", "l" (link-local),
     * "0" (none), each of version 1 or 2. */
    void roce(const std::vector<std::string> &gids)
    {
        hca.port().attr.link_layer = IBV_LINK_LAYER_ETHERNET;
        hca.port().attr.lid        = 0;
        hca.port().attr.flags      = IBV_QPF_GRH_REQUIRED; /* as devices say */
        hca.port().gids.clear();
        for (const std::string &text : gids) {
            fake::hca_gid gid = {};

            if (text[0] == '4') {
                gid.gid.raw[10] = gid.gid.raw[11] = 0xff;
                gid.gid.raw[12]                   = 10;
            } else if (text[0] == '6') {
                gid.gid.raw[0] = 0x20;
            } else if (text[0] == 'l') {
                gid.gid.raw[0] = 0xfe;
                gid.gid.raw[1] = 0x80;
            }
            gid.gid.raw[15] = (text[0] == '0') ? 0 : hca.port().gids.size() + 1;
            gid.type = (text[1] == '2') ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
            hca.port().gids.push_back(gid);
        }
    }

    ri_ib_device_t m_last;
};

TEST_F(test_rc_device, names)
{
    add("mlx5_1");
    hca.devices[1]->ports.resize(2);
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ("mlx5_1:1", chosen("mlx5_1"));
    EXPECT_EQ("mlx5_1:2", chosen("mlx5_1:2"));
    EXPECT_EQ("mlx5_1:2", chosen("mlx5_1:2,mlx5_0:1"));
    EXPECT_EQ("mlx5_0:1", chosen("hfi1_0,mlx5_0:1"));
    EXPECT_EQ("mlx5_0:1", chosen(",,mlx5_7,all"));
    EXPECT_EQ("", chosen(""));
    for (const char *names : {"mlx5", "mlx5_00", "mlx5_0:2", "mlx5_0:0", "mlx5_0:x", ":1",
                              "mlx5_0:4294967297", ","}) {
        printed(RI_LOG_LEVEL_ERROR, [&]() { EXPECT_EQ("", chosen(names)) << names; });
    }
    EXPECT_EQ(0u, hca.contexts);
}

/* Where there is a choice, the fastest; if two are, the first */
TEST_F(test_rc_device, rates)
{
    auto set = [](fake::hca_port &port, unsigned width, unsigned speed) {
        port.attr.active_width = width;
        port.attr.active_speed = speed;
    };

    add("mlx5_1");
    add("mlx5_2");
    hca.devices[1]->ports.resize(2);
    EXPECT_EQ("mlx5_0:1", chosen());
    set(hca.port(), 1, 32);                /* 25 Gb/s */
    set(hca.devices[1]->ports[0], 8, 1);   /* 30 */
    set(hca.devices[1]->ports[1], 2, 16);  /* 56 */
    set(hca.devices[2]->ports[0], 16, 32); /* 50 */
    EXPECT_EQ("mlx5_1:2", chosen());
    EXPECT_EQ(56000u, m_last.rate);
    EXPECT_EQ("mlx5_1:2", chosen("mlx5_1"));
    EXPECT_EQ("mlx5_1:1", chosen("mlx5_1:1"));
    EXPECT_EQ("mlx5_0:1", chosen("mlx5_0,all")) << "the order of preference";
    hca.devices[1]->ports[1].attr.state = IBV_PORT_DOWN;
    EXPECT_EQ("mlx5_2:1", chosen());
    set(hca.devices[2]->ports[0], 2, 8); /* FDR10 */
    set(hca.port(), 2, 4);
    EXPECT_EQ("mlx5_0:1", chosen());
    set(hca.port(), 3, 255); /* what is not known counts by its lowest bits */
    EXPECT_EQ("mlx5_2:1", chosen());
    for (unsigned width : {0u, 32u, 255u}) {
        set(hca.port(), width, 0);
        EXPECT_EQ("mlx5_2:1", chosen());
    }
    EXPECT_EQ(0u, hca.contexts);
    EXPECT_EQ(0u, hca.pds);
}

/* auto: the fastest, of those that UCX may use. */
TEST_F(test_rc_device, automatic)
{
    unsetenv("UCX_TLS");
    unsetenv("UCX_NET_DEVICES");
    EXPECT_EQ("mlx5_0:1", chosen("auto"));
    setenv("UCX_TLS", "tcp,self", 1);
    EXPECT_EQ("", chosen("auto"));
    EXPECT_EQ("mlx5_0:1", chosen("all"));
    setenv("UCX_TLS", "rc,self", 1);
    EXPECT_EQ("mlx5_0:1", chosen("auto"));
    setenv("UCX_NET_DEVICES", "mlx5_1:1", 1);
    EXPECT_EQ("", chosen("auto"));
    unsetenv("UCX_NET_DEVICES");

    add("mlx5_1");
    EXPECT_NE(std::string::npos, printed(RI_LOG_LEVEL_INFO, [this]() {
                                     EXPECT_EQ("", chosen("auto"));
                                 }).find("UCXRI_IB_DEVICES"));
    setenv("UCX_NET_DEVICES", "mlx5_1:1", 1);
    EXPECT_EQ("mlx5_1:1", chosen("auto"));
    hca.devices[1]->ports.resize(2);
    EXPECT_EQ("mlx5_1:1", chosen("auto"));
    setenv("UCX_NET_DEVICES", "mlx5_1", 1);
    EXPECT_EQ("", chosen("auto"));
    hca.devices[1]->ports[0].attr.state = IBV_PORT_DOWN;
    EXPECT_EQ("mlx5_1:2", chosen("auto"));
    unsetenv("UCX_NET_DEVICES");
    EXPECT_EQ("", chosen("auto"));
    hca.devices.clear();
    EXPECT_EQ("",
              printed(RI_LOG_LEVEL_INFO, [this]() { EXPECT_EQ("", chosen("auto")); }));
    unsetenv("UCX_TLS");
    EXPECT_EQ(0u, hca.contexts);
}

TEST_F(test_rc_device, ports_that_do_not_fit)
{
    add("mlx5_1");
    struct {
        const char *name;
        std::function<void()> change;
    } cases[] = {
            {"down", [this]() { hca.port().attr.state = IBV_PORT_DOWN; }},
            {"no lid", [this]() { hca.port().attr.lid = 0; }},
            {"needs a GRH", [this]() { hca.port().attr.flags = IBV_QPF_GRH_REQUIRED; }},
            {"no gid", [this]() { hca.port().gids.clear(); }},
            {"mtu", [this]() { hca.port().attr.active_mtu = (enum ibv_mtu)0; }},
            {"iWARP",
             [this]() { hca.device().super.transport_type = IBV_TRANSPORT_IWARP; }},
            {"no reads", [this]() { hca.device().attr.max_qp_rd_atom = 0; }},
            {"no queue", [this]() { hca.device().attr.max_qp_wr = 0; }},
            {"short queues", [this]() { hca.device().attr.max_qp_wr = 3; }},
            {"no sge", [this]() { hca.device().attr.max_sge = 0; }},
            {"no RoCE address", [this]() {
                 roce({"02", "01"});
             }}};

    for (auto &c : cases) {
        hca.devices[0].reset(new fake::hca_device("mlx5_0"));
        c.change();
        EXPECT_EQ("mlx5_1:1", chosen()) << c.name;
        EXPECT_EQ("", chosen("mlx5_0")) << c.name;
    }
}

/* Who has so few is told; all above works. */
TEST_F(test_rc_device, short_queues)
{
    hca.device().attr.max_qp_wr = 3;
    EXPECT_NE(std::string::npos, printed(RI_LOG_LEVEL_WARN, [this]() {
                                     EXPECT_EQ("", chosen("all"));
                                 }).find("work requests"));
    add("mlx5_1");
    EXPECT_EQ("", printed(RI_LOG_LEVEL_WARN,
                          [this]() { EXPECT_EQ("mlx5_1:1", chosen("all")); }))
            << "there is another one";
    hca.devices.pop_back();
    for (int max : {4, 16, 31, 39}) {
        SCOPED_TRACE(max);
        hca.device().attr.max_qp_wr = max;
        a.open();
        ASSERT_EQ(UCS_OK,
                  ri_plane_rc.listen(a.plane, [](ri_plane_ep_t *, uint32_t, size_t) {}));
        a.prepare();
        EXPECT_LE(a.rc()->depth, (unsigned)max);
        EXPECT_LE(hca.qps.begin()->second->cap.max_recv_wr, (unsigned)max);
        a.close();
    }
}

/* Partition, service level and traffic class */
TEST_F(test_rc_device, marks)
{
    hca.port().pkeys = {0x7fff, 0, 0x8001, 0xffff, 0x0002};
    ri_config.ib_sl = ri_config.ib_traffic_class = UCS_ULUNITS_AUTO;
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ(2u, m_last.address.pkey_index) << "the first full member";
    EXPECT_EQ(0u, m_last.address.sl);
    EXPECT_EQ(0u, m_last.address.traffic_class);
    hca.port().pkeys = {0x7fff};
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ(0u, m_last.address.pkey_index);
    hca.port().pkeys        = {0xffff, 0x8001, 0x0002};
    ri_config.ib_pkey_value = 2;
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ(2u, m_last.address.pkey_index) << "only limited";
    hca.port().pkeys = {0xffff, 0x0002, 0x0002, 0x8002};
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ(3u, m_last.address.pkey_index) << "the full member, though it is behind";
    ri_config.ib_pkey_value = 3;
    EXPECT_NE(std::string::npos, printed(RI_LOG_LEVEL_INFO, [this]() {
                                     EXPECT_EQ("", chosen());
                                 }).find("UCXRI_IB_PKEY"));
    ri_config.ib_pkey_value = 0;

    roce({"42"});
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ(106u, m_last.address.traffic_class) << "as UCX";
    roce({"41"});
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ(0u, m_last.address.traffic_class);
    ri_config.ib_sl            = 5;
    ri_config.ib_traffic_class = 200;
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ(5u, m_last.address.sl);
    EXPECT_EQ(200u, m_last.address.traffic_class);
    ri_config.ib_sl = 12;
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ(4u, m_last.address.sl) << "there are 8 priorities";
    hca.devices[0].reset(new fake::hca_device("mlx5_0"));
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ(12u, m_last.address.sl);
}

TEST_F(test_rc_device, marks_of_queue_pairs)
{
    ri_config.ib_sl            = 5;
    ri_config.ib_traffic_class = 200;
    ri_config.ib_pkey_value    = 1;
    hca.port().pkeys           = {0xffff, 0x8001};
    for (bool is_roce : {false, true}) {
        if (is_roce) {
            roce({"42"});
        }
        a.open();
        b.open();
        a.prepare();
        b.prepare();
        ASSERT_EQ(UCS_OK, a.connect(b.address()));
        const struct ibv_qp_attr &attr = hca.find(a.rc_ep()->qp->qp_num)->attr;
        EXPECT_EQ(1u, attr.pkey_index);
        EXPECT_EQ(5u, attr.ah_attr.sl);
        EXPECT_EQ(is_roce ? 200u : 0u, attr.ah_attr.grh.traffic_class);
        a.close();
        b.close();
    }
}

TEST_F(test_rc_device, nothing_there_is_silent)
{
    hca.devices.clear();
    EXPECT_EQ("", printed(RI_LOG_LEVEL_INFO, [this]() {
                  EXPECT_EQ(UCS_ERR_UNSUPPORTED, ri_plane_rc.open(&a.plane));
              }));
    EXPECT_EQ(nullptr, a.plane);
    ri_verbs.get_device_list = nullptr; /* no library */
    EXPECT_EQ("", printed(RI_LOG_LEVEL_INFO, [this]() {
                  EXPECT_EQ(UCS_ERR_UNSUPPORTED, ri_plane_rc.open(&a.plane));
              }));
}

TEST_F(test_rc_device, failures)
{
    for (int *error : {&hca.open_error, &hca.alloc_pd_error, &hca.create_cq_error}) {
        *error           = ENOMEM;
        std::string text = printed(RI_LOG_LEVEL_WARN, [this]() {
            EXPECT_EQ(UCS_ERR_UNSUPPORTED, ri_plane_rc.open(&a.plane));
        });
        EXPECT_EQ(error == &hca.create_cq_error,
                  text.find("no completion queue of") != std::string::npos);
        /* A limit of the system's is named if it is the cause. */
        ri_memlock_t memlock;
        ri_memlock_query(&memlock);
        if ((error != &hca.create_cq_error) || !ri_memlock_forbids(&memlock, SIZE_MAX)) {
            EXPECT_EQ(std::string::npos, text.find("ulimit -l")) << text;
        }
        *error = 0;
        EXPECT_EQ(0u, hca.contexts);
    }
    a.open();
    hca.create_qp_error = EINVAL;
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.prepare(a.plane, &a.ep));
    hca.create_qp_error = 0;
    hca.modify_error    = EINVAL;
    hca.modify_error_to = IBV_QPS_INIT;
    EXPECT_EQ(UCS_ERR_UNREACHABLE, ri_plane_rc.prepare(a.plane, &a.ep));
    EXPECT_EQ(nullptr, a.ep);
    EXPECT_TRUE(hca.qps.empty());
}

TEST_F(test_rc_device, is_shared)
{
    ri_ib_device_t *first, *second;

    ASSERT_EQ(UCS_OK, ri_ib_device_get(&first));
    ASSERT_EQ(UCS_OK, ri_ib_device_get(&second));
    EXPECT_EQ(first, second);
    EXPECT_EQ(1u, hca.opens);
    ri_ib_device_put(first);
    EXPECT_EQ(1u, hca.contexts);
    ri_ib_device_put(second);
    EXPECT_EQ(0u, hca.contexts);
    EXPECT_EQ("mlx5_0:1", chosen());
}

TEST_F(test_rc_device, limits)
{
    hca.device().attr.max_qp_wr           = 20;
    hca.device().attr.max_sge             = 6;
    hca.device().attr.max_sge_rd          = 4;
    hca.device().attr.max_cqe             = 100;
    hca.device().attr.max_qp_init_rd_atom = 3;
    hca.port().attr.active_mtu            = IBV_MTU_1024;
    hca.port().attr.max_msg_sz            = 5000;
    a.open();
    EXPECT_EQ(20u, a.rc()->depth);
    EXPECT_EQ(4u, a.rc()->max_sge);
    EXPECT_EQ(100u, a.rc()->capacity);
    EXPECT_EQ(3u, a.rc()->ib.device->rd_atomic);
    EXPECT_EQ(5000u, a.rc()->ib.device->max_message);
    a.prepare();
    EXPECT_EQ(IBV_MTU_1024, a.address().mtu);
    EXPECT_EQ(3, a.address().rd_atomic);
    a.close();

    hca.device().attr.max_qp_init_rd_atom = 1000;
    hca.device().attr.max_qp_rd_atom      = 1000;
    hca.device().attr.max_sge_rd          = 0;
    hca.port().attr.max_msg_sz            = 0;
    ri_config.ib_tx_queue                 = 5;
    a.open();
    EXPECT_EQ(5u, a.rc()->depth);
    EXPECT_EQ(6u, a.rc()->max_sge);
    EXPECT_EQ(255u, a.rc()->ib.device->rd_atomic);
    EXPECT_EQ(1u << 30, a.rc()->ib.device->max_message);
}

TEST_F(test_rc_device, gid)
{
    struct {
        std::vector<std::string> gids;
        unsigned index;
        ri_ib_link_t link;
    } cases[] = {{{"l1"}, 0, RI_IB_LINK_ROCE_V1},
                 {{"l1", "l2"}, 1, RI_IB_LINK_ROCE_V2},
                 {{"l1", "l2", "41", "42"}, 3, RI_IB_LINK_ROCE_V2},
                 {{"l2", "62", "42", "42"}, 2, RI_IB_LINK_ROCE_V2},
                 {{"l2", "41", "62"}, 2, RI_IB_LINK_ROCE_V2},
                 {{"02", "01", "41"}, 2, RI_IB_LINK_ROCE_V1}};

    for (auto &c : cases) {
        roce(c.gids);
        EXPECT_EQ("mlx5_0:1", chosen());
        EXPECT_EQ(c.index, m_last.address.gid_index);
        EXPECT_EQ(c.link, m_last.address.link);
        EXPECT_EQ(c.index + 1, m_last.address.gid.raw[15]);
    }

    /* The types are not known */
    roce({"00", "l2", "42"});
    ri_verbs.query_gid_ex = nullptr;
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ(2, m_last.address.gid_index);
    EXPECT_EQ(RI_IB_LINK_ROCE, m_last.address.link);
}

TEST_F(test_rc_device, gid_is_given)
{
    roce({"l1", "l2", "41", "42", "02"});
    for (unsigned i = 0; i < 4; ++i) {
        ri_config.ib_gid_index = i;
        EXPECT_EQ("mlx5_0:1", chosen());
        EXPECT_EQ(i, m_last.address.gid_index);
    }
    for (unsigned i : {4u, 5u, 255u}) {
        ri_config.ib_gid_index = i;
        EXPECT_EQ("", chosen()) << i;
    }

    hca.devices[0].reset(new fake::hca_device("mlx5_0"));
    hca.port().gids.push_back(hca.port().gids[0]);
    ri_config.ib_gid_index = 1;
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ(1, m_last.address.gid_index);
    ri_config.ib_gid_index = UCS_ULUNITS_AUTO;
    EXPECT_EQ("mlx5_0:1", chosen());
    EXPECT_EQ(0, m_last.address.gid_index);
}

TEST_F(test_rc_device, reaches)
{
    union ibv_gid gid;

    chosen();
    ri_ib_address_t ib = m_last.address;
    gid                = ib.gid;
    gid.raw[15]        = 99;
    EXPECT_TRUE(ri_ib_address_reaches(&ib, RI_IB_LINK_INFINIBAND, 9, &gid));
    EXPECT_FALSE(ri_ib_address_reaches(&ib, RI_IB_LINK_INFINIBAND, 0, &gid));
    EXPECT_FALSE(ri_ib_address_reaches(&ib, RI_IB_LINK_INFINIBAND, 0xc000, &gid));
    EXPECT_FALSE(ri_ib_address_reaches(&ib, RI_IB_LINK_ROCE_V2, 9, &gid));
    gid.raw[7] ^= 1;
    EXPECT_FALSE(ri_ib_address_reaches(&ib, RI_IB_LINK_INFINIBAND, 9, &gid));

    roce({"42"});
    chosen();
    ri_ib_address_t v2 = m_last.address;
    gid                = v2.gid;
    gid.raw[15]        = 99;
    EXPECT_TRUE(ri_ib_address_reaches(&v2, RI_IB_LINK_ROCE_V2, 0, &gid));
    EXPECT_TRUE(ri_ib_address_reaches(&v2, RI_IB_LINK_ROCE, 0, &gid));
    for (unsigned link : {0u, 1u, 3u, 5u, 255u}) {
        EXPECT_FALSE(ri_ib_address_reaches(&v2, link, 9, &gid)) << link;
    }
    gid.raw[0] = 0xff;
    EXPECT_FALSE(ri_ib_address_reaches(&v2, RI_IB_LINK_ROCE_V2, 0, &gid));
    gid = {};
    EXPECT_FALSE(ri_ib_address_reaches(&v2, RI_IB_LINK_ROCE_V2, 0, &gid));
    gid.raw[0] = 0x20; /* IPv6 */
    EXPECT_FALSE(ri_ib_address_reaches(&v2, RI_IB_LINK_ROCE_V2, 0, &gid));
}

TEST_F(test_rc_device, a_name_that_does_not_exist)
{
    std::string text = printed(RI_LOG_LEVEL_WARN, [this]() {
        EXPECT_EQ("", chosen("mlx9_9"));
        EXPECT_EQ("", chosen("mlx9_9"));
    });
    /* Not at all if another test has done it */
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 1);
}

} // namespace

#endif
