/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Ways of the ud plane: how they are made, their addresses, and how they are connected. All ways to
 * a port share its address handle. (protocol-ud.md, section 3)
 */
#include "ud_way.h"

#if HAVE_VERBS

#include "../device/address.h"
#include "../device/link.h"
#include "../../../ucs/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where IPv4 puts the source into the last 20 of the 40 bytes in front of a datagram */
#define WAY_IPV4_SOURCE 32

ucs_status_t ri_ud_way_prepare(ri_plane_t *super, ri_plane_ep_t **ep_p)
{
    ri_ud_plane_t *plane = ri_ud_base(super);
    ucs_status_t status;
    ri_ud_ep_t *ep;
    uint32_t id;

    ep = ri_ib_plane_new_way(&plane->ib, sizeof(*ep), &id, &status);
    if (ep == NULL) {
        return status;
    }
    ep->id          = id;
    ep->moves       = ri_ib_address_get(plane->ib.device).moves;
    ep->super.plane = super;
    ep->state       = RI_UD_EP_INIT;
    ucs_list_head_init(&ep->wait_list);
    ucs_list_head_init(&ep->waiting);
    ucs_list_head_init(&ep->recvs);
    ucs_list_head_init(&ep->sends);
    ucs_list_add_tail(&plane->eps, &ep->list);
    *ep_p = &ep->super;
    return UCS_OK;
}

void ri_ud_way_free(ri_ud_ep_t *ep)
{
    assert(ucs_list_is_empty(&ep->waiting) && ucs_list_is_empty(&ep->recvs) &&
           ucs_list_is_empty(&ep->sends));
    ucs_list_del(&ep->list);
    free(ep->cancelled);
    free(ep->unheard);
    ri_ib_plane_free_way(&ri_ud_plane(ep)->ib, ep, ep->id);
}

size_t ri_ud_way_address(ri_plane_ep_t *super, void *address_p)
{
    const ri_ud_ep_t *ep       = ri_container_of(super, ri_ud_ep_t, super);
    const ri_ud_plane_t *plane = ri_ud_plane(ep);
    ri_ib_address_t local      = ri_ib_address_get(plane->ib.device);
    ri_ud_address_t address    = {
               .version  = RI_UD_VERSION,
               .link_mtu = local.link | (plane->ib.device->mtu << 4),
               .qkey     = plane->control.qkey,
               .ep       = ep->id,
    };

    ri_ud_wire_put24(address.control, plane->control.qp->qp_num);
    ri_ud_wire_put24(address.data, (plane->data.qp == NULL) ? 0 : plane->data.qp->qp_num);
    if (local.link == RI_IB_LINK_INFINIBAND) {
        memcpy(address.where, local.gid.raw, 8);
        memcpy(address.where + 8, &local.lid, sizeof(local.lid));
        memcpy(address.where + 10, &local.pkey, sizeof(local.pkey));
    } else {
        memcpy(address.where, local.gid.raw, sizeof(address.where));
    }
    memcpy(address_p, &address, sizeof(address));
    return sizeof(address);
}

/* Take an address apart. @return Whether this can be one. */
static int way_parse_address(const ri_ud_address_t *address, ri_ud_port_t *port,
                             ri_ud_ep_t *ep)
{
    unsigned mtu = address->link_mtu >> 4;

    memset(port, 0, sizeof(*port));
    port->link = address->link_mtu & 0xf;
    if (port->link == RI_IB_LINK_INFINIBAND) {
        memcpy(port->gid.raw, address->where, 8);
        memcpy(&port->lid, address->where + 8, sizeof(port->lid));
        memcpy(&port->pkey, address->where + 10, sizeof(port->pkey));
    } else {
        memcpy(port->gid.raw, address->where, sizeof(port->gid.raw));
    }
    ep->control_qp = ri_ud_wire_get24(address->control);
    ep->data_qp    = ri_ud_wire_get24(address->data);
    ep->qkey       = address->qkey;
    ep->id_there   = address->ep;
    if ((address->version != RI_UD_VERSION) || (mtu < IBV_MTU_256) ||
        (mtu > IBV_MTU_4096) || (ep->control_qp < RI_IB_QP_FIRST) ||
        (ep->data_qp < RI_IB_QP_FIRST) || (ep->qkey >> 31)) {
        return 0;
    }
    ep->mtu = ri_min(ri_ud_wire_mtu(mtu), ri_ud_plane(ep)->mtu);
    return 1;
}

/* All ways to a port share its address handle, which stays as long as this side has its address:
 * work requests may name it. */
static ri_ud_port_t *way_get_port(ri_ud_plane_t *plane, const ri_ib_address_t *local,
                                  const ri_ud_port_t *wanted)
{
    struct ibv_ah_attr attr;
    ri_ud_port_t *port;

    ucs_list_for_each(port, &plane->ports, list) {
        if ((port->moves == local->moves) && (port->link == wanted->link) &&
            (port->lid == wanted->lid) &&
            !memcmp(&port->gid, &wanted->gid, sizeof(port->gid))) {
            return port;
        }
    }
    port = malloc(sizeof(*port));
    if (port == NULL) {
        return NULL;
    }
    *port       = *wanted;
    port->moves = local->moves;
    attr        = ri_ib_link_vector(plane->ib.device, local, port->lid, &port->gid);
    port->ah    = ri_verbs.create_ah(plane->ib.device->pd, &attr);
    if (port->ah == NULL) {
        ri_info("no transfers by datagrams: no address handle: %s", strerror(errno));
        free(port);
        return NULL;
    }
    ucs_list_add_tail(&plane->ports, &port->list);
    return port;
}

static ucs_status_t way_connect_ep(ri_plane_ep_t *super, const void *address)
{
    ri_ud_ep_t *ep        = ri_container_of(super, ri_ud_ep_t, super);
    ri_ud_plane_t *plane  = ri_ud_plane(ep);
    ri_ib_address_t local = ri_ib_address_get(plane->ib.device);
    ri_ud_port_t port;

    if (ep->state != RI_UD_EP_INIT) {
        ri_debug("a way by datagrams is connected a second time");
        return UCS_ERR_UNREACHABLE;
    }
    if (!way_parse_address(address, &port, ep)) {
        ri_info("no transfers by datagrams: an address with values that do not exist");
        return UCS_ERR_UNREACHABLE;
    }
    if (!ri_ib_address_reaches(&local, port.link, port.lid, &port.gid)) {
        ri_debug("no transfers by datagrams: another kind of network, subnet or address");
        return UCS_ERR_UNREACHABLE;
    }
    if (!ri_ib_address_shares_partition(&local, port.pkey)) {
        return UCS_ERR_UNREACHABLE;
    }
    ep->port = way_get_port(plane, &local, &port);
    if (ep->port == NULL) {
        return UCS_ERR_UNREACHABLE;
    }
    ri_ud_ep_set_state(ep, RI_UD_EP_CONNECTED);
    return UCS_OK;
}

/* Free a way that was made, and never connected. */
static void way_drop(ri_plane_ep_t *super)
{
    ri_ud_way_free(ri_container_of(super, ri_ud_ep_t, super));
}

ucs_status_t ri_ud_way_connect(ri_plane_t *super, const void *address_p, size_t length,
                               ri_plane_ep_t **ep_p)
{
    ri_ud_address_t address;

    if (length != sizeof(address)) {
        ri_info("no transfers by datagrams: an address of another length");
        return UCS_ERR_UNREACHABLE;
    }
    memcpy(&address, address_p, sizeof(address));
    return ri_ib_plane_connect(super, &address, way_connect_ep, way_drop, ep_p);
}

int ri_ud_way_is_from(const ri_ud_ep_t *ep, uint32_t qp, const struct ibv_wc *wc,
                      const void *grh)
{
    const uint8_t *gid = ep->port->gid.raw;

    if (wc->src_qp != qp) {
        return 0;
    }
    if (ep->port->link == RI_IB_LINK_INFINIBAND) {
        return wc->slid == ep->port->lid;
    }
    return !memcmp(((const struct ibv_grh *)grh)->sgid.raw, gid, 16) ||
           (ri_ib_address_is_ipv4(&ep->port->gid) &&
            !memcmp((const char *)grh + WAY_IPV4_SOURCE, gid + 12, 4));
}

static int way_uses(ri_ud_plane_t *plane, const ri_ud_port_t *port)
{
    const ri_ud_ep_t *ep;

    ucs_list_for_each(ep, &plane->eps, list) {
        if (ep->port == port) {
            return 1;
        }
    }
    return 0;
}

void ri_ud_way_forget_ports(ri_ud_plane_t *plane, int all)
{
    ri_ud_port_t *port, *tmp;
    int ret;

    ucs_list_for_each_safe(port, tmp, &plane->ports, list) {
        if (!all && way_uses(plane, port)) {
            continue;
        }
        ucs_list_del(&port->list);
        ret = ri_verbs.destroy_ah(port->ah);
        if (ret != 0) {
            ri_debug("an address handle cannot be destroyed: %s", strerror(ret));
        }
        free(port);
    }
}

#endif
