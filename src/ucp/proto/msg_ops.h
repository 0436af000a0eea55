/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of the kinds of messages that are the matter of a protocol (core/types/msg_kind.h).
 */
#ifndef RI_MSG_OPS_H
#define RI_MSG_OPS_H

#include "../order/recv_start.h"

extern const ri_msg_ops_t ri_msg_ops_rts;    /* fetch.c */
extern const ri_msg_ops_t ri_msg_ops_placed; /* rtr/rtr_meet.c */
extern const ri_msg_ops_t ri_msg_ops_used;   /* rtr/rtr_meet.c */
extern const ri_msg_ops_t ri_msg_ops_self;   /* eager/self.c */

#endif
