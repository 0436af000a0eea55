/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Messages of each wire type, for the tests of src/ucp/wire. Every message is parsed from heap
 * blocks of exactly its size, so that AddressSanitizer sees a read beyond it. */
#ifndef RI_TEST_WIRE_TEST_H
#define RI_TEST_WIRE_TEST_H

#include "unit/common/ri_cpp.h"
#include "unit/common/wire_msg.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

/* A copy without a spare byte behind it */
class exact {
public:
    explicit exact(const bytes &content)
        : m_data(content.empty() ? nullptr : new uint8_t[content.size()])
    {
        std::copy(content.begin(), content.end(), m_data.get());
    }

    const void *get() const { return m_data.get(); }

private:
    std::unique_ptr<uint8_t[]> m_data;
};

struct type_case {
    const char *name;
    ri_wire_type_t type;
    size_t length; /* of the header without hello */
    bool in_sequence;
};

static const type_case TYPES[] = {
        {"EAGER", RI_WIRE_EAGER, 16, true},
        {"EAGER_SAME", RI_WIRE_EAGER_SAME, 8, true},
        {"EAGER_SYNC", RI_WIRE_EAGER_SYNC, 24, true},
        {"BULK", RI_WIRE_BULK, 16, true},
        {"FIRST", RI_WIRE_FIRST, 24, true},
        {"RTS", RI_WIRE_RTS, 24, true},
        {"POOL", RI_WIRE_POOL, 24, true},
        {"PLACED", RI_WIRE_PLACED, 24, true},
        {"FRAG", RI_WIRE_FRAG, 16, false},
        {"CONN_REQ", RI_WIRE_CONN_REQ, 8, false},
        {"CONN_ACK", RI_WIRE_CONN_ACK, 16, false},
        {"SYNC_ACK", RI_WIRE_SYNC_ACK, 8, false},
        {"RING_OFFER", RI_WIRE_RING_OFFER, 40, false},
        {"RING_REFUSE", RI_WIRE_RING_REFUSE, 8, false},
        {"RING_STOP", RI_WIRE_RING_STOP, 16, false},
        {"BYE", RI_WIRE_BYE, 8, false},
        {"ORDER_REQ", RI_WIRE_ORDER_REQ, 8, false},
        {"ORDER_ACK", RI_WIRE_ORDER_ACK, 8, false},
        {"RESET", RI_WIRE_RESET, 8, false},
        {"PLANE_REQ", RI_WIRE_PLANE_REQ, 48, false},
        {"PLANE_ACK", RI_WIRE_PLANE_ACK, 48, false},
        {"FIN", RI_WIRE_FIN, 8, false},
        {"NACK", RI_WIRE_NACK, 16, false},
        {"RNDV_DATA", RI_WIRE_RNDV_DATA, 8, false},
        {"RELEASE", RI_WIRE_RELEASE, 40, false},
        {"CTS", RI_WIRE_CTS, 24, false},
        {"WRITTEN", RI_WIRE_WRITTEN, 8, false},
        {"RING_REQ", RI_WIRE_RING_REQ, 8, false},
        {"RTR", RI_WIRE_RTR, 60, false},
        {"RTR_UD", RI_WIRE_RTR_UD, 72, false},
        {"RTR_GRID", RI_WIRE_RTR_GRID, 104, false},
        {"LAYOUT", RI_WIRE_LAYOUT, 12, false},
        {"RTR_LAYOUT", RI_WIRE_RTR_LAYOUT, 76, false},
        {"LAYOUT_REFUSED", RI_WIRE_LAYOUT_REFUSED, 12, false},
        {"CLOSING", RI_WIRE_CLOSING, 8, false},
        {"REVOKE", RI_WIRE_REVOKE, 24, false},
        {"REVOKED", RI_WIRE_REVOKED, 16, false},
        {"USED", RI_WIRE_USED, 60, false},
        {"TARGET", RI_WIRE_TARGET, 56, false},
        {"ABANDON", RI_WIRE_ABANDON, 16, false},
        {"CHANNEL_AGAIN", RI_WIRE_CHANNEL_AGAIN, 40, false},
        {"CHANNEL_OFFER", RI_WIRE_CHANNEL_OFFER, 48, false},
        {"CHANNEL_ACCEPT", RI_WIRE_CHANNEL_ACCEPT, 48, false},
        {"CHANNEL_STOP", RI_WIRE_CHANNEL_STOP, 48, false},
        {"CHANNEL_CLOSE", RI_WIRE_CHANNEL_CLOSE, 48, false},
};

class wire_test : public ::testing::Test {
protected:
    /* A message of a type, with a value in every field; without hello, addressed to ID */
    static bytes make(ri_wire_type_t type, bool hello)
    {
        wire_msg msg(type, hello ? 0 : ID, value_of(type));

        msg.tag        = TAG;
        msg.req_id     = REQ_ID;
        msg.uid        = UID;
        msg.total      = (type == RI_WIRE_USED) ? (uint32_t)RI_WIRE_RELEASE_MAX : TOTAL;
        msg.entry      = ENTRY;
        msg.length     = TAG;
        msg.number     = COOKIE;
        msg.generation = REQ_ID;
        msg.pid        = 11;
        msg.fd         = 12;
        msg.stream_id  = 13;
        msg.cookie     = COOKIE;
        msg.recv_id    = RECV_ID;
        msg.plane      = PLANE;
        msg.sn         = REQ_ID;
        msg.way        = TOTAL;
        msg.target     = bytes(RI_PLANE_TARGET_SIZE, 0xa5);
        msg.address    = bytes(RI_PLANE_ADDRESS_MAX, 0x5a);
        if (type == RI_WIRE_RTR_GRID) {
            msg.cookie       = GRID_ADDRESS;
            msg.length       = 4 * RUN;
            msg.grid         = ri_grid_run(RUN);
            msg.grid.loop[0] = {4, -(int64_t)RUN - 1};
        }

        if ((type == RI_WIRE_LAYOUT) || (type == RI_WIRE_RTR_LAYOUT) ||
            (type == RI_WIRE_LAYOUT_REFUSED)) {
            msg.asked  = SLOT;
            msg.serial = SERIAL;
        }

        msg.address_length = 24;
        msg.release        = std::vector<uint32_t>(RI_WIRE_RELEASE_MAX, REQ_ID);
        msg.release.back() = RECV_ID;
        if (hello) {
            msg.hello(UID, CONN_ID, HOST, SERIAL);
        }
        return msg.header();
    }

    /* The value is a count in one type. */
    static uint32_t value_of(ri_wire_type_t type)
    {
        return (type == RI_WIRE_RELEASE) ? (uint32_t)RI_WIRE_RELEASE_MAX : VALUE;
    }

    /* Parse with the header apart. */
    ucs_status_t parse_apart(const bytes &header, const bytes &payload,
                             bool elsewhere = false)
    {
        m_header  = std::make_unique<exact>(header);
        m_payload = std::make_unique<exact>(payload);
        memset((void *)&m_msg, 0xaa, sizeof(m_msg));
        return ri_wire_parse(m_header->get(), header.size(), m_payload->get(),
                             payload.size(), elsewhere, &m_msg);
    }

    /* Parse with the header at the head of the data. */
    ucs_status_t parse_inline(const bytes &header, const bytes &payload)
    {
        bytes all = header;

        all.insert(all.end(), payload.begin(), payload.end());
        m_header  = std::make_unique<exact>(bytes());
        m_payload = std::make_unique<exact>(all);
        memset((void *)&m_msg, 0xaa, sizeof(m_msg));
        return ri_wire_parse(nullptr, 0, m_payload->get(), all.size(), 0, &m_msg);
    }

    static bool is_rtr_by_key(ri_wire_type_t type)
    {
        return ri_wire_is_rtr(type) || (type == RI_WIRE_RTR_LAYOUT);
    }

    void check_fields(const type_case &type, bool hello)
    {
        EXPECT_EQ(type.type, m_msg.type);
        EXPECT_EQ(hello ? 0u : ID, m_msg.id);
        EXPECT_EQ(value_of(type.type), m_msg.value);
        EXPECT_EQ(hello, !!m_msg.has_hello);
        if (hello) {
            EXPECT_EQ(UID, m_msg.hello.uid);
            EXPECT_EQ(CONN_ID, m_msg.hello.conn_id);
            EXPECT_EQ(HOST, m_msg.hello.host);
            EXPECT_EQ(SERIAL, m_msg.hello.serial);
        }

        bool has_tag = (type.in_sequence && (type.type != RI_WIRE_EAGER_SAME)) ||
                       is_rtr_by_key(type.type) || (type.type == RI_WIRE_RTR_UD) ||
                       (type.type == RI_WIRE_CHANNEL_AGAIN);
        EXPECT_EQ(has_tag ? TAG : 0, m_msg.tag);
        EXPECT_EQ(((type.type == RI_WIRE_EAGER_SYNC) || (type.type == RI_WIRE_FIRST) ||
                   (type.type == RI_WIRE_RTS) || (type.type == RI_WIRE_POOL) ||
                   (type.type == RI_WIRE_PLACED)) ?
                          REQ_ID :
                          0,
                  m_msg.req_id);
        check_way_fields(type);
        check_rndv_fields(type);
        check_rtr_fields(type);
    }

    void check_way_fields(const type_case &type)
    {
        if ((type.type == RI_WIRE_CONN_ACK) || (type.type == RI_WIRE_FRAG) ||
            (type.type == RI_WIRE_RING_OFFER) || (type.type == RI_WIRE_RING_STOP)) {
            EXPECT_EQ(UID, m_msg.uid);
        }
        if ((type.type == RI_WIRE_PLANE_REQ) || (type.type == RI_WIRE_PLANE_ACK)) {
            EXPECT_EQ(PLANE, m_msg.plane);
            EXPECT_EQ(24u, m_msg.plane_address_length);
            for (uint8_t byte : m_msg.plane_address) {
                EXPECT_EQ(0x5a, byte);
            }
        }
        if (type.type == RI_WIRE_RING_OFFER) {
            EXPECT_EQ(11u, m_msg.ring_pid);
            EXPECT_EQ(12u, m_msg.ring_fd);
            EXPECT_EQ(13u, m_msg.ring_stream_id);
            EXPECT_EQ(COOKIE, m_msg.ring_cookie);
        }
    }

    void check_rndv_fields(const type_case &type)
    {
        if (type.type == RI_WIRE_FIRST) {
            EXPECT_EQ(TOTAL, m_msg.total);
        }
        if ((type.type == RI_WIRE_NACK) || (type.type == RI_WIRE_CTS) ||
            (type.type == RI_WIRE_TARGET) || (type.type == RI_WIRE_ABANDON)) {
            EXPECT_EQ(RECV_ID, m_msg.recv_id);
        }
        if (type.type == RI_WIRE_CTS) {
            EXPECT_EQ(COOKIE, m_msg.address);
        }
        if ((type.type == RI_WIRE_TARGET) || (type.type == RI_WIRE_ABANDON)) {
            EXPECT_EQ(REQ_ID, m_msg.sn);
        }
        if ((type.type == RI_WIRE_TARGET) || (type.type == RI_WIRE_RTR_UD)) {
            EXPECT_EQ(TOTAL, m_msg.way);
            for (uint8_t byte : m_msg.target) {
                EXPECT_EQ(0xa5, byte);
            }
        }
        if (type.type == RI_WIRE_RELEASE) {
            EXPECT_EQ(REQ_ID, m_msg.release[0]);
            EXPECT_EQ(RECV_ID, m_msg.release[RI_WIRE_RELEASE_MAX - 1]);
        }
    }

    void check_rtr_fields(const type_case &type)
    {
        if (is_rtr_by_key(type.type)) {
            bool is_grid = (type.type == RI_WIRE_RTR_GRID);
            EXPECT_EQ(is_grid ? RUN : 0, m_msg.grid.run * is_grid);
            EXPECT_EQ(is_grid ? GRID_ADDRESS : COOKIE, m_msg.mask);
            EXPECT_EQ(is_grid ? GRID_ADDRESS : COOKIE, m_msg.address);
            EXPECT_EQ(is_grid ? 4 * RUN : TAG, m_msg.rtr_length);
            EXPECT_EQ(RECV_ID, m_msg.seen);
            EXPECT_EQ(REQ_ID, m_msg.generation);
            EXPECT_EQ(ENTRY, m_msg.entry);
        }
        if (type.type == RI_WIRE_RTR_LAYOUT) {
            EXPECT_EQ(COOKIE, m_msg.count);
            EXPECT_EQ(SERIAL, m_msg.defined);
            EXPECT_EQ(SLOT, m_msg.slot);
        }
        if ((type.type == RI_WIRE_LAYOUT) || (type.type == RI_WIRE_LAYOUT_REFUSED)) {
            EXPECT_EQ(VALUE, m_msg.defined);
            EXPECT_EQ(SLOT, m_msg.slot);
        }
        if (type.type == RI_WIRE_RTR_UD) {
            EXPECT_EQ(COOKIE, m_msg.mask);
            EXPECT_EQ(RECV_ID, m_msg.seen);
            EXPECT_EQ(REQ_ID, m_msg.generation);
            EXPECT_EQ(ENTRY, m_msg.entry);
        }
        if ((type.type == RI_WIRE_REVOKE) || (type.type == RI_WIRE_REVOKED)) {
            EXPECT_EQ(VALUE, m_msg.generation);
            EXPECT_EQ(ENTRY, m_msg.entry);
        }
        if (type.type == RI_WIRE_REVOKE) {
            EXPECT_EQ(13u, m_msg.stream_id);
            EXPECT_EQ(UID, m_msg.uid);
        }
        if (type.type == RI_WIRE_USED) {
            EXPECT_EQ((uint32_t)RI_WIRE_RELEASE_MAX, m_msg.used_count);
            EXPECT_EQ(REQ_ID, m_msg.used[0]);
            EXPECT_EQ(RECV_ID, m_msg.used[RI_WIRE_RELEASE_MAX - 1]);
        }
    }

    /* A payload that a type may have: anything, but of some it describes the data. */
    static bytes payload_of(ri_wire_type_t type, size_t length)
    {
        bytes out;

        switch (type) {
        case RI_WIRE_RTS:
        case RI_WIRE_POOL:
            return rts_payload({{0x1000, length + 1}});
        case RI_WIRE_PLACED:
            wire_msg::append(out, ri_wire_placed_t{length + 1});
            return out;
        default:
            return bytes(length, 0x3c);
        }
    }

    static constexpr uint32_t ID     = 0x123456;
    static constexpr uint32_t VALUE  = 0xfeedbeef;
    static constexpr uint64_t TAG    = 0x0123456789abcdeful;
    static constexpr uint32_t REQ_ID = 0x89abcdef;
    static constexpr uint64_t UID    = 0xfedcba9876543210ul;
    static constexpr uint64_t HOST   = 0x1111222233334444ul;
    static constexpr uint64_t COOKIE = 0x5555666677778888ul;

    static constexpr uint64_t GRID_ADDRESS = 0x555566667777ul;
    static constexpr uint64_t RUN          = 5000;
    static constexpr uint32_t CONN_ID      = 0x654321;
    static constexpr uint32_t TOTAL        = 2000;
    static constexpr uint32_t SERIAL       = 0x13579bdf;
    static constexpr uint32_t RECV_ID      = 0x2468ace0;
    static constexpr uint8_t PLANE         = 0xb7;
    static constexpr uint16_t ENTRY        = 31;
    static constexpr uint16_t SLOT         = 62;

    ri_wire_msg_t m_msg;
    std::unique_ptr<exact> m_header;
    std::unique_ptr<exact> m_payload;
};

#endif
