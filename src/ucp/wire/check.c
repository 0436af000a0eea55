/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Payloads that have a form, and fields that have to fit each other.
 */
#include "check.h"
#include "grid.h"

#include <string.h>

ucs_status_t ri_wire_check_rts(ri_wire_type_t type, const void *payload, size_t length,
                               size_t *total)
{
    const ri_wire_rts_t *rts = payload;
    size_t sum               = 0;
    unsigned i;

    if ((length < sizeof(*rts)) || (rts->num_segments == 0) ||
        (rts->num_segments > RI_WIRE_SEGMENTS_MAX) ||
        (length != ri_wire_rts_length(rts))) {
        return UCS_ERR_INVALID_PARAM;
    }
    for (i = 0; i < rts->num_segments; ++i) {
        if ((rts->segments[i].length == 0) ||
            (rts->segments[i].length > RI_WIRE_LENGTH_MAX - sum)) {
            return UCS_ERR_INVALID_PARAM;
        }
        sum += rts->segments[i].length;
    }
    /* Data that only its sender knows where to find is nowhere for others. */
    if ((type == RI_WIRE_RTS) && (rts->flags & RI_WIRE_RTS_SPREAD) &&
        ((rts->num_segments != 1) || (rts->segments[0].address != 0) ||
         (rts->flags & (RI_WIRE_RTS_PUT | RI_WIRE_RTS_KEYS | RI_WIRE_RTS_AGAIN |
                        RI_WIRE_RTS_SENDS | RI_WIRE_RTS_BY_RTR)))) {
        return UCS_ERR_INVALID_PARAM;
    }
    *total = sum;
    return UCS_OK;
}

ucs_status_t ri_wire_check_placed(const void *payload, size_t length, size_t *total)
{
    ri_wire_placed_t placed;

    if (length != sizeof(placed)) {
        return UCS_ERR_INVALID_PARAM;
    }
    memcpy(&placed, payload, sizeof(placed));
    if ((placed.length == 0) || (placed.length > RI_WIRE_LENGTH_MAX)) {
        return UCS_ERR_INVALID_PARAM;
    }
    *total = placed.length;
    return UCS_OK;
}

int ri_wire_check_rts_msg(const ri_wire_msg_t *msg)
{
    size_t total;

    return ri_wire_check_rts(msg->type, msg->payload, msg->length, &total) == UCS_OK;
}

int ri_wire_check_placed_msg(const ri_wire_msg_t *msg)
{
    size_t total;

    return ri_wire_check_placed(msg->payload, msg->length, &total) == UCS_OK;
}

int ri_wire_check_grid_msg(const ri_wire_msg_t *msg)
{
    return ri_grid_is_valid(&msg->grid, msg->address, msg->rtr_length);
}

int ri_wire_check_first_msg(const ri_wire_msg_t *msg)
{
    return msg->total > msg->length;
}

int ri_wire_check_again_msg(const ri_wire_msg_t *msg)
{
    return msg->length <= ((msg->record_type == RI_WIRE_CHANNEL_ALL) ? 0 : UINT16_MAX);
}
