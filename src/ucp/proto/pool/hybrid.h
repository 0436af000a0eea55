/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The hybrid protocol: neither side waits for the other, and the receiver is not made to
 * copy twice. The sender copies the message to its pool (pool.h) and says where it is (POOL,
 * an RTS otherwise); with that its send is complete. The receiver reads it from there
 * straight into its place, and gives the buffer back (RELEASE). (protocol.md section 8)
 *
 * Nobody waits for a RELEASE but a close, so they need not be sent at once: they ride on
 * messages that go to the peer anyway, or wait for company. They are sent at once when the
 * sender's pool is nearly empty. When it is empty, messages go another way.
 */
#ifndef RI_HYBRID_H
#define RI_HYBRID_H

#include "../../core/worker.h"

/** Sender: what goes to the peer of a conn goes through a network. Have a buffer for @a length
 * bytes that is registered, which the next message of that length, or @ref ri_hybrid_get, takes.
 * @return Whether there is one. */
int ri_hybrid_reaches(ri_conn_t *conn, size_t length);

/** Sender: take a buffer for the data of @a req, which is not copied yet. @return NULL if there is
 * none. */
ri_pool_buffer_t *ri_hybrid_get(const ri_send_req_t *req);

/** Sender: a buffer has done its service. */
void ri_hybrid_give_back(ri_pool_buffer_t *buffer);

/** Sender: the message in a buffer was written into a receive, perhaps, when the way failed. Send
 * it again, as a POOL that says so. @return UCS_OK, or an error. */
ucs_status_t ri_hybrid_send_again(ri_pool_buffer_t *buffer);

/** Sender: @return Whether messages of @a conn are being written from the pool. */
int ri_hybrid_is_writing(const ri_conn_t *conn);

/** Sender: @return Whether messages of @a conn may still be read, or written, from the pool. */
int ri_hybrid_is_under_way(ri_conn_t *conn);

/** Receiver: the conn does not go on: what it was to give back goes by another one. */
void ri_hybrid_keep_release(ri_conn_t *conn);

/** Sender: send what UCP had no memory for. */
void ri_hybrid_progress(ri_worker_t *worker);

/** Sender: a peer has given buffers back. */
void ri_hybrid_released(ri_worker_t *worker, uint64_t uid, const uint32_t *ids,
                        unsigned count);

/** Sender: RELEASE, and the NACK of a POOL. */
void ri_hybrid_handle_release(ri_worker_t *worker, ri_conn_t *conn,
                              const ri_wire_msg_t *msg);
void ri_hybrid_handle_nack(ri_worker_t *worker, ri_conn_t *conn,
                           const ri_wire_msg_t *msg);

/**
 * Receiver: give a buffer back.
 *
 * @param stream   That the POOL came by; its peer may be gone afterwards.
 * @param at_once  The sender's pool is nearly empty.
 */
void ri_hybrid_release(ri_stream_t *stream, uint32_t id, int at_once);

/** Receiver: send all that waits to be given back. */
void ri_hybrid_flush_releases(ri_worker_t *worker);

/** Receiver: send what has waited long enough. */
void ri_hybrid_flush_due(ri_worker_t *worker);

/** So many seconds what goes back through a network waits for company; tests change it. */
extern double ri_hybrid_release_time;

/** Receiver: likewise, what goes to the peer of a conn that is about to be closed. */
void ri_hybrid_flush_conn(ri_conn_t *conn);

/** Receiver: @return What the next message in the ring of @a conn is to give back, or 0. */
static inline uint32_t ri_hybrid_take_release(ri_conn_t *conn)
{
    uint32_t id = conn->release;

    conn->release = 0;
    return id;
}

#endif
