/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report_windows.h"

#include <stdatomic.h>

static const ri_report_value_t windows_values[RI_WINDOW_OWNERS] = {
        [RI_WINDOW_TAKEN] = RI_REPORT_WINDOWS, [RI_WINDOW_LEFT] = RI_REPORT_WINDOWS_LEFT};

static struct {
    _Atomic(uint64_t) count[RI_WINDOW_OWNERS];
    _Atomic(uint64_t) bytes;
} windows;

void ri_report_windows_note(unsigned whose, uint64_t bytes)
{
    if (whose < RI_WINDOW_OWNERS) {
        atomic_fetch_add(&windows.count[whose], 1);
        atomic_fetch_add(&windows.bytes, (whose == RI_WINDOW_TAKEN) ? bytes : 0);
    }
}

void ri_report_windows_set(uint64_t *values)
{
    unsigned i;

    for (i = 0; i < RI_WINDOW_OWNERS; ++i) {
        values[windows_values[i]] = atomic_load(&windows.count[i]);
    }
    values[RI_REPORT_WINDOWS_BYTES] = atomic_load(&windows.bytes);
}

void ri_report_windows_reset(void)
{
    unsigned i;

    for (i = 0; i < RI_WINDOW_OWNERS; ++i) {
        atomic_store(&windows.count[i], 0);
    }
    atomic_store(&windows.bytes, 0);
}
