/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/wire: the bytes of each type that an active message may have, written out. They are part
 * of wire version 2: whoever has to change a line of this file needs another version. Behind the
 * base header most bytes are their own offset, so that no two fields have the same value.
 */

#include "unit/common/ri_cpp.h"
#include "unit/common/wire_msg.h"

#include <gtest/gtest.h>

namespace {

/* Sets the fields of a message, or compares them */
class fields {
public:
    explicit fields(bool compares) : m_compares(compares) {}

    template <typename T> void operator()(T &field, uint64_t value)
    {
        if (m_compares) {
            EXPECT_EQ(value, (uint64_t)field);
        } else {
            field = value;
        }
    }

    /* Bytes that are their own offsets, from the given one on */
    template <typename T, size_t N> void array(T (&field)[N], size_t offset)
    {
        for (size_t i = 0; i < sizeof(field); ++i) {
            (*this)(reinterpret_cast<uint8_t *>(field)[i], offset + i);
        }
    }

    void grid(ri_wire_grid_t &grid, uint64_t run,
              std::initializer_list<std::pair<uint32_t, int64_t>> loops)
    {
        ri_wire_grid_t wanted = ri_grid_run(run);
        unsigned i            = 0;

        for (const auto &loop : loops) {
            wanted.loop[i].count    = loop.first;
            wanted.loop[i++].stride = loop.second;
        }
        if (m_compares) {
            EXPECT_EQ(0, memcmp(&wanted, &grid, sizeof(grid)));
        } else {
            grid = wanted;
        }
    }

private:
    bool m_compares;
};

struct form {
    ri_wire_type_t type;
    const char *header; /* in hexadecimal numbers */
    void (*visit)(fields &f, ri_wire_msg_t &msg);
    const char *payload = ""; /* that makes it well-formed */
};

void none(fields &, ri_wire_msg_t &) {}

void tag(fields &f, ri_wire_msg_t &msg)
{
    f(msg.tag, 0x0f0e0d0c0b0a0908);
}

/* What RTRs through a network begin with */
void rtr(fields &f, ri_wire_msg_t &msg, uint64_t address, uint64_t length)
{
    tag(f, msg);
    f(msg.mask, 0x1716151413121110);
    f(msg.address, address);
    f(msg.rtr_length, length);
    f(msg.key, 0x2b2a2928);
    f(msg.way, 0x2f2e2d2c);
    f(msg.seen, 0x33323130);
    f(msg.generation, 0x37363534);
    f(msg.ahead, 0x3938);
    f(msg.entry, 31);
}

void tag_and_req_id(fields &f, ri_wire_msg_t &msg)
{
    tag(f, msg);
    f(msg.req_id, 0x13121110);
}

void uid(fields &f, ri_wire_msg_t &msg)
{
    f(msg.uid, 0x0f0e0d0c0b0a0908);
}

void plane(fields &f, ri_wire_msg_t &msg)
{
    f(msg.plane, 8);
    f(msg.plane_address_length, 9);
    f(msg.asked, 0x0b0a);
    f(msg.way, 0x0f0e0d0c);
    f.array(msg.plane_address, 16);
}

void channel_but_the_last(fields &f, ri_wire_msg_t &msg)
{
    f(msg.stream_id, 0x0a0908);
    f(msg.serial, 0x0f0e0d0c);
    f(msg.uid, 0x1716151413121110);
    f(msg.address, 0x1f1e1d1c1b1a1918);
    f(msg.number, 0x2726252423222120);
    f(msg.key, 0x2b2a2928);
}

void channel(fields &f, ri_wire_msg_t &msg)
{
    channel_but_the_last(f, msg);
    f(msg.way, 0x2f2e2d2c);
}

void channel_close(fields &f, ri_wire_msg_t &msg)
{
    channel_but_the_last(f, msg);
    f(msg.reason, 0x2f2e2d2c);
}

#define ID_VALUE " 56 34 12 04 05 06 07"
#define FROM_8   " 08 09 0a 0b 0c 0d 0e 0f"
#define FROM_16  " 10 11 12 13 14 15 16 17"
#define FROM_24  " 18 19 1a 1b 1c 1d 1e 1f"
#define FROM_32  " 20 21 22 23 24 25 26 27"
#define FROM_40  " 28 29 2a 2b 2c 2d 2e 2f"
#define FROM_48  " 30 31 32 33 34 35 36 37"
#define FROM_56  " 38 39 3a 3b 3c 3d 3e 3f"
#define FROM_64  " 40 41 42 43 44 45 46 47"
#define SYNC     ID_VALUE FROM_8 " 10 11 12 13 00 00 00 00"
#define PLANE    ID_VALUE FROM_8 FROM_16 FROM_24 FROM_32 FROM_40
#define CHANNEL  ID_VALUE " 08 09 0a 00 0c 0d 0e 0f" FROM_16 FROM_24 FROM_32 FROM_40
#define ONE_PIECE \
    "01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 40 00 00 00 00 00 00 00"
#define HELLO \
    " 55 43 52 49 02 00 2e 2f 10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f" \
    " 56 34 12 00 2c 2d 2e 2f"

const form FORMS[] = {
        {RI_WIRE_EAGER, "01" ID_VALUE FROM_8, tag},
        {RI_WIRE_EAGER_SAME, "02" ID_VALUE, none},
        {RI_WIRE_EAGER_SYNC, "03" SYNC, tag_and_req_id},
        {RI_WIRE_BULK, "04" ID_VALUE FROM_8, tag},
        {RI_WIRE_FIRST, "85 00 00 00 04 05 06 07" FROM_8 " 10 11 12 13 00 00 01 00" HELLO,
         [](fields &f, ri_wire_msg_t &msg) {
             tag_and_req_id(f, msg);
             f(msg.total, 65536);
         },
         "00"},
        {RI_WIRE_RTS, "06" SYNC, tag_and_req_id, ONE_PIECE},
        {RI_WIRE_POOL, "07" SYNC, tag_and_req_id, ONE_PIECE},
        {RI_WIRE_PLACED, "08" SYNC, tag_and_req_id, "40 00 00 00 00 00 00 00"},
        {RI_WIRE_FRAG, "09" ID_VALUE FROM_8, uid, "00"},
        {RI_WIRE_CONN_REQ, "90 00 00 00 04 05 06 07" HELLO, none},
        {RI_WIRE_CONN_ACK, "11" ID_VALUE FROM_8, uid},
        {RI_WIRE_SYNC_ACK, "12" ID_VALUE, none},
        {RI_WIRE_RING_OFFER,
         "13" ID_VALUE FROM_8 " 10 11 12 13 00 00 00 00" FROM_24 FROM_32,
         [](fields &f, ri_wire_msg_t &msg) {
             f(msg.ring_pid, 0x0b0a0908);
             f(msg.ring_fd, 0x0f0e0d0c);
             f(msg.ring_stream_id, 0x13121110);
             f(msg.ring_cookie, 0x1f1e1d1c1b1a1918);
             f(msg.uid, 0x2726252423222120);
         }},
        {RI_WIRE_RING_REFUSE, "14" ID_VALUE, none},
        {RI_WIRE_RING_STOP, "15" ID_VALUE FROM_8, uid},
        {RI_WIRE_BYE, "17" ID_VALUE, none},
        {RI_WIRE_ORDER_REQ, "18" ID_VALUE, none},
        {RI_WIRE_ORDER_ACK, "19" ID_VALUE, none},
        {RI_WIRE_RESET, "1a" ID_VALUE, none},
        {RI_WIRE_PLANE_REQ, "1b" PLANE, plane},
        {RI_WIRE_PLANE_ACK, "1c" PLANE, plane},
        {RI_WIRE_FIN, "1d" ID_VALUE, none},
        {RI_WIRE_NACK, "1e" ID_VALUE FROM_8,
         [](fields &f, ri_wire_msg_t &msg) {
             f(msg.recv_id, 0x0b0a0908);
             f(msg.flags, 0x0f0e0d0c);
         }},
        {RI_WIRE_RNDV_DATA, "1f" ID_VALUE, none},
        {RI_WIRE_RTR,
         "20" ID_VALUE FROM_8 FROM_16 FROM_24 FROM_32 FROM_40 FROM_48 " 38 39 1f 00",
         [](fields &f, ri_wire_msg_t &msg) {
             rtr(f, msg, 0x1f1e1d1c1b1a1918, 0x2726252423222120);
         }},
        {RI_WIRE_RELEASE, "21 56 34 12 08 00 00 00" FROM_8 FROM_16 FROM_24 FROM_32,
         [](fields &f, ri_wire_msg_t &msg) {
             f(msg.value, 8);
             f.array(msg.release, 8);
         }},
        {RI_WIRE_CTS, "22" ID_VALUE FROM_8 FROM_16,
         [](fields &f, ri_wire_msg_t &msg) {
             f(msg.recv_id, 0x0b0a0908);
             f(msg.key, 0x0f0e0d0c);
             f(msg.address, 0x1716151413121110);
         }},
        {RI_WIRE_WRITTEN, "23" ID_VALUE, none},
        {RI_WIRE_RING_REQ, "24" ID_VALUE, none},
        {RI_WIRE_REVOKE, "25" ID_VALUE " 1f 00 00 00 0c 0d 0e 00" FROM_16,
         [](fields &f, ri_wire_msg_t &msg) {
             f(msg.entry, 31);
             f(msg.stream_id, 0x0e0d0c);
             f(msg.uid, 0x1716151413121110);
         }},
        {RI_WIRE_REVOKED, "26" ID_VALUE " 1f 00 0a 0b 00 00 00 00",
         [](fields &f, ri_wire_msg_t &msg) {
             f(msg.entry, 31);
             f(msg.flags, 0x0b0a);
         }},
        {RI_WIRE_USED,
         "27" ID_VALUE " 0c 00 00 00 0c 0d 0e 0f" FROM_16 FROM_24 FROM_32 FROM_40 FROM_48
         " 38 39 3a 3b",
         [](fields &f, ri_wire_msg_t &msg) {
             f(msg.used_count, 12);
             f.array(msg.used, 12);
         }},
        {RI_WIRE_TARGET, "28" ID_VALUE FROM_8 FROM_16 FROM_24 FROM_32 FROM_40 FROM_48,
         [](fields &f, ri_wire_msg_t &msg) {
             f(msg.recv_id, 0x0b0a0908);
             f(msg.sn, 0x0f0e0d0c);
             f(msg.way, 0x13121110);
             f(msg.flags, 0x17161514);
             f.array(msg.target, 24);
         }},
        {RI_WIRE_ABANDON, "29" ID_VALUE FROM_8,
         [](fields &f, ri_wire_msg_t &msg) {
             f(msg.recv_id, 0x0b0a0908);
             f(msg.sn, 0x0f0e0d0c);
         }},
        {RI_WIRE_CHANNEL_OFFER, "2a" CHANNEL, channel},
        {RI_WIRE_CHANNEL_ACCEPT, "2b" CHANNEL, channel},
        {RI_WIRE_CHANNEL_STOP, "2c" CHANNEL, channel},
        {RI_WIRE_CHANNEL_CLOSE, "2d" CHANNEL, channel_close},
        {RI_WIRE_CHANNEL_AGAIN,
         "2e" ID_VALUE FROM_8 FROM_16 FROM_24 " 20 00 00 00 00 00 00 00",
         [](fields &f, ri_wire_msg_t &msg) {
             f(msg.serial, 0x0b0a0908);
             f(msg.way, 0x0f0e0d0c);
             f(msg.tag, 0x1716151413121110);
             f(msg.record_value, 0x1b1a1918);
             f(msg.record_extra, 0x1f1e1d1c);
             f(msg.record_type, 0x20);
         }},
        {RI_WIRE_RTR_UD,
         "2f" ID_VALUE FROM_8 FROM_16 FROM_24
         " 20 21 22 23 24 25 1f 00" FROM_40 FROM_48 FROM_56 FROM_64,
         [](fields &f, ri_wire_msg_t &msg) {
             tag(f, msg);
             f(msg.mask, 0x1716151413121110);
             f(msg.way, 0x1b1a1918);
             f(msg.seen, 0x1f1e1d1c);
             f(msg.generation, 0x23222120);
             f(msg.ahead, 0x2524);
             f(msg.entry, 31);
             f.array(msg.target, 40);
         }},
        {RI_WIRE_CLOSING, "30" ID_VALUE, none},
        {RI_WIRE_RTR_GRID,
         "31" ID_VALUE FROM_8 FROM_16
         " 18 19 1a 1b 00 00 00 00 00 60 00 00 00 00 00 00" FROM_40 FROM_48
         " 38 39 1f 00 00 10 00 00 00 00 00 00"
         " 02 00 00 00 00 20 00 00 00 00 00 00 03 00 00 00 ff ff ff ff ff ff ff ff"
         " 01 00 00 00 00 00 00 00 00 00 00 00",
         [](fields &f, ri_wire_msg_t &msg) {
             rtr(f, msg, 0x1b1a1918, 0x6000);
             f.grid(msg.grid, 0x1000, {{2, 0x2000}, {3, -1}});
         }},
        {RI_WIRE_LAYOUT, "32" ID_VALUE " 3f 00 00 00",
         [](fields &f, ri_wire_msg_t &msg) {
             f(msg.defined, msg.value);
             f(msg.slot, 63);
         },
         "00 00 00 00 01"},
        {RI_WIRE_RTR_LAYOUT,
         "33" ID_VALUE FROM_8 FROM_16
         " 18 19 1a 1b 00 00 00 00 00 60 00 00 00 00 00 00" FROM_40 FROM_48
         " 38 39 1f 00 3c 3d 3e 3f 40 41 42 43 44 45 46 47 3f 00 00 00",
         [](fields &f, ri_wire_msg_t &msg) {
             rtr(f, msg, 0x1b1a1918, 0x6000);
             f(msg.count, 0x434241403f3e3d3c);
             f(msg.defined, 0x47464544);
             f(msg.slot, 63);
         }},
        {RI_WIRE_LAYOUT_REFUSED, "34" ID_VALUE " 3f 00 01 00",
         [](fields &f, ri_wire_msg_t &msg) {
             f(msg.defined, msg.value);
             f(msg.slot, 63);
             f(msg.flags, RI_WIRE_LAYOUT_REFUSED_AM);
         }},
};

#undef ID_VALUE
#undef FROM_8
#undef FROM_16
#undef FROM_24
#undef FROM_32
#undef FROM_40
#undef FROM_48
#undef FROM_56
#undef FROM_64
#undef SYNC
#undef PLANE
#undef CHANNEL
#undef ONE_PIECE
#undef HELLO

bytes of_hex(const char *text)
{
    bytes out;
    char *end;

    for (const char *at = text; *at != 0; at = end) {
        out.push_back(strtoul(at, &end, 16));
    }
    return out;
}

bool has_hello(const bytes &header)
{
    return header[0] & RI_WIRE_FLAG_HELLO;
}

} // namespace

TEST(test_wire_bytes, each_type_is_there)
{
    size_t next = 0;

    for (unsigned type = 1; type < RI_WIRE_TYPE_LAST; ++type) {
        if (((type > RI_WIRE_FRAG) && (type < RI_WIRE_CONN_REQ)) ||
            (type == RI_WIRE_RING_CLOSE)) {
            continue; /* is none, or only in rings */
        }
        ASSERT_LT(next, sizeof(FORMS) / sizeof(FORMS[0]));
        EXPECT_EQ(type, FORMS[next].type);
        EXPECT_EQ(type, of_hex(FORMS[next].header)[0] & ~RI_WIRE_FLAG_HELLO);
        ++next;
    }
    EXPECT_EQ(sizeof(FORMS) / sizeof(FORMS[0]), next);
}

TEST(test_wire_bytes, parse)
{
    for (const form &form : FORMS) {
        SCOPED_TRACE("type " + std::to_string(form.type));
        bytes header = of_hex(form.header), payload = of_hex(form.payload);
        fields compare(true);
        ri_wire_msg_t msg;

        memset((void *)&msg, 0xaa, sizeof(msg));
        ASSERT_EQ(UCS_OK, ri_wire_parse(header.data(), header.size(), payload.data(),
                                        payload.size(), 0, &msg));
        EXPECT_EQ(form.type, msg.type);
        EXPECT_EQ(has_hello(header) ? 0 : 0x123456u, msg.id);
        if (form.type != RI_WIRE_RELEASE) {
            EXPECT_EQ(0x07060504u, msg.value);
        }
        EXPECT_EQ(payload.size(), msg.length);
        form.visit(compare, msg);
        if (has_hello(header)) {
            EXPECT_EQ(0x2f2eu, msg.hello.am_id);
            EXPECT_EQ(0x1716151413121110u, msg.hello.uid);
            EXPECT_EQ(0x1f1e1d1c1b1a1918u, msg.hello.host);
            EXPECT_EQ(0x123456u, msg.hello.conn_id);
            EXPECT_EQ(0x2f2e2d2cu, msg.hello.serial);
        }
    }
}

TEST(test_wire_bytes, pack)
{
    for (const form &form : FORMS) {
        SCOPED_TRACE("type " + std::to_string(form.type));
        bytes header = of_hex(form.header), packed(header.size() + 1, 0xaa);
        fields set(false);
        ri_wire_msg_t msg = {};

        msg.type       = form.type;
        msg.value      = 0x07060504;
        msg.id         = has_hello(header) ? 0 : 0x123456;
        msg.generation = msg.value; /* of REVOKE and REVOKED, whose value it is */
        if (has_hello(header)) {
            size_t length = sizeof(msg.hello);

            msg.has_hello = 1;
            memcpy((void *)&msg.hello, &header[header.size() - length], length);
        }
        form.visit(set, msg);
        EXPECT_EQ(header.size(), ri_wire_pack(&msg, packed.data()));
        EXPECT_EQ(0xaa, packed.back());
        packed.pop_back();
        EXPECT_EQ(header, packed);
    }
}
