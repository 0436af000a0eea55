/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lengths as people read them.
 */
#ifndef RI_SIZE_TEXT_H
#define RI_SIZE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/** Write a number of bytes to @a text exactly, in the largest unit by 1024 in which it is a whole
 * number: "0 B", "8 KB", "2049 KB", "8193 B". What does not fit the @a max bytes is cut off; 24 are
 * enough for any. */
void ri_size_text(uint64_t size, char *text, size_t max);

#endif
