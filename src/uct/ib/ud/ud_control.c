/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The queue pair of control messages. Receives are posted again as soon as what has come has been
 * looked at; what comes while none is posted gets lost, which costs a timeout.
 */
#include "ud_control.h"

#if HAVE_VERBS

#include "ud_qp.h"
#include "../device/events.h"
#include "../../../ucs/log.h"

#include <errno.h>
#include <string.h>

/* Messages under way, and that may come before anybody looks. More get lost, which costs
 * a timeout. */
#define CONTROL_SEND_DEPTH 128
#define CONTROL_RECV_DEPTH 512

#define CONTROL_POLL_BATCH 16

/* Bytes for a message to send, and for one that comes. */
#define CONTROL_SEND_SIZE 256
#define CONTROL_RECV_SIZE (RI_UD_GRH_SIZE + 256)

/* Bytes that a work request is asked to hold: all but a NACK with a very long list. */
#define CONTROL_INLINE 128

static uint8_t *control_send_data(ri_ud_control_qp_t *control, uint32_t number)
{
    return control->buffer.data +
           (size_t)(number % control->send_depth) * CONTROL_SEND_SIZE;
}

static uint8_t *control_recv_data(ri_ud_control_qp_t *control, uint32_t index)
{
    return control->buffer.data + (size_t)control->send_depth * CONTROL_SEND_SIZE +
           (size_t)index * CONTROL_RECV_SIZE;
}

/* Post receives. @return 0 or an error number. */
static int control_post(ri_ud_control_qp_t *control, const uint32_t *indices,
                        unsigned count)
{
    struct ibv_recv_wr wrs[CONTROL_POLL_BATCH], *bad = NULL;
    struct ibv_sge sges[CONTROL_POLL_BATCH];
    unsigned i;

    for (i = 0; i < count; ++i) {
        sges[i].addr   = (uintptr_t)control_recv_data(control, indices[i]);
        sges[i].length = CONTROL_RECV_SIZE;
        sges[i].lkey   = control->buffer.mr->lkey;
        wrs[i].wr_id   = ((uint64_t)control->use << 32) | indices[i];
        wrs[i].next    = (i + 1 < count) ? &wrs[i + 1] : NULL;
        wrs[i].sg_list = &sges[i];
        wrs[i].num_sge = 1;
    }
    return (count == 0) ? 0 : ibv_post_recv(control->qp, wrs, &bad);
}

/* Make a queue pair ready that is new or was reset. @return 0 or an error number. */
static int control_activate(ri_ud_plane_t *plane, ri_ud_control_qp_t *control)
{
    int ret = ri_ud_qp_activate(plane->ib.device, control->qp, control->qkey, 1);
    uint32_t i;

    for (i = 0; (i < control->recv_depth) && (ret == 0); ++i) {
        ret = control_post(control, &i, 1);
    }
    return ret;
}

static int control_create(ri_ud_plane_t *plane, ri_ud_control_qp_t *control)
{
    struct ibv_qp_init_attr init = {
            .cap     = {.max_send_wr  = control->send_depth,
                        .max_send_sge = 1,
                        .max_recv_wr  = control->recv_depth,
                        .max_recv_sge = 1},
            .qp_type = IBV_QPT_UD,
    };
    struct ibv_context *context = plane->ib.device->context;

    control->send_cq = ri_verbs.create_cq(context, control->send_depth, NULL, NULL, 0);
    control->recv_cq = ri_verbs.create_cq(context, control->recv_depth, NULL, NULL, 0);
    if ((control->send_cq == NULL) || (control->recv_cq == NULL)) {
        return errno;
    }
    init.send_cq = control->send_cq;
    init.recv_cq = control->recv_cq;
    control->qp  = ri_verbs_create_qp_inline(plane->ib.device->pd, &init, CONTROL_INLINE);
    if (control->qp == NULL) {
        return errno;
    }
    control->max_inline = init.cap.max_inline_data;
    return control_activate(plane, control);
}

ucs_status_t ri_ud_control_open(ri_ud_plane_t *plane)
{
    ri_ud_control_qp_t *control = &plane->control;
    unsigned limit = ri_min(plane->ib.device->max_wr, plane->ib.device->max_cqe);
    int ret        = ENOMEM;

    control->send_depth = ri_min(CONTROL_SEND_DEPTH, limit);
    control->recv_depth = ri_min(CONTROL_RECV_DEPTH, limit);
    control->qkey       = ri_ud_qp_random_key();
    if (ri_ud_buffer_init(plane->ib.device,
                          (size_t)control->send_depth * CONTROL_SEND_SIZE +
                                  (size_t)control->recv_depth * CONTROL_RECV_SIZE,
                          &control->buffer) == UCS_OK) {
        ret = control_create(plane, control);
    }
    if (ret != 0) {
        ri_debug("no queue pair for control messages: %s", strerror(ret));
        ri_ud_control_close(plane);
        return UCS_ERR_UNSUPPORTED;
    }
    return UCS_OK;
}

void ri_ud_control_close(ri_ud_plane_t *plane)
{
    ri_ud_control_qp_t *control = &plane->control;
    int is_gone                 = (control->qp == NULL) ||
                  ri_ib_events_end_qp(plane->ib.device, control->qp, 0);

    if ((control->send_cq != NULL) && is_gone) {
        ri_ib_events_end_cq(plane->ib.device, control->send_cq);
    }
    if ((control->recv_cq != NULL) && is_gone) {
        ri_ib_events_end_cq(plane->ib.device, control->recv_cq);
    }
    ri_ud_buffer_end(&control->buffer, is_gone);
    memset(control, 0, sizeof(*control));
}

void ri_ud_control_reset(ri_ud_plane_t *plane)
{
    ri_ud_control_qp_t *control = &plane->control;
    struct ibv_wc wc;
    int ret = ri_ud_qp_reset(control->qp);

    ri_debug("the queue pair of control messages is reset");
    ++control->use;
    control->ended = control->posted;
    while ((ibv_poll_cq(control->send_cq, 1, &wc) > 0) ||
           (ibv_poll_cq(control->recv_cq, 1, &wc) > 0)) {}
    if (ret == 0) {
        ret = control_activate(plane, control);
    }
    if (ret != 0) {
        ri_ud_base_broken(plane, strerror(ret));
    }
}

static void control_poll_sends(ri_ud_plane_t *plane)
{
    ri_ud_control_qp_t *control = &plane->control;
    struct ibv_wc wcs[CONTROL_POLL_BATCH];
    int i, count;

    if (control->posted == control->ended) {
        return;
    }
    do {
        count = ibv_poll_cq(control->send_cq, CONTROL_POLL_BATCH, wcs);
        for (i = 0; i < count; ++i) {
            if ((wcs[i].wr_id >> 32) != control->use) {
                continue; /* of before a reset */
            }
            control->ended = (uint32_t)wcs[i].wr_id;
            if (wcs[i].status != IBV_WC_SUCCESS) {
                ri_ud_control_reset(plane);
            }
        }
    } while (count == CONTROL_POLL_BATCH);
    if (count < 0) {
        ri_ud_base_broken(plane, "a completion queue cannot be read");
    }
}

void ri_ud_control_send(ri_ud_ep_t *ep, ri_ud_message_t *message)
{
    ri_ud_plane_t *plane        = ri_ud_plane(ep);
    ri_ud_control_qp_t *control = &plane->control;
    struct ibv_send_wr wr, *bad = NULL;
    struct ibv_sge sge;

    control_poll_sends(plane);
    if (plane->ib.is_broken || (ep->state != RI_UD_EP_CONNECTED) ||
        (control->posted - control->ended == control->send_depth)) {
        ++plane->counters.ud_unsent;
        return;
    }
    memset(&wr, 0, sizeof(wr));
    sge.addr      = (uintptr_t)control_send_data(control, control->posted);
    sge.length    = ri_ud_wire_pack(message, ep->id_there, (void *)(uintptr_t)sge.addr);
    sge.lkey      = control->buffer.mr->lkey;
    wr.wr_id      = ((uint64_t)control->use << 32) | (uint32_t)(control->posted + 1);
    wr.sg_list    = &sge;
    wr.num_sge    = 1;
    wr.opcode     = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED |
                    ((sge.length <= control->max_inline) ? IBV_SEND_INLINE : 0);
    wr.wr.ud.ah          = ep->port->ah;
    wr.wr.ud.remote_qpn  = ep->control_qp;
    wr.wr.ud.remote_qkey = ep->qkey;
    if (ibv_post_send(control->qp, &wr, &bad) != 0) {
        ++plane->counters.ud_unsent;
        return;
    }
    ++control->posted;
}

void ri_ud_control_poll(ri_ud_plane_t *plane, ri_ud_control_func_t arrived)
{
    ri_ud_control_qp_t *control = &plane->control;
    uint32_t indices[CONTROL_POLL_BATCH];
    struct ibv_wc wcs[CONTROL_POLL_BATCH];
    int i, count, num_indices;
    uint32_t index, use;

    do {
        use         = control->use;
        num_indices = 0;
        count       = ibv_poll_cq(control->recv_cq, CONTROL_POLL_BATCH, wcs);
        for (i = 0; i < count; ++i) {
            if ((wcs[i].wr_id >> 32) != control->use) {
                continue; /* of before a reset */
            }
            if (ri_unlikely(wcs[i].status != IBV_WC_SUCCESS)) {
                ri_ud_control_reset(plane);
                continue;
            }
            index = (uint32_t)wcs[i].wr_id;
            arrived(plane, &wcs[i], control_recv_data(control, index));
            indices[num_indices++] = index;
        }
        if (ri_unlikely(count < 0)) {
            ri_ud_base_broken(plane, "a completion queue cannot be read");
        } else if (control->use != use) {
            /* All were posted again, by what an answer has found out, perhaps */
        } else if (control_post(control, indices, num_indices) != 0) {
            ri_ud_control_reset(plane);
        }
    } while ((count == CONTROL_POLL_BATCH) && !plane->ib.is_broken);
}

#endif
