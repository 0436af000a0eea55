/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * src/ucp/in/handlers.c, its table beside that of wire types: whatever a message may come by,
 * somebody is in charge of it; and what may not come that way is malformed.
 */

#include "unit/common/ri_cpp.h"

#include <gtest/gtest.h>

namespace {

/* Short messages are delivered by those who take them out of a channel; EAGER also out of a ring. */
bool is_short(unsigned type)
{
    return (type == RI_WIRE_EAGER) || (type == RI_WIRE_EAGER_SYNC);
}

/* A handler of control messages, and the one that is right for who is addressed */
bool has_control(unsigned type)
{
    const ri_handler_t &handler = ri_handlers[type];
    ri_wire_to_t to             = (ri_wire_to_t)ri_wire_rows[type].to;

    return (to == RI_WIRE_TO_STREAM) ? (handler.to_stream != nullptr) :
           (to == RI_WIRE_TO_SENDER) ? false :
                                       (handler.to_conn != nullptr);
}

} // namespace

TEST(test_handlers, each_way_has_one)
{
    for (unsigned type = 0; type < RI_WIRE_TYPE_LAST; ++type) {
        const ri_handler_t &handler = ri_handlers[type];
        const ri_wire_row_t *row    = ri_wire_type_row(type);

        if (row == nullptr) {
            EXPECT_EQ(nullptr, handler.from_am);
            EXPECT_EQ(nullptr, handler.to_stream);
            EXPECT_EQ(nullptr, handler.to_conn);
            EXPECT_EQ(nullptr, handler.from_ring);
            EXPECT_EQ(nullptr, handler.from_channel);
            continue;
        }

        SCOPED_TRACE(row->name);
        EXPECT_FALSE((handler.to_stream != nullptr) && (handler.to_conn != nullptr));
        if (row->routes & RI_WIRE_BY_AM) {
            EXPECT_TRUE((handler.from_am != nullptr) || has_control(type));
        } else {
            EXPECT_EQ(nullptr, handler.from_am);
        }
        if ((row->routes & RI_WIRE_BY_RING) && (type != RI_WIRE_EAGER)) {
            EXPECT_TRUE((handler.from_ring != nullptr) ||
                        (has_control(type) && (row->num_fields == 0)));
        } else {
            EXPECT_EQ(nullptr, handler.from_ring);
        }
        if ((row->routes & RI_WIRE_BY_CHANNEL) && !is_short(type)) {
            EXPECT_TRUE((handler.from_channel != nullptr) || has_control(type));
        } else {
            EXPECT_EQ(nullptr, handler.from_channel);
        }
    }
}

/* Messages in sequence are to a stream, and none of them is a control message. */
TEST(test_handlers, messages_in_sequence)
{
    for (unsigned type = 1; type < RI_WIRE_TYPE_LAST; ++type) {
        if (!ri_wire_type_in_sequence((ri_wire_type_t)type)) {
            continue;
        }
        EXPECT_EQ(RI_WIRE_TO_STREAM, ri_wire_rows[type].to) << type;
        EXPECT_NE(nullptr, ri_handlers[type].from_am) << type;
        EXPECT_FALSE(has_control(type)) << type;
        EXPECT_NE(RI_WIRE_GREETS_NEVER, ri_wire_rows[type].greets) << type;
    }
}

/* What offers data can be answered by NACK, and nothing else. */
TEST(test_handlers, nacked)
{
    for (unsigned type = 0; type < RI_WIRE_TYPE_LAST; ++type) {
        bool announces = ri_wire_rows[type].announces;

        EXPECT_EQ(announces, ri_handlers[type].nacked != nullptr) << type;
        if (announces) {
            EXPECT_EQ(type, (unsigned)ri_wire_nack_type(ri_wire_nack_flag(type)));
            EXPECT_EQ(type, (unsigned)ri_wire_nack_type(ri_wire_nack_flag(type) |
                                                        RI_WIRE_NACK_WAY));
        }
    }
}
