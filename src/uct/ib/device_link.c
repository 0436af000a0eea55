/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "device_link.h"

#if HAVE_VERBS

#include "../../ucp/core/config.h"
#include "../../ucp/core/log.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <ucs/sys/string.h>

/* The rest of a P_Key says whether it is a full member. */
#define LINK_PKEY_NUMBER 0x7fffu
#define LINK_PKEY_FULL   0x8000u

#define LINK_ROCE_SL_MAX 7u

/* What networks of RoCE v2 that have been set up for UCX expect: its own default. */
#define LINK_ROCE_V2_CLASS 106

/* An entry is taken if it is the one that was asked for; without that, the first full member's. Two
 * limited members do not hear each other, so of one number the full member's is taken, too, and the
 * limited one if there is no other. */
static int link_find_pkey(ri_ib_device_t *device, unsigned table_length)
{
    int wanted  = ri_config.ib_pkey_value;
    int limited = 0; /* one has been found */
    unsigned i, pkey;
    __be16 entry;

    device->pkey_index = 0;
    if (ri_verbs.query_pkey == NULL) {
        return wanted == 0;
    }
    for (i = 0; (i < table_length) && (i <= UINT16_MAX); ++i) {
        if (ri_verbs.query_pkey(device->context, device->port, i, &entry) != 0) {
            continue;
        }
        pkey = ntohs(entry);
        if (((pkey & LINK_PKEY_NUMBER) == 0) ||
            ((wanted != 0) && ((pkey & LINK_PKEY_NUMBER) != (unsigned)wanted))) {
            continue;
        }
        if (pkey & LINK_PKEY_FULL) {
            device->pkey_index = i;
            return 1;
        }
        if ((wanted != 0) && !limited) {
            device->pkey_index = i;
            limited            = 1;
        }
    }
    return (wanted == 0) || limited;
}

/* Priorities of Ethernet are fewer than service levels: devices take the low bits. */
static void link_limit_sl(ri_ib_device_t *device)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;

    if ((device->link == RI_IB_LINK_INFINIBAND) || (device->sl <= LINK_ROCE_SL_MAX)) {
        return;
    }
    if (!atomic_flag_test_and_set(&warned)) {
        ri_warn("UCXRI_IB_SL=%u: RoCE has priorities up to %u, %u is used", device->sl,
                LINK_ROCE_SL_MAX, device->sl & LINK_ROCE_SL_MAX);
    }
    device->sl &= LINK_ROCE_SL_MAX;
}

int ri_ib_device_set_marks(ri_ib_device_t *device, unsigned table_length)
{
    int is_v2 = (device->link == RI_IB_LINK_ROCE_V2);

    device->sl = (ri_config.ib_sl == UCS_ULUNITS_AUTO) ? 0 : ri_config.ib_sl;
    link_limit_sl(device);
    device->traffic_class = (ri_config.ib_traffic_class != UCS_ULUNITS_AUTO) ?
                                    ri_config.ib_traffic_class :
                            is_v2 ? LINK_ROCE_V2_CLASS :
                                    0;
    if (!link_find_pkey(device, table_length)) {
        ri_info("%s:%u has no P_Key of number 0x%x (UCXRI_IB_PKEY)",
                ri_verbs.get_device_name(device->context->device), device->port,
                ri_config.ib_pkey_value);
        return 0;
    }
    return 1;
}

void ri_ib_device_mark(const ri_ib_device_t *device, struct ibv_ah_attr *attr)
{
    attr->sl = device->sl;
    if (attr->is_global) { /* else no packet has room for it */
        attr->grh.traffic_class = device->traffic_class;
    }
}

#endif
