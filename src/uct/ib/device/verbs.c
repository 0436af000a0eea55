/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All functions are looked up once. A preloaded software device goes before the library.
 */
#include "verbs.h"

#if HAVE_VERBS

#include "../../../ucs/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define VERBS_LIBRARY "libibverbs.so.1"

ri_verbs_t ri_verbs;

static pthread_once_t verbs_once = PTHREAD_ONCE_INIT;

/* Where the functions come from. */
typedef struct verbs_source {
    void *handle;     /* NULL: the global scope */
    const void *base; /* of the one object there that counts */
} verbs_source_t;

static const void *verbs_object_of(const void *symbol)
{
    Dl_info info;

    return ((symbol != NULL) && (dladdr(symbol, &info) != 0)) ? info.dli_fbase : NULL;
}

/* All functions come from one object. A preloaded device may lack some, which a real library
 * behind it would provide: for objects of its own, and not for those of the other. */
static void *verbs_symbol(const verbs_source_t *source, const char *name)
{
    void *symbol;

    if (source->handle != NULL) {
        return dlsym(source->handle, name);
    }
    symbol = dlsym(RTLD_DEFAULT, name);
    return (verbs_object_of(symbol) == source->base) ? symbol : NULL;
}

static ucs_status_t verbs_source_init(verbs_source_t *source)
{
    source->handle = NULL;
    source->base   = verbs_object_of(dlsym(RTLD_DEFAULT, "ibv_get_device_list"));
    if (source->base == NULL) {
        /* Stays open: devices have threads and memory of their own */
        source->handle = dlopen(VERBS_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    }
    if ((source->base == NULL) && (source->handle == NULL)) {
        ri_debug("libibverbs cannot be loaded: %s", dlerror());
        return UCS_ERR_UNSUPPORTED;
    }
    return UCS_OK;
}

static void verbs_resolve_once(void)
{
    const char *missing = NULL;
    verbs_source_t source;

    if (verbs_source_init(&source) != UCS_OK) {
        return;
    }

#define VERBS_LOOKUP(_name) \
    ri_verbs._name = (__typeof__(ri_verbs._name))verbs_symbol(&source, "ibv_" #_name); \
    missing        = (ri_verbs._name == NULL) ? "ibv_" #_name : missing;
    RI_VERBS_FOREACH(VERBS_LOOKUP)
#undef VERBS_LOOKUP

    ri_verbs.query_gid_ex = (__typeof__(ri_verbs.query_gid_ex))verbs_symbol(&source,
                                                                            "_ibv_query_"
                                                                            "gid_ex");
#define VERBS_OPTIONAL(_name) \
    ri_verbs._name = (__typeof__(ri_verbs._name))verbs_symbol(&source, "ibv_" #_name)
    VERBS_OPTIONAL(wc_status_str);
    VERBS_OPTIONAL(query_pkey);
    VERBS_OPTIONAL(get_async_event);
    VERBS_OPTIONAL(ack_async_event);
#undef VERBS_OPTIONAL
    if (missing != NULL) {
        ri_debug("libibverbs cannot be used: it has no function %s", missing);
        memset(&ri_verbs, 0, sizeof(ri_verbs));
    }
}

ucs_status_t ri_verbs_resolve(void)
{
    pthread_once(&verbs_once, verbs_resolve_once);
    return (ri_verbs.get_device_list == NULL) ? UCS_ERR_UNSUPPORTED : UCS_OK;
}

int ri_verbs_query_port(struct ibv_context *context, uint8_t port,
                        struct ibv_port_attr *attr)
{
    struct verbs_context *verbs = verbs_get_ctx_op(context, query_port);

    memset(attr, 0, sizeof(*attr));
    if (verbs != NULL) {
        return verbs->query_port(context, port, attr, sizeof(*attr));
    }
    return ri_verbs.query_port(context, port, (struct _compat_ibv_port_attr *)attr);
}

struct ibv_qp *ri_verbs_create_qp_inline(struct ibv_pd *pd, struct ibv_qp_init_attr *init,
                                         uint32_t most)
{
    struct ibv_qp_init_attr asked = *init;
    const uint32_t sizes[]        = {most, 128, 64, 32, 0};
    struct ibv_qp *qp             = NULL;
    unsigned i;

    for (i = 0; (i < sizeof(sizes) / sizeof(*sizes)) && (qp == NULL); ++i) {
        if ((i == 0) || (sizes[i] < most)) {
            *init                     = asked;
            init->cap.max_inline_data = sizes[i];
            qp                        = ri_verbs.create_qp(pd, init);
        }
    }
    return qp;
}

const char *ri_verbs_status_string(enum ibv_wc_status status)
{
    return (ri_verbs.wc_status_str == NULL) ? "unknown" : ri_verbs.wc_status_str(status);
}

#endif
