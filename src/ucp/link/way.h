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
 * before, and there are only so many in a row. A transfer that has ended well sets them back.
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

/** Be without this side's end, in @a state, NONE or FAILED, from now on; whether there was one or
 * not. After NONE another one may be made at once. The plane ends what is under way by it within
 * the call: transfers have ended, and their end() is called in progress. Modules are told
 * (way_ended); the peer is not. */
void ri_way_end(ri_worker_t *worker, ri_peer_t *peer, ri_way_state_t state);

/** @return Whether there may be one way more by connections. */
static inline int ri_way_has_room(const ri_worker_t *worker)
{
    return worker->net.num_ways < ri_config.rc_max_peers;
}

/** A way has failed, or could not be made: the next try waits longer, and after RI_WAY_TRIES_MAX
 * in a row there is none. */
void ri_way_count_try(ri_peer_t *peer);

/** There is no room for a way to a peer now: it is FAILED, and the next try waits for a short
 * time that does not grow. There is no end of a way. */
void ri_way_postpone(ri_peer_t *peer);

/** Be without an end, if there is one, that has failed, or that the peer has no more, as @ref
 * ri_way_end in state FAILED, and count that as a try. Modules are told before, too
 * (way_fails); the peer is not. */
void ri_way_fail(ri_worker_t *worker, ri_peer_t *peer);

/** The peer says that it has given up its end of a way: give this side's up, if that is the
 * present way. @a peer may be NULL: the message is stale then. */
void ri_way_handle_gone(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg);

/* Ways that may fail in a row. */
#define RI_WAY_TRIES_MAX 8

/** This side's end of the way to @a peer, if there is one, has stopped working, or has to: it is
 * destroyed, after which nobody accesses this process's memory by it. What is under way by it
 * ends as by @ref ri_way_end. There may be another one later. The peer is told in progress. */
void ri_way_fail_and_tell(ri_worker_t *worker, ri_peer_t *peer);

/** If planes have counted failures since the latest look, find the ways that have stopped working
 * without anybody noticing, and do as ri_way_fail_and_tell() for each. */
void ri_way_check(ri_worker_t *worker);

/** Tell the peers whose way ri_way_fail_and_tell() has ended that this side has no end of it any
 * more, where that is possible and they have no new one. Any conn or peer may be gone
 * afterwards. */
void ri_way_tell_gone(ri_worker_t *worker);

/** @return Whether there may be something for @ref ri_way_tell_gone. */
static inline int ri_way_has_untold(const ri_worker_t *worker)
{
    return worker->net.ways_untold;
}

/** A transfer by the way of that number has ended well: earlier failures do not count any more,
 * if it is the present way. */
void ri_way_worked(ri_peer_t *peer, uint32_t way);

/** The peer could not read what was sent on a conn by the way of that number. If @a flags, of
 * NACK, say that it has no end of it (RI_WIRE_NACK_WAY), this side's is given up; else the conn
 * only asks for a way anew. Does nothing if it is not the present way. */
void ri_way_nacked(ri_conn_t *conn, uint32_t way, uint32_t flags);

#endif
