/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Identifiers for the wire: small integers with a generation, so that no pointer leaves
 * the process and an identifier that outlived its object is recognised.
 *
 * An id is (generation << index_bits) | index; index 0 is never used, so 0 means "none".
 * Freed slots are re-used first in, first out, which makes the generation last longest.
 */
#ifndef RI_ID_TABLE_H
#define RI_ID_TABLE_H

#include "base.h"

typedef struct ri_id_slot {
    void *object;        /* NULL while free */
    uint32_t next_free;  /* index of the next free slot, 0 ends the list */
    uint32_t generation; /* of the current or the next object */
} ri_id_slot_t;

typedef struct ri_id_table {
    ri_id_slot_t *slots;
    uint32_t capacity;  /* slots allocated, slot 0 included */
    uint32_t free_head; /* index, 0: none */
    uint32_t free_tail;
    unsigned index_bits; /* of an id */
    unsigned total_bits; /* of an id: index and generation */
} ri_id_table_t;

/** Set up an empty table of ids of @a total_bits, of which @a index_bits count objects. */
void ri_id_table_init(ri_id_table_t *table, unsigned index_bits, unsigned total_bits);

/** Free the table; objects are the caller's. */
void ri_id_table_cleanup(ri_id_table_t *table);

/**
 * Give @a object, which is not NULL, an id. The object stays the caller's.
 *
 * @return The id, or 0 if there is no memory or no id left.
 */
uint32_t ri_id_alloc(ri_id_table_t *table, void *object);

/** Take the id back; it must be a valid one, and is recognised as an old one from here on. The
 * object is the caller's. */
void ri_id_free(ri_id_table_t *table, uint32_t id);

/** @return The object of an id from anywhere, or NULL if there is none (any more). */
static inline void *ri_id_get(const ri_id_table_t *table, uint32_t id)
{
    uint32_t index = id & ((1u << table->index_bits) - 1);
    const ri_id_slot_t *slot;

    if (ri_unlikely(index >= table->capacity)) {
        return NULL;
    }
    slot = &table->slots[index];
    return ri_likely((id >> table->index_bits) == slot->generation) ? slot->object : NULL;
}

#endif
