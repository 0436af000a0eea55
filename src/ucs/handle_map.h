/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A map from 64-bit keys (stock handles, worker uids) to pointers, read on every call:
 * look-ups take no lock and run while another thread inserts or removes other keys.
 *
 * Open addressing with linear probing. Writers hold a mutex; a reader sees either the old
 * or the new table. Outgrown tables stay allocated until the map is destroyed, because a
 * reader may still walk one; as each is half the size of the next, they never hold more
 * than the live table does. Keys 0 and 1 are reserved.
 */
#ifndef RI_HANDLE_MAP_H
#define RI_HANDLE_MAP_H

#include "base.h"
#include <pthread.h>

typedef struct ri_map_slot {
    _Atomic(uint64_t) key;
    _Atomic(void *) value;
} ri_map_slot_t;

typedef struct ri_map_table {
    struct ri_map_table *older; /* outgrown, freed with the map */
    size_t mask;                /* slots - 1 */
    unsigned shift;             /* 64 - log2(slots) */
    ri_map_slot_t slots[];
} ri_map_table_t;

typedef struct ri_map {
    _Atomic(ri_map_table_t *) table; /* NULL while the map is empty and never used */
    _Atomic(unsigned) changes;       /* how often a key got another value, or none */
    size_t live;                     /* keys present */
    size_t used;                     /* slots that are not free: keys and gravestones */
    pthread_mutex_t lock;            /* of writers */
} ri_map_t;

/* The latest look-up of a thread. */
typedef struct ri_map_cache {
    uint64_t key; /* 0: nothing */
    void *value;
    unsigned changes; /* ri_map_t.changes before the key was looked up */
} ri_map_cache_t;

#define RI_MAP_INITIALIZER \
    { \
        .lock = PTHREAD_MUTEX_INITIALIZER \
    }

#define RI_MAP_KEY_FREE  0ul
#define RI_MAP_KEY_GRAVE 1ul

/** @return Where in the table a search for @a key begins. */
static inline size_t ri_map_slot_of(const ri_map_table_t *table, uint64_t key)
{
    return (key * 0x9e3779b97f4a7c15ul) >> table->shift;
}

/** @return The value of @a key, which is not reserved, or NULL. Needs no lock, unless the key
 * itself may be set or removed meanwhile. */
static inline void *ri_map_get(ri_map_t *map, uint64_t key)
{
    ri_map_table_t *table = atomic_load_explicit(&map->table, memory_order_acquire);
    size_t i;

    if (ri_unlikely(table == NULL)) {
        return NULL;
    }

    for (i = ri_map_slot_of(table, key);; i = (i + 1) & table->mask) {
        ri_map_slot_t *slot = &table->slots[i];
        uint64_t found      = atomic_load_explicit(&slot->key, memory_order_acquire);

        if (ri_likely(found == key)) {
            return atomic_load_explicit(&slot->value, memory_order_acquire);
        }
        if (found == RI_MAP_KEY_FREE) {
            return NULL;
        }
    }
}

/** What @ref ri_map_get_cached does with another key than before. @return As ri_map_get(). */
void *ri_map_get_uncached(ri_map_t *map, ri_map_cache_t *cache, uint64_t key);

/** Look up a key that nearly always is the same: a load or two, where the loads of ri_map_get()
 * wait for each other. @a cache is the thread's own, for this map. @return As ri_map_get(). */
static inline void *ri_map_get_cached(ri_map_t *map, ri_map_cache_t *cache, uint64_t key)
{
    if (ri_likely((cache->key == key) &&
                  (cache->changes ==
                   atomic_load_explicit(&map->changes, memory_order_acquire)))) {
        return cache->value;
    }
    return ri_map_get_uncached(map, cache, key);
}

/** Set up an empty map. */
void ri_map_init(ri_map_t *map);

/** Free the map's memory; nobody may be reading, and it has to be set up again before it is used.
 * The values are the caller's. */
void ri_map_cleanup(ri_map_t *map);

/**
 * Set the value of @a key, which may be present already.
 *
 * @return UCS_OK; or UCS_ERR_NO_MEMORY, or UCS_ERR_INVALID_PARAM: the key is reserved; then nothing
 *         has changed.
 */
ucs_status_t ri_map_put(ri_map_t *map, uint64_t key, void *value);

/** Remove @a key. @return Its value, which is the caller's, or NULL if it was not there. */
void *ri_map_remove(ri_map_t *map, uint64_t key);

/** @return The value of a handle, as @ref ri_map_get. */
static inline void *ri_map_get_ptr(ri_map_t *map, const void *handle)
{
    return ri_map_get(map, (uintptr_t)handle);
}

#endif
