/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/wire: each type of message, taken apart. */

#include "unit/common/rng.h"
#include "wire_test.h"

#include <set>

namespace {

class test_wire : public wire_test {};

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
    EXPECT_EQ(48u, sizeof(ri_wire_address_t));
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

/* The fields of each type fill its header, and each range is one that a field can have. */
TEST_F(test_wire, rows)
{
    for (const type_case &type : TYPES) {
        const ri_wire_row_t *row = ri_wire_type_row(type.type);
        size_t end               = sizeof(ri_wire_base_t);

        SCOPED_TRACE(type.name);
        ASSERT_NE(nullptr, row);
        EXPECT_STREQ(type.name, row->name);
        EXPECT_EQ(type.length, row->length);
        EXPECT_TRUE(ri_wire_type_may_go(type.type, RI_WIRE_BY_AM));
        for (unsigned i = 0; i < row->num_fields; ++i) {
            const ri_wire_field_t &field = row->fields[i];

            if (field.offset == offsetof(ri_wire_base_t, value)) {
                continue;
            }
            EXPECT_EQ(end, field.offset) << field.name;
            EXPECT_TRUE((field.max == 0) || (field.size <= sizeof(field.max)));
            EXPECT_LE(field.min, field.max);
            EXPECT_EQ(strcmp(field.name, "reserved") == 0,
                      field.member == RI_WIRE_RESERVED);
            end += field.size;
        }
        EXPECT_EQ(end, row->length);
        EXPECT_LE(row->length, RI_WIRE_CONTROL_MAX);
    }
    for (unsigned type : {0u, 10u, 15u, (unsigned)RI_WIRE_TYPE_LAST, 255u}) {
        EXPECT_EQ(nullptr, ri_wire_type_row(type));
        EXPECT_FALSE(ri_wire_type_may_go(type, ~0u));
    }
    EXPECT_FALSE(
            ri_wire_type_may_go(RI_WIRE_RING_CLOSE, RI_WIRE_BY_AM | RI_WIRE_BY_CHANNEL));
}

/* What people read of a type: its name, or the number of what is none. */
TEST_F(test_wire, type_text)
{
    char text[RI_WIRE_TYPE_TEXT_MAX];

    for (const type_case &type : TYPES) {
        EXPECT_STREQ(type.name, ri_wire_type_text(type.type, text));
        EXPECT_STREQ(type.name, ri_wire_type_text(type.type | RI_WIRE_FLAG_HELLO, text));
    }
    EXPECT_STREQ("RING_CLOSE", ri_wire_type_text(RI_WIRE_RING_CLOSE, text));
    EXPECT_STREQ("0", ri_wire_type_text(0, text));
    EXPECT_STREQ("255", ri_wire_type_text(255, text));
    EXPECT_STREQ("257", ri_wire_type_text(256 | RI_WIRE_EAGER, text));
    EXPECT_STREQ("4294967295", ri_wire_type_text(UINT32_MAX, text));
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

/* The types that lend the memory of a send, and those that say where data is */
TEST_F(test_wire, lends_and_announces)
{
    std::set<ri_wire_type_t> lends, announces;

    for (const type_case &type : TYPES) {
        const ri_wire_row_t &row = ri_wire_rows[type.type];

        if (row.lends) {
            lends.insert(type.type);
        }
        if (row.announces) {
            announces.insert(type.type);
        }
    }
    EXPECT_EQ((std::set<ri_wire_type_t>{RI_WIRE_RTS, RI_WIRE_RNDV_DATA}), lends);
    EXPECT_EQ((std::set<ri_wire_type_t>{RI_WIRE_RTS, RI_WIRE_POOL}), announces);
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
                bool has_some = (type.type == RI_WIRE_FRAG) ||
                                (type.type == RI_WIRE_LAYOUT);

                if (!type.in_sequence && (type.type != RI_WIRE_RNDV_DATA) &&
                    (type.type != RI_WIRE_CHANNEL_AGAIN) && ((length > 0) != has_some)) {
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

} // namespace
