/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of stock functions: what libucp itself provides under the names that this
 * library interposes, and the few functions of libucs that it uses.
 *
 * Nothing here is linked: the preload must be loadable into programs that have no UCX at
 * all (mpirun, sh), and the UCX of the process may be opened late and privately by an MPI.
 * So every symbol is looked up at the first call that needs it, and the calls go through
 * this table.
 */
#ifndef RI_STOCK_H
#define RI_STOCK_H

#include <ucp/api/ucp.h>
#include <ucs/memory/memory_type.h>
#include <ucs/memory/memtype_cache.h>

#include "base.h"

/* Every function of libucp that is interposed or called. */
/* clang-format off */
#define RI_STOCK_FOREACH(_f) \
    _f(config_read) \
    _f(config_modify) \
    _f(config_release) \
    _f(init_version) \
    _f(cleanup) \
    _f(get_version) \
    _f(context_query) \
    _f(worker_create) \
    _f(worker_destroy) \
    _f(worker_query) \
    _f(worker_get_address) \
    _f(worker_release_address) \
    _f(worker_address_query) \
    _f(worker_progress) \
    _f(worker_arm) \
    _f(worker_wait) \
    _f(worker_get_efd) \
    _f(worker_signal) \
    _f(worker_fence) \
    _f(worker_flush) \
    _f(worker_flush_nb) \
    _f(worker_flush_nbx) \
    _f(worker_set_am_handler) \
    _f(worker_set_am_recv_handler) \
    _f(ep_create) \
    _f(ep_close_nb) \
    _f(ep_close_nbx) \
    _f(ep_destroy) \
    _f(disconnect_nb) \
    _f(ep_flush) \
    _f(ep_flush_nb) \
    _f(ep_flush_nbx) \
    _f(ep_print_info) \
    _f(tag_send_nb) \
    _f(tag_send_nbr) \
    _f(tag_send_nbx) \
    _f(tag_send_sync_nb) \
    _f(tag_send_sync_nbx) \
    _f(tag_recv_nb) \
    _f(tag_recv_nbr) \
    _f(tag_recv_nbx) \
    _f(tag_probe_nb) \
    _f(tag_msg_recv_nb) \
    _f(tag_msg_recv_nbx) \
    _f(tag_recv_request_test) \
    _f(request_check_status) \
    _f(request_is_completed) \
    _f(request_test) \
    _f(request_query) \
    _f(request_cancel) \
    _f(request_free) \
    _f(request_release) \
    _f(dt_create_generic) \
    _f(dt_destroy) \
    _f(am_send_nb) \
    _f(am_send_nbx) \
    _f(am_recv_data_nbx) \
    _f(am_data_release) \
    _f(stream_send_nb) \
    _f(stream_send_nbx) \
    _f(stream_recv_nb) \
    _f(stream_recv_nbx) \
    _f(mem_map) \
    _f(mem_unmap) \
    _f(mem_query) \
    _f(rkey_pack) \
    _f(rkey_buffer_release) \
    _f(ep_rkey_unpack) \
    _f(rkey_destroy) \
    _f(rkey_ptr) \
    _f(put) \
    _f(put_nb) \
    _f(put_nbi) \
    _f(put_nbx) \
    _f(get) \
    _f(get_nb) \
    _f(get_nbi) \
    _f(get_nbx) \
    _f(atomic_post) \
    _f(atomic_fetch_nb) \
    _f(atomic_op_nbx)
/* clang-format on */

/* One pointer per function, of the type that the UCP header declares. */
typedef struct ri_stock {
#define RI_STOCK_MEMBER(_name) __typeof__(ucp_##_name) *_name;
    RI_STOCK_FOREACH(RI_STOCK_MEMBER)
#undef RI_STOCK_MEMBER

    /* Of libucs; NULL where the UCX at hand has no such function. */
    const char *(*ucs_status_string)(ucs_status_t status);
    ucs_status_t (*ucs_memtype_cache_lookup)(const void *address, size_t size,
                                             ucs_memory_info_t *info);

    unsigned version_major; /* of the stock library, from ucp_get_version */
    unsigned version_minor;
    unsigned version_release;
    size_t request_size; /* bytes in front of a handle that a stock request takes */
} ri_stock_t;

extern ri_stock_t ri_stock;

/* ri_stock is complete. */
extern _Atomic(int) ri_stock_resolved;

/** What @ref ri_stock_resolve does at the first call. */
void ri_stock_resolve_once(void);

/**
 * Look the stock functions up, once per process; every interposed entry point that may
 * be the first one of a process calls it before it touches @ref ri_stock. Ends the
 * process with a clear message if there is no libucp behind this library: there is no
 * status that every entry point could return.
 */
static inline void ri_stock_resolve(void)
{
    if (ri_unlikely(!atomic_load_explicit(&ri_stock_resolved, memory_order_acquire))) {
        ri_stock_resolve_once();
    }
}

/**
 * Find a symbol of the UCX libraries of this process (libucp, libucs), wherever and
 * however they were loaded.
 *
 * @return Its address, or NULL.
 */
void *ri_stock_symbol(const char *name);

/** @return Text for a status, which nobody frees; before libucs is there, only that it is not. */
const char *ri_stock_status_string(ucs_status_t status);

/** @return Whether the stock library is at least @a major.@a minor. */
static inline int ri_stock_version_at_least(unsigned major, unsigned minor)
{
    return (ri_stock.version_major > major) ||
           ((ri_stock.version_major == major) && (ri_stock.version_minor >= minor));
}

/** Do not wait for what a function of UCP has returned, if that is a request: it ends by itself. */
static inline void ri_stock_forget(ucs_status_ptr_t ret)
{
    if (UCS_PTR_IS_PTR(ret)) {
        ri_stock.request_free(ret);
    }
}

#endif
