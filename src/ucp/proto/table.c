/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "table.h"

#define PROTO_TABLE(_number, _table) [RI_PROTO_##_number] = &ri_send_proto_##_table,

const ri_send_proto_t *const ri_send_protos[RI_PROTO_LAST] = {
        RI_SEND_PROTOS(PROTO_TABLE)};

#define FETCH_TABLE(_number, _table) [RI_FETCH_##_number] = &ri_fetch_proto_##_table,

const ri_fetch_proto_t *const ri_fetch_protos[RI_FETCH_LAST] = {
        RI_FETCH_PROTOS(FETCH_TABLE)};

#define RTR_TABLE(_number, _table) [RI_RTR_##_number] = &ri_rtr_ops_##_table,

const ri_rtr_ops_t *const ri_rtr_ops[RI_RTR_KIND_LAST] = {RI_RTR_KINDS(RTR_TABLE)};
