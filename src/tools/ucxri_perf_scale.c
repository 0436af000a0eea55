/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See ucxri_perf_scale.h.
 */
#include "ucxri_perf_scale.h"

#include <math.h>
#include <stdio.h>

/* Steps of 1, 2 or 5 in each power of ten; below this many decades all of them are ticks */
#define FEW_DECADES 3

static void add_tick(perf_scale_t *scale, double value)
{
    if (scale->num_ticks < PERF_SCALE_MAX_TICKS) {
        scale->ticks[scale->num_ticks++] = value;
    }
}

void perf_scale_linear(perf_scale_t *scale, double max, int wanted)
{
    double step, power, relative;
    int count, i;

    max      = (max > 0) ? max : 1;
    step     = max / wanted;
    power    = pow(10, floor(log10(step)));
    relative = step / power;
    step = power * ((relative <= 1) ? 1 : (relative <= 2) ? 2 : (relative <= 5) ? 5 : 10);
    count = (int)ceil(max / step - 1e-9);

    scale->log       = 0;
    scale->min       = 0;
    scale->max       = count * step;
    scale->num_ticks = 0;
    for (i = 0; i <= count; ++i) {
        add_tick(scale, i * step);
    }
}

/* 1, 2, 5, 10, 20, ...: the n-th of them, n = 0 is 1 */
static double round_number(int n)
{
    static const double digits[] = {1, 2, 5};
    int decade                   = (int)floor(n / 3.0);

    return digits[n - 3 * decade] * pow(10, decade);
}

void perf_scale_log10(perf_scale_t *scale, double min, double max)
{
    /* Rounding errors of the logarithm must not add a tick */
    const double slack = 1e-9;
    int first          = 3 * (int)floor(log10(min) + slack);
    int step, n;

    step = (log10(max / min) <= FEW_DECADES) ? 1 : 3;
    while (round_number(first + step) <= min * (1 + slack)) {
        first += step;
    }

    scale->log       = 1;
    scale->num_ticks = 0;
    n                = first;
    add_tick(scale, round_number(n));
    do {
        n += step;
        add_tick(scale, round_number(n));
    } while (round_number(n) < max * (1 - slack));
    scale->min = round_number(first);
    scale->max = round_number(n);
}

/* Of the powers of two from first on, with step between them, which is the first one so that most
 * sizes are among them */
static int best_first(int first, int step, const double *sizes, int count)
{
    int best      = first;
    int best_hits = -1;
    int phase, hits, i, exponent;

    for (phase = 0; phase < step; ++phase) {
        hits = 0;
        for (i = 0; i < count; ++i) {
            /* half times a power of two: it is one itself */
            hits += (frexp(sizes[i], &exponent) == 0.5) &&
                    ((exponent - 1 - first) % step == phase);
        }
        if (hits > best_hits) {
            best      = first + phase;
            best_hits = hits;
        }
    }
    return best;
}

void perf_scale_sizes(perf_scale_t *scale, const double *sizes, int count, int max_ticks)
{
    double low  = INFINITY;
    double high = 0;
    int zero    = 0;
    int first, last, step, i;

    for (i = 0; i < count; ++i) {
        if (sizes[i] > 0) {
            low  = fmin(low, sizes[i]);
            high = fmax(high, sizes[i]);
        } else {
            zero = 1;
        }
    }
    low  = (high == 0) ? 1 : low;
    high = (high == 0) ? 1 : high;

    scale->log       = 1;
    scale->num_ticks = 0;
    scale->min       = zero ? low / 2 : low;
    scale->max       = (high > scale->min) ? high : scale->min * 2;
    if (zero) {
        add_tick(scale, 0);
    }
    first = (int)ceil(log2(low));
    last  = (int)floor(log2(scale->max));
    step  = 1;
    while ((last - first) / step + 1 + zero > max_ticks) {
        ++step;
    }
    for (i = best_first(first, step, sizes, count); i <= last; i += step) {
        add_tick(scale, ldexp(1, i));
    }
}

double perf_scale_position(const perf_scale_t *scale, double value)
{
    double fraction;

    value = fmin(fmax(value, scale->min), scale->max);
    if (scale->log) {
        fraction = log(value / scale->min) / log(scale->max / scale->min);
    } else {
        fraction = (value - scale->min) / (scale->max - scale->min);
    }
    return scale->from + fraction * (scale->to - scale->from);
}

void perf_scale_format_value(char *text, size_t length, double value)
{
    if (value >= 1e6) {
        snprintf(text, length, "%.4gM", value / 1e6);
    } else {
        snprintf(text, length, "%.6g", value);
    }
}
