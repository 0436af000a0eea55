/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pack.h"
#include "types.h"

#include <string.h>

size_t ri_wire_pack(const ri_wire_msg_t *msg, void *header)
{
    const ri_wire_row_t *row = &ri_wire_rows[msg->type];
    ri_wire_base_t base      = {.type = msg->type, .value = msg->value};
    uint8_t *at              = header;
    const ri_wire_field_t *field;
    unsigned i;

    base.type |= msg->has_hello ? RI_WIRE_FLAG_HELLO : 0;
    ri_wire_set_id(&base, msg->id);
    memcpy(at, &base, sizeof(base));
    for (i = 0; i < row->num_fields; ++i) {
        field = &row->fields[i];
        if (field->member == RI_WIRE_RESERVED) {
            memset(at + field->offset, 0, field->size);
        } else {
            memcpy(at + field->offset, (const uint8_t *)msg + field->member, field->size);
        }
    }
    if (!msg->has_hello) {
        return row->length;
    }
    memcpy(at + row->length, &msg->hello, sizeof(msg->hello));
    return row->length + sizeof(msg->hello);
}
