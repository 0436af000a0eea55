/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A process measures for 0.2 ms, so that what it finds may differ from one run to the next where a
 * cost is near a limit between two powers of two. The middle one of many measurements does not.
 */
#include "ucxri_info_tune.h"
#include "ucp/core/settings/config.h"
#include "ucp/core/version.h"
#include "ucs/rank.h"
#include "ucs/stock.h"
#include "uct/cma/cma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Odd, so that there is a middle one. */
#define TUNE_MEASUREMENTS 31

/* Between two measurements: what disturbs one is gone by the next but one. */
#define TUNE_PAUSE_US 2000

static int tune_compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* @return The middle one of a cost that lies at @a offset in each measurement. */
static double tune_middle(const ri_costs_t *costs, size_t offset)
{
    double values[TUNE_MEASUREMENTS];
    size_t i;

    for (i = 0; i < TUNE_MEASUREMENTS; ++i) {
        memcpy(&values[i], (const char *)&costs[i] + offset, sizeof(values[i]));
    }
    qsort(values, TUNE_MEASUREMENTS, sizeof(values[0]), tune_compare);
    return values[TUNE_MEASUREMENTS / 2];
}

static ri_costs_t tune_measure(void)
{
    static const size_t offsets[] = {
            offsetof(ri_costs_t, copy_rate),  offsetof(ri_costs_t, plane.call),
            offsetof(ri_costs_t, plane.rate), offsetof(ri_costs_t, line),
            offsetof(ri_costs_t, line_ticks), offsetof(ri_costs_t, clock_ticks)};
    ri_costs_t costs[TUNE_MEASUREMENTS];
    ri_costs_t middle;
    double value;
    size_t i;

    for (i = 0; i < TUNE_MEASUREMENTS; ++i) {
        ri_costs_measure(&costs[i], ri_config.cma ? &ri_plane_cma : NULL);
        usleep(TUNE_PAUSE_US);
    }
    middle = costs[0];
    for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); ++i) {
        value = tune_middle(costs, offsets[i]);
        memcpy((char *)&middle + offsets[i], &value, sizeof(value));
    }
    return middle;
}

/* The name of the processor; "" if the system does not tell. */
static void tune_processor(char *name, size_t max)
{
    FILE *stream = fopen("/proc/cpuinfo", "r");
    char line[256];

    name[0] = '\0';
    while ((stream != NULL) && (name[0] == '\0') &&
           (fgets(line, sizeof(line), stream) != NULL)) {
        if (!strncmp(line, "model name", 10) && (strchr(line, ':') != NULL)) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(name, max, ", %s", strchr(line, ':') + 2);
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
}

void info_tune(void)
{
    char host[64], processor[128], date[32];
    time_t now      = time(NULL);
    struct tm *time = gmtime(&now);
    ri_costs_t costs;

    costs = tune_measure();
    ri_config_use_costs(&costs);
    ri_rank_host(host, sizeof(host));
    tune_processor(processor, sizeof(processor));
    date[0] = '\0';
    if (time != NULL) {
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", time);
    }
    printf("# Thresholds of ucxri for nodes like this one:\n"
           "# %s, %ld processors%s\n"
           "# measured on %s by ucxri %s with UCX %u.%u.%u, the middle one of %d times\n"
           "# memcpy %.1f GB/s%s; %s %.2f us and %.1f GB/s; a cache line %.0f ns%s\n"
           "#\n"
           "# Without this file each process measures them at its start, and may come to a\n"
           "# neighbouring power of two. With it all jobs have the same:\n"
           "#     . ./ucxri.env; mpiexec -n 4 ucxri_run ./app\n"
           "# Open MPI on several nodes needs -x with each name. Make the file anew for another\n"
           "# kind of node, or another kernel. What was set in the environment stays as it was.\n",
           host, sysconf(_SC_NPROCESSORS_ONLN), processor, date, RI_VERSION_STRING,
           ri_stock.version_major, ri_stock.version_minor, ri_stock.version_release,
           TUNE_MEASUREMENTS, costs.copy_rate, ri_costs_rate_limit(costs.copy_rate),
           costs.plane_measured ? "process_vm_readv" : "process_vm_readv (assumed)",
           costs.plane.call * 1e-3, costs.plane.rate, costs.line,
           ri_costs_line_limit(costs.line));
    if (!costs.plane_measured) {
        printf("# Direct copies are not possible or not wanted here, so that their "
               "costs are assumed.\n");
    }
    ri_config_print_measured(stdout);
}
