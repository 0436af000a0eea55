/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends, receives and offers that have begun are kept in a table by worker, kind and address.
 */
#include "ucxri_info_timeline_spans.h"

#include <stdlib.h>
#include <string.h>

/* A span that has begun, by its place in the table. */
typedef struct span_begun {
    uint64_t key; /* 0: free */
    timeline_span_t span;
} span_begun_t;

/* A lane: until when it is taken. */
typedef struct span_lane {
    uint64_t until; /* UINT64_MAX: by a span that has not ended */
} span_lane_t;

typedef struct spans {
    const timeline_file_t *file;
    const timeline_watch_t *watch;
    span_begun_t *begun;
    size_t num_begun, max_begun;
    span_lane_t (*lanes)[TIMELINE_TRACK_LAST][TIMELINE_LANES]; /* of each worker */
    uint64_t hidden;
    int no_memory;
} spans_t;

static const timeline_track_t span_tracks[] = {
        [TIMELINE_SPAN_SEND]    = TIMELINE_TRACK_SENDS,
        [TIMELINE_SPAN_RECV]    = TIMELINE_TRACK_RECEIVES,
        [TIMELINE_SPAN_DATA]    = TIMELINE_TRACK_RECEIVES,
        [TIMELINE_SPAN_OFFER]   = TIMELINE_TRACK_OFFERS,
        [TIMELINE_SPAN_COPY]    = TIMELINE_TRACK_COPIES,
        [TIMELINE_SPAN_COMPUTE] = TIMELINE_TRACK_APPLICATION,
        [TIMELINE_SPAN_WAIT]    = TIMELINE_TRACK_APPLICATION,
};

/* Addresses have 48 bits and are not 0. */
static uint64_t span_key(unsigned worker, timeline_kind_t kind,
                         const ri_timeline_entry_t *entry)
{
    return (entry->key >> 16) ^ ((uint64_t)worker << 52) ^ ((uint64_t)(kind + 1) << 48);
}

static span_begun_t *span_place(span_begun_t *begun, size_t max, uint64_t key)
{
    size_t i = ((key ^ (key >> 32)) * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

    for (i &= max - 1; (begun[i].key != 0) && (begun[i].key != key);) {
        i = (i + 1) & (max - 1);
    }
    return &begun[i];
}

static int span_grow(spans_t *spans)
{
    size_t max = (spans->max_begun == 0) ? 256 : 2 * spans->max_begun;
    span_begun_t *begun;
    size_t i;

    if (2 * spans->num_begun < spans->max_begun) {
        return 1;
    }
    begun = calloc(max, sizeof(*begun));
    if (begun == NULL) {
        return 0;
    }
    for (i = 0; i < spans->max_begun; ++i) {
        if (spans->begun[i].key != 0) {
            *span_place(begun, max, spans->begun[i].key) = spans->begun[i];
        }
    }
    free(spans->begun);
    spans->begun     = begun;
    spans->max_begun = max;
    return 1;
}

static void span_take_lane(spans_t *spans, timeline_span_t *span, uint64_t until)
{
    span_lane_t *lanes = spans->lanes[span->worker][span_tracks[span->kind]];

    span->track = span_tracks[span->kind];
    for (span->lane = 0; span->lane < TIMELINE_LANES; ++span->lane) {
        if (lanes[span->lane].until <= span->start) {
            lanes[span->lane].until = until;
            return;
        }
    }
    span->lane = TIMELINE_NO_LANE;
    ++spans->hidden;
}

/* A span begins. If the same one has begun before, its end was not noted: forget it. */
static timeline_span_t *span_begin(spans_t *spans, uint64_t key,
                                   const timeline_span_t *span)
{
    span_begun_t *place;

    if (!span_grow(spans)) {
        spans->no_memory = 1;
        return NULL;
    }
    place = span_place(spans->begun, spans->max_begun, key);
    if (place->key == 0) {
        place->key = key;
        ++spans->num_begun;
    } else if (place->span.lane != TIMELINE_NO_LANE) {
        spans->lanes[place->span.worker][place->span.track][place->span.lane].until =
                place->span.start;
    }
    place->span = *span;
    span_take_lane(spans, &place->span, UINT64_MAX);
    return &place->span;
}

static timeline_span_t *span_find(const spans_t *spans, uint64_t key)
{
    span_begun_t *place;

    if (spans->max_begun == 0) {
        return NULL;
    }
    place = span_place(spans->begun, spans->max_begun, key);
    return (place->key != 0) ? &place->span : NULL;
}

/* Remove a span that has begun. Those behind it in the table, which may stand there because of it,
 * move up. */
static void span_remove(spans_t *spans, uint64_t key)
{
    span_begun_t *place = span_place(spans->begun, spans->max_begun, key);
    size_t i            = place - spans->begun;
    span_begun_t moved;

    place->key = 0;
    --spans->num_begun;
    for (i = (i + 1) & (spans->max_begun - 1); spans->begun[i].key != 0;
         i = (i + 1) & (spans->max_begun - 1)) {
        moved                                                  = spans->begun[i];
        spans->begun[i].key                                    = 0;
        *span_place(spans->begun, spans->max_begun, moved.key) = moved;
    }
}

static void span_end_one(spans_t *spans, timeline_span_t *span, uint64_t end)
{
    timeline_span_t data;

    span->end = (end > span->start) ? end : span->start;
    if (span->lane != TIMELINE_NO_LANE) {
        spans->lanes[span->worker][span->track][span->lane].until = span->end;
    }
    spans->watch->span(span, spans->watch->arg);
    if (span->kind == TIMELINE_SPAN_RECV) {
        data       = *span;
        data.kind  = TIMELINE_SPAN_DATA;
        data.start = span->met;
        spans->watch->span(&data, spans->watch->arg);
    }
}

static void span_end(spans_t *spans, uint64_t key, uint64_t end)
{
    timeline_span_t *span = span_find(spans, key);

    if (span != NULL) {
        span_end_one(spans, span, end);
        span_remove(spans, key);
    }
}

/* A span is told when it has ended. */
static void span_tell_past(spans_t *spans, timeline_span_t *span)
{
    span->end = (span->end > span->start) ? span->end : span->start;
    span_take_lane(spans, span, span->end);
    spans->watch->span(span, spans->watch->arg);
}

/* A receive meets its message: it has begun when it was posted. */
static void span_recv(spans_t *spans, unsigned worker, const ri_timeline_entry_t *entry,
                      uint64_t now)
{
    uint64_t waited        = entry->arg[3] * 1000;
    timeline_span_t *offer = span_find(spans,
                                       span_key(worker, TIMELINE_SPAN_OFFER, entry));
    timeline_span_t span   = {.worker = worker,
                              .kind   = TIMELINE_SPAN_RECV,
                              .start  = (waited < now - spans->file->first) ?
                                                now - waited :
                                                spans->file->first,
                              .met    = now,
                              .length = entry->arg[0],
                              .uid    = entry->arg[1],
                              .flow   = entry->arg[2]};

    if (offer != NULL) {
        offer->used = 1;
    }
    span_begin(spans, span_key(worker, TIMELINE_SPAN_RECV, entry), &span);
}

static void span_send_by(spans_t *spans, unsigned worker,
                         const ri_timeline_entry_t *entry)
{
    timeline_span_t *send = span_find(spans, span_key(worker, TIMELINE_SPAN_SEND, entry));

    if (send != NULL) {
        send->flow = entry->arg[0];
        memcpy(send->protocol, &entry->arg[1], 16);
    }
}

/* Data that was written into an offered receive has a length only at its end. */
static void span_set_length(spans_t *spans, unsigned worker,
                            const ri_timeline_entry_t *entry)
{
    timeline_span_t *span = span_find(spans, span_key(worker, TIMELINE_SPAN_RECV, entry));

    if (span != NULL) {
        span->length = entry->arg[1];
    }
}

static void span_end_message(spans_t *spans, unsigned worker, timeline_kind_t kind,
                             const ri_timeline_entry_t *entry, uint64_t now)
{
    timeline_span_t *span = span_find(spans, span_key(worker, kind, entry));

    if (span != NULL) {
        span->status = (int8_t)entry->arg[0];
        span_end(spans, span_key(worker, kind, entry), now);
    }
}

/* A copy has ended. */
static void span_copy(spans_t *spans, unsigned worker, const ri_timeline_entry_t *entry,
                      uint64_t now)
{
    timeline_span_t span = {.worker = worker, .kind = TIMELINE_SPAN_COPY, .end = now};

    span.start  = timeline_file_time(spans->file, entry->arg[0]);
    span.length = entry->arg[1];
    span.copy   = (entry->arg[2] < RI_TIMELINE_COPY_LAST) ? entry->arg[2] : 0;
    span.uid    = entry->arg[3];
    span_tell_past(spans, &span);
}

static void span_entry(unsigned worker, const ri_timeline_entry_t *entry, void *arg)
{
    spans_t *spans       = arg;
    uint64_t now         = timeline_file_time(spans->file, entry->ticks);
    timeline_span_t span = {.worker = worker};

    switch ((ri_timeline_event_t)timeline_file_entry_event(entry)) {
    case RI_TIMELINE_SEND:
        span.kind   = TIMELINE_SPAN_SEND;
        span.start  = now;
        span.length = entry->arg[0];
        span.uid    = entry->arg[1];
        span_begin(spans, span_key(worker, span.kind, entry), &span);
        break;
    case RI_TIMELINE_SEND_BY:
        span_send_by(spans, worker, entry);
        break;
    case RI_TIMELINE_SEND_END:
        span_end_message(spans, worker, TIMELINE_SPAN_SEND, entry, now);
        break;
    case RI_TIMELINE_RECV:
        span_recv(spans, worker, entry, now);
        break;
    case RI_TIMELINE_RECV_END:
        span_end(spans, span_key(worker, TIMELINE_SPAN_OFFER, entry), now);
        span_set_length(spans, worker, entry);
        span_end_message(spans, worker, TIMELINE_SPAN_RECV, entry, now);
        break;
    case RI_TIMELINE_OFFER:
        span.kind  = TIMELINE_SPAN_OFFER;
        span.start = now;
        span_begin(spans, span_key(worker, span.kind, entry), &span);
        break;
    case RI_TIMELINE_WITHDRAWN:
        span_end(spans, span_key(worker, TIMELINE_SPAN_OFFER, entry), now);
        break;
    case RI_TIMELINE_COPY:
        span_copy(spans, worker, entry, now);
        break;
    case RI_TIMELINE_COMPUTE:
    case RI_TIMELINE_WAIT:
        span.kind  = (timeline_file_entry_event(entry) == RI_TIMELINE_WAIT) ?
                             TIMELINE_SPAN_WAIT :
                             TIMELINE_SPAN_COMPUTE;
        span.start = timeline_file_time(spans->file, entry->arg[0]);
        span.end   = timeline_file_time(spans->file, entry->arg[1]);
        span_tell_past(spans, &span);
        break;
    case RI_TIMELINE_COUNT:
        spans->watch->sample(&(timeline_sample_t){.worker   = worker,
                                                  .time     = now,
                                                  .sent     = entry->arg[0],
                                                  .bytes    = entry->arg[1],
                                                  .received = entry->arg[2]},
                             spans->watch->arg);
        break;
    case RI_TIMELINE_EVENTS:
        break;
    }
}

int timeline_spans(const timeline_file_t *file, const timeline_watch_t *watch,
                   uint64_t *hidden)
{
    spans_t spans = {.file = file, .watch = watch};
    size_t i;

    spans.lanes = calloc(file->num_workers, sizeof(*spans.lanes));
    if (spans.lanes == NULL) {
        return 0;
    }
    timeline_file_foreach(file, span_entry, &spans);
    for (i = 0; i < spans.max_begun; ++i) {
        if (spans.begun[i].key != 0) {
            spans.begun[i].span.is_open = 1;
            span_end_one(&spans, &spans.begun[i].span, file->last);
        }
    }
    *hidden = spans.hidden;
    free(spans.begun);
    free(spans.lanes);
    return !spans.no_memory;
}
