/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is sent by channels.
 */
#include "channel_send.h"
#include "way_use.h"
#include "../core/types/module.h"
#include "../core/send_req.h"
#include "../match/rtr_table.h"

#include <string.h>

/* Whether a record of any kind could be written now, and would not come sooner as an active
 * message: a queue pair sends in order. */
static inline int channel_can(const ri_conn_t *conn, size_t length)
{
    ri_channel_out_t *out = conn->channel;

    return (out != NULL) && (out->state == RI_CHANNEL_OPEN) && !out->failed &&
           (length <= out->tx.max_payload) && !(conn->flags & RI_CONN_NO_RING) &&
           !conn->peer->way.leaving && (conn->peer->way.ep->long_writes == 0) &&
           ri_channel_tx_has_room(&out->tx, length);
}

int ri_channel_send_is_any_busy(const ri_worker_t *worker)
{
    const ri_channel_out_t *out;

    ucs_list_for_each(out, &worker->channels.out, list) {
        if (ri_channel_send_is_busy(out->conn)) {
            return 1;
        }
    }
    return 0;
}

int ri_channel_send_can(const ri_conn_t *conn, size_t length)
{
    return channel_can(conn, length) && (length < conn->channel->end);
}

/* Give the next record to the device. If that fails some of it may have been written: it counts
 * as sent, and is sent again as all others that are under way. */
static void channel_write(ri_channel_out_t *out, ri_channel_record_t *record)
{
    ri_peer_t *peer     = out->conn->peer;
    ri_plane_ep_t *ep   = peer->way.ep;
    size_t length       = ri_channel_tx_seal(&out->tx, record);
    ri_segment_t local  = {(uintptr_t)record, length};
    ri_segment_t remote = {out->address + ((uint8_t *)record - out->tx.shadow), length};
    ri_transfer_t transfer = {.local       = &local,
                              .num_local   = 1,
                              .remote      = &remote,
                              .num_remote  = 1,
                              .length      = length,
                              .local_keys  = &out->keys.local_key,
                              .remote_keys = &out->key,
                              .op          = &out->op};

    ri_channel_tx_advance(&out->tx);
    if (ri_unlikely(ep->plane->ops->write(ep, &transfer) != UCS_INPROGRESS)) {
        out->failed = 1;
        return;
    }
    ++out->under_way;
    ++peer->way.num_transfers;
    ++out->conn->worker->num_transfers;
    peer->way.used = 1;
}

/* End the lap, if the next record does not fit there. @return 0: the way has failed. */
static int channel_write_pad(ri_channel_out_t *out, size_t length)
{
    ri_channel_record_t *record;

    if (ri_likely(!ri_channel_tx_needs_pad(&out->tx, length))) {
        return 1;
    }
    record         = ri_channel_tx_next(&out->tx);
    record->length = 0;
    record->type   = RI_CHANNEL_PAD;
    record->value  = 0;
    record->tag    = 0;
    ri_way_use(out->conn->worker, out->conn->peer); /* once a lap is often enough */
    channel_write(out, record);
    return !out->failed;
}

/* @return The next record, of which only the payload has to be filled, or NULL. */
static ri_channel_record_t *channel_next(ri_conn_t *conn, size_t length,
                                         ri_wire_type_t type, uint32_t value,
                                         uint32_t extra, uint64_t tag)
{
    ri_channel_record_t *record;

    if (ri_unlikely(!channel_can(conn, length) ||
                    !channel_write_pad(conn->channel, length))) {
        return NULL;
    }
    record         = ri_channel_tx_next(&conn->channel->tx);
    record->length = length;
    record->type   = type;
    record->value  = value;
    record->extra  = extra;
    record->tag    = tag;
    return record;
}

static void channel_sent(ri_conn_t *conn, uint32_t sn, size_t length)
{
    ++conn->counters.tx_eager_rdma;
    conn->counters.tx_eager_rdma_bytes += length;
    ri_sizes_note(conn->worker->sizes, RI_SIZES_OF(tx_eager_rdma), length);
    ri_trace(&conn->worker->trace, RI_TRACE_SEND_CHANNEL, sn, length);
}

int ri_channel_send_put(ri_conn_t *conn, const void *data, size_t length, uint64_t tag)
{
    ri_channel_record_t *record = channel_next(conn, length, RI_WIRE_EAGER,
                                               conn->tx_sn + 1, 0, tag);

    if (ri_unlikely(record == NULL)) {
        return 0;
    }
    ri_copy(record->payload, data, length);
    ++conn->tx_sn;
    conn->tx_tag = tag;
    ri_rtr_table_log(conn, tag, 0);
    conn->counters.tx_bytes += length;
    ri_trace(&conn->worker->trace, RI_TRACE_SEND, tag, length);
    channel_sent(conn, conn->tx_sn, length);
    channel_write(conn->channel, record);
    return 1;
}

int ri_channel_send(ri_send_req_t *req)
{
    ri_conn_t *conn             = req->conn;
    ri_channel_record_t *record = channel_next(conn, req->data.length, req->wire_type,
                                               req->sn, req->id, req->tag);

    if (ri_unlikely(record == NULL)) {
        return 0;
    }
    ri_dt_pack(&req->data, record->payload);
    conn->tx_tag = req->tag;
    channel_sent(conn, req->sn, req->data.length);
    channel_write(conn->channel, record);
    return 1;
}

int ri_channel_send_payload(ri_send_req_t *req, uint32_t id, const void *payload,
                            size_t length)
{
    ri_conn_t *conn             = req->conn;
    ri_channel_record_t *record = channel_next(conn, length, req->wire_type, req->sn, id,
                                               req->tag);

    if (record == NULL) {
        return 0;
    }
    memcpy(record->payload, payload, length);
    conn->tx_tag = req->tag;
    ++conn->counters.tx_channel;
    ri_trace(&conn->worker->trace, RI_TRACE_SEND_CHANNEL, req->sn, length);
    channel_write(conn->channel, record);
    return 1;
}

int ri_channel_send_control(ri_conn_t *conn, const void *message, size_t length)
{
    ri_channel_record_t *record;
    ri_wire_base_t base;

    memcpy(&base, message, sizeof(base));
    if ((conn->channel == NULL) || !ri_wire_type_may_go(base.type, RI_WIRE_BY_CHANNEL)) {
        return 0;
    }
    record = channel_next(conn, length - sizeof(base), base.type, base.value,
                          ri_wire_get_id(&base), 0);
    if (record == NULL) {
        return 0;
    }
    memcpy(record->payload, (const uint8_t *)message + sizeof(base),
           length - sizeof(base));
    ++conn->counters.tx_channel;
    channel_write(conn->channel, record);
    return 1;
}

static int channel_conn_is_needed(const ri_conn_t *conn, ri_conn_need_t need)
{
    return (need == RI_CONN_NEED_PEER) && ri_channel_send_is_busy(conn);
}

const ri_module_t ri_module_channel_send = {.name           = "channel_send",
                                            .conn_is_needed = channel_conn_is_needed};
