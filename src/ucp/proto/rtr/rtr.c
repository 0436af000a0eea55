/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs of receives that are posted, matched or cancelled: the queue, and which are sent.
 */
#include "rtr.h"
#include "../../../ucs/settings.h"
#include "../../core/activity.h"
#include "../../core/memory.h"
#include "../../link/ring_life.h"
#include "rtr_withdraw.h"
#include "rtr_deep.h"
#include "rtr_host.h"
#include "rtr_meet.h"
#include "rtr_net.h"
#include "rtr_queue.h"
#include "rtr_entries.h"
#include "rtr_done.h"
#include "rtr_state.h"
#include "rtr_ud.h"
#include "../../match/match.h"
#include "../../match/sender_map.h"

#include <stdlib.h>

/* Queued receives that one progress call looks at. */
#define RTR_BATCH 8

typedef enum rtr_answer {
    RTR_SENT,
    RTR_AWAITS, /* other receives are in the way: it is among waiters now */
    RTR_FULL,   /* there is no room, also for others of the same sender */
    RTR_NEVER
} rtr_answer_t;

/* Whether a receive has offered its memory to another sender. */
static int rtr_is_for_other(const ri_recv_req_t *recv, const ri_stream_t *stream)
{
    return ri_rtr_state_is_offered(recv) && (recv->rtr.stream != stream);
}

/* Whether RTRs to a sender can be withdrawn without asking it. */
static int rtr_needs_no_answer(const ri_stream_t *stream)
{
    return ri_rtr_host_is_possible(stream) || ri_rtr_ud_is_possible(stream);
}

/* Whether a receive has an RTR of the other kind. */
static int rtr_is_of_other_kind(const ri_recv_req_t *recv, int needs_no_answer)
{
    return ri_rtr_state_is_offered(recv) &&
           (ri_rtr_state_is_by_key(recv) == needs_no_answer);
}

/* How many earlier receives of the same tag and mask are posted. All of them are taken to
 * get messages of @a stream, so none may have been offered to another one.
 *
 * @param other_p  Set to one that has been, or to NULL.
 *
 * @return RI_RTR_DEPTH: there are too many. */
static int rtr_ahead(const ri_recv_req_t *recv, const ri_stream_t *stream,
                     ri_recv_req_t **other_p)
{
    ri_tag_node_t *head = ri_tag_index_find(&recv->mask_class->posted, recv->node.key);
    ri_tag_node_t *node = head;
    int needs_no_answer = rtr_needs_no_answer(stream);
    int ahead           = RI_RTR_DEPTH;
    int i;

    for (i = 0; i < RI_RTR_DEPTH; ++i) {
        *other_p = ri_container_of(node, ri_recv_req_t, node);
        if (rtr_is_for_other(*other_p, stream) ||
            rtr_is_of_other_kind(*other_p, needs_no_answer)) {
            return ahead;
        }
        ahead = (node == &recv->node) ? i : ahead;
        node  = node->next;
        if (node == head) {
            break;
        }
    }
    *other_p = NULL;
    return ahead;
}

/* Find out whether the memory of a receive can be said to the sender of a stream; within a host
 * also where it is. @return Whether it may be offered. */
static int rtr_find_place(const ri_recv_req_t *recv, const ri_stream_t *stream,
                          ri_rtr_place_t *place)
{
    if (ri_rtr_host_is_possible(stream)) {
        return ri_rtr_host_find_place(recv, stream, place);
    }
    return ri_dt_is_contig(&recv->data) ||
           (!ri_rtr_ud_is_possible(stream) && ri_rtr_net_takes(recv, stream));
}

/* Send the RTR by the way that the sender of the stream is reached. */
static rtr_answer_t rtr_send(ri_recv_req_t *recv, ri_stream_t *stream,
                             const ri_rtr_place_t *place, int ahead)
{
    ucs_status_t status;

    if (ri_rtr_host_is_possible(stream)) {
        status = ri_rtr_host_send(recv, stream, place, ahead);
    } else if (ri_rtr_ud_is_possible(stream)) {
        status = ri_rtr_ud_send(recv, stream, ahead);
    } else {
        status = ri_rtr_net_send(recv, stream, ahead);
    }
    return (status == UCS_OK)              ? RTR_SENT :
           (status == UCS_ERR_NO_RESOURCE) ? RTR_FULL :
                                             RTR_NEVER;
}

/* Whether others wait for room at a peer. */
static int rtr_is_full(const ri_peer_t *peer)
{
    return (peer->rtr.entries != NULL) && !ucs_list_is_empty(&peer->rtr.entries->full);
}

/* Whether the message of a receive is likely to come through the ring of its stream, although it
 * may be above EAGER_THRESH: its sender does as this process would (tag/send.c). */
static int rtr_is_for_ring(const ri_recv_req_t *recv, const ri_stream_t *stream)
{
    size_t size;

    if ((ri_config.rtr == UCS_YES) || (stream->ring == NULL)) {
        return 0;
    }
    size = (stream->ring->mask + 1ul) * RI_RING_LINE;
    return recv->data.length <= (ri_dt_is_contig(&recv->data) ?
                                         ri_ring_life_long(size) :
                                         ri_ring_life_long_runs(size));
}

/* Send the RTR of a posted receive, which stands in no list, if its message is certain to be
 * the one that the RTR says.
 *
 * @param from    Among whose receives it was the first that waits for room; NULL: nobody's.
 * @param peer_p  Set with RTR_FULL: who has no room.
 */
static rtr_answer_t rtr_try(ri_recv_req_t *recv, const ri_peer_t *from,
                            ri_peer_t **peer_p)
{
    ri_worker_t *worker = recv->super.worker;
    uint32_t stream_id  = ri_sender_map_find(&worker->senders, recv->tag, recv->mask);
    ri_stream_t *stream = ri_id_get(&worker->ids.streams, stream_id);
    ri_recv_req_t **waiters;
    ri_recv_req_t *other;
    ri_rtr_place_t place;
    int ahead;

    if ((recv->mask_class == NULL) || (stream == NULL) || stream->broken ||
        stream->closed ||
        (!rtr_needs_no_answer(stream) && !ri_rtr_net_is_possible(stream))) {
        return RTR_NEVER;
    }
    if (!rtr_find_place(recv, stream, &place)) {
        return RTR_NEVER;
    }
    if (rtr_is_for_ring(recv, stream)) {
        return RTR_NEVER; /* the message goes through the ring, as short ones do */
    }
    if (!ri_sender_map_is_worth(&worker->senders, recv->tag, recv->mask)) {
        ++worker->counters.rtr_suppressed;
        return RTR_NEVER;
    }
    if (ri_rtr_deep_is_behind(recv)) {
        ri_rtr_deep_await(recv);
        return RTR_AWAITS;
    }
    ahead   = rtr_ahead(recv, stream, &other);
    waiters = (other != NULL) ? &other->waiters :
                                ri_match_find_overlap(&worker->match, recv);
    if (waiters != NULL) {
        ri_rtr_queue_await(recv, waiters);
        return RTR_AWAITS;
    }
    if (ahead == RI_RTR_DEPTH) {
        ri_rtr_deep_await(recv);
        return RTR_AWAITS;
    }
    *peer_p = stream->peer;
    if ((stream->peer != from) && rtr_is_full(stream->peer)) {
        return RTR_FULL;
    }
    return rtr_send(recv, stream, &place, ahead);
}

void ri_rtr_posted(ri_recv_req_t *recv)
{
    ri_worker_t *worker = recv->super.worker;
    ri_peer_t *peer;

    recv->rtr.posted_us    = ri_clock_now_us();
    recv->rtr.posted_polls = worker->polls;
    if ((ri_config.rtr == UCS_NO) ||
        (!ri_dt_is_contig(&recv->data) && !ri_dt_is_spread(&recv->data)) ||
        !ri_memory_of_recv_is_host(recv)) {
        return;
    }
    if (rtr_try(recv, NULL, &peer) == RTR_FULL) {
        ri_rtr_entries_wait(recv, worker, peer, 0);
    }
}

/* Withdraw the RTRs of a posted receive, and of later ones that count it, except those
 * offered to @a stream. They may be sent again. @return 0 if one has been used. */
static int rtr_withdraw_dependents(ri_recv_req_t *recv, const ri_stream_t *stream)
{
    const ri_tag_node_t *head, *next;
    ri_tag_node_t *node = &recv->node;
    ri_recv_req_t *other;
    int all = 1;
    int i;

    if ((recv->mask_class == NULL) || !ri_rtr_state_has_kin(recv)) {
        return 1;
    }
    head = ri_tag_index_find(&recv->mask_class->posted, node->key);
    for (i = 0; i < RI_RTR_DEPTH; ++i) {
        next  = node->next;
        other = ri_container_of(node, ri_recv_req_t, node);
        if (rtr_is_for_other(other, stream)) {
            if (!ri_rtr_withdraw_take(other)) {
                all = 0;
            } else {
                ri_rtr_queue_add(other);
            }
        }
        if (next == head) {
            break;
        }
        node = node->next;
    }
    return all;
}

/* A receive leaves the posted queue. */
static void rtr_leave(ri_recv_req_t *recv)
{
    ri_mask_class_t *class = recv->mask_class;
    ri_worker_t *worker    = recv->super.worker;

    if (recv->rtr.state == RI_RTR_QUEUED) {
        ri_rtr_done_unused(recv); /* an RTR would come too late */
    }
    ri_match_unpost(&worker->match, recv);
    if (ri_unlikely(recv->waiters != NULL)) {
        ri_rtr_queue_release(&recv->waiters);
    }
    if ((class != NULL) && ri_unlikely(class->waiters != NULL) &&
        ri_match_is_searchable(class)) {
        ri_rtr_queue_release(&class->waiters);
    }
    if ((class != NULL) && ri_unlikely(worker->rtr.deep != NULL) &&
        ri_rtr_state_has_kin(recv)) {
        ri_rtr_deep_release(worker, recv);
    }
}

ri_recv_req_t *ri_rtr_match_plain(ri_worker_t *worker, uint64_t tag)
{
    ri_recv_req_t *recv = ri_match_peek_posted(&worker->match, tag, 0);

    if ((recv == NULL) || ri_rtr_state_has_kin(recv)) {
        return NULL;
    }
    rtr_leave(recv);
    return recv;
}

ri_recv_req_t *ri_rtr_match(ri_worker_t *worker, const ri_stream_t *stream, uint64_t tag)
{
    size_t own      = (stream != NULL) ? stream->rtr.num : 0;
    uint64_t serial = 0;
    ri_recv_req_t *recv;

    while ((recv = ri_match_peek_posted(&worker->match, tag, serial)) != NULL) {
        /* A receive that belongs to another sender's message, which is on its way, is passed by */
        if ((worker->rtr.num_offered == own) || rtr_withdraw_dependents(recv, stream)) {
            rtr_leave(recv);
            return recv;
        }
        serial = recv->serial + 1;
    }
    return NULL;
}

void ri_rtr_cancel(ri_recv_req_t *recv)
{
    ri_worker_t *worker = recv->super.worker;

    if (!rtr_withdraw_dependents(recv, NULL)) {
        recv->rtr.canceled = 1; /* its message is on its way, unless its sender is gone */
        return;
    }
    rtr_leave(recv);
    ++worker->counters.recv_canceled;
    ri_trace(&worker->trace, RI_TRACE_CANCEL, recv->tag, recv->mask);
    ri_dt_finish(&recv->data);
    ri_req_complete_recv(recv, UCS_ERR_CANCELED);
}

void ri_rtr_cancel_again(ri_worker_t *worker, uint64_t tag)
{
    uint64_t serial = 0;
    ri_recv_req_t *recv;

    while ((recv = ri_match_peek_posted(&worker->match, tag, serial)) != NULL) {
        serial = recv->serial + 1;
        if (recv->rtr.canceled) {
            recv->rtr.canceled = 0;
            ri_rtr_cancel(recv);
        }
    }
}

/* Send the RTRs of a batch of the queue. What has no room waits at its peer, and holds up nobody
 * else. */
static void rtr_progress_queue(ri_worker_t *worker)
{
    ri_recv_req_t *recv;
    ri_peer_t *peer;
    int i;

    for (i = 0; (i < RTR_BATCH) && !ucs_list_is_empty(&worker->rtr.queue); ++i) {
        recv = ucs_list_extract_head(&worker->rtr.queue, ri_recv_req_t, list);
        ri_rtr_state_set(recv, RI_RTR_NONE);
        if (rtr_try(recv, NULL, &peer) == RTR_FULL) {
            ri_rtr_entries_wait(recv, worker, peer, 0);
        }
    }
    worker->rtr.retry |= !ucs_list_is_empty(&worker->rtr.queue);
}

/* Let those that wait for room at a peer have their turn, in order. @return Whether there is room
 * still. */
static int rtr_progress_peer(ri_worker_t *worker, ri_rtr_entries_t *entries, int *left)
{
    ri_peer_t *peer = entries->entry[0].peer;
    ri_peer_t *full = NULL;
    ri_recv_req_t *recv;

    while (!ucs_list_is_empty(&entries->full)) {
        if (--*left < 0) {
            return 1;
        }
        recv = ucs_list_extract_head(&entries->full, ri_recv_req_t, list);
        ri_rtr_state_set(recv, RI_RTR_NONE);
        if (rtr_try(recv, peer, &full) == RTR_FULL) {
            ri_rtr_entries_wait(recv, worker, full, full == peer);
            if (full == peer) {
                return 0;
            }
        }
    }
    return 0;
}

/* Each peer has its turn once after something has changed. */
static void rtr_progress_full(ri_worker_t *worker)
{
    int left = RTR_BATCH;
    ri_rtr_entries_t *entries;
    unsigned turns;

    if (worker->rtr.turns == 0) {
        return; /* the list may be long */
    }
    turns             = ri_min(worker->rtr.turns, worker->rtr.num_full);
    worker->rtr.turns = 0;
    while ((turns > 0) && (left > 0) && !ucs_list_is_empty(&worker->rtr.full)) {
        entries = ucs_list_head(&worker->rtr.full, ri_rtr_entries_t, full_link);
        ri_rtr_entries_delist(entries);
        turns -= !rtr_progress_peer(worker, entries, &left);
        if (!ucs_list_is_empty(&entries->full)) {
            ri_rtr_entries_enlist(entries);
        }
    }
    if (!ucs_list_is_empty(&worker->rtr.full)) {
        worker->rtr.turns = ri_max(worker->rtr.turns, turns);
    }
    worker->rtr.retry |= (worker->rtr.turns > 0);
}

void ri_rtr_progress(ri_worker_t *worker)
{
    size_t count = ucs_list_length(&worker->rtr.writing);
    ri_recv_req_t *recv;

    /* One round, from the head: callbacks may end any receive. */
    for (; (count > 0) && !ucs_list_is_empty(&worker->rtr.writing); --count) {
        recv = ucs_list_extract_head(&worker->rtr.writing, ri_recv_req_t, list);
        ucs_list_add_tail(&worker->rtr.writing, &recv->list);
        ri_rtr_meet_progress(recv, UCS_OK);
    }
    if (worker->rtr.retry) {
        worker->rtr.retry = 0;
        ri_rtr_ud_backs_off(worker);
        rtr_progress_full(worker);
        rtr_progress_queue(worker);
    }
}
