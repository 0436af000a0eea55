/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The facts by which proto/select.h chooses the protocol of a message.
 */
#ifndef RI_SELECT_TYPES_H
#define RI_SELECT_TYPES_H

#include "../../../ucs/settings.h"

#include <stddef.h>
#include <stdint.h>

/* The facts by which a protocol is chosen. Planes: RI_PLANE_*, of the one between the two
 * processes. READ: the receiver can read the sender's memory; WRITE: the sender can write the
 * receiver's. */
typedef struct ri_select_param {
    int self;
    int sync;
    int peer_mode;   /* the endpoint has error handling mode PEER */
    int has_ring;    /* there is a ring that may be used now, or waited for */
    int ring_open;   /* an RTS, or what follows a write, would go through the ring now */
    int ring_takes;  /* the ring takes the message, though it is above EAGER_THRESH */
    int has_channel; /* there is a channel that may be used now, and has room */
    int is_behind;   /* earlier messages wait for room in the ring */
    int polls;     /* this worker polls rings, so it cannot sleep while a copy goes on */
    int am_ready;  /* UCP has set its connection up */
    int has_hello; /* the header has a hello */
    int contig;
    int host_memory;
    int pieces;  /* the data is in pieces that can be described */
    int in_runs; /* the data is in runs that are known */
    int spread;  /* the data is in runs that are known, and may go by a shelf */
    int gathers; /* the data is in long runs, which can be written from where they are */
    int awaited; /* the receiver was waiting for the latest long message */
    int rtr_expected; /* no RTR is there, but recent messages had one */
    int pool_free;    /* the pool has a buffer of the length */
    int slot_free;    /* the ring has a slot that is free */
    int peer_sends;   /* the receiver has sent what was not taken yet */
    int exchanges; /* both send at the same time: of a message with a slot one of them copies all */
    int in_row;          /* the message is one of several to the receiver (core/row.h) */
    int alone;           /* no other message to the receiver has a slot */
    int crowded;         /* the two processes may have to take turns on one processor */
    int rtr_by_net;      /* the RTR came through the network; else within the host */
    int rtr_in_runs;     /* the receive whose RTR is for this message is in runs */
    uint64_t rtr_room;   /* of the receive whose RTR is for this message; 0: none is */
    unsigned host_plane; /* within a host */
    unsigned net_plane;  /* through a network */
    ri_sender_scheme_t scheme;
    size_t length;
    size_t hybrid_thresh; /* within a host */
    size_t hybrid_away;   /* within a host, as the receiver is away; 0: it may not be */
    size_t hybrid_net;    /* through a network */
    size_t coop_thresh;
    size_t ring_max;
    size_t channel_max;
    size_t eager_thresh;
    size_t am_inline;
} ri_select_param_t;

#endif
