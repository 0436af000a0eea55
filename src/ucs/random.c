/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "random.h"

#include <sys/random.h>
#include <time.h>

uint64_t ri_random(void)
{
    uint64_t value = 0;

    if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value)) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        value = (now.tv_nsec * 0x9e3779b97f4a7c15ul) ^ now.tv_sec ^ (uintptr_t)&value;
    }
    return value;
}
