/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that go as datagrams, what is common to both initiations: a transfer of the plane
 * (uct/ib/ud.h) with the request that it is for. It begins when the receiver has matched an RTS
 * (send_rndv_ud.h), or with an RTR (rtr_ud.h, recv_rndv_ud.h), and goes on in the same way.
 */
#ifndef RI_UD_RUN_H
#define RI_UD_RUN_H

#include "../../link/rdma.h"
#include "../../../uct/ib/ud.h"

/* What both sides have. */
typedef struct ri_ud_run {
    ri_rdma_op_t op;
    ri_ud_op_t ud;
    const ri_ud_ops_t *ops;
    int ended; /* as the plane has said; then op.status tells how */
} ri_ud_run_t;

/* A message that is being received, or may be. */
struct ri_ud_recv_op {
    ri_ud_run_t super;
    ri_recv_req_t *recv; /* NULL: it waits no more, and was offered to nobody */
    ri_rdma_place_t place;
    uint32_t number; /* of the transfer, if it was offered */
};

/** Prepare a transfer with @a peer, of which @a run is a part. */
void ri_ud_run_init(ri_ud_run_t *run, ri_worker_t *worker, ri_peer_t *peer,
                    void (*end)(ri_rdma_op_t *op, int ending));

/** End it, if it has not ended. */
void ri_ud_run_cancel(ri_ud_run_t *run);

/** @return The way to a peer, if it takes messages as datagrams, or NULL. */
ri_plane_ep_t *ri_ud_way(const ri_peer_t *peer);

/** Fill a list's keys. */
void ri_ud_get_keys(const ri_keys_t *keys, uint32_t *local_keys);

/**
 * Post the memory of a receive.
 *
 * @param length    Of the message.
 * @param direct    As of ri_rdma_place_open().
 * @param is_offer  As of ri_ud_ops_t, and so is @a target.
 * @param op_p      Set, unless that fails.
 *
 * @return As recv of ri_ud_ops_t.
 */
ucs_status_t ri_ud_recv_begin(ri_recv_req_t *recv, ri_peer_t *peer, uint64_t length,
                              int direct, int is_offer, ri_ud_target_t *target,
                              struct ri_ud_recv_op **op_p);

/** A receive lets go of its transfer, which ends; its memory is its own when this returns. */
void ri_ud_recv_leave(ri_recv_req_t *recv);

/** Free what is left of a transfer that has ended. */
void ri_ud_recv_free(struct ri_ud_recv_op *op);

#endif
