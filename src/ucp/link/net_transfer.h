/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers through a network, which go on by themselves and end in progress.
 *
 * A transfer uses the memory of its request until it has ended, whatever becomes of the stream or
 * conn meanwhile. So the request is completed when the transfer has ended, and not earlier. Each
 * transfer ends: if the peer does not exist any more, the way to it fails, and its transfers with
 * it.
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
    ri_peer_t *peer;     /* the peer, which may be gone when the transfer has ended */
    uint32_t way;        /* peer->way.number when the transfer started */
    ucs_status_t status; /* when the transfer has ended */
    uint64_t started;    /* for the timeline, as ri_timeline_now() */
    uint64_t length;     /* for the timeline */

    /* Progress calls it when the transfer has ended, with its status. @a ending is 1 if the worker
     * ends: then no message can be sent any more. It may free the transfer. */
    void (*end)(struct ri_net_transfer *op, int ending);
} ri_net_transfer_t;

/** @return Whether something that UCP has refused can be tried again. */
static inline int ri_net_transfer_may_try_again(ucs_status_t status)
{
    return (status == UCS_ERR_NO_MEMORY) || (status == UCS_ERR_NO_RESOURCE);
}

/** Have the next call of progress call op->end (once more), since what it has to do cannot be done
 * now. Until then the transfer counts as one that is under way. It is called by op->end, or for a
 * transfer that was prepared and could not be started; but not while the worker ends. */
void ri_net_transfer_again(ri_net_transfer_t *op);

/** Prepare a transfer by the present way of @a peer. @a op is memory of the caller, and stays where
 * it is until the transfer has ended. If the transfer is started, @a end is called when it has
 * ended, and may free @a op. */
void ri_net_transfer_init(ri_net_transfer_t *op, ri_worker_t *worker, ri_peer_t *peer,
                          void (*end)(ri_net_transfer_t *op, int ending));

/* The data of a send, for a transfer. */
typedef struct ri_net_source {
    ri_segment_t segments[RI_WIRE_SEGMENTS_MAX];
    uint32_t keys[RI_WIRE_SEGMENTS_MAX];
} ri_net_source_t;

/** Describe the data of a send, which has been registered (req->keys), for the plane.
 *
 * @param source  Memory for the description, which stays until the transfer is started.
 *
 * @return A transfer of all of the data as @a op. The caller adds the remote side.
 */
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

/** Count a transfer that the plane has started (UCS_INPROGRESS). Its memory is in use until op->end
 * is called. @a length is the number of bytes for the timeline; 0: the transfer begins by waiting,
 * as a receive does. */
void ri_net_transfer_started(ri_net_transfer_t *op, uint64_t length);

/** A transfer by the way with the number @a way has failed. If that is still the way to @a peer,
 * and does not work any more, it is given up by ri_way_fail_and_tell(). */
void ri_net_transfer_failed(ri_worker_t *worker, ri_peer_t *peer, uint32_t way);

/** A transfer has failed, as its way does not work any more. If that is still the way to the peer
 * of @a conn, it is given up by ri_way_fail_and_tell(). NULL as @a conn: nothing is done, as the
 * peer may be gone. */
void ri_net_transfer_lost_way(const ri_net_transfer_t *op, const ri_conn_t *conn);

/** Let the planes go on, and call op->end of transfers that have ended. It may call the
 * application; any conn, stream or peer may be gone afterwards. @return How many transfers have
 * ended. */
unsigned ri_net_transfer_progress(ri_worker_t *worker);

/** End all transfers of a worker that ends, and the ways that they go by. Each op->end is called,
 * with 1 as ending. It may call the application. */
void ri_net_transfer_end_all(ri_worker_t *worker);

#endif
