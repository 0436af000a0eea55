/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages to the own worker: matched at once, copied once, never on a transport.
 */
#ifndef RI_SELF_H
#define RI_SELF_H

#include "../../core/worker.h"

/** Copy the data of a self-send into its receive. */
ucs_status_t ri_self_copy(ri_recv_req_t *recv, ri_send_req_t *send);

#endif
