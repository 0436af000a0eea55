/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The first step of every interposed function: find out whether the handle is served by this
 * library, and enter its worker.
 *
 * Locking. libucp calls its own public functions through the PLT, so an interposed
 * function may be entered from inside stock, with stock's worker lock held. If that were
 * ever the case without this library's lock of the same worker being held already, two
 * threads could each wait for the other's lock. Therefore every function in which stock may
 * call the application or an interposed function back is interposed, if only to take this
 * library's lock first; it is recursive, so the inner calls pass. Workers that are not
 * MULTI have no lock at all.
 */
#ifndef RI_GUARD_H
#define RI_GUARD_H

#include "../../ucs/stock.h"
#include "../core/worker.h"

#include <string.h>

/** How many MULTI workers this process has; while it is 0, nothing is ever locked. */
extern _Atomic(unsigned) ri_multi_workers;

/** @return Whether a call of stock may need the lock of a worker at all in this process. */
static inline int ri_guard_needed(void)
{
    return ri_unlikely(atomic_load_explicit(&ri_multi_workers, memory_order_relaxed) !=
                       0);
}

/** Lock the worker of a handle, if it may need that, to call a stock function on it that needs
 * nothing else. The handle may be one that this library does not serve. @return What @ref
 * ri_guard_leave takes; NULL if there is nothing to leave. */
static inline ri_worker_t *ri_guard_worker(ucp_worker_h stock)
{
    ri_worker_t *worker = ri_guard_needed() ? ri_worker_find(stock) : NULL;

    if (worker != NULL) {
        ri_worker_lock(worker);
    }
    return worker;
}

/** Lock the worker of an endpoint, if it may need that, to call a stock function on it that needs
 * nothing else. The endpoint may be one that this library does not serve. @return What @ref
 * ri_guard_leave takes; NULL if there is nothing to leave. */
static inline ri_worker_t *ri_guard_ep(ucp_ep_h ep)
{
    ri_conn_t *conn = ri_guard_needed() ? ri_conn_find(ep) : NULL;

    if (conn == NULL) {
        return NULL;
    }
    ri_worker_lock(conn->worker);
    return conn->worker;
}

/** Unlock what ri_guard_worker() or ri_guard_ep() has returned, which may be NULL. */
static inline void ri_guard_leave(ri_worker_t *worker)
{
    if (worker != NULL) {
        ri_worker_unlock(worker);
    }
}

/* Room for the fields of a parameter structure that this library does not know: a mask has 64 bits,
 * and each field is taken to be a word. */
#define RI_PARAMS_EXTRA_BYTES (64 * sizeof(uint64_t))

/**
 * Copy an application's parameter structure. It may be of a newer UCX than this library was built
 * with: for every field that is not known here, one more word is read behind the structure.
 *
 * @param dst      Of @a size + RI_PARAMS_EXTRA_BYTES bytes; what is not copied is 0.
 * @param size     Of the structure as this library knows it.
 * @param unknown  Bits of its field mask that this library does not know.
 */
static inline void ri_guard_copy_params(void *dst, const void *src, size_t size,
                                        uint64_t unknown)
{
    memset(dst, 0, size + RI_PARAMS_EXTRA_BYTES);
    memcpy(dst, src, size + __builtin_popcountll(unknown) * sizeof(uint64_t));
}

#endif
