/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * From arrival to receive: the order of a stream, and matching.
 * (protocol.md section 4)
 *
 * A stream's messages may come by several ways, and by each out of order; they are
 * matched strictly by sequence number. What comes too early is kept as a message in the
 * stream's early list and has its turn when the number before it has been matched.
 */
#ifndef RI_DELIVER_H
#define RI_DELIVER_H

#include "recv_start.h"
#include "../../ucs/settings.h"
#include "../proto/rtr/rtr.h"

/**
 * Take a message of @a stream.
 *
 * @return UCS_INPROGRESS if arrival->desc was kept, else UCS_OK.
 */
ucs_status_t ri_deliver(ri_stream_t *stream, ri_arrival_t *arrival);

/**
 * Keep an RTS or POOL of @a stream, if it has its turn and no posted receive matches it. Nothing
 * changes but queues: no callback is called, no message is sent, nothing ends.
 *
 * @return 0: it is not so, or there is no memory; then nothing was done.
 */
int ri_deliver_unexpected(ri_stream_t *stream, ri_arrival_t *arrival);

/**
 * Find and take out the receive of an eager message that is next in order, of which only the
 * start is there.
 *
 * @return NULL if there is none; then the stream may be broken.
 */
ri_recv_req_t *ri_deliver_match_eager(ri_stream_t *stream, uint32_t sn, uint64_t tag,
                                      size_t length);

/** A message that did not come by the fast path, on which there are only short ones. */
static inline void ri_deliver_count(ri_stream_t *stream, size_t length)
{
    stream->counters.rx_bytes += length;
    stream->counters.rx_long += (length > ri_config.eager_thresh);
}

/** Place the data of a message that was matched and complete its receive. */
void ri_deliver_matched(ri_recv_req_t *recv, uint64_t tag, const void *data,
                        size_t length);

/** @return Whether the message of that number has come: it was matched, or waits for its turn. */
int ri_deliver_has(const ri_stream_t *stream, uint32_t sn);

/** @return Whether the message of that number has got a receive, or was given up. */
int ri_deliver_is_matched(const ri_stream_t *stream, uint32_t sn);

/** Must a message be left where it came until those before it have come? The sender then finds
 * no room there, so this is flow control, too. The one that is missing comes by another way. */
int ri_deliver_is_far_ahead(const ri_stream_t *stream, uint32_t sn);

/** Take a plain eager message whose payload is at hand, to be copied if it is kept. */
void ri_deliver_plain(ri_stream_t *stream, uint8_t wire_type, uint32_t sn, uint64_t tag,
                      const void *data, size_t length);

/**
 * The shortest way for the most frequent case, that a plain eager message is next in order
 * and its receive is posted.
 *
 * @return 0 if it is not that case: nothing was done.
 */
static inline int ri_deliver_fast(ri_stream_t *stream, uint8_t wire_type, uint32_t sn,
                                  uint64_t tag, const void *data, size_t length)
{
    ri_worker_t *worker = stream->worker;
    ri_recv_req_t *recv;

    if (ri_likely((sn == stream->next_sn) && ucs_list_is_empty(&stream->early) &&
                  !stream->broken && (worker->trace.entries == NULL))) {
        tag  = (wire_type == RI_WIRE_EAGER_SAME) ? stream->last_tag : tag;
        recv = (ri_likely(worker->num_rtrs == 0) || ri_rtr_is_apart(worker, tag)) ?
                       ri_match_find_posted(&worker->match, tag) :
                       ri_rtr_match_plain(worker, tag);
        if (ri_likely(recv != NULL)) {
            stream->next_sn  = sn + 1;
            stream->last_tag = tag;
            stream->counters.rx_bytes += length;
            ++stream->counters.rx_posted;
            ++worker->ring_clock;
            if (ri_likely(ri_dt_is_contig(&recv->data) && (length <= recv->data.length) &&
                          worker->host_memory)) {
                recv->info.sender_tag = tag;
                recv->info.length     = length;
                if (length <= RI_RING_INLINE) {
                    ri_copy_short(recv->data.buffer, data, length);
                } else {
                    ri_copy_lines(recv->data.buffer, data, length);
                }
                ri_req_complete_recv(recv, UCS_OK);
            } else {
                ri_deliver_matched(recv, tag, data, length);
            }
            return 1;
        }
    }
    return 0;
}

/**
 * Match a message that is next in order (of a stream, or from this worker itself, with
 * @a stream NULL).
 *
 * @return As @ref ri_deliver. For SELF: UCS_OK if the data was taken, UCS_INPROGRESS if
 *         the send waits for its receive.
 */
ucs_status_t ri_deliver_in_order(ri_worker_t *worker, ri_stream_t *stream,
                                 ri_arrival_t *arrival);

/** Match a message of this worker to itself. @return As @ref ri_deliver_in_order, or
 * UCS_ERR_NO_MEMORY. */
ucs_status_t ri_deliver_self(ri_worker_t *worker, ri_arrival_t *arrival);

/** Go on with what was stalled, of a stream or of this worker itself, as far as that is
 * possible. */
void ri_deliver_resume(ri_stream_t *stream);
void ri_deliver_resume_self(ri_worker_t *worker);

/** The worker ends. */
void ri_deliver_drop_self(ri_worker_t *worker);

/**
 * Start the receive of a message that was waiting; frees the message.
 *
 * @return The status of the receive, or UCS_INPROGRESS if it ends later.
 */
ucs_status_t ri_recv_start_msg(ri_recv_req_t *recv, ri_msg_t *msg);

/** Count and report (once) a message that breaks the protocol. */
void ri_deliver_malformed(ri_worker_t *worker, const char *where, unsigned type,
                          size_t length);

/** Likewise, one whose sender is known. */
void ri_deliver_malformed_of(ri_stream_t *stream, const char *where, unsigned type,
                             size_t length);

/** Count a message that breaks the protocol so that its stream cannot go on. */
void ri_deliver_breaking(ri_stream_t *stream, const char *what, unsigned type,
                         size_t length);

#endif
