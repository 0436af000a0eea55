/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A plain key of stock has eight bytes at least, and no more may be read before they are known to
 * be this library's.
 */
#include "rkey.h"

#include <stddef.h>
#include <string.h>

/* The part of a key that all versions have in common. */
#define WIRE_RKEY_HEAD (offsetof(ri_wire_rkey_t, length) + 1)

void ri_wire_rkey_init(ri_wire_rkey_t *rkey)
{
    *rkey = (ri_wire_rkey_t){.magic   = RI_WIRE_RKEY_MAGIC,
                             .version = RI_WIRE_RKEY_VERSION,
                             .length  = sizeof(*rkey)};
}

static int wire_rkey_is_sound(const ri_wire_rkey_t *rkey)
{
    return (rkey->atomics < RI_WIRE_ATOMICS_COUNT) &&
           (rkey->plane_length <= sizeof(rkey->plane)) &&
           (rkey->size <= UINT64_MAX - rkey->address) &&
           (rkey->size <= UINT64_MAX - rkey->place.offset);
}

ucs_status_t ri_wire_rkey_parse(const void *packed, const void **stock,
                                ri_wire_rkey_t *rkey)
{
    const uint8_t *bytes = packed;
    ri_wire_rkey_t in;

    *stock = packed;
    memcpy(&in.magic, packed, sizeof(in.magic));
    if (in.magic != RI_WIRE_RKEY_MAGIC) {
        return UCS_ERR_NO_ELEM;
    }
    memcpy(&in, packed, WIRE_RKEY_HEAD);
    if (in.length < WIRE_RKEY_HEAD) {
        return UCS_ERR_NO_ELEM; /* as nothing says where a key of stock begins */
    }

    *stock = bytes + in.length;
    if ((in.version != RI_WIRE_RKEY_VERSION) || (in.length != sizeof(in))) {
        return UCS_ERR_UNSUPPORTED;
    }
    memcpy(&in, packed, sizeof(in));
    if (!wire_rkey_is_sound(&in)) {
        return UCS_ERR_INVALID_PARAM;
    }
    *rkey = in;
    return UCS_OK;
}
