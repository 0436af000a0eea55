/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests that try many seeds, or many points one behind the other, try a part of them only with
 * RI_TEST_SHARE=<n> in the environment: each n-th, from that on whose place RI_TEST_TURN names (from
 * 0 to n - 1). contrib/check.sh --quick sets both, and another turn in each run.
 */
#ifndef RI_TEST_SHARE_H
#define RI_TEST_SHARE_H

#include <cstdlib>

/* @return A number in the environment, or @a preset. */
inline unsigned long test_number(const char *name, unsigned long preset)
{
    const char *text = getenv(name);

    return (text == nullptr) ? preset : strtoul(text, nullptr, 0);
}

/* @return How far it is from one that is tried to the next. */
inline unsigned long test_share()
{
    unsigned long share = test_number("RI_TEST_SHARE", 1);

    return (share == 0) ? 1 : share;
}

/* @return How many are left out in front of the first. */
inline unsigned long test_turn()
{
    return test_number("RI_TEST_TURN", 0) % test_share();
}

#endif
