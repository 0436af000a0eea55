/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What was written into a channel whose way has failed may have come or not. The sender has a copy
 * of what the receiver has not acknowledged, and sends that again by active messages. The receiver
 * takes what it does not have. A last message tells how many there were; then the channel ends.
 */
#include "channel_recover.h"
#include "am.h"
#include "channel_out.h"
#include "way.h"

#include <string.h>

/* Send a record by active message; one of type ALL tells how many there were. @return 0: UCX has
 * no memory now. */
static int recover_send_record(ri_channel_out_t *out, const ri_channel_record_t *record)
{
    ri_conn_t *conn        = out->conn;
    ri_am_buffer_t *buffer = ri_am_buffer_get(conn->worker, record->length);
    ri_wire_msg_t msg      = {.type         = RI_WIRE_CHANNEL_AGAIN,
                              .id           = conn->remote_id,
                              .value        = out->tx.acked,
                              .serial       = out->serial,
                              .way          = out->way,
                              .tag          = record->tag,
                              .record_value = record->value,
                              .record_extra = record->extra,
                              .record_type  = record->type};
    ucs_status_t status;
    size_t header_length;

    if (buffer == NULL) {
        return 0;
    }
    header_length = ri_wire_pack(&msg, buffer->data);
    memcpy(buffer->data + header_length, record->payload, record->length);
    ri_trace(&conn->worker->trace, RI_TRACE_SEND_AM, record->value, record->length);
    status = ri_am_send_buffer(conn, buffer, header_length, record->length, 0);
    return (status != UCS_ERR_NO_RESOURCE) && (status != UCS_ERR_NO_MEMORY);
}

/* Whether a record is of any use without its way. */
static int recover_outlives_way(const ri_channel_record_t *record)
{
    return (record->type != RI_CHANNEL_PAD) && !ri_wire_is_rtr(record->type);
}

/* Send again what is not known to have come. */
static void recover_send(ri_channel_out_t *out)
{
    ri_channel_record_t all = {.type = RI_WIRE_CHANNEL_ALL};
    ri_conn_t *conn         = out->conn;
    ri_worker_t *worker     = conn->worker;
    uint32_t id             = conn->id;
    const ri_channel_record_t *record;

    while ((record = ri_channel_tx_oldest(&out->tx)) != NULL) {
        if (recover_outlives_way(record)) {
            if (!recover_send_record(out, record)) {
                return; /* in progress */
            }
            /* If the endpoint has failed its handler may have closed it. */
            if ((ri_id_get(&worker->ids.conns, id) != conn) || (conn->channel != out)) {
                return;
            }
            ++out->again;
            ++conn->counters.tx_again;
        }
        ri_channel_tx_pop(&out->tx);
    }
    all.value = out->again;
    if (recover_send_record(out, &all) && (ri_id_get(&worker->ids.conns, id) == conn) &&
        (conn->channel == out)) {
        ri_channel_out_end(out);
    }
}

/* Go on with a channel that is not open. It may be gone then, and others, too. */
static void recover_progress_one(ri_channel_out_t *out)
{
    if (out->state == RI_CHANNEL_AGAIN) {
        recover_send(out);
    } else if (out->failed) {
        ri_way_fail_and_tell(out->conn->worker, out->conn->peer);
    } else if (out->state == RI_CHANNEL_STOPPING) {
        ri_channel_out_go_on(out);
    }
}

void ri_channel_recover_progress(ri_worker_t *worker)
{
    size_t count = ucs_list_length(&worker->channels.out);
    ri_channel_out_t *out;

    /* One round, from the head: any may go meanwhile. */
    for (; (count > 0) && !ucs_list_is_empty(&worker->channels.out); --count) {
        out = ucs_list_extract_head(&worker->channels.out, ri_channel_out_t, list);
        ucs_list_add_tail(&worker->channels.out, &out->list);
        recover_progress_one(out);
    }
}
