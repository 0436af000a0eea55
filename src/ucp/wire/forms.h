/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The header of each type of message, and the payloads that have a form. All of it is little-endian
 * and packed. docs/protocol.md, sections 3 and 6, is normative. Types that have no structure here
 * consist of the base header. A structure is the header of the type of its name, unless a comment
 * says otherwise.
 *
 * Members named `reserved` are sent as 0 and not read.
 */
#ifndef RI_WIRE_FORMS_H
#define RI_WIRE_FORMS_H

#include "base.h"

#include "../../uct/api/plane.h"

/* Who sends. Appended to a header until the id of the stream is known. */
typedef struct ri_wire_hello {
    uint32_t magic;  /* RI_WIRE_MAGIC */
    uint8_t version; /* RI_WIRE_VERSION */
    uint8_t flags;   /* 0 */
    uint16_t am_id;  /* of the sending worker, as in ri_wire_address_t */
    uint64_t uid;    /* of the sending worker */
    uint64_t host; /* ri_host_id(): whether /proc/<pid> may mean the same; 0: no rings */
    uint32_t conn_id; /* of the sending conn, for what is addressed to it */
    uint32_t serial;  /* of the sending conn among all that its worker ever had; tells
                         conns apart that had the same id at different times */
} __attribute__((packed)) ri_wire_hello_t;

#define RI_WIRE_MAGIC 0x49524355u /* "UCRI" */

/* EAGER, BULK */
typedef struct ri_wire_eager {
    ri_wire_base_t base;
    uint64_t tag;
} __attribute__((packed)) ri_wire_eager_t;

/* EAGER_SYNC, RTS, POOL, PLACED */
typedef struct ri_wire_eager_sync {
    ri_wire_base_t base;
    uint64_t tag;
    uint32_t req_id; /* EAGER_SYNC, RTS: of the sender's request, for answers. POOL: of a
                          pool buffer. PLACED: of the receive that was written */
    uint32_t reserved;
} __attribute__((packed)) ri_wire_eager_sync_t;

typedef struct ri_wire_first {
    ri_wire_base_t base;
    uint64_t tag;
    uint32_t req_id; /* of the sender's request, for SYNC_ACK; 0: not synchronous */
    uint32_t total;  /* length of the whole payload */
} __attribute__((packed)) ri_wire_first_t;

/* The longest payload that may come in pieces. */
#define RI_WIRE_FIRST_MAX 65536

typedef struct ri_wire_frag {
    ri_wire_base_t base; /* id: of the sending conn, as in the hello of FIRST */
    uint64_t uid;        /* of the sending worker, as in the hello of FIRST */
} __attribute__((packed)) ri_wire_frag_t;

/* The value of CONN_REQ if the endpoint has error handling mode PEER: UCX frees the reply
 * endpoint by itself when the connection fails. */
#define RI_WIRE_CONN_REQ_PEER 1

typedef struct ri_wire_conn_ack {
    ri_wire_base_t base; /* value: id of the stream */
    uint64_t uid;        /* of the worker that answers */
} __attribute__((packed)) ri_wire_conn_ack_t;

typedef struct ri_wire_ring_offer {
    ri_wire_base_t base; /* value: size of the ring in bytes */
    uint32_t pid;        /* of the process that made it */
    uint32_t fd;         /* of its memory, open in that process */
    uint32_t stream_id;  /* id of the stream, so that no CONN_ACK is needed */
    uint32_t reserved;
    uint64_t cookie; /* that its first page must hold */
    uint64_t uid;    /* of the worker that made it */
} __attribute__((packed)) ri_wire_ring_offer_t;

typedef struct ri_wire_ring_stop {
    ri_wire_base_t base; /* value: id of the stream */
    uint64_t uid;        /* of the worker that made the ring */
} __attribute__((packed)) ri_wire_ring_stop_t;

/* The payload of RTS and POOL. */
typedef struct ri_wire_rts {
    uint16_t num_segments; /* 1 to RI_WIRE_SEGMENTS_MAX */
    uint16_t flags;        /* RI_WIRE_RTS_* */
    uint16_t slot;         /* of the ring, for a cooperative copy, plus 1; 0: none */
    uint16_t way; /* with KEYS, AGAIN or SENDS: the lower bits of the number of a way */
    ri_segment_t segments[]; /* with BY_RTR, in place of an address: ri_wire_rtr_name() */
    /* with RI_WIRE_RTS_KEYS: a key of 32 bits for each segment */
} __attribute__((packed)) ri_wire_rts_t;

/* The most pieces that the data of an RTS may be in. */
#define RI_WIRE_SEGMENTS_MAX 16
#define RI_WIRE_RTS_MAX \
    (sizeof(ri_wire_rts_t) + \
     RI_WIRE_SEGMENTS_MAX * (sizeof(ri_segment_t) + sizeof(uint32_t)))

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
    64 /* with SENDS: an RTR has said where to, and the message is on its way */
#define RI_WIRE_RTS_SPREAD \
    128 /* the data is in runs: it comes by a shelf only, or as a NACK asks for */
#define RI_WIRE_RTS_ROW 256 /* with a slot: the sender has others on their way */

/* The payload of PLACED. */
typedef struct ri_wire_placed {
    uint64_t length; /* of the data */
} __attribute__((packed)) ri_wire_placed_t;

/* The payload of an RTR in a ring. Its record's value is the id of the receive, extra that of the
 * conn addressed, tag the receive's. */
typedef struct ri_wire_rtr {
    uint64_t mask;
    uint64_t address;    /* of the receive's memory */
    uint64_t length;     /* of the receive's memory */
    uint32_t seen;       /* up to this number the conn's messages have been matched */
    uint16_t ahead;      /* number of later messages that fit and go to other receives */
    uint16_t grant;      /* of the ring that carries the RTR */
    uint32_t generation; /* of the grant */
} __attribute__((packed)) ri_wire_rtr_t;

/* Number of RTRs that went as messages, not by a ring, and may be out at one peer at a time. Each
 * of them has an entry. */
#define RI_WIRE_RTR_ENTRIES 32

/* An RTR through a network, for a plane through a network. */
typedef struct ri_wire_rtr_msg {
    ri_wire_base_t base; /* value: id of the receive */
    uint64_t tag;        /* of the receive */
    uint64_t mask;       /* of the receive */
    uint64_t address;    /* of its memory */
    uint64_t length;     /* of its memory */
    uint32_t key;        /* for its memory */
    uint32_t way;        /* number of the way that the key is for */
    uint32_t seen;       /* see ri_wire_rtr_t */
    uint32_t generation; /* of the entry */
    uint16_t ahead;      /* see ri_wire_rtr_t */
    uint16_t entry;      /* names the RTR, with the generation */
} __attribute__((packed)) ri_wire_rtr_msg_t;

/* Loops of a grid (grid.h), the innermost one first. */
#define RI_WIRE_GRID_LOOPS 3

/* Memory in runs: a run, repeated by loops. No message by itself; see grid.h. */
typedef struct ri_wire_grid {
    uint64_t run; /* bytes of a run */
    struct {
        uint32_t count; /* turns; 1: there is no loop */
        int64_t stride; /* from one turn to the next, in bytes */
    } __attribute__((packed)) loop[RI_WIRE_GRID_LOOPS];
} __attribute__((packed)) ri_wire_grid_t;

/* The payload of an RTR in a ring, of a receive in runs: the address is that of the first one. */
typedef struct ri_wire_rtr_runs {
    ri_wire_rtr_t rtr;
    ri_wire_grid_t grid;
} __attribute__((packed)) ri_wire_rtr_runs_t;

/* Layouts that a receiver may have defined in a ring at a time; each has a slot. */
#define RI_WIRE_LAYOUTS 64

/* The longest definition of a layout. */
#define RI_WIRE_LAYOUT_MAX 4096

/* The payload of an RTR in a ring, of a receive whose layout was defined: the address is that of
 * the receive's buffer. */
typedef struct ri_wire_rtr_layout {
    ri_wire_rtr_t rtr;
    uint64_t count;      /* elements of the layout */
    uint32_t generation; /* of the definition */
    uint16_t slot;       /* of the definition */
    uint16_t reserved;
} __attribute__((packed)) ri_wire_rtr_layout_t;

/* An RTR through a network, of a receive in runs. Up to the entry it is a ri_wire_rtr_msg_t. */
typedef struct ri_wire_rtr_grid {
    ri_wire_base_t base; /* value: id of the receive */
    uint64_t tag;        /* of the receive */
    uint64_t mask;       /* of the receive */
    uint64_t address;    /* of its first run */
    uint64_t length;     /* of all runs */
    uint32_t key;        /* for all of them */
    uint32_t way;        /* number of the way that the key is for */
    uint32_t seen;       /* see ri_wire_rtr_t */
    uint32_t generation; /* of the entry */
    uint16_t ahead;      /* see ri_wire_rtr_t */
    uint16_t entry;      /* names the RTR, with the generation */
    ri_wire_grid_t grid;
} __attribute__((packed)) ri_wire_rtr_grid_t;

/* An RTR through a network, of a receive whose layout was defined. Up to the entry it is a
 * ri_wire_rtr_msg_t. */
typedef struct ri_wire_rtr_layout_msg {
    ri_wire_base_t base; /* value: id of the receive */
    uint64_t tag;        /* of the receive */
    uint64_t mask;       /* of the receive */
    uint64_t address;    /* of its buffer */
    uint64_t length;     /* of all runs */
    uint32_t key;        /* for all of them */
    uint32_t way;        /* number of the way that the key is for */
    uint32_t seen;       /* see ri_wire_rtr_t */
    uint32_t generation; /* of the entry */
    uint16_t ahead;      /* see ri_wire_rtr_t */
    uint16_t entry;      /* names the RTR, with the generation */
    uint64_t count;      /* elements of the layout */
    uint32_t defined;    /* generation of the definition */
    uint16_t slot;       /* of the definition */
    uint16_t reserved;
} __attribute__((packed)) ri_wire_rtr_layout_msg_t;

/* A definition that does not go by a ring. */
typedef struct ri_wire_layout {
    ri_wire_base_t base; /* value: generation of the definition */
    uint16_t slot;       /* of the definition */
    uint16_t reserved;
} __attribute__((packed)) ri_wire_layout_t;

/* A definition that its receiver does not keep. */
typedef struct ri_wire_layout_refused {
    ri_wire_base_t base; /* value: generation of the definition */
    uint16_t slot;       /* of the definition */
    uint16_t flags;      /* RI_WIRE_LAYOUT_REFUSED_* */
} __attribute__((packed)) ri_wire_layout_refused_t;

/* Flag of LAYOUT_REFUSED: the definition came by active message, and the id is that of the stream;
 * else it is that of the conn whose ring it came by. */
#define RI_WIRE_LAYOUT_REFUSED_AM 1

/* An RTR through a network, for a plane that takes messages. */
typedef struct ri_wire_rtr_ud {
    ri_wire_base_t base;                  /* value: id of the receive */
    uint64_t tag;                         /* of the receive */
    uint64_t mask;                        /* of the receive */
    uint32_t way;                         /* number of the way that the target is for */
    uint32_t seen;                        /* see ri_wire_rtr_t */
    uint32_t generation;                  /* of the entry */
    uint16_t ahead;                       /* see ri_wire_rtr_t */
    uint16_t entry;                       /* names the RTR, with the generation */
    uint8_t target[RI_PLANE_TARGET_SIZE]; /* the plane's; it says the length, too */
} __attribute__((packed)) ri_wire_rtr_ud_t;

typedef struct ri_wire_revoke {
    ri_wire_base_t base; /* value: generation of the entry */
    uint16_t entry;      /* of the RTR */
    uint16_t reserved;
    uint32_t stream_id; /* of the receiver's stream, for the answer */
    uint64_t uid;       /* of the receiver */
} __attribute__((packed)) ri_wire_revoke_t;

typedef struct ri_wire_revoked {
    ri_wire_base_t base; /* value: generation of the entry */
    uint16_t entry;      /* of the RTR */
    uint16_t flags;      /* RI_WIRE_REVOKED_* */
    uint32_t reserved;
} __attribute__((packed)) ri_wire_revoked_t;

/* Flag of REVOKED: it is too late, as the RTR was used. */
#define RI_WIRE_REVOKED_USED 1

/* The most messages that one USED tells of. */
#define RI_WIRE_USED_MAX 12

typedef struct ri_wire_used {
    ri_wire_base_t base; /* value: number of the first message; they follow each other */
    uint32_t count;      /* of the messages, from 1 on */
    uint32_t rtrs[RI_WIRE_USED_MAX]; /* ri_wire_used_rtr() */
} __attribute__((packed)) ri_wire_used_t;

/* The immediate of a write by an RTR. Bits 0 to 15: of the message's number. */
#define RI_WIRE_IMM_NUMBER      0xffffu
#define RI_WIRE_IMM_SHORT       (1u << 16) /* the length is that of the write */
#define RI_WIRE_IMM_ENTRY_SHIFT 17
#define RI_WIRE_IMM_GEN_SHIFT   22 /* the lower bits of the generation */
#define RI_WIRE_IMM_GEN_MASK    0x3ffu

/* A message does not use an RTR if its number is above the RTR's `seen` by this number or more. */
#define RI_WIRE_IMM_WINDOW 0x8000u

/* CHANNEL_OFFER, CHANNEL_ACCEPT, CHANNEL_STOP, CHANNEL_CLOSE: about the eager channel through a
 * network. */
typedef struct ri_wire_channel {
    ri_wire_base_t base; /* value: OFFER: size of the buffer; CLOSE: position up to which
                            it was written; else 0 */
    uint32_t stream_id;  /* OFFER, STOP: of the stream; else 0 */
    uint32_t serial;     /* of the channel, among all of its receiver's */
    uint64_t uid;        /* OFFER, STOP: of the receiver; else 0 */
    uint64_t address;    /* OFFER: of the buffer; ACCEPT: of the sender's word; else 0 */
    uint64_t number;     /* OFFER: random, goes into stamps and sums; else 0 */
    uint32_t key;        /* for what is at the address */
    union {
        uint32_t way;    /* OFFER: number of the way that the keys are for; else 0 */
        uint32_t reason; /* CLOSE: RI_WIRE_CHANNEL_* */
    };
} __attribute__((packed)) ri_wire_channel_t;

/* The reason of a CLOSE. */
#define RI_WIRE_CHANNEL_REFUSED 0 /* nothing was ever written */
#define RI_WIRE_CHANNEL_CLOSED  1 /* nothing is written behind the position */
#define RI_WIRE_CHANNEL_UNKNOWN 2 /* the conn is gone, and with it the position */

/* A record of a channel by active message; the payload is the record's. */
typedef struct ri_wire_channel_again {
    ri_wire_base_t base; /* value: position of the record */
    uint32_t serial;     /* of the channel */
    uint32_t way;        /* number of the way that it was written by */
    uint64_t tag;        /* of the record */
    uint32_t value; /* of the record; with RI_WIRE_CHANNEL_ALL: how many there were */
    uint32_t extra; /* of the record */
    uint8_t type;   /* of the record, or RI_WIRE_CHANNEL_ALL */
    uint8_t reserved[7];
} __attribute__((packed)) ri_wire_channel_again_t;

/* In place of a type: nothing more is sent again. */
#define RI_WIRE_CHANNEL_ALL 0xff

typedef struct ri_wire_cts {
    ri_wire_base_t base; /* value: id of the sender's request */
    uint32_t recv_id;    /* for WRITTEN, or RNDV_DATA */
    uint32_t key;        /* of the memory at the address, if the RTS has keys; else 0 */
    uint64_t address;    /* where the data goes; its length is that of the RTS */
} __attribute__((packed)) ri_wire_cts_t;

typedef struct ri_wire_target {
    ri_wire_base_t base;                  /* value: id of the sender's request */
    uint32_t recv_id;                     /* for ABANDON */
    uint32_t sn;                          /* of the RTS */
    uint32_t way;                         /* number of the way that the target is for */
    uint32_t flags;                       /* RI_WIRE_TARGET_* */
    uint8_t target[RI_PLANE_TARGET_SIZE]; /* the plane's */
} __attribute__((packed)) ri_wire_target_t;

/* Flag of TARGET: no target is given, and an earlier one does not hold any more. */
#define RI_WIRE_TARGET_VOID 1

/* Flag of TARGET: it is about no RTS. All that was sent to the target has been received. */
#define RI_WIRE_TARGET_RECEIVED 2

typedef struct ri_wire_abandon {
    ri_wire_base_t base; /* value: id of the sender's request */
    uint32_t recv_id;    /* of TARGET or RTR_UD */
    uint32_t sn;         /* of the RTS */
} __attribute__((packed)) ri_wire_abandon_t;

/* The most pool buffers that one RELEASE names. */
#define RI_WIRE_RELEASE_MAX 8

typedef struct ri_wire_release {
    ri_wire_base_t base;               /* value: how many buffers, from 1 on */
    uint32_t ids[RI_WIRE_RELEASE_MAX]; /* of the buffers */
} __attribute__((packed)) ri_wire_release_t;

/* PLANE_REQ, PLANE_ACK */
typedef struct ri_wire_plane {
    ri_wire_base_t base; /* value: RI_WIRE_PLANE_* */
    uint8_t plane;       /* ri_wire_plane_id_t */
    uint8_t length;      /* of the address */
    uint16_t asked; /* PLANE_ACK: of the way of PLANE_REQ, the lower bits of its number */
    uint32_t way;   /* RC, UD: number of the way of this address, or of the latest way */
    uint8_t address[RI_PLANE_ADDRESS_MAX]; /* of the sending process */
} __attribute__((packed)) ri_wire_plane_t;

/* Planes, by number. */
typedef enum ri_wire_plane_id {
    RI_WIRE_PLANE_CMA     = 1,
    RI_WIRE_PLANE_RC      = 2,
    RI_WIRE_PLANE_PROCESS = 3, /* moves nothing: tells of processes that end */
    RI_WIRE_PLANE_UD      = 4
} ri_wire_plane_id_t;

/* Flags of the value of PLANE_ACK. Without any, the sender of PLANE_REQ cannot be reached. */
#define RI_WIRE_PLANE_REACHED 1 /* the sender of PLANE_REQ can be reached; or agreed */
#define RI_WIRE_PLANE_LATER   4 /* no way yet: the sender of PLANE_REQ may ask again */

/* The value of PLANE_REQ: instead of asking, it tells that its sender can write into the receiver's
 * memory, and takes RTRs. */
#define RI_WIRE_PLANE_WRITES 1

/* The value of PLANE_REQ, with RI_WIRE_PLANE_WRITES: its sender takes RTRs of receives in runs,
 * too; through a network also from a channel. */
#define RI_WIRE_PLANE_GRIDS 16

/* The value of PLANE_REQ, with RI_WIRE_PLANE_WRITES: its sender takes definitions of layouts, and
 * RTRs that name them. */
#define RI_WIRE_PLANE_LAYOUTS 32

/* The value of PLANE_REQ and PLANE_ACK: it is about giving up a way of the plane rc or ud. */
#define RI_WIRE_PLANE_LEAVE 2

/* The value of PLANE_REQ and PLANE_ACK: its sender has given up its end of the way. */
#define RI_WIRE_PLANE_GONE 8

typedef struct ri_wire_nack {
    ri_wire_base_t base; /* value: req_id of the RTS or POOL */
    uint32_t recv_id;    /* for RNDV_DATA */
    uint32_t flags;      /* RI_WIRE_NACK_* */
} __attribute__((packed)) ri_wire_nack_t;

/* Flags of NACK */
#define RI_WIRE_NACK_POOL 1 /* it is about a POOL; the value is the id of its buffer */
#define RI_WIRE_NACK_WAY  2 /* its sender has no way through a network (any more) */

/** @return The flag that a NACK of a message of that type, RTS or POOL, has; 0: none. */
static inline uint32_t ri_wire_nack_flag(uint8_t type)
{
    return (type == RI_WIRE_POOL) ? RI_WIRE_NACK_POOL : 0;
}

/** @return Whether a control message offers a receive, and may be taken from wherever it is: it
 * says by itself what it is about, and may get lost. RTR_LAYOUT goes by active message only. */
static inline int ri_wire_is_rtr(unsigned type)
{
    return (type == RI_WIRE_RTR) || (type == RI_WIRE_RTR_GRID);
}

/** @return The type of the message that a NACK with these flags is about. */
static inline ri_wire_type_t ri_wire_nack_type(uint32_t flags)
{
    return (flags & RI_WIRE_NACK_POOL) ? RI_WIRE_POOL : RI_WIRE_RTS;
}

/* The longest control message */
#define RI_WIRE_CONTROL_MAX sizeof(ri_wire_rtr_grid_t)

/* The payload that goes into the shortest kind of active message (about 92 bytes over
 * shared memory) beside a header, with and without a hello. */
#define RI_WIRE_SHORT_HELLO 32
#define RI_WIRE_SHORT       72

/* The longest header of a message in sequence: EAGER_SYNC or FIRST with a hello. */
#define RI_WIRE_HEADER_MAX (sizeof(ri_wire_eager_sync_t) + sizeof(ri_wire_hello_t))

static_assert(sizeof(ri_wire_hello_t) == 32, "wire format");
static_assert(sizeof(ri_wire_eager_t) == 16, "wire format");
static_assert(sizeof(ri_wire_eager_sync_t) == 24, "wire format");
static_assert(sizeof(ri_wire_first_t) == 24, "wire format");
static_assert(sizeof(ri_wire_frag_t) == 16, "wire format");
static_assert(sizeof(ri_wire_conn_ack_t) == 16, "wire format");
static_assert(sizeof(ri_wire_ring_offer_t) == 40, "wire format");
static_assert(sizeof(ri_wire_ring_stop_t) == 16, "wire format");
static_assert(sizeof(ri_wire_rts_t) == 8, "wire format");
static_assert(sizeof(ri_wire_placed_t) == 8, "wire format");
static_assert(sizeof(ri_wire_rtr_t) == 36, "wire format");
static_assert(sizeof(ri_wire_rtr_runs_t) == 80, "wire format");
static_assert(sizeof(ri_wire_rtr_layout_t) == 52, "wire format");
static_assert(sizeof(ri_wire_rtr_msg_t) == 60, "wire format");
static_assert(sizeof(ri_wire_grid_t) == 44, "wire format");
static_assert(sizeof(ri_wire_rtr_grid_t) == 104, "wire format");
static_assert(sizeof(ri_wire_rtr_layout_msg_t) == 76, "wire format");
static_assert(sizeof(ri_wire_layout_t) == 12, "wire format");
static_assert(sizeof(ri_wire_layout_refused_t) == 12, "wire format");
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
static_assert(sizeof(ri_wire_plane_t) == 48, "wire format");
static_assert(sizeof(ri_wire_nack_t) == 16, "wire format");

/** @return The length of the payload of an RTS or POOL, as its fixed part says. */
static inline size_t ri_wire_rts_length(const ri_wire_rts_t *rts)
{
    size_t of_key = (rts->flags & RI_WIRE_RTS_KEYS) ? sizeof(uint32_t) : 0;

    return sizeof(*rts) + rts->num_segments * (sizeof(rts->segments[0]) + of_key);
}

/** @return How an RTS with RI_WIRE_RTS_BY_RTR names the RTR that its message was sent by. */
static inline uint64_t ri_wire_rtr_name(uint16_t entry, uint32_t generation)
{
    return ((uint64_t)entry << 32) | generation;
}

/** @return How USED names an RTR. */
static inline uint32_t ri_wire_used_rtr(uint32_t entry, uint32_t generation)
{
    return entry | (generation * RI_WIRE_RTR_ENTRIES);
}

#endif
