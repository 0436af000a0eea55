/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The description of this process's memory in a packed key, for those who get it.
 */
#ifndef RI_DESCRIBE_H
#define RI_DESCRIBE_H

#include "../wire/rkey.h"

#include <ucp/api/ucp.h>

/**
 * Describe memory that the application has mapped, as it is now. Any thread.
 *
 * @param has_atomics  Atomic operations may be asked for.
 * @param rkey  Set with UCS_OK only, to all but stock's key.
 *
 * @return UCS_OK. UCS_ERR_NO_ELEM: the handle is stock's alone (region.h), or no other process
 *         could find this one.
 */
ucs_status_t ri_describe(ucp_mem_h memh, int has_atomics, ri_wire_rkey_t *rkey);

#endif
