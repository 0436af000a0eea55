/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A time is first rounded to what will be written, and that decides the units: 59.99 s are 1 min.
 */
#include "time_text.h"

#include <inttypes.h>
#include <stdio.h>

#define MS 1000ul
#define S  (1000 * MS)

/* Parts of the last unit that is written, in the order of their lengths */
static const struct {
    uint64_t us;
    uint64_t in_next; /* as many are one of the unit in front of it */
    uint64_t limit;   /* and as many need the next pair */
    const char *first;
    const char *second;
} pairs[] = {{S, 60, 3600, "min", "s"},
             {60 * S, 60, 24 * 60, "h", "min"},
             {3600 * S, 24, UINT64_MAX, "d", "h"}};

static uint64_t rounded(uint64_t value, uint64_t unit)
{
    return value / unit + (value % unit >= unit / 2);
}

/* Three digits of what is less than 1000 units; the point is one in all locales */
static void write_digits(uint64_t value, uint64_t unit, const char *name, char *text,
                         size_t max)
{
    uint64_t hundredths = rounded(value, unit / 100);
    uint64_t tenths     = rounded(value, unit / 10);

    if (hundredths < 1000) {
        snprintf(text, max, "%" PRIu64 ".%02" PRIu64 " %s", hundredths / 100,
                 hundredths % 100, name);
    } else if (tenths < 1000) {
        snprintf(text, max, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, name);
    } else {
        snprintf(text, max, "%" PRIu64 " %s", rounded(value, unit), name);
    }
}

void ri_time_text(uint64_t us, char *text, size_t max)
{
    uint64_t value;
    size_t i = 0;

    if (us == 0) {
        snprintf(text, max, "0 s");
    } else if (us < MS) {
        snprintf(text, max, "%" PRIu64 " us", us);
    } else if (rounded(us, MS) < 1000) {
        write_digits(us, MS, "ms", text, max);
    } else if (rounded(us, S / 10) < 600) {
        write_digits(us, S, "s", text, max);
    } else {
        for (value = rounded(us, pairs[0].us); value >= pairs[i].limit;) {
            value = rounded(us, pairs[++i].us);
        }
        if (value % pairs[i].in_next == 0) {
            snprintf(text, max, "%" PRIu64 " %s", value / pairs[i].in_next,
                     pairs[i].first);
        } else {
            snprintf(text, max, "%" PRIu64 " %s %" PRIu64 " %s", value / pairs[i].in_next,
                     pairs[i].first, value % pairs[i].in_next, pairs[i].second);
        }
    }
}
