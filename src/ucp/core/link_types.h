/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a worker has for the parts of link: buffers of active messages (link/am.h), and the pool of
 * messages that wait for their receiver (link/pool.h).
 */
#ifndef RI_LINK_TYPES_H
#define RI_LINK_TYPES_H

#include "types.h"
#include "../../ucs/id_table.h"

/* Sizes of the buffers of active messages (link/am.h). */
#define RI_AM_CLASSES 3

typedef struct ri_am_pool {
    ri_am_buffer_t *free[RI_AM_CLASSES];
    size_t num_free[RI_AM_CLASSES];
    ucs_list_link_t all; /* free or not: stock keeps what was for a dead peer */
} ri_am_pool_t;

/* Sizes of the buffers of the pool: 4 KB, 8 KB, ... 32 MB. A longer message never finds one. */
#define RI_POOL_SHIFT   12
#define RI_POOL_CLASSES 14

typedef struct ri_pool {
    ucs_list_link_t free[RI_POOL_CLASSES]; /* the latest first */
    ucs_list_link_t lent;                  /* buffers whose conn is gone */
    ucs_list_link_t unsent;                /* buffers that UCP had no memory to send */
    /* peers whose buffers are to be released (link/release.h) */
    ucs_list_link_t releasing;
    ri_id_table_t ids;
    size_t limit;     /* bytes that buffers may have, in all */
    size_t allocated; /* bytes of all buffers */
    size_t used;      /* bytes of the buffers that are not free */
} ri_pool_t;

#endif
