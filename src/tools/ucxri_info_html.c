/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How things are drawn stands in page.html, which the build turns into an array of lines. Here its
 * data are written, as JSON: lists without names where there are many of them, or 512 ranks that
 * all talk to each other would take tens of megabytes.
 */
#include "ucxri_info_html.h"
#include "ucxri_info_hints.h"
#include "ucxri_info_summary.h"
#include "ucxri_info_verdict.h"
#include "ucp/core/version.h"
#include "ucs/json.h"
#include "ucs/time_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const page[] = {
#include "tools/page.inc"
};

/* Where the data go. */
#define HTML_DATA "@DATA@\n"

/* Nothing in a string may end the script that it stands in. */
static void html_string(const char *text, FILE *stream)
{
    ri_json_string(text, "<>&", stream);
}

static void html_hint(const char *text, const char *advice, void *arg)
{
    char both[2 * INFO_HINT_MAX];

    snprintf(both, sizeof(both), "%s (%s)", text, advice);
    html_string(both, ri_json_next(arg));
}

static void html_verdict(const char *name, const char *text, void *arg)
{
    FILE *stream = ri_json_next(arg);

    fputc('[', stream);
    html_string(name, stream);
    fputc(',', stream);
    html_string(text, stream);
    fputc(']', stream);
}

static void html_summary(const char *const *cells, void *arg)
{
    FILE *stream = ri_json_next(arg);
    unsigned i;

    fputc('[', stream);
    for (i = 0; i < INFO_SUMMARY_CELLS; ++i) {
        fputs((i > 0) ? "," : "", stream);
        html_string(cells[i], stream);
    }
    fputc(']', stream);
}

static void html_processes(const info_job_t *job, FILE *stream)
{
    ri_json_list_t list = {stream, ""};
    char host[80];
    size_t i;

    for (i = 0; i < job->count; ++i) {
        fputc('[', ri_json_next(&list));
        html_string(job->processes[i].row.rank, stream);
        fputc(',', stream);
        info_host(&job->processes[i].row, host, sizeof(host));
        html_string(host, stream);
        fputc(']', stream);
    }
}

static void html_sizes(const info_job_t *job, FILE *stream)
{
    ri_json_list_t list = {stream, ""};
    unsigned protocol, size_class;
    uint64_t messages;

    for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
        for (size_class = 0; size_class < RI_SIZES_CLASSES; ++size_class) {
            messages = job->sizes[protocol][size_class];
            if (messages > 0) {
                fprintf(ri_json_next(&list), "[%u,%" PRIu64 ",%" PRIu64 "]", protocol,
                        ri_sizes_bound(size_class), messages);
            }
        }
    }
}

/* The receiver is -1 if it is not known. */
static void html_pairs(const info_job_t *job, FILE *stream)
{
    ri_json_list_t list = {stream, ""};
    const ri_report_pair_t *pair;
    unsigned protocol;
    size_t i, j, to;

    for (i = 0; i < job->count; ++i) {
        for (j = 0; j < job->processes[i].num_pairs; ++j) {
            pair = &job->processes[i].pairs[j];
            to = info_worker_find(job->workers, job->num_workers, pair->uid, job->count);
            for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
                if (pair->counts[protocol].messages != 0) {
                    fprintf(ri_json_next(&list), "[%zu,%zd,%u,%" PRIu64 ",%" PRIu64 "]",
                            i, (to < job->count) ? (ssize_t)to : (ssize_t)-1, protocol,
                            pair->counts[protocol].messages,
                            pair->counts[protocol].bytes);
                }
            }
        }
    }
}

/* @return A variable of a process, or NULL. */
static const info_setting_t *html_setting(const info_process_t *process, const char *name)
{
    size_t i;

    for (i = 0; i < process->num_settings; ++i) {
        if (!strcmp(process->settings[i].name, name)) {
            return &process->settings[i];
        }
    }
    return NULL;
}

/* A value of a variable, and how many ranks have it. */
typedef struct html_value {
    const char *value;
    size_t ranks;
} html_value_t;

/* More values of one variable are not told. */
#define HTML_VALUES 8

/* The name of a variable, whether a rank has set it, and its values. */
static void html_values(const info_job_t *job, const char *name, FILE *stream)
{
    html_value_t values[HTML_VALUES] = {{0}};
    const info_setting_t *setting;
    int is_set = 0;
    size_t i, j;

    for (i = 0; i < job->count; ++i) {
        setting = html_setting(&job->processes[i], name);
        is_set |= (setting != NULL) && setting->is_set;
        for (j = 0; (setting != NULL) && (j < HTML_VALUES); ++j) {
            if ((values[j].value == NULL) || !strcmp(values[j].value, setting->value)) {
                values[j].value = setting->value;
                ++values[j].ranks;
                break;
            }
        }
    }
    fputc('[', stream);
    html_string(name, stream);
    fprintf(stream, ",%d", is_set);
    for (j = 0; (j < HTML_VALUES) && (values[j].value != NULL); ++j) {
        fputs(",[", stream);
        html_string(values[j].value, stream);
        fprintf(stream, ",%zu]", values[j].ranks);
    }
    fputc(']', stream);
}

/* The variables are those of the first process that has any. */
static void html_settings(const info_job_t *job, FILE *stream)
{
    ri_json_list_t list = {stream, ""};
    size_t i, first;

    for (first = 0; (first < job->count) && (job->processes[first].num_settings == 0);
         ++first) {}
    if (first == job->count) {
        return;
    }
    for (i = 0; i < job->processes[first].num_settings; ++i) {
        ri_json_next(&list);
        html_values(job, job->processes[first].settings[i].name, stream);
    }
}

static void html_facts(const info_job_t *job, FILE *stream)
{
    uint64_t life = 0, started = 0;
    const info_process_t *process;
    char text[32];
    size_t i;

    for (i = 0; i < job->count; ++i) {
        process = &job->processes[i];
        life    = ri_max(life, process->row.values[RI_REPORT_LIFE_US]);
        if ((process->started != 0) && ((started == 0) || (process->started < started))) {
            started = process->started;
        }
    }
    ri_time_text(life, text, sizeof(text));
    fprintf(stream, "{\"name\":");
    html_string(job->sum.job, stream);
    fprintf(stream, ",\"command\":");
    html_string(job->processes[0].command, stream);
    fprintf(stream,
            ",\"hosts\":%zu,\"started\":%" PRIu64 ",\"life\":\"%s\""
            ",\"ranks\":%ld,\"missing\":%ld,\"running\":%zu,\n",
            job->hosts, started, text, (long)job->count + job->missing, job->missing,
            job->num_json - job->num_complete);
}

/* Jobs may have no names, and the same rank: the process tells them apart. */
int info_html_is_of_job(const info_strips_t *strips, const info_job_t *job)
{
    const ri_timeline_head_t *head = &strips->job.processes[0].head;
    char process[sizeof(head->host) + 16];
    size_t i;

    snprintf(process, sizeof(process), "%s:%u", head->host, head->pid);
    for (i = 0; i < job->count; ++i) {
        if (!strcmp(job->processes[i].row.process, process)) {
            return 1;
        }
    }
    return 0;
}

static void html_job(const info_job_t *job, const info_strips_t *strips, FILE *stream)
{
    ri_json_list_t verdict = {stream, ""}, hints = {stream, ""}, lines = {stream, ""};

    html_facts(job, stream);
    fprintf(stream, "\"verdict\":[");
    info_verdict_foreach(job, html_verdict, &verdict);
    fprintf(stream, "],\n\"hints\":[");
    info_hints(job, html_hint, &hints);
    fprintf(stream, "],\n\"summary\":[");
    info_summary_foreach(job, html_summary, &lines);
    fprintf(stream, "],\n\"processes\":[");
    html_processes(job, stream);
    fprintf(stream, "],\n\"sizes\":[");
    html_sizes(job, stream);
    fprintf(stream, "],\n\"pairs\":[");
    html_pairs(job, stream);
    fprintf(stream, "],\n\"settings\":[");
    html_settings(job, stream);
    fprintf(stream, "],\n\"strips\":");
    if ((strips != NULL) && info_html_is_of_job(strips, job)) {
        info_strips_write(strips, stream);
    } else {
        fprintf(stream, "null");
    }
    fprintf(stream, "}");
}

static void html_data(const info_t *info, const info_inert_t *inert,
                      const info_strips_t *strips, FILE *stream)
{
    ri_json_list_t protocols = {stream, ""}, jobs = {stream, ""}, reasons = {stream, ""};
    size_t i;

    fprintf(stream, "{\"version\":\"%s\",\"guide\":", RI_VERSION_STRING);
    html_string(info_guide(), stream);
    fprintf(stream, ",\"protocols\":[");
    for (i = 0; i < RI_REPORT_PROTOCOLS; ++i) {
        html_string(ri_report_table_protocol_name(i), ri_json_next(&protocols));
    }
    fprintf(stream, "],\n\"jobs\":[");
    for (i = 0; i < info->num_jobs; ++i) {
        html_job(&info->jobs[i], strips, ri_json_next(&jobs));
    }
    fprintf(stream, "],\n\"inert\":[");
    for (i = 0; (i < INFO_REASONS) && (inert[i].text != NULL); ++i) {
        fprintf(ri_json_next(&reasons), "[%zu,", inert[i].count);
        html_string(inert[i].text, stream);
        fputc(',', stream);
        html_string((inert[i].remedy == NULL) ? "" : inert[i].remedy, stream);
        fputc(']', stream);
    }
    fprintf(stream, "]}\n");
}

void info_html_write(const info_t *info, const info_inert_t *inert,
                     const info_strips_t *strips, FILE *stream)
{
    size_t i;

    for (i = 0; i < sizeof(page) / sizeof(page[0]); ++i) {
        if (strcmp(page[i], HTML_DATA)) {
            fputs(page[i], stream);
        } else {
            html_data(info, inert, strips, stream);
        }
    }
}
