/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that is registered with the device of this process, by way of its cache. If a limit of
 * locked memory is in the way the user is told so, once per process.
 */
#ifndef RI_IB_MEMORY_H
#define RI_IB_MEMORY_H

#include "device_types.h"

#if HAVE_VERBS

/**
 * Give a device that is being opened its cache, as the settings of this process say. The cache
 * belongs to the device, which destroys it when it is closed.
 *
 * @return What ri_reg_cache_create() returns, which has told the user about an error.
 */
ucs_status_t ri_ib_memory_open(ri_ib_device_t *device);

/**
 * Have memory registered: reg() and reg_source() of planes. Any thread.
 *
 * @param access  RI_REG_*: what the device does to the memory.
 * @param memory  Set to the keys, with a registration to be given back. After an error there is
 *                none.
 *
 * @return UCS_OK. UCS_ERR_INVALID_ADDR: the memory cannot be accessed in this way.
 *         UCS_ERR_NO_MEMORY: a limit was reached, of which the user has been told. Or what
 *         ri_reg_cache_get() returns.
 */
ucs_status_t ri_ib_memory_reg(ri_ib_device_t *device, void *address, size_t length,
                              unsigned access, ri_plane_memory_t *memory);

/** Give registered memory back: release() of planes. Without a registration there is nothing to do;
 * @a memory has none afterwards. */
void ri_ib_memory_release(ri_ib_device_t *device, ri_plane_memory_t *memory);

#endif

#endif
