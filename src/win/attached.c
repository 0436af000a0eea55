/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranges are in no order: there are few, and each is looked for rarely.
 */
#include "attached.h"

#include <stdlib.h>

void ri_attached_init(ri_attached_t *attached)
{
    *attached = (ri_attached_t){.ranges = NULL};
    pthread_mutex_init(&attached->lock, NULL);
}

void ri_attached_end(ri_attached_t *attached)
{
    pthread_mutex_destroy(&attached->lock);
    free(attached->ranges);
}

/* Under the lock. @return Whether there is room for one more. */
static int attached_grow(ri_attached_t *attached)
{
    size_t room = (attached->room == 0) ? 8 : 2 * attached->room;
    ri_attached_range_t *ranges;

    if (attached->count < attached->room) {
        return 1;
    }
    ranges = realloc(attached->ranges, room * sizeof(*ranges));
    if (ranges == NULL) {
        return 0;
    }
    attached->ranges = ranges;
    attached->room   = room;
    return 1;
}

/* Under the lock. @return Whether any of the bytes is attached. */
static int attached_overlaps(const ri_attached_t *attached, uintptr_t address,
                             size_t size)
{
    const ri_attached_range_t *range;
    size_t i;

    for (i = 0; i < attached->count; ++i) {
        range = &attached->ranges[i];
        if ((size > 0) && (address < range->address + range->size) &&
            (range->address < address + size)) {
            return 1;
        }
    }
    return 0;
}

int ri_attached_add(ri_attached_t *attached, const void *base, size_t size)
{
    uintptr_t address = (uintptr_t)base;
    int is_added;

    pthread_mutex_lock(&attached->lock);
    is_added = !attached_overlaps(attached, address, size) && attached_grow(attached);
    if (is_added) {
        attached->ranges[attached->count++] = (ri_attached_range_t){address, size};
    }
    pthread_mutex_unlock(&attached->lock);
    return is_added;
}

int ri_attached_remove(ri_attached_t *attached, const void *base)
{
    size_t found, i;
    int is_removed;

    pthread_mutex_lock(&attached->lock);
    found = attached->count;
    for (i = 0; i < attached->count; ++i) {
        /* Memory of no bytes may have been attached at the same address, and goes last */
        if ((attached->ranges[i].address == (uintptr_t)base) &&
            ((found == attached->count) || (attached->ranges[i].size > 0))) {
            found = i;
        }
    }
    is_removed = (found < attached->count);
    if (is_removed) {
        attached->ranges[found] = attached->ranges[--attached->count];
    }
    pthread_mutex_unlock(&attached->lock);
    return is_removed;
}

int ri_attached_has(ri_attached_t *attached, uint64_t address, size_t length)
{
    const ri_attached_range_t *range;
    int has = 0;
    size_t i;

    pthread_mutex_lock(&attached->lock);
    for (i = 0; (i < attached->count) && !has; ++i) {
        range = &attached->ranges[i];
        has   = (address >= range->address) && (length <= range->size) &&
              (address - range->address <= range->size - length);
    }
    pthread_mutex_unlock(&attached->lock);
    return has;
}
