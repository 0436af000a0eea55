/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers, for what names something across processes.
 */
#ifndef RI_RANDOM_H
#define RI_RANDOM_H

#include <stdint.h>

/** @return A number that nobody guesses. */
uint64_t ri_random(void);

#endif
