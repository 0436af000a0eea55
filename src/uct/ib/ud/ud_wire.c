/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Control messages are structures as the processor has them, as in all of UCX. Input is checked
 * here for what is wrong by itself; what is wrong at that moment only the transfer knows.
 */
#include "ud_wire.h"

#include <string.h>

/* Of a queue pair: the first two are for the port's management. */
#define WIRE_QP_FIRST 2
#define WIRE_QP_LAST  0xfffffeu

/* The length of a piece is an MTU. */
#define WIRE_PIECE_MIN 256
#define WIRE_PIECE_MAX 4096

size_t ri_ud_wire_pack(const ri_ud_message_t *message, uint32_t ep, void *data)
{
    size_t num_bytes        = (message->num_bits + 7) / 8;
    ri_ud_control_t control = {
            .version  = RI_UD_VERSION,
            .type     = message->type,
            .num_bits = message->num_bits,
            .ep       = ep,
            .number   = message->number,
            .epoch    = message->epoch,
            .round    = message->round,
            .base     = message->base,
            .pieces   = message->pieces,
            .sequence = message->sequence,
            .qkey     = message->qkey,
    };

    memcpy(data, &control, sizeof(control));
    memcpy((char *)data + sizeof(control), message->bits, num_bytes);
    return sizeof(control) + num_bytes;
}

int ri_ud_wire_unpack(const void *data, size_t length, ri_ud_message_t *message,
                      uint32_t *ep)
{
    ri_ud_control_t control;

    if (length < sizeof(control)) {
        return 0;
    }
    memcpy(&control, data, sizeof(control));
    if ((control.version != RI_UD_VERSION) || (control.type == 0) ||
        (control.type >= RI_UD_TYPE_LAST) || (control.num_bits > RI_UD_WINDOW_MAX) ||
        (length != sizeof(control) + (control.num_bits + 7) / 8)) {
        return 0;
    }
    memset(message, 0, sizeof(*message));
    message->type     = control.type;
    message->number   = control.number;
    message->epoch    = control.epoch;
    message->round    = control.round;
    message->base     = control.base;
    message->pieces   = control.pieces;
    message->sequence = control.sequence;
    message->qkey     = control.qkey;
    message->num_bits = control.num_bits;
    memcpy(message->bits, (const char *)data + sizeof(control), length - sizeof(control));
    *ep = control.ep;
    return 1;
}

const char *ri_ud_wire_check_target(const ri_ud_target_t *target)
{
    uint32_t count;

    if ((target->qp < WIRE_QP_FIRST) || (target->qp > WIRE_QP_LAST)) {
        return "it names no queue pair";
    }
    if ((target->piece_size < WIRE_PIECE_MIN) || (target->piece_size > WIRE_PIECE_MAX) ||
        ((target->piece_size & (target->piece_size - 1)) != 0)) {
        return "its pieces have a length that is no MTU";
    }
    count = ri_ud_transfer_count_pieces(target->length, target->piece_size);
    if ((count == 0) || (target->granted == 0) || (target->granted > count) ||
        (target->reserved != 0)) {
        return "its length, its grant or a reserved field has a value that cannot be";
    }
    return NULL;
}
