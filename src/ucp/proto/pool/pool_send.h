/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The protocol of POOL, which settings and reports call hybrid: neither side waits for the other,
 * and the receiver is not made to copy twice. The sender copies the message to its pool (pool.h)
 * and says where it is (POOL, an RTS otherwise); with that its send is complete. The receiver reads
 * it from there straight into its place, and releases the buffer (RELEASE). (protocol.md
 * section 8)
 *
 * The receiver owes the buffer till then (link/release.h). When the pool is empty, messages go by
 * another protocol.
 */
#ifndef RI_POOL_SEND_H
#define RI_POOL_SEND_H

#include "../../core/worker.h"
#include "../../link/pool.h"

/** Sender: have a free buffer for @a length bytes registered for the network, by which the peer of
 * the conn is reached. The next message of that length, or ri_pool_send_get(), takes it. The way
 * counts as used. @return Whether there is such a buffer. No buffer is taken in either case. */
int ri_pool_send_reaches(ri_conn_t *conn, size_t length);

/** Sender: take a buffer for the data of @a req, which is not copied yet. It is lent to the conn's
 * peer from here on (conn->lent), until ri_pool_send_free(). @return The buffer, which belongs to
 * the worker's pool; NULL if there is none. */
ri_pool_buffer_t *ri_pool_send_get(const ri_send_req_t *req);

/** Sender: give a buffer back to the pool, as it is not needed any more: it leaves the list that it
 * is in, and may be taken for another message. */
void ri_pool_send_free(ri_pool_buffer_t *buffer);

/** Sender: the way failed while the message in a buffer was written into a receive, and nobody
 * knows whether it has come. Send it again, as a POOL that says so. @return UCS_OK, or an error;
 * the buffer stays as it was, unless the conn has failed. */
ucs_status_t ri_pool_send_again(ri_pool_buffer_t *buffer);

/** Sender: @return Whether messages of @a conn may still be read, or written, from the pool, or
 * wait for memory of UCP. */
int ri_pool_send_is_under_way(const ri_conn_t *conn);

/** Sender: send what UCP had no memory for. What cannot be sent at all is given up. */
void ri_pool_send_progress(ri_worker_t *worker);

/** @return Whether there is something for @ref ri_pool_send_progress. */
static inline int ri_pool_send_has_work(ri_worker_t *worker)
{
    return !ucs_list_is_empty(&worker->pool.unsent);
}

/** Sender: a peer has released buffers. Ids that are not of buffers lent to the peer of @a uid
 * are counted and ignored. */
void ri_pool_send_released(ri_worker_t *worker, uint64_t uid, const uint32_t *ids,
                           unsigned count);

/** Sender: handler of RELEASE: the receiver has released buffers, see ri_pool_send_released(). */
void ri_pool_send_handle_release(ri_worker_t *worker, ri_conn_t *conn,
                                 const ri_wire_msg_t *msg);

/** Sender: handler of the NACK of a POOL: the receiver cannot read the buffer, and is sent its data
 * by UCP (RNDV_DATA), if its process is still there. What that says of the plane is noted. */
void ri_pool_send_handle_nack(ri_worker_t *worker, ri_conn_t *conn,
                              const ri_wire_msg_t *msg);

#endif
