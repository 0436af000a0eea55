/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A context that this library serves: one that asked for tag matching while recv_init was
 * selected. All others are left to stock.
 */
#ifndef RI_CONTEXT_H
#define RI_CONTEXT_H

#include "types.h"

#include <sys/types.h>

struct ri_context {
    ucp_context_h stock;
    pid_t pid;           /* of its process; a child by fork() is another one */
    uint64_t features;   /* as the application asked */
    size_t request_size; /* the application's part of a request */
    ucp_request_init_callback_t request_init; /* NULL if none */
    ucp_request_cleanup_callback_t request_cleanup;
    uint64_t sender_mask;  /* bits of a tag that tell its sender, 0: not known */
    uint64_t memory_types; /* that this UCX can handle */
    ucs_list_link_t list;  /* in the list of all contexts */
    ucs_list_link_t workers;
};

/** @return The context of a stock handle, or NULL if it is not ours. */
ri_context_t *ri_context_find(ucp_context_h stock);

/** Take a stock context over; @a params as the application gave them. */
ucs_status_t ri_context_create(ucp_context_h stock, const ucp_params_t *params);

/** Forget a context whose stock part is about to go; it has no workers any more. */
void ri_context_destroy(ri_context_t *context);

/** Enter or remove a worker in the list that reports at exit go through. */
void ri_context_add_worker(ri_context_t *context, ri_worker_t *worker);
void ri_context_remove_worker(ri_context_t *context, ri_worker_t *worker);

/** Call @a func for every worker of every context of this process, under the list's lock. */
void ri_context_foreach_worker(void (*func)(ri_worker_t *worker, void *arg), void *arg);

/**
 * How many bytes a request needs in front of its handle: what ucp_context_query reports,
 * and what applications that bring their own request memory provide.
 */
size_t ri_request_headroom(void);

#endif
