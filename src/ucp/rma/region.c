/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Two maps, by stock's handle and by number, and one lock for what must not go.
 */
#include "region.h"
#include "../../ucs/base.h"
#include "../../ucs/handle_map.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static ri_map_t regions           = RI_MAP_INITIALIZER; /* by stock's handle */
static ri_map_t regions_by_number = RI_MAP_INITIALIZER;
static pthread_mutex_t lock       = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

/* The thread that forks had the lock before. Under the lock. */
static int region_forks_within;

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

/* Under the lock. @return NULL: there is none. */
static const ri_region_t *region_of_number(uint64_t number)
{
    return (number > RI_MAP_KEY_GRAVE) ? ri_map_get(&regions_by_number, number) : NULL;
}

int ri_region_has(uint64_t number, uint64_t address, size_t length)
{
    const ri_region_t *region = region_of_number(number);

    if (region == NULL) {
        return 0;
    }
    if (region->server.has != NULL) {
        return (length > 0) && region->server.has(region->server.arg, address, length);
    }
    return (address >= region->address) && (length <= region->size) &&
           (address - region->address <= region->size - length);
}

int ri_region_apply(const ri_mailbox_head_t *head, uint8_t *data)
{
    const ri_region_t *region = region_of_number(head->region);

    return ((region != NULL) && (region->server.apply != NULL)) ?
                   region->server.apply(region->server.arg, head, data) :
                   -1;
}

ri_window_served_t ri_region_command(uint64_t number, const ri_window_command_t *command,
                                     uint64_t *state)
{
    const ri_region_t *region = region_of_number(number);

    return ((region != NULL) && (region->server.command != NULL)) ?
                   region->server.command(region->server.arg, command, state) :
                   RI_WINDOW_SERVED_BAD;
}

/* A handler of the application's may fork, for a fault in memory that is worked on under the lock:
 * the thread has it already. */
static void region_before_fork(void)
{
    region_forks_within = (pthread_mutex_lock(&lock) == EDEADLK);
}

static void region_after_fork(void)
{
    if (!region_forks_within) {
        ri_region_unlock();
    }
}

/* The lock is of a thread of the parent. */
static void region_forked(void)
{
    lock = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
}

/* A child by fork() has the lock as it is then, and not the thread that would unlock it. */
static void __attribute__((constructor)) region_guard_forks(void)
{
    pthread_atfork(region_before_fork, region_after_fork, region_forked);
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

/* One more mapping by a handle: under the lock. */
static void region_widen(ri_region_t *region, uint64_t address, uint64_t size)
{
    uint64_t end = ri_max(region->address + region->size, address + size);

    region->address = ri_min(region->address, address);
    region->size    = end - region->address;
    ++region->users;
}

/* Under the lock. */
static void region_new(ucp_mem_h memh, uint64_t address, uint64_t size)
{
    ri_region_t *region = malloc(sizeof(*region));

    if (region == NULL) {
        return;
    }
    *region = (ri_region_t){.address = address, .size = size, .users = 1};
    if (region_enter(memh, region) != UCS_OK) {
        free(region);
    }
}

void ri_region_add(ucp_mem_h memh, const void *address, size_t length)
{
    ri_region_t *region;

    if (length == 0) {
        return;
    }
    ri_region_lock();
    region = ri_map_get_ptr(&regions, memh);
    if (region != NULL) {
        region_widen(region, (uintptr_t)address, length);
    } else {
        region_new(memh, (uintptr_t)address, length);
    }
    ri_region_unlock();
}

void ri_region_remove(ucp_mem_h memh)
{
    ri_region_t *region;

    ri_region_lock();
    region = ri_map_get_ptr(&regions, memh);
    if ((region != NULL) && (--region->users == 0)) {
        ri_map_remove(&regions, (uintptr_t)memh);
        ri_map_remove(&regions_by_number, region->number);
    } else {
        region = NULL;
    }
    ri_region_unlock();
    free(region);
}

uint64_t ri_region_open(const ri_window_server_t *server)
{
    ri_region_t *region = calloc(1, sizeof(*region));
    uint64_t number     = 0;

    if (region == NULL) {
        return 0;
    }
    region->server = *server;
    ri_region_lock();
    region->number = ++latest_number;
    if (ri_map_put(&regions_by_number, region->number, region) == UCS_OK) {
        number = region->number;
    }
    ri_region_unlock();
    if (number == 0) {
        free(region);
    }
    return number;
}

void ri_region_close(uint64_t number)
{
    ri_region_t *region;

    ri_region_lock();
    region = ri_map_remove(&regions_by_number, number);
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
