/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Channels that are not open: what is sent again when their way has failed. (channel_life.h)
 */
#ifndef RI_CHANNEL_RECOVER_H
#define RI_CHANNEL_RECOVER_H

#include "../core/worker.h"

/** Sender: go on, one round, with the channels of a worker: send again what was in those whose
 * way is gone, close those that were asked back, and end the way of those by which a write has
 * failed. What UCX has no memory for is tried by the next call. Any channel, and any conn, may
 * be gone afterwards. */
void ri_channel_recover_progress(ri_worker_t *worker);

#endif
