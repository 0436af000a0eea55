/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The RTRs that came through a network, as a conn keeps them (proto/rtr/rtr_send_words.h).
 */
#ifndef RI_RTR_TYPES_H
#define RI_RTR_TYPES_H

#include "types.h"
#include "../../../uct/shm/ring.h"
#include "../../dt/layout_cache.h"
#include "../../wire/wire.h"

/* Writes by RTRs that came through a network which go on, and of which the receiver has not been
 * told yet, by number. */
typedef struct ri_untold {
    unsigned count; /* entries of `write` */
    struct {
        uint32_t sn;  /* number of the message */
        uint32_t rtr; /* ri_wire_used_rtr() */
    } write[RI_WIRE_RTR_ENTRIES];
} ri_untold_t;

/* The fate of the latest RTR of each entry. The structure outlives its conn, as the peer may
 * ask. */
typedef struct ri_rtr_words {
    ucs_list_link_t list; /* in peer->rtr.words, when the conn is closed */
    uint32_t conn_id;     /* of the conn that the RTRs came to */
    ri_ring_grant_t word[RI_WIRE_RTR_ENTRIES]; /* by entry (uct/shm/grant.h) */
} ri_rtr_words_t;

#endif
