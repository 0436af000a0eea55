/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the ud plane writes and what it refuses to read: the layout, as numbers of its own, a
 * control message there and back, and messages and targets with one wrong field at a time. All
 * types of control messages have the same form, so one stands for all. The order of bytes on
 * another processor cannot be tested here. (src/uct/ib/ud/ud_wire.[hc])
 */

#include "unit/common/ri_cpp.h"
#include "unit/common/rng.h"

#include <gtest/gtest.h>
#include <vector>

extern "C" {
#include "uct/ib/ud/ud_wire.h"
}

namespace {

ri_ud_message_t make_nack()
{
    ri_ud_message_t m = {};

    m.type     = RI_UD_NACK;
    m.number   = 1;
    m.epoch    = 2;
    m.round    = 3;
    m.base     = 4;
    m.pieces   = 5;
    m.num_bits = 19;
    m.bits[0]  = 0x81;
    m.bits[2]  = 0x07;
    return m;
}

TEST(test_ud_wire, layout)
{
    EXPECT_EQ(32u, sizeof(ri_ud_address_t));
    EXPECT_EQ(32u, sizeof(ri_ud_target_t));
    EXPECT_EQ(36u, sizeof(ri_ud_control_t));
    EXPECT_EQ(8u, offsetof(ri_ud_address_t, qkey));
    EXPECT_EQ(16u, offsetof(ri_ud_address_t, where));
    EXPECT_EQ(20u, offsetof(ri_ud_target_t, piece_size));
    EXPECT_EQ(24u, offsetof(ri_ud_target_t, length));
    EXPECT_EQ(4u, offsetof(ri_ud_control_t, ep));
    EXPECT_EQ(32u, offsetof(ri_ud_control_t, qkey));
}

TEST(test_ud_wire, there_and_back)
{
    ri_ud_message_t m = make_nack(), back;
    uint8_t data[RI_UD_CONTROL_MAX];
    uint32_t ep = 0;

    m.sequence = 6;
    m.qkey     = 7;
    ASSERT_EQ(36u + 3, ri_ud_wire_pack(&m, 99, data));
    ASSERT_TRUE(ri_ud_wire_unpack(data, 36 + 3, &back, &ep));
    EXPECT_EQ(99u, ep);
    EXPECT_EQ(0, memcmp(&m, &back, sizeof(m)));
}

TEST(test_ud_wire, malformed)
{
    ri_ud_message_t m                   = make_nack(), back;
    uint8_t data[RI_UD_CONTROL_MAX + 1] = {};
    size_t length                       = ri_ud_wire_pack(&m, 99, data);
    ri_ud_control_t header, good;
    uint32_t ep;

    auto refused = [&](const ri_ud_control_t &h, size_t l) {
        memcpy(data, &h, sizeof(h));
        return !ri_ud_wire_unpack(data, l, &back, &ep);
    };
    memcpy(&good, data, sizeof(good));
    for (size_t l = 0; l < sizeof(data); ++l) {
        EXPECT_EQ(l != length, refused(good, l)) << l;
    }
    header         = good;
    header.version = 2;
    EXPECT_TRUE(refused(header, length));
    header      = good;
    header.type = 0;
    EXPECT_TRUE(refused(header, length));
    header.type = RI_UD_TYPE_LAST;
    EXPECT_TRUE(refused(header, length));
    header          = good;
    header.num_bits = RI_UD_WINDOW_MAX + 1;
    EXPECT_TRUE(refused(header, sizeof(data)));
    header.num_bits = RI_UD_WINDOW_MAX;
    EXPECT_FALSE(refused(header, sizeof(data) - 1));
}

TEST(test_ud_wire, targets)
{
    ri_ud_target_t good = {}, bad;

    good.qp         = 77;
    good.granted    = 10;
    good.piece_size = 2048;
    good.length     = 10 * 2048 - 1;
    EXPECT_EQ(nullptr, ri_ud_wire_check_target(&good));

    auto refused = [&]() { return ri_ud_wire_check_target(&bad) != nullptr; };
    for (uint32_t qp : {0u, 1u, 0xffffffu, 0x1000000u}) {
        bad    = good;
        bad.qp = qp;
        EXPECT_TRUE(refused());
    }
    for (uint16_t size : {0, 1, 128, 2047, 3000, 8192}) {
        bad            = good;
        bad.piece_size = size;
        EXPECT_TRUE(refused());
    }
    for (uint64_t length : {(uint64_t)0, (uint64_t)9 * 2048, UINT64_MAX}) {
        bad        = good;
        bad.length = length;
        EXPECT_TRUE(refused());
    }
    bad         = good;
    bad.granted = 0;
    EXPECT_TRUE(refused());
    bad          = good;
    bad.reserved = 1;
    EXPECT_TRUE(refused());
}

TEST(test_ud_wire, numbers_of_24_bits)
{
    uint8_t bytes[3];

    for (uint32_t value : {0u, 1u, 0x123456u, 0xffffffu}) {
        ri_ud_wire_put24(bytes, value);
        EXPECT_EQ(value, ri_ud_wire_get24(bytes));
    }
}

} // namespace
