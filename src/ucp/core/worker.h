/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A worker: everything that belongs to one ucp_worker_h. Its life and its progress are in
 * run/worker_life.h and run/worker_progress.h.
 */
#ifndef RI_WORKER_H
#define RI_WORKER_H

#include "conn.h"
#include "conn_life.h"
#include "context.h"
#include "msg.h"
#include "peer.h"
#include "req_life.h"
#include "stream.h"
#include "types/worker_types.h"
#include "../../ucs/handle_map.h"

#include <pthread.h>

/* All workers of this process, by stock handle. It has a lock of its own. */
extern ri_map_t ri_worker_map;

/* The worker of this thread's latest call: progress is called over and over again. */
extern __thread ri_map_cache_t ri_worker_latest
        __attribute__((tls_model("initial-exec")));

/** @return The worker of a stock handle, or NULL if this library does not serve it. Any thread may
 * ask: the application must not destroy the worker meanwhile. */
static inline ri_worker_t *ri_worker_find(ucp_worker_h stock)
{
    return (ri_worker_t *)ri_map_get_cached(&ri_worker_map, &ri_worker_latest,
                                            (uintptr_t)stock);
}

/** What @ref ri_worker_enter does for a worker that is guarded. The time of waiting for the lock
 * counts. */
void ri_worker_enter_slow(ri_worker_t *worker);

/** What @ref ri_worker_leave does for a worker that is guarded. The time is counted as @a call if
 * this is the outermost call. */
void ri_worker_leave_slow(ri_worker_t *worker, ri_call_t call);

/** Lock a worker that several threads may enter; for others it does nothing. One thread may lock it
 * several times. */
static inline void ri_worker_lock(ri_worker_t *worker)
{
    if (ri_unlikely(worker->multi)) {
        pthread_mutex_lock(&worker->lock);
    }
}

/** Unlock what @ref ri_worker_lock has locked. */
static inline void ri_worker_unlock(ri_worker_t *worker)
{
    if (ri_unlikely(worker->multi)) {
        pthread_mutex_unlock(&worker->lock);
    }
}

/** Begin a call of the application: lock the worker, and time the call. @ref ri_worker_leave ends
 * it. */
static inline void ri_worker_enter(ri_worker_t *worker)
{
    if (ri_unlikely(worker->guarded)) {
        ri_worker_enter_slow(worker);
    }
}

/** End a call of the application: unlock the worker, and count its time as @a call. */
static inline void ri_worker_leave(ri_worker_t *worker, ri_call_t call)
{
    if (ri_unlikely(worker->guarded)) {
        ri_worker_leave_slow(worker, call);
    }
}

#endif
