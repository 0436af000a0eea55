/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "reg_full.h"
#include "../../../ucs/base.h"
#include "../../../ucs/clock.h"

#include <stdint.h>

/* The longest pause is the first one, times this. */
#define REG_FULL_BACKOFF_MAX 100.0

double ri_reg_full_backoff = 0.1;

void ri_reg_full_init(ri_reg_full_t *full)
{
    *full = (ri_reg_full_t){.bytes = SIZE_MAX};
}

void ri_reg_full_use(ri_reg_full_t *full, size_t length)
{
    full->used_bytes += length;
    ++full->used_registrations;
}

void ri_reg_full_unuse(ri_reg_full_t *full, size_t length)
{
    full->used_bytes -= length;
    --full->used_registrations;
}

size_t ri_reg_full_room(const ri_reg_full_t *full)
{
    if ((full->bytes == SIZE_MAX) || (full->used_registrations < full->registrations) ||
        (ri_clock_now() >= full->retry)) {
        return SIZE_MAX;
    }
    return (full->used_bytes < full->bytes) ? full->bytes - full->used_bytes - 1 : 0;
}

void ri_reg_full_fails(ri_reg_full_t *full)
{
    double times = ri_min((double)(1u << ri_min(full->failures, 16u)),
                          REG_FULL_BACKOFF_MAX);

    ++full->failures;
    full->bytes         = full->used_bytes;
    full->registrations = full->used_registrations - 1;
    full->retry         = ri_clock_now() + ri_reg_full_backoff * times;
}

void ri_reg_full_fits(ri_reg_full_t *full)
{
    if (ri_unlikely(full->used_bytes >= full->bytes)) {
        full->bytes    = SIZE_MAX;
        full->failures = 0;
    }
}
