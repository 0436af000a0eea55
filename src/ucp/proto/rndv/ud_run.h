/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that go as datagrams, what is common to both initiations: a transfer of the plane
 * (uct/ib/ud/ud.h) with the request that it is for. It begins when the receiver has matched an RTS
 * (rndv_ud.h), or with an RTR (rtr_ud.h, rtr_send_ud.h), and goes on in the same way.
 */
#ifndef RI_UD_RUN_H
#define RI_UD_RUN_H

#include "../../link/net_transfer.h"
#include "../../link/recv_memory.h"
#include "../../../uct/ib/ud/ud.h"

/* The part of a transfer that both sides have. */
typedef struct ri_ud_run {
    ri_net_transfer_t op;
    ri_ud_op_t ud;
    const ri_ud_ops_t *ops;
    int ended; /* the plane has said that the transfer has ended; op.status tells how */
} ri_ud_run_t;

/* Calls of a transfer that receives, for the protocol that its receive waits by. */
typedef struct ri_ud_recv_calls {
    /** There is a queue pair now, and the sender is to be told of @a target. NULL: one was there
     * from the start. */
    void (*ready)(ri_recv_req_t *recv, const ri_ud_target_t *target);

    /** The transfer has ended, as op->super.op.status says: it is the protocol's to free. op->recv
     * waits still. @a ending: the worker ends. */
    void (*end)(struct ri_ud_recv_op *op, int ending);
} ri_ud_recv_calls_t;

/* A message that is being received, or may be. */
struct ri_ud_recv_op {
    ri_ud_run_t super;
    const ri_ud_recv_calls_t *calls; /* not called any more when recv is NULL */
    ri_recv_req_t *recv;             /* NULL: the receive has let go of the transfer */
    ri_recv_memory_t place;
    uint32_t number; /* of the transfer, if it was offered */
};

/** Prepare a transfer with @a peer, of which @a run is a part; the peer has a way by datagrams.
 * @param end  Called in progress when it has ended, see ri_net_transfer_t. */
void ri_ud_run_init(ri_ud_run_t *run, ri_worker_t *worker, ri_peer_t *peer,
                    void (*end)(ri_net_transfer_t *op, int ending));

/** Have the plane end a transfer, if it has not ended. Its `end` is called later, in progress. */
void ri_ud_run_cancel(ri_ud_run_t *run);

/** @return The way to a peer, if it takes messages as datagrams, or NULL. */
ri_plane_ep_t *ri_ud_run_way(const ri_peer_t *peer);

/** @return What ri_ud_run_way() does if it is the way of number @a way, as an RTS or a TARGET has
 * it, else NULL. */
ri_plane_ep_t *ri_ud_run_find_way(const ri_peer_t *peer, uint16_t way);

/** Fill a list's keys: @a local_keys has room for as many as @a keys has. */
void ri_ud_run_get_keys(const ri_keys_t *keys, uint32_t *local_keys);

/**
 * Post the memory of a receive.
 *
 * @param length    Of the message.
 * @param direct    As of ri_recv_memory_open().
 * @param is_offer  As of ri_ud_ops_t, and so is @a target.
 * @param calls     What is done when that goes on. The protocol may change op->calls later.
 * @param op_p      Set, unless that fails; then nothing is left.
 *
 * @return As recv of ri_ud_ops_t, or an error of ri_recv_memory_open(); or UCS_ERR_NO_MEMORY.
 */
ucs_status_t ri_ud_run_recv(ri_recv_req_t *recv, ri_peer_t *peer, uint64_t length,
                            int direct, int is_offer, const ri_ud_recv_calls_t *calls,
                            ri_ud_target_t *target, struct ri_ud_recv_op **op_p);

/** A receive lets go of its transfer, if it has one, which ends and is freed later, in progress.
 * The receive's memory is its own when this returns. */
void ri_ud_run_leave(ri_recv_req_t *recv);

/** Free what is left of a transfer that has ended, or was not started: its place and itself. */
void ri_ud_run_free(struct ri_ud_recv_op *op);

#endif
