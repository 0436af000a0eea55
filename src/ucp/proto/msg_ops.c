/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "msg_ops.h"

#define MSG_TABLE(_number, _table) [RI_MSG_##_number] = &ri_msg_ops_##_table,

const ri_msg_ops_t *const ri_msg_ops[RI_MSG_KIND_LAST] = {RI_MSG_KINDS(MSG_TABLE)};
