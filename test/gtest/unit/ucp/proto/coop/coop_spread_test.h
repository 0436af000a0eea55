/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Two workers that copy together and have a shelf, and data in runs that the library knows. */
#ifndef RI_TEST_COOP_SPREAD_TEST_H
#define RI_TEST_COOP_SPREAD_TEST_H

#include "coop_shelf_test.h"
#include "unit/common/spread_type.h"

namespace {

class coop_spread_test : public coop_shelf_test {
protected:
    recv_ptr post(spread_type &type, size_t length) { return type.post(*m_b, length, 5); }

    void check_filled(const spread_type &type, const recv_ptr &r, const bytes &content)
    {
        ASSERT_TRUE(r->done);
        ASSERT_EQ(UCS_OK, r->status);
        ASSERT_EQ(content.size(), r->info.length);
        ASSERT_TRUE(type.spread(content) == type.memory);
        EXPECT_EQ(type.started, type.finished);
    }
};

} // namespace

#endif
