/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Spans are told when they end, so the points come out of order, and are sorted.
 */
#include "ucxri_info_timeline_curves.h"

#include <stdlib.h>
#include <string.h>

static void curves_append(timeline_curves_t *curves, const timeline_point_t *point)
{
    size_t max = (curves->max == 0) ? 1024 : 2 * curves->max;
    timeline_point_t *points;

    if (curves->count == curves->max) {
        points = realloc(curves->points, max * sizeof(*points));
        if (points == NULL) {
            curves->no_memory = 1;
            return;
        }
        curves->points = points;
        curves->max    = max;
    }
    curves->points[curves->count++] = *point;
}

void timeline_curves_add(timeline_curves_t *curves, const timeline_span_t *span)
{
    timeline_point_t point = {.worker = span->worker, .time = span->start, .value = 1};

    switch (span->kind) {
    case TIMELINE_SPAN_SEND:
        point.curve = TIMELINE_CURVE_SENDS;
        point.value = span->length;
        break;
    case TIMELINE_SPAN_RECV:
        point.curve = TIMELINE_CURVE_RECEIVES;
        break;
    case TIMELINE_SPAN_OFFER:
        point.curve = TIMELINE_CURVE_OFFERS;
        break;
    default:
        return;
    }
    curves_append(curves, &point);
    if (!span->is_open) {
        point.time  = span->end;
        point.value = 0 - point.value;
        curves_append(curves, &point);
    }
}

static int curves_compare(const void *a, const void *b)
{
    const timeline_point_t *left = a, *right = b;

    if (left->worker != right->worker) {
        return (left->worker > right->worker) - (left->worker < right->worker);
    }
    if (left->curve != right->curve) {
        return (left->curve > right->curve) - (left->curve < right->curve);
    }
    return (left->time > right->time) - (left->time < right->time);
}

static int curves_is_same(const timeline_point_t *a, const timeline_point_t *b)
{
    return (a->worker == b->worker) && (a->curve == b->curve);
}

void timeline_curves_tell(timeline_curves_t *curves,
                          void (*point)(const timeline_point_t *point, void *arg),
                          void *arg)
{
    timeline_point_t *points = curves->points;
    uint64_t told            = 0;
    size_t i;

    if (curves->count == 0) {
        return;
    }
    qsort(points, curves->count, sizeof(*points), curves_compare);
    for (i = 0; i < curves->count; ++i) {
        if ((i == 0) || !curves_is_same(&points[i], &points[i - 1])) {
            told = 0;
        } else {
            points[i].value += points[i - 1].value;
        }
        if ((i + 1 < curves->count) && curves_is_same(&points[i], &points[i + 1]) &&
            (points[i].time == points[i + 1].time)) {
            continue; /* it changes once more at this time */
        }
        if (points[i].value != told) {
            told = points[i].value;
            point(&points[i], arg);
        }
    }
}

void timeline_curves_cleanup(timeline_curves_t *curves)
{
    free(curves->points);
    memset(curves, 0, sizeof(*curves));
}
