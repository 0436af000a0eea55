/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of RTRs by message, the receiver's side (rtr_message.h): what is known of one that
 * is out.
 */
#ifndef RI_RTR_SLOTS_H
#define RI_RTR_SLOTS_H

#include "../../core/worker.h"

#define RI_RTR_NO_SLOT UINT8_MAX

/* An RTR that is out. */
typedef struct ri_rtr_slot {
    ucs_list_link_t list; /* in worker->rtr_notified, if it has news */
    ri_recv_req_t *recv;  /* NULL: free, or its end is not dealt with yet */
    ri_peer_t *peer;
    uint64_t tag;        /* of the receive */
    uint32_t generation; /* of its latest RTR, which may be one by ud */
    uint32_t seen;
    uint32_t immediate; /* notified */
    size_t length;      /* likewise */
    uint8_t notified;
    uint8_t ended;    /* it was taken back while that was asked for */
    uint8_t revoking; /* REVOKE is not answered yet */
    double asked;     /* when that was sent */
    ri_plane_memory_t memory;
} ri_rtr_slot_t;

typedef struct ri_rtr_slots {
    ri_worker_t *worker;
    ucs_list_link_t full; /* QUEUED receives that wait for room at this peer, in order */
    ucs_list_link_t
            full_link; /* in worker->rtr_full, if there are any; else self-linked */
    uint32_t free;     /* one bit for each */
    ri_rtr_slot_t slot[RI_WIRE_RTR_SLOTS];
} ri_rtr_slots_t;

/** @return Those of a peer, of which RTRs by ud take numbers and generations, too; NULL without
 * memory. */
ri_rtr_slots_t *ri_rtr_slots_get(ri_worker_t *worker, ri_peer_t *peer);

/** Have a peer's turn come, for whom receives wait, behind all others. */
static inline void ri_rtr_slots_enlist(ri_rtr_slots_t *slots)
{
    if (ucs_list_is_empty(&slots->full_link)) {
        ucs_list_add_tail(&slots->worker->rtr_full, &slots->full_link);
        ++slots->worker->num_rtr_full;
    }
}

/** It has no turn any more. */
static inline void ri_rtr_slots_delist(ri_rtr_slots_t *slots)
{
    if (!ucs_list_is_empty(&slots->full_link)) {
        ucs_list_del(&slots->full_link);
        ucs_list_head_init(&slots->full_link);
        --slots->worker->num_rtr_full;
    }
}

/** Have a receive that is to send an RTR wait for room at a peer, @a first or behind all
 * others. Without memory it sends none. */
void ri_rtr_slots_wait(ri_recv_req_t *recv, ri_worker_t *worker, ri_peer_t *peer,
                       int first);

/** The peer is forgotten: nobody waits for room any more. @a slots may be NULL. */
void ri_rtr_slots_forget(ri_rtr_slots_t *slots);

/** Something has been answered, or need not be any more, about a receive of this tag: go on with
 * what waited for that. */
void ri_rtr_message_decided(ri_worker_t *worker, uint64_t tag);

/** @return The slot of a receive, or NULL if it has none (any more). */
static inline ri_rtr_slot_t *ri_rtr_slot(const ri_recv_req_t *recv)
{
    return (((recv->rtr == RI_RTR_SENT) || (recv->rtr == RI_RTR_PROMISED) ||
             (recv->rtr == RI_RTR_NAMED)) &&
            (recv->rtr_index != RI_RTR_NO_SLOT)) ?
                   &recv->rtr_stream->peer->rtr_slots->slot[recv->rtr_index] :
                   NULL;
}

/** @return The number of the message whose write a slot's notification is about. */
static inline uint32_t ri_rtr_slot_number(const ri_rtr_slot_t *slot)
{
    return slot->seen + (uint16_t)(slot->immediate - slot->seen);
}

/** @return Likewise, its length. Wire input. */
static inline size_t ri_rtr_slot_length(const ri_rtr_slot_t *slot)
{
    return (slot->immediate & RI_WIRE_IMM_SHORT) ? slot->length : slot->recv->data.length;
}

#endif
