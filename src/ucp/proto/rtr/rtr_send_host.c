/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The write comes before the message has a number (take). A copy by both sides begins with the
 * message (start). A receiver that is late is looked after in progress.
 */
#include "rtr_send_host.h"
#include "../coop/coop_send.h"
#include "../../core/send_req.h"
#include "../rndv/rndv.h"
#include "rtr_known.h"
#include "rtr_layout.h"
#include "rtr_write.h"
#include "../../../ucs/settings.h"
#include "../../../ucs/clock.h"
#include "../../link/local.h"

#include <stdlib.h>
#include <string.h>

/* Runs of the sender in one call of the plane. */
#define RTR_SEND_HOST_RUNS 64

double ri_rtr_send_host_patience = 10e-6;

/* Write data in runs, some of them at a time. */
static ucs_status_t rtr_send_host_write_runs(const ri_dt_data_t *data, ri_plane_ep_t *ep,
                                             const ri_rtr_t *rtr)
{
    ri_transfer_t part = {.offset = 0};
    ri_segment_t local[1 + RTR_SEND_HOST_RUNS];
    ucs_status_t status;

    part.local = local;
    do {
        /* The offset is into both lists, and the other one begins with the message */
        local[0]       = (ri_segment_t){0, part.offset};
        part.length    = data->length - part.offset;
        part.num_local = 1 + ri_dt_runs(data, part.offset, &part.length, &local[1],
                                        RTR_SEND_HOST_RUNS);
        status         = ri_rtr_write(ep, rtr, &part);
        part.offset += part.length;
    } while ((status == UCS_OK) && (part.offset < data->length));
    return status;
}

/* Write the data of a send, and note that. */
static ucs_status_t rtr_send_host_write(const ri_send_req_t *req, ri_plane_ep_t *ep,
                                        const ri_rtr_t *rtr)
{
    ri_segment_t local[RI_WIRE_SEGMENTS_MAX];
    ri_transfer_t whole = {.length = req->data.length};
    uint64_t start      = ri_timeline_now(&req->conn->worker->timeline);
    ucs_status_t status;

    if (ri_dt_is_spread(&req->data)) {
        status = rtr_send_host_write_runs(&req->data, ep, rtr);
    } else {
        whole.local     = local;
        whole.num_local = ri_dt_segments(&req->data, local, RI_WIRE_SEGMENTS_MAX);
        status          = ri_rtr_write(ep, rtr, &whole);
    }
    ri_rndv_note_write(req, start, status);
    return status;
}

/* Write the data of a send into the memory that an RTR offers, which was taken. */
static ucs_status_t rtr_send_host_put(ri_send_req_t *req, const ri_rtr_t *rtr)
{
    ri_conn_t *conn     = req->conn;
    ucs_status_t status = rtr_send_host_write(req, conn->peer->local.ep, rtr);

    if (status == UCS_OK) {
        ri_rtr_table_end(rtr, RI_RING_GRANT_WRITTEN);
        return UCS_OK;
    }
    ri_rtr_table_end(rtr, RI_RING_GRANT_FAILED);
    if (status == UCS_ERR_UNREACHABLE) {
        ri_local_fail(conn->worker, conn->peer);
    }
    return status;
}

/* Write the data of a send where an RTR says. @return Whether that was done. */
static int rtr_send_host_use(ri_send_req_t *req, const ri_rtr_t *rtr)
{
    return (req->conn->peer->local.ep != NULL) && ri_rtr_table_use(rtr) &&
           (rtr_send_host_put(req, rtr) == UCS_OK);
}

static unsigned rtr_send_host_take(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    return rtr_send_host_use(req, terms->rtr) ? 0 : RI_SEND_LACKS_RTR;
}

/* The data is there: send PLACED. */
static ucs_status_t rtr_send_host_start(ri_send_req_t *req, const ri_send_terms_t *terms)
{
    ri_wire_placed_t placed = {.length = req->data.length};

    return ri_rndv_send_payload(req, terms->rtr->recv_id, &placed, sizeof(placed), 0);
}

/* Take the memory that an RTR offers, in one place, for a copy by both sides. Until the slot has
 * its address, the receiver waits if it must end. */
static int rtr_send_host_share(const ri_rtr_t *rtr)
{
    return (rtr->kind == RI_RTR_GRANT) && !ri_rtr_table_is_in_runs(rtr) &&
           ri_grant_change(rtr->grant, rtr->generation, RI_RING_GRANT_SHARING);
}

/* A copy by both sides, into the memory that an RTR offers if that can still be had. */
static ucs_status_t rtr_send_host_start_coop(ri_send_req_t *req,
                                             const ri_send_terms_t *terms)
{
    return ri_coop_send_start(req, rtr_send_host_share(terms->rtr) ? terms->rtr : NULL);
}

/* The runs may be those of a later RTR, if the receiver breaks the protocol. */
static uint64_t rtr_send_host_room(const ri_send_req_t *req, const ri_rtr_t *rtr)
{
    (void)req;
    if (rtr->layout != NULL) {
        return ri_rtr_layout_is_worth(rtr) ? rtr->length : 0;
    }
    return ((rtr->grid == NULL) ||
            ((rtr->grid->run >= RI_GRID_RUN_MIN) &&
             ri_grid_is_valid(rtr->grid, rtr->address, rtr->length))) ?
                   rtr->length :
                   0;
}

/* The message of an RTR was offered by RTS before, and may not have met its receive yet: then
 * the RTR can still be taken. */
static void rtr_send_host_answer_rts(ri_conn_t *conn, const ri_rtr_t *rtr, uint32_t sn,
                                     uint32_t req_id)
{
    ri_send_req_t *req = ri_id_get(&conn->worker->ids.sends, req_id);

    if ((req == NULL) || (req->conn != conn) || (req->sn != sn) ||
        (req->wire_type != RI_WIRE_RTS) || !(req->waiting & RI_SEND_WAIT_MATCH) ||
        (req->waiting & RI_SEND_WAIT_RING) ||
        (req->data.length > rtr_send_host_room(req, rtr)) || !ri_dt_fits(&req->data) ||
        (conn->peer == NULL) || (conn->peer->local.ep == NULL)) {
        return;
    }
    if (ri_coop_send_of(req) != NULL) {
        if (rtr_send_host_share(rtr)) {
            ri_coop_send_offered(req, rtr->address);
            ri_rtr_table_end(rtr, RI_RING_GRANT_SLOT);
        }
    } else if (rtr_send_host_use(req, rtr)) {
        ri_send_end_wait(req, RI_SEND_WAIT_MATCH, UCS_OK);
    }
}

/* A receiver that is in the library reads at once, into its own caches. So the sender gives
 * it some time, unless both can copy. Of an exchange each side reads its own. */
static void rtr_send_host_handle_late(ri_conn_t *conn, const ri_rtr_t *rtr, uint32_t sn,
                                      uint32_t req_id)
{
    ri_worker_t *worker      = conn->worker;
    const ri_send_req_t *req = ri_id_get(&worker->ids.sends, req_id);
    ri_rtr_late_t late       = {.rtr = *rtr, .sn = sn, .req_id = req_id};

    if ((req == NULL) || req->exchanges) {
        return;
    }
    if (ri_coop_send_of(req) != NULL) {
        rtr_send_host_answer_rts(conn, rtr, sn, req_id);
        return;
    }
    late.since = ri_clock_now();
    ri_rtr_table_add_late(conn->rtr.table, &late);
    if (ucs_list_is_empty(&conn->rtr.late_link)) {
        ucs_list_add_tail(&worker->rtr.late_conns, &conn->rtr.late_link);
    }
    worker->attention = 1;
}

void ri_rtr_send_host_progress(ri_worker_t *worker)
{
    size_t count = ucs_list_length(&worker->rtr.late_conns);
    double until = ri_clock_now() - ri_rtr_send_host_patience;
    ri_rtr_late_t late;
    ri_conn_t *conn;

    /* One round, from the head: callbacks may close any conn. */
    for (; (count > 0) && !ucs_list_is_empty(&worker->rtr.late_conns); --count) {
        conn = ucs_list_extract_head(&worker->rtr.late_conns, ri_conn_t, rtr.late_link);
        ucs_list_head_init(&conn->rtr.late_link);
        if ((conn->status != UCS_OK) || (conn->rtr.table->num_late == 0)) {
            continue;
        }
        ucs_list_add_tail(&worker->rtr.late_conns, &conn->rtr.late_link);
        if (ri_rtr_table_pop_late(conn->rtr.table, until, &late)) {
            rtr_send_host_answer_rts(conn, &late.rtr, late.sn, late.req_id);
        }
    }
}

/* The payloads of an RTR, which begin in the same way. */
typedef union rtr_send_host_wire {
    ri_wire_rtr_t rtr;
    ri_wire_rtr_runs_t runs;
    ri_wire_rtr_layout_t layout;
} rtr_send_host_wire_t;

/* Take an RTR out of a record. @return 0: it breaks the protocol. */
static int rtr_send_host_parse(const ri_ring_record_t *record, uint32_t length,
                               rtr_send_host_wire_t *wire)
{
    if ((length != sizeof(wire->rtr)) && (length != sizeof(wire->runs)) &&
        (length != sizeof(wire->layout))) {
        return 0;
    }
    memcpy(wire, ri_ring_payload(record, length), length);
    return (wire->rtr.grant < RI_RING_GRANTS) && (wire->rtr.length != 0) &&
           (wire->rtr.length <= RI_WIRE_LENGTH_MAX) &&
           ((length != sizeof(wire->runs)) ||
            ri_grid_is_valid(&wire->runs.grid, wire->rtr.address, wire->rtr.length));
}

/* Note in an RTR the runs that it is of, if it is of some. @return 0 if they cannot be kept. */
static int rtr_send_host_keep_runs(ri_stream_t *stream, const rtr_send_host_wire_t *wire,
                                   uint32_t length, ri_layout_t *layout, ri_rtr_t *rtr)
{
    if (length == sizeof(wire->runs)) {
        rtr->grid = ri_rtr_known_keep_grid(&stream->rtr.grids, RI_RING_GRANTS, rtr->index,
                                           &wire->runs.grid);
        return rtr->grid != NULL;
    }
    if (layout != NULL) {
        rtr->layout = ri_layouts_in_use(stream->rtr.ring_layouts_in, rtr->index, layout,
                                        wire->layout.count);
    }
    return 1;
}

int ri_rtr_send_host_receive(ri_stream_t *stream, const ri_ring_record_t *record,
                             uint32_t length)
{
    ri_worker_t *worker = stream->worker;
    uint32_t conn_id    = __atomic_load_n(&record->extra, __ATOMIC_RELAXED);
    ri_conn_t *conn     = ri_id_get(&worker->ids.conns, conn_id);
    uint32_t sn         = 0;
    uint32_t req_id     = 0;
    int by_layout       = (length == sizeof(ri_wire_rtr_layout_t));
    ri_layout_t *layout = NULL;
    rtr_send_host_wire_t wire;
    ri_rtr_fate_t fate;
    ri_rtr_t rtr;

    ++worker->counters.rx_control;
    if (!rtr_send_host_parse(record, length, &wire) ||
        (by_layout && !ri_rtr_layout_find(stream, &wire.layout, &layout))) {
        return 0;
    }
    if ((by_layout && (layout == NULL)) || (conn == NULL) ||
        (conn->peer != stream->peer) || (conn->rtr.table == NULL) ||
        (conn->status != UCS_OK) || !(conn->flags & RI_CONN_PLANE_WRITE)) {
        ++worker->counters.rx_stale;
        return 1;
    }

    rtr = (ri_rtr_t){.tag        = __atomic_load_n(&record->tag, __ATOMIC_RELAXED),
                     .mask       = wire.rtr.mask,
                     .address    = wire.rtr.address,
                     .length     = wire.rtr.length,
                     .recv_id    = __atomic_load_n(&record->value, __ATOMIC_RELAXED),
                     .ahead      = wire.rtr.ahead,
                     .generation = wire.rtr.generation,
                     .index      = wire.rtr.grant,
                     .grant      = &stream->ring->control->grants[wire.rtr.grant]};
    if (!rtr_send_host_keep_runs(stream, &wire, length, layout, &rtr)) {
        return 1; /* the RTR is as good as lost */
    }
    ri_copy_prefetch(rtr.grant); /* it is to be changed first of all */
    fate = ri_rtr_table_add(conn->rtr.table, &rtr, wire.rtr.seen, &sn, &req_id);
    ri_trace(&worker->trace, RI_TRACE_RTR_IN, rtr.tag, fate);
    if (fate == RI_RTR_FOR_RTS) {
        rtr_send_host_handle_late(conn, &rtr, sn, req_id);
    }
    return 1;
}

const ri_send_proto_t ri_send_proto_rtr_host = {
        .name      = "rtr_host",
        .called    = "rtr",
        .moves     = "the sender writes into the receive",
        .because   = "it has an RTR",
        .wire_type = RI_WIRE_PLACED,
        .answer    = RI_SEND_ANSWER_NEVER,
        .take      = rtr_send_host_take,
        .start     = rtr_send_host_start,
        RI_SEND_COUNTS(tx_recv_rndv)};

const ri_send_proto_t ri_send_proto_rtr_coop = {
        .name          = "rtr_coop",
        .called        = "coop",
        .moves         = "both sides copy, with an RTR",
        .because       = "the sender begins, two are faster",
        .wire_type     = RI_WIRE_RTS,
        .answer        = RI_SEND_ANSWER_ALWAYS,
        .take          = ri_coop_send_take,
        .start         = rtr_send_host_start_coop,
        .answered      = ri_coop_send_answered,
        .forget        = ri_coop_send_give_up,
        .outlives_loss = ri_coop_send_outlives_loss,
        RI_SEND_COUNTS(tx_coop)};

const ri_rtr_ops_t ri_rtr_ops_grant = {.room = rtr_send_host_room};
