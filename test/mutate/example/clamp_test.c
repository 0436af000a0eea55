/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The tests of clamp.c, which say what they do as GoogleTest does.
 */
#include "clamp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* As GoogleTest, of filters without asterisks but "*" */
static int is_chosen(const char *filter, const char *name)
{
    const char *but;

    if (filter == NULL) {
        return 1;
    }
    but = strchr(filter, '-');
    return (but != NULL) ? (strstr(but, name) == NULL) : (strstr(filter, name) != NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*func)(void);
    } tests[]          = {{"clamp", test_clamp},
                          {"count_down", test_count_down},
                          {"is_small", test_is_small},
                          {"twice", test_twice}};
    const char *filter = (argc > 1) ? strchr(argv[argc - 1], '=') : NULL;
    const char *fails  = getenv("FAILING_TESTS");
    int failed         = 0;
    unsigned i;

    if (getenv("NO_TESTS") != NULL) {
        return 0;
    }
    for (i = 0; i < sizeof(tests) / sizeof(tests[0]); ++i) {
        if (!is_chosen(filter, tests[i].name)) {
            continue;
        }
        printf("[ RUN      ] test.%s\n", tests[i].name);
        fflush(stdout);
        if (tests[i].func() &&
            ((fails == NULL) || (strstr(fails, tests[i].name) == NULL))) {
            printf("[       OK ] test.%s\n", tests[i].name);
        } else {
            printf("[  FAILED  ] test.%s\n", tests[i].name);
            failed = 1;
        }
    }
    return failed;
}
