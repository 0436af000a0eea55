/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The number of a message that was written may come before its notification (USED), with it, or by
 * an RTS after its way has failed. Each receive is completed once.
 */
#include "rtr_used.h"
#include "../../core/recv_req.h"
#include "rtr_entries.h"
#include "rtr_done.h"
#include "../../order/deliver.h"

/* @return The receive whose RTR USED names, if the data is not known to be there. */
static ri_recv_req_t *used_find(const ri_stream_t *stream, uint32_t rtr)
{
    const ri_rtr_entries_t *entries = stream->peer->rtr.entries;
    const ri_rtr_entry_t *entry;

    if (entries == NULL) {
        return NULL;
    }
    entry = &entries->entry[rtr % RI_WIRE_RTR_ENTRIES];
    if ((entry->recv == NULL) || (entry->recv->rtr.stream != stream) || entry->notified ||
        (ri_wire_used_rtr(rtr % RI_WIRE_RTR_ENTRIES, entry->generation) != rtr)) {
        return NULL;
    }
    return entry->recv;
}

void ri_rtr_used_handle(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_arrival_t arrival = {.wire_type = RI_WIRE_USED, .kind = RI_MSG_USED};
    const ri_recv_req_t *recv;
    uint32_t i;

    ++stream->busy;
    for (i = 0; (i < msg->used_count) && !stream->broken; ++i) {
        arrival.sn = msg->value + i;
        recv       = used_find(stream, msg->used[i]);
        if ((recv == NULL) || ((int32_t)(arrival.sn - stream->next_sn) < 0)) {
            ++stream->worker->counters.rx_stale;
            continue;
        }
        arrival.req_id = recv->id;
        arrival.tag    = recv->tag;
        arrival.length = recv->data.length;
        ri_deliver(stream, &arrival);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
}

/* A NAMED receive is complete. */
static void used_complete(ri_recv_req_t *recv, size_t length)
{
    ri_deliver_count(recv->rtr.stream, RI_WIRE_WRITTEN, length);
    recv->info.length = length;
    ri_rtr_done_used(recv);
    ri_recv_complete(recv, UCS_OK);
}

static int used_makes_sense(const ri_recv_req_t *recv, uint32_t sn, size_t length)
{
    return (sn == ri_recv_sn(recv)) && (length != 0) && (length <= recv->data.length);
}

void ri_rtr_used_notified(ri_recv_req_t *recv, uint32_t sn, size_t length)
{
    if (used_makes_sense(recv, sn, length)) {
        used_complete(recv, length);
    } else {
        ri_deliver_breaking(recv->rtr.stream, "a notification that makes no sense",
                            RI_WIRE_USED, length);
    }
}

int ri_rtr_used_again(ri_stream_t *stream, ri_arrival_t *arrival)
{
    ri_recv_req_t *recv;
    ucs_status_t status;

    ucs_list_for_each(recv, &stream->rtr.recvs, list) {
        if ((recv->rtr.state == RI_RTR_NAMED) && (ri_recv_sn(recv) == arrival->sn)) {
            break;
        }
    }
    if (&recv->list == &stream->rtr.recvs) {
        return 0;
    }
    if (ri_rtr_entries_of(recv) != NULL) { /* the way is there, and may be written by */
        ri_deliver_breaking(stream,
                            "a message that comes again by a way that has not failed",
                            arrival->wire_type, arrival->length);
        return 1;
    }
    ri_deliver_count(stream, arrival->wire_type, arrival->length);
    ri_rtr_done_unused(recv);
    status = ri_recv_start(recv, stream, arrival);
    if (status != UCS_INPROGRESS) {
        ri_req_complete_recv(recv, status);
    }
    return 1;
}

void ri_rtr_used_drop(ri_peer_t *peer)
{
    ri_stream_t *stream;
    ri_msg_t *msg, *next;

    ucs_list_for_each(stream, &peer->streams, peer_list) {
        ucs_list_for_each_safe(msg, next, &stream->early, list) {
            if (msg->kind == RI_MSG_USED) {
                ucs_list_del(&msg->list);
                --stream->num_early;
                ri_msg_discard(stream->worker, msg);
            }
        }
    }
}

void ri_rtr_used_end(ri_recv_req_t *recv, ucs_status_t status)
{
    const ri_rtr_entry_t *entry = ri_rtr_entries_of(recv);

    if ((entry != NULL) && entry->notified &&
        used_makes_sense(recv, ri_rtr_entries_number(entry),
                         ri_rtr_entries_length(entry))) {
        used_complete(recv, ri_rtr_entries_length(entry));
        return;
    }
    ri_rtr_done_unused(recv);
    ri_recv_complete(recv, status);
}
