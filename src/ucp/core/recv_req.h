/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of a receive whose call has returned.
 */
#ifndef RI_RECV_REQ_H
#define RI_RECV_REQ_H

#include "worker.h"

/** The data of a receive is in place, or will not come: complete it. */
void ri_recv_complete(ri_recv_req_t *recv, ucs_status_t status);

#endif
