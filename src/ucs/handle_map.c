/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A key that is removed leaves a gravestone, so that searches of other threads go on behind it.
 * Tables that were outgrown stay until the map is destroyed.
 */
#include "handle_map.h"

#include <stdlib.h>

#define MAP_MIN_LOG2 6

static ri_map_table_t *map_table_new(unsigned log2)
{
    size_t slots          = (size_t)1 << log2;
    ri_map_table_t *table = calloc(1, sizeof(*table) + slots * sizeof(table->slots[0]));

    if (table != NULL) {
        table->mask  = slots - 1;
        table->shift = 64 - log2;
    }
    return table;
}

/* The slot that holds @a key, or the one where it belongs: the first gravestone on the
 * way, else the free slot that ends it. */
static ri_map_slot_t *map_find(ri_map_table_t *table, uint64_t key)
{
    ri_map_slot_t *grave = NULL;
    size_t i;

    for (i = ri_map_slot_of(table, key);; i = (i + 1) & table->mask) {
        ri_map_slot_t *slot = &table->slots[i];
        uint64_t found      = atomic_load_explicit(&slot->key, memory_order_relaxed);

        if (found == key) {
            return slot;
        }
        if (found == RI_MAP_KEY_GRAVE) {
            grave = (grave == NULL) ? slot : grave;
        } else if (found == RI_MAP_KEY_FREE) {
            return (grave == NULL) ? slot : grave;
        }
    }
}

static void map_slot_fill(ri_map_slot_t *slot, uint64_t key, void *value)
{
    atomic_store_explicit(&slot->value, value, memory_order_release);
    atomic_store_explicit(&slot->key, key, memory_order_release);
}

/* Called with the lock held: a table with room for one key more. */
static ri_map_table_t *map_reserve(ri_map_t *map)
{
    ri_map_table_t *old = atomic_load_explicit(&map->table, memory_order_relaxed);
    unsigned log2       = MAP_MIN_LOG2;
    ri_map_table_t *table;
    size_t i;

    if ((old != NULL) && ((map->used + 1) * 4 <= (old->mask + 1) * 3)) {
        return old;
    }

    /* At least twice the size: this is what bounds the memory of outgrown tables. */
    if (old != NULL) {
        log2 = 64 - old->shift + 1;
    }
    table = map_table_new(log2);
    if (table == NULL) {
        return NULL;
    }

    if (old != NULL) {
        for (i = 0; i <= old->mask; ++i) {
            uint64_t key = atomic_load_explicit(&old->slots[i].key, memory_order_relaxed);

            if ((key != RI_MAP_KEY_FREE) && (key != RI_MAP_KEY_GRAVE)) {
                map_slot_fill(
                        map_find(table, key), key,
                        atomic_load_explicit(&old->slots[i].value, memory_order_relaxed));
            }
        }
    }

    table->older = old;
    map->used    = map->live;
    atomic_store_explicit(&map->table, table, memory_order_release);
    return table;
}

void ri_map_init(ri_map_t *map)
{
    atomic_init(&map->table, NULL);
    atomic_init(&map->changes, 0);
    map->live = map->used = 0;
    pthread_mutex_init(&map->lock, NULL);
}

void ri_map_cleanup(ri_map_t *map)
{
    ri_map_table_t *table = atomic_load_explicit(&map->table, memory_order_relaxed);

    while (table != NULL) {
        ri_map_table_t *older = table->older;

        free(table);
        table = older;
    }
    atomic_store_explicit(&map->table, NULL, memory_order_relaxed);
    pthread_mutex_destroy(&map->lock);
}

static int map_is_reserved(uint64_t key)
{
    return (key == RI_MAP_KEY_FREE) || (key == RI_MAP_KEY_GRAVE);
}

/* Called with the lock held, after the table was changed: what threads remember of a map is
 * void. */
static void map_changed(ri_map_t *map)
{
    atomic_fetch_add_explicit(&map->changes, 1, memory_order_release);
}

/* The count comes first: what is changed behind it is looked up again. */
void *ri_map_get_uncached(ri_map_t *map, ri_map_cache_t *cache, uint64_t key)
{
    unsigned changes = atomic_load_explicit(&map->changes, memory_order_acquire);
    void *value      = ri_map_get(map, key);

    *cache = (ri_map_cache_t){.key = key, .value = value, .changes = changes};
    return value;
}

ucs_status_t ri_map_put(ri_map_t *map, uint64_t key, void *value)
{
    ucs_status_t status = UCS_OK;
    ri_map_table_t *table;
    ri_map_slot_t *slot;
    uint64_t found;

    if (map_is_reserved(key)) {
        return UCS_ERR_INVALID_PARAM;
    }
    pthread_mutex_lock(&map->lock);
    table = map_reserve(map);
    if (table == NULL) {
        status = UCS_ERR_NO_MEMORY;
        goto out;
    }

    slot  = map_find(table, key);
    found = atomic_load_explicit(&slot->key, memory_order_relaxed);
    if (found != key) {
        map->live += 1;
        map->used += (found == RI_MAP_KEY_FREE);
    }
    map_slot_fill(slot, key, value);
    map_changed(map);
out:
    pthread_mutex_unlock(&map->lock);
    return status;
}

void *ri_map_remove(ri_map_t *map, uint64_t key)
{
    void *value = NULL;
    ri_map_table_t *table;
    ri_map_slot_t *slot;
    size_t i;

    /* A free slot has such a key, and would be taken for the one that is looked for. */
    if (map_is_reserved(key)) {
        return NULL;
    }
    pthread_mutex_lock(&map->lock);
    table = atomic_load_explicit(&map->table, memory_order_relaxed);
    if (table == NULL) {
        goto out;
    }

    slot = map_find(table, key);
    if (atomic_load_explicit(&slot->key, memory_order_relaxed) != key) {
        goto out;
    }

    value = atomic_load_explicit(&slot->value, memory_order_relaxed);
    atomic_store_explicit(&slot->key, RI_MAP_KEY_GRAVE, memory_order_release);
    atomic_store_explicit(&slot->value, NULL, memory_order_release);
    map->live -= 1;

    /* Gravestones that end a run separate nothing: free them, so that handles that come
     * and go do not fill the table. */
    i = slot - table->slots;
    if (atomic_load_explicit(&table->slots[(i + 1) & table->mask].key,
                             memory_order_relaxed) == RI_MAP_KEY_FREE) {
        while (atomic_load_explicit(&table->slots[i].key, memory_order_relaxed) ==
               RI_MAP_KEY_GRAVE) {
            atomic_store_explicit(&table->slots[i].key, RI_MAP_KEY_FREE,
                                  memory_order_release);
            map->used -= 1;
            i = (i - 1) & table->mask;
        }
    }
    map_changed(map);
out:
    pthread_mutex_unlock(&map->lock);
    return value;
}
