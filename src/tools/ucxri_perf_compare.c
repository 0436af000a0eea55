/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The ratio is that of the medians in one state, as in contrib/matrix.sh: samples of different
 * states say nothing about each other.
 */
#include "ucxri_perf_compare.h"

#include <stdio.h>
#include <string.h>

static int set_add(perf_compare_set_t *set, double value)
{
    if (set->count == PERF_COMPARE_MAX_VALUES) {
        return 0;
    }
    set->values[set->count++] = value;
    return 1;
}

/* The line of a sample, a new one if there is none; NULL: there is no room */
static perf_compare_line_t *get_line(perf_compare_t *compare,
                                     const perf_compare_sample_t *sample)
{
    perf_compare_line_t *line;
    int i;

    for (i = 0; i < compare->count; ++i) {
        line = &compare->lines[i];
        if ((line->size == sample->size) && !strcmp(line->bench, sample->bench) &&
            !strcmp(line->config, sample->config)) {
            return line;
        }
    }
    if (compare->count == PERF_MAX_POINTS) {
        return NULL;
    }
    line = &compare->lines[compare->count++];
    snprintf(line->bench, sizeof(line->bench), "%s", sample->bench);
    snprintf(line->config, sizeof(line->config), "%s", sample->config);
    snprintf(line->unit, sizeof(line->unit), "%s", sample->unit);
    line->size = sample->size;
    return line;
}

int perf_compare_add(perf_compare_t *compare, perf_compare_side_t side,
                     const perf_compare_sample_t *sample)
{
    perf_compare_line_t *line = get_line(compare, sample);
    perf_state_t state        = perf_state_of(sample->core_ns);

    if (line == NULL) {
        return 0;
    }
    compare->has_probe |= (state != PERF_STATE_UNKNOWN);
    if (sample->disturbed || (state == PERF_STATE_UNKNOWN)) {
        ++compare->num_dropped;
        return set_add(&line->dropped[side], sample->value);
    }
    return set_add(&line->kept[state][side], sample->value);
}

static int is_side_note(const char *bench)
{
    return !strncmp(bench, "ideal:", 6) || !strncmp(bench, "work:", 5);
}

int perf_compare_read(perf_compare_t *compare, perf_compare_side_t side, FILE *file)
{
    perf_compare_sample_t sample = {.config = ""};
    int added                    = 0;
    char bench[64], unit[16], line[1024];
    unsigned long long size;

    while (fgets(line, sizeof(line), file) != NULL) {
        if ((sscanf(line, "RESULT %63s %llu %lf %15s %lf", bench, &size, &sample.value,
                    unit, &sample.core_ns) != 5) ||
            is_side_note(bench)) {
            continue;
        }
        sample.bench = bench;
        sample.unit  = unit;
        sample.size  = size;
        if (!perf_compare_add(compare, side, &sample)) {
            return -1;
        }
        ++added;
    }
    return added;
}

static int has_enough(const perf_compare_t *compare, const perf_compare_set_t *sides)
{
    return (sides[PERF_COMPARE_STOCK].count >= compare->enough) &&
           (sides[PERF_COMPARE_LIBRARY].count >= compare->enough);
}

int perf_compare_lacks(const perf_compare_t *compare, const perf_compare_line_t *line,
                       int rounds)
{
    size_t count;
    int side;

    for (side = 0; side < PERF_COMPARE_SIDES; ++side) {
        count = compare->has_probe ? line->kept[PERF_STATE_NEAR][side].count +
                                             line->kept[PERF_STATE_FAR][side].count :
                                     line->dropped[side].count;
        if (count < (size_t)rounds) {
            return 1;
        }
    }
    return compare->has_probe && !has_enough(compare, line->kept[PERF_STATE_NEAR]) &&
           !has_enough(compare, line->kept[PERF_STATE_FAR]);
}

void perf_compare_conclude(perf_compare_t *compare)
{
    perf_compare_line_t *line;
    int i, side;

    if (compare->has_probe) {
        return;
    }
    for (i = 0; i < compare->count; ++i) {
        line = &compare->lines[i];
        for (side = 0; side < PERF_COMPARE_SIDES; ++side) {
            line->kept[PERF_STATE_UNKNOWN][side] = line->dropped[side];
            line->dropped[side].count            = 0;
        }
    }
    compare->num_dropped = 0;
}

int perf_compare_is_rate(const perf_compare_line_t *line)
{
    return strstr(line->unit, "/s") != NULL;
}

int perf_compare_is_one_unit(const perf_compare_t *compare)
{
    int i;

    for (i = 1; i < compare->count; ++i) {
        if (strcmp(compare->lines[i].unit, compare->lines[0].unit)) {
            return 0;
        }
    }
    return 1;
}

static void judge(perf_compare_summary_t *summary, int is_rate)
{
    const perf_quartiles_t *stock   = &summary->sides[PERF_COMPARE_STOCK];
    const perf_quartiles_t *library = &summary->sides[PERF_COMPARE_LIBRARY];

    summary->ratio   = is_rate ? stock->median / library->median :
                                 library->median / stock->median;
    summary->overlap = (stock->q1 <= library->q3) && (library->q1 <= stock->q3);
    if (summary->ratio > 1 + PERF_COMPARE_EQUAL) {
        summary->verdict = PERF_COMPARE_SLOWER;
    } else if (summary->ratio < 1 - PERF_COMPARE_EQUAL) {
        summary->verdict = PERF_COMPARE_FASTER;
    } else {
        summary->verdict = PERF_COMPARE_SAME;
    }
}

int perf_compare_summary(const perf_compare_t *compare, const perf_compare_line_t *line,
                         perf_state_t state, perf_compare_summary_t *summary)
{
    const perf_compare_set_t *set;
    perf_compare_set_t sorted;
    size_t i;
    int side;

    memset(summary, 0, sizeof(*summary));
    for (side = 0; side < PERF_COMPARE_SIDES; ++side) {
        set                   = &line->kept[state][side];
        summary->counts[side] = set->count;
        if (set->count == 0) {
            continue;
        }
        sorted               = *set;
        summary->sides[side] = perf_quartiles(sorted.values, sorted.count);
        for (i = 0; i < set->count; ++i) {
            summary->num_outliers += perf_is_outlier(&summary->sides[side],
                                                     set->values[i]);
        }
    }
    /* A median of 0 is none that anything can be compared with */
    if (!(summary->sides[PERF_COMPARE_STOCK].median > 0) ||
        !(summary->sides[PERF_COMPARE_LIBRARY].median > 0)) {
        return 0;
    }
    judge(summary, perf_compare_is_rate(line));
    summary->few = !has_enough(compare, line->kept[state]);
    return 1;
}

int perf_compare_verdicts(const perf_compare_t *compare, perf_state_t state,
                          int verdicts[PERF_COMPARE_VERDICTS])
{
    perf_compare_summary_t summary;
    int total = 0;
    int i;

    memset(verdicts, 0, PERF_COMPARE_VERDICTS * sizeof(*verdicts));
    for (i = 0; i < compare->count; ++i) {
        if (perf_compare_summary(compare, &compare->lines[i], state, &summary) &&
            !summary.few) {
            ++verdicts[summary.verdict];
            ++total;
        }
    }
    return total;
}

const char *perf_compare_state_name(perf_state_t state)
{
    static const char *const names[] = {[PERF_STATE_NEAR]    = "near",
                                        [PERF_STATE_FAR]     = "far",
                                        [PERF_STATE_UNKNOWN] = "unknown"};

    return names[state];
}
