/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What protocols that go through a network (RDMA) have in common: memory that is registered,
 * and transfers that go on by themselves and end in progress.
 *
 * A transfer has the memory of its request until it has ended, whatever becomes of the stream
 * or conn meanwhile: that is completed then, but not earlier. The end always comes, also if
 * the peer does not exist any more, as the way to it fails then.
 */
#ifndef RI_RDMA_H
#define RI_RDMA_H

#include "../core/worker.h"

/* Memory that is registered, in pieces. */
struct ri_keys {
    ri_plane_t *plane; /* that it is registered with */
    size_t count;
    ri_plane_memory_t memory[RI_WIRE_SEGMENTS_MAX];
};

/* A transfer that is under way. */
typedef struct ri_rdma_op {
    ri_plane_op_t super;
    ucs_list_link_t list; /* in worker->reads_done or reads_again, when it has ended */
    ri_worker_t *worker;
    ri_peer_t *peer;     /* it may be gone when the transfer has ended */
    uint32_t way;        /* of peer->rdma_way, when it started */
    ucs_status_t status; /* when it has ended */

    /* Called from progress, when it has ended. @a ending: the worker ends, and nothing can be
     * asked of anybody. */
    void (*end)(struct ri_rdma_op *op, int ending);
} ri_rdma_op_t;

/** @return Whether something that UCP has refused can be tried again. */
static inline int ri_rdma_may_try_again(ucs_status_t status)
{
    return (status == UCS_ERR_NO_MEMORY) || (status == UCS_ERR_NO_RESOURCE);
}

/** What an end is to do cannot be done now: the next progress calls end() again. Not while the worker
 * ends. Also for an operation that could not be started. */
void ri_rdma_op_again(ri_rdma_op_t *op);

/** Register pieces of memory: all or none. */
ucs_status_t ri_rdma_register(ri_plane_t *plane, const ri_segment_t *segments,
                              size_t count, ri_keys_t *keys);

/** Likewise, of memory that nobody writes. */
ucs_status_t ri_rdma_register_source(ri_plane_t *plane, const ri_segment_t *segments,
                                     size_t count, ri_keys_t *keys);

void ri_rdma_release(ri_keys_t *keys);

/** The same, and free @a keys, which were allocated. */
void ri_rdma_free_keys(ri_keys_t *keys);

/* The memory that the data of a receive comes into. */
typedef struct ri_rdma_place {
    ri_keys_t keys;
    void *stage; /* NULL: the receive's own; else it is unpacked from here */
} ri_rdma_place_t;

/**
 * Find and register it.
 *
 * @param direct    It is the receive's own, which is in few pieces.
 * @param segments  Set to the pieces, of which there is room for RI_WIRE_SEGMENTS_MAX.
 *
 * @return An error: @ref ri_rdma_place_close is still to be called.
 */
ucs_status_t ri_rdma_place_open(ri_rdma_place_t *place, ri_plane_t *plane,
                                const ri_recv_req_t *recv, int direct,
                                ri_segment_t *segments, size_t *count);

/** All data has come. @return What becomes of the receive. */
ucs_status_t ri_rdma_place_finish(const ri_rdma_place_t *place, ri_recv_req_t *recv);

void ri_rdma_place_close(ri_rdma_place_t *place);

/** @return The way to @a peer through a network, or NULL if none is connected. */
static inline ri_plane_ep_t *ri_rdma_way(const ri_peer_t *peer)
{
    return (peer->rdma == RI_RDMA_CONNECTED) ? peer->rdma_ep : NULL;
}

/** @return The same, if it can do what is wanted: those that go by datagrams neither read nor write. */
static inline ri_plane_ep_t *ri_rdma_way_that(const ri_peer_t *peer, unsigned can)
{
    ri_plane_ep_t *ep = ri_rdma_way(peer);

    return ((ep != NULL) && ((ep->plane->capabilities & can) == can)) ? ep : NULL;
}

/** The way to @a peer is used: it is not idle. */
static inline void ri_rdma_use(ri_worker_t *worker, ri_peer_t *peer)
{
    peer->rdma_used = 1;
    ucs_list_del(&peer->way_link);
    ucs_list_add_tail(&worker->ways, &peer->way_link);
}

/** @return Whether something new may go by the way to @a peer. It counts as used then. */
static inline int ri_rdma_may_send(ri_worker_t *worker, ri_peer_t *peer)
{
    if ((ri_rdma_way(peer) == NULL) || peer->rdma_leaving) {
        return 0;
    }
    ri_rdma_use(worker, peer);
    return 1;
}

/** Prepare a transfer, of which @a op is a part. */
void ri_rdma_op_init(ri_rdma_op_t *op, ri_worker_t *worker, ri_peer_t *peer,
                     void (*end)(ri_rdma_op_t *op, int ending));

/**
 * Write the data of a send, which has been registered (req->keys), to one place.
 *
 * @param immediate  Tells the receiver, if it is not NULL.
 *
 * @return As the plane's write.
 */
ucs_status_t ri_rdma_write(ri_rdma_op_t *op, const ri_send_req_t *req, ri_plane_ep_t *ep,
                           uint64_t address, uint32_t key, const uint32_t *immediate);

/** The plane has said UCS_INPROGRESS. */
void ri_rdma_op_started(ri_rdma_op_t *op);

/** A transfer has failed. If its way has, too, and is still that of @a peer, give it up. */
void ri_rdma_op_failed(ri_worker_t *worker, ri_peer_t *peer, uint32_t way);

/** A transfer of @a conn, which may be NULL, has failed as its way has: give that up, if it is
 * still the one to the peer. */
void ri_rdma_op_lost_way(const ri_rdma_op_t *op, const ri_conn_t *conn);

/** Go on, and end what has ended. @return Number of events. */
unsigned ri_rdma_progress(ri_worker_t *worker);

/** The worker ends, and with it all transfers. Whoever waits for them is told. */
void ri_rdma_end_all(ri_worker_t *worker);

#endif
