/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The counters of a worker with those of all that it has, which are counted where they arise
 * (core/notes/counters.h).
 */
#ifndef RI_WORKER_COUNTERS_H
#define RI_WORKER_COUNTERS_H

#include "../core/notes/counters.h"
#include "../core/types/types.h"

#include <stdio.h>

/** Set @a out to the worker's counters, those of conns and streams that have ended included, with
 * those of all open conns and streams, those of the planes through a network, and what peers that
 * are reached through one cost. */
void ri_worker_counters_snapshot(const ri_worker_t *worker, ri_worker_counters_t *out);

/** Print the sums of ri_worker_counters_snapshot(), and the counters of each open conn and stream,
 * those that are not 0. */
void ri_worker_counters_dump(const ri_worker_t *worker, FILE *stream);

#endif
