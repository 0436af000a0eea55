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

/** Look for peers that something waits for and that are gone, and fail their conns that are not
 * in mode PEER, and what else waits for them. Progress may call it as often as it likes: it
 * looks once in ri_gone_interval. Calls back; any conn, stream or peer may be gone afterwards. */
void ri_gone_check(ri_worker_t *worker);

/**
 * The application is about to sleep until UCX has an event for it: the end of a peer is none, so a
 * timer wakes it up to look for those that something waits for. Without a timer, which may be
 * impossible, it just sleeps.
 *
 * @return Whether it must not sleep, as progress has to look now.
 */
int ri_gone_arm(ri_worker_t *worker);

/** The events that the application waits for are not this library's to add to. */
static inline void ri_gone_never_wake(ri_worker_t *worker)
{
    worker->gone.never_wakes = 1;
}

#endif
