/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What comes by active message: checked, and handed to who is in charge of its type. (protocol.md
 * section 3)
 */
#ifndef RI_DISPATCH_H
#define RI_DISPATCH_H

#include "../core/worker.h"

/** The handler of this library's active messages; @a arg is the worker. */
ucs_status_t ri_dispatch_am(void *arg, const void *header, size_t header_length,
                            void *data, size_t length, const ucp_am_recv_param_t *param);

#endif
