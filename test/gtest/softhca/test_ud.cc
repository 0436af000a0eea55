/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Datagrams between two nodes of this process: addresses with and without a global header, by
 * InfiniBand and by RoCE, keys, lengths, and what is dropped. On rxe the hop limit and the check
 * sum of the header are not looked at. Faults of datagrams are in test_fault.cc, data that the
 * receiver fetches in test_fetch.cc. softhca has no multicast: only that it says so is tested.
 */
#include "hca.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/ip.h>

class test_softhca_ud : public softhca_test {
protected:
    static node_params ud(bool is_ipv4 = false)
    {
        node_params params;

        params.type = IBV_QPT_UD;
        if (is_ipv4 && !on_softhca()) {
            params.gid_index = 1; /* behind that of IPv6 */
        }
        return params;
    }

    static struct ibv_ah *make_ah(node &from, const node_address &to, bool global)
    {
        struct ibv_ah_attr attr = path_to(to, global, 7);

        return ibv_create_ah(from.pd, &attr);
    }

    static constexpr char UNTOUCHED = 0x33;

    /* An IPv4 header in the last 20 bytes. Nobody says what is in those before it: what was there,
     * or zeros with rxe. */
    static void check_ipv4(const char *header, const node_address &from,
                           const node_address &to, char before)
    {
        uint32_t sum = 0;
        struct iphdr ip;
        uint16_t word;

        memcpy(&ip, header + 20, sizeof(ip));
        EXPECT_EQ(4, ip.version);
        EXPECT_EQ(5, ip.ihl);
        EXPECT_EQ(IPPROTO_UDP, ip.protocol);
        EXPECT_EQ(0, memcmp(&ip.saddr, from.gid.raw + 12, 4));
        EXPECT_EQ(0, memcmp(&ip.daddr, to.gid.raw + 12, 4));
        for (size_t i = 20; i < 40; i += sizeof(word)) {
            memcpy(&word, header + i, sizeof(word));
            sum += word;
        }
        EXPECT_EQ(20, std::count(header, header + 20, before));
        if (on_softhca()) {
            EXPECT_EQ(7, ip.ttl);
            EXPECT_EQ(0xffffu, (sum & 0xffff) + (sum >> 16));
        }
    }

    /* With a global header, and back to where it came from. */
    static void there_and_back(bool is_ipv4 = false, bool is_rxe = !on_softhca())
    {
        node a(ud(is_ipv4)), b(ud(is_ipv4));
        struct ibv_ah *ah, *back;
        node_address from, to;
        struct ibv_grh *grh;
        struct ibv_wc wc;

        connect(a, b);
        ah = make_ah(a, b.address(), true);
        strcpy(a.at(0), "datagram");
        memset(b.at(0), UNTOUCHED, 40);
        ASSERT_EQ(0, b.recv(0, 1000));
        ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 9));
        wc = b.wait();
        EXPECT_EQ(IBV_WC_GRH | IBV_WC_WITH_IMM, static_cast<int>(wc.wc_flags));
        grh  = reinterpret_cast<struct ibv_grh *>(b.at(0));
        from = a.address();
        to   = b.address();
        if (is_ipv4) {
            check_ipv4(b.at(0), from, to, is_rxe ? 0 : UNTOUCHED);
        } else {
            EXPECT_EQ(0, memcmp(&grh->sgid, &from.gid, 16));
            EXPECT_EQ(0, memcmp(&grh->dgid, &to.gid, 16));
            if (on_softhca()) {
                EXPECT_EQ(7, grh->hop_limit);
            }
            EXPECT_EQ((to.lid == 0) ? 0x11 : 0x1b, grh->next_hdr);
            EXPECT_EQ(6, b.at(0)[0] >> 4);
        }
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);

        back = ibv_create_ah_from_wc(b.pd, &wc, grh, 1);
        ASSERT_NE(nullptr, back);
        ASSERT_EQ(0, a.recv(2000, 1000));
        ASSERT_EQ(0, b.datagram(back, wc.src_qp, 40, 9));
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
        EXPECT_STREQ("datagram", a.at(2040));
        EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
        EXPECT_EQ(0, ibv_destroy_ah(ah));
        EXPECT_EQ(0, ibv_destroy_ah(back));
    }
};

TEST_F(test_softhca_ud, local)
{
    node a(ud()), b(ud());
    struct ibv_ah *ah;
    struct ibv_wc wc;

    connect(a, b);
    ah = make_ah(a, b.address(), false);
    strcpy(a.at(0), "datagram");
    ASSERT_EQ(0, b.recv(0, 40 + 9, 5));
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 9));
    wc = a.wait();
    EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    EXPECT_EQ(IBV_WC_SEND, wc.opcode);
    wc = b.wait();
    EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    EXPECT_EQ(5u, wc.wr_id);
    EXPECT_EQ(49u, wc.byte_len);
    /* Without a LID there is a global header in any case */
    EXPECT_EQ(IBV_WC_WITH_IMM | ((a.address().lid == 0) ? IBV_WC_GRH : 0),
              static_cast<int>(wc.wc_flags));
    EXPECT_EQ(0x12345678u, wc.imm_data);
    EXPECT_EQ(a.qp->qp_num, wc.src_qp);
    EXPECT_EQ(b.qp->qp_num, wc.qp_num);
    EXPECT_EQ(a.address().lid, wc.slid);
    EXPECT_EQ(0, wc.pkey_index);
    EXPECT_STREQ("datagram", b.at(40));
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

TEST_F(test_softhca_ud, global)
{
    there_and_back();
}

TEST_F(test_softhca_ud, roce)
{
    set("SOFTHCA_LINK_LAYER", "ethernet");
    there_and_back();
}

TEST_F(test_softhca_ud, roce_ipv4_by_rxe)
{
    set("SOFTHCA_LINK_LAYER", "ethernet_ipv4");
    set("SOFTHCA_LIKE", "rxe");
    there_and_back(true, true);
}

TEST_F(test_softhca_ud, roce_ipv4)
{
    set("SOFTHCA_LINK_LAYER", "ethernet_ipv4");
    there_and_back(true);
}

/* What cannot be received is dropped, and the sender does not know. */
TEST_F(test_softhca_ud, dropped)
{
    SOFTHCA_ONLY("rxe breaks the QP if one is too long");
    node a(ud()), b(ud());
    node_address nowhere = b.address();
    struct ibv_ah *ah, *wrong;
    softhca_counters_t before;

    connect(a, b);
    ah = make_ah(a, b.address(), false);
    if (nowhere.lid != 0) {
        nowhere.lid += 1;
    }
    wrong  = make_ah(a, nowhere, false);
    before = counters();

    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 8)); /* no receive */
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_TRUE(b.quiet());
    ASSERT_EQ(0, b.recv(0, 40 + 8, 1));
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 8, TEST_QKEY + 1));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 9)); /* too long */
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    if (nowhere.lid != 0) {
        ASSERT_EQ(0, a.datagram(wrong, b.qp->qp_num, 0, 8));
        EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    }
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num + 100, 0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    ASSERT_EQ(0, a.datagram(ah, 0xff0003, 0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_TRUE(b.quiet());
    if (on_softhca()) {
        EXPECT_EQ(before.ud_drops + 5, counters().ud_drops);
    }

    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 8));
    EXPECT_EQ(1u, b.wait().wr_id);
    EXPECT_EQ(0, ibv_destroy_ah(ah));
    EXPECT_EQ(0, ibv_destroy_ah(wrong));
}

TEST_F(test_softhca_ud, own_key)
{
    SOFTHCA_ONLY("rxe takes the key as it is");
    node a(ud()), b(ud());
    struct ibv_ah *ah;

    connect(a, b);
    ah = make_ah(a, b.address(), false);
    ASSERT_EQ(0, b.recv(0, 100));
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 8, 0x80000000));
    EXPECT_EQ(IBV_WC_SUCCESS, b.wait().status);
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

TEST_F(test_softhca_ud, longer_than_the_mtu)
{
    SOFTHCA_ONLY("its settings");
    set("SOFTHCA_MTU", "2048");
    node a(ud()), b(ud());
    struct ibv_ah *ah;

    connect(a, b);
    ah = make_ah(a, b.address(), false);
    ASSERT_EQ(0, b.recv(0, 4096));
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 2048));
    EXPECT_EQ(2088u, b.wait().byte_len);
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 2049));
    EXPECT_EQ(IBV_WC_LOC_LEN_ERR, a.wait().status);
    EXPECT_EQ(IBV_QPS_SQE, a.state());
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* After an error only the send queue stops, and can go on. */
TEST_F(test_softhca_ud, send_queue_error)
{
    SOFTHCA_ONLY("rxe breaks the QP");
    struct ibv_qp_attr attr = {};
    struct ibv_send_wr wr   = {};
    node a(ud()), b(ud());
    struct ibv_sge sge;
    struct ibv_ah *ah, *back;

    connect(a, b);
    ah   = make_ah(a, b.address(), false);
    back = make_ah(b, a.address(), false);
    sge  = a.sge(0, 8);
    sge.lkey ^= 1;
    wr.opcode            = IBV_WR_SEND;
    wr.wr.ud.ah          = ah;
    wr.wr.ud.remote_qpn  = b.qp->qp_num;
    wr.wr.ud.remote_qkey = TEST_QKEY;
    ASSERT_EQ(0, a.post(wr, sge));
    EXPECT_EQ(IBV_WC_LOC_PROT_ERR, a.wait().status);
    EXPECT_EQ(IBV_QPS_SQE, a.state());
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 8));
    EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, a.wait().status);
    ASSERT_EQ(0, a.recv(0, 100));
    ASSERT_EQ(0, b.datagram(back, a.qp->qp_num, 0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    attr.qp_state = IBV_QPS_RTS;
    ASSERT_EQ(0, ibv_modify_qp(a.qp, &attr, IBV_QP_STATE));
    ASSERT_EQ(0, b.recv(0, 100));
    ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 8));
    EXPECT_EQ(IBV_WC_SUCCESS, a.wait().status);
    EXPECT_EQ(0, ibv_destroy_ah(ah));
    EXPECT_EQ(0, ibv_destroy_ah(back));
}

TEST_F(test_softhca_ud, no_rdma)
{
    SOFTHCA_ONLY("the library of rxe crashes");
    struct ibv_send_wr wr = {};
    node a(ud());

    a.connect(a.address());
    wr.opcode = IBV_WR_RDMA_WRITE;
    EXPECT_EQ(EINVAL, a.post(wr, a.sge(0, 8)));
    wr.opcode = IBV_WR_SEND;
    EXPECT_EQ(EINVAL, a.post(wr, a.sge(0, 8))) << "no address";
}

TEST_F(test_softhca_ud, more_than_a_ring_holds)
{
    node_params params = ud();

    params.send_wr = params.recv_wr = 1024;
    params.cqe                      = 4096;
    params.size                     = 8192;
    node a(params), b(params);
    struct ibv_ah *ah;

    connect(a, b);
    ah = make_ah(a, b.address(), false);
    for (uint64_t i = 0; i < 500; ++i) {
        ASSERT_EQ(0, b.recv(0, 8192, i));
    }
    for (uint64_t i = 0; i < 500; ++i) {
        ASSERT_EQ(0, a.datagram(ah, b.qp->qp_num, 0, 4096, TEST_QKEY, i));
    }
    for (uint64_t i = 0; i < 500; ++i) {
        ASSERT_EQ(i, a.wait().wr_id);
        ASSERT_EQ(i, b.wait().wr_id);
    }
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

TEST_F(test_softhca_ud, multicast)
{
    SOFTHCA_ONLY("what it cannot do");
    node a(ud());
    union ibv_gid gid = {};

    EXPECT_EQ(EOPNOTSUPP, ibv_attach_mcast(a.qp, &gid, 0xc000));
    EXPECT_EQ(EOPNOTSUPP, ibv_detach_mcast(a.qp, &gid, 0xc000));
}
