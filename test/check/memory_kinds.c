/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Preloaded behind libucxri.so, makes it believe that this UCX handles other memory than
 * the host's, and that every second buffer, by its address, is of a kind that only UCP can
 * tell. Stock is not told, and finds host memory. So what the library does for GPU memory
 * runs on stock UCX without a GPU.
 */
#include <dlfcn.h>
#include <ucp/api/ucp.h>
#include <ucs/memory/memtype_cache.h>

ucs_status_t ucp_context_query(ucp_context_h context, ucp_context_attr_t *attr)
{
    __typeof__(ucp_context_query) *stock = (__typeof__(stock))dlsym(RTLD_NEXT,
                                                                    "ucp_context_query");
    ucs_status_t status                  = stock(context, attr);

    attr->memory_types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA);
    return status;
}

ucs_status_t ucs_memtype_cache_lookup(const void *address, size_t size,
                                      ucs_memory_info_t *info)
{
    if ((((uintptr_t)address * 0x9e3779b97f4a7c15ul) >> 63) == 0) {
        return UCS_ERR_NO_ELEM;
    }
    info->type = UCS_MEMORY_TYPE_UNKNOWN;
    return UCS_OK;
}
