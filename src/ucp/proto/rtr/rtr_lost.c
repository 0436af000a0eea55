/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs by message whose way ends so that nobody can tell what has come by it (rtr_message.h). The
 * sender may have been told that its write has ended; then it never sends the message again. And
 * those whose sender does not answer.
 */
#include "../../link/planes.h"
#include "rtr_message.h"
#include "rtr_slots.h"
#include "../../../ucs/clock.h"

#include <math.h>

double ri_rtr_message_patience = 5;

/* All streams are gone through so often while an answer is missing: it is noticed later by that part
 * of the time that it has. */
#define LOST_LOOKS 64

void ri_rtr_message_way_lost(ri_peer_t *peer)
{
    ri_rtr_slots_t *slots = peer->rtr_slots;
    unsigned i;

    for (i = 0; (slots != NULL) && (i < RI_WIRE_RTR_SLOTS); ++i) {
        if ((slots->slot[i].recv != NULL) && !slots->slot[i].notified) {
            slots->slot[i].recv->rtr_stream->rdma_lost = 1;
            slots->worker->rdma_lost                   = 1;
            slots->worker->attention                   = 1;
        }
    }
}

/* @return A stream that may have lost a message, or NULL. */
static ri_stream_t *lost_find(ri_worker_t *worker)
{
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        if (stream->rdma_lost) {
            return stream;
        }
    }
    return NULL;
}

void ri_rtr_message_break_lost(ri_worker_t *worker)
{
    ri_stream_t *stream;

    worker->rdma_lost = 0;
    while ((stream = lost_find(worker)) != NULL) { /* each may free any other */
        stream->rdma_lost = 0;
        ri_stream_break(stream,
                        "a message that may have been written without a notification");
    }
}

/* Whether a peer owes an answer to a REVOKE that was sent up to then, and has a way that it could
 * write by. */
static int lost_owes_answer(const ri_peer_t *peer, double until)
{
    const ri_rtr_slots_t *slots = peer->rtr_slots;
    const ri_rtr_slot_t *slot;
    unsigned i;

    for (i = 0; (slots != NULL) && (i < RI_WIRE_RTR_SLOTS); ++i) {
        slot = &slots->slot[i];
        if ((slot->recv != NULL) && slot->revoking && (slot->asked <= until)) {
            return peer->rdma_ep != NULL;
        }
    }
    return 0;
}

static void lost_decide(ri_worker_t *worker, double until)
{
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        if (lost_owes_answer(stream->peer, until)) {
            ri_planes_rdma_failed(worker, stream->peer);
        }
    }
}

void ri_rtr_message_decide(ri_worker_t *worker)
{
    lost_decide(worker, INFINITY);
}

void ri_rtr_message_check_asked(ri_worker_t *worker)
{
    double now = ri_time();

    if (now - worker->revoking_looked >= ri_rtr_message_patience / LOST_LOOKS) {
        worker->revoking_looked = now;
        lost_decide(worker, now - ri_rtr_message_patience);
    }
}
