/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * UCS is asked, which keeps a map of the memory that is not the host's.
 */
#include "memory.h"
#include "../../ucs/stock.h"

static ucs_memory_type_t memory_lookup(const void *address, size_t length)
{
    ucs_memory_info_t info;
    ucs_status_t status;

    /* UCS keeps a map of the memory that is not the host's; what is not in it, is. */
    status = ri_stock.ucs_memtype_cache_lookup(address, length, &info);
    if (status == UCS_ERR_NO_ELEM) {
        return UCS_MEMORY_TYPE_HOST;
    }
    return ((status == UCS_OK) && ri_memory_is_known(info.type)) ?
                   (ucs_memory_type_t)info.type :
                   UCS_MEMORY_TYPE_UNKNOWN;
}

int ri_memory_range_is_host(const void *address, size_t length)
{
    return (ri_stock.ucs_memtype_cache_lookup == NULL) || (length == 0) ||
           (memory_lookup(address, length) == UCS_MEMORY_TYPE_HOST);
}

ucs_memory_type_t ri_memory_type_slow(const ri_dt_data_t *data,
                                      const ucp_request_param_t *param)
{
    const void *address = data->buffer;
    size_t length       = data->length;

    if (data->generic != NULL) {
        return UCS_MEMORY_TYPE_HOST; /* its callbacks touch it, not we */
    }
    if ((param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) &&
        ri_memory_is_known(param->memory_type)) {
        return param->memory_type;
    }
    if (data->is_iov) {
        /* One entry stands for all, as in stock. */
        const ucp_dt_iov_t *iov = data->buffer;

        address = (data->count > 0) ? iov[0].buffer : NULL;
        length  = (data->count > 0) ? iov[0].length : 0;
    }
    if ((ri_stock.ucs_memtype_cache_lookup == NULL) || (length == 0)) {
        return UCS_MEMORY_TYPE_HOST;
    }
    return memory_lookup(address, length);
}

/* Whether the processor may touch the first run of the data, which stands for all. */
static int memory_is_touched(const ri_dt_data_t *data, const ucp_request_param_t *param)
{
    const char *first = (const char *)data->buffer + ri_dt_layout(data)->root.disp;

    if ((param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) &&
        ri_memory_is_known(param->memory_type)) {
        return param->memory_type == UCS_MEMORY_TYPE_HOST;
    }
    return (ri_stock.ucs_memtype_cache_lookup == NULL) || (data->length == 0) ||
           (memory_lookup(first, 1) == UCS_MEMORY_TYPE_HOST);
}

void ri_memory_note_generic_slow(ri_worker_t *worker, ri_dt_data_t *data,
                                 const ucp_request_param_t *param)
{
    if (data->has_layout && !worker->host_memory && !memory_is_touched(data, param)) {
        data->has_layout = 0;
    }
    if (data->has_layout) {
        ++worker->counters.dt_known;
    } else {
        ++worker->counters.dt_unknown;
    }
}
