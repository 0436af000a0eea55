/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The spans of a process are laid over the steps, and each step gets its share. Spans of copies are
 * within those of calls of progress, which are neither computing nor waiting.
 */
#include "ucxri_info_strips.h"
#include "ucxri_info_timeline_spans.h"
#include "ucs/base.h"
#include "ucs/json.h"

#include <stdlib.h>
#include <string.h>

/* The process that is read. */
typedef struct strips_arg {
    const info_strips_t *strips;
    const timeline_process_t *process;
    unsigned workers; /* that it has: each tells of the whole process */
} strips_arg_t;

/* Microseconds of a step. */
static double strips_step(const info_strips_t *strips)
{
    return (strips->job.end - strips->job.start) * 1e-3 / INFO_STRIP_STEPS;
}

static void strips_span(const timeline_span_t *span, void *arg)
{
    const strips_arg_t *of      = arg;
    const info_strips_t *strips = of->strips;
    double width                = strips_step(strips);
    double start                = timeline_job_us(&strips->job, of->process, span->start);
    double end                  = timeline_job_us(&strips->job, of->process, span->end);
    double *steps;
    int i, kind;

    switch (span->kind) {
    case TIMELINE_SPAN_COMPUTE:
        kind = INFO_STRIP_COMPUTES;
        break;
    case TIMELINE_SPAN_WAIT:
        kind = INFO_STRIP_WAITS;
        break;
    case TIMELINE_SPAN_COPY:
        if (span->copy == RI_TIMELINE_COPY_NET) {
            return; /* the adapter's time */
        }
        kind = INFO_STRIP_COPIES;
        break;
    default:
        return;
    }
    if ((width <= 0) || (start < 0) || !(start / width < INFO_STRIP_STEPS)) {
        return;
    }
    steps = strips->steps[of->process->order][kind];
    for (i = (int)(start / width); (i < INFO_STRIP_STEPS) && (i * width < end); ++i) {
        steps[i] += (ri_min(end, (i + 1) * width) - ri_max(start, i * width)) /
                    of->workers;
    }
}

static void strips_sample(const timeline_sample_t *sample, void *arg) {}

static int strips_read_process(info_strips_t *strips, const timeline_process_t *process)
{
    strips_arg_t arg       = {strips, process, 1};
    timeline_watch_t watch = {strips_span, strips_sample, &arg};
    timeline_file_t file;
    uint64_t hidden;
    const char *fault = timeline_file_read(process->path, &file);

    arg.workers = file.num_workers;
    if ((fault == NULL) && !timeline_spans(&file, &watch, &hidden)) {
        fault = "out of memory";
    }
    timeline_file_cleanup(&file);
    return (fault == NULL) || timeline_job_fail(process->path, fault);
}

int info_strips_read(info_strips_t *strips, char **paths, int count)
{
    unsigned i;

    strips->steps = NULL;
    if (!timeline_job_read(&strips->job, paths, count)) {
        return 0;
    }
    strips->steps = calloc(strips->job.count, sizeof(*strips->steps));
    if (strips->steps == NULL) {
        return timeline_job_fail(paths[0], "out of memory");
    }
    for (i = 0; i < strips->job.count; ++i) {
        strips->job.all_read &= strips_read_process(strips, &strips->job.processes[i]);
    }
    return 1;
}

static void strips_write_steps(const double *steps, double width, FILE *stream)
{
    double part;
    int i;

    for (i = 0; i < INFO_STRIP_STEPS; ++i) {
        part = (width > 0) ? 100 * steps[i] / width : 0;
        fprintf(stream, "%s%.0f", (i == 0) ? ",[" : ",", ri_min(part, 100));
    }
    fputc(']', stream);
}

void info_strips_write(const info_strips_t *strips, FILE *stream)
{
    ri_json_list_t list = {stream, ""};
    double width        = strips_step(strips);
    unsigned i;
    int kind;

    fprintf(stream, "{\"step_us\":%.3f,\"ranks\":[", width);
    for (i = 0; i < strips->job.count; ++i) {
        fputc('[', ri_json_next(&list));
        ri_json_string(strips->job.processes[i].head.rank, "<>&", stream);
        fputc(',', stream);
        ri_json_string(strips->job.processes[i].head.host, "<>&", stream);
        for (kind = 0; kind < INFO_STRIP_KINDS; ++kind) {
            strips_write_steps(strips->steps[i][kind], width, stream);
        }
        fputc(']', stream);
    }
    fprintf(stream, "]}");
}

void info_strips_cleanup(info_strips_t *strips)
{
    timeline_job_cleanup(&strips->job);
    free(strips->steps);
    strips->steps = NULL;
}
