/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Free places are a queue, so that each place rests as long as possible before it is used again
 * with the next generation: an id that is late by many others is found to be stale.
 */
#include "id_table.h"

#include <stdlib.h>

void ri_id_table_init(ri_id_table_t *table, unsigned index_bits, unsigned total_bits)
{
    *table = (ri_id_table_t){.index_bits = index_bits, .total_bits = total_bits};
}

void ri_id_table_cleanup(ri_id_table_t *table)
{
    free(table->slots);
    table->slots    = NULL;
    table->capacity = 0;
}

static void id_push_free(ri_id_table_t *table, uint32_t index)
{
    table->slots[index].next_free = 0;
    if (table->free_head == 0) {
        table->free_head = index;
    } else {
        table->slots[table->free_tail].next_free = index;
    }
    table->free_tail = index;
}

static ucs_status_t id_table_grow(ri_id_table_t *table)
{
    uint32_t limit    = 1u << table->index_bits;
    uint32_t capacity = (table->capacity == 0) ? ri_min(limit, 32u) :
                                                 ri_min(limit, table->capacity * 2);
    ri_id_slot_t *slots;
    uint32_t i;

    if (capacity == table->capacity) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    slots = realloc(table->slots, capacity * sizeof(*slots));
    if (slots == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    table->slots = slots;
    i            = table->capacity;
    if (i == 0) {
        slots[0] = (ri_id_slot_t){0}; /* index 0 means "none" and is never handed out */
        i        = 1;
    }
    table->capacity = capacity;
    for (; i < capacity; ++i) {
        slots[i] = (ri_id_slot_t){0};
        id_push_free(table, i);
    }
    return UCS_OK;
}

uint32_t ri_id_alloc(ri_id_table_t *table, void *object)
{
    ri_id_slot_t *slot;
    uint32_t index;

    if ((table->free_head == 0) && (id_table_grow(table) != UCS_OK)) {
        return 0;
    }

    index            = table->free_head;
    slot             = &table->slots[index];
    table->free_head = slot->next_free;
    slot->object     = object;
    return (slot->generation << table->index_bits) | index;
}

void ri_id_free(ri_id_table_t *table, uint32_t id)
{
    uint32_t index     = id & ((1u << table->index_bits) - 1);
    ri_id_slot_t *slot = &table->slots[index];

    slot->object     = NULL;
    slot->generation = (slot->generation + 1) &
                       ((1u << (table->total_bits - table->index_bits)) - 1);
    id_push_free(table, index);
}
