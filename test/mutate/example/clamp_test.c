/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The tests of clamp.c, which say what they do as GoogleTest does.
 */
#include "clamp.h"

#include <stdio.h>

static int test_clamp(void)
{
    return (clamp(1, 2, 5) == 2) && (clamp(2, 2, 5) == 2) && (clamp(3, 2, 5) == 3) &&
           (clamp(5, 2, 5) == 5) && (clamp(6, 2, 5) == 5);
}

static int test_count_down(void)
{
    return count_down(7) == 7;
}

static int test_is_small(void)
{
    return is_small(10);
}

static int test_twice(void)
{
    return twice(4) == 8;
}

int main(void)
{
    static const struct {
        const char *name;
        int (*func)(void);
    } tests[]  = {{"clamp", test_clamp},
                  {"count_down", test_count_down},
                  {"is_small", test_is_small},
                  {"twice", test_twice}};
    int failed = 0;
    unsigned i;

    for (i = 0; i < sizeof(tests) / sizeof(tests[0]); ++i) {
        printf("[ RUN      ] test.%s\n", tests[i].name);
        fflush(stdout);
        if (!tests[i].func()) {
            printf("[  FAILED  ] test.%s\n", tests[i].name);
            failed = 1;
        }
    }
    return failed;
}
