/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows of MPI of this process, as the library for windows tells them (ucxri_note_window()): for
 * the report.
 */
#ifndef RI_REPORT_WINDOWS_H
#define RI_REPORT_WINDOWS_H

#include "report_table.h"

/* Whose a window is: ucxri_window_t. */
typedef enum ri_window_owner {
    RI_WINDOW_TAKEN,
    RI_WINDOW_LEFT,
    RI_WINDOW_OWNERS
} ri_window_owner_t;

/** Count a window. Any thread may call it.
 *
 * @param whose  Another value than those above is ignored.
 * @param bytes  Of this process's memory in it, if it is the library's. */
void ri_report_windows_note(unsigned whose, uint64_t bytes);

/** Set the values of a report that tell of windows. */
void ri_report_windows_set(uint64_t *values);

/** Forget all. For tests. */
void ri_report_windows_reset(void);

#endif
