/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "footprint.h"
#include "../../../ucs/id_table.h"
#include "../../../ucs/heap.h"

#define FOOTPRINT_SEND_HEADER 32
#define FOOTPRINT_SEGMENT     16
#define FOOTPRINT_SEND_MIN    64
#define FOOTPRINT_COMPLETION  64

static size_t footprint_round(size_t size, size_t least)
{
    while (least < size) {
        least *= 2;
    }
    return least;
}

size_t ri_ib_footprint_queues(unsigned sends, unsigned send_sge, unsigned recvs,
                              unsigned recv_sge)
{
    size_t send = footprint_round(FOOTPRINT_SEND_HEADER + send_sge * FOOTPRINT_SEGMENT,
                                  FOOTPRINT_SEND_MIN);
    size_t recv = footprint_round(recv_sge * FOOTPRINT_SEGMENT, FOOTPRINT_SEGMENT);

    return sends * send + recvs * recv + (sends + recvs) * FOOTPRINT_COMPLETION;
}

size_t ri_ib_footprint_way(size_t size)
{
    return ri_heap_block(size) + sizeof(ri_id_slot_t) * 3 / 2;
}
