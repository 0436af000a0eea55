/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over workers while they live and when they end, and the output when the process exits.
 */
#include "report.h"
#include "inert.h"
#include "report_file.h"
#include "report_killed.h"
#include "report_values.h"
#include "report_windows.h"
#include "worker_counters.h"
#include "../core/worker.h"
#include "../../ucs/settings.h"
#include "../../ucs/output.h"
#include "../../ucs/rank.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    pid_t pid; /* 0: there was no worker. A child by fork() is another process. */
    ri_report_clock_t clock;
    ri_report_sum_t ended; /* workers */
    _Atomic(int) printed;
} report = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ri_report_reset(void)
{
    ri_report_file_reset();
    report.pid     = 0;
    report.printed = 0;
    report.ended   = (ri_report_sum_t){};
    ri_report_windows_reset();
}

void ri_report_add(const ri_worker_t *worker)
{
    pthread_mutex_lock(&report.lock);
    ri_report_values_add_worker(&report.ended, worker);
    pthread_mutex_unlock(&report.lock);
}

void ri_report_get(ri_report_row_t *row)
{
    ri_report_values_label(row);
    pthread_mutex_lock(&report.lock);
    ri_report_values_set(row, &report.ended, &report.clock);
    pthread_mutex_unlock(&report.lock);
}

/* In one piece, if the file is what takes it. */
static void report_write(int fd, const char *text, size_t length)
{
    ssize_t written;

    while (length > 0) {
        written = write(fd, text, length);
        if ((written < 0) && (errno == EINTR)) {
            continue;
        }
        if (written <= 0) {
            return;
        }
        text += written;
        length -= written;
    }
}

/* The lines of a row, and behind them how the process was ended; NULL: by itself. */
static void report_print_row(const ri_report_row_t *row, const char *how)
{
    char text[2 * RI_REPORT_TABLES * RI_REPORT_LINE_MAX];
    size_t length = 0;
    FILE *stream;
    int i;

    for (i = 0; i < RI_REPORT_TABLES; ++i) {
        if (!ri_report_table_has(i, row)) {
            continue;
        }
        if (!strcmp(row->rank, "0") || !strcmp(row->rank, "-")) {
            length += ri_report_table_format_names(i, text + length);
        }
        length += ri_report_table_format_row(i, row, text + length);
    }
    if (how != NULL) {
        length += ri_report_table_format_note(RI_REPORT_ENDED, row, how, text + length);
    }
    stream = ri_output_open(ri_config.report_dest);
    fflush(stream);
    report_write(fileno(stream), text, length);
    ri_output_close(stream);
}

/* @return Whether nobody has printed the report so far. */
static int report_is_first(void)
{
    return atomic_exchange(&report.printed, 1) == 0;
}

void ri_report_print(void)
{
    ri_report_row_t row;

    if (report.pid != getpid()) {
        return;
    }

    if (ri_config.report_json != NULL) {
        ri_report_file_end();
        return;
    }
    ri_report_get(&row);
    report_print_row(&row, NULL);
}

/* The process is ended by SIGTERM: @a living is what workers did that are there. */
static void report_print_killed(const ri_report_sum_t *living)
{
    ri_report_sum_t sum = *living;
    ri_report_row_t row;

    if (!report_is_first()) {
        return;
    }
    ri_report_values_label(&row);
    pthread_mutex_lock(&report.lock);
    ri_report_values_add_sum(&sum, &report.ended);
    ri_report_values_set(&row, &sum, &report.clock);
    pthread_mutex_unlock(&report.lock);
    report_print_row(&row, "by SIGTERM");
}

void ri_report_start(void)
{
    char job[64];

    pthread_mutex_lock(&report.lock);
    if (report.pid == 0) {
        report.pid = getpid();
        ri_report_values_clock_start(&report.clock);
        ri_rank_job(job, sizeof(job)); /* while the launcher is there */
        if (ri_config.report_json == NULL) {
            ri_report_killed_start(report_print_killed);
        }
    }
    pthread_mutex_unlock(&report.lock);
}

void ri_report_worker(ri_worker_t *worker)
{
    FILE *stream;

    if (ri_config.stats) {
        stream = ri_output_open(ri_config.stats_dest);
        ri_worker_counters_dump(worker, stream);
        ri_output_close(stream);
    }
    if (worker->trace.entries != NULL) {
        ri_trace_dump(&worker->trace, "a worker at its end");
    }
    if (ri_config.report) {
        ri_report_add(worker);
        ri_report_killed_leave(worker);
        ri_report_file_leave(worker);
    }
}

static void report_trace(ri_worker_t *worker, void *arg)
{
    ri_trace_dump(&worker->trace, arg);
}

void ri_report_traces(void)
{
    static _Atomic(time_t) last = 0;
    time_t now                  = time(NULL);

    if (ri_config.trace && (atomic_exchange(&last, now) != now)) {
        ri_context_foreach_worker(report_trace, "a worker, because of an error");
    }
}

static void report_worker_at_exit(ri_worker_t *worker, void *arg)
{
    ri_report_worker(worker);
    ri_timeline_write_last(&worker->timeline);
}

/* Workers that the application never destroyed report here; the others did so when they
 * were destroyed. */
__attribute__((destructor)) static void report_at_exit(void)
{
    ri_context_foreach_worker(report_worker_at_exit, NULL);
    ri_timeline_close();
    if (ri_config.report && report_is_first()) {
        ri_report_print();
    }
    ri_inert_print();
}
