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

/* Number of masks by which messages and receives are indexed (match/match.h). */
#define RI_MATCH_CLASSES 6

/* The only list of the kinds of messages, by where the payload of one is that waits for its receive
 * or for its turn: number, table, file of the table. */
/* clang-format off */
#define RI_MSG_KINDS(_k) \
    _k(COPY, copy)       /* recv_start.c: in msg->data */ \
    _k(AM_DATA, am_data) /* recv_start.c: in a descriptor of UCP's, to be released to it */ \
    _k(AM_RNDV, am_rndv) /* recv_start.c: at the sender, to be fetched by UCP */ \
    _k(RTS, rts)         /* fetch.c: at the sender, for a plane; msg->data says where */ \
    _k(PLACED, placed)   /* rtr_meet.c: in the receive's memory */ \
    _k(USED, used)       /* rtr_meet.c: there, or on its way there by a used RTR */ \
    _k(SELF, self)       /* self.c: in the buffer of a send of this worker */
/* clang-format on */

typedef enum ri_msg_kind {
#define RI_MSG_KIND_NUMBER(_number, _table) RI_MSG_##_number,
    RI_MSG_KINDS(RI_MSG_KIND_NUMBER)
#undef RI_MSG_KIND_NUMBER
    RI_MSG_KIND_LAST
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
    uint8_t queued;      /* the message is among the unexpected ones */
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
