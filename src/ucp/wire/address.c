/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An address comes without its length, so what is read of it follows from what was read before.
 */
#include "address.h"
#include "base.h"
#include "../../ucs/base.h"

#include <string.h>

void ri_wire_address_pack(ri_wire_address_t *prefix, const ri_wire_worker_t *worker)
{
    *prefix = (ri_wire_address_t){.stock_header = 0,
                                  .uid          = worker->uid,
                                  .stock_end    = 0xff,
                                  .magic        = RI_WIRE_ADDRESS_MAGIC,
                                  .version      = RI_WIRE_VERSION,
                                  .length       = sizeof(*prefix),
                                  .am_id        = worker->am_id,
                                  .rank         = worker->rank};
}

/* The part of an address that all versions have in common. */
#define WIRE_ADDRESS_HEAD (offsetof(ri_wire_address_t, length) + 1)

/* The fields that are there since version 2. */
#define WIRE_ADDRESS_LEAST offsetof(ri_wire_address_t, window_job)

/* Read as much as there is of this library's part of an address, which begins as its part does.
 * What is not there is 0. */
static void wire_address_read(ri_wire_address_t *prefix, const void *address)
{
    memset(prefix, 0, sizeof(*prefix));
    memcpy(prefix, address, WIRE_ADDRESS_HEAD);
    if (prefix->length >= WIRE_ADDRESS_LEAST) {
        memcpy(prefix, address, ri_min((size_t)prefix->length, sizeof(*prefix)));
    }
}

ucs_status_t ri_wire_address_parse(const void *address, const void **stock,
                                   ri_wire_worker_t *worker)
{
    const uint8_t *bytes = address;
    ri_wire_address_t prefix;

    /* The shortest stock address has ten bytes, and one that looks like this so far ends
     * there: only then may more be read. */
    *stock = address;
    if ((bytes[0] != 0) || (bytes[offsetof(ri_wire_address_t, stock_end)] != 0xff)) {
        return UCS_ERR_NO_ELEM;
    }

    wire_address_read(&prefix, address);
    if (prefix.magic != RI_WIRE_ADDRESS_MAGIC) {
        return UCS_ERR_NO_ELEM;
    }

    *stock        = bytes + prefix.length;
    worker->uid   = prefix.uid;
    worker->am_id = 0;
    worker->rank  = 0;
    if (prefix.version != RI_WIRE_VERSION) {
        return UCS_ERR_UNSUPPORTED;
    }
    worker->am_id = prefix.am_id;
    worker->rank  = prefix.rank;
    return UCS_OK;
}

ri_host_process_t ri_wire_address_process(const void *address)
{
    ri_wire_address_t prefix;

    wire_address_read(&prefix, address);
    return prefix.process;
}

ri_wire_windows_t ri_wire_address_windows(const void *address)
{
    ri_wire_address_t prefix;

    wire_address_read(&prefix, address);
    return (ri_wire_windows_t){.job = prefix.window_job, .rank = prefix.window_rank};
}
