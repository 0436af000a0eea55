/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/proto/table.c: what holds for the table of each protocol and each fetch. What they do is
 * tested one by one. (core/types/send_proto.h, core/types/fetch_proto.h) */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucp/proto/table.h"
}

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace {

const char *const NUMBERS[] = {
#define NUMBER(_number, _table) #_number,
        RI_SEND_PROTOS(NUMBER)
#undef NUMBER
};

const char *const FETCH_NUMBERS[] = {
#define NUMBER(_number, _table) #_number,
        RI_FETCH_PROTOS(NUMBER)
#undef NUMBER
};

std::string lower(std::string text)
{
    for (char &c : text) {
        c = std::tolower(c);
    }
    return text;
}

TEST(test_proto_table, names_are_those_of_the_list)
{
    std::set<std::string> names;

    for (int i = 0; i < RI_PROTO_LAST; ++i) {
        ASSERT_NE(nullptr, ri_send_protos[i]) << NUMBERS[i];
        EXPECT_EQ(lower(NUMBERS[i]), ri_send_protos[i]->name);
        EXPECT_TRUE(names.insert(ri_send_protos[i]->name).second);
        ASSERT_NE(nullptr, ri_send_protos[i]->called) << NUMBERS[i];
        EXPECT_GE(7u, strlen(ri_send_protos[i]->called)) << NUMBERS[i];
        ASSERT_NE(nullptr, ri_send_protos[i]->moves) << NUMBERS[i];
        EXPECT_TRUE((ri_send_protos[i]->because == nullptr) ||
                    (ri_send_protos[i]->why == nullptr))
                << NUMBERS[i];
    }
}

TEST(test_proto_table, names_of_fetches_are_those_of_the_list)
{
    for (int i = 0; i < RI_FETCH_LAST; ++i) {
        ASSERT_NE(nullptr, ri_fetch_protos[i]) << FETCH_NUMBERS[i];
        EXPECT_EQ(lower(FETCH_NUMBERS[i]), ri_fetch_protos[i]->name);
        EXPECT_NE(nullptr, ri_fetch_protos[i]->start);
    }
}

/* Or the choice would be made again and again. */
TEST(test_proto_table, each_lack_is_of_one_fetch)
{
    std::set<int> lacks;

    for (const ri_fetch_proto_t *proto : ri_fetch_protos) {
        if (proto->lacks != RI_FETCH_LACKS_NOTHING) {
            EXPECT_TRUE(lacks.insert(proto->lacks).second) << proto->name;
        }
    }
}

TEST(test_proto_table, what_is_answered_has_a_type_for_that)
{
    for (const ri_send_proto_t *proto : ri_send_protos) {
        SCOPED_TRACE(proto->name);
        EXPECT_NE(nullptr, proto->start);
        EXPECT_EQ(proto->wire_type == RI_WIRE_RTS,
                  proto->answer == RI_SEND_ANSWER_ALWAYS);
        if (proto->answered != nullptr) {
            EXPECT_EQ(RI_SEND_ANSWER_ALWAYS, proto->answer);
        }
        if (proto->wire_type == 0) { /* EAGER or EAGER_SYNC */
            EXPECT_EQ(RI_SEND_ANSWER_IF_SYNC, proto->answer);
        }
    }
}

/* A request that a protocol has prepared, and that ends before it is sent, would keep it. */
TEST(test_proto_table, what_is_kept_is_let_go_of)
{
    for (const ri_send_proto_t *proto : ri_send_protos) {
        SCOPED_TRACE(proto->name);
        if ((proto->take != nullptr) &&
            (proto != &ri_send_proto_pool) &&     /* the pool has it */
            (proto != &ri_send_proto_rtr_host)) { /* it writes, and keeps nothing */
            EXPECT_NE(nullptr, proto->forget);
        }
        if (proto->answered != nullptr) {
            EXPECT_NE(nullptr, proto->forget);
        }
    }
}

TEST(test_proto_table, each_kind_of_rtr_has_a_table)
{
    for (int kind = 0; kind < RI_RTR_KIND_LAST; ++kind) {
        ASSERT_NE(nullptr, ri_rtr_ops[kind]) << kind;
        EXPECT_NE(nullptr, ri_rtr_ops[kind]->room) << kind;
        EXPECT_EQ(kind != RI_RTR_GRANT, !!ri_rtr_ops[kind]->by_net) << kind;
    }
}

/* Only what waits for the peer can outlive a number that is lost. */
TEST(test_proto_table, what_outlives_a_loss_is_answered)
{
    for (const ri_send_proto_t *proto : ri_send_protos) {
        if (proto->outlives_loss != nullptr) {
            EXPECT_EQ(RI_SEND_ANSWER_ALWAYS, proto->answer) << proto->name;
        }
    }
}

TEST(test_proto_table, counters_are_those_of_messages_and_their_bytes)
{
    const char *const counters[] = {
#define COUNTER(_name, _unit, _text) #_name,
            RI_CONN_COUNTERS(COUNTER)
#undef COUNTER
    };

    for (const ri_send_proto_t *proto : ri_send_protos) {
        SCOPED_TRACE(proto->name);
        EXPECT_EQ(proto->messages == 0, proto->bytes == 0);
        if (proto->messages != 0) {
            std::string name = counters[proto->messages / sizeof(uint64_t)];

            EXPECT_EQ(name + "_bytes", counters[proto->bytes / sizeof(uint64_t)]);
        }
    }
}

} // namespace
