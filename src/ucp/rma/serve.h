/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The mailbox of this process: small one-sided operations of other processes on memory that they
 * can only reach by system calls (uct/shm/mailbox.h). It is served in progress, and by whoever
 * waits for an operation of his own. It is made when the first key of such memory is packed, and
 * stays.
 */
#ifndef RI_SERVE_H
#define RI_SERVE_H

#include "../../uct/shm/mailbox.h"

#include <ucp/api/ucp.h>

/*
 * What is asked for; the numbers are those of the protocol.
 *
 * PUT comes with the data that is put. The result of GET is what was there. An atomic operation
 * comes with its operand, and CSWAP with what is to be put there behind that, each of the
 * operation's length; the result is what was there.
 *
 * Kinds with RI_WINDOW_OPS_KIND (core/types/window_ops.h) are those of a library for windows, which
 * carries them out on its own regions.
 */
typedef enum ri_serve_kind {
    RI_SERVE_PUT   = 0,
    RI_SERVE_GET   = 1,
    RI_SERVE_ADD   = 2,
    RI_SERVE_SWAP  = 3,
    RI_SERVE_CSWAP = 4,
    RI_SERVE_AND   = 5,
    RI_SERVE_OR    = 6,
    RI_SERVE_XOR   = 7,
    RI_SERVE_KINDS
} ri_serve_kind_t;

/** @return How an atomic operation, which ri_word_can() do, is asked for. */
ri_serve_kind_t ri_serve_kind(ucp_atomic_op_t op);

/* NULL: there is none yet. */
extern _Atomic(ri_mailbox_rx_t *) ri_serve_mailbox;

/** Make the mailbox of this process, unless it is there. Any thread may call it. @return Its
 * descriptor, for a key; -1: there is no mailbox. */
int ri_serve_start(void);

/** Carry out what other processes have asked for, as ri_serve(), also if another thread is at it or
 * regions go just now. @return Number of operations. */
unsigned ri_serve_called(void);

/** What ri_serve() does when a doorbell has rung. @return As ri_serve(). */
unsigned ri_serve_rung(void);

/** @return Whether other processes have asked for something since ri_serve_rung() was last called.
 * Any thread, at any time. */
static inline int ri_serve_is_due(void)
{
    ri_mailbox_rx_t *rx = atomic_load_explicit(&ri_serve_mailbox, memory_order_acquire);

    return ri_unlikely(rx != NULL) && ri_unlikely(ri_mailbox_rx_is_rung(rx));
}

/** Carry out what other processes have asked for. Any thread, at any time. @return Number of
 * operations. */
static inline unsigned ri_serve(void)
{
    return ri_serve_is_due() ? ri_serve_rung() : 0;
}

#endif
