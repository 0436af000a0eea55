/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a buffer lives. What is not host memory (GPU memory, where this UCX supports it)
 * is moved by UCP alone.
 */
#ifndef RI_MEMORY_H
#define RI_MEMORY_H

#include "worker.h"

/** Find out what kinds of memory a context handles besides the host's. */
void ri_memory_init(void);

/** The answer where there is more than one kind of memory. */
int ri_memory_is_host_slow(const ri_dt_data_t *data, const ucp_request_param_t *param);

/** @return Whether the processor may read and write the buffer of @a data. */
static inline int ri_memory_is_host(ri_worker_t *worker, const ri_dt_data_t *data,
                                    const ucp_request_param_t *param)
{
    return ri_likely(worker->host_memory) || ri_memory_is_host_slow(data, param);
}

#endif
