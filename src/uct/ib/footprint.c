/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "footprint.h"

#if HAVE_VERBS

#include "rc.h"
#include "rc_notify.h"
#include "ud_plane.h"
#include "../../ucs/settings.h"
#include "../../ucs/id_table.h"
#include "../../ucs/heap.h"

#define FOOTPRINT_SEND_HEADER 32
#define FOOTPRINT_SEGMENT     16
#define FOOTPRINT_SEND_MIN    64
#define FOOTPRINT_COMPLETION  64

/* Of a port, where each peer has its own */
#define FOOTPRINT_ADDRESS_HANDLE 128

static size_t footprint_round(size_t size, size_t least)
{
    while (least < size) {
        least *= 2;
    }
    return least;
}

/* The queues of a queue pair, and what its work requests take of a completion queue. */
static size_t footprint_queues(unsigned sends, unsigned send_sge, unsigned recvs,
                               unsigned recv_sge)
{
    size_t send = footprint_round(FOOTPRINT_SEND_HEADER + send_sge * FOOTPRINT_SEGMENT,
                                  FOOTPRINT_SEND_MIN);
    size_t recv = footprint_round(recv_sge * FOOTPRINT_SEGMENT, FOOTPRINT_SEGMENT);

    return sends * send + recvs * recv + (sends + recvs) * FOOTPRINT_COMPLETION;
}

/* The end of a way, and its place in the plane's table of ids, which doubles. */
static size_t footprint_end(size_t size)
{
    return ri_heap_block(size) + sizeof(ri_id_slot_t) * 3 / 2;
}

size_t ri_ib_footprint_rc_queues(const ri_ib_device_t *device)
{
    return footprint_queues(ri_min(ri_config.ib_tx_queue, device->max_wr),
                            ri_min(device->max_sge, RI_RC_SGE_MAX), RI_RC_NOTIFY_RECEIVES,
                            1);
}

size_t ri_ib_footprint_rc_peer(const ri_ib_device_t *device)
{
    return footprint_end(sizeof(ri_rc_ep_t)) + ri_ib_footprint_rc_queues(device);
}

size_t ri_ib_footprint_ud_peer(void)
{
    return footprint_end(sizeof(ri_ud_ep_t)) +
           ri_heap_block(RI_UD_UNHEARD_MIN * sizeof(*((ri_ud_ep_t *)NULL)->unheard)) +
           ri_heap_block(2 * sizeof(*((ri_ud_ep_t *)NULL)->cancelled)) +
           ri_heap_block(sizeof(ri_ud_port_t)) + FOOTPRINT_ADDRESS_HANDLE;
}

size_t ri_ib_footprint_ud_qp(const ri_ib_device_t *device)
{
    size_t window = ri_ud_pool_depth(device);
    size_t state  = 2 * sizeof(uint32_t);

    return sizeof(ri_ud_qp_t) + window * (RI_UD_GRH_SIZE + state) +
           ri_ud_mtu_bytes(device->mtu) +
           footprint_queues(1, 1, window, ri_min(device->max_sge, RI_UD_SGE_MAX));
}

#endif
