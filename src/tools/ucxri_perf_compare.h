/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Samples of stock UCX and of the library side by side, and what they say: medians, quartiles,
 * ratios and a verdict, for each line and each state of the two cores.
 */
#ifndef UCXRI_PERF_COMPARE_H
#define UCXRI_PERF_COMPARE_H

#include "ucxri_perf_params.h"
#include "ucxri_perf_state.h"
#include "ucxri_perf_stats.h"

#include <stdio.h>

/* The program that switches the library on or off, which a command has in front of its program */
#define PERF_COMPARE_RUN_TOOL "ucxri_run"

#define PERF_COMPARE_MAX_ROUNDS 50

/* Rounds whose samples were dropped are repeated, so that there are up to twice as many */
#define PERF_COMPARE_MAX_VALUES (2 * PERF_COMPARE_MAX_ROUNDS)

/* Ratios that differ from 1 by no more than this are equal */
#define PERF_COMPARE_EQUAL 0.02

typedef enum {
    PERF_COMPARE_STOCK,
    PERF_COMPARE_LIBRARY,
    PERF_COMPARE_SIDES
} perf_compare_side_t;

typedef enum {
    PERF_COMPARE_FASTER, /* the library is */
    PERF_COMPARE_SAME,   /* within PERF_COMPARE_EQUAL */
    PERF_COMPARE_SLOWER,
    PERF_COMPARE_VERDICTS
} perf_compare_verdict_t;

/* One run of one side at one line */
typedef struct {
    const char *bench;
    const char *config; /* of the progress benchmark, otherwise "" */
    const char *unit;
    uint64_t size;
    double value;
    double core_ns; /* the core probe, 0: the state changed meanwhile, or there is none */
    int disturbed;  /* another program had the cores */
} perf_compare_sample_t;

typedef struct {
    double values[PERF_COMPARE_MAX_VALUES]; /* as they came */
    size_t count;
} perf_compare_set_t;

/* A line of the table: a benchmark, a size and a configuration */
typedef struct {
    char bench[64];
    char config[64];
    char unit[16];
    uint64_t size;
    perf_compare_set_t kept[PERF_NUM_STATES][PERF_COMPARE_SIDES];
    perf_compare_set_t dropped[PERF_COMPARE_SIDES];
} perf_compare_line_t;

typedef struct {
    perf_compare_line_t lines[PERF_MAX_POINTS]; /* in the order of their first samples */
    int count;
    char names[PERF_COMPARE_SIDES][64]; /* what did the tag matching, "": not known */
    size_t enough; /* samples that each side of a line needs in a state for a verdict */
    int num_dropped;
    int interrupted; /* the signal that ended the measuring early, or 0 */
    int has_probe;   /* one of the samples had a core probe */
} perf_compare_t;

/* The result of the samples of a line in one state */
typedef struct {
    perf_quartiles_t sides[PERF_COMPARE_SIDES];
    size_t counts[PERF_COMPARE_SIDES];
    int num_outliers; /* of both sides; they count */
    double ratio; /* of times, or of rates the other way round: below 1 the library is faster */
    perf_compare_verdict_t verdict;
    int few;     /* one side has not enough samples: no verdict */
    int overlap; /* the ranges between the quartiles touch each other */
} perf_compare_summary_t;

/**
 * Add a sample. One whose state changed, or that was disturbed, is dropped: it counts for nothing,
 * but is kept for the chart.
 *
 * @param compare  All zero at first.
 *
 * @return Whether there was room.
 */
int perf_compare_add(perf_compare_t *compare, perf_compare_side_t side,
                     const perf_compare_sample_t *sample);

/**
 * Read the RESULT lines of a program and add them as samples of one side. What a progress benchmark
 * says of its ideal and of its computation alone is left out.
 *
 * @return How many samples were added, -1: there was no room.
 */
int perf_compare_read(perf_compare_t *compare, perf_compare_side_t side, FILE *file);

/** @return Whether either side of a line has fewer samples than @a rounds, or there is no state in
 * which both have enough. Where no sample at all has a probe, those without one count. */
int perf_compare_lacks(const perf_compare_t *compare, const perf_compare_line_t *line,
                       int rounds);

/** Call this once all samples are there: where none has a probe, those that were dropped for its
 * lack count in the state PERF_STATE_UNKNOWN. */
void perf_compare_conclude(perf_compare_t *compare);

/** Summarise a line in one state.
 *
 * @return Whether both sides have samples there; otherwise only the sides with samples are set. */
int perf_compare_summary(const perf_compare_t *compare, const perf_compare_line_t *line,
                         perf_state_t state, perf_compare_summary_t *summary);

/** Count the verdicts of all lines in one state.
 *
 * @return The number of lines that have one there. */
int perf_compare_verdicts(const perf_compare_t *compare, perf_state_t state,
                          int verdicts[PERF_COMPARE_VERDICTS]);

/** @return Whether more is better, by the unit. */
int perf_compare_is_rate(const perf_compare_line_t *line);

/** @return Whether all lines have one unit. */
int perf_compare_is_one_unit(const perf_compare_t *compare);

/** @return "near", "far", or "unknown". */
const char *perf_compare_state_name(perf_state_t state);

#endif
