/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"
#include "export.h"
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

softhca_counters_t sh_counters;

typedef struct counters_name {
    const char *name;
    size_t offset;
} counters_name_t;

static const counters_name_t counters_names[] = {
#define COUNTERS_ENTRY(_name, _text) {#_name, offsetof(softhca_counters_t, _name)},
        SOFTHCA_COUNTERS(COUNTERS_ENTRY)
#undef COUNTERS_ENTRY
};

SH_EXPORT void softhca_get_counters(softhca_counters_t *counters, size_t size)
{
    const uint64_t *from = (const uint64_t *)&sh_counters;
    uint64_t *to         = (uint64_t *)counters;
    size_t i;

    memset(counters, 0, size);
    if (size > sizeof(sh_counters)) {
        size = sizeof(sh_counters);
    }
    for (i = 0; i < size / sizeof(*from); ++i) {
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    }
}

void sh_counters_print(void)
{
    FILE *file = stderr;
    uint64_t value;
    size_t i;

    if (sh_settings.counters == NULL) {
        return;
    }
    if (strcmp(sh_settings.counters, "y")) {
        file = fopen(sh_settings.counters, "a");
        if (file == NULL) {
            fprintf(stderr, "softhca: cannot write %s: %s\n", sh_settings.counters,
                    strerror(errno));
            return;
        }
    }
    for (i = 0; i < sizeof(counters_names) / sizeof(counters_names[0]); ++i) {
        value = *(const uint64_t *)((const char *)&sh_counters +
                                    counters_names[i].offset);
        fprintf(file, "softhca %d %s %lu\n", (int)getpid(), counters_names[i].name,
                (unsigned long)value);
    }
    if (file != stderr) {
        fclose(file);
    }
}
