/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether long messages go both ways between two processes at the same time, as when neighbours
 * exchange what is at their borders. Then each has a copy of its own to make, and a second copy
 * that would save time elsewhere costs some.
 *
 * A sender takes a message for one of an exchange if the peer asks for long messages soon, as it
 * has said (proto/rtr/rtr_learn.h), this process has receives posted, and one of the peer's latest
 * messages has met one of this process's, or has come, and was not looked at, when this process
 * sends. If there was none, as in a ping-pong whose receives are posted before the sends, one
 * message in some is taken for one all the same, to see whether there is an exchange by now. In a
 * crowd, processes that share processors take their turns, and all this cannot be seen: there it
 * counts that this process has receives posted.
 */
#ifndef RI_EXCHANGE_H
#define RI_EXCHANGE_H

#include "worker.h"

/* Messages of this length and shorter ones are not taken for those of an exchange: an announcement
 * and a call take longer than two copies; or longer than to lose the processor once more, in a
 * crowd. */
#define RI_EXCHANGE_MIN         16384
#define RI_EXCHANGE_MIN_CROWDED 32768

/* A quick ring takes messages of an exchange up to the longest that it takes at all, divided by
 * this: 64 KB both ways went at 27 GB/s rather than 12 by copies of one side, 256 KB at 9
 * rather than 11. So does one whose receiver reads slowly: 256 KB took 35 us by it, and 27 by
 * copies of one side. */
#define RI_EXCHANGE_RING_PARTS 2

/** @return Up to which length a message is not taken for one of an exchange, where a ring takes
 * contiguous ones up to @a ring_max: those as well. Between far cores, too, as the sender writes
 * past its cache then: 64 KB both ways took 7.6 us rather than 15. */
static inline size_t ri_exchange_min(size_t ring_max, int crowded)
{
    return ri_max(crowded ? RI_EXCHANGE_MIN_CROWDED : RI_EXCHANGE_MIN, ring_max);
}

/** @return Whether this process has just announced a message to the peer which the peer can copy by
 * itself, and has not matched yet. */
int ri_exchange_also_sends(const ri_peer_t *peer);

/** A long message of a peer's has met its receive, with its first part at least: note whether one
 * of this process's is on its way. */
void ri_exchange_note(ri_peer_t *peer);

/** @return Whether more processes of the job are on this host than it has processors, as far as
 * that is known: then one that waits for another one's copy keeps it from making it. */
int ri_exchange_is_crowded(const ri_worker_t *worker);

/**
 * Ask whether a message that is sent now is taken for one of an exchange. Each call counts as a
 * message. This process has receives posted: the caller has looked.
 *
 * @param length    Bytes of the message.
 * @param has_come  A long message of the peer's is here and was not looked at, so the two do meet
 *                  on their way.
 *
 * @return Whether it is.
 */
int ri_exchange_is_on(ri_conn_t *conn, size_t length, int has_come);

#endif
