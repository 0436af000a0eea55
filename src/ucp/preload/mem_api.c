/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Interposed: memory for one-sided operations, and the keys by which others reach it. Handles are
 * stock's. In front of a packed key stands what this library says of the memory (wire/rkey.h).
 */
#include "../core/conn.h"
#include "../core/context.h"
#include "../core/memory.h"
#include "../rma/describe.h"
#include "../rma/region.h"
#include "../rma/rkey.h"
#include "../../ucs/log.h"
#include "../../ucs/settings.h"
#include "../../ucs/stock.h"

#include <stdlib.h>
#include <string.h>

/* Keys that this library has packed, by their address. */
static ri_map_t packed_keys = RI_MAP_INITIALIZER;

/* The fields of a mapping that are known here: others may mean that memory is not this
 * process's. */
#define MEM_KNOWN_FIELDS \
    (UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | \
     UCP_MEM_MAP_PARAM_FIELD_FLAGS | UCP_MEM_MAP_PARAM_FIELD_PROT | \
     UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE)

/* Where memory is, as its mapping was asked for, or as stock has chosen where it has allocated it:
 * an address is a hint then. @return Whether it is known. */
static int mem_range(ucp_mem_h memh, const ucp_mem_map_params_t *params,
                     ucp_mem_attr_t *attr)
{
    unsigned flags = (params->field_mask & UCP_MEM_MAP_PARAM_FIELD_FLAGS) ?
                             params->flags :
                             0;

    if (params->field_mask & ~(uint64_t)MEM_KNOWN_FIELDS) {
        return 0;
    }
    if (!(flags & UCP_MEM_MAP_ALLOCATE) &&
        (params->field_mask & UCP_MEM_MAP_PARAM_FIELD_ADDRESS) &&
        (params->field_mask & UCP_MEM_MAP_PARAM_FIELD_LENGTH)) {
        attr->address = params->address;
        attr->length  = params->length;
        return params->address != NULL;
    }
    attr->field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH;
    return ri_stock.mem_query(memh, attr) == UCS_OK;
}

/* Memory of a kind that was named, or that UCX knows. */
static int mem_is_host(const ucp_mem_map_params_t *params, const ucp_mem_attr_t *attr)
{
    if ((params->field_mask & UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE) &&
        ri_memory_is_known(params->memory_type)) {
        return params->memory_type == UCS_MEMORY_TYPE_HOST;
    }
    return ri_memory_range_is_host(attr->address, attr->length);
}

ucs_status_t ucp_mem_map(ucp_context_h stock, const ucp_mem_map_params_t *params,
                         ucp_mem_h *memh_p)
{
    ucp_mem_attr_t attr;
    ucs_status_t status;

    ri_stock_resolve();
    status = ri_stock.mem_map(stock, params, memh_p);
    if ((status == UCS_OK) && (ri_context_find(stock) != NULL) && ri_config.rma &&
        mem_range(*memh_p, params, &attr) && mem_is_host(params, &attr)) {
        ri_region_add(*memh_p, attr.address, attr.length);
    }
    return status;
}

ucs_status_t ucp_mem_unmap(ucp_context_h stock, ucp_mem_h memh)
{
    ri_stock_resolve();
    ri_region_remove(memh);
    return ri_stock.mem_unmap(stock, memh);
}

/* Put this library's part in front of a key of stock's. */
static void *rkey_wrap(const ri_wire_rkey_t *own, const void *key, size_t size)
{
    char *packed = malloc(sizeof(*own) + size);

    if (packed == NULL) {
        return NULL;
    }
    memcpy(packed, own, sizeof(*own));
    memcpy(packed + sizeof(*own), key, size);
    if (ri_map_put(&packed_keys, (uintptr_t)packed, packed) != UCS_OK) {
        free(packed);
        return NULL;
    }
    return packed;
}

/* @return Whether the application may ask for atomic operations on memory of a context. */
static int mem_has_atomics(ucp_context_h stock)
{
    const ri_context_t *context = ri_context_find(stock);

    return (context != NULL) &&
           ((context->features & (UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64)) != 0);
}

/* Without memory for more, stock's key alone is good, too. */
ucs_status_t ucp_rkey_pack(ucp_context_h stock, ucp_mem_h memh, void **rkey_buffer_p,
                           size_t *size_p)
{
    ri_wire_rkey_t own;
    ucs_status_t status;
    void *packed;

    ri_stock_resolve();
    status = ri_stock.rkey_pack(stock, memh, rkey_buffer_p, size_p);
    if ((status != UCS_OK) ||
        (ri_describe(memh, mem_has_atomics(stock), &own) != UCS_OK)) {
        return status;
    }
    packed = rkey_wrap(&own, *rkey_buffer_p, *size_p);
    if (packed != NULL) {
        ri_stock.rkey_buffer_release(*rkey_buffer_p);
        *rkey_buffer_p = packed;
        *size_p += sizeof(own);
    }
    return UCS_OK;
}

void ucp_rkey_buffer_release(void *rkey_buffer)
{
    ri_stock_resolve();
    if (ri_map_remove(&packed_keys, (uintptr_t)rkey_buffer) != NULL) {
        free(rkey_buffer);
    } else {
        ri_stock.rkey_buffer_release(rkey_buffer);
    }
}

/* Stock unpacks its own keys, which it gets with messages, through this function, too. */
ucs_status_t ucp_ep_rkey_unpack(ucp_ep_h ep, const void *rkey_buffer, ucp_rkey_h *rkey_p)
{
    ucs_status_t is_own, status;
    const void *stock_key;
    ri_wire_rkey_t own;

    ri_stock_resolve();
    is_own = ri_wire_rkey_parse(rkey_buffer, &stock_key, &own);
    status = ri_stock.ep_rkey_unpack(ep, stock_key, rkey_p);
    if (status != UCS_OK) {
        return status;
    }
    if (is_own == UCS_OK) {
        if (ri_config.rma && (ri_conn_find(ep) != NULL)) {
            ri_rkey_add(*rkey_p, &own);
        }
    } else if (is_own != UCS_ERR_NO_ELEM) {
        ri_info("one-sided operations with a process go by UCX: its keys are of another "
                "version");
    }
    return UCS_OK;
}

void ucp_rkey_destroy(ucp_rkey_h rkey)
{
    ri_stock_resolve();
    ri_rkey_remove(rkey);
    ri_stock.rkey_destroy(rkey);
}

/* Memory that this process has mapped for the key may be used by its processor. */
ucs_status_t ucp_rkey_ptr(ucp_rkey_h rkey, uint64_t raddr, void **addr_p)
{
    const ri_rkey_t *own = ri_rkey_find(rkey);
    ucs_status_t status;

    ri_stock_resolve();
    status = ri_stock.rkey_ptr(rkey, raddr, addr_p);
    if ((status == UCS_OK) || (own == NULL) || (own->access != RI_RKEY_MAPPED) ||
        !ri_rkey_has(own, raddr, 0)) {
        return status;
    }
    *addr_p = ri_rkey_local(own, raddr);
    return UCS_OK;
}
