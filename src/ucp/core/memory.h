/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kind of memory that a buffer is in. Memory that is not the host's (GPU memory, where this UCX
 * supports it) is moved by UCP alone.
 */
#ifndef RI_MEMORY_H
#define RI_MEMORY_H

#include "types/worker_types.h"

/** @return The kind of memory of @a data, where there is more than one kind;
 * UCS_MEMORY_TYPE_UNKNOWN if only UCP can tell. Data of a generic type is the host's, as its
 * callbacks touch it. Of other data, what the application has said in @a param counts first. Of a
 * list the first entry stands for all. Data of no length is the host's. */
ucs_memory_type_t ri_memory_type_slow(const ri_dt_data_t *data,
                                      const ucp_request_param_t *param);

/** What @ref ri_memory_note_generic does with generic data. */
void ri_memory_note_generic_slow(ri_worker_t *worker, ri_dt_data_t *data,
                                 const ucp_request_param_t *param);

/** An operation has begun: if its data is of a generic type, count it, and leave it to the
 * application's callbacks if it is not in host memory. Data of other types is left as it is. */
static inline void ri_memory_note_generic(ri_worker_t *worker, ri_dt_data_t *data,
                                          const ucp_request_param_t *param)
{
    if (ri_unlikely(data->generic != NULL)) {
        ri_memory_note_generic_slow(worker, data, param);
    }
}

/** @return Whether this library was compiled for a kind of memory: a newer UCX has more. */
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

/** @return Whether the processor may read and write a range of memory, as far as UCX has seen what
 * was allocated there. An empty range is fine. */
int ri_memory_range_is_host(const void *address, size_t length);

/** @return Whether the processor may read and write a range of memory: ri_memory_range_is_host(),
 * which is not called where there is one kind of memory only. Any thread may ask. */
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
