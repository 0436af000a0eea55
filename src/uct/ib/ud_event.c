/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the device tells of the ud plane's queues without having been asked.
 */
#include "ud_plane.h"

#if HAVE_VERBS

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

void ri_ud_event(void *arg, const ri_ib_event_t *event)
{
    ri_ud_plane_t *plane              = arg;
    const ri_ud_control_qp_t *control = &plane->control;

    if ((event->type == IBV_EVENT_DEVICE_FATAL) ||
        event_is_of_qp(control->qp, control->send_cq, control->recv_cq, event) ||
        event_is_of_qp(plane->data.qp, plane->data.cq, NULL, event)) {
        ri_ud_broken(plane, "the device, or a queue, has failed");
        return;
    }
    if (event->type == IBV_EVENT_LID_CHANGE) {
        ri_ud_moved(plane);
        return;
    }
    /* A transfer whose queue pair has failed learns of it by what was posted there, and restarts. */
    if (event->cq != NULL) {
        event_of_cq(plane, event->cq);
    }
    ri_ud_pool_failed(&plane->pool, event);
}

#endif
