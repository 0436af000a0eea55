/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Registration, the end, making room, and taking a buffer. Buffers of one size form a list with the
 * latest first, as that is still in the cache.
 */
#include "pool.h"
#include "../core/types/module.h"
#include "../core/worker.h"
#include "../../ucs/settings.h"

#include <pthread.h>
#include <stdlib.h>

/* Buffers in all: the ids of more would not tell one use from another. */
#define POOL_INDEX_BITS 20

/* Buffers that outlive their worker, so that they do not look like a leak. */
static UCS_LIST_HEAD(pool_left);
static pthread_mutex_t pool_left_lock = PTHREAD_MUTEX_INITIALIZER;

void ri_pool_init(ri_pool_t *pool, size_t limit)
{
    size_t most = ((size_t)1 << POOL_INDEX_BITS) - 1;
    unsigned class;

    *pool = (ri_pool_t){.limit = ri_min(limit, most << RI_POOL_SHIFT)};
    for (class = 0; class < RI_POOL_CLASSES; ++class) {
        ucs_list_head_init(&pool->free[class]);
    }
    ucs_list_head_init(&pool->lent);
    ucs_list_head_init(&pool->unsent);
    ucs_list_head_init(&pool->releasing);
    ri_id_table_init(&pool->ids, POOL_INDEX_BITS, 32);
}

#define POOL_STATE(_name) (1u << RI_POOL_##_name)

/* By the state before: the states that may follow. */
static const uint8_t pool_may_become[RI_POOL_STATE_LAST] = {
        [RI_POOL_FREE]    = POOL_STATE(LENT),
        [RI_POOL_LENT]    = POOL_STATE(FREE) | POOL_STATE(WRITING) | POOL_STATE(IN_STOCK),
        [RI_POOL_WRITING] = POOL_STATE(FREE) | POOL_STATE(LENT),
        [RI_POOL_IN_STOCK] = POOL_STATE(FREE) | POOL_STATE(UNSENT),
        [RI_POOL_UNSENT]   = POOL_STATE(FREE) | POOL_STATE(IN_STOCK),
};

int ri_pool_may_become(ri_pool_state_t from, ri_pool_state_t to)
{
    return (pool_may_become[from] >> to) & 1;
}

static void pool_unregister_one(ri_pool_buffer_t *buffer)
{
    if (buffer->plane != NULL) {
        buffer->plane->ops->release(buffer->plane, &buffer->memory);
        buffer->plane = NULL;
    }
}

static void pool_unregister_list(ucs_list_link_t *list)
{
    ri_pool_buffer_t *buffer;

    ucs_list_for_each(buffer, list, list) {
        pool_unregister_one(buffer);
    }
}

void ri_pool_unregister(ri_pool_t *pool)
{
    unsigned class;

    for (class = 0; class < RI_POOL_CLASSES; ++class) {
        pool_unregister_list(&pool->free[class]);
    }
    pool_unregister_list(&pool->lent);
    pool_unregister_list(&pool->unsent);
}

int ri_pool_register(ri_pool_buffer_t *buffer, ri_plane_t *plane)
{
    if ((buffer->plane == NULL) &&
        (plane->ops->reg(plane, buffer->data, ri_pool_class_size(buffer->size_class),
                         &buffer->memory) == UCS_OK)) {
        buffer->plane = plane;
    }
    return buffer->plane != NULL;
}

static void pool_free(ri_pool_t *pool, ri_pool_buffer_t *buffer)
{
    pool_unregister_one(buffer);
    pool->allocated -= ri_pool_class_size(buffer->size_class);
    free(buffer->data);
    free(buffer);
}

static void pool_free_all(ri_pool_t *pool, ucs_list_link_t *list)
{
    while (!ucs_list_is_empty(list)) {
        pool_free(pool, ucs_list_extract_head(list, ri_pool_buffer_t, list));
    }
}

void ri_pool_cleanup(ri_pool_t *pool)
{
    unsigned class;

    for (class = 0; class < RI_POOL_CLASSES; ++class) {
        pool_free_all(pool, &pool->free[class]);
    }
    pool_free_all(pool, &pool->unsent);
    pthread_mutex_lock(&pool_left_lock);
    ucs_list_splice_tail(&pool_left, &pool->lent);
    pthread_mutex_unlock(&pool_left_lock);
    ucs_list_head_init(&pool->lent);
    ri_id_table_cleanup(&pool->ids);
}

/* Give free buffers of any size up, until @a size more bytes may be allocated. */
static void pool_make_room(ri_pool_t *pool, size_t size)
{
    unsigned class;

    for (class = RI_POOL_CLASSES; class -- > 0;) {
        while ((pool->limit - pool->allocated < size) &&
               !ucs_list_is_empty(&pool->free[class])) {
            pool_free(pool,
                      ucs_list_extract_head(&pool->free[class], ri_pool_buffer_t, list));
        }
    }
}

static ri_pool_buffer_t *pool_new(ri_pool_t *pool, unsigned class)
{
    size_t size              = ri_pool_class_size(class);
    ri_pool_buffer_t *buffer = malloc(sizeof(*buffer));

    if (buffer == NULL) {
        return NULL;
    }
    pool_make_room(pool, size);
    buffer->data = aligned_alloc((size_t)1 << RI_POOL_SHIFT, size);
    if (buffer->data == NULL) {
        free(buffer);
        return NULL;
    }
    buffer->id         = 0;
    buffer->state      = RI_POOL_FREE;
    buffer->size_class = class;
    buffer->plane      = NULL;
    pool->allocated += size;
    return buffer;
}

ri_pool_buffer_t *ri_pool_get(ri_pool_t *pool, size_t length)
{
    unsigned class = ri_pool_class(length);
    ri_pool_buffer_t *buffer;

    if (!ri_pool_has(pool, length)) {
        return NULL;
    }
    if (ri_likely(!ucs_list_is_empty(&pool->free[class]))) {
        buffer = ucs_list_extract_head(&pool->free[class], ri_pool_buffer_t, list);
    } else {
        buffer = pool_new(pool, class);
    }
    if (buffer == NULL) {
        return NULL;
    }
    buffer->id = ri_id_alloc(&pool->ids, buffer);
    if (buffer->id == 0) {
        ucs_list_add_head(&pool->free[class], &buffer->list);
        return NULL;
    }
    ri_pool_set_state(buffer, RI_POOL_LENT);
    pool->used += ri_pool_class_size(class);
    return buffer;
}

void ri_pool_forget(ri_pool_t *pool, ri_pool_buffer_t *buffer)
{
    if (buffer->id != 0) {
        ri_id_free(&pool->ids, buffer->id);
        buffer->id = 0;
    }
}

void ri_pool_put(ri_pool_t *pool, ri_pool_buffer_t *buffer)
{
    ri_pool_forget(pool, buffer);
    ri_pool_set_state(buffer, RI_POOL_FREE);
    pool->used -= ri_pool_class_size(buffer->size_class);
    ucs_list_add_head(&pool->free[buffer->size_class], &buffer->list);
}

static ucs_status_t pool_worker_made(ri_worker_t *worker)
{
    ri_pool_init(&worker->pool, ri_config.pool_size);
    return UCS_OK;
}

static void pool_worker_closes(ri_worker_t *worker)
{
    ri_pool_unregister(&worker->pool);
}

static void pool_worker_freed(ri_worker_t *worker)
{
    ri_pool_cleanup(&worker->pool);
}

const ri_module_t ri_module_pool = {.name          = "pool",
                                    .worker_made   = pool_worker_made,
                                    .worker_closes = pool_worker_closes,
                                    .worker_freed  = pool_worker_freed};
