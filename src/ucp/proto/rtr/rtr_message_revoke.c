/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs by message that are to be taken back (rtr_message.h): their senders are asked (REVOKE), and
 * what depends on the answers waits, cancels as well as messages of others.
 */
#include "rtr_message.h"
#include "../../link/control.h"
#include "../../link/planes.h"
#include "rtr_slots.h"
#include "rtr_state.h"
#include "../../order/deliver.h"
#include "../../../ucs/clock.h"

/* Ask the sender not to use an RTR. Without a way to ask it is made sure that it cannot. */
static void revoke_ask(ri_recv_req_t *recv)
{
    ri_stream_t *stream  = recv->rtr_stream;
    ri_worker_t *worker  = stream->worker;
    ri_rtr_slot_t *slot  = ri_rtr_slot(recv);
    ri_wire_revoke_t msg = {.base.type  = RI_WIRE_REVOKE,
                            .base.value = slot->generation,
                            .slot       = recv->rtr_index,
                            .stream_id  = stream->id,
                            .uid        = worker->uid};

    if (slot->revoking) {
        return;
    }
    if (ri_peer_way_out(stream->peer) == NULL) {
        ri_planes_rdma_failed(worker, stream->peer);
        return;
    }
    slot->revoking = 1;
    slot->asked    = ri_time();
    ++worker->num_revoking;
    ri_trace(&worker->trace, RI_TRACE_RTR_BACK, recv->tag, recv->id);
    ri_wire_set_id(&msg.base, stream->remote_conn_id);
    ri_control_send_message(stream->peer, &msg, sizeof(msg));
}

int ri_rtr_message_take_back(ri_recv_req_t *recv)
{
    if (recv->rtr == RI_RTR_SENT) {
        revoke_ask(recv);
    }
    return recv->rtr == RI_RTR_NONE;
}

typedef enum revoke_dependents {
    REVOKE_FREE,
    REVOKE_ASKED,   /* not known yet */
    REVOKE_PROMISED /* one has been used */
} revoke_dependents_t;

/* What the RTRs of a receive, and of later ones that count it, say to a message of @a stream. */
static revoke_dependents_t revoke_look(const ri_recv_req_t *recv,
                                       const ri_stream_t *stream, int revoke)
{
    revoke_dependents_t result = REVOKE_FREE;
    const ri_tag_node_t *head, *node;
    ri_recv_req_t *other;
    int i;

    if (recv->mask_class == NULL) {
        return REVOKE_FREE;
    }
    head = ri_tag_index_find(&recv->mask_class->posted, recv->node.key);
    node = &recv->node;
    for (i = 0; i < RI_RTR_DEPTH; ++i) {
        other = ri_container_of(node, ri_recv_req_t, node);
        if ((other->rtr >= RI_RTR_SENT) && (other->rtr_stream != stream)) {
            if (other->rtr != RI_RTR_SENT) {
                return REVOKE_PROMISED;
            }
            if (revoke) {
                revoke_ask(other);
            }
            result = REVOKE_ASKED;
        }
        node = node->next;
        if (node == head) {
            break;
        }
    }
    return result;
}

int ri_rtr_message_is_contested(ri_worker_t *worker, const ri_stream_t *stream,
                                uint64_t tag)
{
    uint64_t serial = 0;
    ri_recv_req_t *recv;

    while ((recv = ri_match_peek_posted(&worker->match, tag, serial)) != NULL) {
        if (revoke_look(recv, stream, 0) == REVOKE_ASKED) {
            revoke_look(recv, stream, 1); /* which may have decided it */
        }
        switch (revoke_look(recv, stream, 0)) {
        case REVOKE_FREE:
            return 0;
        case REVOKE_ASKED:
            return 1;
        default:
            break;
        }
        serial = recv->serial + 1;
    }
    return 0;
}

/* Go on with messages that waited for an answer. */
static void revoke_resume(ri_worker_t *worker)
{
    ri_stream_t *stream, *found;

    ucs_list_for_each(stream, &worker->streams, list) {
        stream->stalled = stream->stalled ? 2 : 0;
    }
    do { /* each callback may free any stream */
        found = NULL;
        ucs_list_for_each(stream, &worker->streams, list) {
            if (stream->stalled == 2) {
                found = stream;
                break;
            }
        }
        if (found != NULL) {
            found->stalled = 0;
            ++found->busy;
            ri_deliver_resume(found);
            --found->busy;
            ri_stream_check_closed(found);
        }
    } while (found != NULL);
    ri_deliver_resume_self(worker);
}

void ri_rtr_message_decided(ri_worker_t *worker, uint64_t tag)
{
    worker->rtr_recheck = 1; /* nothing is offered before all is decided */
    ri_rtr_cancel_again(worker, tag);
    revoke_resume(worker);
    worker->rtr_recheck = 0;
    ri_rtr_wake_queue(worker);
}

void ri_rtr_message_handle_revoked(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker   = stream->worker;
    ri_rtr_slots_t *slots = stream->peer->rtr_slots;
    ri_rtr_slot_t *slot   = (slots != NULL) ? &slots->slot[msg->slot] : NULL;
    ri_recv_req_t *recv;
    uint64_t tag;

    if ((slot == NULL) || (slot->recv == NULL) || !slot->revoking ||
        (slot->generation != msg->generation) || (slot->recv->rtr_stream != stream)) {
        ++worker->counters.rx_stale;
        return;
    }
    recv           = slot->recv;
    tag            = recv->tag;
    slot->revoking = 0;
    --worker->num_revoking;
    if (recv->rtr == RI_RTR_NAMED) {
        if (!(msg->flags & RI_WIRE_REVOKED_USED)) {
            ++stream->busy;
            ri_deliver_breaking(stream, "an RTR that was used and was not", msg->type, 0);
            --stream->busy;
        }
    } else if (msg->flags & RI_WIRE_REVOKED_USED) {
        ri_rtr_set(recv, RI_RTR_PROMISED);
    } else {
        ri_rtr_forget(recv);
        if (!recv->canceled) {
            ri_rtr_enqueue(recv);
        }
    }
    ++stream->busy;
    ri_rtr_message_decided(worker, tag);
    --stream->busy;
    ri_stream_check_closed(stream);
}
