/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrivals by active message: messages are checked, and handed to who is in charge of their type.
 * (protocol.md section 3)
 */
#ifndef RI_AM_IN_H
#define RI_AM_IN_H

#include "../core/worker.h"

/**
 * The handler of this library's active messages, as UCX calls it. What is malformed, or for a
 * stream or conn that is gone, is counted and dropped. May call back into the application.
 *
 * @param arg  The worker. Its lock is taken here. One that was destroyed takes nothing.
 *
 * @return UCS_INPROGRESS if @a data was kept, to be given back to UCX later, or if UCX has got it
 *         back for a receive already; else UCS_OK.
 */
ucs_status_t ri_am_in(void *arg, const void *header, size_t header_length, void *data,
                      size_t length, const ucp_am_recv_param_t *param);

#endif
