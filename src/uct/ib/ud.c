/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ud_plane.h"

#if HAVE_VERBS

#include "device_events.h"
#include "footprint.h"
#include "../../ucs/settings.h"
#include "../../ucs/log.h"
#include "../../ucs/clock.h"

#include <stdlib.h>
#include <string.h>

/* In seconds; above, it is none. */
#define UD_TIMEOUT_MAX 1e6

#define UD_US 1000ull
#define UD_MS 1000000ull
#define UD_S  1000000000ull

/* So often all queues are polled and timeouts looked at: more often than the shortest of these. An
 * application may call progress seldom. */
#define UD_LOOK (20 * UD_US)

static void ud_init(ri_ud_plane_t *plane)
{
    plane->mtu             = ri_ud_mtu_bytes(plane->device->mtu);
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
    ri_id_table_init(&plane->ids, RI_UD_ID_BITS, 32);
    ri_ud_pool_init(&plane->pool, plane->device, ri_config.ud_qps,
                    ri_ud_pool_depth(plane->device), plane->mtu,
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

    assert(ucs_list_is_empty(&plane->eps) && ucs_list_is_empty(&plane->ended));
    ri_ud_pool_cleanup(&plane->pool);
    ri_ud_data_close(plane);
    ri_ud_control_close(plane);
    ri_ud_forget_ports(plane, 1);
    ri_id_table_cleanup(&plane->ids);
    ri_ib_device_put(plane->device);
    free(plane);
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

void ri_ud_cancel_all(ri_ud_ep_t *ep, ucs_status_t status)
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
        ri_warn("no more transfers by datagrams: %s; messages go through UCX", what);
        plane->is_broken = 1;
        ++plane->super.failures;
    }
}

static void ud_end_broken(ri_ud_plane_t *plane)
{
    ri_ud_ep_t *ep;

    ri_ud_data_flush(plane);
    ucs_list_for_each(ep, &plane->eps, list) {
        ri_ud_cancel_all(ep, UCS_ERR_UNREACHABLE);
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

    ri_ud_cancel_all(ep, UCS_ERR_UNREACHABLE);
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
    const ri_ud_ep_t *ep = ri_container_of(super, ri_ud_ep_t, super);

    return (ri_ud_plane(ep)->is_broken || (ep->state == RI_UD_EP_FAILED)) ?
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
        .connect    = ri_ud_connect,
        .disconnect = ud_disconnect,
        .prepare    = ri_ud_prepare,
        .ep_address = ri_ud_ep_address,
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
