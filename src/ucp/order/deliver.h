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

#include "promises.h"
#include "recv_start.h"
#include "../../ucs/settings.h"
#include "../match/match.h"

/**
 * Take a message of @a stream: match it, keep it for its turn or its receive, or drop it if it is
 * none or the stream is broken; and match early messages whose turn has come with it. Without
 * memory to keep it, the stream is broken. The stream is kept by stream->busy. Calls back.
 *
 * @param arrival  Its msg is NULL afterwards if that was taken over. What else it points to may be
 *                 copied.
 *
 * @return UCS_INPROGRESS if arrival->desc was kept, or UCP has got it back for the receive; else
 *         UCS_OK.
 */
ucs_status_t ri_deliver(ri_stream_t *stream, ri_arrival_t *arrival);

/**
 * Keep an RTS or POOL of @a stream, if it has its turn, no posted receive matches it, and no early
 * message waits. Nothing changes but queues: no callback is called, no message is sent, nothing
 * ends.
 *
 * @return 0: it is not so, or there is no memory; then nothing was done.
 */
int ri_deliver_unexpected(ri_stream_t *stream, ri_arrival_t *arrival);

/**
 * Find and take out the receive of an eager message that is next in order, of which only the start
 * is there. Its number is not counted yet. The stream is kept by stream->busy.
 *
 * @return NULL if there is none, or that is not known yet; or if the receive was promised to
 *         another message of the stream: then it has ended with an error, which calls back, and the
 *         stream is broken.
 */
ri_recv_req_t *ri_deliver_match_eager(ri_stream_t *stream, uint32_t sn, uint64_t tag,
                                      size_t length);

/** Count a message that did not come by the fast path, on which there are only eager ones. A long
 * message that was sent eagerly does not count as one: no RTR could have served it. */
static inline void ri_deliver_count(ri_stream_t *stream, uint8_t wire_type, size_t length)
{
    stream->counters.rx_bytes += length;
    stream->counters.rx_long += (length > ri_config.eager_thresh) &&
                                !ri_wire_rows[wire_type].is_eager;
}

/** Place the data of a message that was matched and complete its receive, now or when the data is
 * in its memory. Calls back. */
void ri_deliver_matched(ri_recv_req_t *recv, uint64_t tag, const void *data,
                        size_t length);

/** Take a plain eager message whose payload is at hand, to be copied if it is kept; as @ref
 * ri_deliver. */
void ri_deliver_plain(ri_stream_t *stream, uint8_t wire_type, uint32_t sn, uint64_t tag,
                      const void *data, size_t length);

/**
 * The shortest way for the most frequent case, that a plain eager message is next in order and its
 * receive is posted. The stream is kept by stream->busy. Calls back.
 *
 * @param tag  Not read for RI_WIRE_EAGER_SAME.
 *
 * @return 0 if it is not that case: nothing was done.
 */
static inline int ri_deliver_fast(ri_stream_t *stream, uint8_t wire_type, uint32_t sn,
                                  uint64_t tag, const void *data, size_t length)
{
    ri_worker_t *worker = stream->worker;
    ri_recv_req_t *recv;

    if (ri_likely((sn == stream->next_sn) && ucs_list_is_empty(&stream->early) &&
                  !stream->broken && ((int64_t)length <= worker->unnoted))) {
        tag  = (wire_type == RI_WIRE_EAGER_SAME) ? stream->last_tag : tag;
        recv = (ri_likely(worker->rtr.num == 0) || ri_promises_are_apart(worker, tag)) ?
                       ri_match_find_posted(&worker->match, tag) :
                       ri_promises.match_plain(worker, tag);
        if (ri_likely(recv != NULL)) {
            stream->next_sn  = sn + 1;
            stream->last_tag = tag;
            stream->counters.rx_bytes += length;
            ++stream->counters.rx_posted;
            ++worker->rings.clock;
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
 * Match a message that is next in order (of a stream, or from this worker itself, with @a stream
 * NULL), or keep it. Without memory to keep it the stream is broken. Calls back.
 *
 * @return As @ref ri_deliver. Without a stream: UCS_OK if the data was taken, UCS_INPROGRESS if the
 *         send waits for its receive, UCS_ERR_NO_MEMORY if the message cannot be kept.
 */
ucs_status_t ri_deliver_in_order(ri_worker_t *worker, ri_stream_t *stream,
                                 ri_arrival_t *arrival);

/** Match a message of this worker to itself, or keep it for its turn. @return As @ref
 * ri_deliver_in_order. */
ucs_status_t ri_deliver_self(ri_worker_t *worker, ri_arrival_t *arrival);

/** Go on with the messages of a stream that were stalled, as far as that is possible. The stream is
 * kept by stream->busy. Calls back. */
void ri_deliver_resume(ri_stream_t *stream);

/** Go on with messages of this worker to itself that were stalled, as far as that is possible.
 * Calls back. */
void ri_deliver_resume_self(ri_worker_t *worker);

/** The worker ends: free the messages of it to itself that were stalled. Their sends end with their
 * conn. */
void ri_deliver_drop_self(ri_worker_t *worker);

/** Count, and the first time report, a message that breaks the protocol and is dropped. @a where:
 * where it came from, for the line that says so. */
void ri_deliver_malformed(ri_worker_t *worker, const char *where, unsigned type,
                          size_t length);

/** Count and report a message of @a stream as @ref ri_deliver_malformed does. The stream goes
 * on. */
void ri_deliver_malformed_of(ri_stream_t *stream, const char *where, unsigned type,
                             size_t length);

/** Count a message that breaks the protocol so that its stream cannot go on, and break the stream,
 * which calls back. The stream itself is there still. @a what: for the user, in the line that says
 * so. */
void ri_deliver_breaking(ri_stream_t *stream, const char *what, unsigned type,
                         size_t length);

#endif
