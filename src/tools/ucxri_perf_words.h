/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of benchmarks in RESULT lines, in words for charts.
 */
#ifndef UCXRI_PERF_WORDS_H
#define UCXRI_PERF_WORDS_H

#include <stddef.h>

/** Write what a name says: "coll_allreduce:2" is "allreduce, 2 ranks". A configuration of progress
 * is told as by perf_params_format_caption(), and a name that this program and those of test/bench
 * do not have stays as it is. What does not fit the @a length bytes is cut off. */
void perf_words_name(char *text, size_t length, const char *name);

/** @return What a vertical axis shows: "one operation, µs" for "coll_allreduce:2" in "us"; of an
 * unknown name, or NULL, only what the unit tells */
const char *perf_words_axis(const char *name, const char *unit);

#endif
