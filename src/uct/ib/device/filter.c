/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of names with commas, as UCX has them in UCX_TLS and UCX_NET_DEVICES: of what may be used,
 * or with ^ in front of what may not.
 */
#include "filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define FILTER_NOT '^' /* in front of a list: of what is not to be used */
#define FILTER_ANY "all"

/* The longest name that is looked at, with its end. */
#define FILTER_NAME_MAX 128

/* Take the next name of a list. @return 0: there is none. */
static int filter_next(const char **list, char name[FILTER_NAME_MAX])
{
    size_t length;

    *list += strspn(*list, ",");
    length = strcspn(*list, ",");
    if (length == 0) {
        return 0;
    }
    snprintf(name, FILTER_NAME_MAX, "%.*s", (int)length, *list);
    *list += length;
    return 1;
}

/* UCX's names of transports, and of groups of them, begin so. A backslash in front makes a name
 * exact; behind a colon is what it is for. */
static int filter_is_ib(const char *name)
{
    static const char *const prefixes[] = {"ib", "rc", "ud", "dc"};
    size_t i;

    name += (*name == '\\');
    for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); ++i) {
        if (!strncmp(name, prefixes[i], strlen(prefixes[i]))) {
            return strchr(name, ':') == NULL;
        }
    }
    return 0;
}

int ri_ib_filter_transports(const char *transports)
{
    char name[FILTER_NAME_MAX];
    int negated;

    if (transports == NULL) {
        return 1;
    }
    negated = *transports == FILTER_NOT;
    transports += negated;
    while (filter_next(&transports, name)) {
        if (!strcmp(name, FILTER_ANY) || filter_is_ib(name)) {
            return !negated;
        }
    }
    return negated;
}

int ri_ib_filter_port(const char *devices, const char *name, unsigned port)
{
    char pattern[FILTER_NAME_MAX];
    char full[FILTER_NAME_MAX];
    int negated;

    if (devices == NULL) {
        return 1;
    }
    snprintf(full, sizeof(full), "%s:%u", name, port);
    negated = *devices == FILTER_NOT;
    devices += negated;
    while (filter_next(&devices, pattern)) {
        if (!strcmp(pattern, FILTER_ANY) || !fnmatch(pattern, name, 0) ||
            !fnmatch(pattern, full, 0)) {
            return !negated;
        }
    }
    return negated;
}
