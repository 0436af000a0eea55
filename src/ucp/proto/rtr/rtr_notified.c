/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Notifications are taken in progress, not in the plane's callback, as a completion calls the
 * application. Before a way ends, all that has come by it is taken.
 */
#include "rtr_notified.h"
#include "../../core/types/module.h"
#include "../../link/way.h"
#include "../../order/deliver.h"
#include "../../order/deliver_known.h"
#include "../rndv/rndv.h"
#include "rtr_lost.h"
#include "rtr_net.h"
#include "rtr_revoked.h"
#include "rtr_entries.h"
#include "rtr_done.h"
#include "rtr_state.h"
#include "rtr_used.h"

#include <stdlib.h>

/* A write by the RTR of an entry has ended: that is the message. */
static void notified_take(ri_rtr_entry_t *entry)
{
    ri_recv_req_t *recv  = entry->recv;
    ri_stream_t *stream  = recv->rtr.stream;
    int in_runs          = entry->in_runs;
    uint32_t number      = ri_rtr_entries_number(entry);
    ri_arrival_t arrival = {.sn        = number,
                            .wire_type = RI_WIRE_PLACED,
                            .kind      = RI_MSG_PLACED,
                            .req_id    = recv->id,
                            .tag       = recv->tag,
                            .length    = ri_rtr_entries_length(entry)};

    ++stream->busy;
    ri_way_worked(stream->peer, stream->peer->way.number);
    if (recv->rtr.state == RI_RTR_NAMED) {
        ri_rtr_used_notified(recv, number, arrival.length);
        --stream->busy;
        ri_stream_check_closed(stream);
        return;
    }
    ri_rtr_entries_end(entry);
    recv->rtr.index = RI_RTR_NO_ENTRY;
    ri_rtr_state_set(recv, RI_RTR_WRITTEN);
    if ((arrival.length > recv->data.length) || (arrival.length == 0) ||
        (in_runs && (arrival.length != recv->data.length)) ||
        ((int32_t)(number - stream->next_sn) < 0)) {
        ri_deliver_breaking(stream, "a notification that makes no sense", RI_WIRE_PLACED,
                            arrival.length);
    } else {
        ri_deliver(stream, &arrival);
    }
    --stream->busy;
    ri_stream_check_closed(stream);
}

static unsigned notified_take_all(ri_worker_t *worker)
{
    unsigned count = 0;
    ri_rtr_entry_t *entry;

    while (!ucs_list_is_empty(&worker->rtr.notified)) {
        entry = ucs_list_extract_head(&worker->rtr.notified, ri_rtr_entry_t, list);
        ++count;
        if (entry->ended) {
            entry->ended = 0;
            ri_rtr_entries_free(entry->peer->rtr.entries, entry);
            ri_rtr_revoked_decided(worker, entry->tag);
        } else {
            entry->notified = 0;
            notified_take(entry);
        }
    }
    return count;
}

unsigned ri_rtr_notified_progress(ri_worker_t *worker)
{
    ri_way_check(worker);
    if (ri_unlikely(worker->rtr.num_revoking > 0)) {
        ri_rtr_lost_check_asked(worker);
    }
    return ucs_list_is_empty(&worker->rtr.notified) ? 0 : notified_take_all(worker);
}

int ri_rtr_notified_again(ri_stream_t *stream, ri_arrival_t *arrival)
{
    const ri_wire_rts_t *rts = arrival->data;
    ri_worker_t *worker      = stream->worker;

    if ((uint16_t)stream->peer->way.number == rts->way) {
        ri_way_fail_and_tell(worker, stream->peer);
    }
    notified_take_all(worker);
    if (!stream->broken && ri_rtr_used_again(stream, arrival)) {
        return 1;
    }
    if (stream->broken || !ri_deliver_known_has(stream, arrival->sn)) {
        return 0;
    }
    ri_rndv_answer(stream, arrival->wire_type, arrival->req_id, rts);
    return 1;
}

void ri_rtr_notified_stream_ends(ri_stream_t *stream)
{
    ri_rtr_entry_t *entry, *next;
    ri_worker_t *worker = stream->worker;
    int any;

    do { /* each callback may do anything */
        any = 0;
        ucs_list_for_each_safe(entry, next, &worker->rtr.notified, list) {
            if (entry->ended && (entry->peer == stream->peer)) {
                ucs_list_del(&entry->list);
                entry->ended = 0;
                ri_rtr_entries_free(entry->peer->rtr.entries, entry);
                ri_rtr_revoked_decided(worker, entry->tag);
                any = 1;
                break;
            }
        }
    } while (any);
}

static void notified_way_ended(ri_worker_t *worker, ri_peer_t *peer, int is_lost)
{
    (void)worker;
    ri_rtr_entries_t *entries = peer->rtr.entries;
    ri_rtr_entry_t *entry;
    unsigned i;

    if (is_lost) {
        ri_rtr_lost_way(peer);
    }
    ri_rtr_used_drop(peer);
    for (i = 0; (entries != NULL) && (i < RI_WIRE_RTR_ENTRIES); ++i) {
        entry = &entries->entry[i];
        if ((entry->recv == NULL) || entry->notified) {
            continue;
        }
        if (entry->recv->rtr.state == RI_RTR_BY_KEY) {
            ri_rtr_done_unused(entry->recv);
        } else { /* its message comes again, and nobody else may have the receive */
            ri_rtr_entries_release(entry->recv);
        }
    }
}

static void notified_peer_freed(ri_worker_t *worker, ri_peer_t *peer)
{
    ri_rtr_entries_t *entries = peer->rtr.entries;
    unsigned i;

    (void)worker;
    if (entries == NULL) {
        return;
    }
    while (!ucs_list_is_empty(&entries->full)) { /* nobody waits for room any more */
        ri_rtr_done_unused(ucs_list_head(&entries->full, ri_recv_req_t, list));
    }
    ri_rtr_entries_delist(entries);
    for (i = 0; i < RI_WIRE_RTR_ENTRIES; ++i) {
        assert(entries->entry[i].recv == NULL);
        if (entries->entry[i].ended) {
            ucs_list_del(&entries->entry[i].list);
            ri_rtr_entries_free(entries, &entries->entry[i]);
        }
    }
    peer->rtr.entries = NULL;
    free(entries);
}

/* No sender writes any more by RTRs through a network, when this returns. Messages of this worker
 * to itself that waited for a decision are dropped. */
static void notified_worker_says(ri_worker_t *worker)
{
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        ri_rtr_net_withdraw(stream);
    }
    ri_deliver_drop_self(worker);
}

const ri_module_t ri_module_rtr_notified = {.name        = "rtr_notified",
                                            .worker_says = notified_worker_says,
                                            .way_ended   = notified_way_ended,
                                            .peer_freed  = notified_peer_freed};
