/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First part, further parts, completion; and the end with the stream or its ring.
 */
#include "assembly.h"
#include "../core/timeline_notes.h"
#include "../core/recv_req.h"
#include "../core/exchange.h"
#include "../core/row.h"
#include "../core/types/module.h"
#include "deliver.h"
#include "../../ucs/log.h"

/* Take the receive of a message whose turn has come. */
static ri_recv_req_t *assembly_match(ri_stream_t *stream, uint32_t sn, uint64_t tag,
                                     size_t length)
{
    ri_worker_t *worker = stream->worker;
    ri_recv_req_t *recv;

    if ((sn != stream->next_sn) || !ucs_list_is_empty(&stream->early)) {
        return NULL;
    }
    recv = ri_deliver_match_eager(stream, sn, tag, length);
    if (recv == NULL) {
        return NULL;
    }

    if (length > ri_config.eager_thresh) {
        ri_exchange_note(stream->peer);
        ri_row_note_receive(stream->peer);
        ri_promises.learn_waiting(recv, stream);
    }
    ri_trace(&worker->trace, RI_TRACE_MATCHED, tag, length);
    ri_timeline_recv(recv, stream, sn, length);
    stream->next_sn  = sn + 1;
    stream->last_tag = tag;
    stream->counters.rx_bytes += length;
    ++stream->counters.rx_posted;
    ++worker->rings.clock;
    return recv;
}

static void assembly_complete(ri_recv_req_t *recv, const ri_assembly_t *assembly,
                              ucs_status_t status)
{
    recv->info.sender_tag = assembly->tag;
    recv->info.length     = assembly->length;
    ri_recv_complete(recv, status);
}

void ri_assembly_start(ri_stream_t *stream, uint32_t sn, uint64_t tag, size_t length)
{
    ri_worker_t *worker     = stream->worker;
    ri_assembly_t *assembly = &stream->assembly;
    ri_recv_req_t *recv;

    ri_trace(&worker->trace, RI_TRACE_ARRIVING, sn, length);
    recv      = assembly_match(stream, sn, tag, length);
    *assembly = (ri_assembly_t){.length = length, .recv = recv, .tag = tag, .sn = sn};
    if ((recv != NULL) && (length <= recv->data.length) && worker->host_memory &&
        (ri_dt_is_contig(&recv->data) || ri_dt_is_spread(&recv->data))) {
        assembly->dest = ri_dt_is_contig(&recv->data) ? recv->data.buffer : NULL;
        return;
    }

    assembly->msg = ri_msg_alloc(worker, length);
    if (assembly->msg == NULL) {
        ri_error("out of memory for a message of %zu bytes", length);
        ri_assembly_abort(stream, UCS_ERR_NO_MEMORY);
        return;
    }
    assembly->msg->kind   = RI_MSG_COPY;
    assembly->msg->stream = stream;
    assembly->msg->length = length;
    assembly->dest        = assembly->msg->data;
    ri_msg_hold(worker, stream, length);
}

/* All parts are there. */
static void assembly_deliver(ri_stream_t *stream)
{
    ri_assembly_t assembly = stream->assembly;
    ri_arrival_t arrival   = {.sn        = assembly.sn,
                              .wire_type = RI_WIRE_EAGER,
                              .kind      = RI_MSG_COPY,
                              .tag       = assembly.tag,
                              .length    = assembly.length,
                              .data      = assembly.dest,
                              .msg       = assembly.msg};

    stream->assembly = (ri_assembly_t){0};
    if (assembly.msg == NULL) {
        assembly_complete(assembly.recv, &assembly, UCS_OK);
        return;
    }
    if (assembly.recv == NULL) {
        ri_deliver(stream, &arrival);
    } else {
        ri_deliver_matched(assembly.recv, assembly.tag, assembly.dest, assembly.length);
    }
    if (arrival.msg != NULL) {
        ri_msg_discard(stream->worker, arrival.msg);
    }
}

void ri_assembly_add(ri_stream_t *stream, const void *data, size_t length)
{
    ri_assembly_t *assembly = &stream->assembly;

    if (assembly->dest != NULL) {
        ri_copy_lines(assembly->dest + assembly->received, data, length);
    } else { /* the receive is in runs, of which the layout is known */
        ri_dt_unpack_part(&assembly->recv->data, assembly->received, data, length);
    }
    assembly->received += length;
    if (assembly->received == assembly->length) {
        assembly_deliver(stream);
    }
}

void ri_assembly_abort(ri_stream_t *stream, ucs_status_t status)
{
    ri_assembly_t assembly = stream->assembly;

    if (assembly.length == 0) {
        return;
    }

    stream->assembly = (ri_assembly_t){0};
    ri_stream_break(stream, (status == UCS_ERR_NO_MEMORY) ? "lack of memory" :
                                                            "a message without its end");
    if (assembly.msg != NULL) {
        ri_msg_discard(stream->worker, assembly.msg);
    }
    if (assembly.recv != NULL) {
        assembly_complete(assembly.recv, &assembly, status);
    }
}

static void assembly_ring_closed(ri_stream_t *stream)
{
    ri_assembly_abort(stream, UCS_ERR_CONNECTION_RESET);
}

/* As long as there is a ring, that keeps the stream. */
static int assembly_stream_is_needed(const ri_stream_t *stream, ri_stream_need_t need)
{
    return (need == RI_STREAM_NEED_PEER) && (stream->assembly.length != 0);
}

const ri_module_t ri_module_assembly = {.name             = "assembly",
                                        .stream_is_needed = assembly_stream_is_needed,
                                        .ring_rx_closed   = assembly_ring_closed};
