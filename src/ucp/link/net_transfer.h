/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers through a network, which go on by themselves and end in progress.
 *
 * A transfer has the memory of its request until it has ended, whatever becomes of the stream
 * or conn meanwhile: that is completed then, but not earlier. The end always comes, also if
 * the peer does not exist any more, as the way to it fails then.
 */
#ifndef RI_NET_TRANSFER_H
#define RI_NET_TRANSFER_H

#include "keys.h"
#include "way_use.h"
#include "../core/worker.h"

/* A transfer that is under way. */
typedef struct ri_net_transfer {
    ri_plane_op_t super;
    ucs_list_link_t list; /* in worker->net.done or .again, when it has ended */
    ri_worker_t *worker;
    ri_peer_t *peer;     /* it may be gone when the transfer has ended */
    uint32_t way;        /* peer->way.number when the transfer started */
    ucs_status_t status; /* when the transfer has ended */
    uint64_t started;    /* for the timeline, as ri_timeline_now() */
    uint64_t length;     /* for the timeline */

    /* Called from progress, when it has ended. @a ending: the worker ends, and nothing can be
     * asked of anybody. */
    void (*end)(struct ri_net_transfer *op, int ending);
} ri_net_transfer_t;

/** @return Whether something that UCP has refused can be tried again. */
static inline int ri_net_transfer_may_try_again(ucs_status_t status)
{
    return (status == UCS_ERR_NO_MEMORY) || (status == UCS_ERR_NO_RESOURCE);
}

/** What an end is to do cannot be done now: the next progress calls op->end again, and counts it
 * as a transfer until then. Not while the worker ends. Also for an operation that was prepared
 * but could not be started. */
void ri_net_transfer_again(ri_net_transfer_t *op);

/** Prepare a transfer by the present way of @a peer, of which @a op is a part. If it is started,
 * @a end is called when it has ended, and may free it. */
void ri_net_transfer_init(ri_net_transfer_t *op, ri_worker_t *worker, ri_peer_t *peer,
                          void (*end)(ri_net_transfer_t *op, int ending));

/* The data of a send, for a transfer. */
typedef struct ri_net_source {
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
    uint32_t keys[RI_WIRE_SEGMENTS_MAX];
} ri_net_source_t;

/** Describe the data of a send, which has been registered (req->keys). @return A transfer of all of it
 * as @a op, which needs @a source, and has no remote side yet. */
ri_transfer_t ri_net_transfer_from(ri_net_transfer_t *op, const ri_send_req_t *req,
                                   ri_net_source_t *source);

/**
 * Write the data of a send, which has been registered (req->keys), to one place.
 *
 * @return As the plane's write: UCS_INPROGRESS, after which @ref ri_net_transfer_started is to be
 *         called, or an error; op->end is not called then.
 */
ucs_status_t ri_net_transfer_write(ri_net_transfer_t *op, const ri_send_req_t *req,
                                   ri_plane_ep_t *ep, uint64_t address, uint32_t key);

/** The plane has said UCS_INPROGRESS: count the transfer. Its memory is in use until op->end is
 * called. @a length: for the timeline; 0 if it begins by waiting, as a receive does. */
void ri_net_transfer_started(ri_net_transfer_t *op, uint64_t length);

/** A transfer has failed. If the way that it went by, number @a way, is still that of @a peer and
 * does not work any more, give it up as @ref ri_way_fail_and_tell does. */
void ri_net_transfer_failed(ri_worker_t *worker, ri_peer_t *peer, uint32_t way);

/** A transfer of @a conn has failed as its way has: give that up as @ref ri_way_fail_and_tell does,
 * if it is still the one to the peer of @a conn. @a conn may be NULL: nothing is done, as the peer
 * may be gone. */
void ri_net_transfer_lost_way(const ri_net_transfer_t *op, const ri_conn_t *conn);

/** Let the planes go on, and call end() of transfers that have ended. Calls back; any conn,
 * stream or peer may be gone afterwards. @return How many have ended. */
unsigned ri_net_transfer_progress(ri_worker_t *worker);

/** The worker ends, and with it all transfers and the ways that they go by: each end() is called
 * with ending set. Calls back. */
void ri_net_transfer_end_all(ri_worker_t *worker);

#endif
