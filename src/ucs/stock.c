/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "stock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

ri_stock_t ri_stock;
_Atomic(int) ri_stock_resolved = 0;

static pthread_once_t stock_once = PTHREAD_ONCE_INIT;

/* RTLD_NEXT sees what is in the global scope behind this library. A loader that opened
 * libucp privately (RTLD_LOCAL) is served by a handle to the copy that is loaded. */
void *ri_stock_symbol(const char *name)
{
    static const char *const libs[] = {"libucp.so.0", "libucs.so.0"};
    void *sym                       = dlsym(RTLD_NEXT, name);
    size_t i;

    for (i = 0; (sym == NULL) && (i < sizeof(libs) / sizeof(libs[0])); ++i) {
        void *handle = dlopen(libs[i], RTLD_LAZY | RTLD_NOLOAD);

        if (handle != NULL) {
            sym = dlsym(handle, name);
            dlclose(handle); /* only drops the count that NOLOAD took */
        }
    }
    return sym;
}

static void stock_resolve_once(void)
{
    /* From 1.13 to 1.22 no public function was removed; one that is missing is fatal only
     * if it is called, and a NULL call names itself in any backtrace. The ones without
     * which nothing works are checked here. */
#define RI_STOCK_LOOKUP(_name) \
    ri_stock._name = (__typeof__(ri_stock._name))ri_stock_symbol("ucp_" #_name);
    RI_STOCK_FOREACH(RI_STOCK_LOOKUP)
#undef RI_STOCK_LOOKUP

    if ((ri_stock.get_version == NULL) || (ri_stock.init_version == NULL) ||
        (ri_stock.worker_progress == NULL) || (ri_stock.am_send_nbx == NULL)) {
        fprintf(stderr,
                "ucxri: fatal: a UCP function was called, but no usable libucp is "
                "loaded in this process (UCX 1.13 or later is needed)\n");
        abort();
    }

    ri_stock.ucs_status_string =
            (const char *(*)(ucs_status_t))ri_stock_symbol("ucs_status_string");
    ri_stock.ucs_memtype_cache_lookup = (__typeof__(ri_stock.ucs_memtype_cache_lookup))
            ri_stock_symbol("ucs_memtype_cache_lookup");
    ri_stock.get_version(&ri_stock.version_major, &ri_stock.version_minor,
                         &ri_stock.version_release);
    atomic_store_explicit(&ri_stock_resolved, 1, memory_order_release);
}

void ri_stock_resolve_once(void)
{
    pthread_once(&stock_once, stock_resolve_once);
}

const char *ri_stock_status_string(ucs_status_t status)
{
    return (ri_stock.ucs_status_string != NULL) ? ri_stock.ucs_status_string(status) :
                                                  "(no libucs)";
}
