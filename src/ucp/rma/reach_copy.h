/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct copies between memory of this process and of another one.
 */
#ifndef RI_REACH_COPY_H
#define RI_REACH_COPY_H

#include "reach.h"

/** Copy to the process of a reach (@a is_put), or from there. @return As ri_reach_copy(). */
ucs_status_t ri_reach_copy_transfer(ri_reach_t *reach, int is_put,
                                    const ri_transfer_t *moving);

/**
 * Copy @a length bytes to the process of a reach (@a is_put), or from there.
 *
 * @return As read() and write() of a plane; UCS_ERR_UNREACHABLE also if the process is not the one
 *         any more that is meant.
 */
ucs_status_t ri_reach_copy(ri_reach_t *reach, int is_put, const void *local,
                           uint64_t remote, size_t length);

/** Copy as ri_reach_copy() does, but any length: what is long goes in pieces, and others who wait
 * for this process are served in between. @return As ri_reach_copy(). */
ucs_status_t ri_reach_copy_long(ri_reach_t *reach, int is_put, const void *local,
                                uint64_t remote, size_t length);

#endif
