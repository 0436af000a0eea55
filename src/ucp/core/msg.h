/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of messages that wait, in a few size classes that are re-used.
 */
#ifndef RI_MSG_H
#define RI_MSG_H

#include "types.h"

#define RI_MSG_CLASSES 3

typedef struct ri_msg_pool {
    ri_msg_t *free[RI_MSG_CLASSES]; /* linked through list.next */
    size_t num_free[RI_MSG_CLASSES];
} ri_msg_pool_t;

/* Buffers of active messages that stock has in hand; they are in link/am.h. */
#define RI_AM_CLASSES 3

typedef struct ri_am_pool {
    ri_am_buffer_t *free[RI_AM_CLASSES];
    size_t num_free[RI_AM_CLASSES];
    ucs_list_link_t all; /* free or not: stock keeps what was for a dead peer */
} ri_am_pool_t;

/** Allocate a message with room for @a length bytes of data. @return NULL: no memory. */
ri_msg_t *ri_msg_alloc(ri_worker_t *worker, size_t length);

/** Free a message's memory; what its data is, is the caller's. */
void ri_msg_free(ri_worker_t *worker, ri_msg_t *msg);

/** Give up a message that nobody will receive: its data, then its memory. */
void ri_msg_discard(ri_worker_t *worker, ri_msg_t *msg);

void ri_msg_pool_cleanup(ri_worker_t *worker);

#endif
