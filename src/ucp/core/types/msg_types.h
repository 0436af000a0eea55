/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A message that waits for its receive or for its turn, and the memory of such messages.
 */
#ifndef RI_MSG_TYPES_H
#define RI_MSG_TYPES_H

#include "types.h"
#include "../../../ucs/tag_index.h"

/* By so many masks messages and receives are indexed (match/match.h). */
#define RI_MATCH_CLASSES 6

/* Where the payload of a message is that waits for its receive or for its turn. */
typedef enum ri_msg_kind {
    RI_MSG_COPY,    /* in msg->data */
    RI_MSG_AM_DATA, /* in a descriptor of UCP's, to be released to it */
    RI_MSG_AM_RNDV, /* at the sender, to be fetched by UCP */
    RI_MSG_RTS,     /* at the sender, to be read by a plane; msg->data says where */
    RI_MSG_PLACED,  /* in the receive's memory */
    RI_MSG_USED, /* in the receive's memory, or on its way there by an RTR that was used */
    RI_MSG_SELF  /* in the buffer of a send of this worker */
} ri_msg_kind_t;

/*
 * A message that waits: unexpected, or early. What it has depends on its kind:
 *
 *   COPY              payload, which is data
 *   AM_DATA           desc, and payload within it
 *   AM_RNDV           desc
 *   RTS               payload, which is data: what the RTS says of the message
 *   PLACED, USED      no payload here
 *   SELF              send
 */
struct ri_msg {
    ri_tag_node_t nodes[RI_MATCH_CLASSES]; /* in the index of each class */
    /* in ri_match_t.unexpected, or in `early`, `assembling` or `probed` of its stream */
    ucs_list_link_t list;
    uint64_t tag;    /* that the sender has given it */
    size_t length;   /* of the payload */
    size_t received; /* bytes of the payload that have come, while pieces are missing */
    ri_stream_t *stream; /* that the message came by; NULL for a self-send */
    uint32_t sn;         /* number of the message in its stream */
    uint32_t req_id;     /* as ri_arrival_t.req_id (order/arrival.h) */
    uint8_t kind;        /* ri_msg_kind_t */
    uint8_t wire_type;   /* ri_wire_type_t by which it came */
    uint8_t queued;      /* it is among the unexpected messages */
    uint8_t size_class;  /* of its own memory, set by ri_msg_alloc() */
    union {
        void *desc; /* AM_DATA, AM_RNDV */
        /* SELF; NULL: it was given up after a probe took the message */
        ri_send_req_t *send;
    };
    const void *payload; /* COPY, RTS: data; AM_DATA: within desc */
    uint8_t data[];      /* COPY, RTS */
};

/* Number of sizes of the memory of messages (msg.c). */
#define RI_MSG_CLASSES 6

/* Memory of messages that were freed, by class of size. */
typedef struct ri_msg_pool {
    ri_msg_t *free[RI_MSG_CLASSES];  /* linked through list.next */
    size_t num_free[RI_MSG_CLASSES]; /* lengths of the lists `free` */
} ri_msg_pool_t;

#endif
