/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tag receives, probes and cancellation. The worker is locked in all of these.
 */
#ifndef RI_RECV_H
#define RI_RECV_H

#include "../core/worker.h"

/** Receive; returns what the application's call returns. */
ucs_status_ptr_t ri_tag_recv(ri_worker_t *worker, void *buffer, size_t count,
                             uint64_t tag, uint64_t mask,
                             const ucp_request_param_t *param);

/** Receive a message that a probe took out. */
ucs_status_ptr_t ri_tag_msg_recv(ri_worker_t *worker, void *buffer, size_t count,
                                 ri_msg_t *msg, const ucp_request_param_t *param);

/** Look for a message; with @a remove, take it out of matching. */
ri_msg_t *ri_tag_probe(ri_worker_t *worker, uint64_t tag, uint64_t mask, int remove,
                       ucp_tag_recv_info_t *info);

/** Cancel a posted receive: it completes with UCS_ERR_CANCELED before this returns. */
void ri_tag_cancel(ri_worker_t *worker, ri_recv_req_t *recv);

#endif
