/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A write without a notification may have changed the receive, and nobody can tell. So the stream
 * of each such RTR is marked when the way fails, and broken in progress, where the application's
 * callbacks may be called.
 */
#include "rtr_lost.h"
#include "../../../ucs/clock.h"
#include "../../link/way.h"
#include "rtr_entries.h"

#include <math.h>

double ri_rtr_lost_patience = 5;

/* All streams are gone through so often while an answer is missing: it is noticed later by that
 * part of the time that it has. */
#define LOST_LOOKS 64

void ri_rtr_lost_way(ri_peer_t *peer)
{
    ri_rtr_entries_t *entries = peer->rtr.entries;
    unsigned i;

    for (i = 0; (entries != NULL) && (i < RI_WIRE_RTR_ENTRIES); ++i) {
        if ((entries->entry[i].recv != NULL) && !entries->entry[i].notified) {
            entries->entry[i].recv->rtr.stream->rtr.lost = 1;
            entries->worker->net.lost                    = 1;
            entries->worker->attention                   = 1;
        }
    }
}

/* @return A stream that may have lost a message, or NULL. */
static ri_stream_t *lost_find(ri_worker_t *worker)
{
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        if (stream->rtr.lost) {
            return stream;
        }
    }
    return NULL;
}

void ri_rtr_lost_break(ri_worker_t *worker)
{
    ri_stream_t *stream;

    worker->net.lost = 0;
    while ((stream = lost_find(worker)) != NULL) { /* each may free any other */
        stream->rtr.lost = 0;
        ri_stream_break(stream,
                        "a message that may have been written without a notification");
    }
}

/* Whether a peer owes an answer to a REVOKE that was sent up to then, and has a way that it could
 * write by. */
static int lost_owes_answer(const ri_peer_t *peer, double until)
{
    const ri_rtr_entries_t *entries = peer->rtr.entries;
    const ri_rtr_entry_t *entry;
    unsigned i;

    for (i = 0; (entries != NULL) && (i < RI_WIRE_RTR_ENTRIES); ++i) {
        entry = &entries->entry[i];
        if ((entry->recv != NULL) && entry->revoking && (entry->asked <= until)) {
            return peer->way.ep != NULL;
        }
    }
    return 0;
}

static void lost_decide(ri_worker_t *worker, double until)
{
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        if (lost_owes_answer(stream->peer, until)) {
            ri_way_fail_and_tell(worker, stream->peer);
        }
    }
}

void ri_rtr_lost_decide(ri_worker_t *worker)
{
    lost_decide(worker, INFINITY);
}

void ri_rtr_lost_check_asked(ri_worker_t *worker)
{
    double now = ri_clock_now();

    if (now - worker->rtr.revoking_looked >= ri_rtr_lost_patience / LOST_LOOKS) {
        worker->rtr.revoking_looked = now;
        lost_decide(worker, now - ri_rtr_lost_patience);
    }
}
