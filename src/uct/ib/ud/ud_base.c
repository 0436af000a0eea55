/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ud_base.h"

#if HAVE_VERBS

#include "../../../ucs/log.h"

ucs_status_t ri_ud_base_begin(ri_ud_transfer_t *transfer, ri_ud_ep_t *ep,
                              const ri_ud_list_t *list, ri_ud_op_t *op)
{
    transfer->ep = ep;
    transfer->op = op;
    op->transfer = transfer;
    return ri_ud_memory_init(&transfer->memory, list->segments, list->keys, list->count,
                             list->length);
}

void ri_ud_base_end(ri_ud_transfer_t *transfer, ucs_status_t status)
{
    transfer->status = status;
    ucs_list_add_tail(&ri_ud_plane(transfer->ep)->ended, &transfer->list);
}

void ri_ud_base_broken(ri_ud_plane_t *plane, const char *why)
{
    if (!plane->ib.is_broken) {
        ri_warn("no more transfers by datagrams: %s; messages go through UCX", why);
        plane->ib.is_broken = 1;
        ++plane->ib.super.failures;
    }
}

#endif
