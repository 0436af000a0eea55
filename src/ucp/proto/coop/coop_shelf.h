/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Cooperative copies by way of a shelf (uct/shm/shelf.h): the sender puts the parts that it claims
 * there, and the receiver, in the library as well, takes them into its place.
 *
 * The receiver makes a shelf when some messages of a stream were copied by both sides, and says so
 * in its ring. In the slot of a message that it has matched it says that it takes parts from there:
 * until then, and where there is no shelf, the sender writes the receive's memory by the plane. So
 * nothing lies on a shelf for a receiver that may stay away for long, and whoever waits in vain for
 * the other side copies by the plane.
 *
 * Which method is faster depends on the machine, on where the two processes run, and on what they
 * do with the data: a call copies what lies in nobody's cache best, and is slow with what the
 * application has just written or is about to read. So a receiver goes by what it has measured
 * (coop_methods.h).
 *
 * Where both processes send no contiguous message goes by a shelf (coop_exchange.h): each would
 * have to copy twice.
 *
 * A receive that is not contiguous is filled from the shelf, too, if its layout is known. The
 * sender does not know where its runs are, so it writes nothing by the plane then; what it does not
 * put on the shelf the receiver reads.
 *
 * A send that is not contiguous, with a layout, is packed onto the shelf, whatever the receive is,
 * and there is no other method for any part of it: the receiver does not know where its runs are.
 * If there is no shelf, or it turns out that it cannot be used, the receiver asks for the data by
 * NACK, and UCP moves it. A sender that is asked so a few times in succession uses UCP at once.
 *
 * What lies on the shelf is counted as copied when the receiver has taken it. Until then the send
 * is not complete.
 */
#ifndef RI_COOP_SHELF_H
#define RI_COOP_SHELF_H

#include "coop_side.h"

/** Receiver: make a shelf for the stream, which has a ring, if it is time for that and the sender
 * has not refused one. @return Whether the stream has a shelf. */
int ri_coop_shelf_is_there(ri_stream_t *stream);

/** Receiver: decide whether this copy, whose message is matched, takes parts from a shelf
 * (coop->takes), which is made if it is time for that; and say so in the slot. Until
 * ri_coop_shelf_leave() the copy needs it. */
void ri_coop_shelf_use(ri_coop_t *coop);

/** Receiver: a message of the stream does not go by its shelf, if there is one. The time that it
 * takes is not compared with that of others. */
void ri_coop_shelf_pass(ri_stream_t *stream);

/** Receiver: the copy ends, and needs no shelf any more, if it had one. @a is_done: all of it was
 * copied, and how long that has taken counts for the next ones. */
void ri_coop_shelf_leave(ri_coop_t *coop, int is_done);

/** Receiver: the ring of a stream is unmapped, and with it goes its shelf, if there is one, as soon
 * as no copy needs it any more. */
void ri_coop_shelf_drop(ri_stream_t *stream);

/** Receiver: take parts of this copy from its shelf. @return RI_COOP_WAITS if there is none; else
 * what has become of the copy. */
ri_coop_state_t ri_coop_shelf_take(ri_coop_t *coop);

/** Sender: map the shelf, if the receiver says that parts of this copy go by it, and it is not
 * mapped yet. @return Whether parts of this copy go by a shelf. */
int ri_coop_shelf_goes_by(ri_coop_t *coop);

/** Sender: @return Whether all parts have to go by the shelf: the receiver does not say where its
 * memory is. */
int ri_coop_shelf_is_only_method(const ri_coop_t *coop);

/** Sender: @return Whether the receiver may soon say that parts go by the shelf: the latest copy
 * went so, and this message is not matched yet. */
int ri_coop_shelf_is_expected(const ri_coop_t *coop);

/** Sender: put parts of this copy, which goes by a shelf, there. @return RI_COOP_WAITS if there is
 * no room, or nothing is left (coop->exhausted); RI_COOP_WORKED, or BROKEN. */
ri_coop_state_t ri_coop_shelf_put(ri_coop_t *coop);

/** Sender: the ring of a conn is unmapped, and with it its shelf, if it has one. No copy needs
 * it. */
void ri_coop_shelf_close(ri_conn_t *conn);

#endif
