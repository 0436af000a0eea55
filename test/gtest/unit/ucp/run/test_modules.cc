/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/modules.c: the order in which modules are told, where one of them relies on it. What
 * they do is tested by module, and with killed peers and no memory. (core/types/module.h) */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucp/core/types/module.h"
}

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <set>
#include <string>

namespace {

/* @return The place of a module in the list. The module has to have the function that lies at
 * @a event of its table. */
int position(const std::string &name, size_t event, const char *event_name)
{
    void (*function)();

    for (int i = 0; ri_modules[i] != nullptr; ++i) {
        if (name == ri_modules[i]->name) {
            memcpy(&function, (const char *)ri_modules[i] + event, sizeof(function));
            EXPECT_TRUE(function != nullptr) << name << " has no " << event_name;
            return i;
        }
    }
    ADD_FAILURE() << "no module " << name;
    return -1;
}

TEST(test_modules, each_has_a_name_of_its_own)
{
    std::set<std::string> names;

    for (int i = 0; ri_modules[i] != nullptr; ++i) {
        EXPECT_TRUE(names.insert(ri_modules[i]->name).second) << ri_modules[i]->name;
    }
    EXPECT_FALSE(names.empty());
}

#define RULE(_event, _first, _then) \
    { \
#_event, offsetof(ri_module_t, _event), _first, _then \
    }

/* The rules of the comment in modules.c. */
TEST(test_modules, order)
{
    struct {
        const char *name;
        size_t event;
        const char *first, *then;
    } const rules[] = {RULE(worker_says, "rndv", "coop_recv"),
                       RULE(worker_says, "ud_ends", "coop_recv"),
                       RULE(worker_says, "ud_ends", "rtr_notified"),
                       RULE(worker_says, "coop_recv", "rtr_notified"),
                       RULE(worker_stops, "channel", "net_transfer"),
                       RULE(worker_stops, "net_transfer", "release"),
                       RULE(worker_stops, "release", "planes"),
                       RULE(worker_ends, "flush", "ring"),
                       RULE(worker_ends, "ring", "rndv_recv"),
                       RULE(worker_ends, "rndv_recv", "match"),
                       RULE(worker_closes, "pool", "planes"),
                       RULE(peer_freed, "planes", "rtr_notified"),
                       RULE(conn_fails, "ring", "release"),
                       RULE(conn_fails, "ring", "pool_send"),
                       RULE(conn_fails, "channel", "release"),
                       RULE(conn_fails, "channel", "pool_send"),
                       RULE(conn_closes, "channel", "release"),
                       RULE(conn_closes, "channel", "pool_send"),
                       RULE(stream_breaks, "control", "rtr"),
                       RULE(stream_breaks, "rtr", "coop_recv"),
                       RULE(stream_ends, "rtr", "rndv_recv"),
                       RULE(stream_freed, "rndv_recv", "channel"),
                       RULE(way_ended, "channel", "rtr_notified"),
                       RULE(ring_tx_closes, "rtr", "coop_send"),
                       RULE(ring_rx_closes, "rtr_known", "rtr_layout"),
                       RULE(ring_rx_closed, "assembly", "rtr")};

    for (const auto &rule : rules) {
        EXPECT_LT(position(rule.first, rule.event, rule.name),
                  position(rule.then, rule.event, rule.name))
                << rule.name;
    }
}

/* Those that the tables in core/types/module.h name. */
TEST(test_modules, who_needs_streams_and_conns)
{
    std::set<std::string> of_streams, of_conns;

    for (int i = 0; ri_modules[i] != nullptr; ++i) {
        if (ri_modules[i]->stream_is_needed != nullptr) {
            of_streams.insert(ri_modules[i]->name);
        }
        if (ri_modules[i]->conn_is_needed != nullptr) {
            of_conns.insert(ri_modules[i]->name);
        }
    }
    EXPECT_EQ((std::set<std::string>{"match", "ring", "channel", "assembly", "frag",
                                     "rndv_recv", "net_read", "coop_recv", "rtr"}),
              of_streams);
    EXPECT_EQ((std::set<std::string>{"rndv", "coop_send", "pool_send", "channel_send"}),
              of_conns);
}

/* Two would unmap it twice. */
TEST(test_modules, one_unmaps_rings)
{
    int count = 0;

    for (int i = 0; ri_modules[i] != nullptr; ++i) {
        count += (ri_modules[i]->ring_rx_unmap != nullptr);
    }
    EXPECT_EQ(1, count);
}

} // namespace
