/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Of shares that should be as large as can be the worst is the least. Of all else the rank that has
 * most is told, as it has to do most, or waits most; nobody, if all have the same.
 */
#include "ucxri_info_summary.h"
#include "ucs/time_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a value is written. */
typedef enum summary_kind {
    SUMMARY_COUNT,
    SUMMARY_BYTES,
    SUMMARY_TIME,
    SUMMARY_PERCENT
} summary_kind_t;

typedef struct summary_line {
    const char *text;
    summary_kind_t kind;
    ri_report_value_t value; /* PERCENT: the part */
    ri_report_value_t
            rest; /* PERCENT: the other part; RI_REPORT_VALUES: value is part of LONG */
    int least_is_worst;
} summary_line_t;

#define COUNT(_text, _value) \
    { \
        _text, SUMMARY_COUNT, RI_REPORT_##_value, RI_REPORT_VALUES, 0 \
    }
#define BYTES(_name, _value) \
    { \
        _name ", bytes", SUMMARY_BYTES, RI_REPORT_##_value##_BYTES, RI_REPORT_VALUES, 0 \
    }
#define MESSAGES(_name, _value)   COUNT(_name ", messages", _value), BYTES(_name, _value)
#define OPERATIONS(_name, _value) COUNT(_name, _value), BYTES(_name, _value)
#define TIME(_text, _value) \
    { \
        _text, SUMMARY_TIME, RI_REPORT_##_value, RI_REPORT_VALUES, 0 \
    }
#define PERCENT(_text, _value, _rest) \
    { \
        _text, SUMMARY_PERCENT, RI_REPORT_##_value, RI_REPORT_##_rest, 1 \
    }

static const summary_line_t lines[] = {
        MESSAGES("ring", RING),
        MESSAGES("am", AM),
        MESSAGES("channel", CHANNEL),
        MESSAGES("hybrid", HYBRID),
        MESSAGES("rtr", RTR),
        MESSAGES("coop", COOP),
        MESSAGES("get", GET),
        MESSAGES("put", PUT),
        MESSAGES("ucp", UCP),
        COUNT("control", CONTROL),
        COUNT("fast", FAST),
        COUNT("late", LATE),
        PERCENT("fast%", FAST, LATE),
        COUNT("long", LONG),
        PERCENT("rtr%", RTR_USED, VALUES),
        COUNT("rtrs", RTR_SENT),
        COUNT("used", RTR_USED),
        COUNT("dropped", RTR_DROPPED),
        COUNT("suppr", RTR_SUPPRESSED),
        BYTES("read", READ),
        BYTES("written", WRITTEN),
        BYTES("buffered", BUFFERED),
        OPERATIONS("rma mapped", RMA_MAPPED),
        OPERATIONS("rma copied", RMA_COPIED),
        COUNT("rma mailed", RMA_MAILED),
        COUNT("rma called", RMA_CALLED),
        COUNT("rma withdrawn", RMA_WITHDRAWN),
        COUNT("rma by ucp", RMA_STOCK),
        COUNT("windows", WINDOWS),
        BYTES("windows", WINDOWS),
        COUNT("windows left", WINDOWS_LEFT),
        TIME("life", LIFE_US),
        TIME("send", SEND_US),
        TIME("recv", RECV_US),
        TIME("work", WORK_US),
        TIME("idle", IDLE_US),
};

/* @return The value of a row, percentages in tenths; negative: there is none. */
static double summary_value(const summary_line_t *line, const ri_report_row_t *row)
{
    uint64_t value = row->values[line->value];
    uint64_t whole = row->values[RI_REPORT_LONG];

    if (line->kind != SUMMARY_PERCENT) {
        return value;
    }
    if (line->rest != RI_REPORT_VALUES) {
        return ri_report_table_permille(value, row->values[line->rest]);
    }
    return ri_report_table_permille(value, (whole > value) ? whole - value : 0);
}

/* @return Whether any rank has a value that is not 0. */
static int summary_spread(const summary_line_t *line, const info_job_t *job,
                          info_spread_t *spread)
{
    size_t count = 0;
    double value;
    size_t i;

    *spread = (info_spread_t){.sum = summary_value(line, &job->sum)};
    for (i = 0; i < job->count; ++i) {
        value = summary_value(line, &job->processes[i].row);
        if (value < 0) {
            continue;
        }
        if ((count == 0) || (value < spread->least)) {
            spread->least = value;
            spread->worst = line->least_is_worst ? &job->processes[i] : spread->worst;
        }
        if ((count == 0) || (value > spread->most)) {
            spread->most  = value;
            spread->worst = line->least_is_worst ? spread->worst : &job->processes[i];
        }
        spread->mean += value;
        ++count;
    }
    spread->mean /= (count > 0) ? count : 1;
    return (count > 0) && ((spread->most > 0) || (line->kind == SUMMARY_PERCENT));
}

static void summary_format(const summary_line_t *line, double value, char *text,
                           size_t max)
{
    if (line->kind == SUMMARY_PERCENT) {
        snprintf(text, max, "%u.%u", (unsigned)(value + 0.5) / 10,
                 (unsigned)(value + 0.5) % 10);
    } else if (line->kind == SUMMARY_TIME) {
        ri_time_text(value + 0.5, text, max);
    } else if (line->kind == SUMMARY_BYTES) {
        ri_report_table_format_bytes(value + 0.5, text, max);
    } else {
        ri_report_table_format_count(value + 0.5, text, max);
    }
}

static void summary_line(const summary_line_t *line, const info_job_t *job,
                         void (*func)(const char *const *cells, void *arg), void *arg)
{
    char sum[32] = "-", mean[32], least[32], most[32], host[80];
    info_spread_t spread;

    if (!summary_spread(line, job, &spread)) {
        return;
    }
    if (line->kind == SUMMARY_PERCENT) {
        spread.mean = spread.sum; /* over all messages */
    } else {
        summary_format(line, spread.sum, sum, sizeof(sum));
    }
    summary_format(line, spread.mean, mean, sizeof(mean));
    summary_format(line, spread.least, least, sizeof(least));
    summary_format(line, spread.most, most, sizeof(most));
    host[0] = '\0';
    if (spread.least < spread.most) {
        info_host(&spread.worst->row, host, sizeof(host));
    }
    func(
            (const char *const[INFO_SUMMARY_CELLS]){
                    line->text, sum, mean, least, most,
                    (spread.least < spread.most) ? spread.worst->row.rank : "-", host},
            arg);
}

void info_summary_foreach(const info_job_t *job,
                          void (*func)(const char *const *cells, void *arg), void *arg)
{
    size_t i;

    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
        summary_line(&lines[i], job, func, arg);
    }
}

/* Longer names of hosts are cut off. */
static void summary_print_line(const char *const *cells, void *arg)
{
    printf("%-18s %11s %11s %11s %11s %7s%s%.23s\n", cells[0], cells[1], cells[2],
           cells[3], cells[4], cells[5], (cells[6][0] == '\0') ? "" : "  ", cells[6]);
}

void info_summary_print_head(const info_job_t *job)
{
    const char *name = job->sum.job;

    printf("Job%s%s: %zu process%s on %zu host%s", strcmp(name, "-") ? " " : "",
           strcmp(name, "-") ? name : "", job->count, (job->count == 1) ? "" : "es",
           job->hosts, (job->hosts == 1) ? "" : "s");
    if (job->missing > 0) {
        printf("; %ld of its %s ranks %s missing", job->missing, job->sum.ranks,
               (job->missing == 1) ? "is" : "are");
    }
    printf("\n");
    if (job->num_ended > 0) {
        printf("%zu of them %s ended by SIGTERM\n", job->num_ended,
               (job->num_ended == 1) ? "was" : "were");
    }
    if (job->num_complete < job->num_json) {
        printf("%zu of them %s still running at the time of the latest report\n",
               job->num_json - job->num_complete,
               (job->num_json - job->num_complete == 1) ? "was" : "were");
    }
}

void info_summary_print(const info_job_t *job)
{
    static const char *const names[INFO_SUMMARY_CELLS] = {"",     "sum",  "mean", "least",
                                                          "most", "rank", "host"};

    summary_print_line(names, NULL);
    info_summary_foreach(job, summary_print_line, NULL);
    printf("Rank and host: where it is most, of fast%% and rtr%% where it is least.\n");
}
