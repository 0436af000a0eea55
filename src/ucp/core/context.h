/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A context that this library serves: one that asked for tag matching or one-sided operations while
 * recv_init was selected. All others are left to stock.
 */
#ifndef RI_CONTEXT_H
#define RI_CONTEXT_H

#include "types/types.h"

#include <sys/types.h>

/* Only the two lists change after ri_context_create(). */
struct ri_context {
    ucp_context_h stock; /* the handle that the application has */
    pid_t pid;           /* of its process; a child by fork() is another one */
    uint64_t features;   /* as the application asked */
    size_t request_size; /* the application's part of a request */
    ucp_request_init_callback_t request_init;       /* the application's, or NULL */
    ucp_request_cleanup_callback_t request_cleanup; /* the application's, or NULL */
    uint64_t sender_mask;  /* bits of a tag that tell its sender, 0: not known */
    uint64_t memory_types; /* that this UCX can handle */
    ucs_list_link_t list;  /* in the list of all contexts; under the lock of that list */
    /* its workers, by ri_worker_t.list; under the lock of the list of contexts */
    ucs_list_link_t workers;
};

/* Whether a context for which recv_init was selected was left to stock all the same, because it
 * asked for one-sided operations alone, and UCXRI_RMA is n. Set by ucp_init_version(). */
extern _Atomic(int) ri_context_left;

/** @return The context of a stock handle, or NULL if it is not ours. Any thread may ask. */
ri_context_t *ri_context_find(ucp_context_h stock);

/**
 * Take a stock context over; @a params as the application gave them, with their field mask. The
 * first one fixes the headroom of requests. Any thread may call it.
 *
 * @return UCS_OK; UCS_ERR_UNSUPPORTED if requests of this UCX have too little room,
 *         UCS_ERR_NO_MEMORY, or UCX's error. Then nothing is kept, and @a stock is the caller's to
 *         clean up.
 */
ucs_status_t ri_context_create(ucp_context_h stock, const ucp_params_t *params);

/** Forget and free a context whose stock part is about to go; it has no workers any more. */
void ri_context_destroy(ri_context_t *context);

/** Enter a worker in the list of its context, by which reports at exit and on errors find it. It
 * must be taken out before it is freed. */
void ri_context_add_worker(ri_context_t *context, ri_worker_t *worker);

/** Take a worker out of the list of its context. It must be in there. */
void ri_context_remove_worker(ri_context_t *context, ri_worker_t *worker);

/** Call @a func for every worker of every context that this process has made, not those of a
 * parent by fork(). The lock of the list is held: @a func must not add or remove workers or
 * contexts, nor log an error. Workers are not locked. */
void ri_context_foreach_worker(void (*func)(ri_worker_t *worker, void *arg), void *arg);

#endif
