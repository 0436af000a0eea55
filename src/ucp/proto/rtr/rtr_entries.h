/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The RTRs through a network that are out to a peer (rtr_net.h), at the receiver's side: each has
 * an entry. RTRs by ud take numbers and generations from there, too. Receives that find none wait
 * for room.
 */
#ifndef RI_RTR_ENTRIES_H
#define RI_RTR_ENTRIES_H

#include "../../core/worker.h"

#define RI_RTR_NO_ENTRY UINT8_MAX

/* An RTR that is out. */
typedef struct ri_rtr_entry {
    ucs_list_link_t list; /* in worker->rtr.notified, if it has news */
    ri_recv_req_t *recv;  /* NULL: free, or its end is not dealt with yet */
    ri_peer_t *peer;
    uint64_t tag;        /* of the receive */
    uint32_t generation; /* of its latest RTR, which may be one by ud */
    uint32_t seen;
    uint32_t immediate; /* notified: what the write has said */
    size_t length;      /* notified: bytes that were written */
    uint8_t notified;
    uint8_t in_runs;  /* the receive is: a message is as long as all of them */
    uint8_t ended;    /* the RTR was withdrawn before REVOKE was answered */
    uint8_t revoking; /* REVOKE is not answered yet */
    double asked;     /* when REVOKE was sent */
    ri_plane_memory_t memory;
} ri_rtr_entry_t;

typedef struct ri_rtr_entries {
    ri_worker_t *worker;
    ucs_list_link_t full; /* QUEUED receives that wait for room at this peer, in order */
    /* in worker->rtr.full, if receives wait for room at this peer; else self-linked */
    ucs_list_link_t full_link;
    uint32_t free; /* one bit for each entry */
    ri_rtr_entry_t entry[RI_WIRE_RTR_ENTRIES];
} ri_rtr_entries_t;

/** @return The entries of a peer, made if need be, of which RTRs by ud take numbers and
 * generations, too; NULL without memory. They are the peer's, and freed with it. */
ri_rtr_entries_t *ri_rtr_entries_get(ri_worker_t *worker, ri_peer_t *peer);

/** Put a peer, for whose entries receives wait, at the end of the list of peers that have a turn.
 * */
static inline void ri_rtr_entries_enlist(ri_rtr_entries_t *entries)
{
    if (ucs_list_is_empty(&entries->full_link)) {
        ucs_list_add_tail(&entries->worker->rtr.full, &entries->full_link);
        ++entries->worker->rtr.num_full;
    }
}

/** Take a peer out of the list of peers that have a turn. */
static inline void ri_rtr_entries_delist(ri_rtr_entries_t *entries)
{
    if (!ucs_list_is_empty(&entries->full_link)) {
        ucs_list_del(&entries->full_link);
        ucs_list_head_init(&entries->full_link);
        --entries->worker->rtr.num_full;
    }
}

/** Have a receive that is to send an RTR and has none wait for room at a peer, @a first or behind
 * all others: it is QUEUED then. Without memory it sends none. */
void ri_rtr_entries_wait(ri_recv_req_t *recv, ri_worker_t *worker, ri_peer_t *peer,
                         int first);

/** The RTR of an entry, which has a key, has ended: nobody writes by it any more. Its memory is
 * released, and the entry forgets its receive. If a REVOKE of it is not answered, the entry is free
 * only after what waits for the answer has been looked after (rtr_notified.h), else at once. */
void ri_rtr_entries_end(ri_rtr_entry_t *entry);

/** Give the place of an entry back, whose RTR has ended: another RTR may have it. */
void ri_rtr_entries_free(ri_rtr_entries_t *entries, ri_rtr_entry_t *entry);

/** Give the entry of a receive back as ri_rtr_entries_end() does, if it has one. Its state
 * stays. */
void ri_rtr_entries_release(ri_recv_req_t *recv);

/** @return The entry of a receive whose RTR has a key; NULL if it has none (any more), or its RTR
 * is another one. */
static inline ri_rtr_entry_t *ri_rtr_entries_of(const ri_recv_req_t *recv)
{
    return (((recv->rtr.state == RI_RTR_BY_KEY) || (recv->rtr.state == RI_RTR_KEY_USED) ||
             (recv->rtr.state == RI_RTR_NAMED)) &&
            (recv->rtr.index != RI_RTR_NO_ENTRY)) ?
                   &recv->rtr.stream->peer->rtr.entries->entry[recv->rtr.index] :
                   NULL;
}

/** @return The number of the message whose write an entry's notification is about. */
static inline uint32_t ri_rtr_entries_number(const ri_rtr_entry_t *entry)
{
    return entry->seen + (uint16_t)(entry->immediate - entry->seen);
}

/** @return The length of the message whose write an entry's notification is about. Wire input. */
static inline size_t ri_rtr_entries_length(const ri_rtr_entry_t *entry)
{
    return (entry->immediate & RI_WIRE_IMM_SHORT) ? entry->length :
                                                    entry->recv->data.length;
}

#endif
