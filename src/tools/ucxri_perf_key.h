/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Names below a chart that are too long for their places: a letter stands there, and a key below
 * the axis has the names behind the letters.
 */
#ifndef UCXRI_PERF_KEY_H
#define UCXRI_PERF_KEY_H

#include "ucxri_perf_svg.h"

#define PERF_KEY_MAX_NAMES 128

/* Begins with all zero */
typedef struct {
    const char *names[PERF_KEY_MAX_NAMES]; /* configurations, or benchmarks */
    int count;
} perf_key_t;

/** Add a name, which has to stay as long as @a key, unless it is there. @return its number, the
 * last one if there is no room */
int perf_key_add(perf_key_t *key, const char *name);

/** Write the letter of a number: A to Z, then A2 and so on */
void perf_key_letter(char *text, size_t length, int number);

/** @return the height that the key takes */
double perf_key_height(const perf_key_t *key);

/** @return the width of its longest line */
double perf_key_width(const perf_key_t *key);

/** Draw the key from y on, with the meaning of configurations in words */
void perf_key_draw(perf_svg_t *svg, const perf_key_t *key, double y);

#endif
