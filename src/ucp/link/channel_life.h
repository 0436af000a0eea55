/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The eager channel through a network, between the most active pairs (uct/ib/rc/rc_channel.h): who
 * has one, what travels through it, and its receiver's end. channel_out.h has its sender's end.
 * (protocol.md section 6)
 *
 * As for rings, the receiver decides: after IB_EAGER_AFTER messages of a stream by active message
 * it makes a buffer, and offers it by its way to the peer; at most IB_EAGER_PEERS at a time. When
 * another stream deserves one, the least recently active is asked back. A channel carries short
 * messages, what offers long ones (RTS, POOL), and those control messages that belong to a single
 * transfer. Unlike in rings nothing waits for room: what finds none goes by active message, as do
 * all other messages.
 *
 * A channel ends with the way by which it is written, whatever that ends for. Then the receiver
 * takes what is in the buffer, in which nothing changes any more. The sender sends each record
 * again, by active message, that its device has not acknowledged (CHANNEL_AGAIN), with its
 * position; the receiver gives up its own end before it looks at such a message, and drops what is
 * in front of the position up to which it has read. So each record is handled once, whatever it
 * is: the handlers know nothing of ways that fail. The receiver keeps the position until the sender
 * says that this was all, and offers no other channel before.
 * The word of the sender that credits are written to stays as long as one may come: until the
 * receiver has asked a second time for a channel that is closed, or the way is gone.
 * Rejected: to tell by the number what was there already. Only messages in sequence have one, and
 * a synchronous one would be answered twice.
 */
#ifndef RI_CHANNEL_LIFE_H
#define RI_CHANNEL_LIFE_H

#include <assert.h>

#include "channel_out.h"

/** A flag of the receiver's end was set, or its memory is gone: assert that it is as
 * ri_channel_in_t says. */
static inline void ri_channel_life_check_in(const ri_channel_in_t *in)
{
    assert(!in->all_told || (in->dead && !in->closed));
    assert((in->memory != NULL) || (in->dead && !in->closed));
}

/** No rings can be had for @a stream: make a channel and offer it, if that is possible now. If
 * not, what is missing is asked for (the sender's id, a way), or another channel is asked back.
 * Sets after how many messages it is called again (stream->am_left), if ever. */
void ri_channel_life_consider(ri_stream_t *stream);

/** Handler of CHANNEL_ACCEPT: the sender writes the channel that it was offered, and tells where
 * it takes credits. */
void ri_channel_life_handle_accept(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** Handler of CHANNEL_CLOSE: the sender writes the channel no more, has refused it, or does not
 * know it (any more). In the last case, or if the end that it tells cannot be, the way to the
 * peer ends. The channel is freed later, unless it is dead and all has come. */
void ri_channel_life_handle_close(ri_stream_t *stream, const ri_wire_msg_t *msg);

/** @return Whether nothing comes again, any more, of a channel whose way has ended. */
static inline int ri_channel_life_has_all(const ri_channel_in_t *in)
{
    return in->all_told && (in->again >= in->all);
}

/** Something has come again, or its sender has said that this was all: free what is left of the
 * channel, if nothing is to come and its memory is gone. @a in may be freed. */
void ri_channel_life_note_all(ri_channel_in_t *in);

/** Let go of the memory of a channel that is dead, or closed with no credit under way; what is not
 * read is lost. @a in is freed as well, unless something is still to come again. It has memory, and
 * none of its records is being delivered. The sender of one that is closed is told that no credit
 * comes any more. */
void ri_channel_life_free(ri_channel_in_t *in);

/** The stream ends, or nothing comes again: free its channel, if it has one. That has no memory
 * (any more). */
void ri_channel_life_forget(ri_stream_t *stream);

/** @return Whether a stream has a channel that may have something to be read: it has its memory. */
static inline int ri_channel_life_is_there(const ri_stream_t *stream)
{
    return (stream->channel != NULL) && (stream->channel->memory != NULL);
}

#endif
