/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef CLAMP_H
#define CLAMP_H

int clamp(int value, int low, int high);
unsigned count_down(unsigned from);
int is_small(int value);
int twice(int value);

#endif
