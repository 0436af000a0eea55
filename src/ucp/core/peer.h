/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Peers: what ties together the conns and streams of one remote worker. (protocol.md section 5)
 */
#ifndef RI_PEER_H
#define RI_PEER_H

#include "types.h"
#include "../../uct/api/plane.h"
#include "../../uct/shm/host.h"
#include "../wire/wire.h"

/* A pool buffer of the peer's that has been read. */
typedef struct ri_release {
    uint32_t id;
    uint32_t conn_id; /* of the conn that its message came by, there */
} ri_release_t;

/* A way through a network has two ends. */
typedef enum ri_rdma_state {
    RI_RDMA_NONE,
    RI_RDMA_PREPARED,  /* this end is there */
    RI_RDMA_CONNECTED, /* ... and leads to the peer's, which may not be connected yet */
    RI_RDMA_FAILED     /* it was given up; there may be another one later */
} ri_rdma_state_t;

/* Lives as long as it has a conn or a stream. */
struct ri_peer {
    uint64_t uid;
    ucs_list_link_t conns;
    ucs_list_link_t streams;
    ri_plane_ep_t *plane_ep; /* the way to its memory on this host, or NULL */
    ri_plane_ep_t *lost_ep;  /* one like that which has stopped working, until there is
                               another: it tells whether the process exists. Or NULL */
    ri_plane_ep_t *rdma_ep;  /* the way to it through a network, or NULL */
    uint32_t rdma_way;       /* number of that way, or of the latest one; 0: none yet */
    unsigned num_rdma;       /* transfers by it that are under way */
    uint8_t rdma;            /* ri_rdma_state_t */
    uint8_t rdma_kind;       /* RI_WIRE_PLANE_RC or UD: of that way */
    uint8_t rdma_met;        /* it was connected */
    uint8_t rdma_lacks;      /* 1 << kind: the peer has no such plane */
    uint8_t rdma_full;       /* one of rc was wanted, and the peer had no room */
    uint8_t rdma_tries;      /* ways that have failed, in a row */
    uint8_t rdma_used;       /* since it was last looked for that */
    uint8_t rdma_leaving; /* the peer was asked to give the way up: nothing new goes by it */
    uint8_t rdma_untold;      /* this end has failed, and the peer may not know yet */
    double rdma_asked;        /* when */
    double rdma_since;        /* that it is not used */
    ucs_list_link_t way_link; /* in worker->ways, while there is an end */
    double rdma_retry;        /* FAILED: there is none before that time */
    uint8_t rdma_length;      /* CONNECTED: of the address */
    uint8_t rdma_address[RI_PLANE_ADDRESS_MAX]; /* of the peer's end */
    struct ri_rtr_slots
            *rtr_slots;        /* RTRs by message, or NULL (proto/rtr/rtr_message.h) */
    ucs_list_link_t rtr_words; /* of conns that were closed, for what it asks of these */
    uint8_t waited; /* so many more long messages from it are taken to be waited for */
    uint8_t hint_is_news; /* that changed between 0 and others, and it was not told yet */
    uint8_t ready;        /* it waits for long messages, as it has said */
    uint8_t closing; /* its application closes the last endpoint to this worker, as it has
                             said, and has sent nothing by a new one */
    ri_host_process_t
            process;      /* without a way: tells whether it exists; host 0: unknown */
    int gone;             /* plane_ep is NULL, as the process does not exist any more */
    unsigned gone_round;  /* of worker->gone_round: when it was looked for last */
    unsigned gone_looks;  /* how often it was not there, in a row */
    double given_up;      /* when a write of its was waited for in vain; 0: never */
    int failed;           /* there was a time when no endpoint to it worked any more */
    ucs_list_link_t owed; /* control messages that wait for a first way out */
    ri_release_t releases[2 * RI_WIRE_RELEASE_MAX]; /* that wait for company */
    unsigned num_releases;
    double releasing_since; /* ri_time() from when they wait; 0: only for a number of calls */
    ucs_list_link_t releasing_link; /* in worker->releasing, if any waits, also in one of
                                       the conns; else self-linked */
};

/** @return What a record to the peer says: whether its long messages are waited for. */
static inline uint8_t ri_peer_take_hint(ri_peer_t *peer)
{
    peer->hint_is_news = 0;
    return peer->waited > 0;
}

/** Find the peer of a uid, or make it. @return NULL without memory. */
ri_peer_t *ri_peer_get(ri_worker_t *worker, uint64_t uid);

/** Free a peer that has neither a conn nor a stream any more. */
void ri_peer_check_unused(ri_worker_t *worker, ri_peer_t *peer);

/** @return A conn by which control messages reach @a peer, or NULL. One of the application's
 * if there is any: the others may be used only while the peer waits for an answer, as stock
 * frees their endpoints when it has ended. If there is no other, one whose close waits: the
 * peer's close may wait for the message. */
ri_conn_t *ri_peer_way_out(ri_peer_t *peer);

/** An endpoint to the peer of @a uid has failed. If no other one works the peer is taken to be
 * gone: what it has written is still read, and then its rings end, with what was on its way;
 * what was asked of it ends with @a status. */
void ri_peer_check_failed(ri_worker_t *worker, uint64_t uid, ucs_status_t status);

/** CLOSING has come from @a peer, which may be NULL. */
static inline void ri_peer_note_closing(ri_peer_t *peer)
{
    if (peer != NULL) {
        peer->closing = 1;
    }
}

#endif
