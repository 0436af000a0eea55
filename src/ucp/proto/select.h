/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The chooser: which protocol carries a message. The only place that knows sizes.
 */
#ifndef RI_SELECT_H
#define RI_SELECT_H

#include "../core/types.h"

typedef enum ri_proto {
    RI_PROTO_SELF,         /* to the own worker: matched at once */
    RI_PROTO_EAGER_RING,   /* into the pair's ring */
    RI_PROTO_EAGER_COPY,   /* one active message, header and payload copied together */
    RI_PROTO_EAGER_GATHER, /* one active message, the payload from the user's buffer */
    RI_PROTO_EAGER_FRAGS,  /* in pieces that need nothing of the receiver */
    RI_PROTO_HYBRID,       /* copied to a pool, from which the receiver reads it */
    RI_PROTO_RECV_RNDV,    /* written into the receive that an RTR offered */
    RI_PROTO_COOP,         /* copied by both sides, whoever has time */
    RI_PROTO_RNDV_GET,     /* the receiver reads it by a data plane */
    RI_PROTO_RNDV_PUT,     /* written by a data plane where the receiver says */
    RI_PROTO_BULK,         /* as UCP chooses for its size */
    RI_PROTO_BULK_RNDV     /* by UCP's rendezvous: completes when it was matched */
} ri_proto_t;

/* Who moves what the sender offers: a wish. */
typedef enum ri_sender_scheme {
    RI_SENDER_SCHEME_AUTO,
    RI_SENDER_SCHEME_GET, /* the receiver reads */
    RI_SENDER_SCHEME_PUT  /* the sender writes */
} ri_sender_scheme_t;

/* The payload that goes into the shortest kind of active message (about 92 bytes over
 * shared memory) beside a header, with and without a hello. */
#define RI_SELECT_SHORT_HELLO 32
#define RI_SELECT_SHORT       72

/* What the choice depends on. */
typedef struct ri_select_param {
    int self;
    int sync;
    int peer_mode; /* the endpoint has error handling mode PEER */
    int has_ring;  /* that may be used now, or waited for */
    int am_ready;  /* UCP has set its connection up */
    int has_hello; /* the header has */
    int contig;
    int host_memory;
    int pieces;         /* the data is in pieces that can be described */
    int plane_read;     /* the peer can read this process's memory */
    int plane_write;    /* this process can write the peer's */
    int receiver_early; /* an RTR is there for this message, and long enough */
    int has_pool;       /* a pool buffer of its length is free */
    int has_slot; /* both sides may copy; if receiver_early, the sender does not have
                           to wait for the receiver to begin */
    ri_sender_scheme_t scheme;
    size_t length;
    size_t hybrid_thresh;
    size_t coop_thresh;
    size_t ring_max;
    size_t eager_thresh;
    size_t am_inline;
} ri_select_param_t;

ri_proto_t ri_select(const ri_select_param_t *param);

#endif
