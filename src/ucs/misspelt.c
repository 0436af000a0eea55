/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "misspelt.h"
#include "base.h"

#include <string.h>

int ri_misspelt_letters(const char *a, const char *b)
{
    int errors[RI_MISSPELT_MAX + 1][RI_MISSPELT_MAX + 1];
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);
    int wrong, missing;
    size_t i, j;

    if ((a_length > RI_MISSPELT_MAX) || (b_length > RI_MISSPELT_MAX)) {
        return RI_MISSPELT_MAX;
    }
    for (i = 0; i <= a_length; ++i) {
        for (j = 0; j <= b_length; ++j) {
            if ((i == 0) || (j == 0)) {
                errors[i][j] = i + j;
                continue;
            }
            wrong        = errors[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            missing      = ri_min(errors[i - 1][j], errors[i][j - 1]) + 1;
            errors[i][j] = ri_min(wrong, missing);
            if ((i > 1) && (j > 1) && (a[i - 1] == b[j - 2]) && (a[i - 2] == b[j - 1])) {
                errors[i][j] = ri_min(errors[i][j], errors[i - 2][j - 2] + 1);
            }
        }
    }
    return errors[a_length][b_length];
}
