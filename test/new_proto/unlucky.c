/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Not a part of the library: a protocol that test/check/new_proto.test adds to a copy of it, to
 * show what a new one needs. It takes messages of 13,000 bytes. Each is copied, and the receiver
 * reads the copy (RTS), which is what the protocol keeps for a request until it is answered. Where
 * the data begins with 'x' there is no memory for it. It counts by itself.
 */
#include "rndv.h"
#include "../table.h"
#include "../../core/types/request.h"
#include "../../wire/wire.h"

#include <stdlib.h>

int unlucky_kept;     /* copies, now */
int unlucky_sent;     /* messages */
int unlucky_answered; /* messages whose answer has come */

/* The private state of a request. */
typedef struct unlucky_copy {
    size_t length;
    char data[];
} unlucky_copy_t;

static unsigned unlucky_take(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    unlucky_copy_t *copy = NULL;

    (void)terms;
    if (*(const char *)req->data.buffer != 'x') {
        copy = malloc(sizeof(*copy) + req->data.length);
    }
    if (copy == NULL) {
        return RI_SEND_LACKS_POOL;
    }
    copy->length = req->data.length;
    ri_dt_pack(&req->data, copy->data);
    req->proto_state = copy;
    ++unlucky_kept;
    return 0;
}

static void unlucky_forget(ri_send_req_t *req)
{
    if (req->proto_state != NULL) {
        free(req->proto_state);
        req->proto_state = NULL;
        --unlucky_kept;
    }
}

static ucs_status_t unlucky_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    const unlucky_copy_t *copy = req->proto_state;
    ri_rndv_rts_t rts          = {.rts.num_segments = 1};
    ucs_status_t status;

    (void)terms;
    rts.rts.segments[0] = (ri_segment_t){(uintptr_t)copy->data, copy->length};
    status              = ri_rndv_send(req, &rts.rts);
    unlucky_sent += !UCS_STATUS_IS_ERR(status);
    return status;
}

static void unlucky_is_answered(ri_send_req_t *req)
{
    ++unlucky_answered;
    unlucky_forget(req);
}

const ri_send_proto_t ri_send_proto_unlucky = {
        .name      = "unlucky",
        .called    = "unlucky",
        .moves     = "a copy of the sender, read there",
        .because   = "13,000 is unlucky",
        .wire_type = RI_WIRE_RTS,
        .answer    = RI_SEND_ANSWER_ALWAYS,
        .take      = unlucky_take,
        .start     = unlucky_start,
        .answered  = unlucky_is_answered,
        .forget    = unlucky_forget};
