/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The RTS goes out with the message, and names the RTR instead of places in memory. If the message
 * does not arrive by the target of the RTR, the receiver answers the RTS as one without an RTR.
 */
#include "rtr_send_ud.h"
#include "rtr_send_words.h"
#include "../../core/types/module.h"
#include "../rndv/rndv.h"
#include "../rndv/rndv_ud.h"
#include "../rndv/send_keys.h"

#include <stdlib.h>
#include <string.h>

static uint64_t rtr_send_ud_room(const ri_send_req_t *req, const ri_rtr_t *rtr)
{
    const ri_conn_t *conn = req->conn;

    return ((conn->flags & RI_CONN_WAY) && (conn->peer->way.number == rtr->way) &&
            (ri_ud_run_way(conn->peer) != NULL) && (req->data.length == rtr->length)) ?
                   rtr->length :
                   0;
}

/* The data has to be registered whatever the plane can do. */
static unsigned rtr_send_ud_take(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    (void)terms;
    return ri_send_keys_get(req) ? 0 : RI_SEND_LACKS_RTR;
}

/* Send the RTS and the message. */
static ucs_status_t rtr_send_ud_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    const ri_rtr_t *rtr = terms->rtr;
    uint64_t name       = ri_wire_rtr_name(rtr->index, rtr->generation);
    ri_rndv_rts_t rts   = {.rts.flags        = RI_WIRE_RTS_SENDS | RI_WIRE_RTS_BY_RTR,
                           .rts.num_segments = 1,
                           .rts.way          = (uint16_t)req->way};
    ucs_status_t status;

    /* From here on the RTS may be answered as if there had been no RTR. */
    ri_rndv_ud_set_target(req, RI_SEND_TARGET_WANTED);
    rts.rts.segments[0] = (ri_segment_t){name, req->data.length};
    status              = ri_rndv_send(req, &rts.rts);
    if (!UCS_STATUS_IS_ERR(status) && (req->conn != NULL)) { /* else it has ended */
        ri_rtr_table_end(rtr, RI_RING_GRANT_WRITTEN);
        ri_rndv_ud_start_by_rtr(req, req->conn->rtr.targets[rtr->index], rtr->recv_id);
    }
    return status;
}

/* The place of an entry's target. */
static uint8_t *rtr_send_ud_place(ri_conn_t *conn, uint16_t entry)
{
    if (conn->rtr.targets == NULL) {
        conn->rtr.targets = calloc(RI_WIRE_RTR_ENTRIES, sizeof(*conn->rtr.targets));
    }
    return (conn->rtr.targets == NULL) ? NULL : conn->rtr.targets[entry];
}

void ri_rtr_send_ud_handle_rtr(ri_worker_t *worker, ri_conn_t *conn,
                               const ri_wire_msg_t *msg)
{
    ri_ud_target_t target;
    uint8_t *place;

    memcpy(&target, msg->target, sizeof(target));
    if (ri_ud_wire_check_target(&target) != NULL) {
        ++worker->counters.rx_malformed;
        return;
    }
    if (!ri_rtr_send_words_note(conn, ri_ud_run_way(conn->peer), msg)) {
        return;
    }
    place = rtr_send_ud_place(conn, msg->entry);
    if (place != NULL) { /* else it is as one that waits for ever */
        memcpy(place, msg->target, sizeof(target));
        ri_rtr_send_words_add(conn, msg, RI_RTR_UD, target.length);
    }
}

static void rtr_send_ud_conn_freed(ri_conn_t *conn)
{
    free(conn->rtr.targets);
}

const ri_module_t ri_module_rtr_send_ud = {.name       = "rtr_send_ud",
                                           .conn_freed = rtr_send_ud_conn_freed};

const ri_send_proto_t ri_send_proto_rtr_ud = {.name      = "rtr_ud",
                                              .called    = "rtr",
                                              .moves     = "datagrams into the receive",
                                              .because   = "it has an RTR",
                                              .wire_type = RI_WIRE_RTS,
                                              .answer    = RI_SEND_ANSWER_ALWAYS,
                                              .take      = rtr_send_ud_take,
                                              .start     = rtr_send_ud_start,
                                              .forget    = ri_rndv_ud_forget,
                                              RI_SEND_COUNTS(tx_recv_rndv)};

const ri_rtr_ops_t ri_rtr_ops_ud = {.room = rtr_send_ud_room, .by_net = 1};
