/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of cooperative copies (coop.h): one side of a copy. coop.c copies, and sees what
 * the other side has copied; how a copy begins and ends is the matter of coop_send.c and
 * coop_recv.c.
 */
#ifndef RI_COOP_COPY_H
#define RI_COOP_COPY_H

#include "coop.h"
#include "../../../uct/shm/slot.h"

/* The memory of a ring that the stream has given up, while copies need its slots. */
typedef struct ri_coop_ring ri_coop_ring_t;

/* One side of a copy. */
struct ri_coop {
    ucs_list_link_t list; /* in worker->coops, oldest first */
    ri_worker_t *worker;
    ri_ring_slot_t *slot;
    uint32_t total;      /* units of the message */
    uint8_t is_send;     /* else a receive */
    uint8_t known;       /* memory is; always of a receive */
    uint8_t offered;     /* of a send: known before the receiver had the RTS */
    uint8_t exhausted;   /* nothing is left to be claimed */
    uint8_t broken;      /* what the slot says cannot be true */
    uint8_t settled;     /* of a send: all is done, but void; waits for NACK */
    uint8_t number;      /* of a send's slot */
    ucs_status_t status; /* of a receive: UCS_OK, or how it has to end */
    unsigned polls;      /* while it waits for the other side alone */
    unsigned next_check; /* so many of them until it is looked whether that exists */
    ri_send_req_t *send;
    ri_recv_req_t *recv;
    ri_stream_t *stream;  /* of a receive */
    uint32_t req_id;      /* likewise: of the sender's request */
    ri_coop_ring_t *ring; /* likewise: NULL while the stream has it */
    ri_segment_t memory;  /* of the receive */
    size_t num_segments;  /* of the send */
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
};

/* What became of a copy. */
typedef enum coop_state {
    RI_COOP_WAITS,  /* for the other side; nothing was to be done */
    RI_COOP_WORKED, /* something was copied, more is to come */
    RI_COOP_DONE,   /* nothing more comes, from either side */
    RI_COOP_BROKEN, /* the other side breaks the protocol */
    RI_COOP_GONE    /* ... does not exist any more */
} ri_coop_state_t;

/** @return A side of a copy that nobody knows of yet, or NULL without memory. */
ri_coop_t *ri_coop_new(ri_worker_t *worker, ri_ring_slot_t *slot, size_t length);

/** Let progress see to it. */
void ri_coop_attach(ri_coop_t *coop);

/** The slot is not used by this side any more, or not for this message. */
void ri_coop_free(ri_coop_t *coop);

/** @return Whether the other process cannot be writing or reading any more. */
int ri_coop_is_peer_gone(const ri_coop_t *coop);

/**
 * This side copies no more: leave nothing for either.
 *
 * @param why      RI_RING_SLOT_*, to be told to the other side; 0: nothing.
 * @param count_p  Set to the units that nobody will copy.
 *
 * @return UCS_OK, or UCS_ERR_INVALID_PARAM if what the slot says cannot be true.
 */
ucs_status_t ri_coop_fail(ri_coop_t *coop, uint32_t why, uint32_t *count_p);

/** Copy the next part, if @a may_copy, and see what the other side has done. */
ri_coop_state_t ri_coop_step(ri_coop_t *coop, int may_copy);

/** Only the other side has something to do, and does it within a call: see whether it has. */
ri_coop_state_t ri_coop_wait(ri_coop_t *coop);

/** A copy has ended in progress. */
void ri_coop_end(ri_coop_t *coop, ri_coop_state_t state);

/** Sender: @return Whether it may copy, or has to wait for something else. */
int ri_coop_is_ready(ri_coop_t *coop);

/** Sender: a copy has ended. */
void ri_coop_end_send(ri_coop_t *coop, ri_coop_state_t state);

/** Receiver: a copy has ended. @return The receive's status, or UCS_INPROGRESS if the data
 * comes another way. The slot and @a coop are not to be used any more. */
ucs_status_t ri_coop_end_recv(ri_coop_t *coop, ri_coop_state_t state);

/** Sender: the request of a copy that is being freed has none any more. */
void ri_coop_detach_send(ri_coop_t *coop);

/** Receiver: likewise its stream, and the ring's memory. */
void ri_coop_detach_recv(ri_coop_t *coop);

#endif
