/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* src/ucp/run/worker_life.c: what a new worker registers with stock. */

#include "unit/fakes/fake_ucx.h"

using namespace fake;

namespace {

class test_worker_life_handlers : public ri_test {
protected:
    /* What stock does with a message: call a handler, or warn that there is none. */
    static void expect_handlers(const node &n)
    {
        ASSERT_GT(n.handlers().size(), ri_config.am_id);
        for (size_t id = 0; id < n.handlers().size(); ++id) {
            const am_slot &slot = n.handlers()[id];

            ASSERT_TRUE(slot.written) << "slot " << id << " was left as it was";
            if (id == ri_config.am_id) {
                EXPECT_EQ(ri_am_in, slot.cb);
            } else {
                EXPECT_EQ(nullptr, slot.cb) << "slot " << id;
            }
        }
    }
};

/* Up to 1.16, stock's table grows by slots that it does not write. */
TEST_F(test_worker_life_handlers, handler_table_before_1_17)
{
    for (unsigned minor : {13, 14, 15, 16}) {
        for (unsigned id : {4079, 0, 1, 2, 63, 64, 4080, 4095, 4096, 65533, 65534}) {
            SCOPED_TRACE("1." + std::to_string(minor) + " id " + std::to_string(id));
            ri_stock.version_minor = minor;
            ri_config.am_id        = id;

            node n(0x1111);
            expect_handlers(n);
            EXPECT_EQ(n.worker(), n.handlers()[id].arg);
        }
    }
}

TEST_F(test_worker_life_handlers, handler_table_from_1_17)
{
    for (unsigned minor : {17, 22}) {
        for (unsigned id : {4079, 0, 65534}) {
            ri_stock.version_minor = minor;
            ri_config.am_id        = id;

            node n(0x1111);
            expect_handlers(n);
            EXPECT_EQ(1u, n.num_registered);
        }
    }
}

} // namespace
