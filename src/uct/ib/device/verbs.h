/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of libibverbs functions.
 *
 * Nothing here is linked: the library is preloaded into programs that have no use for
 * verbs, on machines without libibverbs. So it is opened when a plane first asks for it.
 * What is in the process already, as a preloaded software device is, goes first.
 *
 * The functions that a transfer takes (post, poll) are inline in verbs.h and go through
 * the table of the device's own driver. Two others must not be called by their names:
 * ibv_query_port is an inline function in verbs.h that may call the library, and
 * ibv_reg_mr a macro that may call a second function of it.
 */
#ifndef RI_VERBS_H
#define RI_VERBS_H

/* configure says; builds without it look for the header themselves. */
#ifndef HAVE_VERBS
#if __has_include(<infiniband/verbs.h>)
#define HAVE_VERBS 1
#else
#define HAVE_VERBS 0
#endif
#endif

#if HAVE_VERBS

#include "../../../ucs/base.h"

#include <infiniband/verbs.h>

/* Every function without which there is no plane. */
/* clang-format off */
#define RI_VERBS_FOREACH(_f) \
    _f(get_device_list) \
    _f(free_device_list) \
    _f(get_device_name) \
    _f(open_device) \
    _f(close_device) \
    _f(query_device) \
    _f(query_port) \
    _f(query_gid) \
    _f(alloc_pd) \
    _f(dealloc_pd) \
    _f(reg_mr) \
    _f(dereg_mr) \
    _f(create_cq) \
    _f(destroy_cq) \
    _f(create_qp) \
    _f(modify_qp) \
    _f(destroy_qp) \
    _f(create_ah) \
    _f(destroy_ah)
/* clang-format on */

/* One pointer per function, of the type that verbs.h declares. */
typedef struct ri_verbs {
#define RI_VERBS_MEMBER(_name) __typeof__(ibv_##_name) *_name;
    RI_VERBS_FOREACH(RI_VERBS_MEMBER)
#undef RI_VERBS_MEMBER

    /* NULL where the library at hand has no such function. */
    __typeof__(_ibv_query_gid_ex) *query_gid_ex;
    __typeof__(ibv_wc_status_str) *wc_status_str;
    __typeof__(ibv_query_pkey) *query_pkey;
    __typeof__(ibv_get_async_event) *get_async_event;
    __typeof__(ibv_ack_async_event) *ack_async_event;
} ri_verbs_t;

extern ri_verbs_t ri_verbs;

/**
 * Look the functions up, once per process.
 *
 * @return UCS_OK; UCS_ERR_UNSUPPORTED if there is no libibverbs that has them all.
 */
ucs_status_t ri_verbs_resolve(void);

/** ibv_query_port, which fills more of @a attr than the function of that name. What is not filled
 * is 0. @return 0 or an error number. */
int ri_verbs_query_port(struct ibv_context *context, uint8_t port,
                        struct ibv_port_attr *attr);

/**
 * ibv_create_qp for a queue pair whose work requests hold short data themselves, as far as the
 * device can do that: it says only whether it can.
 *
 * @param init  init->cap.max_inline_data is how much they hold, afterwards.
 * @param most  Bytes that are of use.
 *
 * @return NULL: none can be made, and errno says why.
 */
struct ibv_qp *ri_verbs_create_qp_inline(struct ibv_pd *pd, struct ibv_qp_init_attr *init,
                                         uint32_t most);

/** @return Text for the status of a completion. */
const char *ri_verbs_status_string(enum ibv_wc_status status);

#endif

#endif
