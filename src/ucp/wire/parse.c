/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One walk over the fields of a type's row. Lengths are checked before anything is read, ranges as
 * each field is read, and what fields have to do with each other last.
 */
#include "parse.h"
#include "types.h"

#include <string.h>

static ucs_status_t parse_hello(const uint8_t *at, ri_wire_msg_t *msg)
{
    memcpy(&msg->hello, at, sizeof(msg->hello));
    if (msg->hello.magic != RI_WIRE_MAGIC) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (msg->hello.version != RI_WIRE_VERSION) {
        return UCS_ERR_UNSUPPORTED;
    }
    if (!ri_wire_id_is_valid(msg->hello.conn_id) ||
        !ri_wire_uid_is_valid(msg->hello.uid)) {
        return UCS_ERR_INVALID_PARAM;
    }
    msg->has_hello = 1;
    return UCS_OK;
}

/* Most fields are integers, which need no call. */
static inline void parse_copy(void *to, const void *from, size_t size)
{
    switch (size) {
    case sizeof(uint64_t):
        memcpy(to, from, sizeof(uint64_t));
        break;
    case sizeof(uint32_t):
        memcpy(to, from, sizeof(uint32_t));
        break;
    case sizeof(uint16_t):
        memcpy(to, from, sizeof(uint16_t));
        break;
    default:
        memcpy(to, from, size);
        break;
    }
}

/* A member may have more room than its field needs: what is beyond is 0. @return 0 if a field has
 * no value that it may have. */
static int parse_fields(const ri_wire_row_t *row, const uint8_t *at, ri_wire_msg_t *msg)
{
    const ri_wire_field_t *field;
    unsigned i;
    uint64_t value;

    memset(msg, 0, offsetof(ri_wire_msg_t, plane_address));
    msg->type  = at[0] & ~RI_WIRE_FLAG_HELLO;
    msg->id    = ri_wire_get_id((const ri_wire_base_t *)at);
    msg->value = ((const ri_wire_base_t *)at)->value;
    for (i = 0; i < row->num_fields; ++i) {
        field = &row->fields[i];
        if (field->member == RI_WIRE_RESERVED) {
            continue;
        }
        parse_copy((uint8_t *)msg + field->member, at + field->offset, field->size);
        if (field->max != 0) {
            value = 0;
            parse_copy(&value, at + field->offset, field->size);
            if ((value < field->min) || (value > field->max)) {
                return 0;
            }
        }
    }
    return 1;
}

static int parse_may_have_hello(const ri_wire_row_t *row, const ri_wire_msg_t *msg)
{
    if (msg->has_hello ? (row->greets == RI_WIRE_GREETS_NEVER) :
                         (row->greets == RI_WIRE_GREETS_ALWAYS)) {
        return 0;
    }
    return (msg->id == 0) == msg->has_hello; /* one of them says who is addressed */
}

static int parse_may_have_payload(const ri_wire_row_t *row, const ri_wire_msg_t *msg,
                                  int data_elsewhere)
{
    if (row->payload == RI_WIRE_PAYLOAD_ANYWHERE) {
        return 1;
    }
    return !data_elsewhere &&
           ((row->payload != RI_WIRE_PAYLOAD_NONE) || (msg->length == 0)) &&
           ((row->payload != RI_WIRE_PAYLOAD_SOME) || (msg->length != 0));
}

ucs_status_t ri_wire_parse(const void *header, size_t header_length, const void *data,
                           size_t length, int data_elsewhere, ri_wire_msg_t *msg)
{
    int apart         = (header_length != 0);
    const uint8_t *at = apart ? header : data;
    size_t avail      = apart ? header_length : length;
    const ri_wire_row_t *row;
    ucs_status_t status;
    size_t with_hello;

    if ((avail < sizeof(ri_wire_base_t)) || (!apart && data_elsewhere)) {
        return UCS_ERR_INVALID_PARAM;
    }

    row = ri_wire_type_row(at[0] & ~RI_WIRE_FLAG_HELLO);
    if ((row == NULL) || !(row->routes & RI_WIRE_BY_AM)) {
        return UCS_ERR_INVALID_PARAM;
    }
    msg->has_hello = 0;
    with_hello     = row->length;
    if (at[0] & RI_WIRE_FLAG_HELLO) {
        with_hello += sizeof(ri_wire_hello_t);
    }
    if ((avail < with_hello) || (apart && (avail != with_hello))) {
        return UCS_ERR_INVALID_PARAM;
    }
    if (with_hello != row->length) {
        status = parse_hello(at + row->length, msg);
        if (status != UCS_OK) {
            return status;
        }
    }

    if (!parse_fields(row, at, msg)) {
        return UCS_ERR_INVALID_PARAM;
    }
    msg->payload = data_elsewhere ? NULL :
                   apart          ? data :
                                    (const uint8_t *)data + with_hello;
    msg->length  = apart ? length : (length - with_hello);
    return (parse_may_have_hello(row, msg) &&
            parse_may_have_payload(row, msg, data_elsewhere) &&
            ((row->check == NULL) || row->check(msg))) ?
                   UCS_OK :
                   UCS_ERR_INVALID_PARAM;
}
