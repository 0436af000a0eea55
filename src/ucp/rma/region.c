/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Two maps, by stock's handle and by number, and one lock for what must not go.
 */
#include "region.h"
#include "../../ucs/handle_map.h"

#include <pthread.h>
#include <stdlib.h>

static ri_map_t regions           = RI_MAP_INITIALIZER; /* by stock's handle */
static ri_map_t regions_by_number = RI_MAP_INITIALIZER;
static pthread_mutex_t lock       = PTHREAD_MUTEX_INITIALIZER;

/* Numbers that a map reserves come first. */
static uint64_t latest_number = RI_MAP_KEY_GRAVE;

void ri_region_lock(void)
{
    pthread_mutex_lock(&lock);
}

void ri_region_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

int ri_region_trylock(void)
{
    return pthread_mutex_trylock(&lock) == 0;
}

int ri_region_has(uint64_t number, uint64_t address, size_t length)
{
    const ri_region_t *region = (number > RI_MAP_KEY_GRAVE) ?
                                        ri_map_get(&regions_by_number, number) :
                                        NULL;

    return (region != NULL) && (address >= region->address) && (length <= region->size) &&
           (address - region->address <= region->size - length);
}

/* Under the lock. */
static ucs_status_t region_enter(ucp_mem_h memh, ri_region_t *region)
{
    ucs_status_t status;

    region->number = ++latest_number;
    status         = ri_map_put(&regions_by_number, region->number, region);
    if (status != UCS_OK) {
        return status;
    }
    status = ri_map_put(&regions, (uintptr_t)memh, region);
    if (status != UCS_OK) {
        ri_map_remove(&regions_by_number, region->number);
    }
    return status;
}

void ri_region_add(ucp_mem_h memh, const void *address, size_t length)
{
    ri_region_t *region = (length > 0) ? malloc(sizeof(*region)) : NULL;
    ucs_status_t status;

    if (region == NULL) {
        return;
    }
    region->address = (uintptr_t)address;
    region->size    = length;
    ri_region_lock();
    status = region_enter(memh, region);
    ri_region_unlock();
    if (status != UCS_OK) {
        free(region);
    }
}

void ri_region_remove(ucp_mem_h memh)
{
    ri_region_t *region;

    ri_region_lock();
    region = ri_map_remove(&regions, (uintptr_t)memh);
    if (region != NULL) {
        ri_map_remove(&regions_by_number, region->number);
    }
    ri_region_unlock();
    free(region);
}

int ri_region_find(ucp_mem_h memh, ri_region_t *found)
{
    const ri_region_t *region;

    ri_region_lock();
    region = ri_map_get_ptr(&regions, memh);
    if (region != NULL) {
        *found = *region;
    }
    ri_region_unlock();
    return region != NULL;
}
