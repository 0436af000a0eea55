/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's side of receiver-initiated rendezvous: which receives offer their memory to
 * a sender before there is a message (RTR), and when that is taken back.
 * (protocol-rndv.md)
 *
 * With each RTR goes a grant, a word in memory that both sides see: the sender has to change
 * it before it writes, and the receiver changes it to take the RTR back. Whoever is first
 * has it. So a receive can be cancelled, or given to another sender's message, at once and
 * without asking anybody.
 *
 * States of a receive (ri_recv_req_t.rtr): NONE -> OUT when an RTR is sent, or QUEUED if one
 * is to be sent later; OUT -> NONE when it is taken back or its message has come; OUT ->
 * KEPT if the ring with the grant goes after the sender has used it.
 */
#ifndef RI_RTR_H
#define RI_RTR_H

#include "../../core/worker.h"
#include "../../order/recv_start.h"

/** A receive above the eager threshold was posted: send an RTR if that is right and may
 * pay. */
void ri_rtr_posted(ri_recv_req_t *recv);

/** @return By which of worker->rtr_keys receives are counted whose masked tag is @a key. */
static inline unsigned ri_rtr_key(uint64_t key)
{
    return (key * 0x9e3779b97f4a7c15ul) >> 56;
}

/** @return Whether there may be receives with RTRs among those of the tag and mask of a
 * receive. */
static inline int ri_rtr_has_kin(const ri_recv_req_t *recv)
{
    return recv->super.worker->rtr_keys[ri_rtr_key(recv->tag & recv->mask)] != 0;
}

/** @return Whether what a message finds has nothing to do with RTRs: all receives have one
 * mask, and none of its tag has one. */
static inline int ri_rtr_is_apart(const ri_worker_t *worker, uint64_t tag)
{
    const ri_mask_class_t *class = worker->match.latest;

    return (class != NULL) && (class->posted.count == worker->match.num_posted) &&
           (worker->rtr_keys[ri_rtr_key(tag & class->mask)] == 0);
}

/** Find and take out the receive of a message, when some receives have RTRs: but only if
 * none of its tag and mask has. @return NULL: it may have to be by @ref ri_rtr_match. */
ri_recv_req_t *ri_rtr_match_plain(ri_worker_t *worker, uint64_t tag);

/** Find and take out the receive of a message of @a stream (NULL: of this worker itself),
 * when some receive may have an RTR. */
ri_recv_req_t *ri_rtr_match(ri_worker_t *worker, const ri_stream_t *stream, uint64_t tag);

/**
 * A receive with an RTR that is not NONE has met a message that is not PLACED.
 *
 * @param status  Set with 1 as the result. UCS_OK: the sender has written. UCS_INPROGRESS:
 *                it writes, the receive completes later. An error: it breaks the protocol;
 *                its stream is broken and the receive ends so.
 *
 * @return 0: the receive has no RTR any more, go on as if it never had.
 */
int ri_rtr_meet(ri_recv_req_t *recv, ri_stream_t *stream, const ri_arrival_t *arrival,
                ucs_status_t *status);

/** PLACED has met a receive. @return UCS_OK: the data is there. An error: as ri_rtr_meet. */
ucs_status_t ri_rtr_placed(ri_recv_req_t *recv, ri_stream_t *stream,
                           const ri_arrival_t *arrival);

/** Likewise, by USED: the sender writes. @return UCS_INPROGRESS, or an error. */
ucs_status_t ri_rtr_used(ri_recv_req_t *recv, ri_stream_t *stream,
                         const ri_arrival_t *arrival);

/** A message above the eager threshold was matched: its receive has come from where it is
 * said, and may have been early. */
void ri_rtr_learn(ri_recv_req_t *recv, const ri_stream_t *stream,
                  const ri_arrival_t *arrival);

/** The library is about to read a message of @a length bytes: it is busy itself then, not the
 * application. */
void ri_rtr_note_reading(ri_worker_t *worker, size_t length);

/** A long message of this process has been received. */
void ri_rtr_note_active(ri_worker_t *worker);

/** Take out a posted receive that is to be cancelled. @return 0 if it has to stay: an RTR of
 * it, or one that counts it, has been used. */
int ri_rtr_cancel(ri_recv_req_t *recv);

/** Send what is queued, as far as it is possible now; look after receives that the sender
 * writes. */
void ri_rtr_progress(ri_worker_t *worker);

/** @return Whether there is something for @ref ri_rtr_progress. */
static inline int ri_rtr_has_work(ri_worker_t *worker)
{
    return !ucs_list_is_empty(&worker->rtr_writing) ||
           (worker->rtr_retry && (!ucs_list_is_empty(&worker->rtr_queue) ||
                                  !ucs_list_is_empty(&worker->rtr_full)));
}

/** The ring to a peer is about to be closed: end the grants that are in it. */
void ri_rtr_close(ri_conn_t *conn);

/** A stream ends: its sender may use no RTR any more, and has ended what it was doing by those
 * that it has used, when this returns. */
void ri_rtr_withdraw(ri_stream_t *stream);

/** A stream ends: what was offered to it is taken back, what it writes ends with
 * @a status. */
void ri_rtr_abort(ri_stream_t *stream, ucs_status_t status);

/** The ring from a sender has ended: if its endpoint has failed and its process is gone, the
 * stream ends, as far as RTRs are concerned. */
void ri_rtr_check_gone(ri_stream_t *stream);

#endif
