/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receives that are posted before their message, of whose offers the counters must tell.
 */
#ifndef RI_TEST_TAG_EARLY_TEST_H
#define RI_TEST_TAG_EARLY_TEST_H

#include "early_test.h"

namespace ucp_test {

class tag_early_test : public early_test {
protected:
    /* A receive that is left is cancelled while there is a worker. */
    void TearDown() override
    {
        m_receives.clear();
        m_messages.clear();
        check_rtrs();
        early_test::TearDown();
    }

    /* The rule was put to the test. */
    void check_rtrs()
    {
        if (!has_rtrs() || IsSkipped()) {
            return;
        }
        EXPECT_GT(m_taught.used, 0);
        EXPECT_GT(counter(b().worker(), "rtr_sent"), m_taught.sent);
        if (m_uses_rtrs) {
            EXPECT_GT(counter(b().worker(), "rtr_used"), m_taught.used);
        }
    }

    bool m_uses_rtrs = true; /* not only sends them */
};

} // namespace ucp_test

#endif
