/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rtr.h"
#include "planes.h"
#include "ring_channel.h"
#include "am_rndv.h"
#include "../core/config.h"
#include "../core/log.h"
#include "../core/memory.h"

#include <sched.h>
#include <stdlib.h>

/* Receives of one tag and mask that may have RTRs: the oldest so many. Bounds the search for
 * those that count a receive. */
#define RTR_DEPTH 64

/* Queued receives that one progress call looks at. */
#define RTR_BATCH 8

/* An application whose progress calls are further apart is busy with something else: what
 * the sender does for it meanwhile is won. One that waits in the library reads as well as the
 * sender writes, and has the data in its own cache then. Microseconds. (For planes whose transfers
 * take a processor's time.) */
#define RTR_BUSY 5

/* So many messages in a row that were not waited for tell that the next one will not be. */
#define RTR_WAITED 3

/* What takes about as long to copy as RTR_BUSY, or less. */
#define RTR_POLL_BYTES 16384

/* The grants of a conn's ring. */
struct ri_rtr_grants {
    uint32_t free;       /* one bit for each */
    uint32_t generation; /* of the latest */
    ri_recv_req_t *recv[RI_RING_GRANTS];
};

/* Polls of a write that does not end, until its sender is looked after. */
#define RTR_CHECK 1024

/* What ends cannot wait for ever for a peer that was stopped; seconds. */
#define RTR_SETTLE_TIMEOUT 10

/* A message that is found by the first poll behind its receive was there before it. */
#define RTR_POLLS 2

typedef enum rtr_meanwhile {
    RTR_WAS_LATE,    /* the message was first, or nearly so */
    RTR_WAS_BUSY,    /* with something else */
    RTR_WAS_WAITING, /* for messages, in the library */
} rtr_meanwhile_t;

typedef enum rtr_answer {
    RTR_SENT,
    RTR_LATER, /* something is in the way that passes */
    RTR_NEVER
} rtr_answer_t;

/* Microseconds, modulo 2^32. */
static uint32_t rtr_clock(void)
{
    return (uint32_t)(uint64_t)(ri_time() * 1e6);
}

static ri_ring_grant_t *rtr_grant(const ri_recv_req_t *recv)
{
    return &recv->rtr_conn->ring->control->grants[recv->rtr_index];
}

/* What the sender did with an RTR. */
static uint32_t rtr_state(const ri_recv_req_t *recv)
{
    return (recv->rtr == RI_RTR_KEPT) ?
                   recv->rtr_kept :
                   ri_ring_grant_state(rtr_grant(recv), recv->rtr_generation);
}

/* The grant is not needed any more. */
static void rtr_give_grant_back(ri_recv_req_t *recv)
{
    ri_rtr_grants_t *grants = recv->rtr_conn->grants;

    grants->recv[recv->rtr_index] = NULL;
    grants->free |= 1u << recv->rtr_index;
    recv->rtr_conn = NULL;
}

/* Something has changed for receives that are to send an RTR. */
static void rtr_wake_queue(ri_worker_t *worker)
{
    if (!ucs_list_is_empty(&worker->rtr_queue)) {
        worker->rtr_retry = 1;
        worker->attention = 1;
    }
}

/* The receive has no RTR any more. */
static void rtr_end(ri_recv_req_t *recv)
{
    ri_worker_t *worker = recv->super.worker;

    switch (recv->rtr) {
    case RI_RTR_QUEUED:
        ucs_list_del(&recv->list);
        break;
    case RI_RTR_OUT:
        rtr_give_grant_back(recv);
        /* fall through */
    case RI_RTR_KEPT:
        ri_id_free(&worker->recv_ids, recv->id);
        recv->id = 0;
        ucs_list_del(&recv->list);
        --recv->rtr_stream->num_rtrs;
        break;
    default:
        return;
    }
    recv->rtr = RI_RTR_NONE;
    --worker->num_rtrs;
    rtr_wake_queue(worker);
}

/* Whether the sender is doing, within a call, what it has taken the RTR for. */
static int rtr_is_unsettled(const ri_recv_req_t *recv)
{
    uint32_t state = rtr_state(recv);

    return (state == RI_RING_GRANT_USED) || (state == RI_RING_GRANT_SHARING);
}

/* Wait until the sender has ended a write, or made a slot ready, or is gone. */
static void rtr_settle(const ri_recv_req_t *recv)
{
    double start = ri_time();
    unsigned i;

    if (recv->rtr != RI_RTR_OUT) {
        return;
    }
    for (i = 1; rtr_is_unsettled(recv); ++i) {
        sched_yield();
        if (i % RTR_CHECK != 0) {
            continue;
        }
        if (ri_planes_is_gone(recv->rtr_stream->peer)) {
            return;
        }
        if (ri_time() - start > RTR_SETTLE_TIMEOUT) {
            ri_error("a peer that was writing a message does not go on; the memory of "
                     "its receive is given up");
            return;
        }
    }
}

/* The receive has no RTR any more; if one had been sent it was for nothing. */
static void rtr_forget(ri_recv_req_t *recv)
{
    if ((recv->rtr == RI_RTR_OUT) || (recv->rtr == RI_RTR_KEPT)) {
        ++recv->super.worker->counters.rtr_dropped;
    }
    rtr_end(recv);
}

/* Put a receive without an RTR in the queue for one. */
static void rtr_enqueue(ri_recv_req_t *recv)
{
    ri_worker_t *worker = recv->super.worker;

    recv->rtr = RI_RTR_QUEUED;
    ++worker->num_rtrs;
    ucs_list_add_tail(&worker->rtr_queue, &recv->list);
}

/* @return Whether the receive has no RTR that the sender may use or has used, any more. After
 * a write that failed the message still is this receive's. */
static int rtr_take_back(ri_recv_req_t *recv)
{
    if ((recv->rtr == RI_RTR_NONE) || (recv->rtr == RI_RTR_QUEUED)) {
        return 1;
    }
    if ((recv->rtr == RI_RTR_KEPT) ||
        (!ri_ring_grant_change(rtr_grant(recv), recv->rtr_generation,
                               RI_RING_GRANT_FREE) &&
         (rtr_state(recv) != RI_RING_GRANT_FREE))) {
        return 0;
    }
    ri_trace(&recv->super.worker->trace, RI_TRACE_RTR_BACK, recv->tag, recv->id);
    rtr_forget(recv);
    return 1;
}

static int rtr_may_use(const ri_conn_t *conn)
{
    return (conn->status == UCS_OK) &&
           !(conn->flags & (RI_CONN_NO_RING | RI_CONN_CLOSING));
}

/* Where messages go one way only nothing else makes a ring the other way. */
static void rtr_ask_for_ring(const ri_peer_t *peer)
{
    ri_conn_t *conn;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if (rtr_may_use(conn) && (conn->flags & RI_CONN_USER)) {
            ri_ring_channel_ask(conn);
            return;
        }
    }
}

/* A ring to the peer in which an RTR can go, with a free grant. Without one, *answer says
 * whether there may be one later. */
static ri_conn_t *rtr_find_conn(ri_peer_t *peer, rtr_answer_t *answer)
{
    ri_conn_t *conn;

    *answer = RTR_NEVER;

    ucs_list_for_each(conn, &peer->conns, peer_list) {
        if ((conn->ring == NULL) || !rtr_may_use(conn)) {
            continue;
        }
        if (conn->grants == NULL) {
            conn->grants = calloc(1, sizeof(*conn->grants));
            if (conn->grants == NULL) {
                return NULL;
            }
            conn->grants->free       = ~0u;
            conn->grants->generation = (uint32_t)ri_random();
        }
        if (conn->grants->free != 0) {
            return conn;
        }
        *answer = RTR_LATER;
    }
    if (*answer == RTR_NEVER) {
        rtr_ask_for_ring(peer);
    }
    return NULL;
}

/* Whether a receive has offered its memory to another sender. */
static int rtr_is_out_to_other(const ri_recv_req_t *recv, const ri_stream_t *stream)
{
    return ((recv->rtr == RI_RTR_OUT) || (recv->rtr == RI_RTR_KEPT)) &&
           (recv->rtr_stream != stream);
}

/* How many earlier receives of the same tag and mask are posted. All of them are taken to
 * get messages of @a stream, so none may have been offered to another one.
 *
 * @return -1: it cannot be sent now. */
static int rtr_ahead(const ri_recv_req_t *recv, const ri_stream_t *stream)
{
    const ri_tag_node_t *head = ri_tag_index_find(&recv->mask_class->posted,
                                                  recv->node.key);
    const ri_tag_node_t *node = head;
    int ahead                 = -1;
    int i;

    for (i = 0; i < RTR_DEPTH; ++i) {
        if (rtr_is_out_to_other(ri_container_of(node, ri_recv_req_t, node), stream)) {
            return -1;
        }
        ahead = (node == &recv->node) ? i : ahead;
        node  = node->next;
        if (node == head) {
            break;
        }
    }
    return ahead;
}

/* Write the RTR of a receive into a ring. @return 0 if there is no room. */
static int rtr_put(ri_recv_req_t *recv, ri_conn_t *conn, const ri_stream_t *stream,
                   int ahead)
{
    ri_ring_record_t *record = ri_ring_tx_reserve(conn->ring, sizeof(ri_wire_rtr_t));
    ri_wire_rtr_t rtr        = {.mask       = recv->mask,
                                .address    = (uintptr_t)recv->data.buffer,
                                .length     = recv->data.length,
                                .seen       = stream->next_sn - 1,
                                .ahead      = ahead,
                                .grant      = recv->rtr_index,
                                .generation = recv->rtr_generation};

    if (record == NULL) {
        return 0;
    }
    atomic_store_explicit(&rtr_grant(recv)->word,
                          ri_ring_grant_word(recv->rtr_generation, RI_RING_GRANT_OUT),
                          memory_order_release);
    memcpy(ri_ring_payload(record, sizeof(rtr)), &rtr, sizeof(rtr));
    record->type  = RI_WIRE_RTR;
    record->hint  = ri_peer_take_hint(conn->peer);
    record->value = recv->id;
    record->extra = stream->remote_conn_id;
    record->tag   = recv->tag;
    ri_ring_tx_commit(conn->ring, record, sizeof(rtr));
    ++conn->counters.tx_control;
    return 1;
}

/* Take a grant and send the RTR. */
static rtr_answer_t rtr_send(ri_recv_req_t *recv, ri_stream_t *stream, int ahead)
{
    ri_worker_t *worker = recv->super.worker;
    rtr_answer_t answer;
    ri_conn_t *conn = rtr_find_conn(stream->peer, &answer);
    ri_rtr_grants_t *grants;

    if (conn == NULL) {
        return answer;
    }
    recv->id = ri_id_alloc(&worker->recv_ids, recv);
    if (recv->id == 0) {
        return RTR_NEVER;
    }
    recv->stream         = NULL; /* by its id, only PLACED is for it */
    grants               = conn->grants;
    recv->rtr_conn       = conn;
    recv->rtr_index      = __builtin_ctz(grants->free);
    recv->rtr_generation = ++grants->generation;
    if (!rtr_put(recv, conn, stream, ahead)) {
        ri_id_free(&worker->recv_ids, recv->id);
        worker->rtr_retry = 1; /* nothing tells when there is room */
        worker->attention = 1;
        return RTR_LATER;
    }

    grants->free &= ~(1u << recv->rtr_index);
    grants->recv[recv->rtr_index] = recv;
    recv->rtr                     = RI_RTR_OUT;
    recv->rtr_stream              = stream;
    ucs_list_add_tail(&stream->rtrs, &recv->list);
    ++stream->num_rtrs;
    ++worker->num_rtrs;
    ++worker->counters.rtr_sent;
    ri_trace(&worker->trace, RI_TRACE_RTR_SENT, recv->tag, recv->id);
    return RTR_SENT;
}

/* Send the RTR of a posted receive, if its message is certain to be the one that the RTR
 * says. */
static rtr_answer_t rtr_try(ri_recv_req_t *recv)
{
    ri_worker_t *worker = recv->super.worker;
    uint32_t stream_id  = ri_sender_map_find(&worker->senders, recv->tag, recv->mask);
    ri_stream_t *stream = ri_id_get(&worker->stream_ids, stream_id);
    int ahead;

    /* Without a plane to it nobody can tell whether the sender is still there. */
    if ((recv->mask_class == NULL) || (stream == NULL) || !stream->plane_write ||
        (stream->peer->plane_ep == NULL) || stream->broken || stream->closed) {
        return RTR_NEVER;
    }
    if (!ri_sender_map_is_worth(&worker->senders, recv->tag, recv->mask)) {
        ++worker->counters.rtr_suppressed;
        return RTR_NEVER;
    }
    ahead = rtr_ahead(recv, stream);
    if ((ahead < 0) || ri_match_is_overlapped(&worker->match, recv)) {
        return RTR_LATER;
    }
    return rtr_send(recv, stream, ahead);
}

void ri_rtr_posted(ri_recv_req_t *recv)
{
    ri_worker_t *worker = recv->super.worker;

    recv->rtr_slot     = 0;
    recv->posted_us    = rtr_clock();
    recv->posted_polls = worker->polls;
    if ((ri_config.rtr == UCS_NO) || !ri_dt_is_contig(&recv->data) ||
        !ri_memory_of_recv_is_host(recv)) {
        return;
    }
    if (rtr_try(recv) == RTR_LATER) {
        rtr_enqueue(recv);
        rtr_wake_queue(worker);
    }
}

/* Take back the RTRs of a posted receive, and of later ones that count it, except those
 * offered to @a stream. They may be sent again. @return 0 if one has been used. */
static int rtr_take_back_dependents(ri_recv_req_t *recv, const ri_stream_t *stream)
{
    const ri_tag_node_t *head, *next;
    ri_tag_node_t *node = &recv->node;
    ri_recv_req_t *other;
    int all = 1;
    int i;

    if (recv->mask_class == NULL) {
        return 1;
    }
    head = ri_tag_index_find(&recv->mask_class->posted, node->key);
    for (i = 0; i < RTR_DEPTH; ++i) {
        next  = node->next;
        other = ri_container_of(node, ri_recv_req_t, node);
        if (rtr_is_out_to_other(other, stream)) {
            if (!rtr_take_back(other)) {
                all = 0;
            } else {
                rtr_enqueue(other);
            }
        }
        if (next == head) {
            break;
        }
        node = node->next;
    }
    rtr_wake_queue(recv->super.worker); /* with those that were taken back */
    return all;
}

ri_recv_req_t *ri_rtr_match(ri_worker_t *worker, const ri_stream_t *stream, uint64_t tag)
{
    size_t own      = (stream != NULL) ? stream->num_rtrs : 0;
    uint64_t serial = 0;
    ri_recv_req_t *recv;

    while ((recv = ri_match_peek_posted(&worker->match, tag, serial)) != NULL) {
        /* What belongs to another sender's message, which is on its way, is passed by. */
        if ((worker->num_rtrs == own) || rtr_take_back_dependents(recv, stream)) {
            ri_match_unpost(&worker->match, recv);
            rtr_wake_queue(worker);
            return recv;
        }
        serial = recv->serial + 1;
    }
    return NULL;
}

int ri_rtr_may_cancel(ri_recv_req_t *recv)
{
    if (!rtr_take_back_dependents(recv, NULL)) {
        return 0;
    }
    rtr_forget(recv); /* not sent again */
    rtr_wake_queue(recv->super.worker);
    return 1;
}

/* The sender breaks the protocol. Nobody can tell what it wrote where. */
static ucs_status_t rtr_broken(ri_recv_req_t *recv, ri_stream_t *stream,
                               const ri_arrival_t *arrival)
{
    rtr_settle(recv);
    rtr_forget(recv);
    ri_deliver_breaking(stream, "a message that is not that of its receive",
                        arrival->wire_type, arrival->length);
    return UCS_ERR_IO_ERROR;
}

/* The sender has used the RTR as it was meant. */
static void rtr_was_used(ri_recv_req_t *recv)
{
    ++recv->super.worker->counters.rtr_used;
    rtr_end(recv);
}

/* The sender has taken the RTR for the very message that has met the receive, and writes:
 * the grant tells when it is done. */
static ucs_status_t rtr_await(ri_recv_req_t *recv, const ri_arrival_t *arrival)
{
    ri_worker_t *worker = recv->super.worker;

    if (rtr_state(recv) == RI_RING_GRANT_WRITTEN) {
        rtr_was_used(recv);
        return UCS_OK;
    }
    recv->rts_req_id = arrival->req_id;
    ucs_list_del(&recv->list);
    ucs_list_add_tail(&worker->rtr_writing, &recv->list);
    worker->attention = 1;
    return UCS_INPROGRESS;
}

int ri_rtr_meet(ri_recv_req_t *recv, ri_stream_t *stream, const ri_arrival_t *arrival,
                ucs_status_t *status)
{
    ri_worker_t *worker = recv->super.worker;
    int was_out         = (recv->rtr != RI_RTR_QUEUED);

    if (rtr_take_back(recv)) {
        if (was_out && (arrival->length <= ri_config.eager_thresh)) {
            ri_sender_map_credit(&worker->senders, recv->tag, recv->mask, stream->id, -1);
        }
        rtr_forget(recv); /* if it was queued */
        return 0;
    }
    if ((rtr_state(recv) == RI_RING_GRANT_FAILED) && (recv->rtr_stream == stream)) {
        rtr_forget(recv);
        return 0;
    }
    if ((arrival->wire_type != RI_WIRE_RTS) || (recv->rtr_stream != stream) ||
        (arrival->length > recv->data.length)) {
        *status = rtr_broken(recv, stream, arrival);
        return 1;
    }
    if (rtr_state(recv) == RI_RING_GRANT_SHARING) {
        rtr_settle(recv); /* takes no time, unless that process has lost its processor */
    }
    if (rtr_state(recv) == RI_RING_GRANT_SLOT) {
        recv->rtr_slot = 1;
        rtr_was_used(recv);
        return 0;
    }
    *status = rtr_await(recv, arrival);
    return 1;
}

ucs_status_t ri_rtr_placed(ri_recv_req_t *recv, ri_stream_t *stream,
                           const ri_arrival_t *arrival)
{
    if (((recv->rtr != RI_RTR_OUT) && (recv->rtr != RI_RTR_KEPT)) ||
        (recv->rtr_stream != stream) || (recv->id != arrival->req_id) ||
        (arrival->length > recv->data.length)) {
        return rtr_broken(recv, stream, arrival);
    }
    /* The grant says WRITTEN. To look would cost a cache miss, and tell nothing new. */
    if (recv->rtr == RI_RTR_OUT) {
        atomic_store_explicit(
                &rtr_grant(recv)->word,
                ri_ring_grant_word(recv->rtr_generation, RI_RING_GRANT_FREE),
                memory_order_relaxed);
    }
    rtr_was_used(recv);
    return UCS_OK;
}

/* Whether a receive was posted, or asked for, right after another long message was done: then
 * its own has not waited for long, should it have been there before. */
static int rtr_was_prompt(const ri_worker_t *worker, uint32_t posted_us)
{
    return posted_us - worker->active_us < RTR_BUSY;
}

/* What the application did before the message had its receive, or between them. */
static rtr_meanwhile_t rtr_meanwhile(const ri_recv_req_t *recv, uint32_t now)
{
    const ri_worker_t *worker = recv->super.worker;
    uint32_t polls            = (uint32_t)worker->polls - recv->posted_polls;

    if (!recv->early) {
        return rtr_was_prompt(worker, now) ? RTR_WAS_WAITING : RTR_WAS_LATE;
    }
    if (now - recv->posted_us >= (polls + 1ul) * RTR_BUSY) {
        return RTR_WAS_BUSY;
    }
    return ((polls >= RTR_POLLS) || rtr_was_prompt(worker, recv->posted_us)) ?
                   RTR_WAS_WAITING :
                   RTR_WAS_LATE;
}

void ri_rtr_note_active(ri_worker_t *worker)
{
    worker->active_us = rtr_clock();
}

void ri_rtr_note_reading(ri_worker_t *worker, size_t length)
{
    worker->polls += length / RTR_POLL_BYTES;
}

/* What the peer is told. A process that loses the processor for a moment still waits. */
static void rtr_note_waiting(ri_peer_t *peer, int waiting)
{
    int before = (peer->waited > 0);

    if (waiting) {
        peer->waited = RTR_WAITED;
    } else {
        peer->waited -= before;
    }
    peer->hint_is_news |= (before != (peer->waited > 0));
}

void ri_rtr_learn(ri_recv_req_t *recv, const ri_stream_t *stream, uint64_t sender_tag)
{
    ri_sender_map_t *senders  = &recv->super.worker->senders;
    rtr_meanwhile_t meanwhile = RTR_WAS_LATE;
    uint32_t now              = rtr_clock();

    if (recv->data.length > ri_config.eager_thresh) {
        meanwhile = (ri_config.rtr == UCS_YES) ? RTR_WAS_BUSY : rtr_meanwhile(recv, now);
    }
    recv->super.worker->active_us = now;
    ri_sender_map_learn(senders, recv->tag, recv->mask, sender_tag, stream->id);
    rtr_note_waiting(stream->peer, meanwhile == RTR_WAS_WAITING);
    ri_sender_map_credit(senders, recv->tag, recv->mask, stream->id,
                         (meanwhile == RTR_WAS_BUSY)    ? 1 :
                         (meanwhile == RTR_WAS_WAITING) ? -1 :
                                                          0);
}

/* A receive that met its message while the sender was writing. If that fails the data is
 * asked for, or the receive ends with @a failure. @return Whether that has
 * ended; then the receive is complete, and anything may have happened. */
static int rtr_progress_writing(ri_recv_req_t *recv, ucs_status_t failure)
{
    uint32_t req_id     = recv->rts_req_id;
    ri_stream_t *stream = recv->rtr_stream;
    ucs_status_t status = UCS_OK;

    switch (rtr_state(recv)) {
    case RI_RING_GRANT_USED:
        /* posted_polls: nothing is to be learnt from this receive any more */
        if ((recv->rtr == RI_RTR_OUT) && ((++recv->posted_polls % RTR_CHECK != 0) ||
                                          !ri_planes_is_gone(stream->peer))) {
            return 0;
        }
        rtr_forget(recv); /* it will not be written */
        status = UCS_ERR_CONNECTION_RESET;
        break;
    case RI_RING_GRANT_WRITTEN:
        rtr_was_used(recv);
        break;
    default:
        rtr_forget(recv);
        status = (failure == UCS_OK) ? ri_am_rndv_ask(recv, stream, req_id, 0) : failure;
        break;
    }
    if (status != UCS_INPROGRESS) {
        ri_deliver_received(recv, status);
    }
    return 1;
}

/* Send queued RTRs. */
static void rtr_progress_queue(ri_worker_t *worker)
{
    ri_recv_req_t *recv;
    int sent = 0;
    int i;

    for (i = 0; (i < RTR_BATCH) && !ucs_list_is_empty(&worker->rtr_queue); ++i) {
        recv = ucs_list_head(&worker->rtr_queue, ri_recv_req_t, list);
        ucs_list_del(&recv->list);
        --worker->num_rtrs;
        recv->rtr = RI_RTR_NONE;
        switch (rtr_try(recv)) {
        case RTR_SENT:
            sent = 1;
            break;
        case RTR_LATER:
            rtr_enqueue(recv);
            break;
        default:
            break;
        }
    }
    worker->rtr_retry |= sent;
}

void ri_rtr_progress(ri_worker_t *worker)
{
    size_t count = ucs_list_length(&worker->rtr_writing);
    ri_recv_req_t *recv;

    /* One round, from the head: callbacks may end any receive. */
    for (; (count > 0) && !ucs_list_is_empty(&worker->rtr_writing); --count) {
        recv = ucs_list_extract_head(&worker->rtr_writing, ri_recv_req_t, list);
        ucs_list_add_tail(&worker->rtr_writing, &recv->list);
        rtr_progress_writing(recv, UCS_OK);
    }
    if (worker->rtr_retry) {
        worker->rtr_retry = 0;
        rtr_progress_queue(worker);
    }
}

void ri_rtr_close(ri_conn_t *conn)
{
    ri_rtr_grants_t *grants = conn->grants;
    ri_recv_req_t *recv;
    unsigned i;

    if (grants == NULL) {
        return;
    }
    for (i = 0; i < RI_RING_GRANTS; ++i) {
        recv = grants->recv[i];
        if ((recv == NULL) || rtr_take_back(recv)) {
            continue;
        }
        /* The message will tell of it; the grant cannot any more. */
        rtr_settle(recv);
        recv->rtr_kept = rtr_state(recv);
        recv->rtr      = RI_RTR_KEPT;
        rtr_give_grant_back(recv);
    }
    conn->grants = NULL;
    free(grants);
}

/* @return A receive that a stream's sender writes. */
static ri_recv_req_t *rtr_find_writing(ri_stream_t *stream)
{
    ri_recv_req_t *recv;

    ucs_list_for_each(recv, &stream->worker->rtr_writing, list) {
        if (recv->rtr_stream == stream) {
            return recv;
        }
    }
    return NULL;
}

/* A receive of this tag and mask was promised to a message that will not come. Others that
 * fit were passed on meanwhile: they are for the oldest receives of the class. */
static void rtr_rematch(ri_worker_t *worker, uint64_t tag, uint64_t mask)
{
    ri_match_t *match = &worker->match;
    ri_recv_req_t *recv;
    ucs_status_t status;
    ri_msg_t *msg;

    while (((msg = ri_match_find_unexpected(match, tag, mask, 0)) != NULL) &&
           ((recv = ri_rtr_match(worker, msg->stream, msg->tag)) != NULL)) {
        ri_match_remove_unexpected(match, msg);
        status = ri_recv_start_msg(recv, msg);
        if (status != UCS_INPROGRESS) {
            ri_req_complete_recv(recv, status);
        }
    }
}

void ri_rtr_withdraw(ri_stream_t *stream)
{
    ri_recv_req_t *recv, *tmp;

    ucs_list_for_each_safe(recv, tmp, &stream->rtrs, list) {
        if (!rtr_take_back(recv)) {
            rtr_settle(recv);
        }
    }
}

void ri_rtr_abort(ri_stream_t *stream, ucs_status_t status)
{
    ri_recv_req_t *recv;

    /* These are posted, and may get another sender's message. */
    while (!ucs_list_is_empty(&stream->rtrs)) {
        recv = ucs_list_head(&stream->rtrs, ri_recv_req_t, list);
        if (!rtr_take_back(recv)) {
            rtr_settle(recv);
            rtr_forget(recv);
            rtr_rematch(stream->worker, recv->tag, recv->mask);
        }
    }
    /* Each callback may end any other. */
    while ((recv = rtr_find_writing(stream)) != NULL) {
        rtr_settle(recv);
        if (!rtr_progress_writing(recv, status)) {
            rtr_forget(recv);
            ri_deliver_received(recv, status);
        }
    }
}

/* Whether nothing comes any more of what a stream's sender has used. */
static int rtr_is_over(const ri_stream_t *stream)
{
    return (stream->num_rtrs > 0) && (stream->ring == NULL) && stream->peer->failed &&
           ri_planes_is_gone(stream->peer);
}

void ri_rtr_check_gone(ri_stream_t *stream)
{
    if (rtr_is_over(stream)) {
        ++stream->busy; /* callbacks must not free it */
        ri_rtr_abort(stream, UCS_ERR_CONNECTION_RESET);
        --stream->busy;
    }
}

/* @return A stream of a peer that is over, or NULL. */
static ri_stream_t *rtr_find_over(ri_worker_t *worker, uint64_t uid)
{
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        if ((stream->peer->uid == uid) && rtr_is_over(stream)) {
            return stream;
        }
    }
    return NULL;
}

void ri_rtr_peer_failed(ri_worker_t *worker, uint64_t uid)
{
    ri_stream_t *stream;

    /* Each callback may free any stream. */
    while ((stream = rtr_find_over(worker, uid)) != NULL) {
        ri_rtr_check_gone(stream);
    }
}
