/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a conn keeps of RTRs that came through a network (proto/rtr/rtr_send_net.h).
 */
#ifndef RI_RTR_TYPES_H
#define RI_RTR_TYPES_H

#include "types.h"
#include "../../uct/shm/ring.h"
#include "../wire/wire.h"

/* Writes by RTRs that came through a network which go on, and of which the receiver has not been
 * told yet, by number. */
typedef struct ri_untold {
    unsigned count;
    struct {
        uint32_t sn;
        uint32_t rtr; /* ri_wire_used_rtr() */
    } write[RI_WIRE_RTR_ENTRIES];
} ri_untold_t;

/* What has become of RTRs that came through a network, by entry: the latest of each. */
typedef struct ri_rtr_words {
    ucs_list_link_t list; /* in peer->rtr.words, when the conn is closed */
    uint32_t conn_id;
    ri_ring_grant_t word[RI_WIRE_RTR_ENTRIES];
} ri_rtr_words_t;

#endif
