/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First what becomes of a message: matched, kept, or a mistake of its sender. Then its turn: in
 * order, early, stalled. Messages of the worker to itself come last; they have no stream.
 */
#include "deliver.h"
#include "../core/recv_req.h"
#include "../../ucs/log.h"
#include "promises.h"

#include <string.h>

void ri_deliver_malformed(ri_worker_t *worker, const char *where, unsigned type,
                          size_t length)
{
    char text[RI_WIRE_TYPE_TEXT_MAX];

    ri_trace(&worker->trace, RI_TRACE_DROPPED, type, length);
    if (worker->counters.rx_malformed++ == 0) {
        ri_warn("dropped a malformed message %s (type %s, %zu bytes); further ones are "
                "only counted (rx_malformed)",
                where, ri_wire_type_text(type, text), length);
    }
}

void ri_deliver_malformed_of(ri_stream_t *stream, const char *where, unsigned type,
                             size_t length)
{
    ++stream->counters.stream_malformed;
    ri_deliver_malformed(stream->worker, where, type, length);
}

void ri_deliver_breaking(ri_stream_t *stream, const char *what, unsigned type,
                         size_t length)
{
    ri_trace(&stream->worker->trace, RI_TRACE_DROPPED, type, length);
    ++stream->counters.stream_malformed;
    ++stream->worker->counters.rx_malformed;
    ri_stream_break(stream, what);
}

void ri_deliver_matched(ri_recv_req_t *recv, uint64_t tag, const void *data,
                        size_t length)
{
    ri_arrival_t arrival = {
            .kind = RI_MSG_COPY, .tag = tag, .length = length, .data = data};
    ucs_status_t status = ri_recv_start(recv, NULL, &arrival);

    if (ri_likely(status != UCS_INPROGRESS)) {
        ri_req_complete_recv(recv, status);
    }
}

/* The memory of an arriving message that is to be kept, with its data if that is to be
 * copied. */
static ri_msg_t *deliver_msg(ri_worker_t *worker, ri_stream_t *stream,
                             ri_arrival_t *arrival, const ri_msg_ops_t *ops)
{
    size_t size   = (arrival->kind == RI_MSG_COPY) ? arrival->length :
                    (ops->size != NULL)            ? ops->size(arrival) :
                                                     0;
    ri_msg_t *msg = arrival->msg;

    if (msg != NULL) {
        arrival->msg = NULL; /* taken over */
        return msg;
    }
    msg = ri_msg_alloc(worker, size);
    if (msg == NULL) {
        ri_error("out of memory for a message of %zu bytes", arrival->length);
        return NULL;
    }
    if (size > 0) {
        memcpy(msg->data, arrival->data, size);
    }
    if (ops->is_held) {
        ri_msg_hold(worker, stream, arrival->length);
    }
    return msg;
}

/* Keep an arriving message. @return NULL if there is no memory. */
static ri_msg_t *deliver_keep(ri_worker_t *worker, ri_stream_t *stream,
                              ri_arrival_t *arrival)
{
    const ri_msg_ops_t *ops = ri_msg_ops[arrival->kind];
    ri_msg_t *msg           = deliver_msg(worker, stream, arrival, ops);

    if (msg == NULL) {
        return NULL;
    }

    msg->tag       = arrival->tag;
    msg->length    = arrival->length;
    msg->stream    = stream;
    msg->sn        = arrival->sn;
    msg->req_id    = arrival->req_id;
    msg->kind      = arrival->kind;
    msg->wire_type = arrival->wire_type;
    msg->desc      = arrival->desc; /* or the send of a self-send */
    msg->payload   = ops->has_desc ? arrival->data : msg->data;
    if (ri_unlikely(ops->keep != NULL)) {
        ops->keep(msg, arrival);
    }
    return msg;
}

/* Whether stock's descriptor, or a self-send, was kept with the message. */
static ucs_status_t deliver_kept_status(const ri_arrival_t *arrival)
{
    const ri_msg_ops_t *ops = ri_msg_ops[arrival->kind];

    return (ops->has_desc || (ops->keep != NULL)) ? UCS_INPROGRESS : UCS_OK;
}

/* Find and take out the receive of a message that has its turn. */
static inline ri_recv_req_t *deliver_match(ri_worker_t *worker, const ri_stream_t *stream,
                                           uint64_t tag)
{
    return ri_likely(worker->rtr.num == 0) ? ri_match_find_posted(&worker->match, tag) :
                                             ri_promises.match(worker, stream, tag);
}

/* Whether it has to be found out first what receive a message takes. */
static inline int deliver_has_to_wait(ri_worker_t *worker, const ri_stream_t *stream,
                                      uint64_t tag)
{
    return ri_unlikely(worker->rtr.num_entries > 0) &&
           ri_promises.ask_senders(worker, stream, tag);
}

ri_recv_req_t *ri_deliver_match_eager(ri_stream_t *stream, uint32_t sn, uint64_t tag,
                                      size_t length)
{
    ri_recv_req_t *recv  = deliver_has_to_wait(stream->worker, stream, tag) ?
                                   NULL : /* the message is kept when all of it is there */
                                  deliver_match(stream->worker, stream, tag);
    ri_arrival_t arrival = {.sn        = sn,
                            .wire_type = RI_WIRE_EAGER,
                            .kind      = RI_MSG_COPY,
                            .tag       = tag,
                            .length    = length};
    ucs_status_t status;

    if ((recv != NULL) && ri_unlikely(recv->rtr.state != RI_RTR_NONE) &&
        ri_promises.meet(recv, stream, &arrival, &status)) {
        recv->info.sender_tag = tag;
        recv->info.length     = length;
        ri_recv_complete(recv, status);
        return NULL;
    }
    return recv;
}

/* PLACED has no receive. */
static void deliver_misplaced(ri_stream_t *stream, size_t length)
{
    ri_deliver_breaking(stream, "data for a receive that it did not find", RI_WIRE_PLACED,
                        length);
}

/* Keep a message whose turn it is for a receive that is yet to come. @return NULL if there is no
 * memory. */
static ri_msg_t *deliver_queue(ri_worker_t *worker, ri_stream_t *stream,
                               ri_arrival_t *arrival)
{
    ri_msg_t *msg;

    ri_trace(&worker->trace, RI_TRACE_UNEXPECTED, arrival->tag, arrival->length);
    msg = deliver_keep(worker, stream, arrival);
    if (msg == NULL) {
        return NULL;
    }
    if (stream != NULL) {
        ++stream->num_msgs;
        ++stream->counters.rx_unexpected;
    }
    ri_match_add_unexpected(&worker->match, msg);
    return msg;
}

ucs_status_t ri_deliver_in_order(ri_worker_t *worker, ri_stream_t *stream,
                                 ri_arrival_t *arrival)
{
    ri_recv_req_t *recv;
    ucs_status_t status;
    ri_msg_t *msg;

    ++worker->rings.clock;
    recv = deliver_match(worker, stream, arrival->tag);
    if (ri_likely(recv != NULL)) {
        ri_trace(&worker->trace, RI_TRACE_MATCHED, arrival->tag, arrival->length);
        if (stream != NULL) {
            ++stream->counters.rx_posted;
        }
        ri_recv_start_ack(stream, arrival->kind, arrival->req_id);
        status = ri_recv_start(recv, stream, arrival);
        if (status != UCS_INPROGRESS) {
            ri_req_complete_recv(recv, status);
        }
        /* Left alone inside stock's callback, a descriptor is released by stock. */
        return ((arrival->kind == RI_MSG_AM_RNDV) && (arrival->desc == NULL)) ?
                       UCS_INPROGRESS :
                       UCS_OK;
    }

    if (ri_unlikely(ri_msg_ops[arrival->kind]->is_placed)) {
        deliver_misplaced(stream, arrival->length);
        return UCS_OK;
    }
    msg = deliver_queue(worker, stream, arrival);
    if (msg == NULL) {
        if (stream == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
        ri_stream_break(stream, "lack of memory");
        return UCS_OK;
    }
    return deliver_kept_status(arrival);
}

/* The tag of a message that is next in order; it becomes "the one before". */
static inline uint64_t deliver_tag(ri_stream_t *stream, uint8_t wire_type, uint64_t tag)
{
    if (wire_type != RI_WIRE_EAGER_SAME) {
        stream->last_tag = tag;
    }
    return stream->last_tag;
}

/* The tag of a message that will be next in order; nothing is noted yet. */
static inline uint64_t deliver_peek_tag(const ri_stream_t *stream, uint8_t wire_type,
                                        uint64_t tag)
{
    return (wire_type == RI_WIRE_EAGER_SAME) ? stream->last_tag : tag;
}

/* Match the early messages whose turn has come. */
static void deliver_early(ri_stream_t *stream)
{
    ri_worker_t *worker = stream->worker;
    ri_recv_req_t *recv;
    ucs_status_t status;
    ri_msg_t *msg;

    while (!ucs_list_is_empty(&stream->early)) {
        msg = ucs_list_head(&stream->early, ri_msg_t, list);
        if (msg->sn != stream->next_sn) {
            return;
        }

        if (deliver_has_to_wait(worker, stream,
                                deliver_peek_tag(stream, msg->wire_type, msg->tag))) {
            ri_stream_stall(stream);
            return;
        }

        ucs_list_del(&msg->list);
        --stream->num_early;
        ++stream->next_sn;
        ++worker->rings.clock;
        ++stream->num_msgs;
        msg->tag = deliver_tag(stream, msg->wire_type, msg->tag);
        recv     = deliver_match(worker, stream, msg->tag);
        if ((recv == NULL) && ri_msg_ops[msg->kind]->is_placed) {
            --stream->num_msgs;
            deliver_misplaced(stream, msg->length);
            ri_msg_free(worker, msg);
            return;
        }
        if (recv == NULL) {
            ++stream->counters.rx_unexpected;
            ri_match_add_unexpected(&worker->match, msg);
            continue;
        }

        ++stream->counters.rx_posted;
        status = ri_recv_start_msg(recv, msg);
        if (status != UCS_INPROGRESS) {
            ri_req_complete_recv(recv, status);
        }
    }
}

/* @return Whether no further message of a stream may wait for its turn. */
static int deliver_is_full(const ri_stream_t *stream)
{
    return stream->num_early >= ri_config.reorder_window;
}

/* Find the place of an early message among those that wait, from the back: nearly always it is
 * there. A USED with the same number makes way for a message that says more. @return What it is to
 * be inserted behind, or NULL: what is there says as much, or the message has come twice. */
static ucs_list_link_t *deliver_find_place(ri_stream_t *stream,
                                           const ri_arrival_t *arrival)
{
    ucs_list_link_t *at;

    for (at = stream->early.prev; at != &stream->early; at = at->prev) {
        ri_msg_t *msg    = ucs_container_of(at, ri_msg_t, list);
        int32_t distance = (int32_t)(arrival->sn - msg->sn);

        if (distance > 0) {
            break;
        }
        if (distance < 0) {
            continue;
        }
        if (arrival->kind == RI_MSG_USED) {
            return NULL;
        }
        if (msg->kind != RI_MSG_USED) {
            ri_deliver_malformed_of(stream, "that was there already", arrival->wire_type,
                                    arrival->length);
            return NULL;
        }
        at = at->prev;
        ucs_list_del(&msg->list);
        --stream->num_early;
        ri_msg_discard(stream->worker, msg);
        break;
    }
    return at;
}

/* A message that is not the next one, or whose turn has to wait (ri_promises_t.ask_senders). */
static ucs_status_t deliver_out_of_order(ri_stream_t *stream, ri_arrival_t *arrival)
{
    ri_worker_t *worker = stream->worker;
    int32_t ahead       = (int32_t)(arrival->sn - stream->next_sn);
    ucs_list_link_t *at;
    ri_msg_t *msg;

    if (ahead < 0) {
        ri_deliver_malformed_of(stream, "that was matched already", arrival->wire_type,
                                arrival->length);
        return UCS_OK;
    }

    if (deliver_is_full(stream) && stream->stalled) {
        ri_promises.decide(worker); /* another sender lets the messages wait */
    }
    at = deliver_find_place(stream, arrival);
    if (at == NULL) {
        return UCS_OK;
    }
    if (deliver_is_full(stream) && !stream->stalled) {
        ri_deliver_breaking(stream, "too many messages that overtook another one",
                            arrival->wire_type, arrival->length);
        return UCS_OK;
    }
    ri_trace(&worker->trace, RI_TRACE_EARLY, arrival->sn, stream->next_sn);
    msg = deliver_keep(worker, stream, arrival);
    if (msg == NULL) {
        ri_stream_break(stream, "lack of memory");
        return UCS_OK;
    }
    ucs_list_insert_after(at, &msg->list);
    ++stream->num_early;
    if (arrival->kind != RI_MSG_USED) {
        ri_deliver_count(stream, arrival->wire_type, arrival->length);
        ++stream->counters.rx_reordered;
    }
    return deliver_kept_status(arrival);
}

ucs_status_t ri_deliver(ri_stream_t *stream, ri_arrival_t *arrival)
{
    ri_worker_t *worker = stream->worker;
    ucs_status_t status;
    void *outer;

    ri_trace(&worker->trace, RI_TRACE_ARRIVE, arrival->sn, arrival->tag);
    if (ri_unlikely(stream->broken)) {
        ++stream->counters.stream_malformed;
        ++worker->counters.rx_malformed;
        return UCS_OK;
    }

    if (ri_unlikely(arrival->sn != stream->next_sn)) {
        return deliver_out_of_order(stream, arrival);
    }
    if (deliver_has_to_wait(worker, stream,
                            deliver_peek_tag(stream, arrival->wire_type, arrival->tag))) {
        ri_stream_stall(stream);
        return deliver_out_of_order(stream, arrival);
    }

    if (ri_likely(arrival->kind != RI_MSG_USED)) {
        ri_deliver_count(stream, arrival->wire_type, arrival->length);
    }
    /* A callback of an early message that follows may receive this one, and stock does not
     * take a descriptor back that its own callback has not returned for: copy it. */
    if (ri_unlikely(!ucs_list_is_empty(&stream->early)) &&
        (arrival->kind == RI_MSG_AM_DATA)) {
        arrival->kind = RI_MSG_COPY;
    }
    ++stream->next_sn;
    arrival->tag = deliver_tag(stream, arrival->wire_type, arrival->tag);
    status       = ri_deliver_in_order(worker, stream, arrival);
    if (ri_unlikely(!ucs_list_is_empty(&stream->early))) {
        outer            = worker->arriving;
        worker->arriving = arrival->desc;
        deliver_early(stream);
        if ((arrival->desc != NULL) && (worker->arriving == NULL)) {
            status = UCS_OK; /* stock releases it */
        }
        worker->arriving = outer;
    }
    return status;
}

int ri_deliver_unexpected(ri_stream_t *stream, ri_arrival_t *arrival)
{
    ri_worker_t *worker = stream->worker;

    if (stream->broken || stream->stalled || (arrival->sn != stream->next_sn) ||
        !ucs_list_is_empty(&stream->early) ||
        (ri_match_peek_posted(&worker->match, arrival->tag, 0) != NULL)) {
        return 0;
    }
    ri_trace(&worker->trace, RI_TRACE_ARRIVE, arrival->sn, arrival->tag);
    if (deliver_queue(worker, stream, arrival) == NULL) {
        return 0;
    }
    ri_deliver_count(stream, arrival->wire_type, arrival->length);
    ++worker->rings.clock;
    ++stream->next_sn;
    stream->last_tag = arrival->tag;
    return 1;
}

void ri_deliver_resume(ri_stream_t *stream)
{
    deliver_early(stream);
}

ucs_status_t ri_deliver_self(ri_worker_t *worker, ri_arrival_t *arrival)
{
    ri_msg_t *msg;

    if (ri_likely(ucs_list_is_empty(&worker->rtr.stalled_self) &&
                  !deliver_has_to_wait(worker, NULL, arrival->tag))) {
        return ri_deliver_in_order(worker, NULL, arrival);
    }
    msg = deliver_keep(worker, NULL, arrival);
    if (msg == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    msg->queued = 0; /* it can be given up before it is among the unexpected */
    ucs_list_add_tail(&worker->rtr.stalled_self, &msg->list);
    return deliver_kept_status(arrival);
}

/* @return The next message to this worker itself that can have its turn, or NULL. */
static ri_msg_t *deliver_next_self(ri_worker_t *worker)
{
    ri_msg_t *msg;

    while (!ucs_list_is_empty(&worker->rtr.stalled_self)) {
        msg = ucs_list_head(&worker->rtr.stalled_self, ri_msg_t, list);
        if ((msg->kind == RI_MSG_SELF) && (msg->send == NULL)) { /* given up */
            ucs_list_del(&msg->list);
            ri_msg_discard(worker, msg);
            continue;
        }
        if (deliver_has_to_wait(worker, NULL, msg->tag)) {
            break;
        }
        ucs_list_del(&msg->list);
        return msg;
    }
    return NULL;
}

void ri_deliver_resume_self(ri_worker_t *worker)
{
    ri_recv_req_t *recv;
    ucs_status_t status;
    ri_msg_t *msg;

    while ((msg = deliver_next_self(worker)) != NULL) {
        recv = deliver_match(worker, NULL, msg->tag);
        if (recv == NULL) {
            ri_match_add_unexpected(&worker->match, msg);
            continue;
        }
        status = ri_recv_start_msg(recv, msg);
        if (status != UCS_INPROGRESS) {
            ri_req_complete_recv(recv, status);
        }
    }
}

void ri_deliver_drop_self(ri_worker_t *worker)
{
    ri_msg_t *msg;

    while (!ucs_list_is_empty(&worker->rtr.stalled_self)) {
        msg = ucs_list_extract_head(&worker->rtr.stalled_self, ri_msg_t, list);
        ri_msg_discard(worker, msg);
    }
}

void ri_deliver_plain(ri_stream_t *stream, uint8_t wire_type, uint32_t sn, uint64_t tag,
                      const void *data, size_t length)
{
    ri_arrival_t arrival = {.sn        = sn,
                            .wire_type = wire_type,
                            .kind      = RI_MSG_COPY,
                            .tag       = tag,
                            .length    = length,
                            .data      = data};

    ri_deliver(stream, &arrival);
}
