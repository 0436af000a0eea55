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

#include "worker.h"

/* Seconds between two looks, at least: they take some system calls for each peer. Tests
 * change it. */
extern double ri_gone_interval;

/** Look for peers that something waits for and that are gone, and end what waits for them.
 * To be called by progress, as often as it likes: it takes the time. */
void ri_gone_check(ri_worker_t *worker);

#endif
