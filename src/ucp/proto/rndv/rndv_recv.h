/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that wait for the data of a matched RTS or POOL, which comes by itself: it is written,
 * sent as datagrams, or sent by UCP. They stand in stream->fetching, and are known to the sender
 * by their id.
 *
 * When the stream ends, what still waits ends, too, but not what the sender may still write by a
 * plane that this side cannot stop: that memory must not be handed back. Which receive ends at once
 * is one table, that of ri_rndv_recv_may_end() in rndv_recv.c:
 *
 *     written      keys   process   ends
 *     NOT_WRITTEN  any    any       at once
 *     BY_TARGET    any    any       at once: the plane is told to receive no more
 *     BY_CTS       yes    any       at once: this side's end of the way is destroyed
 *     BY_CTS       none   gone      at once
 *     BY_CTS       none   there     by WRITTEN or RNDV_DATA, or when BYE and RING_CLOSE have come
 *
 * The sender writes only while it handles CTS. Its conn is open then, and when that ends, it says
 * so: BYE, and RING_CLOSE if there was a ring. If the stream has broken, the sender gets RESET,
 * which ends its conn. After BYE, RING_CLOSE or RESET nothing is written. What no plane can tell
 * about waits for ever if the sender is killed, as all other receives do in an error mode in which
 * the end of a peer is not noticed (in the other one there is no CTS).
 */
#ifndef RI_RNDV_RECV_H
#define RI_RNDV_RECV_H

#include <assert.h>

#include "../../core/worker.h"

/** Let a receive wait for its data, by a new id, recv->id. Nobody writes it yet. @return UCS_OK or
 * UCS_ERR_NO_MEMORY; it does not wait then. */
ucs_status_t ri_rndv_recv_wait(ri_recv_req_t *recv, ri_stream_t *stream);

/** Let a receive wait for its data, by the id that it has. */
void ri_rndv_recv_wait_as(ri_recv_req_t *recv, ri_stream_t *stream);

/** @return Whether recv->rndv.written may change from one value to another, see
 * ri_recv_written_t. */
int ri_rndv_recv_may_become(ri_recv_written_t from, ri_recv_written_t to);

/** Change who may write the memory of a receive that waits (recv->rndv.written), as
 * ri_recv_written_t allows it. */
static inline void ri_rndv_recv_set_written(ri_recv_req_t *recv,
                                            ri_recv_written_t written)
{
    assert(ri_rndv_recv_may_become((ri_recv_written_t)recv->rndv.written, written));
    recv->rndv.written = written;
}

/** @return Whether the memory of a receive that waits may be handed back when its stream ends.
 * @param has_keys  It is registered, and the sender has the key (recv->keys).
 * @param is_gone   The sender's process does not exist any more. */
int ri_rndv_recv_may_end(ri_recv_written_t written, int has_keys, int is_gone);

/** A receive waits no more, and its id is free. What writes its memory by a way ends: memory that
 * the sender has a key of, by the end of this side's end of the way; a transfer by datagrams, as it
 * is cancelled. What the sender writes within a host is not stopped. The receive is the caller's to
 * complete. */
void ri_rndv_recv_forget(ri_recv_req_t *recv);

/** The stream ends: what still waits ends with @a status, as far as its memory may be handed back.
 * Calls back: the stream has to be kept by stream->busy. */
void ri_rndv_recv_abort(ri_stream_t *stream, ucs_status_t status);

/** BYE has come and there is no ring (any more): what the sender could write ends, too. Calls back,
 * as ri_rndv_recv_abort(). */
void ri_rndv_recv_abort_written(ri_stream_t *stream, ucs_status_t status);

/** The stream is freed with its worker. Receives whose memory the sender may still write are never
 * completed, as nobody knows when it stops. */
void ri_rndv_recv_drop_written(ri_stream_t *stream);

/** As ri_rndv_recv_abort() for all streams of a peer; @a uid 0: of the worker. No stream need be
 * kept: any may be gone afterwards. */
void ri_rndv_recv_abort_all(ri_worker_t *worker, uint64_t uid, ucs_status_t status);

#endif
