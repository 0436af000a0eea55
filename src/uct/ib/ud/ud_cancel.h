/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers that are to end, whichever kind they are.
 */
#ifndef RI_UD_CANCEL_H
#define RI_UD_CANCEL_H

#include "ud_base.h"

#if HAVE_VERBS

/** cancel() of the plane: end a transfer whose protocol was not told of the end. If it has not
 * ended otherwise, progress tells the protocol UCS_ERR_CANCELED. */
void ri_ud_cancel(ri_ud_op_t *op);

/** Cancel all transfers of a way that are under way: progress, or the end of the way, tells their
 * protocols @a status. */
void ri_ud_cancel_all(ri_ud_ep_t *ep, ucs_status_t status);

#endif

#endif
