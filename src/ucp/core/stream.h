/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams: what comes from one remote conn, in its order. (protocol.md section 5)
 */
#ifndef RI_STREAM_H
#define RI_STREAM_H

#include <assert.h>

#include "types/module.h"
#include "types/stream_types.h"
#include "../wire/wire.h"

/**
 * Find the stream of a hello, which was checked, or make it and, if need be, its peer.
 *
 * @return The stream, which belongs to the worker; NULL without memory or ids.
 */
ri_stream_t *ri_stream_get(ri_worker_t *worker, const ri_wire_hello_t *hello);

/** @return The latest stream of a remote conn id, or NULL if none introduced itself. */
ri_stream_t *ri_stream_find(ri_worker_t *worker, uint64_t uid, uint32_t conn_id);

/** @return Whether any part needs the stream for @a need (module.h). */
int ri_stream_is_needed(const ri_stream_t *stream, ri_stream_need_t need);

/** Free a stream with everything it holds; receives that wait for data by it end. It has no ring,
 * no memory of a channel, and no unexpected message refers to it; it is not busy. Calls back;
 * its peer may be gone afterwards. */
void ri_stream_destroy(ri_stream_t *stream);

/** The order of a stream cannot be kept, or its sender breaks the protocol: drop what is kept of
 * it and all that follows, end its receives, and tell the sender. @a why is for the log. Polling
 * frees its ring. The stream is there afterwards. Calls back; any conn may be gone. Does nothing
 * if it is broken already. */
void ri_stream_break(ri_stream_t *stream, const char *why);

/** CONN_ACK is about to be sent, which is not out. */
static inline void ri_stream_set_acked(ri_stream_t *stream)
{
    assert(!stream->acked);
    stream->acked = 1;
}

/** The sender asks for CONN_ACK, whether it was sent or not. */
static inline void ri_stream_set_unacked(ri_stream_t *stream)
{
    stream->acked = 0;
}

/** BYE has come, perhaps not for the first time: nothing follows number @a last. */
static inline void ri_stream_set_closed(ri_stream_t *stream, uint32_t last)
{
    stream->closed    = 1;
    stream->closed_sn = last;
}

/** The next message waits for an answer to a REVOKE, and so do those behind it. */
static inline void ri_stream_stall(ri_stream_t *stream)
{
    assert(!stream->broken);
    stream->stalled = 1;
}

/** The answer has come: if the stream is stalled, it is to go on. */
static inline void ri_stream_set_resumes(ri_stream_t *stream)
{
    stream->resumes = stream->stalled;
}

/** The stream goes on, and is not stalled any more. */
static inline void ri_stream_resume(ri_stream_t *stream)
{
    assert(stream->resumes && stream->stalled);
    stream->resumes = 0;
    stream->stalled = 0;
}

/** What @ref ri_stream_check_closed does if the sender has closed the stream, which may be gone
 * afterwards. */
void ri_stream_check_closed_slow(ri_stream_t *stream);

/** If the sender of a stream has closed it, end what that could write until now, and free the
 * stream if nothing is left of it and it is not busy. Calls back; a stream that is not busy, and
 * its peer, may be gone afterwards. */
static inline void ri_stream_check_closed(ri_stream_t *stream)
{
    if (ri_unlikely(stream->closed)) {
        ri_stream_check_closed_slow(stream);
    }
}

#endif
