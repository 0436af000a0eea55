/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Peers that have ended without a word. In other error modes than PEER, and over shared memory
 * in any, UCX does not notice that. A plane tells whether the process of a peer still exists;
 * so it is asked now and then about peers that something waits for.
 */
#ifndef RI_GONE_H
#define RI_GONE_H

#include "../core/worker.h"

/* Seconds between two looks, at least: they take some system calls for each peer. Tests
 * change it. */
extern double ri_gone_interval;

/* Seconds between two looks while the application sleeps. */
extern double ri_gone_sleep;

/** Look whether peers that something waits for are gone. If one is, fail its conns that are not in
 * mode PEER, and all else that waits for it. Progress may call this as often as it likes: it looks
 * once in ri_gone_interval. It may call the application; any conn, stream or peer may be gone
 * afterwards. */
void ri_gone_check(ri_worker_t *worker);

/** The application is about to sleep until UCX has an event for it. The end of a peer is no event
 * of UCX, so a timer is set that wakes the application up to look for peers that something waits
 * for. If no timer can be had, the application sleeps without. @return Whether it must not sleep,
 * as progress has to look now. */
int ri_gone_arm(ri_worker_t *worker);

/** The application will wait for events of a new worker, which nobody else knows, in a way to which
 * this library cannot add a timer: ri_gone_arm() sets none from now on. */
static inline void ri_gone_never_wake(ri_worker_t *worker)
{
    worker->gone.never_wakes = 1;
}

#endif
