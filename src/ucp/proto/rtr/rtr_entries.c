/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The entries of a peer are made with its first RTR through a network. An entry that was asked back
 * (REVOKE) and ends before the answer stays taken until progress has dealt with that.
 */
#include "rtr_entries.h"
#include "rtr_state.h"
#include "../../../ucs/random.h"

#include <stdlib.h>

ri_rtr_entries_t *ri_rtr_entries_get(ri_worker_t *worker, ri_peer_t *peer)
{
    ri_rtr_entries_t *entries = peer->rtr.entries;
    uint32_t generation;
    unsigned i;

    if (entries == NULL) {
        entries = calloc(1, sizeof(*entries));
        if (entries == NULL) {
            return NULL;
        }
        entries->worker = worker;
        entries->free   = ~0u;
        ucs_list_head_init(&entries->full);
        ucs_list_head_init(&entries->full_link);
        generation = (uint32_t)ri_random();
        for (i = 0; i < RI_WIRE_RTR_ENTRIES; ++i) {
            entries->entry[i].peer       = peer;
            entries->entry[i].generation = generation;
        }
        peer->rtr.entries = entries;
    }
    return entries;
}

void ri_rtr_entries_wait(ri_recv_req_t *recv, ri_worker_t *worker, ri_peer_t *peer,
                         int first)
{
    ri_rtr_entries_t *entries = ri_rtr_entries_get(worker, peer);

    if (entries == NULL) {
        return; /* without memory the worker sends no RTR to the peer */
    }
    ri_rtr_state_set(recv, RI_RTR_QUEUED);
    recv->rtr.awaits = NULL;
    if (first) {
        ucs_list_add_head(&entries->full, &recv->list);
    } else {
        ucs_list_add_tail(&entries->full, &recv->list);
    }
    ri_rtr_entries_enlist(entries);
}

void ri_rtr_entries_free(ri_rtr_entries_t *entries, ri_rtr_entry_t *entry)
{
    entries->free |= 1u << (entry - entries->entry);
    --entries->worker->num_transfers;
}

void ri_rtr_entries_end(ri_rtr_entry_t *entry)
{
    ri_rtr_entries_t *entries = entry->peer->rtr.entries;
    ri_worker_t *worker       = entries->worker;

    worker->net.rc->ops->release(worker->net.rc, &entry->memory);
    entry->recv = NULL;
    --worker->rtr.num_entries;
    if (entry->notified) {
        ucs_list_del(&entry->list);
        entry->notified = 0;
    }
    if (!entry->revoking) {
        ri_rtr_entries_free(entries, entry);
        return;
    }
    entry->revoking = 0;
    entry->ended    = 1; /* what waits for the answer is looked after in progress */
    --worker->rtr.num_revoking;
    ucs_list_add_tail(&worker->rtr.notified, &entry->list);
}

void ri_rtr_entries_release(ri_recv_req_t *recv)
{
    ri_rtr_entry_t *entry = ri_rtr_entries_of(recv);

    if (entry != NULL) {
        ri_rtr_entries_end(entry);
        recv->rtr.index = RI_RTR_NO_ENTRY;
    }
}
