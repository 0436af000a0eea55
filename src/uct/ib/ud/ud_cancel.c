/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ud_cancel.h"

#if HAVE_VERBS

#include "ud_recv.h"
#include "ud_send.h"

static void cancel(ri_ud_transfer_t *transfer, ucs_status_t status)
{
    if (transfer->is_send) {
        ri_ud_send_cancel(ri_container_of(transfer, ri_ud_send_t, super), status);
    } else {
        ri_ud_recv_cancel(ri_container_of(transfer, ri_ud_recv_t, super), status);
    }
}

void ri_ud_cancel(ri_ud_op_t *op)
{
    cancel(op->transfer, UCS_ERR_CANCELED);
}

void ri_ud_cancel_all(ri_ud_ep_t *ep, ucs_status_t status)
{
    ri_ud_transfer_t *transfer, *tmp;

    ucs_list_for_each_safe(transfer, tmp, &ep->waiting, list) {
        cancel(transfer, status);
    }
    ucs_list_for_each_safe(transfer, tmp, &ep->recvs, ep_list) {
        cancel(transfer, status);
    }
    ucs_list_for_each_safe(transfer, tmp, &ep->sends, ep_list) {
        cancel(transfer, status);
    }
}

#endif
