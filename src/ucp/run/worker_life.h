/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a worker, as the folders see it: what is made with it, and in which order it ends.
 */
#ifndef RI_WORKER_LIFE_H
#define RI_WORKER_LIFE_H

#include "../core/worker.h"

/**
 * Take a stock worker over, which nobody else knows: its active messages come here from now on.
 *
 * @param context   Gets the new worker.
 * @param stock     Its handle finds the new worker. It is the caller's, also after an error.
 * @param worker_p  Set to the new worker.
 *
 * @return UCS_OK, or an error; then nothing is left but perhaps empty handlers of active messages.
 */
ucs_status_t ri_worker_create(ri_context_t *context, ucp_worker_h stock,
                              ri_worker_t **worker_p);

/** End everything under way and give up what is held of stock, which the caller destroys next: that
 * may still call back, so the memory goes after it, by @ref ri_worker_free. The worker is not
 * locked, as nobody else knows it any more. It may wait for peers for a moment. Calls back; handles
 * do not find the worker any more afterwards. */
void ri_worker_destroy(ri_worker_t *worker);

/** Free the memory of a destroyed worker, when stock's is gone, too, and nobody else knows it. The
 * application's cleanup runs for each request of the pool. */
void ri_worker_free(ri_worker_t *worker);

#endif
