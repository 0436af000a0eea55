/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/wire: hellos, fields and payloads that have no meaning with some values. */

#include "wire_test.h"

namespace {

class test_wire_check : public wire_test {};

TEST_F(test_wire_check, channel)
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

TEST_F(test_wire_check, parse_hello_of_a_stranger)
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

TEST_F(test_wire_check, parse_hello_with_bad_ids)
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

TEST_F(test_wire_check, parse_id_and_hello_exclude_each_other)
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

TEST_F(test_wire_check, conn_req_needs_hello)
{
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(make(RI_WIRE_CONN_REQ, false), bytes()));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              parse_inline(make(RI_WIRE_CONN_REQ, false), bytes()));
}

TEST_F(test_wire_check, first_needs_hello)
{
    /* FRAGs find their stream by what the hello says */
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(make(RI_WIRE_FIRST, false), bytes(5)));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(make(RI_WIRE_FIRST, false), bytes(5)));
}

TEST_F(test_wire_check, hello_where_it_belongs)
{
    for (const type_case &type : TYPES) {
        bool allowed = type.in_sequence || (type.type == RI_WIRE_CONN_REQ);

        EXPECT_EQ(allowed ? UCS_OK : UCS_ERR_INVALID_PARAM,
                  parse_apart(make(type.type, true), payload_of(type.type, 0)))
                << type.name;
    }
}

TEST_F(test_wire_check, rts_describes_its_data)
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
        EXPECT_EQ(UCS_OK,
                  ri_wire_check_rts(RI_WIRE_RTS, copy.get(), payload.size(), &total));
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

/* In a POOL the flag means nothing. */
TEST_F(test_wire_check, rts_of_runs_says_not_where)
{
    bytes header = make(RI_WIRE_RTS, false);

    for (unsigned flags = 0; flags < 128; ++flags) {
        unsigned wrong = flags & ~(RI_WIRE_RTS_LOW | RI_WIRE_RTS_OFFERED);
        bytes one = rts_payload({{0, 1000}}), at = rts_payload({{1, 1000}}),
              two = rts_payload({{0, 1000}, {0, 1}});

        for (bytes *payload : {&one, &at, &two}) {
            size_t count = (payload == &two) ? 2 : 1;

            (*payload)[2] = flags | RI_WIRE_RTS_SPREAD;
            if (flags & RI_WIRE_RTS_KEYS) {
                payload->resize(payload->size() + count * 4);
            }
        }
        EXPECT_EQ(wrong ? UCS_ERR_INVALID_PARAM : UCS_OK, parse_apart(header, one))
                << flags;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(header, at)) << flags;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(header, two)) << flags;
    }
}

/* Fields of RTR and what belongs to it that have no meaning with some values */
TEST_F(test_wire_check, rtr_makes_sense)
{
    for (ri_wire_type_t type : {RI_WIRE_RTR, RI_WIRE_RTR_LAYOUT, RI_WIRE_RTR_UD,
                                RI_WIRE_REVOKE, RI_WIRE_REVOKED}) {
        wire_msg msg(type, ID, VALUE);

        msg.stream_id = ID;
        msg.entry     = RI_WIRE_RTR_ENTRIES - 1;
        EXPECT_EQ(UCS_OK, parse_inline(msg.header(), {}));
        for (uint16_t entry : {(uint16_t)RI_WIRE_RTR_ENTRIES, (uint16_t)0xffff}) {
            msg.entry = entry;
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(msg.header(), {}));
        }
    }
    for (ri_wire_type_t type : {RI_WIRE_RTR, RI_WIRE_RTR_LAYOUT}) {
        wire_msg rtr(type, ID, VALUE);

        for (uint64_t length : {0ul, RI_WIRE_LENGTH_MAX + 1, ~0ul}) {
            rtr.length = length;
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(rtr.header(), {}));
        }
        rtr.length = RI_WIRE_LENGTH_MAX;
        EXPECT_EQ(UCS_OK, parse_inline(rtr.header(), {}));
    }
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

/* What else can be wrong with a grid is tested by itself (test_grid.cc) */
TEST_F(test_wire_check, grid_is_of_the_length)
{
    wire_msg rtr(RI_WIRE_RTR_GRID, ID, VALUE);

    rtr.length       = 4 * RUN;
    rtr.grid         = ri_grid_run(RUN);
    rtr.grid.loop[0] = {4, 2 * RUN};
    EXPECT_EQ(UCS_OK, parse_inline(rtr.header(), {}));
    for (uint64_t length : {4 * RUN - 1, 4 * RUN + 1, 0ul, ~0ul}) {
        rtr.length = length;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(rtr.header(), {}));
    }
    rtr.length             = 4 * RUN;
    rtr.grid.loop[2].count = 0;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_inline(rtr.header(), {}));
}

/* What else can be wrong with a definition is tested by itself (test_layout_wire.cc) */
TEST_F(test_wire_check, slot_is_one)
{
    for (ri_wire_type_t type :
         {RI_WIRE_LAYOUT, RI_WIRE_RTR_LAYOUT, RI_WIRE_LAYOUT_REFUSED}) {
        wire_msg msg(type, ID, VALUE);
        bytes payload(type == RI_WIRE_LAYOUT ? 1 : 0);

        for (unsigned slot : {0, RI_WIRE_LAYOUTS - 1, RI_WIRE_LAYOUTS, 0xffff}) {
            msg.asked = slot;
            EXPECT_EQ((slot < RI_WIRE_LAYOUTS) ? UCS_OK : UCS_ERR_INVALID_PARAM,
                      parse_inline(msg.header(), payload));
        }
    }
}

TEST_F(test_wire_check, frag_names_the_conn)
{
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(make(RI_WIRE_FRAG, true), bytes(5)));
    wire_msg msg(RI_WIRE_FRAG, 0, 1);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, parse_apart(msg.header(), bytes(5)));
}

TEST_F(test_wire_check, first_is_not_the_whole)
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

} // namespace
