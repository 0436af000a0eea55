/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which GID of a port is used, whether that has changed, and whether a remote address is within
 * reach.
 */
#include "address.h"
#include "link.h"

#if HAVE_VERBS

#include "../../../ucs/settings.h"
#include "../../../ucs/log.h"

#include <stdatomic.h>
#include <string.h>
#include <ucs/sys/string.h>

/* The first LID that stands for a group of ports. */
#define ADDRESS_LID_MULTICAST 0xc000

/* Of a P_Key */
#define ADDRESS_PKEY_NUMBER 0x7fffu
#define ADDRESS_PKEY_FULL   0x8000u

static int gid_is_zero(const union ibv_gid *gid)
{
    static const union ibv_gid zero;

    return memcmp(gid, &zero, sizeof(zero)) == 0;
}

int ri_ib_address_is_ipv4(const union ibv_gid *gid)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

static int gid_is_link_local(const union ibv_gid *gid)
{
    return (gid->raw[0] == 0xfe) && ((gid->raw[1] & 0xc0) == 0x80);
}

/* @return Whether there is an entry in the port's table. */
static int address_query_gid(const ri_ib_device_t *device, unsigned index,
                             union ibv_gid *gid, ri_ib_link_t *link)
{
    struct ibv_gid_entry entry;

    if (ri_verbs.query_gid_ex == NULL) {
        *link = RI_IB_LINK_ROCE;
        return (ri_verbs.query_gid(device->context, device->port, index, gid) == 0) &&
               !gid_is_zero(gid);
    }
    memset(&entry, 0, sizeof(entry));
    if (ri_verbs.query_gid_ex(device->context, device->port, index, &entry, 0,
                              sizeof(entry)) != 0) {
        return 0;
    }
    *gid  = entry.gid;
    *link = (entry.gid_type == IBV_GID_TYPE_ROCE_V2) ? RI_IB_LINK_ROCE_V2 :
                                                       RI_IB_LINK_ROCE_V1;
    return !gid_is_zero(gid);
}

/* How good an entry is: RoCE v2 is routed, and an IPv4 address is one that a person gave. */
static int gid_rank(const union ibv_gid *gid, ri_ib_link_t link)
{
    int rank = (link == RI_IB_LINK_ROCE_V2) ? 4 : 1;

    if (ri_ib_address_is_ipv4(gid)) {
        return rank + 2;
    }
    return rank + !gid_is_link_local(gid);
}

/* An entry that is used stays in use as long as it is there, whatever better ones come. */
static int address_has_gid(const ri_ib_device_t *device, const ri_ib_address_t *address)
{
    union ibv_gid gid;
    ri_ib_link_t link;

    return address_query_gid(device, address->gid_index, &gid, &link) &&
           (link == address->link) && !memcmp(&gid, &address->gid, sizeof(gid));
}

static int address_is_like(const ri_ib_address_t *address, const union ibv_gid *gid,
                           ri_ib_link_t link)
{
    return (link == address->link) &&
           (ri_ib_address_is_ipv4(gid) == ri_ib_address_is_ipv4(&address->gid));
}

/* Choose the GID of a RoCE port. One that follows another has to be like it: else no peer is
 * reached, and nothing leads back when the other one, which has gone for a moment perhaps, is there
 * again.
 * @return Whether there is one. */
static int address_choose_gid(const ri_ib_device_t *device, int table_length,
                              ri_ib_address_t *address)
{
    int best = 0, given = ri_config.ib_gid_index != UCS_ULUNITS_AUTO;
    const ri_ib_address_t before = *address;
    union ibv_gid gid;
    ri_ib_link_t link;
    int i, rank;

    if (address_has_gid(device, address)) {
        return 1;
    }
    for (i = 0; i < ri_min(table_length, UINT8_MAX + 1); ++i) {
        if ((given && ((size_t)i != ri_config.ib_gid_index)) ||
            !address_query_gid(device, i, &gid, &link) ||
            (!gid_is_zero(&before.gid) && !address_is_like(&before, &gid, link))) {
            continue;
        }
        rank = gid_rank(&gid, link);
        if (rank > best) {
            best               = rank;
            address->gid       = gid;
            address->gid_index = i;
            address->link      = link;
        }
    }
    return best > 0;
}

int ri_ib_address_query(const ri_ib_device_t *device, const struct ibv_port_attr *attr,
                        ri_ib_address_t *address)
{
    address->lid = attr->lid;
    if (attr->link_layer == IBV_LINK_LAYER_ETHERNET) {
        return address_choose_gid(device, attr->gid_tbl_len, address) &&
               ri_ib_link_set_marks(device, attr->pkey_tbl_len, address);
    }

    /* The GID tells the subnet; it goes into no packet. So ports without a LID of their own, as
     * some that are shared by virtual machines, are of no use. */
    if (attr->flags & IBV_QPF_GRH_REQUIRED) {
        return 0;
    }
    address->link      = RI_IB_LINK_INFINIBAND;
    address->gid_index = (ri_config.ib_gid_index < UINT8_MAX) ? ri_config.ib_gid_index :
                                                                0;
    return (attr->lid != 0) &&
           ri_ib_link_set_marks(device, attr->pkey_tbl_len, address) &&
           (ri_verbs.query_gid(device->context, device->port, address->gid_index,
                               &address->gid) == 0);
}

static int address_is_same(const ri_ib_address_t *a, const ri_ib_address_t *b)
{
    return (a->link == b->link) && (a->lid == b->lid) &&
           !memcmp(&a->gid, &b->gid, sizeof(a->gid)) && (a->gid_index == b->gid_index) &&
           (a->pkey == b->pkey) && (a->pkey_index == b->pkey_index);
}

void ri_ib_address_update(ri_ib_device_t *device)
{
    const char *name    = ri_verbs.get_device_name(device->context->device);
    ri_ib_address_t now = device->address;
    struct ibv_port_attr attr;

    if ((ri_verbs_query_port(device->context, device->port, &attr) != 0) ||
        (attr.state != IBV_PORT_ACTIVE) || !ri_ib_address_query(device, &attr, &now)) {
        ri_debug("%s:%u has no address now", name, device->port);
        return;
    }
    if (address_is_same(&now, &device->address)) {
        return;
    }
    ri_info("%s:%u has another address: connections by it are made anew", name,
            device->port);
    ++now.moves;
    device->address = now;
}

ri_ib_address_t ri_ib_address_get(ri_ib_device_t *device)
{
    ri_ib_address_t address;

    pthread_mutex_lock(&device->events.lock);
    address = device->address;
    pthread_mutex_unlock(&device->events.lock);
    return address;
}

/* @param link  Wire input. */
static int address_is_roce(unsigned link)
{
    return (link == RI_IB_LINK_ROCE) || (link == RI_IB_LINK_ROCE_V1) ||
           (link == RI_IB_LINK_ROCE_V2);
}

int ri_ib_address_reaches(const ri_ib_address_t *address, unsigned link, uint16_t lid,
                          const union ibv_gid *gid)
{
    if (address->link == RI_IB_LINK_INFINIBAND) {
        return (link == RI_IB_LINK_INFINIBAND) && (lid != 0) &&
               (lid < ADDRESS_LID_MULTICAST) &&
               (gid->global.subnet_prefix == address->gid.global.subnet_prefix);
    }
    if (!address_is_roce(link)) {
        return 0;
    }
    return ((link == RI_IB_LINK_ROCE) || (address->link == RI_IB_LINK_ROCE) ||
            (link == address->link)) &&
           (gid->raw[0] != 0xff) && !gid_is_zero(gid) && /* a group, nobody */
           (ri_ib_address_is_ipv4(gid) == ri_ib_address_is_ipv4(&address->gid));
}

int ri_ib_address_shares_partition(const ri_ib_address_t *address, uint16_t pkey)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;

    /* One number, and not two limited members */
    if ((pkey == 0) || (address->pkey == 0) ||
        ((((pkey ^ address->pkey) & ADDRESS_PKEY_NUMBER) == 0) &&
         ((pkey | address->pkey) & ADDRESS_PKEY_FULL))) {
        return 1;
    }
    if (!atomic_flag_test_and_set(&warned)) {
        ri_warn("a peer's port is in another partition of the network (P_Key %04x, here "
                "%04x): no transfers by verbs with it, its messages go through UCX; "
                "UCXRI_IB_PKEY names one",
                pkey, address->pkey);
    }
    return 0;
}

#endif
