/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The structure of a peer, the process behind conns and streams (peer.h).
 */
#ifndef RI_PEER_TYPES_H
#define RI_PEER_TYPES_H

#include "types.h"
#include "../../../uct/api/plane.h"
#include "../../../uct/shm/host.h"
#include "../../../uct/shm/ring.h"
#include "../../wire/wire.h"

/* A pool buffer of the peer's that has been read. */
typedef struct ri_release {
    uint32_t id;      /* of the buffer, in the peer's pool */
    uint32_t conn_id; /* of the peer's conn that sent the message in the buffer */
} ri_release_t;

/*
 * This process's end of the way to a peer through a network (ri_peer_way_t.state). Legal changes,
 * which ri_way_set_state() asserts:
 *
 *   NONE, FAILED -> PREPARED           a way is asked for, or the peer asks for one
 *   PREPARED     -> CONNECTED          the peer's end is known
 *   PREPARED, CONNECTED -> NONE        nobody uses it, or both sides had asked for one
 *   PREPARED, CONNECTED -> FAILED      it has stopped working, or the peer has no end of it
 *   NONE, FAILED -> FAILED             an end could not be made, or there is no room for one
 *   NONE, FAILED -> NONE               the peer is forgotten, or begins anew
 *
 * There is an end (ri_peer_way_t.ep) in PREPARED and CONNECTED, and in no other state.
 */
typedef enum ri_way_state {
    RI_WAY_NONE,      /* there is no end, and one may be made at once */
    RI_WAY_PREPARED,  /* the end is there, and leads nowhere yet */
    RI_WAY_CONNECTED, /* the end leads to the peer's, which may not be connected yet */
    RI_WAY_FAILED, /* there is no end, and the next one has to wait (ri_peer_way_t.retry) */
    RI_WAY_STATE_LAST
} ri_way_state_t;

/* The way to a peer through a network (link/way.h). */
typedef struct ri_peer_way {
    ri_plane_ep_t *ep;      /* this process's end, or NULL */
    uint32_t number;        /* of the way, or of the latest one; 0: none yet */
    unsigned num_transfers; /* transfers by the way that have not ended */
    uint8_t state;          /* ri_way_state_t, changed by ri_way_set_state() */
    uint8_t kind;           /* plane of the way: RI_WIRE_PLANE_RC or UD */
    uint8_t met;            /* the way was connected */
    uint8_t lacks;          /* planes that the peer does not have, each as 1 << kind */
    uint8_t full;    /* a way by connections was wanted, and the peer had no room */
    uint8_t tries;   /* ways that have failed, in a row */
    uint8_t used;    /* something went by the way since the latest look for idle ways */
    uint8_t leaving; /* the peer was asked to give the way up: nothing new goes by it */
    uint8_t end_untold; /* this end has failed, and the peer may not know yet */
    uint8_t length;     /* of address */
    double asked;       /* when the peer was asked to give the way up */
    double idle_since; /* since when the way is not used, or the latest try to give it up */
    double retry;      /* FAILED: when the next way may be made */
    ucs_list_link_t link; /* in worker->net.ways, while there is an end */
    uint8_t address[RI_PLANE_ADDRESS_MAX]; /* CONNECTED: of the peer's end */
} ri_peer_way_t;

/* Messages that may go by a ring of which the peer is taken to wait for them, although it has
 * not said so again. The next one is announced, and its FIN says it. */
#define RI_PEER_HINT_FRESH 32

/* Long messages in a row that were neither waited for nor asked for soon, from which on this
 * process is away. */
#define RI_PEER_HINT_MISSED 3

/* Slow reads after which the peer's messages are read slowly; each other read makes up for two
 * slow ones. Of the messages that go through the ring for that, one in RI_PEER_SLOW_PROBE is
 * announced all the same, to see whether it is still so. */
#define RI_PEER_SLOW_TIMES 16
#define RI_PEER_SLOW_PROBE 32

/* A remote worker. It lives as long as it has a conn or a stream. */
struct ri_peer {
    uint64_t uid; /* of the remote worker, by which worker->peers finds it */
    /* 1 + its rank, as its worker address has told, for people; 0: not known */
    uint16_t rank;
    ucs_list_link_t conns;   /* conns that lead to it, by ri_conn_t.peer_list */
    ucs_list_link_t streams; /* streams from it, the latest first */
    /* of its streams' rings that are open, the one that was opened last (link/ring_life.h); NULL
     * if that is closed */
    ri_ring_rx_t *ring_in;

    /* Its process, if that is on this host (link/local.h). */
    struct {
        ri_plane_ep_t *ep; /* by which its memory is reached, or NULL */
        /* an ep that has stopped working, kept until there is another one, as it tells whether
         * the process exists; or NULL */
        ri_plane_ep_t *lost_ep;
        /* by which the process is looked for where there is no ep; host 0: not known */
        ri_host_process_t process;
    } local;

    ri_peer_way_t way;

    /* Receives that are offered to it. */
    struct {
        /* RTRs through a network, or NULL (proto/rtr/rtr_net.h) */
        struct ri_rtr_entries *entries;
        /* ri_rtr_words_t of conns that were closed, as the peer may ask what became of RTRs */
        ucs_list_link_t words;
    } rtr;

    /* Whether long messages are waited for (proto/rtr/rtr_learn.h). */
    struct {
        /* number of long messages to come from the peer that are taken to be waited for */
        uint8_t waited;
        /* number of long messages to come from the peer that are taken to be asked for soon, if
         * they are not waited for */
        uint8_t soon;
        uint8_t is_news; /* ri_peer_hint() has changed since the peer was told */
        /* number of long messages in a row from the peer that were neither waited for nor asked
         * for soon; at most RI_PEER_HINT_MISSED */
        uint8_t missed;
        uint8_t away; /* the peer neither waits for long messages nor asks soon, as it has said */
        uint8_t ready;  /* the peer waits for long messages, as it has said */
        uint8_t prompt; /* the peer asks for them soon, as it has said */
        uint8_t fresh; /* number of messages that may rely on ready before it is said again */
    } hint;

    /* Whether reads of announced messages by the plane take long, as of memory that its process has
     * just written. */
    struct {
        uint8_t slow; /* slow reads of the peer's messages, less two for each other one */
        uint8_t is_slow; /* as the peer is told */
        uint8_t told;    /* the peer reads slowly, as it has said */
        uint8_t turn;    /* messages that went through the ring for that, modulo 256 */
        /* the number that the peer's next message had when the latest one went there for that */
        uint32_t seen;
    } reads;

    /* Whether messages go both ways at the same time (core/exchange.h). */
    struct {
        /* number of further messages of the peer's that have to meet none of this process's until
         * messages do not go both ways any more; 0: they do not */
        uint8_t met;
        uint8_t untried; /* messages that were sent while met was 0, modulo 256 */
    } exchange;

    /* Long messages within the host of late (core/row.h). */
    struct {
        uint32_t sent;
        uint32_t received;
        /* number that the peer's next message had when one was sent to meet it; 0 before. When
         * the numbers wrap, one message goes another way (tag/send_host.c). */
        uint32_t met;
    } row;

    uint8_t closing; /* the peer has said that its application closes the last endpoint to this
                        worker, and has sent nothing by a new one */
    uint8_t all_bye; /* BYE has come by all of its streams */
    /* of the peer's conn whose BYE came last, by which it may be told more; 0: none came */
    uint32_t closed_conn_id;

    /* Whether its process exists (link/gone.h). */
    struct {
        int is_ended;   /* the process does not exist: local.ep is NULL */
        unsigned round; /* worker->gone.round at the latest look */
        unsigned looks; /* looks in a row by which the process was not there */
    } gone;

    double given_up; /* when a write of the peer's was waited for in vain; 0: never */
    int failed;      /* there was a time when no endpoint to the peer worked any more */
    ucs_list_link_t owed; /* control messages that wait for a first usable conn */

    /* Buffers of its pool that have been read, and wait for company on the way back
     * (link/release.h). */
    struct {
        ri_release_t list[2 * RI_WIRE_RELEASE_MAX]; /* the buffers */
        unsigned num;                               /* entries of `list` */
        double since; /* ri_clock_now() from when they wait; 0: only for a number of calls */
        /* in worker->pool.releasing, if any buffer waits here or in a conn of the peer; else
         * self-linked */
        ucs_list_link_t link;
    } release;
};
#endif
