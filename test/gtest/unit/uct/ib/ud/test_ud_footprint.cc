/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a queue pair for datagrams is said to take of memory. (src/uct/ib/ud/ud_footprint.[hc]) The
 * tests run src/uct/ib/device/footprint.c, too.
 */

#include "unit/common/ri_cpp.h"

#include <limits> /* verbs.h wants it in C++, and not as C */

extern "C" {
#include "ucp/core/settings/config.h"
#include "ucs/id_table.h"
#include "ucp/run/peer_memory.h"
#include "uct/ib/ud/ud_footprint.h"
#include "uct/ib/ud/ud_base.h"
}

#include <gtest/gtest.h>

#if HAVE_VERBS

namespace {

class test_ud_footprint : public ::testing::Test {
protected:
    test_ud_footprint()
    {
        m_device.max_wr  = 4096;
        m_device.max_cqe = 4096;
        m_device.max_sge = 4;
        m_device.mtu     = IBV_MTU_1024;
    }

    size_t qp(unsigned window)
    {
        ri_config.ud_window = window;
        return ri_ud_footprint_qp(&m_device);
    }

    ri_ib_device_t m_device = {};
};

/* The estimate is for the places that there are, which may be fewer than were asked for. */
TEST_F(test_ud_footprint, window)
{
    EXPECT_LT(qp(128), qp(256));
    EXPECT_EQ(qp(256), qp(300));
    EXPECT_EQ(qp(256), qp(511));
    EXPECT_LT(qp(256), qp(512));
    EXPECT_EQ(qp(1024), qp(5000));
    m_device.max_wr = 200;
    EXPECT_EQ(qp(128), qp(256));
    m_device.max_wr  = 4096;
    m_device.max_cqe = 64;
    EXPECT_EQ(qp(64), qp(256));
}

/* The last piece has memory of its own, whose length is that of a datagram. */
TEST_F(test_ud_footprint, last_piece)
{
    size_t less  = qp(256);
    m_device.mtu = IBV_MTU_4096;

    EXPECT_EQ(4096u - 1024u, qp(256) - less);
}

/* A peer has a way with its place in the table of ids, which doubles; room for eight numbers that
 * the sender may not know to be received, and for two that were cancelled; a port, and its address
 * handle. */
TEST_F(test_ud_footprint, peer_by_datagrams)
{
    size_t way  = ri_heap_block(sizeof(ri_ud_ep_t)) + sizeof(ri_id_slot_t) * 3 / 2;
    size_t port = ri_heap_block(sizeof(ri_ud_port_t)) + 128;

    EXPECT_EQ(way + port + ri_heap_block(32) + ri_heap_block(8), ri_ud_footprint_peer());
}

} // namespace

#endif
