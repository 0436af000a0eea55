/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* Prints the table of wire types, for protocol.py. */

#include "ucp/wire/types.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    static const char *const to[]      = {[RI_WIRE_TO_STREAM]       = "stream",
                                          [RI_WIRE_TO_CONN]         = "conn",
                                          [RI_WIRE_TO_CONN_OR_NONE] = "conn-or-none",
                                          [RI_WIRE_TO_SENDER]       = "sender"};
    static const char *const payload[] = {[RI_WIRE_PAYLOAD_NONE]     = "none",
                                          [RI_WIRE_PAYLOAD_HERE]     = "here",
                                          [RI_WIRE_PAYLOAD_SOME]     = "here",
                                          [RI_WIRE_PAYLOAD_ANYWHERE] = "anywhere"};
    const ri_wire_field_t *field;
    const ri_wire_row_t *row;
    unsigned type, i;

    for (type = 0; type < RI_WIRE_TYPE_LAST; ++type) {
        row = ri_wire_type_row(type);
        if (row == NULL) {
            continue;
        }
        printf("type %u %s %u %s %s %s%s%s\n", type, row->name, row->length, to[row->to],
               payload[row->payload], (row->routes & RI_WIRE_BY_AM) ? ",AM" : "",
               (row->routes & RI_WIRE_BY_RING) ? ",ring" : "",
               (row->routes & RI_WIRE_BY_CHANNEL) ? ",channel" : "");
        for (i = 0; i < row->num_fields; ++i) {
            field = &row->fields[i];
            if (field->offset >= sizeof(ri_wire_base_t)) {
                printf("field %s %u %u %s\n", row->name, field->offset, field->size,
                       field->name);
            }
        }
    }
    return 0;
}
