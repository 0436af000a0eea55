/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool of a worker: memory for messages that wait for their receiver (proto/pool/hybrid.h).
 * It is bounded: who finds it used up has to do without.
 *
 * Buffers are of a few sizes, start on a page, are allocated when they are first needed and
 * then kept. When others of the size that is needed are all in use, free ones of other
 * sizes make room. Each has an id for the wire while it is taken.
 *
 * What goes through a network is registered there when its buffer is first used for that, and
 * stays so until the buffer is freed.
 *
 * Rejected: shared memory that the receiver maps. The planes can read private memory just as
 * well, and nothing has to be set up for it.
 */
#ifndef RI_POOL_H
#define RI_POOL_H

#include "../core/types.h"
#include "../../ucs/id_table.h"
#include "../wire/wire.h"

/* Sizes: 4 KB, 8 KB, ... 32 MB. A longer message never finds a buffer. */
#define RI_POOL_SHIFT   12
#define RI_POOL_CLASSES 14

/* A buffer. Who has it: free -> its message is out (LENT), or is written to the receiver -> free, or, if
 * that could not be done, -> UCP is sending it (its id is gone then) -> free. */
typedef struct ri_pool_buffer {
    ucs_list_link_t
            list; /* among the free ones; in conn->lent; in pool->lent, if the conn
                             is gone; in pool->unsent */
    uint8_t *data;
    uint32_t id; /* 0: none */
    uint8_t size_class;
    ri_plane_t *plane;        /* that the memory is registered with, or NULL */
    ri_plane_memory_t memory; /* likewise */

    /* Of the message in it. */
    ri_worker_t *worker;
    ri_conn_t *conn; /* that its message went by; NULL: it is gone */
    uint64_t uid;    /* of the peer that may give it back */
    size_t length;   /* of the message */
    uint8_t keyed;   /* it goes through a network */
    uint8_t writing; /* ... by a write that has not ended (recv_hybrid.h) */
    uint32_t way;    /* likewise: by this way to the peer, of its rdma_way */
    uint32_t sn;     /* if it is written: number and tag */
    uint64_t tag;
    ri_wire_base_t header; /* for UCP, which reads it until it has sent */
} ri_pool_buffer_t;

typedef struct ri_pool {
    ucs_list_link_t free[RI_POOL_CLASSES]; /* the latest first */
    ucs_list_link_t lent;                  /* buffers whose conn is gone */
    ucs_list_link_t unsent;                /* that UCP had no memory to send */
    ri_id_table_t ids;
    size_t limit;     /* bytes in all */
    size_t allocated; /* of all buffers */
    size_t used;      /* of those that are not free */
} ri_pool_t;

/** Set up an empty pool of up to @a limit bytes. */
void ri_pool_init(ri_pool_t *pool, size_t limit);

/**
 * Free the pool. What a peer may still read stays as it is until the process ends: the
 * message in it counts as sent.
 */
void ri_pool_cleanup(ri_pool_t *pool);

/** @return The smallest class that has room for @a length bytes, or RI_POOL_CLASSES. */
static inline unsigned ri_pool_class(size_t length)
{
    unsigned class = 0;

    while ((class < RI_POOL_CLASSES) &&
           (length > ((size_t)1 << (RI_POOL_SHIFT + class)))) {
        ++class;
    }
    return class;
}

static inline size_t ri_pool_class_size(unsigned class)
{
    return (size_t)1 << (RI_POOL_SHIFT + class);
}

/** @return Whether there is room for a message of @a length bytes. */
static inline int ri_pool_has(const ri_pool_t *pool, size_t length)
{
    unsigned class = ri_pool_class(length);

    return (class < RI_POOL_CLASSES) &&
           (ri_pool_class_size(class) <= pool->limit - pool->used);
}

/** @return Whether less than a quarter of the pool is free. */
static inline int ri_pool_is_low(const ri_pool_t *pool)
{
    return pool->limit - pool->used < pool->limit / 4;
}

/** Take a buffer for @a length bytes. @return NULL if there is no room or no memory. */
ri_pool_buffer_t *ri_pool_get(ri_pool_t *pool, size_t length);

/** Put a buffer back, which is in no list. */
void ri_pool_put(ri_pool_t *pool, ri_pool_buffer_t *buffer);

/** Let @a plane reach the memory of a buffer, now and as long as there is the buffer.
 * @return Whether it can. */
int ri_pool_register(ri_pool_buffer_t *buffer, ri_plane_t *plane);

/** Planes are about to be closed, and nobody reads by them any more: let none reach any
 * buffer. */
void ri_pool_unregister(ri_pool_t *pool);

/** No id leads to @a buffer any more. */
void ri_pool_forget(ri_pool_t *pool, ri_pool_buffer_t *buffer);

#endif
