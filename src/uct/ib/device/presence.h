/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether this host has an InfiniBand or RoCE device at all, whichever of them this library or UCX
 * uses.
 */
#ifndef RI_IB_PRESENCE_H
#define RI_IB_PRESENCE_H

/** @return Whether the kernel knows a device, or libibverbs does if it is loaded. Also true where
 * this cannot be found out. */
int ri_ib_presence_is_likely(void);

#endif
