/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the device tells of the ud plane's queues without having been asked, and that all ways end
 * when this side's address changes.
 */
#include "ud_event.h"

#if HAVE_VERBS

#include "ud_cancel.h"
#include "ud_control.h"
#include "ud_data.h"
#include "ud_recv.h"
#include "ud_way.h"
#include "../device/address.h"

static int event_is_of_qp(const struct ibv_qp *qp, const struct ibv_cq *cq,
                          const struct ibv_cq *recv_cq, const ri_ib_event_t *event)
{
    return (qp != NULL) &&
           ((qp->qp_num == event->qp) ||
            ((event->cq != NULL) && ((event->cq == cq) || (event->cq == recv_cq))));
}

/* Nothing more comes by a completion queue: its transfer ends. */
static void event_of_cq(ri_ud_plane_t *plane, const struct ibv_cq *cq)
{
    ri_ud_recv_t *recv, *tmp;
    ri_ud_ep_t *ep;

    ucs_list_for_each(ep, &plane->eps, list) {
        ucs_list_for_each_safe(recv, tmp, &ep->recvs, super.ep_list) {
            if (recv->qp->cq == cq) {
                recv->qp->is_failed = 1;
                ri_ud_recv_cancel(recv, UCS_ERR_IO_ERROR);
                return;
            }
        }
    }
}

/* Peers neither find this side at its old address nor take for its own what comes from the new
 * one. So the ways that were prepared before end, and are made anew with the new address. Queue
 * pairs may be of another partition from now on, and are made ready anew; address handles name
 * the old source, and nothing that was posted uses them any more when that is done. */
static void event_moved(ri_ud_plane_t *plane)
{
    unsigned moves = ri_ib_address_get(plane->ib.device).moves;
    ri_ud_ep_t *ep;

    ucs_list_for_each(ep, &plane->eps, list) {
        if ((ep->moves != moves) && (ep->state != RI_UD_EP_FAILED)) {
            ++plane->ib.super.failures;
            ri_ud_ep_set_state(ep, RI_UD_EP_FAILED);
            ri_ud_cancel_all(ep, UCS_ERR_UNREACHABLE);
            ep->port = NULL;
        }
    }
    ri_ud_data_reset(plane);
    ri_ud_control_reset(plane);
    ri_ud_pool_moved(&plane->pool);
    ri_ud_way_forget_ports(plane, 0);
}

void ri_ud_event(void *arg, const ri_ib_event_t *event)
{
    ri_ud_plane_t *plane              = arg;
    const ri_ud_control_qp_t *control = &plane->control;

    if ((event->type == IBV_EVENT_DEVICE_FATAL) ||
        event_is_of_qp(control->qp, control->send_cq, control->recv_cq, event) ||
        event_is_of_qp(plane->data.qp, plane->data.cq, NULL, event)) {
        ri_ud_base_broken(plane, "the device, or a queue, has failed");
        return;
    }
    if (event->type == IBV_EVENT_LID_CHANGE) {
        event_moved(plane);
        return;
    }
    /* A transfer whose queue pair has failed learns of it by what was posted there, and
     * restarts. */
    if (event->cq != NULL) {
        event_of_cq(plane, event->cq);
    }
    ri_ud_pool_failed(&plane->pool, event);
}

#endif
