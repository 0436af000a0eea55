/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "worker.h"
#include "../../ucs/clock.h"

ri_map_t ri_worker_map = RI_MAP_INITIALIZER;
__thread ri_map_cache_t ri_worker_latest __attribute__((tls_model("initial-exec")));

void ri_worker_enter_slow(ri_worker_t *worker)
{
    uint64_t now = worker->timed ? ri_clock_ticks() : 0; /* waiting counts, too */

    ri_worker_lock(worker);
    if (worker->timed && (worker->calls.depth++ == 0)) {
        worker->calls.start = now;
    }
}

void ri_worker_leave_slow(ri_worker_t *worker, ri_call_t call)
{
    if (worker->timed && (--worker->calls.depth == 0)) {
        worker->calls.ticks[call] += ri_clock_ticks() - worker->calls.start;
    }
    ri_worker_unlock(worker);
}
