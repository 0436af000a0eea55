/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A part of a message is read at a time: into as many runs as a list takes, or into the stage, from
 * which it is unpacked.
 */
#include "read_generic.h"

#include <stdlib.h>

/* Data for a generic datatype passes through memory of this size. */
#define READ_STAGE_BYTES 65536

/* Mean length from which on runs are read into place, and how many of them at a time: an entry of
 * the list costs less than to copy them once more. */
#define READ_RUN_BYTES 1024
#define READ_RUNS      256

/* A part of generic data, which is read at a time. */
typedef struct read_part {
    ri_segment_t *segments;
    size_t count;
    size_t length;
} read_part_t;

/* Read the next part of generic data. The offset is left out on both sides. */
static ucs_status_t read_part(const ri_peer_t *peer, ri_transfer_t *transfer,
                              const read_part_t *part)
{
    if (peer->local.ep == NULL) {
        return UCS_ERR_UNREACHABLE;
    }
    part->segments[0].address -= transfer->offset;
    part->segments[0].length += transfer->offset;
    transfer->local     = part->segments;
    transfer->num_local = part->count;
    transfer->length    = part->length;
    return peer->local.ep->plane->ops->read(peer->local.ep, transfer);
}

/* Read generic data straight into its runs. @return What the plane returns. */
static ucs_status_t read_runs(ri_recv_req_t *recv, const ri_peer_t *peer,
                              ri_transfer_t *transfer)
{
    size_t end          = transfer->offset + transfer->length;
    ucs_status_t status = UCS_OK;
    ri_segment_t segments[READ_RUNS];

    for (; (transfer->offset < end) && (status == UCS_OK);
         transfer->offset += transfer->length) {
        read_part_t part = {.segments = segments, .length = end - transfer->offset};

        part.count = ri_dt_runs(&recv->data, transfer->offset, &part.length, segments,
                                READ_RUNS);
        status     = read_part(peer, transfer, &part);
    }
    return status;
}

ucs_status_t ri_read_generic(ri_recv_req_t *recv, const ri_peer_t *peer,
                             ri_transfer_t *transfer, ucs_status_t *unpack_status)
{
    size_t total = transfer->length;
    size_t end   = transfer->offset + total;
    size_t max   = ((total <= READ_STAGE_BYTES) || !ri_dt_takes_parts(&recv->data)) ?
                           total :
                           READ_STAGE_BYTES;
    ucs_status_t status = UCS_OK;
    uint8_t *stage;

    if (ri_dt_run_mean(&recv->data) >= READ_RUN_BYTES) {
        return read_runs(recv, peer, transfer);
    }
    stage = malloc(max);
    if (stage == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    for (; transfer->offset < end; transfer->offset += transfer->length) {
        ri_segment_t local = {(uintptr_t)stage, ri_min(end - transfer->offset, max)};
        read_part_t part   = {.segments = &local, .count = 1, .length = local.length};

        status = read_part(peer, transfer, &part);
        if (status != UCS_OK) {
            break;
        }
        *unpack_status = ri_dt_unpack_part(&recv->data, transfer->offset, stage,
                                           transfer->length);
        if (*unpack_status != UCS_OK) {
            break;
        }
    }
    free(stage);
    return status;
}
