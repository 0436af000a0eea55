/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How much of something there was at a time: what spans add to a curve at their start, and take
 * from it at their end. Spans that no lane is left for count as well.
 */
#ifndef UCXRI_INFO_TIMELINE_CURVES_H
#define UCXRI_INFO_TIMELINE_CURVES_H

#include "ucxri_info_timeline_spans.h"

#include <stddef.h>
#include <stdint.h>

/* The curves of a worker: the name of each, and of its values. */
#define TIMELINE_CURVES(_c) \
    _c(SENDS, "MB of sends under way", "MB") _c(RECEIVES, "receives posted", "receives") \
            _c(OFFERS, "RTRs offered", "RTRs")

typedef enum timeline_curve {
#define TIMELINE_CURVE_ENTER(_curve, _text, _unit) TIMELINE_CURVE_##_curve,
    TIMELINE_CURVES(TIMELINE_CURVE_ENTER)
#undef TIMELINE_CURVE_ENTER
    TIMELINE_CURVE_LAST
} timeline_curve_t;

/* The value of a curve from a time on. That of SENDS is in bytes. */
typedef struct timeline_point {
    unsigned worker;
    timeline_curve_t curve;
    uint64_t time;  /* of the process */
    uint64_t value; /* sums may overflow, if a file is damaged */
} timeline_point_t;

/* The curves of one process; zero: none. */
typedef struct timeline_curves {
    timeline_point_t *points; /* until they are told, each has what it adds */
    size_t count, max;
    int no_memory; /* some points are missing */
} timeline_curves_t;

/** Add what a span means for the curves. */
void timeline_curves_add(timeline_curves_t *curves, const timeline_span_t *span);

/** Tell all points, those of each curve in the order of their times, one for each time at which
 * the value changes. Once. */
void timeline_curves_tell(timeline_curves_t *curves,
                          void (*point)(const timeline_point_t *point, void *arg),
                          void *arg);

/** Free the points. */
void timeline_curves_cleanup(timeline_curves_t *curves);

#endif
