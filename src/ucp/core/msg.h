/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of messages that wait, in a few size classes that are re-used.
 */
#ifndef RI_MSG_H
#define RI_MSG_H

#include "types/stream_types.h"
#include "types/worker_types.h"

/** Allocate a message with room for @a length bytes of data. Only its size class is set. @return
 * The message, which ri_msg_free() frees; NULL without memory. */
ri_msg_t *ri_msg_alloc(ri_worker_t *worker, size_t length);

/** Free a message's memory. It is in no list or index any more. What it stands for, as a descriptor
 * or a sender that waits, is the caller's to end. */
void ri_msg_free(ri_worker_t *worker, ri_msg_t *msg);

/** Give up a message that nobody will receive, and that is in no list or index any more: its
 * data, then its memory. A descriptor is released to UCP, and the sender of an RTS gets its
 * answer, by which any conn may end. Counts of its stream other than held bytes are the
 * caller's. */
void ri_msg_discard(ri_worker_t *worker, ri_msg_t *msg);

/** Free the memory that is kept of messages that were freed. No message is in use. */
void ri_msg_pool_cleanup(ri_worker_t *worker);

/** Count payload that is kept in memory, for @a stream if that is not NULL. */
static inline void ri_msg_hold(ri_worker_t *worker, ri_stream_t *stream, size_t length)
{
    if (stream != NULL) {
        stream->counters.stream_held_bytes += length;
    }
    worker->counters.held_bytes += length;
    worker->counters.held_bytes_max = ri_max(worker->counters.held_bytes_max,
                                             worker->counters.held_bytes);
}

/** Payload that @ref ri_msg_hold has counted is not kept any longer. */
static inline void ri_msg_unhold(ri_worker_t *worker, ri_stream_t *stream, size_t length)
{
    if (stream != NULL) {
        stream->counters.stream_held_bytes -= length;
    }
    worker->counters.held_bytes -= length;
}

#endif
