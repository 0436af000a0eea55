/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For the test of mutate itself: clamp_test.c looks at all of this but what is said here.
 */
#include "clamp.h"

#include <stdlib.h>

/* Both ends are tested. */
int clamp(int value, int low, int high)
{
    if (value < low) {
        return low;
    }
    return (value > high) ? high : value;
}

/* Ends, or hangs with the wrong step. */
unsigned count_down(unsigned from)
{
    unsigned steps = 0;

    while (from != 0) {
        --from;
        ++steps;
    }
    return steps;
}

/* Nobody calls it with more than 10. */
int is_small(int value)
{
    return value < 100;
}

/* Nobody sees what is not returned. */
int twice(int value)
{
    int unused = value + 1;

    unused = unused + 7;
    return value + value;
}
