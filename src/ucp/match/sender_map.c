/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Two hash tables, of tags within their mask and of senders. An entry that is not used is
 * overwritten, so the map never grows.
 */
#include "sender_map.h"
#include "../core/types/module.h"
#include "../core/worker.h"

#include <stdlib.h>

#define SENDER_MAP_LOG2 10

/* RTRs in a row that may go unused before a class stops to send them: if none was of use so far,
 * and if they were. */
#define SENDER_MAP_CREDIT_NEW 2
#define SENDER_MAP_CREDIT_MAX 4

/* The lowest credit: messages that would have used an RTR bring a class back from there. */
#define SENDER_MAP_CREDIT_MIN (-2)

/* How many others an RTR counts for that costs more than a message and goes unused, also where
 * senders take turns; and how many messages without an RTR, at least and at most, bring a class
 * back that was stopped by such RTRs. */
#define SENDER_MAP_COSTLY    2
#define SENDER_MAP_PAUSE_MIN 16
#define SENDER_MAP_PAUSE_MAX 4096

static ri_sender_t *sender_slot(ri_sender_t *table, uint64_t tag, uint64_t mask)
{
    uint64_t hash = ((tag & mask) ^ (mask * 0xff51afd7ed558ccdul)) * 0x9e3779b97f4a7c15ul;

    return &table[hash >> (64 - SENDER_MAP_LOG2)];
}

static ri_sender_t *sender_find(ri_sender_t *table, uint64_t tag, uint64_t mask)
{
    ri_sender_t *sender;

    if (table == NULL) {
        return NULL;
    }
    sender = sender_slot(table, tag, mask);
    return ((sender->stream_id != 0) && (sender->mask == mask) &&
            (sender->tag == (tag & mask))) ?
                   sender :
                   NULL;
}

/* Enter what was learnt. Without memory, nothing is. */
static void sender_put(ri_sender_t **table, uint64_t tag, uint64_t mask,
                       uint32_t stream_id)
{
    ri_sender_t *sender;

    if (*table == NULL) {
        *table = calloc((size_t)1 << SENDER_MAP_LOG2, sizeof(**table));
        if (*table == NULL) {
            return;
        }
    }
    sender = sender_find(*table, tag, mask);
    if (sender == NULL) {
        sender  = sender_slot(*table, tag, mask);
        *sender = (ri_sender_t){
                .tag = tag & mask, .mask = mask, .credit = SENDER_MAP_CREDIT_NEW - 1};
    } else if ((sender->stream_id != stream_id) &&
               ((sender->pause == 0) || (sender->credit >= 0))) {
        sender->credit = SENDER_MAP_CREDIT_NEW - 1;
    }
    sender->stream_id = stream_id;
}

void ri_sender_map_init(ri_sender_map_t *map, uint64_t sender_mask)
{
    map->sender_mask = sender_mask;
    map->classes     = NULL;
    map->senders     = NULL;
}

void ri_sender_map_cleanup(ri_sender_map_t *map)
{
    free(map->classes);
    free(map->senders);
}

/* A mask that covers the whole sender mask; without one, any. */
static int sender_is_one(const ri_sender_map_t *map, uint64_t mask)
{
    return (mask & map->sender_mask) == map->sender_mask;
}

uint32_t ri_sender_map_find(const ri_sender_map_t *map, uint64_t tag, uint64_t mask)
{
    const ri_sender_t *sender = NULL;

    if (!sender_is_one(map, mask)) {
        return 0;
    }
    if (map->sender_mask != 0) {
        sender = sender_find(map->senders, tag, map->sender_mask);
    }
    if (sender == NULL) {
        sender = sender_find(map->classes, tag, mask);
    }
    return (sender != NULL) ? sender->stream_id : 0;
}

void ri_sender_map_learn(ri_sender_map_t *map, uint64_t tag, uint64_t mask,
                         uint64_t sender_tag, uint32_t stream_id)
{
    if (map->sender_mask != 0) {
        sender_put(&map->senders, sender_tag, map->sender_mask, stream_id);
    }
    if (sender_is_one(map, mask)) {
        sender_put(&map->classes, tag, mask, stream_id);
    }
}

int ri_sender_map_is_worth(const ri_sender_map_t *map, uint64_t tag, uint64_t mask)
{
    const ri_sender_t *sender = sender_find(map->classes, tag, mask);

    return (sender == NULL) || (sender->credit >= 0);
}

/* @return The entry of a class, or NULL: there is no memory. */
static ri_sender_t *sender_of_class(ri_sender_map_t *map, uint64_t tag, uint64_t mask,
                                    uint32_t stream_id)
{
    ri_sender_t *sender = sender_find(map->classes, tag, mask);

    if (sender == NULL) {
        sender_put(&map->classes, tag, mask, stream_id);
        sender = sender_find(map->classes, tag, mask);
    }
    return sender;
}

void ri_sender_map_credit(ri_sender_map_t *map, uint64_t tag, uint64_t mask,
                          uint32_t stream_id, int change)
{
    ri_sender_t *sender = sender_of_class(map, tag, mask, stream_id);
    int32_t lowest;

    if (sender != NULL) {
        /* The class may be in a pause. */
        lowest         = ri_min(sender->credit, SENDER_MAP_CREDIT_MIN);
        sender->credit = ri_max(ri_min(sender->credit + change, SENDER_MAP_CREDIT_MAX),
                                lowest);
    }
}

void ri_sender_map_credit_costly(ri_sender_map_t *map, uint64_t tag, uint64_t mask,
                                 uint32_t stream_id, int used)
{
    ri_sender_t *sender = sender_of_class(map, tag, mask, stream_id);

    if (sender == NULL) {
        return;
    }
    if (used) {
        sender->pause  = 0;
        sender->credit = ri_min(ri_max(sender->credit, 0) + 1, SENDER_MAP_CREDIT_MAX);
        return;
    }
    if (sender->credit < 0) {
        return; /* the RTR was out when the pause began */
    }
    sender->credit -= SENDER_MAP_COSTLY;
    if (sender->credit < 0) {
        sender->pause  = ri_max(ri_min(2 * sender->pause, SENDER_MAP_PAUSE_MAX),
                                SENDER_MAP_PAUSE_MIN);
        sender->credit = -sender->pause;
    }
}

static ucs_status_t sender_worker_made(ri_worker_t *worker)
{
    ri_sender_map_init(&worker->senders, worker->context->sender_mask);
    return UCS_OK;
}

static void sender_worker_freed(ri_worker_t *worker)
{
    ri_sender_map_cleanup(&worker->senders);
}

const ri_module_t ri_module_sender_map = {.name         = "sender_map",
                                          .worker_made  = sender_worker_made,
                                          .worker_freed = sender_worker_freed};
