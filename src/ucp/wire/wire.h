/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The wire format: what this library puts into active messages and into the worker
 * addresses that applications exchange. docs/protocol.md, sections 2 to 4, is normative.
 * Everything is little-endian and packed.
 *
 * To add a message type: give it a number below, its structure and a size assertion; add
 * it to ri_wire_parse() with its length and field checks; describe it in
 * docs/protocol.md sections 3 and following and raise RI_WIRE_VERSION if an old peer could
 * not ignore it; add it to the corpus of test/fuzz and to test/gtest/unit/test_wire.cc.
 */
#ifndef RI_WIRE_H
#define RI_WIRE_H

#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <stdint.h>

#include <ucs/type/status.h>

#include "../../uct/api/plane.h"
#include "../../uct/shm/host.h"

#if __BYTE_ORDER != __LITTLE_ENDIAN
#error "the wire format is written for little-endian machines"
#endif

#define RI_WIRE_VERSION 2

/* Ids of conns and streams on the wire: 24 bits, the upper 4 a generation. */
#define RI_WIRE_ID_BITS       24
#define RI_WIRE_ID_INDEX_BITS 20

typedef enum ri_wire_type {
    /* In the sequence of the sender's conn: each takes one sequence number. */
    RI_WIRE_EAGER      = 1, /* tag, payload */
    RI_WIRE_EAGER_SAME = 2, /* payload; the tag is that of the message before it */
    RI_WIRE_EAGER_SYNC = 3, /* tag, request id, payload; answered by SYNC_ACK on match */
    RI_WIRE_BULK       = 4, /* tag; payload by whatever protocol UCP chooses */
    RI_WIRE_FIRST      = 5, /* tag, the start of a payload; FRAGs with the rest follow */
    RI_WIRE_RTS        = 6, /* tag, request id; where the data is in place of a payload */
    RI_WIRE_POOL       = 7, /* likewise, in the sender's pool; answered by RELEASE */
    RI_WIRE_PLACED     = 8, /* tag, receive id; the data was written by an RTR */

    /* Continues the FIRST with the same sequence number; pieces come in order. */
    RI_WIRE_FRAG = 9,

    /* Out of sequence. */
    RI_WIRE_CONN_REQ    = 16, /* asks for CONN_ACK; always with a hello */
    RI_WIRE_CONN_ACK    = 17, /* to a conn: the id of its stream at the receiver */
    RI_WIRE_SYNC_ACK    = 18, /* to a conn: a synchronous message was matched */
    RI_WIRE_RING_OFFER  = 19, /* to a conn: a ring to send into */
    RI_WIRE_RING_REFUSE = 20, /* to a stream: nobody sends into its ring (any more) */
    RI_WIRE_RING_STOP   = 21, /* to a conn: give the ring back */
    RI_WIRE_RING_CLOSE  = 22, /* in a ring, its last record */
    RI_WIRE_BYE         = 23, /* to a stream: nothing follows the sequence number */
    RI_WIRE_ORDER_REQ   = 24, /* to a stream: asks for ORDER_ACK with the same value */
    RI_WIRE_ORDER_ACK   = 25, /* to a conn: what UCX sent before ORDER_REQ has arrived */
    RI_WIRE_RESET       = 26, /* to a conn: all that comes from it is dropped */
    RI_WIRE_PLANE_REQ   = 27, /* to a stream: can you reach this process by a plane? */
    RI_WIRE_PLANE_ACK   = 28, /* to a conn: the answer */
    RI_WIRE_FIN       = 29, /* to a conn: the data of an RTS was read, or is not wanted */
    RI_WIRE_NACK      = 30, /* to a conn: the data of an RTS or POOL could not be read */
    RI_WIRE_RNDV_DATA = 31, /* to a stream: that data, by UCP's protocols */
    RI_WIRE_RTR       = 32, /* to a conn: a receive that may be written */
    RI_WIRE_RELEASE   = 33, /* to a conn: pool buffers that have been read */
    RI_WIRE_CTS       = 34, /* to a conn: where to write the data of an RTS */
    RI_WIRE_WRITTEN   = 35, /* to a stream: the data of a CTS is in place */
    RI_WIRE_RING_REQ  = 36, /* to a stream: its sender would use a ring */
    RI_WIRE_REVOKE    = 37, /* to a conn: an RTR by message shall not be used any more */
    RI_WIRE_REVOKED   = 38, /* to a stream: the answer */
    RI_WIRE_USED      = 39, /* to a stream: by which RTRs its messages are written */
    RI_WIRE_TARGET  = 40, /* to a conn: an RTS was matched, and its message may be sent */
    RI_WIRE_ABANDON = 41, /* to a stream: it was not, perhaps */
    RI_WIRE_CHANNEL_OFFER  = 42, /* to a conn: a buffer that may be written by RDMA */
    RI_WIRE_CHANNEL_ACCEPT = 43, /* to a stream: where to tell how far that was read */
    RI_WIRE_CHANNEL_STOP   = 44, /* to a conn: write it no more */
    RI_WIRE_CHANNEL_CLOSE  = 45, /* to a stream: nobody writes it (any more) */
    RI_WIRE_CHANNEL_AGAIN  = 46, /* to a stream: what was written, perhaps, when the way
                                    failed; or that this is all */
    RI_WIRE_RTR_UD =
            47, /* to a conn: a receive that a message may be sent to, as datagrams */
    RI_WIRE_CLOSING =
            48, /* to a conn: the application closes its last endpoint to that worker */
    RI_WIRE_TYPE_LAST
} ri_wire_type_t;

/* The value of CONN_REQ if the endpoint has error handling mode PEER: UCX frees the reply
 * endpoint by itself when the connection fails. */
#define RI_WIRE_CONN_REQ_PEER 1

/* Flag in the type byte: a hello is appended to the header. */
#define RI_WIRE_FLAG_HELLO 0x80

/* Starts every message. (protocol.md section 3) */
typedef struct ri_wire_base {
    uint8_t type;   /* ri_wire_type_t, perhaps with RI_WIRE_FLAG_HELLO */
    uint8_t id[3];  /* of the conn or stream addressed, at the receiver; 0: see hello */
    uint32_t value; /* sequence number, or the argument of a control message */
} __attribute__((packed)) ri_wire_base_t;

typedef struct ri_wire_eager {
    ri_wire_base_t base;
    uint64_t tag;
} __attribute__((packed)) ri_wire_eager_t;

typedef struct ri_wire_eager_sync {
    ri_wire_base_t base;
    uint64_t tag;
    uint32_t req_id;   /* of the sender's request, for SYNC_ACK */
    uint32_t reserved; /* 0 */
} __attribute__((packed)) ri_wire_eager_sync_t;

typedef struct ri_wire_first {
    ri_wire_base_t base;
    uint64_t tag;
    uint32_t req_id; /* as in EAGER_SYNC; 0: not synchronous */
    uint32_t total;  /* length of the whole payload */
} __attribute__((packed)) ri_wire_first_t;

typedef struct ri_wire_frag {
    ri_wire_base_t base; /* id: of the sending conn, as in the hello of FIRST */
    uint64_t uid;        /* of the sending worker, likewise */
} __attribute__((packed)) ri_wire_frag_t;

typedef struct ri_wire_conn_ack {
    ri_wire_base_t base; /* value: id of the stream */
    uint64_t uid;        /* of the worker that answers */
} __attribute__((packed)) ri_wire_conn_ack_t;

typedef struct ri_wire_ring_offer {
    ri_wire_base_t base; /* value: size of the ring in bytes */
    uint32_t pid;        /* of the process that made it */
    uint32_t fd;         /* of its memory, open in that process */
    uint32_t stream_id;  /* as CONN_ACK would tell it */
    uint32_t reserved;   /* 0 */
    uint64_t cookie;     /* that its first page must hold */
    uint64_t uid;        /* of the worker that made it */
} __attribute__((packed)) ri_wire_ring_offer_t;

typedef struct ri_wire_ring_stop {
    ri_wire_base_t base; /* value: id of the stream */
    uint64_t uid;        /* of the worker that made the ring */
} __attribute__((packed)) ri_wire_ring_stop_t;

/* RTS and POOL have the header of EAGER_SYNC; this is their payload. */
typedef struct ri_wire_rts {
    uint16_t num_segments; /* 1 to RI_WIRE_SEGMENTS_MAX */
    uint16_t flags;        /* RI_WIRE_RTS_* */
    uint16_t slot;         /* of the ring, for a cooperative copy, plus 1; 0: none */
    uint16_t way; /* with KEYS, AGAIN or SENDS: the lower bits of the number of a way */
    ri_segment_t segments[]; /* with BY_RTR, in place of an address: ri_wire_rtr_name() */
    /* with RI_WIRE_RTS_KEYS: a key of 32 bits for each segment */
} __attribute__((packed)) ri_wire_rts_t;

/* Flags of RTS and POOL. */
#define RI_WIRE_RTS_PUT     1 /* the receiver is to say where to write the data (CTS) */
#define RI_WIRE_RTS_LOW     2 /* the pool is nearly empty: RELEASE at once */
#define RI_WIRE_RTS_OFFERED 4 /* with a slot: the sender may have written all already */
#define RI_WIRE_RTS_KEYS    8 /* by a plane that needs keys, which follow the segments */
#define RI_WIRE_RTS_AGAIN \
    16 /* it was to be written by an RTR, and perhaps was, when the way failed */
#define RI_WIRE_RTS_SENDS \
    32 /* by a plane that takes messages: the receiver is to say where to (TARGET) */
#define RI_WIRE_RTS_BY_RTR \
    64 /* with SENDS: an RTR has said it, and the message is on its way there */

/* PLACED has the header of EAGER_SYNC, with the id of the receive in place of that of a
 * request; this is its payload. */
typedef struct ri_wire_placed {
    uint64_t length; /* of the data */
} __attribute__((packed)) ri_wire_placed_t;

/* The payload of an RTR in a ring. Its record's value is the id of the receive, extra that of the
 * conn addressed, tag the receive's. */
typedef struct ri_wire_rtr {
    uint64_t mask;
    uint64_t address;    /* of the receive's memory */
    uint64_t length;     /* of it */
    uint32_t seen;       /* up to this number the conn's messages have been matched */
    uint16_t ahead;      /* so many later ones that fit go to other receives */
    uint16_t grant;      /* of the ring that carries the RTR */
    uint32_t generation; /* of the grant */
} __attribute__((packed)) ri_wire_rtr_t;

/* RTRs of a peer by message that may be out at a time. */
#define RI_WIRE_RTR_SLOTS 32

/* An RTR by message, for a plane through a network. */
typedef struct ri_wire_rtr_msg {
    ri_wire_base_t base; /* value: id of the receive */
    uint64_t tag;        /* of the receive */
    uint64_t mask;
    uint64_t address;    /* of its memory */
    uint64_t length;     /* of it */
    uint32_t key;        /* for it */
    uint32_t way;        /* that the key is for: its number */
    uint32_t seen;       /* as of ri_wire_rtr_t */
    uint32_t generation; /* of the slot */
    uint16_t ahead;      /* as of ri_wire_rtr_t */
    uint16_t slot;       /* names the RTR, with the generation */
} __attribute__((packed)) ri_wire_rtr_msg_t;

/* An RTR by message, for a plane that takes messages. */
typedef struct ri_wire_rtr_ud {
    ri_wire_base_t base; /* as of ri_wire_rtr_msg_t, and so are others */
    uint64_t tag;
    uint64_t mask;
    uint32_t way;
    uint32_t seen;
    uint32_t generation;
    uint16_t ahead;
    uint16_t slot;
    uint8_t target[RI_PLANE_TARGET_SIZE]; /* the plane's; it says the length, too */
} __attribute__((packed)) ri_wire_rtr_ud_t;

typedef struct ri_wire_revoke {
    ri_wire_base_t base; /* value: generation */
    uint16_t slot;
    uint16_t reserved;  /* 0 */
    uint32_t stream_id; /* of the receiver's stream, for the answer */
    uint64_t uid;       /* of the receiver */
} __attribute__((packed)) ri_wire_revoke_t;

typedef struct ri_wire_revoked {
    ri_wire_base_t base; /* value: generation */
    uint16_t slot;
    uint16_t flags;    /* RI_WIRE_REVOKED_* */
    uint32_t reserved; /* 0 */
} __attribute__((packed)) ri_wire_revoked_t;

/* Flag of REVOKED: it is too late, the RTR was used. */
#define RI_WIRE_REVOKED_USED 1

/* Messages that one USED tells of. */
#define RI_WIRE_USED_MAX 12

typedef struct ri_wire_used {
    ri_wire_base_t base; /* value: number of the first message; they follow each other */
    uint32_t count;      /* of them, from 1 on */
    uint32_t rtrs[RI_WIRE_USED_MAX]; /* ri_wire_used_rtr() */
} __attribute__((packed)) ri_wire_used_t;

/* The immediate of a write by an RTR. Bits 0 to 15: of the message's number. */
#define RI_WIRE_IMM_NUMBER     0xffffu
#define RI_WIRE_IMM_SHORT      (1u << 16) /* the length is that of the write */
#define RI_WIRE_IMM_SLOT_SHIFT 17
#define RI_WIRE_IMM_GEN_SHIFT  22 /* the lower bits of the generation */
#define RI_WIRE_IMM_GEN_MASK   0x3ffu

/* A message whose number is so much above the RTR's `seen` does not use it. */
#define RI_WIRE_IMM_WINDOW 0x8000u

/* About the eager channel through a network. */
typedef struct ri_wire_channel {
    ri_wire_base_t
            base; /* value: OFFER: size of the buffer; CLOSE: position up to which it
                            was written; else 0 */
    uint32_t stream_id; /* OFFER, STOP: of the stream; else 0 */
    uint32_t serial;    /* of the channel, among all of its receiver's */
    uint64_t uid;       /* OFFER, STOP: of the receiver; else 0 */
    uint64_t address;   /* OFFER: of the buffer; ACCEPT: of the sender's word; else 0 */
    uint64_t number;    /* OFFER: random, goes into stamps and sums; else 0 */
    uint32_t key;       /* for what is at the address */
    uint32_t way;       /* OFFER: that the keys are for: its number; CLOSE: why; else 0 */
} __attribute__((packed)) ri_wire_channel_t;

/* Why a CLOSE is sent. */
#define RI_WIRE_CHANNEL_REFUSED 0 /* nothing was ever written */
#define RI_WIRE_CHANNEL_CLOSED  1 /* nothing is written behind the position */
#define RI_WIRE_CHANNEL_UNKNOWN 2 /* the conn is gone, and with it the position */

/* A record of a channel by active message; the payload is the record's. */
typedef struct ri_wire_channel_again {
    ri_wire_base_t base; /* value: position of the record */
    uint32_t serial;     /* of the channel */
    uint32_t way;        /* that it was written by: its number */
    uint64_t tag;        /* of the record */
    uint32_t value; /* of the record; with RI_WIRE_CHANNEL_ALL: how many there were */
    uint32_t extra; /* of the record */
    uint8_t type;   /* of the record, or RI_WIRE_CHANNEL_ALL */
    uint8_t zero[7];
} __attribute__((packed)) ri_wire_channel_again_t;

/* In place of a type: nothing more is sent again. */
#define RI_WIRE_CHANNEL_ALL 0xff

typedef struct ri_wire_cts {
    ri_wire_base_t base; /* value: id of the sender's request */
    uint32_t recv_id;    /* for WRITTEN, or RNDV_DATA */
    uint32_t key;        /* of that memory, if the RTS has keys; else 0 */
    uint64_t address;    /* where the data goes; its length is that of the RTS */
} __attribute__((packed)) ri_wire_cts_t;

typedef struct ri_wire_target {
    ri_wire_base_t base;                  /* value: id of the sender's request */
    uint32_t recv_id;                     /* for ABANDON */
    uint32_t sn;                          /* of the RTS */
    uint32_t way;                         /* that the target is for: its number */
    uint32_t flags;                       /* RI_WIRE_TARGET_* */
    uint8_t target[RI_PLANE_TARGET_SIZE]; /* the plane's */
} __attribute__((packed)) ri_wire_target_t;

/* Flag of TARGET: there is none, or the one before is none any more. */
#define RI_WIRE_TARGET_VOID 1

/* Flag of TARGET: it is about no RTS. All that was sent to the target has been received. */
#define RI_WIRE_TARGET_RECEIVED 2

typedef struct ri_wire_abandon {
    ri_wire_base_t base; /* value: id of the sender's request */
    uint32_t recv_id;    /* of TARGET or RTR */
    uint32_t sn;         /* of the RTS */
} __attribute__((packed)) ri_wire_abandon_t;

/* Pool buffers that one RELEASE names. */
#define RI_WIRE_RELEASE_MAX 8

typedef struct ri_wire_release {
    ri_wire_base_t base; /* value: how many, from 1 on */
    uint32_t ids[RI_WIRE_RELEASE_MAX];
} __attribute__((packed)) ri_wire_release_t;

typedef struct ri_wire_plane {
    ri_wire_base_t base; /* value: RI_WIRE_PLANE_* */
    uint8_t plane;       /* ri_wire_plane_id_t */
    uint8_t length;      /* of the address */
    uint16_t asked; /* PLANE_ACK: of the way of PLANE_REQ, the lower bits of its number */
    uint32_t way; /* RC, UD: number of that whose address this is, or of the latest one */
    uint8_t address[RI_PLANE_ADDRESS_MAX]; /* of the sending process */
} __attribute__((packed)) ri_wire_plane_t;

typedef struct ri_wire_nack {
    ri_wire_base_t base; /* value: req_id of the RTS or POOL */
    uint32_t recv_id;    /* for RNDV_DATA */
    uint32_t flags;      /* RI_WIRE_NACK_* */
} __attribute__((packed)) ri_wire_nack_t;

/* Flags of NACK */
#define RI_WIRE_NACK_POOL 1 /* it is about a POOL; the value is the id of its buffer */
#define RI_WIRE_NACK_WAY  2 /* its sender has no way through a network (any more) */

/* Who sends; appended to the header until the receiver's id is known. */
typedef struct ri_wire_hello {
    uint32_t magic;  /* RI_WIRE_MAGIC */
    uint8_t version; /* RI_WIRE_VERSION */
    uint8_t flags;   /* 0 */
    uint16_t am_id;  /* of the sending worker, as in its address */
    uint64_t uid;    /* of the sending worker */
    uint64_t host; /* ri_host_id(): whether /proc/<pid> may mean the same; 0: no rings */
    uint32_t conn_id; /* of the sending conn, for what is addressed to it */
    uint32_t serial;  /* of the sending conn among all that its worker ever had; tells
                          conns apart that had the same id at different times */
} __attribute__((packed)) ri_wire_hello_t;

#define RI_WIRE_MAGIC 0x49524355u /* "UCRI" */

/*
 * In front of a worker's stock address. To a stock UCX, the first ten bytes are a complete
 * address that offers no transport: creating an endpoint to it fails at once with
 * UCS_ERR_UNREACHABLE, instead of connecting to a worker that speaks another protocol.
 */
typedef struct ri_wire_address {
    uint8_t stock_header; /* 0: stock address format version 1, no flags */
    uint64_t uid;         /* of the worker, where stock has it too */
    uint8_t stock_end;    /* 0xff: no devices */
    uint64_t magic;       /* RI_WIRE_ADDRESS_MAGIC */
    uint8_t version;      /* RI_WIRE_VERSION */
    uint8_t length;       /* of this structure; the stock address follows */
    uint16_t am_id;       /* 1 + the active message id that the worker takes messages by;
                             0: that of whoever reads this */
    uint16_t reserved;    /* 0 */
    ri_host_process_t process; /* that has the worker */
} __attribute__((packed)) ri_wire_address_t;

#define RI_WIRE_ADDRESS_MAGIC 0x524441495258435ful /* "_CXRIADR" */

/* What a worker says of itself, in its address and in hellos. */
typedef struct ri_wire_worker {
    uint64_t uid;   /* 0: not known */
    uint16_t am_id; /* as in the address */
} ri_wire_worker_t;

/* The highest active message id that an address can tell. */
#define RI_WIRE_AM_ID_MAX (UINT16_MAX - 1)

static_assert(sizeof(ri_wire_base_t) == 8, "wire format");
static_assert(sizeof(ri_wire_eager_t) == 16, "wire format");
static_assert(sizeof(ri_wire_eager_sync_t) == 24, "wire format");
static_assert(sizeof(ri_wire_first_t) == 24, "wire format");
static_assert(sizeof(ri_wire_frag_t) == 16, "wire format");
static_assert(sizeof(ri_wire_conn_ack_t) == 16, "wire format");
static_assert(sizeof(ri_wire_ring_stop_t) == 16, "wire format");
static_assert(sizeof(ri_wire_ring_offer_t) == 40, "wire format");
static_assert(sizeof(ri_wire_rts_t) == 8, "wire format");
static_assert(sizeof(ri_wire_plane_t) == 48, "wire format");
static_assert(sizeof(ri_wire_nack_t) == 16, "wire format");
static_assert(sizeof(ri_wire_placed_t) == 8, "wire format");
static_assert(sizeof(ri_wire_rtr_t) == 36, "wire format");
static_assert(sizeof(ri_wire_rtr_msg_t) == 60, "wire format");
static_assert(sizeof(ri_wire_rtr_ud_t) == 72, "wire format");
static_assert(sizeof(ri_wire_revoke_t) == 24, "wire format");
static_assert(sizeof(ri_wire_revoked_t) == 16, "wire format");
static_assert(sizeof(ri_wire_used_t) == 60, "wire format");
static_assert(sizeof(ri_wire_channel_t) == 48, "wire format");
static_assert(sizeof(ri_wire_channel_again_t) == 40, "wire format");
static_assert(sizeof(ri_wire_cts_t) == 24, "wire format");
static_assert(sizeof(ri_wire_target_t) == 56, "wire format");
static_assert(sizeof(ri_wire_abandon_t) == 16, "wire format");
static_assert(sizeof(ri_wire_release_t) == 40, "wire format");
static_assert(sizeof(ri_wire_hello_t) == 32, "wire format");
static_assert(sizeof(ri_wire_address_t) == 40, "wire format");

/* Planes, by number. */
typedef enum ri_wire_plane_id {
    RI_WIRE_PLANE_CMA     = 1,
    RI_WIRE_PLANE_RC      = 2,
    RI_WIRE_PLANE_PROCESS = 3, /* moves nothing: tells of processes that end */
    RI_WIRE_PLANE_UD      = 4
} ri_wire_plane_id_t;

/* The value of PLANE_ACK. */
#define RI_WIRE_PLANE_REACHED 1 /* the sender of PLANE_REQ can be reached; or agreed */
#define RI_WIRE_PLANE_LATER   4 /* it cannot, but may ask again */

/* The value of PLANE_REQ: instead of asking, it tells. */
#define RI_WIRE_PLANE_WRITES \
    1 /* its sender can write into the receiver's memory, and takes
                                  RTRs */

/* That of both: about giving a way of the planes rc or ud up. */
#define RI_WIRE_PLANE_LEAVE 2

/* Likewise: its sender has given up its end of that way. */
#define RI_WIRE_PLANE_GONE 8

/* No message is longer. */
#define RI_WIRE_LENGTH_MAX (1ul << 62)

/* The most pieces that the data of an RTS may be in. */
#define RI_WIRE_SEGMENTS_MAX 16
#define RI_WIRE_RTS_MAX \
    (sizeof(ri_wire_rts_t) + \
     RI_WIRE_SEGMENTS_MAX * (sizeof(ri_segment_t) + sizeof(uint32_t)))

/* The longest payload that may come in pieces. */
#define RI_WIRE_FIRST_MAX 65536

/* The longest control message */
#define RI_WIRE_CONTROL_MAX sizeof(ri_wire_rtr_ud_t)

/* The payload that goes into the shortest kind of active message (about 92 bytes over
 * shared memory) beside a header, with and without a hello. */
#define RI_WIRE_SHORT_HELLO 32
#define RI_WIRE_SHORT       72

/* The longest header of others: EAGER_SYNC or FIRST with a hello. */
#define RI_WIRE_HEADER_MAX (sizeof(ri_wire_eager_sync_t) + sizeof(ri_wire_hello_t))

/* A message after parsing and validation, in host form. */
typedef struct ri_wire_msg {
    ri_wire_type_t type; /* without flags */
    uint32_t id;
    uint32_t value;
    uint64_t tag;        /* EAGER, EAGER_SYNC, BULK, FIRST, RTS, POOL, PLACED, RTR* */
    uint32_t req_id;     /* EAGER_SYNC, FIRST, RTS, POOL; of PLACED: of the receive */
    uint32_t recv_id;    /* NACK, CTS, TARGET, ABANDON */
    uint32_t flags;      /* NACK, REVOKED, TARGET */
    uint64_t address;    /* CTS, RTR, CHANNEL_OFFER, CHANNEL_ACCEPT */
    uint32_t key;        /* likewise */
    uint64_t mask;       /* RTR, RTR_UD, and what follows */
    uint64_t rtr_length; /* not RTR_UD */
    uint32_t seen;
    uint32_t generation; /* RTR, RTR_UD, REVOKE, REVOKED */
    uint16_t ahead;
    uint16_t slot;         /* likewise */
    uint32_t stream_id;    /* REVOKE, CHANNEL_OFFER, CHANNEL_STOP */
    uint32_t serial;       /* CHANNEL_* */
    uint64_t number;       /* CHANNEL_OFFER */
    uint8_t record_type;   /* CHANNEL_AGAIN, whose tag is the record's */
    uint32_t record_value; /* likewise */
    uint32_t record_extra;
    uint32_t used_count;                   /* USED */
    uint32_t used[RI_WIRE_USED_MAX];       /* likewise */
    uint32_t release[RI_WIRE_RELEASE_MAX]; /* RELEASE: value of them */
    uint8_t plane;                         /* PLANE_REQ, PLANE_ACK */
    uint8_t plane_address_length;
    uint8_t plane_address[RI_PLANE_ADDRESS_MAX];
    uint16_t asked; /* likewise */
    uint32_t way;   /* likewise; TARGET, RTR*, CHANNEL_OFFER, _CLOSE, _AGAIN */
    uint32_t sn;    /* TARGET, ABANDON */
    uint8_t target[RI_PLANE_TARGET_SIZE]; /* TARGET, RTR_UD */
    uint32_t total;                       /* FIRST */
    uint64_t uid;      /* CONN_ACK, FRAG, RING_OFFER, RING_STOP, REVOKE, CHANNEL_* */
    uint32_t ring_pid; /* RING_OFFER */
    uint32_t ring_fd;
    uint32_t ring_stream_id;
    uint64_t ring_cookie;
    int has_hello;
    ri_wire_hello_t hello;
    const void *payload; /* in the caller's buffer; NULL if the data is elsewhere */
    size_t length;       /* of the payload */
} ri_wire_msg_t;

/** Set the id field of a base header. */
static inline void ri_wire_set_id(ri_wire_base_t *base, uint32_t id)
{
    base->id[0] = id;
    base->id[1] = id >> 8;
    base->id[2] = id >> 16;
}

static inline uint32_t ri_wire_get_id(const ri_wire_base_t *base)
{
    return base->id[0] | ((uint32_t)base->id[1] << 8) | ((uint32_t)base->id[2] << 16);
}

/* Uids are random; the smallest are reserved by the map of peers (handle_map.h). */
static inline int ri_wire_uid_is_valid(uint64_t uid)
{
    return uid > 1;
}

static inline int ri_wire_id_is_valid(uint32_t id)
{
    return (id != 0) && ((id >> RI_WIRE_ID_BITS) == 0);
}

/** @return The length of a checked RTS or POOL payload. */
static inline size_t ri_wire_rts_length(const ri_wire_rts_t *rts)
{
    size_t of_key = (rts->flags & RI_WIRE_RTS_KEYS) ? sizeof(uint32_t) : 0;

    return sizeof(*rts) + rts->num_segments * (sizeof(rts->segments[0]) + of_key);
}

/** @return How an RTS names the RTR that its message was sent by. */
static inline uint64_t ri_wire_rtr_name(uint16_t slot, uint32_t generation)
{
    return ((uint64_t)slot << 32) | generation;
}

/** @return How USED names an RTR. */
static inline uint32_t ri_wire_used_rtr(uint32_t slot, uint32_t generation)
{
    return slot | (generation * RI_WIRE_RTR_SLOTS);
}

static inline int ri_wire_type_in_sequence(ri_wire_type_t type)
{
    return (type >= RI_WIRE_EAGER) && (type <= RI_WIRE_PLACED);
}

/**
 * Take an active message apart and check it (protocol.md section 3). Trusts nothing and
 * reads nothing beyond the given lengths.
 *
 * @param header  UCP's active message header; where it is empty, the message's header
 *                stands at the head of @a data.
 * @param data    Payload; not read if @a data_elsewhere.
 * @param length  Of @a data.
 * @param data_elsewhere  @a data is a descriptor of data that is still at the sender.
 * @param msg     Filled.
 *
 * @return UCS_OK, UCS_ERR_INVALID_PARAM for a malformed message, UCS_ERR_UNSUPPORTED for
 *         a hello of another wire version (msg->hello is valid then).
 */
ucs_status_t ri_wire_parse(const void *header, size_t header_length, const void *data,
                           size_t length, int data_elsewhere, ri_wire_msg_t *msg);

/**
 * Check the payload of an RTS or POOL.
 *
 * @param total  Set to the length of the data in all.
 *
 * @return UCS_OK or UCS_ERR_INVALID_PARAM.
 */
ucs_status_t ri_wire_check_rts(const void *payload, size_t length, size_t *total);

/** Check the payload of PLACED, likewise. */
ucs_status_t ri_wire_check_placed(const void *payload, size_t length, size_t *total);

/**
 * Look for this library's part in front of a worker address.
 *
 * @param address   An address as an application hands it over; its length is not known.
 * @param stock     Set to the stock address within it.
 * @param worker    Set to what that part says of the worker, if there is one. Its am_id is 0 if
 *                  it is of another version.
 *
 * @return UCS_OK, UCS_ERR_NO_ELEM for a plain stock address, UCS_ERR_UNSUPPORTED for
 *         another wire version; @a stock is valid in each case.
 */
ucs_status_t ri_wire_address_parse(const void *address, const void **stock,
                                   ri_wire_worker_t *worker);

/** @return The process that has the worker of an address for which ri_wire_address_parse() has
 * returned UCS_OK; host is 0 if the address does not say. Wire input. */
ri_host_process_t ri_wire_address_process(const void *address);

/** Write this library's part of the address of @a worker. */
void ri_wire_address_pack(ri_wire_address_t *prefix, const ri_wire_worker_t *worker);

#endif
