/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/modules.c: the order in which modules are told, where one of them relies on it. What
 * they do is tested by module, and with killed peers and no memory. (core/types/module.h) */

#include "unit/common/ri_cpp.h"

extern "C" {
#include "ucp/core/types/module.h"
}

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

int position(const std::string &name)
{
    for (int i = 0; ri_modules[i] != nullptr; ++i) {
        if (name == ri_modules[i]->name) {
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

TEST(test_modules, order)
{
    struct {
        const char *event, *first, *then;
    } const rules[] = {{"worker_says", "rndv", "coop_recv"},
                       {"worker_says", "ud_ends", "coop_recv"},
                       {"worker_says", "coop_recv", "rtr_notified"},
                       {"worker_stops", "channel", "net_transfer"},
                       {"worker_stops", "net_transfer", "release"},
                       {"worker_stops", "release", "planes"},
                       {"worker_ends", "flush", "ring"},
                       {"worker_ends", "ring", "rndv_recv"},
                       {"worker_ends", "rndv_recv", "match"},
                       {"worker_closes", "pool", "planes"},
                       {"peer_freed", "planes", "rtr_notified"},
                       {"conn_loses", "control", "pool_send"},
                       {"conn_fails", "ring", "pool_send"},
                       {"conn_fails", "channel", "pool_send"},
                       {"conn_closes", "channel", "pool_send"},
                       {"conn_fails", "channel", "release"},
                       {"conn_closes", "channel", "release"},
                       {"conn_closes", "pool_send", "rtr_send_net"},
                       {"way_ended", "channel", "rtr_net"},
                       {"stream_breaks", "control", "rtr"},
                       {"stream_breaks", "rtr", "coop_recv"},
                       {"stream_ends", "rtr", "rndv_recv"},
                       {"stream_freed", "rndv_recv", "channel"},
                       {"ring_tx_closes", "rtr", "coop_send"},
                       {"ring_rx_closed", "assembly", "rtr"}};

    for (const auto &rule : rules) {
        EXPECT_LT(position(rule.first), position(rule.then)) << rule.event;
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
