/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ud_footprint.h"

#if HAVE_VERBS

#include "../device/footprint.h"
#include "ud_base.h"
#include "../../../ucs/heap.h"

/* Of a port, where each peer has its own */
#define FOOTPRINT_ADDRESS_HANDLE 128

size_t ri_ud_footprint_peer(void)
{
    return ri_ib_footprint_way(sizeof(ri_ud_ep_t)) +
           ri_heap_block(RI_UD_UNHEARD_MIN * sizeof(*((ri_ud_ep_t *)NULL)->unheard)) +
           ri_heap_block(2 * sizeof(*((ri_ud_ep_t *)NULL)->cancelled)) +
           ri_heap_block(sizeof(ri_ud_port_t)) + FOOTPRINT_ADDRESS_HANDLE;
}

size_t ri_ud_footprint_qp(const ri_ib_device_t *device)
{
    return ri_ud_pool_qp_bytes(device, ri_ud_pool_depth(device),
                               ri_ud_wire_mtu(device->mtu));
}

#endif
