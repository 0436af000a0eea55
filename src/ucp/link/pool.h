/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The pool of a worker: memory for messages that wait for their receiver (proto/pool/pool_send.h).
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

#include <assert.h>

#include "../core/types/link_types.h"
#include "../wire/wire.h"

/*
 * Who has a buffer (ri_pool_buffer_t.state). Legal changes, which ri_pool_set_state() asserts:
 *
 *   FREE     -> LENT       taken, for a message
 *   LENT     -> WRITING    its message goes into a receive that was offered
 *   WRITING  -> LENT       that has failed: the peer was told to read the message here
 *   LENT     -> IN_STOCK   the peer cannot read it
 *   IN_STOCK -> UNSENT     UCP had no memory
 *   UNSENT   -> IN_STOCK   the next try
 *   LENT, WRITING, IN_STOCK, UNSENT -> FREE  the message is there, or nobody waits for it
 *
 * A buffer has an id in LENT and WRITING, and in no other state: then the peer's answers find it.
 */
typedef enum ri_pool_state {
    RI_POOL_FREE,    /* nobody: in pool->free */
    RI_POOL_LENT,    /* the peer, which may read the message and releases the buffer */
    RI_POOL_WRITING, /* the way, until the write has ended: answers of the peer are stale */
    RI_POOL_IN_STOCK, /* UCP, which is sending the message */
    RI_POOL_UNSENT, /* this library: in pool->unsent, until progress tries again to send */
    RI_POOL_STATE_LAST
} ri_pool_state_t;

/* A buffer. */
typedef struct ri_pool_buffer {
    /* FREE: in pool->free; UNSENT: in pool->unsent; else in conn->lent, or in pool->lent if the
     * conn is gone */
    ucs_list_link_t list;
    uint8_t *data;
    uint32_t id;           /* 0: none */
    ri_pool_state_t state; /* changed by ri_pool_set_state() */
    uint8_t size_class;
    ri_plane_t *plane;        /* what data is registered with, or NULL */
    ri_plane_memory_t memory; /* the registration of data, if plane is not NULL */

    /* Of the message in it. */
    ri_worker_t *worker;
    ri_conn_t *conn;       /* that the message went by; NULL: the conn is gone */
    uint64_t uid;          /* of the peer that may release the buffer */
    size_t length;         /* of the message */
    uint8_t keyed;         /* the message goes through a network */
    uint32_t way;          /* if keyed: number of the way (ri_peer_way_t.number) */
    uint32_t sn;           /* since it was WRITING: number of the message */
    uint64_t tag;          /* since it was WRITING: of the message */
    ri_wire_base_t header; /* for UCP, which reads it until it has sent */
} ri_pool_buffer_t;

/** Set up an empty pool of up to @a limit bytes, or as many as its ids can tell apart. */
void ri_pool_init(ri_pool_t *pool, size_t limit);

/** Free the pool, after @ref ri_pool_unregister. What a peer may still read, in pool->lent, stays
 * as it is until the process ends: the message in it counts as sent. */
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

/** @return The bytes of a buffer of a class. */
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

/** @return Whether a buffer may change from one state to another, see ri_pool_state_t. */
int ri_pool_may_become(ri_pool_state_t from, ri_pool_state_t to);

/** Change the state of a buffer, as ri_pool_state_t allows it. It has an id already, or has none
 * any more, as the new state says. The caller moves it from list to list. */
static inline void ri_pool_set_state(ri_pool_buffer_t *buffer, ri_pool_state_t state)
{
    assert(ri_pool_may_become(buffer->state, state));
    assert((buffer->id != 0) == ((state == RI_POOL_LENT) || (state == RI_POOL_WRITING)));
    buffer->state = state;
}

/** Take a buffer for @a length bytes, which has an id, is LENT and is in no list. The caller
 * fills in what is of the message. Free buffers of other sizes may be freed for it. @return NULL
 * if there is no room, no memory or no id. */
ri_pool_buffer_t *ri_pool_get(ri_pool_t *pool, size_t length);

/** Put a buffer back that is in no list: no id leads to it any more, it is FREE, and it stays
 * registered. */
void ri_pool_put(ri_pool_t *pool, ri_pool_buffer_t *buffer);

/** Let @a plane, the same in each call, reach the memory of a buffer, now and as long as there is
 * the buffer, or until @ref ri_pool_unregister. @return Whether it can; if not, the buffer is as
 * before. */
int ri_pool_register(ri_pool_buffer_t *buffer, ri_plane_t *plane);

/** Planes are about to be closed, and nobody reads by them any more: let none reach any buffer.
 * No conn has a buffer any more. */
void ri_pool_unregister(ri_pool_t *pool);

/** No id leads to @a buffer any more, if one did: answers of the peer are stale. The caller
 * changes its state. */
void ri_pool_forget(ri_pool_t *pool, ri_pool_buffer_t *buffer);

#endif
