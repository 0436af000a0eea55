/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is sent by channels, and sent again when their way has failed.
 */
#include "rdma_channel.h"
#include "am.h"
#include "planes.h"
#include "rdma.h"
#include "../../ucs/settings.h"
#include "../core/send_req.h"

#include <string.h>

/* Whether a record of any kind could be written now, and would not come sooner as an active message:
 * a queue pair sends in order. */
static inline int channel_can(const ri_conn_t *conn, size_t length)
{
    ri_channel_out_t *out = conn->channel;

    return (out != NULL) && (out->state == RI_CHANNEL_OPEN) && !out->failed &&
           (length <= out->tx.max_payload) && !(conn->flags & RI_CONN_NO_RING) &&
           !conn->peer->rdma_leaving && (conn->peer->rdma_ep->long_writes == 0) &&
           ri_channel_tx_has_room(&out->tx, length);
}

int ri_rdma_channel_can(const ri_conn_t *conn, size_t length)
{
    return channel_can(conn, length) && (length < conn->channel->end);
}

/* Give the next record to the device. If that fails some of it may have been written: it counts
 * as sent, and is sent again as all others that are under way. */
static void channel_write(ri_channel_out_t *out, ri_channel_record_t *record)
{
    ri_peer_t *peer     = out->conn->peer;
    ri_plane_ep_t *ep   = peer->rdma_ep;
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
    ++peer->num_rdma;
    ++out->conn->worker->num_reads;
    peer->rdma_used = 1;
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
    ri_rdma_use(out->conn->worker, out->conn->peer); /* once a lap is often enough */
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
    ri_trace(&conn->worker->trace, RI_TRACE_SEND_CHANNEL, sn, length);
}

int ri_rdma_channel_put(ri_conn_t *conn, const void *data, size_t length, uint64_t tag)
{
    ri_channel_record_t *record = channel_next(conn, length, RI_WIRE_EAGER,
                                               conn->tx_sn + 1, 0, tag);

    if (ri_unlikely(record == NULL)) {
        return 0;
    }
    ri_copy(record->payload, data, length);
    ++conn->tx_sn;
    conn->tx_tag = tag;
    ri_send_log(conn, tag, 0);
    conn->counters.tx_bytes += length;
    ri_trace(&conn->worker->trace, RI_TRACE_SEND, tag, length);
    channel_sent(conn, conn->tx_sn, length);
    channel_write(conn->channel, record);
    return 1;
}

int ri_rdma_channel_send(ri_send_req_t *req)
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

int ri_rdma_channel_send_payload(ri_send_req_t *req, uint32_t id, const void *payload,
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

int ri_rdma_channel_send_control(ri_conn_t *conn, const void *message, size_t length)
{
    ri_channel_record_t *record;
    ri_wire_base_t base;

    memcpy(&base, message, sizeof(base));
    if ((conn->channel == NULL) || !ri_rdma_channel_carries(base.type)) {
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

/* Send a record by active message; one of type ALL tells how many there were. @return 0: UCX has
 * no memory now. */
static int channel_send_again(ri_channel_out_t *out, const ri_channel_record_t *record)
{
    ri_conn_t *conn                = out->conn;
    ri_am_buffer_t *buffer         = ri_am_buffer_get(conn->worker, record->length);
    ri_wire_channel_again_t header = {.base.type  = RI_WIRE_CHANNEL_AGAIN,
                                      .base.value = out->tx.acked,
                                      .serial     = out->serial,
                                      .way        = out->way,
                                      .tag        = record->tag,
                                      .value      = record->value,
                                      .extra      = record->extra,
                                      .type       = record->type};
    ucs_status_t status;

    if (buffer == NULL) {
        return 0;
    }
    ri_wire_set_id(&header.base, conn->remote_id);
    memcpy(buffer->data, &header, sizeof(header));
    memcpy(buffer->data + sizeof(header), record->payload, record->length);
    ri_trace(&conn->worker->trace, RI_TRACE_SEND_AM, record->value, record->length);
    status = ri_am_send_buffer(conn, buffer, sizeof(header), record->length, 0);
    return (status != UCS_ERR_NO_RESOURCE) && (status != UCS_ERR_NO_MEMORY);
}

/* Whether a record is of any use without its way. */
static int channel_outlives_way(const ri_channel_record_t *record)
{
    return (record->type != RI_CHANNEL_PAD) && (record->type != RI_WIRE_RTR);
}

/* Send again what is not known to have come. */
static void channel_again(ri_channel_out_t *out)
{
    ri_channel_record_t all = {.type = RI_WIRE_CHANNEL_ALL};
    ri_conn_t *conn         = out->conn;
    ri_worker_t *worker     = conn->worker;
    uint32_t id             = conn->id;
    const ri_channel_record_t *record;

    while ((record = ri_channel_tx_oldest(&out->tx)) != NULL) {
        if (channel_outlives_way(record)) {
            if (!channel_send_again(out, record)) {
                return; /* in progress */
            }
            /* If the endpoint has failed its handler may have closed it. */
            if ((ri_id_get(&worker->conn_ids, id) != conn) || (conn->channel != out)) {
                return;
            }
            ++out->again;
            ++conn->counters.tx_again;
        }
        ri_channel_tx_pop(&out->tx);
    }
    all.value = out->again;
    if (channel_send_again(out, &all) && (ri_id_get(&worker->conn_ids, id) == conn) &&
        (conn->channel == out)) {
        ri_rdma_channel_free_out(out);
    }
}

/* Go on with a channel that is not open. It may be gone then, and others, too. */
static void channel_progress_one(ri_channel_out_t *out)
{
    if (out->state == RI_CHANNEL_AGAIN) {
        channel_again(out);
    } else if (out->failed) {
        ri_planes_rdma_failed(out->conn->worker, out->conn->peer);
    } else if (out->state == RI_CHANNEL_STOPPING) {
        ri_rdma_channel_go_on(out);
    }
}

void ri_rdma_channel_progress_out(ri_worker_t *worker)
{
    size_t count = ucs_list_length(&worker->channels_out);
    ri_channel_out_t *out;

    /* One round, from the head: any may go meanwhile. */
    for (; (count > 0) && !ucs_list_is_empty(&worker->channels_out); --count) {
        out = ucs_list_extract_head(&worker->channels_out, ri_channel_out_t, list);
        ucs_list_add_tail(&worker->channels_out, &out->list);
        channel_progress_one(out);
    }
}
