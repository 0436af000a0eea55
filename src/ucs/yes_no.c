/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each word for no has one for yes beside it.
 */
#include "yes_no.h"

#include <strings.h>

int ri_yes_no(const char *text)
{
    static const char *const words[][2] = {
            {"n", "y"}, {"no", "yes"}, {"off", "on"}, {"0", "1"}, {"false", "true"}};
    unsigned i;

    for (i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
        if (!strcasecmp(text, words[i][0])) {
            return 0;
        }
        if (!strcasecmp(text, words[i][1])) {
            return 1;
        }
    }
    return -1;
}
