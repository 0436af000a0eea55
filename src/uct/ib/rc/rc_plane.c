/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The rc plane's table of functions: how the plane is opened, how queue pairs are made and
 * connected with those of peers, whose addresses are wire input, and what the events of the device
 * mean to it.
 */
#include "rc_base.h"

#if HAVE_VERBS

#include "../device/address.h"
#include "../device/events.h"
#include "../device/link.h"
#include "rc_end.h"
#include "rc_footprint.h"
#include "rc_notify.h"
#include "rc_queue.h"
#include "../../../ucs/settings.h"
#include "../../../ucs/log.h"
#include "../../../ucs/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Places for completions. All ways of a worker share them, and wait for one another where
 * that is not enough: by then the device is busy. */
#define RC_CQ_SIZE 4096

/* Bits of an id that count ways. */
#define RC_ID_BITS 20

/* Of queue pair and packet sequence numbers */
#define RC_24_BITS 0xffffffu

/* How a queue pair deals with losses: 4.096 us * 2^18, about a second, before it sends
 * again, and that some times. Not seven times, as InfiniBand allows and UCX does: to the
 * kernel's rxe that means for ever. Where the receiver is not ready it does mean that, which
 * does not happen here, as there are as many receives as there may be notifications. */
#define RC_TIMEOUT       18
#define RC_RETRIES       6
#define RC_RNR_RETRIES   7
#define RC_MIN_RNR_TIMER 12 /* 0.64 ms */

/* Bytes up to which a write need not be fetched by the device: it stands in its work request,
 * where the device has room for that. */
#define RC_INLINE 220

#define RC_INIT_MASK \
    (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RC_RECV_MASK \
    (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RC_SEND_MASK \
    (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)

/* @return The plane whose head a function of the table is given. */
static ri_rc_plane_t *rc_plane(ri_plane_t *super)
{
    return ri_container_of(super, ri_rc_plane_t, ib.super);
}

static ucs_status_t rc_open(ri_plane_t **plane_p)
{
    ri_rc_plane_t *plane = calloc(1, sizeof(*plane));
    const ri_ib_device_t *device;
    ucs_status_t status;
    int error;

    if (plane == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    status = ri_ib_plane_open(&plane->ib, &ri_plane_rc, RC_ID_BITS);
    if (status != UCS_OK) {
        goto err_free;
    }

    device          = plane->ib.device;
    plane->capacity = ri_min(device->max_cqe, RC_CQ_SIZE);
    plane->cq       = ri_verbs.create_cq(device->context, plane->capacity, NULL, NULL, 0);
    if (plane->cq == NULL) {
        error = errno;
        ri_warn("no transfers by verbs: no completion queue of %u: %s%s", plane->capacity,
                strerror(error), ri_ib_plane_cq_hint(error, plane->capacity));
        status = UCS_ERR_UNSUPPORTED;
        goto err_close;
    }
    plane->depth   = ri_min(ri_config.ib_tx_queue, device->max_wr);
    plane->max_sge = ri_min(device->max_sge, RI_RC_SGE_MAX);
    ri_rc_queue_init(plane);
    plane->ib.super.capabilities = RI_PLANE_READ | RI_PLANE_WRITE | RI_PLANE_LISTS |
                                   RI_PLANE_KEYS | RI_PLANE_NOTIFY;
    plane->ib.super.notify_max  = device->max_message;
    plane->ib.super.peer_memory = ri_rc_footprint_peer(device);
    *plane_p                    = &plane->ib.super;
    return UCS_OK;

err_close:
    ri_ib_plane_close(&plane->ib);
err_free:
    free(plane);
    return status;
}

static void rc_close(ri_plane_t *super)
{
    ri_rc_plane_t *plane = rc_plane(super);

    ri_rc_queue_cleanup(plane);
    ri_rc_notify_cleanup(plane);
    ri_ib_events_end_cq(plane->ib.device, plane->cq);
    ri_ib_plane_close(&plane->ib);
    free(plane);
}

/* A queue pair in INIT. @return NULL: that failed, and is logged. */
static struct ibv_qp *rc_qp_create(ri_rc_plane_t *plane, unsigned *max_inline_p)
{
    struct ibv_qp_init_attr init = {
            .send_cq = plane->cq,
            .recv_cq = (plane->recv_cq != NULL) ? plane->recv_cq : plane->cq,
            .cap     = {.max_send_wr  = plane->depth,
                        .max_send_sge = plane->max_sge,
                        .max_recv_wr  = ri_rc_notify_receives(plane),
                        .max_recv_sge = 1},
            .qp_type = IBV_QPT_RC,
    };
    struct ibv_qp_attr attr = {
            .qp_state        = IBV_QPS_INIT,
            .pkey_index      = ri_ib_address_get(plane->ib.device).pkey_index,
            .port_num        = plane->ib.device->port,
            .qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
    };
    struct ibv_qp *qp = ri_verbs_create_qp_inline(plane->ib.device->pd, &init, RC_INLINE);
    int ret;

    if (qp == NULL) {
        ri_info("no transfers by verbs: no queue pair for %u work requests of %u "
                "segments: %s",
                plane->depth, plane->max_sge, strerror(errno));
        return NULL;
    }
    ret = ri_verbs.modify_qp(qp, &attr, RC_INIT_MASK);
    if (ret != 0) {
        ri_info("no transfers by verbs: a queue pair cannot be set up: %s",
                strerror(ret));
        ri_ib_events_end_qp(plane->ib.device, qp, 0);
        return NULL;
    }
    *max_inline_p = init.cap.max_inline_data;
    return qp;
}

static ucs_status_t rc_prepare(ri_plane_t *super, ri_plane_ep_t **ep_p)
{
    ri_rc_plane_t *plane = rc_plane(super);
    ucs_status_t status;
    ri_rc_ep_t *ep;
    uint32_t id;

    ep = ri_ib_plane_new_way(&plane->ib, sizeof(*ep), &id, &status);
    if (ep == NULL) {
        return status;
    }
    ep->id    = id;
    ep->moves = ri_ib_address_get(plane->ib.device).moves;
    ep->qp    = rc_qp_create(plane, &ep->max_inline);
    if (ep->qp == NULL) {
        ri_ib_plane_free_way(&plane->ib, ep, id);
        return UCS_ERR_UNREACHABLE;
    }
    ep->super.plane = super;
    ep->state       = RI_RC_INIT;
    ep->psn         = ri_random() & RC_24_BITS;
    ucs_list_head_init(&ep->ops);
    ucs_list_head_init(&ep->waiting);
    ucs_list_head_init(&ep->failing);
    ucs_list_add_tail(&plane->eps, &ep->list);
    ri_rc_notify_start(plane, ep);
    *ep_p = &ep->super;
    return UCS_OK;
}

static size_t rc_ep_address(ri_plane_ep_t *super, void *address_p)
{
    const ri_rc_ep_t *ep    = ri_container_of(super, ri_rc_ep_t, super);
    ri_ib_device_t *device  = ri_ib_plane(super->plane)->device;
    ri_ib_address_t local   = ri_ib_address_get(device);
    ri_rc_address_t address = {
            .version   = RI_RC_ADDRESS_VERSION,
            .link      = local.link,
            .mtu       = device->mtu,
            .rd_atomic = device->rd_atomic,
            .qp        = (ep->qp == NULL) ? 0 : ep->qp->qp_num,
            .psn       = ep->psn,
            .lid       = local.lid,
            .pkey      = local.pkey,
    };

    memcpy(address.gid, local.gid.raw, sizeof(address.gid));
    memcpy(address_p, &address, sizeof(address));
    return sizeof(address);
}

/* Check an address. @return The fault in words; NULL: none that can be told from here. */
static const char *rc_address_check(const ri_rc_address_t *address)
{
    if (address->version != RI_RC_ADDRESS_VERSION) {
        return "an address of another version";
    }
    if ((address->mtu < IBV_MTU_256) || (address->mtu > IBV_MTU_4096) ||
        (address->rd_atomic == 0) || (address->qp < RI_IB_QP_FIRST) ||
        (address->qp > RC_24_BITS) || (address->psn > RC_24_BITS)) {
        return "an address with values that do not exist";
    }
    return NULL;
}

/* @return The GID of an address, which is not aligned there. */
static union ibv_gid rc_gid(const ri_rc_address_t *address)
{
    union ibv_gid gid;

    memcpy(gid.raw, address->gid, sizeof(gid.raw));
    return gid;
}

/* Bring a queue pair to RTS. @return 0 or an error number. */
static int rc_qp_connect(ri_ib_device_t *device, ri_rc_ep_t *ep,
                         const ri_rc_address_t *remote)
{
    ri_ib_address_t local   = ri_ib_address_get(device);
    uint8_t rd_atomic       = ri_min(device->rd_atomic, remote->rd_atomic);
    union ibv_gid gid       = rc_gid(remote);
    struct ibv_qp_attr attr = {
            .qp_state           = IBV_QPS_RTR,
            .path_mtu           = ri_min(device->mtu, remote->mtu),
            .dest_qp_num        = remote->qp,
            .rq_psn             = remote->psn,
            .max_dest_rd_atomic = rd_atomic,
            .min_rnr_timer      = RC_MIN_RNR_TIMER,
            .ah_attr            = ri_ib_link_vector(device, &local, remote->lid, &gid),
    };
    int ret;

    ret = ri_verbs.modify_qp(ep->qp, &attr, RC_RECV_MASK);
    if (ret != 0) {
        return ret;
    }

    memset(&attr, 0, sizeof(attr));
    attr.qp_state      = IBV_QPS_RTS;
    attr.timeout       = RC_TIMEOUT;
    attr.retry_cnt     = RC_RETRIES;
    attr.rnr_retry     = RC_RNR_RETRIES;
    attr.sq_psn        = ep->psn;
    attr.max_rd_atomic = rd_atomic;
    return ri_verbs.modify_qp(ep->qp, &attr, RC_SEND_MASK);
}

static ucs_status_t rc_connect_ep(ri_plane_ep_t *super, const void *address)
{
    const ri_rc_address_t *remote = address;
    ri_rc_ep_t *ep                = ri_container_of(super, ri_rc_ep_t, super);
    int ret;

    if (ep->state != RI_RC_INIT) {
        ri_debug("a way by verbs is connected a second time");
        return UCS_ERR_UNREACHABLE;
    }
    ret = rc_qp_connect(ri_ib_plane(super->plane)->device, ep, remote);
    if (ret != 0) {
        ri_info("no transfers by verbs with queue pair %u: it cannot be connected: %s",
                remote->qp, strerror(ret));
        return UCS_ERR_UNREACHABLE;
    }
    ep->remote_qp = remote->qp;
    ri_rc_ep_set_state(ep, RI_RC_CONNECTED);
    return UCS_OK;
}

static void rc_disconnect(ri_plane_ep_t *super)
{
    ri_rc_end_disconnect(ri_container_of(super, ri_rc_ep_t, super));
}

static ucs_status_t rc_connect(ri_plane_t *super, const void *address, size_t length,
                               ri_plane_ep_t **ep_p)
{
    ri_ib_device_t *device = ri_ib_plane(super)->device;
    ri_ib_address_t local  = ri_ib_address_get(device);
    const char *wrong      = "an address of another length";
    ri_rc_address_t remote;
    union ibv_gid gid;

    if (length == sizeof(remote)) {
        memcpy(&remote, address, sizeof(remote));
        wrong = rc_address_check(&remote);
    }
    if (wrong != NULL) {
        ri_info("no transfers by verbs: %s", wrong);
        return UCS_ERR_UNREACHABLE;
    }
    gid = rc_gid(&remote);
    if (!ri_ib_address_reaches(&local, remote.link, remote.lid, &gid)) {
        ri_debug("no transfers by verbs with queue pair %u: another kind of network, "
                 "subnet or address",
                 remote.qp);
        return UCS_ERR_UNREACHABLE;
    }
    if (!ri_ib_address_shares_partition(&local, remote.pkey)) {
        return UCS_ERR_UNREACHABLE;
    }
    return ri_ib_plane_connect(super, &remote, rc_connect_ep, rc_disconnect, ep_p);
}

static ucs_status_t rc_listen(ri_plane_t *super, ri_plane_notified_func_t func)
{
    return ri_rc_notify_listen(rc_plane(super), func);
}

static int rc_event_is_of_all(const ri_rc_plane_t *plane, const ri_ib_event_t *event)
{
    return (event->type == IBV_EVENT_DEVICE_FATAL) ||
           ((event->type == IBV_EVENT_CQ_ERR) &&
            ((event->cq == plane->cq) || (event->cq == plane->recv_cq)));
}

/* The device tells of a failure, or of another address. */
static void rc_event(void *arg, const ri_ib_event_t *event)
{
    ri_rc_plane_t *plane = arg;
    ri_rc_ep_t *ep;

    if (rc_event_is_of_all(plane, event)) {
        /* Nothing more comes from there. */
        plane->recv_is_slow |= (event->cq != NULL) && (event->cq == plane->recv_cq);
        ri_rc_end_all(plane, "the device, or a completion queue, has failed");
        return;
    }
    if (event->type == IBV_EVENT_LID_CHANGE) {
        ri_rc_end_moved(plane);
        return;
    }
    ucs_list_for_each(ep, &plane->eps, list) {
        if ((ep->qp != NULL) && (ep->qp->qp_num == event->qp)) {
            ri_rc_end_connected(ep);
        }
    }
}

static unsigned rc_progress(ri_plane_t *super)
{
    ri_rc_plane_t *plane = rc_plane(super);

    ri_ib_events_progress(plane->ib.device, &plane->ib.events_seen, rc_event, plane);
    return ri_rc_queue_progress(plane);
}

static ucs_status_t rc_read(ri_plane_ep_t *super, const ri_transfer_t *transfer)
{
    return ri_rc_queue_start(ri_container_of(super, ri_rc_ep_t, super), transfer,
                             IBV_WR_RDMA_READ);
}

static ucs_status_t rc_write(ri_plane_ep_t *super, const ri_transfer_t *transfer)
{
    return ri_rc_queue_start(ri_container_of(super, ri_rc_ep_t, super), transfer,
                             IBV_WR_RDMA_WRITE);
}

static ucs_status_t rc_check(ri_plane_ep_t *super)
{
    return (ri_container_of(super, ri_rc_ep_t, super)->state == RI_RC_FAILED) ?
                   UCS_ERR_UNREACHABLE :
                   UCS_OK;
}

const ri_plane_ops_t ri_plane_rc = {
        .name       = "rc",
        .open       = rc_open,
        .close      = rc_close,
        .connect    = rc_connect,
        .disconnect = rc_disconnect,
        .prepare    = rc_prepare,
        .ep_address = rc_ep_address,
        .reg        = ri_ib_plane_reg,
        .reg_source = ri_ib_plane_reg_source,
        .release    = ri_ib_plane_release,
        .progress   = rc_progress,
        .read       = rc_read,
        .write      = rc_write,
        .check      = rc_check,
        .counters   = ri_ib_plane_counters,
        .listen     = rc_listen,
};

#else

/* Built without verbs.h */
static ucs_status_t rc_open(ri_plane_t **plane_p)
{
    return UCS_ERR_UNSUPPORTED;
}

const ri_plane_ops_t ri_plane_rc = {.name = "rc", .open = rc_open};

#endif
