/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Names an option that is wrong.
 */
#ifndef UCXRI_OPTION_H
#define UCXRI_OPTION_H

#include <stddef.h>

/** @param at  optind before getopt_long() was called, or 1 at first. @return The word of @a argv
 * that the call has read, which is the first option: words in front of it are looked at later. */
static inline const char *option_read(char **argv, int at)
{
    while ((argv[at] != NULL) && ((argv[at][0] != '-') || (argv[at][1] == '\0'))) {
        ++at;
    }
    return (argv[at] != NULL) ? argv[at] : "";
}

#endif
