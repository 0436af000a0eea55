/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How the queue pair is made, emptied of what is posted, and destroyed. To empty it, it is reset:
 * the device uses nothing of what was posted any more then.
 */
#include "ud_data.h"

#if HAVE_VERBS

#include "ud_qp.h"
#include "../device/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Work requests that may be under way, of all transfers. */
#define DATA_DEPTH 512

ucs_status_t ri_ud_data_open(ri_ud_plane_t *plane)
{
    ri_ud_data_t *data           = &plane->data;
    struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UD};
    int ret                      = ENOMEM;

    data->depth = DATA_DEPTH; /* a power of two */
    while ((data->depth > plane->ib.device->max_wr) ||
           (data->depth > plane->ib.device->max_cqe)) {
        data->depth /= 2;
    }
    data->cq = ri_verbs.create_cq(plane->ib.device->context, data->depth, NULL, NULL, 0);
    if (data->cq == NULL) {
        return UCS_ERR_UNSUPPORTED;
    }
    init.send_cq          = data->cq;
    init.recv_cq          = data->cq;
    init.cap.max_send_wr  = data->depth;
    init.cap.max_send_sge = ri_ud_data_max_sge(plane);
    init.cap.max_recv_wr  = 1;
    init.cap.max_recv_sge = 1;
    data->owners          = calloc(data->depth, sizeof(*data->owners));
    if (data->owners != NULL) {
        data->qp = ri_verbs.create_qp(plane->ib.device->pd, &init);
    }
    if (data->qp != NULL) {
        ret = ri_ud_qp_activate(plane->ib.device, data->qp, ri_ud_qp_random_key(), 1);
    }
    if (ret != 0) {
        ri_ud_data_close(plane);
        return UCS_ERR_UNSUPPORTED;
    }
    return UCS_OK;
}

/* It only reads. If it stays, what it may still send is of transfers that are over. */
static void data_end_qp(ri_ud_plane_t *plane)
{
    ri_ud_data_t *data = &plane->data;

    if (data->qp != NULL) {
        data->is_left = !ri_ib_events_end_qp(plane->ib.device, data->qp, 0);
        data->qp      = NULL;
    }
}

void ri_ud_data_close(ri_ud_plane_t *plane)
{
    ri_ud_data_t *data = &plane->data;

    data_end_qp(plane);
    if ((data->cq != NULL) && !data->is_left) {
        ri_ib_events_end_cq(plane->ib.device, data->cq);
    }
    ri_ud_buffer_end(&data->bounce, !data->is_left);
    free(data->owners);
    memset(data, 0, sizeof(*data));
}

void ri_ud_data_reset(ri_ud_plane_t *plane)
{
    ri_ud_data_t *data = &plane->data;
    struct ibv_wc wc;
    int ret;

    if (data->qp == NULL) {
        return;
    }
    data->ended          = data->posted;
    plane->sends_changed = 1;
    ret                  = ri_ud_qp_reset(data->qp);
    ++data->use;
    while (ibv_poll_cq(data->cq, 1, &wc) > 0) {}
    if (ret == 0) {
        ret = ri_ud_qp_activate(plane->ib.device, data->qp, ri_ud_qp_random_key(), 1);
    }
    if (ret != 0) {
        data_end_qp(plane);
        ri_ud_base_broken(plane, strerror(ret));
    }
}

void ri_ud_data_flush(ri_ud_plane_t *plane)
{
    if (plane->data.posted != plane->data.ended) {
        ri_ud_data_reset(plane);
    }
}

#endif
