/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Some runs at a time, so that their list is on the stack. What waits for room in the queue of the
 * way has a list of its own.
 */
#include "rtr_write.h"
#include "../../dt/layout_copy.h"
#include "../../wire/grid.h"
#include "rtr_layout.h"

/* Runs of one operation. */
#define WRITE_RUNS 64

static void write_part_done(ri_plane_op_t *op, ucs_status_t status)
{
    (void)op;
    (void)status;
}

ri_plane_op_t ri_rtr_write_part = {.done = write_part_done};

/* The next runs, as many as there is room for. @return How many. */
static size_t write_segments(const ri_rtr_t *rtr, uint64_t offset, uint64_t *length_p,
                             ri_segment_t *segments)
{
    return (rtr->grid != NULL) ?
                   ri_grid_segments(rtr->grid, rtr->address, offset, length_p, segments,
                                    WRITE_RUNS) :
                   ri_layout_copy_segments(rtr->layout->layout,
                                           (const void *)rtr->address, rtr->layout->count,
                                           offset, length_p, segments, WRITE_RUNS);
}

static ucs_status_t write_runs(ri_plane_ep_t *ep, const ri_rtr_t *rtr,
                               const ri_transfer_t *transfer)
{
    uint64_t end       = transfer->offset + transfer->length;
    ri_transfer_t part = *transfer;
    ri_segment_t remote[1 + WRITE_RUNS];
    uint32_t keys[1 + WRITE_RUNS];
    ucs_status_t status;
    unsigned i;

    for (i = 0; i <= WRITE_RUNS; ++i) {
        keys[i] = rtr->key;
    }
    part.remote      = remote;
    part.remote_keys = keys;
    do {
        /* An operation leaves out as much of both lists */
        remote[0]       = (ri_segment_t){rtr->address, part.offset};
        part.length     = end - part.offset;
        part.num_remote = 1 + write_segments(rtr, part.offset, &part.length, &remote[1]);
        if (part.offset + part.length == end) {
            part.op     = transfer->op;
            part.notify = transfer->notify;
        } else {
            part.op     = &ri_rtr_write_part;
            part.notify = 0;
        }
        status = ep->plane->ops->write(ep, &part);
        part.offset += part.length;
    } while (!UCS_STATUS_IS_ERR(status) && (part.offset < end));
    return status;
}

ucs_status_t ri_rtr_write(ri_plane_ep_t *ep, const ri_rtr_t *rtr,
                          const ri_transfer_t *transfer)
{
    ri_segment_t remote = {rtr->address, transfer->offset + transfer->length};
    ri_transfer_t whole = *transfer;

    if ((rtr->layout != NULL) &&
        !ri_rtr_layout_fits(rtr->layout, rtr->address, rtr->length)) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (ri_rtr_table_is_in_runs(rtr)) {
        return write_runs(ep, rtr, transfer);
    }
    whole.remote      = &remote;
    whole.num_remote  = 1;
    whole.remote_keys = &rtr->key;
    return ep->plane->ops->write(ep, &whole);
}
