/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of a receive whose call has returned.
 */
#ifndef RI_RECV_REQ_H
#define RI_RECV_REQ_H

#include "types/request.h"

/** The data of a receive is in place, or will not come: end the state of its datatype, and complete
 * it. It is in no list, and has no id, RTR or transfer any more; its info is set. Calls back;
 * the request must not be touched afterwards. */
void ri_recv_complete(ri_recv_req_t *recv, ucs_status_t status);

#endif
