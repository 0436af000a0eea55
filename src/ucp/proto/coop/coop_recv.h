/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's side of cooperative copies (coop.h).
 */
#ifndef RI_COOP_RECV_H
#define RI_COOP_RECV_H

#include "../../core/types/fetch_proto.h"
#include "coop_copy.h"

/* The slot that an RTS names, when that is matched. */
struct ri_coop_named {
    ri_ring_slot_t *slot; /* NULL: it is not there (any more) */
    uint64_t address;     /* of a receive, if the sender knew that first; else 0 */
    int offered;          /* the sender may have written by it */
};

/** Look for the slot that an RTS names; it names one. Nothing is changed. @return What is known of
 * it; its slot is NULL if the ring or the slot is not there any more, or is of another message. */
ri_coop_named_t ri_coop_recv_find_named(const ri_recv_req_t *recv,
                                        const ri_stream_t *stream, uint32_t req_id,
                                        const ri_wire_rts_t *rts);

/** No further message of a stream, which has a ring, is matched. The sender writes no more into
 * receives that it knows of, when this returns: it is waited for, within limits (link/quiesce.h).
 * Copies whose message was matched go on and end by themselves. */
void ri_coop_recv_close_slots(ri_stream_t *stream);

/** The copy of a receive has ended, as @a state says: it is freed. The receive completes, or waits
 * for its data if the sender is asked for it. A state of BROKEN breaks the stream. Calls back; a
 * stream that is not busy may be gone afterwards. */
void ri_coop_recv_end(ri_coop_t *coop, ri_coop_state_t state);

#endif
