/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages to the own worker: matched at once, copied once, never on a transport.
 */
#ifndef RI_SELF_H
#define RI_SELF_H

#include "../../core/worker.h"

/**
 * Send to the own worker. A message that finds no receive is copied if it is short and
 * not synchronous; otherwise the request waits for its receive.
 *
 * @return UCS_OK, UCS_INPROGRESS (RI_SEND_WAIT_MATCH is set), or an error.
 */
ucs_status_t ri_self_send(ri_send_req_t *req, int sync);

/** A self-send ends without its receive: nobody shall find its message. */
void ri_self_give_up(ri_send_req_t *req);

/** Copy the data of a self-send into its receive. */
ucs_status_t ri_self_copy(ri_recv_req_t *recv, ri_send_req_t *send);

#endif
