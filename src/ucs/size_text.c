/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "size_text.h"

#include <inttypes.h>
#include <stdio.h>

void ri_size_text(uint64_t size, char *text, size_t max)
{
    static const char units[] = "KMGT";
    unsigned unit             = 0;

    while ((size >= 1024) && (size % 1024 == 0) && (units[unit] != '\0')) {
        size /= 1024;
        ++unit;
    }
    snprintf(text, max, "%" PRIu64 " %.*sB", size, unit > 0, &units[unit - (unit > 0)]);
}
