/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers, for what names something across processes.
 */
#ifndef RI_RANDOM_H
#define RI_RANDOM_H

#include <stdint.h>

/** @return A random number, which may be 0. Nobody guesses it, unless the kernel has none to give:
 * then it is made from the clock. */
uint64_t ri_random(void);

#endif
