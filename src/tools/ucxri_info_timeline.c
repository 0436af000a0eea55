/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines are short, as there may be a million of them: what can be told from the track of a span is
 * not repeated.
 */
#include "ucxri_info_timeline.h"
#include "ucxri_info_timeline_curves.h"
#include "ucxri_info_timeline_job.h"
#include "ucxri_info_timeline_spans.h"
#include "ucs/json.h"
#include "ucs/size_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a timeline begins, as is looked for in a file that is there already. */
#define TIMELINE_BEGIN "{\"displayTimeUnit\":\"ns\",\"traceEvents\":["

typedef struct timeline {
    timeline_job_t job;
    FILE *stream;
    const char *separator;

    /* The process that is written: */
    const timeline_process_t *process;
    const timeline_file_t *file;
    uint64_t (*used)[TIMELINE_TRACK_LAST]; /* of each worker: a bit for each lane */
    timeline_sample_t *samples;            /* the latest of each worker */
    timeline_curves_t curves;
} timeline_t;

/* A time of the process that is written, in microseconds since the start, as it is printed: spans
 * that meet do not overlap, and an arrow begins and ends within its span. */
static double timeline_us(const timeline_t *timeline, uint64_t time)
{
    double us = timeline_job_us(&timeline->job, timeline->process, time);

    return (double)(int64_t)(us * 100 + 0.5) / 100;
}

/* Threads of a viewer are lines: of each worker, track and lane. */
static unsigned timeline_tid(unsigned worker, unsigned track, unsigned lane)
{
    return (worker * TIMELINE_TRACK_LAST + track) * TIMELINE_LANES + lane + 1;
}

static FILE *timeline_next(timeline_t *timeline, const char *phase)
{
    fprintf(timeline->stream, "%s{\"ph\":\"%s\",\"pid\":%u", timeline->separator, phase,
            timeline->process->order);
    timeline->separator = ",\n";
    return timeline->stream;
}

static void timeline_name(const timeline_t *timeline, uint64_t uid, char text[24])
{
    const timeline_process_t *process = timeline_job_owner(&timeline->job, uid);

    if (process == NULL) {
        snprintf(text, 24, "a process");
    } else if (strcmp(process->head.rank, "-")) {
        snprintf(text, 24, "rank %s", process->head.rank);
    } else {
        snprintf(text, 24, "process %u", process->head.pid);
    }
}

/* Write the text of a span, and more about it. */
static void timeline_write_text(timeline_t *timeline, const timeline_span_t *span)
{
    static const char *const copies[] = {
#define TIMELINE_COPY_TEXT(_kind, _text) [RI_TIMELINE_COPY_##_kind] = _text,
            RI_TIMELINE_COPIES(TIMELINE_COPY_TEXT)};
    FILE *stream = timeline->stream;
    char size[24], peer[24];

    ri_size_text(span->length, size, sizeof(size));
    timeline_name(timeline, span->uid, peer);
    switch (span->kind) {
    case TIMELINE_SPAN_SEND:
        fprintf(stream, "\"name\":\"send %s to %s\",\"args\":{\"protocol\":", size, peer);
        ri_json_string(span->protocol, "", stream);
        break;
    case TIMELINE_SPAN_RECV:
        fprintf(stream, "\"name\":\"receive %s from %s\",\"args\":{\"waited_us\":%.1f",
                size, peer, (span->met - span->start) * 1e-3);
        break;
    case TIMELINE_SPAN_DATA:
        fprintf(stream, "\"name\":\"its data come\"");
        return;
    case TIMELINE_SPAN_OFFER:
        fprintf(stream, "\"name\":\"%s\"",
                span->used    ? "offered (RTR), used" :
                span->is_open ? "offered (RTR)" :
                                "offered (RTR), withdrawn");
        return;
    case TIMELINE_SPAN_COPY:
        fprintf(stream, "\"name\":\"%s\",\"args\":{\"size\":\"%s\",\"peer\":\"%s\"}",
                copies[span->copy], size, peer);
        return;
    case TIMELINE_SPAN_COMPUTE:
        fprintf(stream, "\"name\":\"computes\"");
        return;
    case TIMELINE_SPAN_WAIT:
        fprintf(stream, "\"name\":\"waits\"");
        return;
    }
    if (span->status != 0) {
        fprintf(stream, ",\"status\":%d", (int)span->status);
    }
    fprintf(stream, "%s}", span->is_open ? ",\"unfinished\":true" : "");
}

/* @return A number of all bits of @a value, by the multipliers of splitmix64. */
static uint64_t timeline_mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* The end of an arrow, within the span. Its id is that of the message, as one number: Perfetto
 * drops arrows whose id is no hexadecimal number of 64 bits. */
static void timeline_write_flow(timeline_t *timeline, const timeline_span_t *span,
                                const char *phase, uint64_t uid, uint64_t time)
{
    fprintf(timeline_next(timeline, phase),
            ",\"tid\":%u,\"ts\":%.2f,\"id\":\"%016" PRIx64 "\",\"cat\":\"message\","
            "\"name\":\"message\"%s}",
            timeline_tid(span->worker, span->track, span->lane),
            timeline_us(timeline, time), timeline_mix(timeline_mix(uid) + span->flow),
            (*phase == 'f') ? ",\"bp\":\"e\"" : "");
}

static void timeline_write_span(const timeline_span_t *span, void *arg)
{
    timeline_t *timeline = arg;
    double start         = timeline_us(timeline, span->start);
    double end           = timeline_us(timeline, span->end);

    timeline_curves_add(&timeline->curves, span);
    if (span->lane == TIMELINE_NO_LANE) {
        return;
    }
    timeline->used[span->worker][span->track] |= UINT64_C(1) << span->lane;
    fprintf(timeline_next(timeline, "X"), ",\"tid\":%u,\"ts\":%.2f,\"dur\":%.2f,",
            timeline_tid(span->worker, span->track, span->lane), start, end - start);
    timeline_write_text(timeline, span);
    fputc('}', timeline->stream);
    if ((span->flow == 0) || (timeline_job_owner(&timeline->job, span->uid) == NULL)) {
        return;
    }
    if (span->kind == TIMELINE_SPAN_SEND) {
        timeline_write_flow(timeline, span, "s", timeline->file->uids[span->worker],
                            span->start);
    } else if (span->kind == TIMELINE_SPAN_DATA) {
        timeline_write_flow(timeline, span, "f", span->uid, span->start);
    }
}

/* Make the text that is behind a name if there are several workers. */
static void timeline_worker_name(const timeline_t *timeline, unsigned worker,
                                 char text[24])
{
    *text = '\0';
    if (timeline->file->num_workers > 1) {
        snprintf(text, 24, " of worker %u", worker + 1);
    }
}

/* Rates, from what there was more than at the sample before. */
static void timeline_write_sample(const timeline_sample_t *sample, void *arg)
{
    timeline_t *timeline      = arg;
    timeline_sample_t *before = &timeline->samples[sample->worker];
    double seconds            = (sample->time - before->time) * 1e-9;
    double start              = timeline_us(timeline, before->time);
    char worker[24];

    timeline_worker_name(timeline, sample->worker, worker);
    if ((before->time != 0) && (sample->time > before->time) &&
        (sample->sent >= before->sent) && (sample->bytes >= before->bytes) &&
        (sample->received >= before->received)) {
        fprintf(timeline_next(timeline, "C"),
                ",\"ts\":%.2f,\"name\":\"messages a second%s\",\"args\":{\"sent\":%.0f,"
                "\"received\":%.0f}}",
                start, worker, (sample->sent - before->sent) / seconds,
                (sample->received - before->received) / seconds);
        fprintf(timeline_next(timeline, "C"),
                ",\"ts\":%.2f,\"name\":\"MB sent a second%s\",\"args\":{\"sent\":%.1f}}",
                start, worker, (sample->bytes - before->bytes) / seconds * 1e-6);
    }
    *before = *sample;
}

static void timeline_write_point(const timeline_point_t *point, void *arg)
{
    static const char *const names[] = {
#define TIMELINE_CURVE_NAME(_curve, _text, _unit) [TIMELINE_CURVE_##_curve] = _text,
            TIMELINE_CURVES(TIMELINE_CURVE_NAME)};
    static const char *const units[] = {
#define TIMELINE_CURVE_UNIT(_curve, _text, _unit) [TIMELINE_CURVE_##_curve] = _unit,
            TIMELINE_CURVES(TIMELINE_CURVE_UNIT)};
    timeline_t *timeline = arg;
    char worker[24];

    timeline_worker_name(timeline, point->worker, worker);
    fprintf(timeline_next(timeline, "C"),
            ",\"ts\":%.2f,\"name\":\"%s%s\",\"args\":{\"%s\":%g}}",
            timeline_us(timeline, point->time), names[point->curve], worker,
            units[point->curve],
            (int64_t)point->value * ((point->curve == TIMELINE_CURVE_SENDS) ? 1e-6 : 1));
}

static void timeline_write_label(timeline_t *timeline, const char *what, unsigned tid,
                                 unsigned order, const char *name)
{
    FILE *stream = timeline_next(timeline, "M");

    fprintf(stream, ",\"tid\":%u,\"name\":\"%s_name\",\"args\":{\"name\":", tid, what);
    ri_json_string(name, "", stream);
    fprintf(stream, "}}");
    fprintf(timeline_next(timeline, "M"),
            ",\"tid\":%u,\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%u}}", tid,
            what, order);
}

/* "sends", "sends 2" and so on. */
static void timeline_line_name(const timeline_t *timeline, unsigned worker,
                               const char *track, unsigned lane, char *name, size_t max)
{
    int length = snprintf(name, max, "%s", track);
    char of[24];

    if (lane > 0) {
        length += snprintf(name + length, max - length, " %u", lane + 1);
    }
    timeline_worker_name(timeline, worker, of);
    snprintf(name + length, max - length, "%s", of);
}

static void timeline_write_labels(timeline_t *timeline)
{
    static const char *const tracks[] = {
#define TIMELINE_TRACK_TEXT(_track, _text) [TIMELINE_TRACK_##_track] = _text,
            TIMELINE_TRACKS(TIMELINE_TRACK_TEXT)};
    const ri_timeline_head_t *head = &timeline->process->head;
    unsigned worker, track, lane, tid;
    char name[sizeof(*head)];

    snprintf(name, sizeof(name), "rank %s, %s on %s:%u", head->rank, head->program,
             head->host, head->pid);
    timeline_write_label(timeline, "process", 0, timeline->process->order, name);
    for (worker = 0; worker < timeline->file->num_workers; ++worker) {
        for (track = 0; track < TIMELINE_TRACK_LAST; ++track) {
            for (lane = 0; lane < TIMELINE_LANES; ++lane) {
                if (!((timeline->used[worker][track] >> lane) & 1)) {
                    continue;
                }
                tid = timeline_tid(worker, track, lane);
                timeline_line_name(timeline, worker, tracks[track], lane, name,
                                   sizeof(name));
                timeline_write_label(timeline, "thread", tid, tid, name);
            }
        }
    }
}

static int timeline_write_process(timeline_t *timeline)
{
    timeline_watch_t watch = {timeline_write_span, timeline_write_sample, timeline};
    timeline_file_t file;
    uint64_t hidden   = 0;
    const char *fault = timeline_file_read(timeline->process->path, &file);

    if (fault == NULL) {
        timeline->file    = &file;
        timeline->used    = calloc(file.num_workers, sizeof(*timeline->used));
        timeline->samples = calloc(file.num_workers, sizeof(*timeline->samples));
        if ((timeline->used == NULL) || (timeline->samples == NULL) ||
            !timeline_spans(&file, &watch, &hidden) || timeline->curves.no_memory) {
            fault = "out of memory";
        } else {
            timeline_curves_tell(&timeline->curves, timeline_write_point, timeline);
            timeline_write_labels(timeline);
        }
        timeline_curves_cleanup(&timeline->curves);
        free(timeline->used);
        free(timeline->samples);
    }
    timeline_file_cleanup(&file);
    if (hidden > 0) {
        fprintf(stderr,
                "ucxri_info: %s: %" PRIu64 " spans are left out: more than %d of "
                "their kind at a time\n",
                timeline->process->path, hidden, TIMELINE_LANES);
    }
    return (fault == NULL) || timeline_job_fail(timeline->process->path, fault);
}

static int timeline_write(timeline_t *timeline, const char *out)
{
    int is_stdout = !strcmp(out, "-");
    int is_good   = 1;
    unsigned i;

    timeline->stream = is_stdout ? stdout : fopen(out, "we");
    if (timeline->stream == NULL) {
        return timeline_job_fail(out, strerror(errno));
    }
    timeline->separator = "";
    fprintf(timeline->stream, TIMELINE_BEGIN "\n");
    for (i = 0; i < timeline->job.count; ++i) {
        timeline->process = &timeline->job.processes[i];
        is_good &= timeline_write_process(timeline);
    }
    fprintf(timeline->stream, "\n]}\n");
    if (ferror(timeline->stream) ||
        ((is_stdout ? fflush(stdout) : fclose(timeline->stream)) != 0)) {
        return timeline_job_fail(out, strerror(errno));
    }
    return is_good;
}

int info_timeline(const char *out, char **paths, int count)
{
    timeline_t timeline = {};
    const char *loss    = timeline_job_would_lose(out, TIMELINE_BEGIN, paths, count);
    int is_good;

    if (loss != NULL) {
        timeline_job_fail(out, loss);
        return EXIT_FAILURE;
    }
    is_good = timeline_job_read(&timeline.job, paths, count);
    if (is_good) {
        is_good = timeline_write(&timeline, out) && timeline.job.all_read;
    }
    timeline_job_cleanup(&timeline.job);
    return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
