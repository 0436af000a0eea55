/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls of UCP that block. They let go of the worker's lock while they wait: another thread may
 * have to send what is waited for.
 */
#ifndef RI_BLOCKING_H
#define RI_BLOCKING_H

#include "../core/types/types.h"

/**
 * Progress a worker until a request has ended, and free the request: what a blocking call of UCP
 * does. The worker is not locked by the caller; progress calls back.
 *
 * @param stock    Handle of the worker.
 * @param request  What a call that does not block has returned: a request, of stock or of this
 *                 library, or a status.
 *
 * @return The status of the request, or the status that was returned in place of one.
 */
ucs_status_t ri_blocking_wait(ucp_worker_h stock, ucs_status_ptr_t request);

#endif
