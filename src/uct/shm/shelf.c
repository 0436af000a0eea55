/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of a shelf comes first, then the sender's end, then the receiver's.
 */
#include "shelf.h"
#include "shared_file.h"
#include "../../ucs/copy.h"

#include <sys/mman.h>
#include <unistd.h>

#define SHELF_PAGE 4096ul

/* @return Bytes before the places. */
static size_t shelf_places_offset(uint32_t places)
{
    size_t marks_end = sizeof(ri_shelf_head_t) + places * sizeof(ri_shelf_mark_t);

    return (marks_end + SHELF_PAGE - 1) & ~(SHELF_PAGE - 1);
}

static size_t shelf_map_size(size_t size)
{
    return shelf_places_offset(size / RI_SHELF_PLACE) + size;
}

static void shelf_init(ri_shelf_t *shelf, void *map, size_t size)
{
    uint32_t places = size / RI_SHELF_PLACE;

    shelf->head     = map;
    shelf->marks    = (ri_shelf_mark_t *)((char *)map + sizeof(ri_shelf_head_t));
    shelf->places   = (uint8_t *)map + shelf_places_offset(places);
    shelf->mask     = places - 1;
    shelf->pos      = 0;
    shelf->map_size = shelf_map_size(size);
}

static void shelf_unmap(ri_shelf_t *shelf)
{
    munmap(shelf->head, shelf->map_size);
    shelf->head = NULL;
}

ucs_status_t ri_shelf_create(ri_shelf_rx_t *rx, size_t size, uint64_t cookie)
{
    void *map = ri_shared_file_make("ucxri-shelf", shelf_map_size(size),
                                    shelf_map_size(size), &rx->fd);

    if (map == NULL) {
        return UCS_ERR_IO_ERROR;
    }
    shelf_init(&rx->shelf, map, size);
    rx->shelf.head->cookie = cookie;
    rx->shelf.head->places = size / RI_SHELF_PLACE;
    return UCS_OK;
}

void ri_shelf_rx_mapped(ri_shelf_rx_t *rx)
{
    if (rx->fd >= 0) {
        close(rx->fd);
        rx->fd = -1;
    }
}

void ri_shelf_rx_close(ri_shelf_rx_t *rx)
{
    ri_shelf_rx_mapped(rx);
    shelf_unmap(&rx->shelf);
}

ucs_status_t ri_shelf_open(ri_shelf_tx_t *tx, uint32_t pid, uint32_t fd, size_t size,
                           uint64_t cookie)
{
    void *map;

    if ((size < RI_SHELF_MIN) || (size > RI_SHELF_MAX) || (size & (size - 1))) {
        return UCS_ERR_UNREACHABLE;
    }
    map = ri_shared_file_open(pid, fd, shelf_map_size(size), shelf_map_size(size));
    if (map == NULL) {
        return UCS_ERR_UNREACHABLE;
    }
    shelf_init(&tx->shelf, map, size);
    tx->taken    = 0;
    tx->distance = (ri_distance_t){0};
    if ((tx->shelf.head->cookie != cookie) ||
        (tx->shelf.head->places != size / RI_SHELF_PLACE)) {
        shelf_unmap(&tx->shelf);
        return UCS_ERR_UNREACHABLE;
    }
    return UCS_OK;
}

void ri_shelf_tx_close(ri_shelf_tx_t *tx)
{
    shelf_unmap(&tx->shelf);
}

/* The receiver's position as far as it can be true: a broken peer must not make this side put a
 * part where another one is still on its way. */
static void shelf_tx_update(ri_shelf_tx_t *tx)
{
    uint32_t taken = ri_distance_timed_read(&tx->distance, &tx->shelf.head->taken);

    if (tx->shelf.pos - taken <= tx->shelf.pos - tx->taken) {
        tx->taken = taken;
    }
}

void *ri_shelf_tx_place(ri_shelf_tx_t *tx)
{
    uint32_t used = tx->shelf.pos - tx->taken;

    /* Every quarter, so that it is known how far the receiver is */
    if (used > tx->shelf.mask / 4) {
        shelf_tx_update(tx);
        used = tx->shelf.pos - tx->taken;
    }
    return (used > tx->shelf.mask) ?
                   NULL :
                   tx->shelf.places + (tx->shelf.pos & tx->shelf.mask) * RI_SHELF_PLACE;
}

void ri_shelf_tx_copy(ri_shelf_tx_t *tx, void *place, const void *from, size_t length)
{
    if (ri_distance_is_far(&tx->distance)) {
        ri_copy_past_caches(place, from, length);
    } else {
        memcpy(place, from, length);
    }
}

void ri_shelf_tx_put(ri_shelf_tx_t *tx, const ri_shelf_part_t *part)
{
    ri_shelf_mark_t *mark = &tx->shelf.marks[tx->shelf.pos & tx->shelf.mask];

    mark->part = *part;
    ri_copy_fence();
    atomic_store_explicit(&mark->stamp, ri_shelf_stamp(tx->shelf.pos),
                          memory_order_release);
    ++tx->shelf.pos;
}

int ri_shelf_rx_look(const ri_shelf_rx_t *rx, ri_shelf_part_t *part)
{
    const ri_shelf_mark_t *mark = &rx->shelf.marks[rx->shelf.pos & rx->shelf.mask];

    if (atomic_load_explicit(&mark->stamp, memory_order_acquire) !=
        ri_shelf_stamp(rx->shelf.pos)) {
        return 0;
    }
    *part = mark->part;
    return 1;
}

void ri_shelf_rx_advance(ri_shelf_rx_t *rx)
{
    ++rx->shelf.pos;
    atomic_store_explicit(&rx->shelf.head->taken, rx->shelf.pos, memory_order_release);
}
