/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Times as people read them.
 */
#ifndef RI_TIME_TEXT_H
#define RI_TIME_TEXT_H

#include <stddef.h>
#include <stdint.h>

/** Write a time of @a us microseconds, rounded to three digits below a minute, and from there on to
 * the second of two units: "250 us", "1.10 s", "5 min 12 s", "8 h 32 min", "2 d 3 h". A second unit
 * that would be 0 is left out. What does not fit the @a max bytes is cut off; 32 are enough for
 * any. */
void ri_time_text(uint64_t us, char *text, size_t max);

#endif
