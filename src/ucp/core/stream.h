/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams: what comes from one remote conn, in its order. (protocol.md section 5)
 */
#ifndef RI_STREAM_H
#define RI_STREAM_H

#include "counters.h"
#include "types.h"
#include "../../uct/shm/ring.h"
#include "../order/assembly.h"
#include "../wire/wire.h"

/* A way in: one per remote conn that has sent something. */
struct ri_stream {
    ri_worker_t *worker;
    unsigned busy; /* deliveries under way: it must not be freed by what they call */
    ri_peer_t *peer;
    uint32_t id;             /* by which the sender addresses it */
    uint32_t remote_conn_id; /* of the sender's conn */
    uint32_t remote_serial;  /* likewise */
    uint32_t next_sn;        /* that is matched next; starts at 1 */
    uint64_t last_tag;       /* of the message before that */
    ucs_list_link_t early;   /* messages that came too early, by sn */
    size_t num_early;
    ucs_list_link_t probed; /* RTSs that a probe took out, and no receive has got yet */
    ucs_list_link_t assembling; /* messages of which pieces are missing */
    unsigned num_msgs;          /* unexpected messages that refer to it */
    unsigned am_left;           /* messages by active message until a ring is
                                            thought about */
    int acked;                  /* CONN_ACK was sent */
    int same_host;              /* the sender could map a ring of ours */
    int plane_write;            /* the sender can write this process's memory */
    int rdma_write;             /* likewise, through a network, and takes RTRs */
    int rdma_lost;              /* a message of it may have come, and nobody was told */
    int stalled;                /* the next message waits for an answer to a REVOKE */
    int closed;                 /* BYE came: nothing follows closed_sn */
    uint32_t closed_sn;
    int broken;         /* everything is dropped: ri_stream_break() */
    ri_ring_rx_t *ring; /* NULL: none */
    uint64_t ring_cookie;
    uint64_t ring_last_use; /* worker->ring_clock at its latest record */
    int ring_stopping;      /* RING_STOP was sent */
    int ring_dead;          /* nobody sends into it any more: free it when it
                                            is empty */
    ri_ring_rx_t ring_memory;
    ri_channel_in_t *channel;  /* through a network; NULL: none */
    unsigned channels_refused; /* by the sender */
    ri_assembly_t assembly;    /* of what comes through the ring in parts */
    unsigned num_coops;        /* receives that both sides are copying */
    unsigned num_reads;        /* receives that are being read through a network */
    ucs_list_link_t fetching;  /* receives that wait for RNDV_DATA */
    ucs_list_link_t rtrs;      /* posted receives that were offered to the sender */
    size_t num_rtrs;           /* of these, and of those that it writes */
    unsigned num_named;        /* of these, whose message had its turn before its data */
    ucs_list_link_t list;      /* in worker->streams */
    ucs_list_link_t peer_list; /* in peer->streams */
    ri_stream_counters_t counters;
};

/**
 * Find the stream of a hello, or make it.
 *
 * @return NULL without memory or ids.
 */
ri_stream_t *ri_stream_get(ri_worker_t *worker, const ri_wire_hello_t *hello);

/** @return The latest stream of a remote conn id, or NULL if none introduced itself. */
ri_stream_t *ri_stream_find(ri_worker_t *worker, uint64_t uid, uint32_t conn_id);

/** Free a stream, which has no ring, with everything it holds. */
void ri_stream_destroy(ri_stream_t *stream);

/**
 * The order of a stream cannot be kept, or its sender breaks the protocol: drop what is
 * kept of it and all that follows, and tell the sender. Polling frees its ring.
 */
void ri_stream_break(ri_stream_t *stream, const char *why);

/** The check behind @ref ri_stream_check_closed. */
void ri_stream_check_closed_slow(ri_stream_t *stream);

/** Free a stream that was closed, once nothing of it is left. */
static inline void ri_stream_check_closed(ri_stream_t *stream)
{
    if (ri_unlikely(stream->closed)) {
        ri_stream_check_closed_slow(stream);
    }
}

#endif
