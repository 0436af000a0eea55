/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages to the own worker: matched at once, copied once, never on a transport.
 */
#include "../../../ucs/settings.h"
#include "../../core/send_req.h"
#include "../../order/deliver.h"

#include <stdlib.h>

/* Call @a func with the packed data of a send; copies it only if it is not in one piece. */
static ucs_status_t self_with_packed(ri_send_req_t *send,
                                     ucs_status_t (*func)(ri_send_req_t *send,
                                                          const void *data, void *arg),
                                     void *arg)
{
    ucs_status_t status;
    void *packed;

    if (ri_dt_is_contig(&send->data)) {
        return func(send, send->data.buffer, arg);
    }

    packed = malloc(ri_max(send->data.length, (size_t)1));
    if (packed == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    ri_dt_pack(&send->data, packed);
    status = func(send, packed, arg);
    free(packed);
    return status;
}

static ucs_status_t self_unpack(ri_send_req_t *send, const void *data, void *arg)
{
    ri_recv_req_t *recv = arg;

    return ri_dt_unpack(&recv->data, data, send->data.length);
}

/* The message was given up if it has no send any more. */
static ucs_status_t self_copy(ri_recv_req_t *recv, ri_stream_t *stream,
                              ri_arrival_t *arrival)
{
    (void)stream;
    return (arrival->send != NULL) ? self_with_packed(arrival->send, self_unpack, recv) :
                                     UCS_ERR_CANCELED;
}

static ucs_status_t self_deliver_copy(ri_send_req_t *send, const void *data, void *arg)
{
    ri_arrival_t arrival = {.wire_type = RI_WIRE_EAGER,
                            .kind      = RI_MSG_COPY,
                            .tag       = send->tag,
                            .length    = send->data.length,
                            .data      = data};

    return ri_deliver_self(send->super.worker, &arrival);
}

/* A message that finds no receive is copied if it is short and not synchronous; otherwise the
 * request waits for its receive. */
static ucs_status_t self_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    ri_arrival_t arrival = {.wire_type = RI_WIRE_BULK,
                            .kind      = RI_MSG_SELF,
                            .tag       = req->tag,
                            .length    = req->data.length,
                            .send      = req};
    ucs_status_t status;

    ++req->conn->counters.tx_self;
    req->conn->counters.tx_self_bytes += req->data.length;
    req->conn->counters.tx_bytes += req->data.length;
    ri_sizes_note(req->super.worker->sizes, RI_SIZES_OF(tx_self), req->data.length);
    if (!terms->sync && (req->data.length <= ri_config.eager_thresh)) {
        return self_with_packed(req, self_deliver_copy, NULL);
    }

    status = ri_deliver_self(req->super.worker, &arrival);
    if (status == UCS_INPROGRESS) {
        ri_send_begin_wait(req, RI_SEND_WAIT_MATCH);
    }
    return status;
}

/* A send that ends without its receive: nobody shall find its message, which is its proto_state
 * while it waits. */
static void self_forget(ri_send_req_t *req)
{
    ri_worker_t *worker = req->super.worker;
    ri_msg_t *msg       = req->proto_state;

    if (msg == NULL) {
        return;
    }
    req->proto_state = NULL;
    if (msg->queued) {
        ri_match_remove_unexpected(&worker->match, msg);
        ri_msg_free(worker, msg);
    } else {
        msg->send = NULL; /* a probe has it, and will receive an error */
    }
}

static int self_can_end_now(const ri_send_req_t *req)
{
    return req->data.length <= ri_config.eager_thresh;
}

const ri_send_proto_t ri_send_proto_self = {.name        = "self",
                                            .called      = "self",
                                            .moves       = "one copy within the process",
                                            .because     = "it is to the own process",
                                            .unnumbered  = 1,
                                            .start       = self_start,
                                            .forget      = self_forget,
                                            .can_end_now = self_can_end_now};

static void self_keep(ri_msg_t *msg, const ri_arrival_t *arrival)
{
    arrival->send->proto_state = msg;
}

static void self_done(const ri_arrival_t *arrival)
{
    if (arrival->send != NULL) {
        arrival->send->proto_state = NULL;
        ri_send_end_wait(arrival->send, RI_SEND_WAIT_MATCH, UCS_OK);
    }
}

static void self_discard(const ri_msg_t *msg)
{
    if (msg->send != NULL) {
        msg->send->proto_state = NULL;
    }
}

const ri_msg_ops_t ri_msg_ops_self = {.start   = self_copy,
                                      .keep    = self_keep,
                                      .done    = self_done,
                                      .discard = self_discard};
