/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line of ucxri_perf.
 */
#ifndef UCXRI_PERF_OPTIONS_H
#define UCXRI_PERF_OPTIONS_H

#include "ucxri_perf_chart.h"
#include "ucxri_perf_params.h"

/* Exit code for options that are wrong */
#define PERF_EXIT_USAGE 2

typedef enum {
    PERF_RUN_HOST,    /* both processes on this host */
    PERF_RUN_LISTEN,  /* wait for the other process */
    PERF_RUN_CONNECT, /* go to the other process */
    PERF_RUN_COMPARE, /* stock UCX and the library in turn, on this host */
    PERF_RUN_CHART    /* draw files, measure nothing */
} perf_run_t;

typedef struct {
    perf_run_t run;
    perf_params_t params; /* of PERF_RUN_HOST, PERF_RUN_CONNECT and PERF_RUN_COMPARE */
    int cpus[2];          /* -1: not given */
    char *host;           /* of --connect */
    char *port;           /* of --connect and --listen */
    int results;          /* RESULT lines in place of the table */
    const char *csv;      /* path, or NULL for no such file */
    const char *svg;      /* path, or NULL for no chart */
    const char *title;    /* of the chart, or NULL for that of the benchmark */
    int rounds;           /* of PERF_RUN_COMPARE */
    const char *library;  /* of PERF_RUN_COMPARE, or NULL: the installed one */
    char **command;       /* of PERF_RUN_COMPARE, or NULL: a benchmark of this program */
    int num_files;        /* of PERF_RUN_CHART */
    char *files[PERF_MAX_SERIES]; /* LABEL=PATH, in argv */
} perf_options_t;

/**
 * Parse the command line. Ends the program if it is wrong (PERF_EXIT_USAGE, after a message) or
 * asks for help or the version. Strings of the options stay in argv, which is changed.
 */
void perf_options_parse(perf_options_t *options, int argc, char **argv);

#endif
