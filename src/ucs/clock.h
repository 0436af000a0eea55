/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The time.
 */
#ifndef RI_CLOCK_H
#define RI_CLOCK_H

/** @return A monotonic time in seconds. */
double ri_time(void);

#endif
