/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/modules.c: the order in which modules are told, where one of them relies on it. What
 * they do is tested by module, and with killed peers and no memory. (core/types/module.h) */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucp/core/types/module.h"
#include "ucp/run/modules.h"
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

#define RULE(_event, _first, _then, _why) \
    {#_event, offsetof(ri_module_t, _event), #_first, #_then, _why},

TEST(test_modules, order)
{
    struct {
        const char *name;
        size_t event;
        const char *first, *then, *why;
    } const rules[] = {RI_MODULES_RULES(RULE)};

    for (const auto &rule : rules) {
        EXPECT_LT(position(rule.first, rule.event, rule.name),
                  position(rule.then, rule.event, rule.name))
                << rule.name << ": " << rule.why;
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
