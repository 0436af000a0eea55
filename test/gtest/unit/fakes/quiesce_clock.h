/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A clock for ri_quiesce() that stands still but for its yields: how long these take is the test's
 * choice, and not that of other work on the machine.
 */
#ifndef UNIT_QUIESCE_CLOCK_H
#define UNIT_QUIESCE_CLOCK_H

#include "unit/common/ri_cpp.h"
#include "unit/common/setting.h"

class quiesce_clock {
public:
    explicit quiesce_clock(double seconds_per_yield = 1e-6)
    {
        step = seconds_per_yield;
        now  = 1000;
    }

    inline static double step, now;

private:
    static int yield()
    {
        now += step;
        return 0;
    }

    setting<double (*)()> m_clock{ri_quiesce_clock, [] { return now; }};
    setting<int (*)()> m_yield{ri_quiesce_yield, yield};
};

#endif
