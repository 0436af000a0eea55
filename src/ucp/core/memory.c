/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "memory.h"
#include "../preload/stock.h"

#include <ucs/memory/memtype_cache.h>

/* UCS keeps a map of the memory that is not the host's; what is not in it, is. */
typedef ucs_status_t (*memory_lookup_func_t)(const void *address, size_t size,
                                             ucs_memory_info_t *info);

static memory_lookup_func_t memory_lookup;

void ri_memory_init(void)
{
    memory_lookup = (memory_lookup_func_t)ri_stock_symbol("ucs_memtype_cache_lookup");
}

int ri_memory_is_host_slow(const ri_dt_data_t *data, const ucp_request_param_t *param)
{
    const void *address = data->buffer;
    size_t length       = data->length;
    ucs_memory_info_t info;
    ucs_status_t status;

    if (param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE) {
        return param->memory_type == UCS_MEMORY_TYPE_HOST;
    }
    if (data->generic != NULL) {
        return 1; /* its callbacks touch it, not we */
    }
    if (data->is_iov) {
        /* One entry stands for all, as in stock. */
        const ucp_dt_iov_t *iov = data->buffer;

        address = (data->count > 0) ? iov[0].buffer : NULL;
        length  = (data->count > 0) ? iov[0].length : 0;
    }
    if ((memory_lookup == NULL) || (length == 0)) {
        return 1;
    }
    status = memory_lookup(address, length, &info);
    return (status == UCS_ERR_NO_ELEM) ||
           ((status == UCS_OK) && (info.type == UCS_MEMORY_TYPE_HOST));
}
