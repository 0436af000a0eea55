/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of a ring is made and mapped, and the sender finds room in it.
 */
#include "ring.h"
#include "shared_file.h"
#include "../../ucs/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes of the memory of a ring that both sides have from the start. */
static size_t ring_there(size_t size)
{
    return RI_RING_CONTROL_SIZE + ri_min(size, (size_t)RI_RING_FIRST * RI_RING_LINE);
}

ucs_status_t ri_ring_create(ri_ring_rx_t *rx, size_t size, uint64_t cookie)
{
    size_t map_size = RI_RING_CONTROL_SIZE + size;
    void *map = ri_shared_file_make("ucxri-ring", map_size, ring_there(size), &rx->fd);

    if (map == NULL) {
        return UCS_ERR_IO_ERROR;
    }

    rx->control          = map;
    rx->control->cookie  = cookie;
    rx->control->version = RI_RING_VERSION;
    rx->control->lines   = size / RI_RING_LINE;
    rx->lines            = (ri_ring_record_t *)((char *)map + RI_RING_CONTROL_SIZE);
    rx->mask             = size / RI_RING_LINE - 1;
    rx->pos              = 0;
    rx->published        = 0;
    rx->payload_lines    = 0;
    rx->expected_lines   = 0;
    rx->told             = ri_min((rx->mask + 1) / 4, (uint32_t)RI_RING_TOLD);
    rx->map_size         = map_size;
    return UCS_OK;
}

const char *ri_ring_remedy(int error)
{
    switch (error) {
    case EPERM:
    case ENOSYS:
        return "; a container needs a seccomp profile that allows memfd_create";
    case EACCES:
        return "; see /proc/sys/vm/memfd_noexec, and security modules";
    case EFBIG:
        return "; see ulimit -f, or have smaller ones: UCXRI_RING_SIZE";
    case EMFILE:
    case ENFILE:
        return "; see ulimit -n, or have fewer rings: UCXRI_RING_PEERS";
    case ENOMEM:
    case ENOSPC:
        return "; for less memory: UCXRI_RING_PEERS, UCXRI_RING_SIZE";
    default:
        return "";
    }
}

void ri_ring_rx_mapped(ri_ring_rx_t *rx)
{
    if (rx->fd >= 0) {
        close(rx->fd);
        rx->fd = -1;
    }
}

void ri_ring_rx_close(ri_ring_rx_t *rx)
{
    ri_ring_rx_mapped(rx);
    munmap(rx->control, rx->map_size);
    rx->control = NULL;
}

ucs_status_t ri_ring_open(ri_ring_tx_t *tx, uint32_t pid, uint32_t fd, size_t size,
                          uint64_t cookie)
{
    size_t map_size = RI_RING_CONTROL_SIZE + size;
    ri_ring_control_t *control;

    if ((size < 4096) || (size > (1ul << 30)) || (size & (size - 1))) {
        return UCS_ERR_UNREACHABLE;
    }
    control = ri_shared_file_open(pid, fd, map_size, ring_there(size));
    if (control == NULL) {
        return UCS_ERR_UNREACHABLE;
    }

    if ((control->cookie != cookie) || (control->version != RI_RING_VERSION) ||
        (control->lines != size / RI_RING_LINE)) {
        goto err_unmap;
    }

    tx->dirty = calloc((size / RI_RING_LINE + 63) / 64, sizeof(*tx->dirty));
    if (tx->dirty == NULL) {
        goto err_unmap;
    }

    tx->control     = control;
    tx->lines       = (ri_ring_record_t *)((char *)control + RI_RING_CONTROL_SIZE);
    tx->mask        = size / RI_RING_LINE - 1;
    tx->pos         = 0;
    tx->end         = ri_min(tx->mask + 1, (uint32_t)RI_RING_FIRST);
    tx->limit       = tx->end;
    tx->left_small  = RI_RING_FIRST_LAPS * RI_RING_FIRST;
    tx->max_payload = (size / 4 < UINT16_MAX) ? size / 4 : UINT16_MAX; /* of the record */
    tx->map_size    = map_size;
    tx->pid         = pid;
    tx->distance    = (ri_distance_t){0};
    tx->quick       = (ri_quick_t){0};
    return UCS_OK;

err_unmap:
    munmap(control, map_size);
    return UCS_ERR_UNREACHABLE;
}

void ri_ring_tx_close(ri_ring_tx_t *tx)
{
    ri_ring_tx_leave(tx);
    munmap(tx->control, tx->map_size);
    free(tx->dirty);
    tx->control = NULL;
    tx->dirty   = NULL;
}

static int ring_tx_is_small(const ri_ring_tx_t *tx)
{
    return tx->end <= tx->mask;
}

/* Use all lines, if there is memory for them. */
static void ring_tx_grow(ri_ring_tx_t *tx)
{
    if (ri_shared_file_fill(tx->lines + tx->end,
                            (tx->mask + 1ul - tx->end) * RI_RING_LINE)) {
        tx->end = tx->mask + 1;
    } else {
        tx->left_small = RI_RING_FIRST_LAPS * RI_RING_FIRST; /* then once more */
    }
}

/* @return The position up to which the receiver has read, and a lap: as far as it can be true. A
 * broken peer must not make this side overwrite what it may not, nor run in circles. */
static uint32_t ring_tx_read_limit(ri_ring_tx_t *tx)
{
    uint32_t consumed = ri_distance_timed_read(&tx->distance, &tx->control->consumed);

    return (tx->pos - consumed <= tx->mask + 1) ? consumed + tx->mask + 1 : tx->limit;
}

static void ring_tx_set_limit(ri_ring_tx_t *tx, uint32_t limit)
{
    uint32_t end = (tx->pos & ~tx->mask) + tx->end;

    tx->limit = (ring_tx_is_small(tx) && ((int32_t)(limit - end) > 0)) ? end : limit;
}

/* End the lap. The lines that are skipped keep whatever they held; they count as dirty, or an old
 * header could match after 2^31 lines. The first line of a lap always holds a header. */
static void ring_tx_pad(ri_ring_tx_t *tx)
{
    uint32_t slot         = tx->pos & tx->mask;
    ri_ring_record_t *pad = &tx->lines[slot];

    ri_ring_tx_set_dirty(tx, slot, tx->mask + 1);
    tx->dirty[slot / 64] &= ~(1ul << (slot % 64));
    pad->length = 0;
    pad->type   = RI_RING_PAD;
    atomic_store_explicit(&pad->seq, ri_ring_stamp(tx->pos), memory_order_release);
    tx->pos += tx->mask + 1 - slot;
    tx->left_small -= ri_min(tx->left_small, slot);
}

int ri_ring_tx_make_room(ri_ring_tx_t *tx, uint32_t lines)
{
    uint32_t slot = tx->pos & tx->mask;
    uint32_t need = lines;
    uint32_t limit;
    int is_last;

    if (ring_tx_is_small(tx) &&
        ((tx->left_small == 0) || (lines > RI_RING_FIRST_ENOUGH))) {
        ring_tx_grow(tx);
    }
    is_last = slot + lines + ring_tx_is_small(tx) > tx->end; /* the lap ends before it */
    if (is_last) {
        need += tx->mask + 1 - slot;
    }
    limit = tx->limit;
    if (ring_tx_is_small(tx) || ((int32_t)(limit - (tx->pos + need)) <= 0)) {
        limit = ring_tx_read_limit(tx);
        ring_tx_set_limit(tx, limit);
        if ((int32_t)(limit - (tx->pos + need)) <= 0) {
            return 0;
        }
    }
    if (is_last) {
        ring_tx_pad(tx);
        ring_tx_set_limit(tx, limit);
    }
    ri_ring_tx_check(tx);
    return 1;
}
