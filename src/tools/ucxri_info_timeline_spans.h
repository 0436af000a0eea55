/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process did, from what it noted: spans with a start and an end, on tracks. Spans of a
 * track that overlap are put on lanes, as a viewer needs spans of a line to be one in the other.
 */
#ifndef UCXRI_INFO_TIMELINE_SPANS_H
#define UCXRI_INFO_TIMELINE_SPANS_H

#include "ucxri_info_timeline_file.h"

/* The tracks of a worker, from top to bottom. */
#define TIMELINE_TRACKS(_t) \
    _t(APPLICATION, "application") _t(SENDS, "sends") _t(RECEIVES, "receives") \
            _t(OFFERS, "offers (RTR)") _t(COPIES, "copies")

typedef enum timeline_track {
#define TIMELINE_TRACK_ENTER(_track, _text) TIMELINE_TRACK_##_track,
    TIMELINE_TRACKS(TIMELINE_TRACK_ENTER)
#undef TIMELINE_TRACK_ENTER
    TIMELINE_TRACK_LAST
} timeline_track_t;

/* Lanes of a track. What there is more of at a time has no lane, and is not drawn. */
#define TIMELINE_LANES   64
#define TIMELINE_NO_LANE UINT32_MAX

typedef enum timeline_kind {
    TIMELINE_SPAN_SEND,
    TIMELINE_SPAN_RECV,
    TIMELINE_SPAN_DATA, /* part of a receive: since it met its message */
    TIMELINE_SPAN_OFFER,
    TIMELINE_SPAN_COPY,
    TIMELINE_SPAN_COMPUTE,
    TIMELINE_SPAN_WAIT
} timeline_kind_t;

typedef struct timeline_span {
    unsigned worker, track;
    unsigned lane; /* or TIMELINE_NO_LANE */
    timeline_kind_t kind;
    uint64_t start, end; /* times of the process */
    uint64_t length, uid;
    uint64_t flow;     /* SEND, RECV; 0: not known */
    uint64_t met;      /* RECV: when it met its message */
    char protocol[17]; /* SEND */
    unsigned copy;     /* COPY: ri_timeline_copy_t */
    int64_t status;    /* SEND, RECV */
    int used;          /* OFFER: its receive met its message meanwhile */
    int is_open;       /* the span had not ended when the file did */
} timeline_span_t;

/* How many there were of something, from a time on. */
typedef struct timeline_sample {
    unsigned worker;
    uint64_t time;
    uint64_t sent, bytes, received; /* since the start */
} timeline_sample_t;

typedef struct timeline_watch {
    void (*span)(const timeline_span_t *span, void *arg);
    void (*sample)(const timeline_sample_t *sample, void *arg);
    void *arg;
} timeline_watch_t;

/** Tell all spans of a file, in the order of their ends, and all samples. @param hidden  Set to how
 * many spans found no lane. @return 0: no memory. */
int timeline_spans(const timeline_file_t *file, const timeline_watch_t *watch,
                   uint64_t *hidden);

#endif
