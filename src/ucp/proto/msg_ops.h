/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of all kinds of messages (core/types/msg_kind.h). core/types/msg_types.h lists the
 * kinds.
 */
#ifndef RI_MSG_OPS_H
#define RI_MSG_OPS_H

#include "../order/recv_start.h"

#define RI_MSG_KIND_DECLARE(_number, _table) \
    extern const ri_msg_ops_t ri_msg_ops_##_table;
RI_MSG_KINDS(RI_MSG_KIND_DECLARE)
#undef RI_MSG_KIND_DECLARE

#endif
