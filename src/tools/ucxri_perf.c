/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * ucxri_perf: latency, bandwidth, message rate, fast receives and progress of UCX's tag
 * messages, and one-sided operations, with whatever library carries them out, stock UCX beside
 * ucxri, and charts of them.
 */
#include "ucxri_perf_bench.h"
#include "ucxri_perf_chart.h"
#include "ucxri_perf_compare_chart.h"
#include "ucxri_perf_compare_print.h"
#include "ucxri_perf_compare_run.h"
#include "ucxri_perf_fatal.h"
#include "ucxri_perf_one_sided.h"
#include "ucxri_perf_options.h"
#include "ucxri_perf_peer.h"
#include "ucxri_perf_result.h"
#include "ucxri_perf_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);

    if (memory == NULL) {
        perf_fatal("out of memory");
    }
    return memory;
}

/* The files of the command line as series of one chart */
static void draw_files(perf_options_t *options)
{
    perf_series_t *series = allocate(options->num_files * sizeof(*series));
    char *path;
    int i;

    for (i = 0; i < options->num_files; ++i) {
        series[i].label = options->files[i];
        path            = strchr(options->files[i], '=');
        if (path == NULL) {
            path = options->files[i];
        } else {
            *path++ = '\0';
        }
        perf_csv_read(path, &series[i].results);
    }
    perf_chart_write(options->svg, options->title, series, options->num_files);
    free(series);
}

static void write_files(const perf_options_t *options, const perf_results_t *results)
{
    perf_series_t *series;

    if (options->csv != NULL) {
        perf_csv_write(options->csv, results);
    }
    if (options->svg != NULL) {
        series          = allocate(sizeof(*series));
        series->label   = results->results[0].library;
        series->results = *results;
        perf_chart_write(options->svg, options->title, series, 1);
        free(series);
    }
}

/* A file that cannot be written is found before anything is measured. What is there stays until it
 * is replaced */
static void check_writable(const char *path)
{
    int is_new = (path != NULL) && (access(path, F_OK) != 0);
    FILE *file = (path == NULL) ? NULL : fopen(path, "a");

    if (path == NULL) {
        return;
    }
    if (file == NULL) {
        perf_fatal("cannot write %s: %s", path, strerror(errno));
    }
    fclose(file);
    if (is_new) {
        unlink(path);
    }
}

static void measure(perf_options_t *options)
{
    perf_peer_t *peer       = allocate(sizeof(*peer));
    perf_results_t *results = allocate(sizeof(*results));
    perf_params_t *params   = &options->params;

    check_writable(options->csv);
    check_writable(options->svg);
    switch (options->run) {
    case PERF_RUN_LISTEN:
        perf_link_listen(&peer->link, options->port, options->cpus[0], params);
        if (!perf_params_valid(params) || !perf_bench_fits(params)) {
            perf_fatal("the connecting process sent parameters that are not valid");
        }
        break;
    case PERF_RUN_CONNECT:
        perf_link_connect(&peer->link, options->host, options->port, options->cpus[0],
                          params);
        break;
    default:
        perf_link_fork(&peer->link, options->cpus, params->timeout);
        break;
    }
    perf_peer_open(peer, params, perf_bench_messages(params));
    if (perf_params_is_one_sided(params)) {
        perf_one_sided_open(peer);
    }
    perf_run(peer, options, results);
    perf_one_sided_close(peer);
    perf_peer_close(peer);
    if (peer->link.rank == 0) {
        write_files(options, results);
    }
    free(results);
    free(peer);
}

static int compare(perf_options_t *options)
{
    perf_compare_t *samples = allocate(sizeof(*samples));
    int status;

    check_writable(options->csv);
    check_writable(options->svg);
    perf_compare_run(options, samples);
    perf_compare_print(stdout, samples, options->cpus);
    if (options->csv != NULL) {
        perf_compare_print_csv(options->csv, samples);
    }
    status = (samples->interrupted == 0) ? EXIT_SUCCESS : 128 + samples->interrupted;
    if ((options->svg != NULL) && !perf_compare_is_one_unit(samples)) {
        fprintf(stderr,
                "ucxri_perf: no chart: it would have values of different units\n");
        status = EXIT_FAILURE;
    } else if ((options->svg != NULL) && (samples->count > 0)) {
        perf_compare_chart_write(options->svg, options->title, samples);
    }
    free(samples);
    return status;
}

int main(int argc, char **argv)
{
    perf_options_t options;

    perf_options_parse(&options, argc, argv);
    if (options.run == PERF_RUN_CHART) {
        draw_files(&options);
    } else if (options.run == PERF_RUN_COMPARE) {
        return compare(&options);
    } else {
        measure(&options);
    }
    return EXIT_SUCCESS;
}
