/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Why no stale registration is ever handed out
 *
 * A registration is stale when one of its addresses means other memory than at its start. For
 * that the memory has to go first, which makes an event (mem_events.h), inside of the call
 * that lets it go. The event either takes the lock and detaches the registration, or leaves its
 * range in the queue. Whoever gets the address after that got it from that call or from a
 * later one, so its get begins after the event has ended; it takes the lock, empties the
 * queue before it looks anything up, and finds the registration gone. It does not matter that the
 * kernel acts after the event and not before it, as long as nobody registers the memory in
 * between:
 *   - An application that passes memory which it is unmapping at the same time has an error
 *     of its own. What is mapped there next makes an event, too, so that not even this
 *     leaves anything behind (except after madvise, where nothing is mapped).
 *   - Pages are registered beside the ones asked for only if other registrations have them. The
 *     event has detached these, so they are not in the tree for a get that comes later.
 *   - A get that is registering meanwhile has its registration in the tree already. The event
 *     detaches it, the get notices and registers again: what was asked for, without more.
 * An event under way whose range is not in the queue yet needs no care: its call has not
 * come to the kernel. Where Open MPI's own hooks are in use, new memory makes no event, and brk
 * makes its one afterwards; malloc, which calls it, holds its lock until then.
 *
 * A get and an event of one thread
 *
 * Registration, allocation and all else that may call malloc is done without the lock, so
 * that the thread's own events find it free. A signal handler may still unmap memory while
 * the thread that it interrupts has the lock: an event never waits for it. Events that find
 * it taken go to the queue; the lock covers a few look-ups at most, so that the queue is for
 * those few that came meanwhile. If it is full all registrations are detached.
 *
 * What is merged
 *
 * A get whose memory overlaps registrations without being in one of them registers it together
 * with those, if that at most doubles what it registers. So a program that moves through an
 * array with a step other than the size pays twice at most, where always merging would
 * register all that came before again at each step. Registrations that a new one contains are
 * given up, when their references are gone. Neighbours are not merged: that saves nothing
 * until somebody asks for both at once, and then they are.
 */
#include "reg_cache.h"
#include "mem_events.h"
#include "range_queue.h"
#include "reg_full.h"
#include "../../../ucs/log.h"
#include "../../../ucs/process.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* How often a get registers again because of events. */
#define REG_TRIES 4

struct ri_reg_cache {
    ri_reg_cache_params_t params;
    size_t page;
    unsigned process; /* see process.h */
    ri_mem_events_t events;

    /* over all below, and what registrations say they have of the cache */
    pthread_mutex_t lock;
    ri_interval_tree_t tree;
    /* cached and idle registrations, the one that was used last at the end */
    ucs_list_link_t lru;
    ucs_list_link_t dead; /* detached and idle ones, to be deregistered */
    ri_reg_full_t full;
    ri_plane_counters_t counters;

    ri_range_queue_t queue; /* events that came while somebody had the lock */
};

static ri_registration_t *reg_of_range(ri_interval_t *range)
{
    return ri_container_of(range, ri_registration_t, range);
}

static size_t reg_length(const ri_registration_t *registration)
{
    return registration->range.end - registration->range.start;
}

/* @return Whether a registration may change its state so. Only assertions ask. */
__attribute__((unused)) static int reg_may_become(ri_reg_state_t from, ri_reg_state_t to)
{
    switch (to) {
    case RI_REG_REGISTERING:
        return from == RI_REG_NEW;
    case RI_REG_CACHED:
        return from == RI_REG_REGISTERING;
    case RI_REG_DETACHED:
        return from != RI_REG_DETACHED;
    default:
        return 0;
    }
}

/* Change the state of a registration, as ri_reg_state_t allows it. */
static void reg_set_state(ri_registration_t *registration, ri_reg_state_t state)
{
    assert(reg_may_become(registration->state, state));
    registration->state = state;
}

/* Let nobody find a registration any more. */
static void reg_detach(ri_reg_cache_t *cache, ri_registration_t *registration)
{
    assert(registration->state != RI_REG_NEW);
    reg_set_state(registration, RI_REG_DETACHED);
    ri_interval_remove(&cache->tree, &registration->range);
    if (registration->refs == 0) {
        ucs_list_del(&registration->list);
        ucs_list_add_tail(&cache->dead, &registration->list);
    }
}

/* Detach all registrations that have anything of a range. */
static void reg_invalidate(uintptr_t start, uintptr_t end, void *arg)
{
    ri_reg_cache_t *cache = arg;
    ri_interval_t *range;

    while ((range = ri_interval_overlapping(&cache->tree, start, end, NULL, NULL)) !=
           NULL) {
        reg_detach(cache, reg_of_range(range));
        ++cache->counters.reg_invalidated;
    }
}

/* From here on all events that have ended are known. */
static void reg_enter(ri_reg_cache_t *cache)
{
    pthread_mutex_lock(&cache->lock);
    if (ri_range_queue_drain(&cache->queue, reg_invalidate, cache)) {
        ++cache->counters.reg_flushes;
    }
}

/* Deregister what is dead; that is done without the lock. */
static void reg_leave(ri_reg_cache_t *cache)
{
    ri_registration_t *registration;
    ucs_list_link_t dead;

    ucs_list_head_init(&dead);
    if (ri_unlikely(!ucs_list_is_empty(&cache->dead))) {
        ucs_list_for_each(registration, &cache->dead, list) {
            cache->counters.reg_bytes -= reg_length(registration);
            --cache->counters.reg_regions;
        }
        ucs_list_splice_tail(&dead, &cache->dead);
        ucs_list_head_init(&cache->dead);
    }
    pthread_mutex_unlock(&cache->lock);

    while (!ucs_list_is_empty(&dead)) {
        registration = ucs_list_extract_head(&dead, ri_registration_t, list);
        if (registration->is_registered) {
            cache->params.ops->dereg(cache->params.arg, &registration->keys);
        }
        free(registration);
    }
}

/* Give up the registration that was not used for longest. @return Its bytes, 0: there is none. */
static size_t reg_evict(ri_reg_cache_t *cache)
{
    ri_registration_t *registration;

    if (ucs_list_is_empty(&cache->lru)) {
        return 0;
    }
    registration = ucs_list_head(&cache->lru, ri_registration_t, list);
    reg_detach(cache, registration);
    ++cache->counters.reg_evicted;
    return reg_length(registration);
}

/* Come back to the limits, as far as that depends on idle registrations. */
static void reg_trim(ri_reg_cache_t *cache)
{
    ri_registration_t *registration;
    size_t bytes = cache->counters.reg_bytes;
    size_t count = cache->counters.reg_regions;

    ucs_list_for_each(registration, &cache->dead, list) {
        bytes -= reg_length(registration);
        --count;
    }
    while (((bytes > cache->params.max_bytes) ||
            (count > cache->params.max_registrations)) &&
           !ucs_list_is_empty(&cache->lru)) {
        bytes -= reg_evict(cache);
        --count;
    }
}

/* Take a reference for somebody. */
static void reg_hold(ri_reg_cache_t *cache, ri_registration_t *registration)
{
    if (registration->refs++ == 0) {
        ucs_list_del(&registration->list);
        ri_reg_full_use(&cache->full, reg_length(registration));
    }
}

static void reg_release(ri_reg_cache_t *cache, ri_registration_t *registration)
{
    assert(registration->refs > 0);
    if (--registration->refs == 0) {
        ri_reg_full_unuse(&cache->full, reg_length(registration));
        ucs_list_add_tail((registration->state == RI_REG_DETACHED) ? &cache->dead :
                                                                     &cache->lru,
                          &registration->list);
    }
}

/* A registration that can be handed out, and allows all that @a arg points to. */
static int reg_accept_access(const ri_interval_t *range, void *arg)
{
    const ri_registration_t *registration = reg_of_range((ri_interval_t *)range);
    const unsigned *access                = arg;

    return (registration->state == RI_REG_CACHED) && !(*access & ~registration->access);
}

/* A cached registration inside of the registration @a arg. */
static int reg_accept_inside(const ri_interval_t *range, void *arg)
{
    const ri_registration_t *outer = arg;

    return (reg_of_range((ri_interval_t *)range)->state == RI_REG_CACHED) &&
           (range->start >= outer->range.start) && (range->end <= outer->range.end);
}

/* A new registration and how far it may grow. */
typedef struct reg_union {
    ri_registration_t *registration;
    size_t max_length;
} reg_union_t;

/* Let the new registration @a arg have this one, if that pays; go on in any case. */
static int reg_accept_for_union(const ri_interval_t *range, void *arg)
{
    const reg_union_t *merge = arg;
    ri_interval_t *grown     = &merge->registration->range;
    uintptr_t start          = ri_min(grown->start, range->start);
    uintptr_t end            = ri_max(grown->end, range->end);

    if ((reg_of_range((ri_interval_t *)range)->state == RI_REG_CACHED) &&
        (end - start <= merge->max_length)) {
        grown->start = start;
        grown->end   = end;
    }
    return 0;
}

/* Put a new registration into the tree, and there let it take the place of others. */
static void reg_insert(ri_reg_cache_t *cache, ri_registration_t *registration, int merge)
{
    uintptr_t start = registration->range.start;
    uintptr_t end   = registration->range.end;
    size_t room     = ri_reg_full_room(&cache->full);
    reg_union_t all = {.registration = registration,
                       .max_length   = ri_min(2 * (end - start), room)};
    ri_interval_t *range;

    if (merge) {
        ri_interval_overlapping(&cache->tree, start, end, reg_accept_for_union, &all);
    }
    start = registration->range.start;
    end   = registration->range.end;
    while ((range = ri_interval_overlapping(&cache->tree, start, end, reg_accept_inside,
                                            registration)) != NULL) {
        reg_detach(cache, reg_of_range(range));
        ++cache->counters.reg_replaced;
    }
    ri_interval_insert(&cache->tree, &registration->range);
    reg_set_state(registration, RI_REG_REGISTERING);
}

/* Make a registration, which counts as registered from now on. */
static ri_registration_t *reg_new(ri_reg_cache_t *cache, uintptr_t start, uintptr_t end,
                                  unsigned access, int merge)
{
    ri_registration_t *registration = calloc(1, sizeof(*registration));

    if (registration == NULL) {
        return NULL;
    }
    registration->range.start = start;
    registration->range.end   = end;
    registration->access      = access;
    registration->refs        = 1;
    registration->state       = RI_REG_NEW;

    reg_enter(cache);
    if (cache->params.enable) {
        reg_insert(cache, registration, merge);
    } else {
        reg_set_state(registration, RI_REG_DETACHED);
    }
    cache->counters.reg_bytes += reg_length(registration);
    ++cache->counters.reg_regions;
    ri_reg_full_use(&cache->full, reg_length(registration));
    reg_trim(cache);
    reg_leave(cache);
    return registration;
}

/* Make room in a device that is full. @return Whether anything could be given up. */
static int reg_make_room(ri_reg_cache_t *cache, size_t length)
{
    size_t freed = 0, bytes;

    reg_enter(cache);
    while ((freed < length) && ((bytes = reg_evict(cache)) > 0)) {
        freed += bytes;
    }
    reg_leave(cache);
    return freed > 0;
}

/* Register what a new registration is of. It is not the caller's any more unless this returns
 * UCS_OK. UCS_ERR_BUSY: something of its memory went away meanwhile. */
static ucs_status_t reg_register(ri_reg_cache_t *cache, ri_registration_t *registration)
{
    const ri_reg_ops_t *ops = cache->params.ops;
    ucs_status_t status;

    do {
        status = ops->reg(cache->params.arg, (void *)registration->range.start,
                          reg_length(registration), registration->access,
                          &registration->keys);
    } while ((status == UCS_ERR_NO_MEMORY) &&
             reg_make_room(cache, reg_length(registration)));

    reg_enter(cache);
    registration->is_registered = (status == UCS_OK);
    if (status == UCS_OK) {
        ri_reg_full_fits(&cache->full);
    } else if ((status == UCS_ERR_NO_MEMORY) && cache->params.enable) {
        ri_reg_full_fails(&cache->full);
    }
    if (cache->params.enable) {
        if (registration->state == RI_REG_DETACHED) {
            status = (status == UCS_OK) ? UCS_ERR_BUSY : status;
        } else if (status == UCS_OK) {
            reg_set_state(registration, RI_REG_CACHED);
        } else {
            reg_detach(cache, registration);
        }
    }
    if (status == UCS_OK) {
        cache->counters.reg_bytes_max = ri_max(cache->counters.reg_bytes_max,
                                               cache->counters.reg_bytes);
    } else {
        reg_release(cache, registration);
    }
    reg_leave(cache);
    return status;
}

/*
 * Register memory that is in no registration. More than is asked for may fail where that does
 * not: memory beside it may be gone unseen, and memory may be for reading only.
 */
static ucs_status_t reg_add(ri_reg_cache_t *cache, uintptr_t start, uintptr_t end,
                            unsigned access, ri_registration_t **registration_p)
{
    unsigned allow = RI_REG_READ | RI_REG_WRITE;
    int merge      = 1;
    int tries      = 0;
    ri_registration_t *registration;
    ucs_status_t status;
    int is_larger;

    for (;; merge = 0) {
        registration = reg_new(cache, start, end, allow, merge);
        if (registration == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
        is_larger = reg_length(registration) > end - start;
        status    = reg_register(cache, registration);
        if (status == UCS_OK) {
            *registration_p = registration;
            return UCS_OK;
        }
        if (status == UCS_ERR_BUSY) {
            if (++tries == REG_TRIES) {
                return status;
            }
        } else if (!is_larger) {
            if ((allow == access) || (status == UCS_ERR_NO_MEMORY)) {
                return status;
            }
            allow = access;
        }
    }
}

ucs_status_t ri_reg_cache_get(ri_reg_cache_t *cache, const void *address, size_t length,
                              unsigned access, ri_registration_t **registration_p)
{
    uintptr_t start = (uintptr_t)address & ~(cache->page - 1);
    uintptr_t end = ((uintptr_t)address + length + cache->page - 1) & ~(cache->page - 1);
    ri_interval_t *range;
    int fits = 1;

    if ((length == 0) || (end <= start) || (end - start < length)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (ri_unlikely(ri_process_generation != cache->process)) {
        return UCS_ERR_UNSUPPORTED; /* the keys are those of the parent's memory */
    }

    reg_enter(cache);
    range = ri_interval_covering(&cache->tree, start, end, reg_accept_access, &access);
    if (range != NULL) {
        *registration_p = reg_of_range(range);
        reg_hold(cache, *registration_p);
        ++cache->counters.reg_hits;
    } else {
        fits = end - start <= ri_reg_full_room(&cache->full);
        ++cache->counters.reg_misses;
    }
    reg_leave(cache);
    if (range != NULL) {
        return UCS_OK;
    }
    return fits ? reg_add(cache, start, end, access, registration_p) : UCS_ERR_NO_MEMORY;
}

void ri_reg_cache_put(ri_reg_cache_t *cache, ri_registration_t *registration)
{
    if (ri_unlikely(ri_process_generation != cache->process)) {
        return;
    }
    reg_enter(cache);
    reg_release(cache, registration);
    reg_trim(cache);
    reg_leave(cache);
}

void ri_reg_cache_invalidate(ri_reg_cache_t *cache, uintptr_t start, uintptr_t end)
{
    /* Registrations are of whole pages: a part of a page is in the same ones as all of it. */
    if (pthread_mutex_trylock(&cache->lock) == 0) {
        reg_invalidate(start, end, cache);
        pthread_mutex_unlock(&cache->lock);
    } else {
        ri_range_queue_push(&cache->queue, start, end);
    }
}

static void reg_event(uintptr_t start, uintptr_t end, void *arg)
{
    ri_reg_cache_invalidate(arg, start, end);
}

void ri_reg_cache_get_counters(ri_reg_cache_t *cache, ri_plane_counters_t *counters)
{
    if (ri_process_generation != cache->process) {
        /* at the end of a child process, where all is printed */
        *counters = cache->counters;
        return;
    }
    reg_enter(cache);
    reg_leave(cache); /* dead entries do not count */
    pthread_mutex_lock(&cache->lock);
    *counters = cache->counters;
    pthread_mutex_unlock(&cache->lock);
}

ucs_status_t ri_reg_cache_create(const ri_reg_cache_params_t *params,
                                 ri_reg_cache_t **cache_p)
{
    ri_reg_cache_t *cache;

    if (ri_process_generation == 0) {
        ri_warn("no transfers by verbs: the library would not notice a fork");
        return UCS_ERR_UNSUPPORTED;
    }
    cache = calloc(1, sizeof(*cache));
    if (cache == NULL) {
        ri_warn("no transfers by verbs: out of memory for a registration cache");
        return UCS_ERR_NO_MEMORY;
    }

    cache->params  = *params;
    cache->page    = sysconf(_SC_PAGESIZE);
    cache->process = ri_process_generation;
    ri_reg_full_init(&cache->full);
    ucs_list_head_init(&cache->lru);
    ucs_list_head_init(&cache->dead);
    pthread_mutex_init(&cache->lock, NULL);

    if (params->enable && !params->is_told &&
        (ri_mem_events_start(&cache->events, reg_event, cache) != UCS_OK)) {
        cache->params.enable = 0;
        ri_warn("the registration cache is off: memory is registered for each message");
    }
    *cache_p = cache;
    return UCS_OK;
}

void ri_reg_cache_destroy(ri_reg_cache_t *cache)
{
    ri_interval_t *range;
    uint64_t left;

    if (ri_process_generation != cache->process) {
        return; /* a thread that is not here may have had the lock */
    }
    ri_mem_events_stop(&cache->events);

    reg_enter(cache);
    while ((range = ri_interval_overlapping(&cache->tree, 0, UINTPTR_MAX, NULL, NULL)) !=
           NULL) {
        reg_detach(cache, reg_of_range(range));
    }
    reg_leave(cache);

    left = cache->counters.reg_regions;
    if (left > 0) {
        ri_warn("%lu registered regions of memory were in use at the end",
                (unsigned long)left);
    }
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}
