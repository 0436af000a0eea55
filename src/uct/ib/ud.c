/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ud_plane.h"

#if HAVE_VERBS

#include "device_events.h"
#include "device_link.h"
#include "footprint.h"
#include "../../ucp/core/config.h"
#include "../../ucp/core/log.h"
#include "../../ucp/core/worker.h" /* ri_time() */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bits of an id that count ways. */
#define UD_ID_BITS 20

#define UD_HOP_LIMIT 64

/* Where IPv4 puts the source into the last 20 of the 40 bytes in front of a datagram */
#define UD_IPV4_SOURCE 32

/* The first two queue pairs of a port are for its management. */
#define UD_QP_FIRST 2

/* In seconds; above, it is none. */
#define UD_TIMEOUT_MAX 1e6

#define UD_US 1000ull
#define UD_MS 1000000ull
#define UD_S  1000000000ull

/* So often all queues are polled and timeouts looked at: more often than the shortest of these. An
 * application may call progress seldom. */
#define UD_LOOK (20 * UD_US)

static unsigned ud_mtu_bytes(unsigned mtu)
{
    return 128u << mtu;
}

static void ud_init(ri_ud_plane_t *plane)
{
    const ri_ib_device_t *device = plane->device;
    unsigned depth               = RI_UD_WINDOW_MIN;

    while ((2 * depth <= ri_config.ud_window) && (2 * depth <= RI_UD_WINDOW_MAX) &&
           (2 * depth <= ri_min(device->max_wr, device->max_cqe))) {
        depth *= 2;
    }
    plane->mtu             = ud_mtu_bytes(device->mtu);
    plane->times.quiet     = 200 * UD_US;
    plane->times.quiet_max = 100 * UD_MS;
    plane->times.probe     = 2 * UD_MS;
    plane->times.probe_max = 500 * UD_MS;
    plane->times.give_up   = (ri_config.ud_timeout < UD_TIMEOUT_MAX) ?
                                     (uint64_t)(ri_config.ud_timeout * UD_S) :
                                     0;
    plane->times.first     = 10 * UD_S;
    plane->times.stall =
            UD_S; /* a sender that waits for an answer asks twice meanwhile */
    ri_id_table_init(&plane->ids, UD_ID_BITS, 32);
    ri_ud_pool_init(&plane->pool, plane->device, ri_config.ud_qps, depth, plane->mtu,
                    &plane->counters.ud_pool_bytes);
    ucs_list_head_init(&plane->eps);
    ucs_list_head_init(&plane->ports);
    ucs_list_head_init(&plane->waiting);
    ucs_list_head_init(&plane->ready);
    ucs_list_head_init(&plane->active);
    ucs_list_head_init(&plane->sending);
    ucs_list_head_init(&plane->ended);
    plane->super.ops          = &ri_plane_ud;
    plane->super.capabilities = RI_PLANE_LISTS | RI_PLANE_KEYS | RI_PLANE_MESSAGES;
    plane->super.peer_memory  = ri_ib_footprint_ud_peer();
}

static ucs_status_t ud_open(ri_plane_t **plane_p)
{
    ri_ud_plane_t *plane = calloc(1, sizeof(*plane));
    ucs_status_t status;

    if (plane == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    status = ri_ib_device_get(&plane->device);
    if (status != UCS_OK) {
        goto err_free;
    }
    if ((plane->device->max_sge < 2) || ri_ib_events_is_fatal(plane->device)) {
        status = UCS_ERR_UNSUPPORTED;
        goto err_put;
    }
    ud_init(plane);
    ri_ib_events_start(plane->device, &plane->events_seen);
    status = ri_ud_control_open(plane);
    if (status != UCS_OK) {
        goto err_put;
    }
    status = ri_ud_data_open(plane);
    if (status != UCS_OK) {
        goto err_control;
    }
    *plane_p = &plane->super;
    return UCS_OK;

err_control:
    ri_ud_control_close(plane);
err_put:
    ri_ib_device_put(plane->device);
err_free:
    free(plane);
    return status;
}

static void ud_close(ri_plane_t *super)
{
    ri_ud_plane_t *plane = ri_container_of(super, ri_ud_plane_t, super);
    ri_ud_port_t *port;
    int ret;

    assert(ucs_list_is_empty(&plane->eps) && ucs_list_is_empty(&plane->ended));
    ri_ud_pool_cleanup(&plane->pool);
    ri_ud_data_close(plane);
    ri_ud_control_close(plane);
    while (!ucs_list_is_empty(&plane->ports)) {
        port = ucs_list_extract_head(&plane->ports, ri_ud_port_t, list);
        ret  = ri_verbs.destroy_ah(port->ah);
        if (ret != 0) {
            ri_debug("an address handle cannot be destroyed: %s", strerror(ret));
        }
        free(port);
    }
    ri_id_table_cleanup(&plane->ids);
    ri_ib_device_put(plane->device);
    free(plane);
}

static ucs_status_t ud_prepare(ri_plane_t *super, ri_plane_ep_t **ep_p)
{
    ri_ud_plane_t *plane = ri_container_of(super, ri_ud_plane_t, super);
    ri_ud_ep_t *ep;

    if (plane->is_broken) {
        return UCS_ERR_UNREACHABLE;
    }
    ep = calloc(1, sizeof(*ep));
    if (ep == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    ep->id = ri_id_alloc(&plane->ids, ep);
    if (ep->id == 0) {
        free(ep);
        return UCS_ERR_NO_MEMORY;
    }
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

static size_t ud_ep_address(ri_plane_ep_t *super, void *address_p)
{
    const ri_ud_ep_t *ep         = ri_container_of(super, ri_ud_ep_t, super);
    const ri_ud_plane_t *plane   = ri_ud_plane(ep);
    const ri_ib_device_t *device = plane->device;
    ri_ud_address_t address      = {
                 .version  = RI_UD_VERSION,
                 .link_mtu = device->link | (device->mtu << 4),
                 .qkey     = plane->control.qkey,
                 .ep       = ep->id,
    };

    ri_ud_put24(address.control, plane->control.qp->qp_num);
    ri_ud_put24(address.data, (plane->data.qp == NULL) ? 0 : plane->data.qp->qp_num);
    if (device->link == RI_IB_LINK_INFINIBAND) {
        memcpy(address.where, device->gid.raw, 8);
        memcpy(address.where + 8, &device->lid, sizeof(device->lid));
    } else {
        memcpy(address.where, device->gid.raw, sizeof(address.where));
    }
    memcpy(address_p, &address, sizeof(address));
    return sizeof(address);
}

/* Take an address apart. @return Whether this can be one. */
static int ud_address_parse(const ri_ud_address_t *address, ri_ud_port_t *port,
                            ri_ud_ep_t *ep)
{
    unsigned mtu = address->link_mtu >> 4;

    memset(port, 0, sizeof(*port));
    port->link = address->link_mtu & 0xf;
    if (port->link == RI_IB_LINK_INFINIBAND) {
        memcpy(port->gid.raw, address->where, 8);
        memcpy(&port->lid, address->where + 8, sizeof(port->lid));
    } else {
        memcpy(port->gid.raw, address->where, sizeof(port->gid.raw));
    }
    ep->control_qp = ri_ud_get24(address->control);
    ep->data_qp    = ri_ud_get24(address->data);
    ep->qkey       = address->qkey;
    ep->id_there   = address->ep;
    if ((address->version != RI_UD_VERSION) || (mtu < IBV_MTU_256) ||
        (mtu > IBV_MTU_4096) || (ep->control_qp < UD_QP_FIRST) ||
        (ep->data_qp < UD_QP_FIRST) || (ep->qkey >> 31)) {
        return 0;
    }
    ep->mtu = ri_min(ud_mtu_bytes(mtu), ri_ud_plane(ep)->mtu);
    return 1;
}

static struct ibv_ah *ud_create_ah(const ri_ib_device_t *device, const ri_ud_port_t *port)
{
    struct ibv_ah_attr attr = {.dlid = port->lid, .port_num = device->port};

    if (device->link != RI_IB_LINK_INFINIBAND) {
        attr.is_global      = 1;
        attr.grh.sgid_index = device->gid_index;
        attr.grh.hop_limit  = UD_HOP_LIMIT;
        attr.grh.dgid       = port->gid;
    }
    ri_ib_device_mark(device, &attr);
    return ri_verbs.create_ah(device->pd, &attr);
}

/* All ways to a port share its address handle, which stays: work requests may name it. */
static ri_ud_port_t *ud_get_port(ri_ud_plane_t *plane, const ri_ud_port_t *wanted)
{
    ri_ud_port_t *port;

    ucs_list_for_each(port, &plane->ports, list) {
        if ((port->link == wanted->link) && (port->lid == wanted->lid) &&
            !memcmp(&port->gid, &wanted->gid, sizeof(port->gid))) {
            return port;
        }
    }
    port = malloc(sizeof(*port));
    if (port == NULL) {
        return NULL;
    }
    *port    = *wanted;
    port->ah = ud_create_ah(plane->device, port);
    if (port->ah == NULL) {
        ri_info("no transfers by datagrams: no address handle: %s", strerror(errno));
        free(port);
        return NULL;
    }
    ucs_list_add_tail(&plane->ports, &port->list);
    return port;
}

static ucs_status_t ud_connect_ep(ri_ud_plane_t *plane, ri_ud_ep_t *ep,
                                  const ri_ud_address_t *address)
{
    ri_ud_port_t port;

    if (ep->state != RI_UD_EP_INIT) {
        ri_debug("a way by datagrams is connected a second time");
        return UCS_ERR_UNREACHABLE;
    }
    if (!ud_address_parse(address, &port, ep)) {
        ri_info("no transfers by datagrams: an address with values that do not exist");
        return UCS_ERR_UNREACHABLE;
    }
    if (!ri_ib_device_reaches(plane->device, port.link, port.lid, &port.gid)) {
        ri_debug("no transfers by datagrams: another kind of network, subnet or address");
        return UCS_ERR_UNREACHABLE;
    }
    ep->port = ud_get_port(plane, &port);
    if (ep->port == NULL) {
        return UCS_ERR_UNREACHABLE;
    }
    ep->state = RI_UD_EP_CONNECTED;
    return UCS_OK;
}

static ucs_status_t ud_connect(ri_plane_t *super, const void *address_p, size_t length,
                               ri_plane_ep_t **ep_p)
{
    ri_ud_plane_t *plane = ri_container_of(super, ri_ud_plane_t, super);
    int is_prepared      = *ep_p != NULL;
    ri_ud_address_t address;
    ucs_status_t status;

    if (length != sizeof(address)) {
        ri_info("no transfers by datagrams: an address of another length");
        return UCS_ERR_UNREACHABLE;
    }
    memcpy(&address, address_p, sizeof(address));
    if (!is_prepared) {
        status = ud_prepare(super, ep_p);
        if (status != UCS_OK) {
            return status;
        }
    }
    status = ud_connect_ep(plane, ri_container_of(*ep_p, ri_ud_ep_t, super), &address);
    if ((status != UCS_OK) && !is_prepared) {
        ri_plane_ud.disconnect(*ep_p);
        *ep_p = NULL;
    }
    return status;
}

int ri_ud_is_from(const ri_ud_ep_t *ep, uint32_t qp, const struct ibv_wc *wc,
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
           (ri_ib_gid_is_ipv4(&ep->port->gid) &&
            !memcmp((const char *)grh + UD_IPV4_SOURCE, gid + 12, 4));
}

ucs_status_t ri_ud_transfer_init(ri_ud_transfer_t *transfer, ri_ud_ep_t *ep,
                                 const ri_ud_list_t *list, ri_ud_op_t *op)
{
    transfer->ep = ep;
    transfer->op = op;
    op->transfer = transfer;
    return ri_ud_memory_init(&transfer->memory, list->segments, list->keys, list->count,
                             list->length);
}

void ri_ud_transfer_end(ri_ud_transfer_t *transfer, ucs_status_t status)
{
    transfer->status = status;
    ucs_list_add_tail(&ri_ud_plane(transfer->ep)->ended, &transfer->list);
}

static void ud_cancel(ri_ud_transfer_t *transfer, ucs_status_t status)
{
    if (transfer->is_send) {
        ri_ud_send_cancel(ri_container_of(transfer, ri_ud_send_t, super), status);
    } else {
        ri_ud_recv_cancel(ri_container_of(transfer, ri_ud_recv_t, super), status);
    }
}

void ri_ud_cancel(ri_ud_op_t *op)
{
    ud_cancel(op->transfer, UCS_ERR_CANCELED);
}

static void ud_cancel_all(ri_ud_ep_t *ep, ucs_status_t status)
{
    ri_ud_transfer_t *transfer, *tmp;

    ucs_list_for_each_safe(transfer, tmp, &ep->waiting, list) {
        ud_cancel(transfer, status);
    }
    ucs_list_for_each_safe(transfer, tmp, &ep->recvs, ep_list) {
        ud_cancel(transfer, status);
    }
    ucs_list_for_each_safe(transfer, tmp, &ep->sends, ep_list) {
        ud_cancel(transfer, status);
    }
}

void ri_ud_broken(ri_ud_plane_t *plane, const char *what)
{
    if (!plane->is_broken) {
        ri_error("no more transfers by datagrams: %s", what);
        plane->is_broken = 1;
    }
}

static void ud_end_broken(ri_ud_plane_t *plane)
{
    ri_ud_ep_t *ep;

    ri_ud_data_flush(plane);
    ucs_list_for_each(ep, &plane->eps, list) {
        ud_cancel_all(ep, UCS_ERR_UNREACHABLE);
    }
}

/* Tell a protocol about the end of a transfer, and free it. */
static void ud_tell_end(ri_ud_transfer_t *transfer)
{
    ri_ud_op_t *op      = transfer->op;
    ucs_status_t status = transfer->status;

    ri_ud_memory_cleanup(&transfer->memory);
    free(transfer); /* the first member of either kind */
    op->done(op, status);
}

/* Nothing but transfers need to know it. */
static void ud_note_time(ri_ud_plane_t *plane)
{
    if (!ucs_list_is_empty(&plane->active) || !ucs_list_is_empty(&plane->sending)) {
        plane->now = (uint64_t)(ri_time() * UD_S);
    }
}

/* What ends of a way's sends does so within the call. */
static void ud_end_sends(ri_ud_plane_t *plane, ri_ud_ep_t *ep)
{
    ud_note_time(plane);
    ri_ud_send_poll(plane);
    ri_ud_send_time(plane);
    if (!ucs_list_is_empty(&ep->sends)) {
        ri_ud_data_flush(plane);
        ri_ud_send_time(plane);
    }
}

static void ud_disconnect(ri_plane_ep_t *super)
{
    ri_ud_ep_t *ep       = ri_container_of(super, ri_ud_ep_t, super);
    ri_ud_plane_t *plane = ri_ud_plane(ep);
    ri_ud_transfer_t *transfer, *tmp;
    ucs_list_link_t ending;

    ud_cancel_all(ep, UCS_ERR_UNREACHABLE);
    ud_end_sends(plane, ep);
    ucs_list_head_init(&ending);
    ucs_list_for_each_safe(transfer, tmp, &plane->ended, list) {
        if (transfer->ep == ep) {
            ucs_list_del(&transfer->list);
            ucs_list_add_tail(&ending, &transfer->list);
        }
    }
    ri_id_free(&plane->ids, ep->id);
    ucs_list_del(&ep->list);
    free(ep->cancelled);
    free(ep->unheard);
    free(ep);

    while (!ucs_list_is_empty(&ending)) {
        ud_tell_end(ucs_list_extract_head(&ending, ri_ud_transfer_t, list));
    }
}

static unsigned ud_progress(ri_plane_t *super)
{
    ri_ud_plane_t *plane = ri_container_of(super, ri_ud_plane_t, super);
    int is_time          = 0;
    unsigned count;

    ri_ib_events_progress(plane->device, &plane->events_seen, ri_ud_event, plane);
    if (ri_likely(!plane->is_broken)) {
        /* Pieces before the messages that ask for them */
        ri_ud_send_poll(plane);
        ud_note_time(plane);
        is_time = plane->now - plane->looked >= UD_LOOK;
        ri_ud_recv_progress(plane, is_time);
        ri_ud_control_progress(plane);
        if (is_time) {
            plane->looked = plane->now;
            ri_ud_recv_time(plane);
        }
        ri_ud_recv_serve(plane);
        ri_ud_send_post(plane);
    }
    if (ri_unlikely(plane->is_broken)) {
        ud_end_broken(plane);
    }
    if (is_time || plane->sends_changed) {
        ri_ud_send_time(plane);
    }

    count = ri_ud_recv_tell_ready(plane);
    while (!ucs_list_is_empty(&plane->ended)) {
        ud_tell_end(ucs_list_extract_head(&plane->ended, ri_ud_transfer_t, list));
        ++count;
    }
    return count;
}

static ucs_status_t ud_reg(ri_plane_t *super, void *address, size_t length,
                           ri_plane_memory_t *memory)
{
    return ri_ib_device_reg_memory(ri_container_of(super, ri_ud_plane_t, super)->device,
                                   address, length, RI_REG_READ | RI_REG_WRITE, memory);
}

static ucs_status_t ud_reg_source(ri_plane_t *super, void *address, size_t length,
                                  ri_plane_memory_t *memory)
{
    return ri_ib_device_reg_memory(ri_container_of(super, ri_ud_plane_t, super)->device,
                                   address, length, RI_REG_READ, memory);
}

static void ud_release(ri_plane_t *super, ri_plane_memory_t *memory)
{
    ri_ib_device_release_memory(ri_container_of(super, ri_ud_plane_t, super)->device,
                                memory);
}

static ucs_status_t ud_check(ri_plane_ep_t *super)
{
    return ri_container_of(super->plane, ri_ud_plane_t, super)->is_broken ?
                   UCS_ERR_UNREACHABLE :
                   UCS_OK;
}

static void ud_counters(ri_plane_t *super, ri_plane_counters_t *counters)
{
    ri_reg_cache_get_counters(ri_container_of(super, ri_ud_plane_t, super)->device->cache,
                              counters);
}

const ri_ud_counters_t *ri_ud_get_counters(const ri_plane_t *plane)
{
    return &ri_container_of(plane, ri_ud_plane_t, super)->counters;
}

static const ri_ud_ops_t ud_ops = {
        .recv     = ri_ud_recv,
        .send     = ri_ud_send,
        .cancel   = ri_ud_cancel,
        .revoke   = ri_ud_revoke,
        .claim    = ri_ud_claim,
        .forget   = ri_ud_forget,
        .unheard  = ri_ud_unheard,
        .remind   = ri_ud_remind,
        .heard    = ri_ud_heard,
        .counters = ri_ud_get_counters,
};

const ri_plane_ops_t ri_plane_ud = {
        .name       = "ud",
        .open       = ud_open,
        .close      = ud_close,
        .connect    = ud_connect,
        .disconnect = ud_disconnect,
        .prepare    = ud_prepare,
        .ep_address = ud_ep_address,
        .reg        = ud_reg,
        .reg_source = ud_reg_source,
        .release    = ud_release,
        .progress   = ud_progress,
        .check      = ud_check,
        .counters   = ud_counters,
        .ud         = &ud_ops,
};

#else

/* Built without verbs.h */
static ucs_status_t ud_open(ri_plane_t **plane_p)
{
    return UCS_ERR_UNSUPPORTED;
}

const ri_plane_ops_t ri_plane_ud = {.name = "ud", .open = ud_open};

#endif
