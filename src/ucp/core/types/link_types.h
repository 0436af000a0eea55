/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The structures of a worker for the parts of link: buffers of active messages (link/am.h), and the
 * pool of messages that wait for their receiver (link/pool.h).
 */
#ifndef RI_LINK_TYPES_H
#define RI_LINK_TYPES_H

#include "types.h"
#include "../../../ucs/id_table.h"

/* Number of sizes of the buffers of active messages (link/am.h). */
#define RI_AM_CLASSES 3

/* The buffers of active messages, by class of size. */
typedef struct ri_am_pool {
    ri_am_buffer_t *free[RI_AM_CLASSES]; /* free buffers, linked by their `next` */
    size_t num_free[RI_AM_CLASSES];      /* how many buffers are free */
    ucs_list_link_t all; /* all buffers, as stock may keep one that was for a dead peer */
} ri_am_pool_t;

/* The buffers of the pool are of RI_POOL_CLASSES sizes: 4 KB (1 << RI_POOL_SHIFT), 8 KB, and so on
 * up to 32 MB. A longer message never finds one. */
#define RI_POOL_SHIFT   12
#define RI_POOL_CLASSES 14

/* The pool of a worker. A buffer that is in none of the lists here is in conn->lent: its message is
 * on its way, or the peer may still read it. */
typedef struct ri_pool {
    ucs_list_link_t free[RI_POOL_CLASSES]; /* free buffers, the latest first */
    ucs_list_link_t lent;                  /* buffers whose conn is gone */
    ucs_list_link_t unsent; /* buffers whose message UCP had no memory to send */
    /* peers whose buffers are to be released (link/release.h) */
    ucs_list_link_t releasing;
    ri_id_table_t ids; /* of buffers, by which the peer releases them */
    size_t limit;      /* bytes that buffers may have, in all */
    size_t allocated;  /* bytes of all buffers */
    size_t used;       /* bytes of the buffers that are not free */
} ri_pool_t;

#endif
