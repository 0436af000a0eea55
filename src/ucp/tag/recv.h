/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tag receives, probes and cancellation. The worker is locked in all functions.
 */
#ifndef RI_RECV_H
#define RI_RECV_H

#include "../core/worker.h"

/**
 * Receive: take a message that is there, or post the receive, which may then offer its memory to
 * the sender. Calls back: the receive or a send to this worker may end.
 *
 * @param param  The application's, which was checked.
 *
 * @return What the application's call returns, which may be the status of the receive itself. If
 *         the receive could not be begun (no request, no datatype, or UCS_ERR_NO_RESOURCE if it
 *         cannot end within the call, as FORCE_IMM_CMPL demands), no message was taken.
 */
ucs_status_ptr_t ri_tag_recv(ri_worker_t *worker, void *buffer, size_t count,
                             uint64_t tag, uint64_t mask,
                             const ucp_request_param_t *param);

/**
 * Receive a message that ri_tag_recv_probe() has taken out of matching. Calls back: the receive or
 * a send to this worker may end.
 *
 * @param param  The application's, which was checked.
 *
 * @return What the application's call returns. The message is freed, unless the receive could not
 *         be begun, for one of the reasons of ri_tag_recv(): then it is still the caller's.
 */
ucs_status_ptr_t ri_tag_recv_msg(ri_worker_t *worker, void *buffer, size_t count,
                                 ri_msg_t *msg, const ucp_request_param_t *param);

/** Look for an unexpected message, without progress. With @a remove, take it out of matching: it is
 * the caller's then, who receives it by ri_tag_recv_msg(). @return The oldest message that fits,
 * with @a info set; NULL if there is none. */
ri_msg_t *ri_tag_recv_probe(ri_worker_t *worker, uint64_t tag, uint64_t mask, int remove,
                            ucp_tag_recv_info_t *info);

/** Cancel a receive: if it is posted, it completes with UCS_ERR_CANCELED before this returns, or
 * later, if its sender has used an RTR or has to be asked first (ri_rtr_cancel()). If it is not
 * posted, it has its message, and nothing is done. Calls back. */
void ri_tag_recv_cancel(ri_recv_req_t *recv);

#endif
