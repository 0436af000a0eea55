/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "msg_ops.h"

const ri_msg_ops_t *const ri_msg_ops[] = {
        [RI_MSG_COPY] = &ri_msg_ops_copy,       [RI_MSG_AM_DATA] = &ri_msg_ops_am_data,
        [RI_MSG_AM_RNDV] = &ri_msg_ops_am_rndv, [RI_MSG_RTS] = &ri_msg_ops_rts,
        [RI_MSG_PLACED] = &ri_msg_ops_placed,   [RI_MSG_USED] = &ri_msg_ops_used,
        [RI_MSG_SELF] = &ri_msg_ops_self};
