/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Pool buffers that the receiver releases (RELEASE). A sender copies a message to its pool
 * (pool.h); the receiver reads it there, and then owes the buffer. (protocol.md section 8)
 *
 * Nobody waits for a RELEASE but a close, so none need be sent at once: they ride on messages that
 * go to the peer anyway, or wait for company. They are sent at once when the sender's pool is
 * nearly empty, as it says with its message.
 *
 * What waits is in conn->release.id, one buffer that the next message in the conn's ring takes
 * along, and in peer->release.list.
 */
#ifndef RI_RELEASE_H
#define RI_RELEASE_H

#include "../core/worker.h"

/** Seconds that what is released through a network waits for company; tests change it. */
extern double ri_release_time;

/**
 * Release a buffer: at once, or with others later.
 *
 * @param stream   That its message came by; the peer may be gone afterwards.
 * @param id       Of the buffer, as the sender has said it.
 * @param at_once  The sender's pool is nearly empty: send all that waits for it.
 */
void ri_release_buffer(ri_stream_t *stream, uint32_t id, int at_once);

/** Send all ids of buffers that wait to be released, to all peers. Those for a peer without a
 * usable conn are owed to it. Any peer may be gone afterwards. */
void ri_release_flush_all(ri_worker_t *worker);

/** Send the ids that have waited for ri_release_time, or that wait for a number of calls only. Any
 * peer may be gone afterwards. */
void ri_release_flush_due(ri_worker_t *worker);

/** Send all ids that wait for the peer of a conn, which is about to be closed and may have no peer.
 * The peer may be gone afterwards. */
void ri_release_flush_conn(ri_conn_t *conn);

/** The conn ends or has failed: the ids that the next message in its ring was to take along wait
 * for another way (peer->release). Without a peer they are dropped. */
void ri_release_keep(ri_conn_t *conn);

/** Take out the id that the next message in the ring of @a conn releases. @return The id of a
 * buffer; 0: none waits. */
static inline uint32_t ri_release_take(ri_conn_t *conn)
{
    uint32_t id = conn->release.id;

    conn->release.id = 0;
    return id;
}

#endif
