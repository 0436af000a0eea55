/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided operations that this process carries out at once, without the application of the
 * target: they have ended, at the target too, when they return. So no flush or fence has anything
 * to do for them, and no message can overtake them. The exception are puts by mail, which are
 * settled before all that has to come behind them (posts.h). Operations on private memory are left
 * to the target by mail for as long as it looks (mail.h, mail_parts.h); atomics there always are.
 *
 * What is not done in this way is left to stock, operation by operation: another access of the key,
 * memory beyond that of the key, local memory that is not the host's, options that are stock's
 * affair. As in UCX there is no order between two operations without a fence or flush. Behind a
 * fence all go to stock as long as stock may still be at what was started before (RI_CONN_FENCED).
 */
#ifndef RI_DIRECT_H
#define RI_DIRECT_H

#include "rkey.h"
#include "../core/worker.h"

/**
 * Put @a length bytes. The worker of the conn is locked.
 *
 * @param conn  Of the endpoint that the key was unpacked for.
 *
 * @return UCS_OK: it is done. UCS_ERR_UNSUPPORTED: nothing, or a part of it, is done, and stock is
 *         to do all of it. UCS_ERR_CONNECTION_RESET: the process with the memory is gone.
 */
ucs_status_t ri_direct_put(ri_conn_t *conn, ucp_rkey_h stock, const void *buffer,
                           size_t length, uint64_t address);

/** Get @a length bytes. @return As ri_direct_put(). */
ucs_status_t ri_direct_get(ri_conn_t *conn, ucp_rkey_h stock, void *buffer, size_t length,
                           uint64_t address);

/**
 * Carry out an atomic operation. The worker of the conn is locked.
 *
 * @param size    Of the operand: 4 or 8; others are stock's.
 * @param value   The operand. Of UCP_ATOMIC_OP_CSWAP what is compared.
 * @param result  What was there before; NULL: it is not wanted. Of UCP_ATOMIC_OP_CSWAP, before,
 *                what is to be put there.
 *
 * @return As ri_direct_put(); if it is left to stock, nothing is done.
 */
ucs_status_t ri_direct_atomic(ri_conn_t *conn, ucp_rkey_h stock, ucp_atomic_op_t op,
                              size_t size, uint64_t value, void *result,
                              uint64_t address);

#endif
