/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/wire/wire.c. Every message is parsed from heap blocks of exactly its size, so
 * that AddressSanitizer sees a read beyond it.
 */

#include "ri_cpp.h"
#include "rng.h"
#include "wire_msg.h"

#include <memory>
#include <vector>

namespace {

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

const type_case TYPES[] = {
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

class test_wire : public ::testing::Test {
protected:
    /* A message of a type, with a value in every field; without hello, addressed to ID */
    static bytes make(ri_wire_type_t type, bool hello)
    {
        wire_msg msg(type, hello ? 0 : ID, value_of(type));

        msg.tag        = TAG;
        msg.req_id     = REQ_ID;
        msg.uid        = UID;
        msg.total      = (type == RI_WIRE_USED) ? (uint32_t)RI_WIRE_RELEASE_MAX : TOTAL;
        msg.slot       = SLOT;
        msg.length     = TAG;
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
                       (type.type == RI_WIRE_RTR) || (type.type == RI_WIRE_RTR_UD) ||
                       (type.type == RI_WIRE_CHANNEL_AGAIN);
        EXPECT_EQ(has_tag ? TAG : 0, m_msg.tag);
        EXPECT_EQ(((type.type == RI_WIRE_EAGER_SYNC) || (type.type == RI_WIRE_FIRST) ||
                   (type.type == RI_WIRE_RTS) || (type.type == RI_WIRE_POOL) ||
                   (type.type == RI_WIRE_PLACED)) ?
                          REQ_ID :
                          0,
                  m_msg.req_id);
        if ((type.type == RI_WIRE_CONN_ACK) || (type.type == RI_WIRE_FRAG) ||
            (type.type == RI_WIRE_RING_OFFER) || (type.type == RI_WIRE_RING_STOP)) {
            EXPECT_EQ(UID, m_msg.uid);
        }
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
        if ((type.type == RI_WIRE_PLANE_REQ) || (type.type == RI_WIRE_PLANE_ACK)) {
            EXPECT_EQ(PLANE, m_msg.plane);
            EXPECT_EQ(24u, m_msg.plane_address_length);
            for (uint8_t byte : m_msg.plane_address) {
                EXPECT_EQ(0x5a, byte);
            }
        }
        if (type.type == RI_WIRE_RTR) {
            EXPECT_EQ(COOKIE, m_msg.mask);
            EXPECT_EQ(COOKIE, m_msg.address);
            EXPECT_EQ(TAG, m_msg.rtr_length);
            EXPECT_EQ(RECV_ID, m_msg.seen);
            EXPECT_EQ(REQ_ID, m_msg.generation);
            EXPECT_EQ(SLOT, m_msg.slot);
        }
        if (type.type == RI_WIRE_RTR_UD) {
            EXPECT_EQ(COOKIE, m_msg.mask);
            EXPECT_EQ(RECV_ID, m_msg.seen);
            EXPECT_EQ(REQ_ID, m_msg.generation);
            EXPECT_EQ(SLOT, m_msg.slot);
        }
        if ((type.type == RI_WIRE_REVOKE) || (type.type == RI_WIRE_REVOKED)) {
            EXPECT_EQ(VALUE, m_msg.generation);
            EXPECT_EQ(SLOT, m_msg.slot);
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
        if (type.type == RI_WIRE_RING_OFFER) {
            EXPECT_EQ(11u, m_msg.ring_pid);
            EXPECT_EQ(12u, m_msg.ring_fd);
            EXPECT_EQ(13u, m_msg.ring_stream_id);
            EXPECT_EQ(COOKIE, m_msg.ring_cookie);
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

    static const uint32_t ID      = 0x123456;
    static const uint32_t VALUE   = 0xfeedbeef;
    static const uint64_t TAG     = 0x0123456789abcdeful;
    static const uint32_t REQ_ID  = 0x89abcdef;
    static const uint64_t UID     = 0xfedcba9876543210ul;
    static const uint64_t HOST    = 0x1111222233334444ul;
    static const uint64_t COOKIE  = 0x5555666677778888ul;
    static const uint32_t CONN_ID = 0x654321;
    static const uint32_t TOTAL   = 2000;
    static const uint32_t SERIAL  = 0x13579bdf;
    static const uint32_t RECV_ID = 0x2468ace0;
    static const uint8_t PLANE    = 0xb7;
    static const uint16_t SLOT    = 31;

    ri_wire_msg_t m_msg;
    std::unique_ptr<exact> m_header;
    std::unique_ptr<exact> m_payload;
};

/* Constants that tests compare with by reference */
const uint32_t test_wire::ID;
const uint32_t test_wire::VALUE;
const uint64_t test_wire::TAG;
const uint32_t test_wire::REQ_ID;
const uint64_t test_wire::UID;
const uint64_t test_wire::HOST;
const uint64_t test_wire::COOKIE;
const uint32_t test_wire::CONN_ID;
const uint32_t test_wire::TOTAL;
const uint32_t test_wire::SERIAL;
const uint32_t test_wire::RECV_ID;
const uint8_t test_wire::PLANE;
const uint16_t test_wire::SLOT;

TEST_F(test_wire, sizes)
{
    EXPECT_EQ(8u, sizeof(ri_wire_base_t));
    EXPECT_EQ(16u, sizeof(ri_wire_eager_t));
    EXPECT_EQ(24u, sizeof(ri_wire_eager_sync_t));
    EXPECT_EQ(24u, sizeof(ri_wire_first_t));
    EXPECT_EQ(16u, sizeof(ri_wire_frag_t));
    EXPECT_EQ(16u, sizeof(ri_wire_conn_ack_t));
    EXPECT_EQ(40u, sizeof(ri_wire_ring_offer_t));
    EXPECT_EQ(16u, sizeof(ri_wire_ring_stop_t));
    EXPECT_EQ(8u, sizeof(ri_wire_rts_t));
    EXPECT_EQ(48u, sizeof(ri_wire_plane_t));
    EXPECT_EQ(16u, sizeof(ri_wire_nack_t));
    EXPECT_EQ(32u, sizeof(ri_wire_hello_t));
    EXPECT_EQ(40u, sizeof(ri_wire_address_t));
    EXPECT_EQ(10u, offsetof(ri_wire_address_t, magic)); /* a whole stock address */
    for (const type_case &type : TYPES) {
        EXPECT_EQ(type.length, make(type.type, false).size()) << type.name;
        EXPECT_EQ(type.length + 32, make(type.type, true).size()) << type.name;
        EXPECT_LE(type.length + (type.in_sequence ? 32 : 0),
                  type.in_sequence ? RI_WIRE_HEADER_MAX : RI_WIRE_CONTROL_MAX);
    }
}

TEST_F(test_wire, bytes_on_the_wire)
{
    /* Written out once: little-endian, packed, in the order of protocol.md */
    EXPECT_EQ((bytes{1, 0x56, 0x34, 0x12, 0xef, 0xbe, 0xed, 0xfe, 0xef, 0xcd, 0xab, 0x89,
                     0x67, 0x45, 0x23, 0x01}),
              make(RI_WIRE_EAGER, false));
    bytes with_hello = make(RI_WIRE_EAGER_SAME, true);
    EXPECT_EQ((bytes{0x82,
                     0,
                     0,
                     0,
                     0xef,
                     0xbe,
                     0xed,
                     0xfe,
                     'U',
                     'C',
                     'R',
                     'I',
                     RI_WIRE_VERSION,
                     0,
                     0,
                     0,
                     0x10,
                     0x32,
                     0x54,
                     0x76,
                     0x98,
                     0xba,
                     0xdc,
                     0xfe}),
              bytes(with_hello.begin(), with_hello.begin() + 24));
}

TEST_F(test_wire, set_and_get_id)
{
    for (uint32_t id : {0u, 1u, 0xffu, 0x100u, 0xffffu, 0x10000u, 0xabcdefu, 0xffffffu}) {
        ri_wire_base_t base;

        memset(&base, 0x77, sizeof(base));
        ri_wire_set_id(&base, id);
        EXPECT_EQ(id, ri_wire_get_id(&base));
        EXPECT_EQ(0x77, base.type);
        EXPECT_EQ(0x77777777u, base.value);
    }
}

TEST_F(test_wire, id_is_valid)
{
    EXPECT_FALSE(ri_wire_id_is_valid(0));
    EXPECT_TRUE(ri_wire_id_is_valid(1));
    EXPECT_TRUE(ri_wire_id_is_valid(0xffffff));
    EXPECT_FALSE(ri_wire_id_is_valid(0x1000000));
    EXPECT_FALSE(ri_wire_id_is_valid(~0u));
}

TEST_F(test_wire, type_in_sequence)
{
    for (unsigned type = 0; type < 256; ++type) {
        bool expected = false;

        for (const type_case &known : TYPES) {
            expected |= (known.type == type) && known.in_sequence;
        }
        EXPECT_EQ(expected, !!ri_wire_type_in_sequence((ri_wire_type_t)type)) << type;
    }
}

TEST_F(test_wire, parse_each_type)
{
    for (const type_case &type : TYPES) {
        for (bool hello : {false, true}) {
            SCOPED_TRACE(std::string(type.name) + (hello ? " with hello" : ""));
            bytes header = make(type.type, hello);

            if (((type.type == RI_WIRE_CONN_REQ) || (type.type == RI_WIRE_FIRST)) &&
                !hello) {
                continue; /* see conn_req_needs_hello, first_needs_hello */
            }
            if (hello && !type.in_sequence && (type.type != RI_WIRE_CONN_REQ)) {
                continue; /* see hello_where_it_belongs */
            }
            for (size_t length : {0, 1, 7, 40, 1000}) {
                bytes payload = payload_of(type.type, length);
                bool is_frag  = (type.type == RI_WIRE_FRAG);

                if (!type.in_sequence && (type.type != RI_WIRE_RNDV_DATA) &&
                    (type.type != RI_WIRE_CHANNEL_AGAIN) && ((length > 0) != is_frag)) {
                    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(header, payload));
                    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(header, payload));
                    continue;
                }

                ASSERT_EQ(UCS_OK, parse_apart(header, payload));
                check_fields(type, hello);
                EXPECT_EQ(payload.size(), m_msg.length);
                EXPECT_EQ(m_payload->get(), m_msg.payload);

                ASSERT_EQ(UCS_OK, parse_inline(header, payload));
                check_fields(type, hello);
                EXPECT_EQ(payload.size(), m_msg.length);
                EXPECT_EQ((const uint8_t *)m_payload->get() + header.size(),
                          m_msg.payload);
            }
        }
    }
}

TEST_F(test_wire, channel)
{
    wire_msg msg(RI_WIRE_CHANNEL_OFFER, ID, 4096);

    msg.stream_id = 0x123456;
    msg.serial    = 2;
    msg.uid       = UID;
    msg.cookie    = COOKIE;
    msg.number    = ~COOKIE;
    msg.key       = 6;
    msg.way       = 7;
    ASSERT_EQ(UCS_OK, parse_inline(msg.header(), bytes()));
    EXPECT_EQ(4096u, m_msg.value);
    EXPECT_EQ(0x123456u, m_msg.stream_id);
    EXPECT_EQ(2u, m_msg.serial);
    EXPECT_EQ(UID, m_msg.uid);
    EXPECT_EQ(COOKIE, m_msg.address);
    EXPECT_EQ(~COOKIE, m_msg.number);
    EXPECT_EQ(6u, m_msg.key);
    EXPECT_EQ(7u, m_msg.way);

    for (uint32_t id : {0u, 0x1000000u, ~0u}) { /* of the stream that is to be answered */
        msg.stream_id = id;
        for (ri_wire_type_t type : {RI_WIRE_CHANNEL_OFFER, RI_WIRE_CHANNEL_STOP}) {
            msg.type = type;
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(msg.header(), bytes()));
        }
        for (ri_wire_type_t type : {RI_WIRE_CHANNEL_ACCEPT, RI_WIRE_CHANNEL_CLOSE}) {
            msg.type = type;
            EXPECT_EQ(UCS_OK, parse_inline(msg.header(), bytes()));
        }
    }

    wire_msg again(RI_WIRE_CHANNEL_AGAIN, ID, VALUE);
    again.tag    = TAG;
    again.way    = 8;
    again.serial = 9;
    again.sn     = 10;
    again.req_id = 11;
    ASSERT_EQ(UCS_OK, parse_inline(again.header(), bytes()));
    EXPECT_EQ(8u, m_msg.way);
    EXPECT_EQ(9u, m_msg.serial);
    EXPECT_EQ(10u, m_msg.record_value);
    EXPECT_EQ(11u, m_msg.record_extra);
    EXPECT_EQ(RI_WIRE_EAGER, m_msg.record_type);
    EXPECT_EQ(TAG, m_msg.tag);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(again.header(), bytes(8), true))
            << "its payload is with it";
    EXPECT_EQ(UCS_OK, parse_apart(again.header(), bytes(65535)));
    EXPECT_EQ(65535u, m_msg.length);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(again.header(), bytes(65536)));
    again.record = RI_WIRE_CHANNEL_ALL;
    EXPECT_EQ(UCS_OK, parse_apart(again.header(), bytes()));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(again.header(), bytes(1)));
}

TEST_F(test_wire, parse_unknown_types)
{
    for (unsigned type = 0; type < 256; ++type) {
        bool known = false;

        for (const type_case &t : TYPES) {
            known |= ((type & ~RI_WIRE_FLAG_HELLO) == t.type);
        }
        if (known) {
            continue;
        }
        for (size_t size = 1; size <= 80; ++size) {
            bytes header(size, 0);

            header[0] = type;
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(header, bytes(5))) << type;
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(header, bytes(5))) << type;
        }
    }
}

TEST_F(test_wire, parse_each_truncation)
{
    for (const type_case &type : TYPES) {
        for (bool hello : {false, true}) {
            SCOPED_TRACE(std::string(type.name) + (hello ? " with hello" : ""));
            bytes header = make(type.type, hello);

            for (size_t size = 0; size < header.size(); ++size) {
                bytes part(header.begin(), header.begin() + size);

                EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(part, bytes())) << size;
                if (size > 0) {
                    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(part, bytes(50)))
                            << size;
                    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(part, bytes(50), true))
                            << size;
                }
            }
        }
    }
}

TEST_F(test_wire, parse_header_apart_that_is_too_long)
{
    for (const type_case &type : TYPES) {
        for (bool hello : {false, true}) {
            bytes header = make(type.type, hello);

            header.push_back(0);
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(header, bytes())) << type.name;
        }
    }
}

TEST_F(test_wire, parse_hello_of_a_stranger)
{
    for (const type_case &type : TYPES) {
        SCOPED_TRACE(type.name);
        bytes header = make(type.type, true);

        for (size_t i = 0; i < 4; ++i) {
            bytes bad = header;

            bad[type.length + i] ^= 0x10;
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(bad, bytes()));
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(bad, bytes()));
        }

        for (uint8_t version : {0, RI_WIRE_VERSION + 1, 255}) {
            bytes other = header;

            other[type.length + 4] = version;
            EXPECT_EQ(UCS_ERR_UNSUPPORTED, parse_apart(other, bytes()));
            EXPECT_EQ(version, m_msg.hello.version);
            EXPECT_EQ(UCS_ERR_UNSUPPORTED, parse_inline(other, bytes()));
            EXPECT_EQ(version, m_msg.hello.version);
        }
    }
}

TEST_F(test_wire, parse_hello_with_bad_ids)
{
    for (uint32_t id : {0u, 0x1000000u, 0xff000001u}) {
        wire_msg msg(RI_WIRE_EAGER, 0, 1);

        msg.hello(UID, id, HOST);
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(msg.header(), bytes())) << id;
    }

    /* Keys that the map of peers keeps for itself; no worker has such a uid */
    for (uint64_t uid : {0ul, 1ul}) {
        wire_msg msg(RI_WIRE_EAGER, 0, 1);

        msg.hello(uid, 1, HOST);
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(msg.header(), bytes())) << uid;
    }
}

TEST_F(test_wire, parse_id_and_hello_exclude_each_other)
{
    for (const type_case &type : TYPES) {
        bytes neither = make(type.type, false);
        bytes both    = make(type.type, true);

        neither[1] = neither[2] = neither[3] = 0;
        both[2]                              = 1;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(neither, bytes())) << type.name;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(neither, bytes())) << type.name;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(both, bytes())) << type.name;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(both, bytes())) << type.name;
    }
}

TEST_F(test_wire, conn_req_needs_hello)
{
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(make(RI_WIRE_CONN_REQ, false), bytes()));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              parse_inline(make(RI_WIRE_CONN_REQ, false), bytes()));
}

TEST_F(test_wire, first_needs_hello)
{
    /* FRAGs find their stream by what the hello says */
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(make(RI_WIRE_FIRST, false), bytes(5)));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(make(RI_WIRE_FIRST, false), bytes(5)));
}

TEST_F(test_wire, hello_where_it_belongs)
{
    for (const type_case &type : TYPES) {
        bool allowed = type.in_sequence || (type.type == RI_WIRE_CONN_REQ);

        EXPECT_EQ(allowed ? UCS_OK : UCS_ERR_INVALID_PARAM,
                  parse_apart(make(type.type, true), payload_of(type.type, 0)))
                << type.name;
    }
}

TEST_F(test_wire, rts_describes_its_data)
{
    bytes header = make(RI_WIRE_RTS, false);
    size_t total;

    EXPECT_EQ(8u + RI_WIRE_SEGMENTS_MAX * 20, RI_WIRE_RTS_MAX);
    for (size_t i = 2; i < 2 * RI_WIRE_SEGMENTS_MAX + 2; ++i) {
        bool keys     = i % 2;
        size_t count  = i / 2;
        bytes payload = rts_payload(std::vector<ri_segment_t>(count, {0xfff, 1000}));

        ASSERT_EQ(8 + count * 16, payload.size());
        if (keys) {
            payload[2] = RI_WIRE_RTS_KEYS;
            payload.resize(payload.size() + count * 4);
        }
        EXPECT_EQ(UCS_OK, parse_apart(header, payload));
        EXPECT_EQ(UCS_OK, parse_inline(header, payload));
        exact copy(payload);
        EXPECT_EQ(UCS_OK, ri_wire_check_rts(copy.get(), payload.size(), &total));
        EXPECT_EQ(count * 1000, total);
        EXPECT_EQ(payload.size(), ri_wire_rts_length((const ri_wire_rts_t *)copy.get()));

        /* Any other length */
        for (size_t length = 0; length < payload.size() + 40; ++length) {
            bytes other = payload;

            other.resize(length);
            EXPECT_EQ((length == payload.size()) ? UCS_OK : UCS_ERR_INVALID_PARAM,
                      parse_apart(header, other))
                    << length;
        }
    }
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(header, rts_payload({})));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              parse_apart(header, rts_payload(std::vector<ri_segment_t>(
                                          RI_WIRE_SEGMENTS_MAX + 1, {0, 1}))));

    /* Lengths: none is 0, and their sum has a limit. Addresses may be anything. */
    const uint64_t max                                   = RI_WIRE_LENGTH_MAX;
    const std::vector<std::vector<ri_segment_t>> wrong[] = {
            {{{5, 0}}, {{5, 1}, {5, 0}}, {{5, max + 1}}, {{5, ~0ul}}, {{5, max}, {5, 1}}},
            {{{5, 1}, {5, ~0ul}}, {{5, 1ul << 63}, {5, 1ul << 63}}}};
    for (const auto &group : wrong) {
        for (const auto &segments : group) {
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(header, rts_payload(segments)));
        }
    }
    EXPECT_EQ(UCS_OK, parse_apart(header, rts_payload({{~0ul, max}})));
    EXPECT_EQ(UCS_OK, parse_apart(header, rts_payload({{0, max - 1}, {~0ul, 1}})));
}

/* Fields of RTR and what belongs to it that have no meaning with some values */
TEST_F(test_wire, rtr_makes_sense)
{
    for (ri_wire_type_t type :
         {RI_WIRE_RTR, RI_WIRE_RTR_UD, RI_WIRE_REVOKE, RI_WIRE_REVOKED}) {
        wire_msg msg(type, ID, VALUE);

        msg.stream_id = ID;
        msg.slot      = RI_WIRE_RTR_SLOTS - 1;
        EXPECT_EQ(UCS_OK, parse_inline(msg.header(), {}));
        for (uint16_t slot : {(uint16_t)RI_WIRE_RTR_SLOTS, (uint16_t)0xffff}) {
            msg.slot = slot;
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(msg.header(), {}));
        }
    }
    wire_msg rtr(RI_WIRE_RTR, ID, VALUE);
    for (uint64_t length : {0ul, RI_WIRE_LENGTH_MAX + 1, ~0ul}) {
        rtr.length = length;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(rtr.header(), {}));
    }
    rtr.length = RI_WIRE_LENGTH_MAX;
    EXPECT_EQ(UCS_OK, parse_inline(rtr.header(), {}));
    wire_msg revoke(RI_WIRE_REVOKE, ID, VALUE);
    for (uint32_t id : {0u, 1u << 24}) {
        revoke.stream_id = id;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(revoke.header(), {}));
    }
    wire_msg used(RI_WIRE_USED, ID, VALUE);
    for (uint32_t count : {0u, (uint32_t)RI_WIRE_USED_MAX + 1, ~0u}) {
        used.total = count;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(used.header(), {}));
    }
    used.total = RI_WIRE_USED_MAX;
    EXPECT_EQ(UCS_OK, parse_inline(used.header(), {}));
}

TEST_F(test_wire, frag_names_the_conn)
{
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(make(RI_WIRE_FRAG, true), bytes(5)));
    wire_msg msg(RI_WIRE_FRAG, 0, 1);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(msg.header(), bytes(5)));
}

TEST_F(test_wire, first_is_not_the_whole)
{
    bytes header = make(RI_WIRE_FIRST, true);

    EXPECT_EQ(UCS_OK, parse_apart(header, bytes(TOTAL - 1)));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(header, bytes(TOTAL)));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(header, bytes(TOTAL + 1)));

    wire_msg msg(RI_WIRE_FIRST, 0, 1);
    msg.hello(UID, CONN_ID);
    msg.total = RI_WIRE_FIRST_MAX;
    EXPECT_EQ(UCS_OK, parse_apart(msg.header(), bytes(5)));
    for (uint32_t total : {0u, RI_WIRE_FIRST_MAX + 1u, 1u << 31, ~0u}) {
        msg.total = total;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(msg.header(), bytes(5))) << total;
    }
}

TEST_F(test_wire, parse_data_elsewhere)
{
    for (const type_case &type : TYPES) {
        for (bool hello : {false, true}) {
            ucs_status_t status = parse_apart(make(type.type, hello), bytes(100), true);

            if ((type.type == RI_WIRE_BULK) ||
                ((type.type == RI_WIRE_RNDV_DATA) && !hello)) {
                ASSERT_EQ(UCS_OK, status) << type.name;
                EXPECT_EQ(nullptr, m_msg.payload);
                EXPECT_EQ(100u, m_msg.length);
            } else {
                EXPECT_EQ(UCS_ERR_INVALID_PARAM, status) << type.name;
            }
        }
    }

    /* What is at the sender holds no header */
    bytes all = make(RI_WIRE_BULK, false);
    exact data(all);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              ri_wire_parse(nullptr, 0, data.get(), all.size(), 1, &m_msg));
}

TEST_F(test_wire, parse_random_bytes)
{
    for_seeds(20000, [this](rng &random) {
        bytes header(random.below(70)), data(random.below(70));

        for (uint8_t &byte : header) {
            byte = random.next();
        }
        for (uint8_t &byte : data) {
            byte = random.next();
        }
        /* Mostly known types, or the first byte would end nearly all of them */
        bytes &start = header.empty() ? data : header;
        if (!start.empty() && random.percent(90)) {
            start[0] = TYPES[random.below(sizeof(TYPES) / sizeof(TYPES[0]))].type |
                       (random.percent(50) ? RI_WIRE_FLAG_HELLO : 0);
        }

        bool elsewhere      = random.percent(20);
        ucs_status_t status = parse_apart(header, data, elsewhere);
        if (status == UCS_OK) {
            ASSERT_LE(m_msg.length, data.size());
            ASSERT_EQ(m_msg.id == 0, !!m_msg.has_hello);
        }
    });
}

TEST_F(test_wire, address_pack_and_parse)
{
    ri_wire_worker_t worker = {UID, 0}, read;
    ri_wire_address_t prefix;
    const void *stock;

    for (unsigned am_id : {0u, 1u, 4080u, RI_WIRE_AM_ID_MAX + 1u}) {
        worker.am_id = am_id;
        ri_wire_address_pack(&prefix, &worker);
        EXPECT_EQ(0, prefix.stock_header);
        EXPECT_EQ(0xff, prefix.stock_end);
        EXPECT_EQ(sizeof(prefix), prefix.length);
        EXPECT_EQ(0, prefix.reserved);
        EXPECT_EQ(am_id, reinterpret_cast<uint8_t *>(&prefix)[20] +
                                 256u * reinterpret_cast<uint8_t *>(&prefix)[21]);
        EXPECT_EQ(UCS_OK, ri_wire_address_parse(&prefix, &stock, &read));
        EXPECT_EQ(UID, read.uid);
        EXPECT_EQ(am_id, read.am_id);
        EXPECT_EQ(&prefix + 1, stock);
    }
}

TEST_F(test_wire, address_process)
{
    ri_wire_worker_t worker = {UID, 4080};
    ri_wire_address_t prefix;
    ri_host_process_t process;

    ri_wire_address_pack(&prefix, &worker);
    EXPECT_EQ(0u, ri_wire_address_process(&prefix).host);
    prefix.process = {77, 88, 99};
    process        = ri_wire_address_process(&prefix);
    EXPECT_EQ(77u, process.host);
    EXPECT_EQ(88u, process.pid);
    EXPECT_EQ(99u, process.start);

    /* It says that it has none: then nothing behind it is read. */
    for (size_t length : {20, 24, 39}) {
        prefix.length          = length;
        const uint8_t *content = reinterpret_cast<const uint8_t *>(&prefix);
        exact copy(bytes(content, content + length));

        EXPECT_EQ(0u, ri_wire_address_process(copy.get()).host) << length;
    }
}

TEST_F(test_wire, address_parse_stock)
{
    /* Nothing beyond the shortest stock address may be read: exact copies */
    const bytes addresses[] = {
            {0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x00},
            {0x03, 1, 2, 3, 4, 5, 6, 7, 8, 0xff},
            {0x10, 1, 2, 3, 4, 5, 6, 7, 8, 0x01},
    };

    for (const bytes &address : addresses) {
        exact copy(address);
        const void *stock       = nullptr;
        ri_wire_worker_t worker = {77, 78};

        EXPECT_EQ(UCS_ERR_NO_ELEM, ri_wire_address_parse(copy.get(), &stock, &worker));
        EXPECT_EQ(copy.get(), stock);
        EXPECT_EQ(77u, worker.uid);
        EXPECT_EQ(78u, worker.am_id);
    }
}

TEST_F(test_wire, address_parse_another_magic)
{
    ri_wire_worker_t worker = {UID, 1};
    ri_wire_address_t prefix;
    const void *stock;

    ri_wire_address_pack(&prefix, &worker);
    prefix.magic ^= 1;
    EXPECT_EQ(UCS_ERR_NO_ELEM, ri_wire_address_parse(&prefix, &stock, &worker));
    EXPECT_EQ((void *)&prefix, stock);
}

TEST_F(test_wire, address_parse_another_version)
{
    uint8_t address[100];
    ri_wire_address_t prefix;
    const void *stock;
    ri_wire_worker_t worker = {UID, 5}, read = {};

    /* A later version may have a longer prefix, and something else where this one has an id */
    ri_wire_address_pack(&prefix, &worker);
    prefix.version = RI_WIRE_VERSION + 1;
    prefix.length  = 32;
    memcpy(address, &prefix, sizeof(prefix));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, ri_wire_address_parse(address, &stock, &read));
    EXPECT_EQ(address + 32, stock);
    EXPECT_EQ(UID, read.uid);
    EXPECT_EQ(0u, read.am_id);
}

} // namespace
