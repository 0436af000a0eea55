/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of the types of messages, and what all messages begin with.
 */
#ifndef RI_WIRE_BASE_H
#define RI_WIRE_BASE_H

#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER != __LITTLE_ENDIAN
#error "the wire format is written for little-endian machines"
#endif

/* The version of the wire format: two workers understand each other only if it is equal. */
#define RI_WIRE_VERSION 2

/* Ids of conns and streams on the wire: 24 bits, the upper 4 a generation. */
#define RI_WIRE_ID_BITS       24
#define RI_WIRE_ID_INDEX_BITS 20
#define RI_WIRE_ID_MAX        ((1u << RI_WIRE_ID_BITS) - 1)

/* No message is longer. */
#define RI_WIRE_LENGTH_MAX (1ul << 62)

/* The types of messages. (protocol.md sections 3 and 6) */
typedef enum ri_wire_type {
    /* In the sequence of the sender's conn: each takes one sequence number. */
    RI_WIRE_EAGER      = 1, /* tag, payload */
    RI_WIRE_EAGER_SAME = 2, /* payload; the tag is that of the message before it */
    RI_WIRE_EAGER_SYNC = 3, /* tag, request id, payload; answered by SYNC_ACK on match */
    RI_WIRE_BULK       = 4, /* tag; payload by whatever protocol UCP chooses */
    RI_WIRE_FIRST      = 5, /* tag, the start of a payload; FRAGs with the rest follow */
    RI_WIRE_RTS        = 6, /* tag, request id; the payload says where the data is */
    RI_WIRE_POOL       = 7, /* an RTS of data in the sender's pool; answered by RELEASE */
    RI_WIRE_PLACED     = 8, /* tag, receive id; the data was written by an RTR */

    /* Continues the FIRST with the same sequence number; pieces come in order. */
    RI_WIRE_FRAG = 9,

    /* Out of sequence. */
    RI_WIRE_CONN_REQ       = 16, /* asks for CONN_ACK; always with a hello */
    RI_WIRE_CONN_ACK       = 17, /* the id of the conn's stream at the receiver */
    RI_WIRE_SYNC_ACK       = 18, /* a synchronous message was matched */
    RI_WIRE_RING_OFFER     = 19, /* a ring to send into */
    RI_WIRE_RING_REFUSE    = 20, /* nobody sends into the stream's ring (any more) */
    RI_WIRE_RING_STOP      = 21, /* give the ring back */
    RI_WIRE_RING_CLOSE     = 22, /* in a ring, its last record */
    RI_WIRE_BYE            = 23, /* nothing follows the sequence number */
    RI_WIRE_ORDER_REQ      = 24, /* asks for ORDER_ACK with the same value */
    RI_WIRE_ORDER_ACK      = 25, /* what UCX sent before ORDER_REQ has arrived */
    RI_WIRE_RESET          = 26, /* all that comes from the conn is dropped */
    RI_WIRE_PLANE_REQ      = 27, /* can you reach this process by a plane? */
    RI_WIRE_PLANE_ACK      = 28, /* answers PLANE_REQ */
    RI_WIRE_FIN            = 29, /* the data of an RTS was read, or is not wanted */
    RI_WIRE_NACK           = 30, /* the data of an RTS or POOL could not be read */
    RI_WIRE_RNDV_DATA      = 31, /* the data that a NACK asks for, by UCP's protocols */
    RI_WIRE_RTR            = 32, /* a receive that may be written */
    RI_WIRE_RELEASE        = 33, /* pool buffers that have been read */
    RI_WIRE_CTS            = 34, /* where to write the data of an RTS */
    RI_WIRE_WRITTEN        = 35, /* the data of a CTS is in place */
    RI_WIRE_RING_REQ       = 36, /* the stream's sender would use a ring */
    RI_WIRE_REVOKE         = 37, /* an RTR through a network shall not be used any more */
    RI_WIRE_REVOKED        = 38, /* answers REVOKE */
    RI_WIRE_USED           = 39, /* by which RTRs the stream's messages are written */
    RI_WIRE_TARGET         = 40, /* an RTS was matched, and its message may be sent */
    RI_WIRE_ABANDON        = 41, /* perhaps nothing was sent to a TARGET or RTR_UD */
    RI_WIRE_CHANNEL_OFFER  = 42, /* a buffer that may be written by RDMA */
    RI_WIRE_CHANNEL_ACCEPT = 43, /* where to tell how far a channel was read */
    RI_WIRE_CHANNEL_STOP   = 44, /* write a channel no more */
    RI_WIRE_CHANNEL_CLOSE  = 45, /* nobody writes a channel (any more) */
    RI_WIRE_CHANNEL_AGAIN  = 46, /* what was written, perhaps, when a channel's way
                                    failed; or that this is all */
    RI_WIRE_RTR_UD   = 47, /* a receive that a message may be sent to, as datagrams */
    RI_WIRE_CLOSING  = 48, /* the application closes its last endpoint to that worker */
    RI_WIRE_RTR_GRID = 49, /* a receive in runs that may be written */
    RI_WIRE_LAYOUT   = 50, /* where the runs of receives are that RTRs will name */
    RI_WIRE_RTR_LAYOUT =
            51, /* a receive that may be written, of a layout that was defined */
    RI_WIRE_LAYOUT_REFUSED = 52, /* a definition that is not kept */
    RI_WIRE_TYPE_LAST
} ri_wire_type_t;

/* Flag in the type byte: a hello is appended to the header. */
#define RI_WIRE_FLAG_HELLO 0x80

/* Starts every message. (protocol.md section 3) */
typedef struct ri_wire_base {
    uint8_t type;   /* ri_wire_type_t, perhaps with RI_WIRE_FLAG_HELLO */
    uint8_t id[3];  /* of the conn or stream addressed, at the receiver; 0: see hello */
    uint32_t value; /* sequence number, or the argument of a control message */
} __attribute__((packed)) ri_wire_base_t;

static_assert(sizeof(ri_wire_base_t) == 8, "wire format");

/** Set the id field of a base header. */
static inline void ri_wire_set_id(ri_wire_base_t *base, uint32_t id)
{
    base->id[0] = id;
    base->id[1] = id >> 8;
    base->id[2] = id >> 16;
}

/** @return The id field of a base header. */
static inline uint32_t ri_wire_get_id(const ri_wire_base_t *base)
{
    return base->id[0] | ((uint32_t)base->id[1] << 8) | ((uint32_t)base->id[2] << 16);
}

/** @return Whether a worker may have @a uid: uids are random, but none is as small as the numbers
 * that the map of peers needs for itself (handle_map.h). */
static inline int ri_wire_uid_is_valid(uint64_t uid)
{
    return uid > 1;
}

/** @return Whether @a id may be the id of a conn or stream. */
static inline int ri_wire_id_is_valid(uint32_t id)
{
    return (id != 0) && (id <= RI_WIRE_ID_MAX);
}

#endif
