/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which partition and service level is used, with which marks packets leave, and where they go.
 */
#include "link.h"

#if HAVE_VERBS

#include "../../../ucs/settings.h"
#include "../../../ucs/log.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <ucs/sys/string.h>

/* The rest of a P_Key says whether it is a full member. */
#define LINK_PKEY_NUMBER 0x7fffu
#define LINK_PKEY_FULL   0x8000u

#define LINK_ROCE_SL_MAX 7u

/* The value that networks of RoCE v2 which were set up for UCX expect: its own default. */
#define LINK_ROCE_V2_CLASS 106

#define LINK_HOP_LIMIT 64

/* @return The P_Key at a place of the port's table; 0: none. */
static unsigned link_get_pkey(const ri_ib_device_t *device, unsigned index)
{
    __be16 entry;

    if (ri_verbs.query_pkey(device->context, device->port, index, &entry) != 0) {
        return 0;
    }
    return (ntohs(entry) & LINK_PKEY_NUMBER) ? ntohs(entry) : 0;
}

/* @return Whether the P_Key of an address is in the table, at its place then. */
static int link_keeps_pkey(const ri_ib_device_t *device, unsigned table_length,
                           ri_ib_address_t *address)
{
    unsigned i;

    if (link_get_pkey(device, address->pkey_index) == address->pkey) {
        return 1;
    }
    for (i = 0; (i < table_length) && (i <= UINT16_MAX); ++i) {
        if (link_get_pkey(device, i) == address->pkey) {
            address->pkey_index = i;
            return 1;
        }
    }
    return 0;
}

/* An entry is taken if it is the one that was asked for; without that, the first full member's. Two
 * limited members do not hear each other, so of one number the full member's is taken, too, and the
 * limited one if there is no other. */
static int link_find_pkey(const ri_ib_device_t *device, unsigned table_length,
                          ri_ib_address_t *address)
{
    unsigned wanted = ri_config.ib_pkey_value;
    unsigned i, pkey;

    if (ri_verbs.query_pkey == NULL) {
        return wanted == 0;
    }
    if (address->pkey != 0) {
        /* Peers do not know of another partition, and do not hear by it */
        return link_keeps_pkey(device, table_length, address);
    }
    for (i = 0; (i < table_length) && (i <= UINT16_MAX); ++i) {
        pkey = link_get_pkey(device, i);
        if ((pkey == 0) || ((wanted != 0) && ((pkey & LINK_PKEY_NUMBER) != wanted))) {
            continue;
        }
        if ((pkey & LINK_PKEY_FULL) || ((wanted != 0) && (address->pkey == 0))) {
            address->pkey       = pkey;
            address->pkey_index = i;
        }
        if (pkey & LINK_PKEY_FULL) {
            return 1;
        }
    }
    return (wanted == 0) || (address->pkey != 0);
}

/* Priorities of Ethernet are fewer than service levels: devices take the low bits. */
static void link_limit_sl(ri_ib_address_t *address)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;

    if ((address->link == RI_IB_LINK_INFINIBAND) || (address->sl <= LINK_ROCE_SL_MAX)) {
        return;
    }
    if (!atomic_flag_test_and_set(&warned)) {
        ri_warn("UCXRI_IB_SL=%u: RoCE has priorities up to %u, %u is used", address->sl,
                LINK_ROCE_SL_MAX, address->sl & LINK_ROCE_SL_MAX);
    }
    address->sl &= LINK_ROCE_SL_MAX;
}

int ri_ib_link_set_marks(const ri_ib_device_t *device, unsigned table_length,
                         ri_ib_address_t *address)
{
    int is_v2 = (address->link == RI_IB_LINK_ROCE_V2);

    address->sl = (ri_config.ib_sl == UCS_ULUNITS_AUTO) ? 0 : ri_config.ib_sl;
    link_limit_sl(address);
    address->traffic_class = (ri_config.ib_traffic_class != UCS_ULUNITS_AUTO) ?
                                     ri_config.ib_traffic_class :
                             is_v2 ? LINK_ROCE_V2_CLASS :
                                     0;
    if (!link_find_pkey(device, table_length, address)) {
        ri_info("%s:%u has no P_Key of number 0x%x (UCXRI_IB_PKEY)",
                ri_verbs.get_device_name(device->context->device), device->port,
                ri_config.ib_pkey_value);
        return 0;
    }
    return 1;
}

struct ibv_ah_attr ri_ib_link_vector(const ri_ib_device_t *device,
                                     const ri_ib_address_t *local, uint16_t lid,
                                     const union ibv_gid *gid)
{
    struct ibv_ah_attr attr = {.port_num = device->port, .sl = local->sl};

    if (local->link == RI_IB_LINK_INFINIBAND) {
        attr.dlid = lid; /* no packet has room for a traffic class */
    } else {
        attr.is_global         = 1;
        attr.grh.sgid_index    = local->gid_index;
        attr.grh.hop_limit     = LINK_HOP_LIMIT;
        attr.grh.traffic_class = local->traffic_class;
        attr.grh.dgid          = *gid;
    }
    return attr;
}

#endif
