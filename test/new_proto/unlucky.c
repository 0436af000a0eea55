/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Not a part of the library: a protocol that test/check/new_proto.test adds to a copy of it, to
 * show what a new one needs. It takes messages of 13,000 bytes, and sends them as the protocol
 * `bulk` does. What it keeps for a request is a block of memory; where the data begins with 'x',
 * that cannot be had.
 */
#include "../table.h"
#include "../../core/request.h"
#include "../../wire/wire.h"

#include <stdlib.h>

int unlucky_kept; /* blocks, now */

static unsigned unlucky_take(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    (void)terms;
    if (*(const char *)req->data.buffer == 'x') {
        return RI_SEND_LACKS_POOL;
    }
    req->coop = malloc(1);
    ++unlucky_kept;
    return 0;
}

static void unlucky_forget(ri_send_req_t *req)
{
    if (req->coop != NULL) {
        free(req->coop);
        req->coop = NULL;
        --unlucky_kept;
    }
}

static ucs_status_t unlucky_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    return ri_send_proto_bulk.start(req, terms);
}

const ri_send_proto_t ri_send_proto_unlucky = {.name      = "unlucky",
                                               .wire_type = RI_WIRE_BULK,
                                               .take      = unlucky_take,
                                               .start     = unlucky_start,
                                               .forget    = unlucky_forget,
                                               RI_SEND_COUNTS(tx_eager_am)};
