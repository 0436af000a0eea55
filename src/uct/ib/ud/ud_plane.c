/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The ud plane's table of functions, and the order of work in a call of its progress.
 */
#include "ud_base.h"

#if HAVE_VERBS

#include "ud_arrive.h"
#include "ud_cancel.h"
#include "ud_control.h"
#include "ud_data.h"
#include "ud_event.h"
#include "ud_footprint.h"
#include "ud_heard.h"
#include "ud_number.h"
#include "ud_queue.h"
#include "ud_recv.h"
#include "ud_send.h"
#include "ud_way.h"
#include "../device/events.h"
#include "../../../ucs/settings.h"
#include "../../../ucs/clock.h"

#include <stdlib.h>

/* Bits of an id that count ways. */
#define UD_ID_BITS 20

/* In seconds. A longer UCXRI_UD_TIMEOUT, as inf is, means that a sender waits for ever. */
#define UD_TIMEOUT_MAX 1e6

#define UD_US 1000ull
#define UD_MS 1000000ull
#define UD_S  1000000000ull

/* So often all queues are polled and timeouts looked at: more often than the shortest time that a
 * receiver waits before it asks (ud_rx.c: a part of ri_ud_times_t.quiet). An application may call
 * progress seldom. */
#define UD_LOOK (20 * UD_US)

static void ud_init(ri_ud_plane_t *plane)
{
    plane->mtu             = ri_ud_wire_mtu(plane->ib.device->mtu);
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
    ri_ud_pool_init(&plane->pool, plane->ib.device, ri_config.ud_qps,
                    ri_ud_pool_depth(plane->ib.device), plane->mtu,
                    &plane->counters.ud_pool_bytes);
    ucs_list_head_init(&plane->eps);
    ucs_list_head_init(&plane->ports);
    ucs_list_head_init(&plane->waiting);
    ucs_list_head_init(&plane->ready);
    ucs_list_head_init(&plane->active);
    ucs_list_head_init(&plane->sending);
    ucs_list_head_init(&plane->ended);
    plane->ib.super.capabilities = RI_PLANE_LISTS | RI_PLANE_KEYS | RI_PLANE_MESSAGES;
    plane->ib.super.peer_memory  = ri_ud_footprint_peer();
}

static ucs_status_t ud_open(ri_plane_t **plane_p)
{
    ri_ud_plane_t *plane = calloc(1, sizeof(*plane));
    ucs_status_t status;

    if (plane == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    status = ri_ib_plane_open(&plane->ib, &ri_plane_ud, UD_ID_BITS);
    if (status != UCS_OK) {
        goto err_free;
    }
    if (plane->ib.device->max_sge < 2) {
        status = UCS_ERR_UNSUPPORTED;
        goto err_close;
    }
    ud_init(plane);
    status = ri_ud_control_open(plane);
    if (status != UCS_OK) {
        goto err_close;
    }
    status = ri_ud_data_open(plane);
    if (status != UCS_OK) {
        goto err_control;
    }
    *plane_p = &plane->ib.super;
    return UCS_OK;

err_control:
    ri_ud_control_close(plane);
err_close:
    ri_ib_plane_close(&plane->ib);
err_free:
    free(plane);
    return status;
}

static void ud_close(ri_plane_t *super)
{
    ri_ud_plane_t *plane = ri_ud_base(super);

    assert(ucs_list_is_empty(&plane->eps) && ucs_list_is_empty(&plane->ended));
    ri_ud_pool_cleanup(&plane->pool);
    ri_ud_data_close(plane);
    ri_ud_control_close(plane);
    ri_ud_way_forget_ports(plane, 1);
    ri_ib_plane_close(&plane->ib);
    free(plane);
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
        plane->now = (uint64_t)(ri_clock_now() * UD_S);
    }
}

/* The sends of a way were cancelled: put all of them into the plane's ended. If the device has
 * something of one still, take that back first. */
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
    ri_ud_way_free(ep);

    while (!ucs_list_is_empty(&ending)) {
        ud_tell_end(ucs_list_extract_head(&ending, ri_ud_transfer_t, list));
    }
}

static unsigned ud_progress(ri_plane_t *super)
{
    ri_ud_plane_t *plane = ri_ud_base(super);
    int is_time          = 0;
    unsigned count;

    ri_ib_events_progress(plane->ib.device, &plane->ib.events_seen, ri_ud_event, plane);
    if (ri_likely(!plane->ib.is_broken)) {
        /* Pieces before the messages that ask for them */
        ri_ud_send_poll(plane);
        ud_note_time(plane);
        is_time = plane->now - plane->looked >= UD_LOOK;
        ri_ud_recv_progress(plane, is_time);
        ri_ud_arrive_progress(plane);
        if (is_time) {
            plane->looked = plane->now;
            ri_ud_recv_time(plane);
        }
        ri_ud_queue_serve(plane);
        ri_ud_send_post(plane);
    }
    if (ri_unlikely(plane->ib.is_broken)) {
        ud_end_broken(plane);
    }
    if (is_time || plane->sends_changed) {
        ri_ud_send_time(plane);
    }

    count = ri_ud_queue_tell(plane);
    while (!ucs_list_is_empty(&plane->ended)) {
        ud_tell_end(ucs_list_extract_head(&plane->ended, ri_ud_transfer_t, list));
        ++count;
    }
    return count;
}

static ucs_status_t ud_check(ri_plane_ep_t *super)
{
    const ri_ud_ep_t *ep = ri_container_of(super, ri_ud_ep_t, super);

    return (ri_ud_plane(ep)->ib.is_broken || (ep->state == RI_UD_EP_FAILED)) ?
                   UCS_ERR_UNREACHABLE :
                   UCS_OK;
}

static const ri_ud_counters_t *ud_get_counters(const ri_plane_t *plane)
{
    return &ri_container_of(plane, ri_ud_plane_t, ib.super)->counters;
}

static const ri_ud_ops_t ud_ops = {
        .recv     = ri_ud_queue_recv,
        .send     = ri_ud_send,
        .cancel   = ri_ud_cancel,
        .withdraw = ri_ud_recv_withdraw,
        .claim    = ri_ud_recv_claim,
        .forget   = ri_ud_number_forget,
        .unheard  = ri_ud_heard_list,
        .remind   = ri_ud_heard_remind,
        .heard    = ri_ud_send_heard,
        .counters = ud_get_counters,
};

const ri_plane_ops_t ri_plane_ud = {
        .name       = "ud",
        .open       = ud_open,
        .close      = ud_close,
        .connect    = ri_ud_way_connect,
        .disconnect = ud_disconnect,
        .prepare    = ri_ud_way_prepare,
        .ep_address = ri_ud_way_address,
        .reg        = ri_ib_plane_reg,
        .reg_source = ri_ib_plane_reg_source,
        .release    = ri_ib_plane_release,
        .progress   = ud_progress,
        .check      = ud_check,
        .counters   = ri_ib_plane_counters,
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
