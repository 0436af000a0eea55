/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways through a network. (protocol.md section 7)
 *
 * The ways that were ever made to a peer are numbered, and both sides speak of one by its
 * number. Whoever loses an end does without, and says so if it is asked to use it; the next
 * who has something to send asks for a way with the next number. A number is used once: a
 * message about an earlier one finds nothing to act on, and one about a later one tells that
 * the peer has given up its end of the present one.
 *
 * A way that fails again and again is not made for ever: each try waits longer than the one
 * before, and there are at most RI_WAY_TRIES_MAX in a row. A transfer that has ended well sets them
 * back.
 *
 * A way is of one of two kinds, by connections (rc) or by datagrams (ud); who asks for it chooses.
 * Ways of ud take nothing of the device for each peer, so they are for those peers for which
 * there is no room for one of rc.
 *
 * This file has the end of a way. way_open.h makes ways, way_idle.h gives up those that nobody
 * uses.
 */
#ifndef RI_WAY_H
#define RI_WAY_H

#include <assert.h>

#include "way_use.h"
#include "../../ucs/settings.h"
#include "../core/worker.h"

/* Seconds from a way through a network that failed to the next try, if it is the first that
 * has. */
extern double ri_way_backoff;

/**
 * Say something about the way to the peer of a conn, which has one: PLANE_REQ or PLANE_ACK. The
 * number of the way, and the address of this side's end if there is one, go along.
 *
 * @param id     Of the stream or conn that is addressed.
 * @param value  RI_WIRE_PLANE_*.
 * @param kind   The plane in the question that is answered, else peer->way.kind.
 * @param asked  The number of the way in the question that is answered, else 0.
 */
void ri_way_send(ri_conn_t *conn, ri_wire_type_t type, uint32_t id, uint32_t value,
                 uint32_t kind, uint32_t asked);

/** @return Whether this process's end of a way may change from one state to another, see
 * ri_way_state_t. */
int ri_way_may_become(ri_way_state_t from, ri_way_state_t to);

/** Change the state of the end of the way to a peer, as ri_way_state_t allows it. way.ep is what it
 * has to be in the new state. */
static inline void ri_way_set_state(ri_peer_t *peer, ri_way_state_t state)
{
    assert(ri_way_may_become((ri_way_state_t)peer->way.state, state));
    assert((peer->way.ep != NULL) ==
           ((state == RI_WAY_PREPARED) || (state == RI_WAY_CONNECTED)));
    peer->way.state = state;
}

/** Give up this side's end of the way to @a peer, if there is one. The state is @a state
 * afterwards: NONE, in which another end may be made at once, or FAILED. The plane ends what is
 * under way by the end within the call: transfers have ended then, and progress calls their end().
 * Modules are told (way_ended), and the peer is not. */
void ri_way_end(ri_worker_t *worker, ri_peer_t *peer, ri_way_state_t state);

/** @return Whether there may be one way more by connections. */
static inline int ri_way_has_room(const ri_worker_t *worker)
{
    return worker->net.num_ways < ri_config.rc_max_peers;
}

/** Count that a way has failed, or could not be made. The next try waits longer each time, and
 * after RI_WAY_TRIES_MAX failures in a row there is none. */
void ri_way_count_try(ri_peer_t *peer);

/** There is no room for one more way now: the way to @a peer, which has no end, becomes FAILED. The
 * next try waits for a short time, which does not grow. */
void ri_way_postpone(ri_peer_t *peer);

/** This side's end has failed, or the peer has no end any more: give up this side's end, if there
 * is one, as ri_way_end() does with FAILED, and count that as a try. Modules are told before, too
 * (way_fails), and the peer is not. */
void ri_way_fail(ri_worker_t *worker, ri_peer_t *peer);

/** The peer says that it has given up its end of a way: give this side's up, if that is the
 * present way. @a peer may be NULL: the message is stale then. */
void ri_way_handle_gone(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg);

/* Ways that may fail in a row. */
#define RI_WAY_TRIES_MAX 8

/** Destroy this side's end of the way to @a peer, if there is one, because it has stopped working
 * or has to stop. Afterwards nobody accesses this process's memory by it. What is under way by it
 * ends as by ri_way_end(). There may be another end later. Progress tells the peer. */
void ri_way_fail_and_tell(ri_worker_t *worker, ri_peer_t *peer);

/** If planes have counted failures since the latest look, find the ways that have stopped working
 * without anybody noticing, and do as ri_way_fail_and_tell() for each. */
void ri_way_check(ri_worker_t *worker);

/** Tell the peers whose way ri_way_fail_and_tell() has ended that this side has no end of it any
 * more. A peer that cannot be told now, or has a new way, is left out. Any conn or peer may be gone
 * afterwards. */
void ri_way_tell_gone(ri_worker_t *worker);

/** @return Whether there may be something for @ref ri_way_tell_gone. */
static inline int ri_way_has_untold(const ri_worker_t *worker)
{
    return worker->net.way_ends_untold;
}

/** A transfer by the way with the number @a way has ended well. If that is the present way to @a
 * peer, earlier failures do not count any more. */
void ri_way_worked(ri_peer_t *peer, uint32_t way);

/** The peer could not read what was sent on @a conn by the way with the number @a way. If the flags
 * of its NACK, @a flags, say that it has no end of the way (RI_WIRE_NACK_WAY), this side's end is
 * given up. If not, the conn only asks for a way anew. If that is not the present way, nothing is
 * done. */
void ri_way_nacked(ri_conn_t *conn, uint32_t way, uint32_t flags);

#endif
