/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See ucxri_perf_words.h. The names of the MPI programs are those of test/bench/README.md.
 */
#include "ucxri_perf_words.h"
#include "ucxri_perf_bench.h"
#include "ucxri_perf_params.h"

#include <stdio.h>
#include <string.h>

/* Words of NULL are what follows the beginning of the name, and an axis of NULL is the unit's */
typedef struct {
    const char *begin;
    const char *words;
    const char *axis;
} words_t;

/* A name belongs to the first one that it begins with */
static const words_t known[] = {
        {"mpi_latency_used", "latency, data written and read", "one way, µs"},
        {"mpi_latency", "latency", "one way, µs"},
        {"mpi_rate", "message rate", NULL},
        {"mpi_bw_used", "bandwidth, data written and read", NULL},
        {"mpi_bw", "bandwidth", NULL},
        {"mpi_bibw", "bandwidth, sum of both directions", NULL},
        {"mpi_fast_receive", "from the send to the posted receive",
         "send to arrival, µs"},
        {"coll_", NULL, "one operation, µs"},
        {"rma_", NULL, "one operation, µs"},
};

static const struct {
    const char *unit;
    const char *axis;
} units[] = {{"us", "µs"}, {"Mmsg/s", "million messages/s"}};

static const char progress[] = "progress:";

static const words_t *find_words(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
        if (!strncmp(name, known[i].begin, strlen(known[i].begin))) {
            return &known[i];
        }
    }
    return NULL;
}

void perf_words_name(char *text, size_t length, const char *name)
{
    const words_t *words = find_words(name);
    const char *rest, *ranks;
    int chars;
    char *p;

    if (words == NULL) {
        rest = strncmp(name, progress, strlen(progress)) ? name : name + strlen(progress);
        perf_params_format_caption(text, length, rest);
        return;
    }
    rest  = name + strlen(words->begin);
    ranks = strchr(rest, ':');
    chars = (ranks != NULL) ? (int)(ranks - rest) : (int)strlen(rest);
    snprintf(text, length, "%s%.*s%s%s%s", (words->words != NULL) ? words->words : "",
             chars, rest, (ranks != NULL) ? ", " : "", (ranks != NULL) ? ranks + 1 : "",
             (ranks != NULL) ? " ranks" : "");
    for (p = text; *p != '\0'; ++p) {
        *p = (*p == '_') ? ' ' : *p;
    }
}

const char *perf_words_axis(const char *name, const char *unit)
{
    const perf_bench_t *bench = (name != NULL) ? perf_bench_find(name) : NULL;
    const words_t *words      = (name != NULL) ? find_words(name) : NULL;
    size_t i;

    if ((name != NULL) && !strncmp(name, progress, strlen(progress))) {
        bench = perf_bench_find("progress");
    }
    if (bench != NULL) {
        return bench->axis;
    }
    if ((words != NULL) && (words->axis != NULL)) {
        return words->axis;
    }
    for (i = 0; i < sizeof(units) / sizeof(units[0]); ++i) {
        if (!strcmp(unit, units[i].unit)) {
            return units[i].axis;
        }
    }
    return unit;
}
