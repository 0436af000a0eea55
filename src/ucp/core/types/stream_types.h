/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The structure of a stream, the receiver's side of one direction (stream.h).
 */
#ifndef RI_STREAM_TYPES_H
#define RI_STREAM_TYPES_H

#include "types.h"
#include "../notes/counters.h"
#include "../../dt/layout_cache.h"
#include "../../wire/forms.h"
#include "../../../uct/shm/ring.h"

#include <limits.h>

/* ri_stream_t.am_left: no ring or channel is thought about, as this number is never reached. */
#define RI_STREAM_AM_NEVER UINT_MAX

/*
 * The ring of a stream, at the receiver (ri_stream_t.ring_life.state). Legal changes, which
 * ri_stream_ring_set_state() asserts:
 *
 *   NONE -> OPEN   it was made, and is offered
 *   OPEN -> DEAD   RING_REFUSE, RING_CLOSE or BYE has come, or the stream or its peer has failed
 *   OPEN, DEAD -> NONE   it is freed: the worker ends, or it is DEAD and empty
 *
 * There is a ring (ri_stream_t.ring) in OPEN and DEAD. RING_STOP is another matter: in both states,
 * a ring whose place was given to another one is counted by ring_life.stopping until it is freed.
 */
typedef enum ri_stream_ring_state {
    RI_STREAM_RING_NONE, /* there is no ring */
    RI_STREAM_RING_OPEN, /* the sender may map it and send into it */
    RI_STREAM_RING_DEAD, /* nobody sends into it any more; what is in it is still taken out */
    RI_STREAM_RING_STATE_LAST
} ri_stream_ring_state_t;

/* A message that comes through the ring in parts (order/assembly.h). */
typedef struct ri_assembly {
    size_t length;   /* of the whole payload; 0: there is none */
    size_t received; /* bytes of the payload that have come; at most length */
    /* of the payload: in the receive's memory, or the message's; NULL: the receive is in runs */
    uint8_t *dest;
    ri_recv_req_t *recv; /* the receive that was matched, or NULL */
    ri_msg_t *msg;       /* what holds the payload; NULL: it is placed directly */
    uint64_t tag;        /* of the message */
    uint32_t sn;         /* number of the message */
} ri_assembly_t;

/* How the sender, as it has said (link/planes.c), writes to this process's memory past UCP, and so
 * into receives that were offered. */
typedef struct ri_stream_writes {
    int any;         /* the sender writes; 0: it writes nothing */
    uint8_t grids;   /* the sender takes RTRs of receives in regular runs */
    uint8_t layouts; /* the sender takes RTRs that name layouts */
} ri_stream_writes_t;

/*
 * The receiver's side of one direction: one per remote conn that has sent something.
 *
 * Its states are flags. Functions of stream.h change them, and assert what stands here. Most of
 * them are independent of each other:
 *
 *   acked     0 -> 1  CONN_ACK is sent (link/control.c)
 *             1 -> 0  the sender asks once more, as it has not got it (in/handlers.c)
 *   stalled   0 -> 1  the next message may be for a receive whose sender was asked by REVOKE, and
 *                     waits for the answer, as all messages behind it (order/deliver.c)
 *   resumes   0 -> 1  the answer has come, while the stream is stalled; then both become 0, and
 *                     messages are delivered (proto/rtr/rtr_revoked.c)
 *   closed    0 -> 1  BYE has come: closed_sn is the last number (in/handlers.c). It stays so.
 *                     When that number has had its turn, and nothing needs the stream, it is freed
 *                     by ri_stream_check_closed()
 *   broken    0 -> 1  ri_stream_break(): the sender breaks the protocol, or memory is lacking. What
 *                     comes is dropped. It stays so until the stream is freed
 *
 * A stream with `busy` above 0 is in use by a caller, and is not freed.
 */
struct ri_stream {
    ri_worker_t *worker;
    unsigned busy; /* deliveries under way: it must not be freed by what they call */
    ri_peer_t *peer;
    uint32_t id;             /* by which the sender addresses it */
    uint32_t remote_conn_id; /* id of the sender's conn */
    uint32_t remote_serial;  /* serial of the sender's conn */
    uint32_t next_sn;        /* number of the message that is matched next; starts at 1 */
    uint64_t last_tag;       /* of the message before next_sn */
    ucs_list_link_t early;   /* messages that came too early, by sn */
    size_t num_early;        /* length of the list `early` */
    ucs_list_link_t probed;  /* RTSs that a probe took out, and no receive has got yet */
    ucs_list_link_t assembling; /* messages of which pieces are missing */
    unsigned num_msgs;          /* unexpected messages that refer to the stream */
    unsigned
            am_left; /* messages by active message until a ring or channel is thought about */
    int acked;       /* CONN_ACK was sent */
    int same_host;            /* the sender could map a ring of this process */
    ri_stream_writes_t plane; /* what the sender writes within the host */
    ri_stream_writes_t way;   /* what the sender writes through a network */
    uint8_t stalled;          /* the next message waits for an answer to a REVOKE */
    uint8_t resumes; /* the answer has come: deliveries go on (proto/rtr/rtr_revoked.c) */
    int closed;      /* BYE came: nothing follows closed_sn */
    uint32_t closed_sn; /* with closed: the number of the last message */
    int broken;         /* everything is dropped: ri_stream_break() */

    ri_ring_rx_t *ring; /* NULL: none */

    /* How the ring is offered and ends (link/ring_life.h). */
    struct {
        uint64_t cookie;              /* by which the sender finds the ring */
        uint64_t last_use;            /* worker->rings.clock at its latest record */
        int stopping;                 /* RING_STOP was sent */
        ri_stream_ring_state_t state; /* changed by ri_stream_ring_set_state() */
        ri_ring_rx_t memory;          /* what ring points to */
    } ring_life;

    ri_channel_in_t *channel;  /* through a network; NULL: none */
    unsigned channels_refused; /* channels that the sender did not take */

    ri_assembly_t assembly; /* the message that comes through the ring in parts */

    /* Messages that both sides copy (proto/coop/coop.h). */
    struct {
        unsigned num;           /* receives that both sides are copying */
        ri_coop_shelf_t *shelf; /* of the ring; NULL: none (yet) */
        /* messages that both sides copied since a shelf was last thought of */
        unsigned copies;
        /* how messages of exchanges went; NULL: there were none */
        ri_coop_methods_t *exchange;
    } coop;

    /* receives with a transfer through a network that has not ended */
    unsigned num_transfers;
    /* receives that wait for their data (proto/rndv/rndv_recv.h) */
    ucs_list_link_t fetching;

    /* Receives that are offered to the sender (proto/rtr). */
    struct {
        ucs_list_link_t recvs; /* posted receives that were offered */
        size_t num;            /* receives that were offered, or that the sender writes */
        unsigned num_named;    /* receives whose message had its turn before its data */
        /* of RTRs that the ring has brought, by grant; NULL: none */
        ri_wire_grid_t *grids;
        /* that RTRs which the ring brings name; NULL: none */
        ri_layouts_in_t *ring_layouts_in;
        /* that RTRs through a network name; NULL: none yet */
        ri_layouts_out_t *net_layouts_out;
        int lost; /* a message by an RTR through a network may have come, and nobody was told */
    } rtr;

    ucs_list_link_t list;      /* in worker->streams */
    ucs_list_link_t peer_list; /* in peer->streams */
    ri_stream_counters_t counters;
};

#endif
