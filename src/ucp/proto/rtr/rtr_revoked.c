/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What waits for an answer: messages whose receive is contested, and cancelled receives. When
 * REVOKED has come, they go on in their order.
 */
#include "rtr_revoked.h"
#include "../../order/deliver.h"
#include "rtr.h"
#include "rtr_withdraw.h"
#include "rtr_queue.h"
#include "rtr_entries.h"
#include "rtr_done.h"
#include "rtr_state.h"

typedef enum revoked_dependents {
    DEPENDENTS_FREE,
    DEPENDENTS_ASKED, /* not known yet */
    DEPENDENTS_USED   /* one has been used */
} revoked_dependents_t;

/* @return How the RTRs of a receive, and of later ones that count it, stand in the way of a message
 * of @a stream. With @a revoke those that can be are asked back. */
static revoked_dependents_t revoked_look(const ri_recv_req_t *recv,
                                         const ri_stream_t *stream, int revoke)
{
    revoked_dependents_t result = DEPENDENTS_FREE;
    const ri_tag_node_t *head, *node;
    ri_recv_req_t *other;
    int i;

    if (recv->mask_class == NULL) {
        return DEPENDENTS_FREE;
    }
    head = ri_tag_index_find(&recv->mask_class->posted, recv->node.key);
    node = &recv->node;
    for (i = 0; i < RI_RTR_DEPTH; ++i) {
        other = ri_container_of(node, ri_recv_req_t, node);
        if (ri_rtr_state_is_by_key(other) && (other->rtr.stream != stream)) {
            if (other->rtr.state != RI_RTR_BY_KEY) {
                return DEPENDENTS_USED;
            }
            if (revoke) {
                ri_rtr_withdraw_ask(other);
            }
            result = DEPENDENTS_ASKED;
        }
        node = node->next;
        if (node == head) {
            break;
        }
    }
    return result;
}

int ri_rtr_revoked_ask_senders(ri_worker_t *worker, const ri_stream_t *stream,
                               uint64_t tag)
{
    uint64_t serial = 0;
    ri_recv_req_t *recv;

    while ((recv = ri_match_peek_posted(&worker->match, tag, serial)) != NULL) {
        if (revoked_look(recv, stream, 0) == DEPENDENTS_ASKED) {
            revoked_look(recv, stream, 1); /* which may have decided it */
        }
        switch (revoked_look(recv, stream, 0)) {
        case DEPENDENTS_FREE:
            return 0;
        case DEPENDENTS_ASKED:
            return 1;
        default:
            break;
        }
        serial = recv->serial + 1;
    }
    return 0;
}

/* Go on with messages that waited for an answer. */
static void revoked_resume(ri_worker_t *worker)
{
    ri_stream_t *stream, *found;

    ucs_list_for_each(stream, &worker->streams, list) {
        ri_stream_set_resumes(stream);
    }
    do { /* each callback may free any stream */
        found = NULL;
        ucs_list_for_each(stream, &worker->streams, list) {
            if (stream->resumes) {
                found = stream;
                break;
            }
        }
        if (found != NULL) {
            ri_stream_resume(found);
            ++found->busy;
            ri_deliver_resume(found);
            --found->busy;
            ri_stream_check_closed(found);
        }
    } while (found != NULL);
    ri_deliver_resume_self(worker);
}

void ri_rtr_revoked_decided(ri_worker_t *worker, uint64_t tag)
{
    worker->rtr.recheck = 1; /* nothing is offered before all is decided */
    ri_rtr_cancel_again(worker, tag);
    revoked_resume(worker);
    worker->rtr.recheck = 0;
    ri_rtr_queue_wake(worker);
}

void ri_rtr_revoked_handle(ri_stream_t *stream, const ri_wire_msg_t *msg)
{
    ri_worker_t *worker       = stream->worker;
    ri_rtr_entries_t *entries = stream->peer->rtr.entries;
    ri_rtr_entry_t *entry     = (entries != NULL) ? &entries->entry[msg->entry] : NULL;
    ri_recv_req_t *recv;
    uint64_t tag;

    if ((entry == NULL) || (entry->recv == NULL) || !entry->revoking ||
        (entry->generation != msg->generation) || (entry->recv->rtr.stream != stream)) {
        ++worker->counters.rx_stale;
        return;
    }
    recv            = entry->recv;
    tag             = recv->tag;
    entry->revoking = 0;
    --worker->rtr.num_revoking;
    if (recv->rtr.state == RI_RTR_NAMED) {
        if (!(msg->flags & RI_WIRE_REVOKED_USED)) {
            ++stream->busy;
            ri_deliver_breaking(stream, "an RTR that was used and was not", msg->type, 0);
            --stream->busy;
        }
    } else if (msg->flags & RI_WIRE_REVOKED_USED) {
        ri_rtr_state_set(recv, RI_RTR_KEY_USED);
    } else {
        ri_rtr_done_unused(recv);
        if (!recv->rtr.canceled) {
            ri_rtr_queue_add(recv);
        }
    }
    ++stream->busy;
    ri_rtr_revoked_decided(worker, tag);
    --stream->busy;
    ri_stream_check_closed(stream);
}
