/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One side of a cooperative copy (coop.h): what is known of it, and what becomes of it.
 */
#ifndef RI_COOP_SIDE_H
#define RI_COOP_SIDE_H

#include "../../core/worker.h"
#include "../../../uct/shm/slot.h"

/* The memory of a ring that the stream has given up, while copies need its slots. */
typedef struct ri_coop_ring ri_coop_ring_t;

/* One side of a copy. */
struct ri_coop {
    ucs_list_link_t list; /* in worker->coop.list, the oldest first */
    ri_worker_t *worker;
    ri_ring_slot_t *slot;
    uint32_t total;      /* units of the message */
    uint8_t is_send;     /* else a receive */
    uint8_t known;       /* memory is known, as it always is at the receiver */
    uint8_t offered;     /* of a send: memory was known before the receiver had the RTS */
    uint8_t exhausted;   /* nothing is left to be claimed */
    uint8_t broken;      /* what the slot says cannot be true */
    uint8_t awaits_nack; /* of a send: all is done, but void */
    uint8_t number;      /* of the slot */
    uint8_t begun;       /* this side has copied something, or was about to */
    uint8_t by_shelf;    /* parts have gone by a shelf */
    uint8_t takes;       /* of a receive: it takes parts from a shelf */
    uint8_t spread;      /* this side's data is in runs, see coop_shelf.h */
    uint8_t shelf_only;  /* the sender's data is in runs: nothing goes by the plane */
    uint8_t exchanged;   /* of a receive: one side copies all, see coop_exchange.h */
    uint8_t by_writer;   /* of a receive that is exchanged: the sender copies all */
    uint8_t in_row;      /* one of several messages, see coop_row.h */
    ucs_status_t status; /* of a receive: UCS_OK, or how it has to end */
    /* So often has a step found nothing on the shelf, or no room there, since the latest part
     * went by it; or nothing of what the other side is to copy. */
    unsigned in_vain;
    unsigned polls; /* while it waits for the other side alone */
    /* number of polls until this side looks whether the other one exists */
    unsigned next_check;
    ri_send_req_t *send;
    ri_recv_req_t *recv;
    ri_stream_t *stream;    /* of a receive */
    uint32_t req_id;        /* of a receive: of the sender's request */
    ri_coop_ring_t *ring;   /* of a receive: NULL while the stream has it */
    ri_coop_shelf_t *shelf; /* of a receive: that of its stream; NULL: none */
    uint64_t matched_at;    /* of a receive: ticks (ucs/clock.h) */
    ri_segment_t memory;    /* of the receive */
    size_t num_segments;    /* of the send */
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
};

/* How often a side looks at a shelf in vain before it copies by the plane: for some microseconds,
 * in which a side that is in the library would have put or taken something. */
#define RI_COOP_IN_VAIN_MAX 40

/* Looks more for each unit where one side copies all: it may have other messages before. */
#define RI_COOP_IN_VAIN_UNIT 10

/* The number of units that count for that at most: one call of that side copies them. */
#define RI_COOP_IN_VAIN_UNITS RI_SLOT_CLAIM_ALONE

/* The outcome of a step of a copy. WAITS and WORKED may follow each other any number of times,
 * until one of the other three ends it. */
typedef enum coop_state {
    RI_COOP_WAITS,  /* for the other side; nothing was to be done */
    RI_COOP_WORKED, /* something was copied, more is to come */
    RI_COOP_DONE,   /* nothing more comes, from either side */
    RI_COOP_BROKEN, /* the other side breaks the protocol */
    RI_COOP_GONE    /* the other side does not exist any more */
} ri_coop_state_t;

/** @return Whether a copy has ended: its slot is looked at no more. */
static inline int ri_coop_side_has_ended(ri_coop_state_t state)
{
    return (state != RI_COOP_WAITS) && (state != RI_COOP_WORKED);
}

/** @return The process at the other side, NULL if there is none any more. */
static inline ri_peer_t *ri_coop_side_peer(const ri_coop_t *coop)
{
    return coop->is_send ? coop->send->conn->peer : coop->stream->peer;
}

/** @return Whether either side's data is in runs: then the sender writes nothing by the plane, and
 * the copy goes by a shelf whatever is faster. */
static inline int ri_coop_side_has_runs(const ri_coop_t *coop)
{
    return coop->spread || coop->shelf_only;
}

/** @return Whether nothing of a copy is claimed yet. */
static inline int ri_coop_side_is_untouched(const ri_coop_t *coop)
{
    return !coop->exhausted &&
           (atomic_load_explicit(&coop->slot->claimed, memory_order_relaxed) == 0);
}

/** Receiver: @return Whether the slot was withdrawn, before anything was claimed. It
 * is looked at where this side claims nothing: nothing is left, or the other side is to copy. */
static inline int ri_coop_side_is_withdrawn(const ri_coop_t *coop)
{
    return (coop->shelf_only || coop->by_writer || coop->exhausted) &&
           ri_slot_is_withdrawn(coop->slot);
}

/** @return How often this side looks in vain for what the other side is to copy by the plane. */
static inline unsigned ri_coop_side_patience(const ri_coop_t *coop)
{
    return RI_COOP_IN_VAIN_MAX +
           RI_COOP_IN_VAIN_UNIT * ri_min(coop->total, RI_COOP_IN_VAIN_UNITS);
}

/** This side has copied @a count units that were claimed, or nobody will copy them: count them as
 * done. @return What has become of the copy: RI_COOP_WORKED, DONE or BROKEN. */
static inline ri_coop_state_t ri_coop_side_count(ri_coop_t *coop, uint32_t count)
{
    uint64_t done = ri_slot_add_done(coop->slot, count);

    return (done < coop->total)  ? RI_COOP_WORKED :
           (done == coop->total) ? RI_COOP_DONE :
                                   RI_COOP_BROKEN;
}

#endif
