/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrivals by channels through a network (link/channel_life.h): records are checked, and handed to
 * who is in charge of their type.
 */
#ifndef RI_CHANNEL_IN_H
#define RI_CHANNEL_IN_H

#include "../core/worker.h"

/** Receive from all channels of a worker, up to 16 records from each, and tell their senders how
 * far. Channels that have ended are freed, and ways that must not be written by any more are given
 * up. Then go on with channels that this worker sends by and that are not open. Calls back; any
 * conn or stream that is not busy may be gone afterwards. @return Number of records that were
 * received. */
unsigned ri_channel_in_progress(ri_worker_t *worker);

/** Take the RTRs that are in the channel of a stream, if it has one, also from behind other
 * records; at most 16 records are looked at. Only outside of progress; no callback is called. The
 * records stay in the channel. A malformed one is left for progress to deal with. */
void ri_channel_in_take_rtrs(ri_stream_t *stream);

/** Take RTS and POOL records that are first in channels and match no posted receive, up to 16 from
 * each: a receive that is posted now finds them. Their senders are told how far. Only outside of
 * progress; no callback is called. Without memory they stay where they are. */
void ri_channel_in_keep_announced(ri_worker_t *worker);

/** Handler of CHANNEL_AGAIN: take a record that was in a channel whose way has failed, unless it
 * was read, or learn from the last one how many there were. This side's end of the way is given up
 * if it is still there, and what is in the buffer is taken before. A record of another channel is
 * counted and ignored. Calls back; a stream that is not busy may be gone afterwards. */
void ri_channel_in_handle_again(ri_stream_t *stream, const ri_wire_msg_t *msg);

#endif
