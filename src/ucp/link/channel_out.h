/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's end of a channel through a network: it is accepted, asked back, closed, and its
 * memory is kept for the last credit. (channel_life.h)
 */
#ifndef RI_CHANNEL_OUT_H
#define RI_CHANNEL_OUT_H

#include <assert.h>

#include "channel_send.h"
#include "../core/worker.h"

/** @return Whether the sender's end of a channel may change from one state to another, see
 * ri_channel_state_t. */
int ri_channel_out_may_become(ri_channel_state_t from, ri_channel_state_t to);

/** Change the state of the sender's end of a channel, as ri_channel_state_t allows it. */
static inline void ri_channel_out_set_state(ri_channel_out_t *out,
                                            ri_channel_state_t state)
{
    assert(ri_channel_out_may_become((ri_channel_state_t)out->state, state));
    out->state = state;
}

/** Handler of CHANNEL_OFFER: make the sender's end of the channel and accept, or refuse. @a conn
 * may be NULL: it is gone, and that refuses. */
void ri_channel_out_handle_offer(ri_worker_t *worker, ri_conn_t *conn,
                                 const ri_wire_msg_t *msg);

/** Handler of CHANNEL_STOP: the receiver wants the channel back, which is closed as soon as
 * nothing is under way in it; or no credit comes any more of one that is closed, and its memory
 * is freed. @a conn may be NULL: it is gone. */
void ri_channel_out_handle_stop(ri_worker_t *worker, ri_conn_t *conn,
                                const ri_wire_msg_t *msg);

/** The conn ends, or has failed: free its channel, if it has one. Nothing of it is sent again. If a
 * write is under way by it, the way to the peer is given up first. */
void ri_channel_out_abandon(ri_conn_t *conn);

/** Close and free a channel that was asked back, if nothing is under way in it and no write has
 * failed; else do nothing. */
void ri_channel_out_go_on(ri_channel_out_t *out);

/** End a channel of which nothing is under way: its conn has none then, and what it has not got
 * through is not sent again. Its memory is freed at once if its way is gone; else it is kept in
 * worker->channels.kept as long as a credit may come. */
void ri_channel_out_end(ri_channel_out_t *out);

/** The way to @a peer has ended, at this side: nothing is under way by it. Of each conn to the peer
 * that goes on, the channel sends again what is in it; the others end, and what is kept is
 * freed. */
void ri_channel_out_way_ended(ri_worker_t *worker, const ri_peer_t *peer);

#endif
