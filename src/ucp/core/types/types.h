/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of the core objects.
 *
 * Who owns what:
 *   context  one per ucp_context_h that asked for tag matching or one-sided operations under
 *            recv_init
 *   worker   one per ucp_worker_h of such a context; owns everything below
 *   peer     one per remote worker that this worker has spoken with, by its uid
 *   conn     the sender's side of one direction: one per endpoint, with the sequence of what was
 *            sent on it
 *   stream   the receiver's side: one per remote conn, with the sequence of what was matched
 *   req      a request that a user holds a handle of
 *   msg      a message that arrived and has no receive yet, or arrived too early
 *
 * Lock order, outermost first: the worker's own lock (MULTI workers only), stock's worker
 * lock, then the locks of maps and of the list of contexts, which cover a few
 * instructions and no call. The worker's lock is always taken before a stock function
 * that enters the worker is called (guard.h).
 *
 * What the comments of functions take for granted; exceptions are said, as test/check/contracts.py
 * checks:
 * - The caller of a function that is given a worker, or anything that belongs to one, has locked
 *   the worker. A worker that nobody else knows need not be locked.
 * - What a function is given stays whose it was, and is there afterwards. The function keeps no
 *   pointer to it, unless it is an object of those above, which know each other while they last.
 * - What a function returns a pointer to stays whose it was. The caller frees nothing of it.
 * "Calls back" means that the function may call callbacks of the application, which may send,
 * receive, and close any endpoint.
 */
#ifndef RI_TYPES_H
#define RI_TYPES_H

#include "../../../ucs/base.h"

typedef struct ri_context ri_context_t;
typedef struct ri_worker ri_worker_t;
typedef struct ri_peer ri_peer_t;
typedef struct ri_conn ri_conn_t;
typedef struct ri_rtr ri_rtr_t;
typedef struct ri_rtr_table ri_rtr_table_t;
typedef struct ri_rtr_grants ri_rtr_grants_t;
typedef struct ri_stream ri_stream_t;
typedef struct ri_req ri_req_t;
typedef struct ri_recv_req ri_recv_req_t;
typedef struct ri_send_req ri_send_req_t;
typedef struct ri_msg ri_msg_t;
typedef struct ri_am_buffer ri_am_buffer_t;
typedef struct ri_coop ri_coop_t;
typedef struct ri_coop_shelf ri_coop_shelf_t;
typedef struct ri_coop_methods ri_coop_methods_t;
typedef struct ri_rma_op ri_rma_op_t;
typedef struct ri_keys ri_keys_t;
typedef struct ri_channel_out ri_channel_out_t;
typedef struct ri_channel_in ri_channel_in_t;

#endif
