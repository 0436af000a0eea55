/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a buffer lives. What is not host memory (GPU memory, where this UCX supports it)
 * is moved by UCP alone.
 */
#ifndef RI_MEMORY_H
#define RI_MEMORY_H

#include "worker_types.h"

/** @return What @ref ri_memory_type says where there is more than one kind of memory. What the
 * application has said in @a param counts first; of a list the first entry stands for all; a
 * generic type, and data of no length, is the host's. */
ucs_memory_type_t ri_memory_type_slow(const ri_dt_data_t *data,
                                      const ucp_request_param_t *param);

/** What @ref ri_memory_note_generic does with generic data. */
void ri_memory_note_generic_slow(ri_worker_t *worker, ri_dt_data_t *data,
                                 const ucp_request_param_t *param);

/** An operation has begun: its generic data is counted, and left to the callbacks if it is not in
 * host memory. Other data will do. */
static inline void ri_memory_note_generic(ri_worker_t *worker, ri_dt_data_t *data,
                                          const ucp_request_param_t *param)
{
    if (ri_unlikely(data->generic != NULL)) {
        ri_memory_note_generic_slow(worker, data, param);
    }
}

/** @return Whether this was compiled for a kind of memory: a newer UCX has more. */
static inline int ri_memory_is_known(unsigned type)
{
    return type < UCS_MEMORY_TYPE_LAST;
}

/** @return The kind of memory of @a data; UCS_MEMORY_TYPE_UNKNOWN if only UCP can tell. */
static inline ucs_memory_type_t ri_memory_type(ri_worker_t *worker,
                                               const ri_dt_data_t *data,
                                               const ucp_request_param_t *param)
{
    return ri_likely(worker->host_memory) ? UCS_MEMORY_TYPE_HOST :
                                            ri_memory_type_slow(data, param);
}

/** @return Whether the processor may read and write memory: as UCX has seen it being allocated. */
int ri_memory_range_is_host(const void *address, size_t length);

/** @return What ri_memory_range_is_host() says, which is not asked where there is one kind only. */
static inline int ri_memory_at_is_host(const ri_worker_t *worker, const void *address,
                                       size_t length)
{
    return ri_likely(worker->host_memory) || ri_memory_range_is_host(address, length);
}

/** @return Whether the processor may read and write the buffer of @a data. */
static inline int ri_memory_is_host(ri_worker_t *worker, const ri_dt_data_t *data,
                                    const ucp_request_param_t *param)
{
    return ri_memory_type(worker, data, param) == UCS_MEMORY_TYPE_HOST;
}

/** @return Whether the processor may write the memory of a receive. */
static inline int ri_memory_of_recv_is_host(const ri_recv_req_t *recv)
{
    return ri_likely(recv->super.worker->host_memory) ||
           (recv->data.memory_type == UCS_MEMORY_TYPE_HOST);
}

/** Tell stock what kind of memory an operation is on, if it is known. */
static inline void ri_memory_hint(ucs_memory_type_t type, ucp_request_param_t *param)
{
    if (type != UCS_MEMORY_TYPE_UNKNOWN) {
        param->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
        param->memory_type = type;
    }
}

#endif
