/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that are posted may be promised: their memory was offered to one sender, who may have
 * begun to write it (RTRs, proto/rtr/rtr.h). Such a receive cannot be given to any message. What
 * order asks about that goes by this table, which proto/rtr/promises.c fills. While no receive is
 * promised, no message asks.
 *
 * Whether there are any is told by worker->rtr.num; worker->rtr.by_class tells it for tags.
 */
#ifndef RI_PROMISES_H
#define RI_PROMISES_H

#include "arrival.h"

typedef struct ri_promises {
    /** Find and take out the receive of a message of @a stream (NULL: of this worker itself), when
     * some receive may be promised. @return NULL: there is none. */
    ri_recv_req_t *(*match)(ri_worker_t *worker, const ri_stream_t *stream, uint64_t tag);

    /** Find and take out the receive of a short message, but only if no receive of the tag and mask
     * that it finds is promised. @return NULL: it may have to be by `match`. */
    ri_recv_req_t *(*match_plain)(ri_worker_t *worker, uint64_t tag);

    /** @return Whether a message that has its turn has to wait, because it is not known yet whether
     * the receive that it should have is promised to another sender. That was asked then. @a
     * stream NULL: of this worker itself. Only if worker->rtr.num_entries is not 0. */
    int (*ask_senders)(ri_worker_t *worker, const ri_stream_t *stream, uint64_t tag);

    /** Messages wait because of ask_senders, and must not wait any longer: have all answers decided
     * soon. Progress goes on with what waits. */
    void (*decide)(ri_worker_t *worker);

    /**
     * A receive that is promised (recv->rtr.state is not RI_RTR_NONE) has met a message that did
     * not come by that promise.
     *
     * @param status  Set with 1 as the result. UCS_OK: the sender has written. UCS_INPROGRESS: it
     *                writes, and the receive completes later. An error: the sender breaks the
     *                protocol, its stream is broken, and the receive ends so.
     *
     * @return 0: the receive is not promised any more, go on as if it never had been.
     */
    int (*meet)(ri_recv_req_t *recv, ri_stream_t *stream, const ri_arrival_t *arrival,
                ucs_status_t *status);

    /** A message above the eager threshold was matched: its receive has come from where it is said,
     * and may have been early. Also while no receive is promised. */
    void (*learn)(ri_recv_req_t *recv, const ri_stream_t *stream,
                  const ri_arrival_t *arrival);

    /** A message above the eager threshold comes by itself, in parts, and meets a receive with the
     * first of them. */
    void (*learn_waiting)(ri_recv_req_t *recv, const ri_stream_t *stream);

    /** A resource that promises need, and of which there is little, is free again: a queue pair. */
    void (*room_is_back)(ri_worker_t *worker);
} ri_promises_t;

extern const ri_promises_t ri_promises;

/** @return By which of worker->rtr.by_class receives are counted whose masked tag is @a key. */
static inline unsigned ri_promises_class(uint64_t key)
{
    return (key * 0x9e3779b97f4a7c15ul) >> 56;
}

/** @return Whether what a message finds has nothing to do with promises: all posted receives have
 * one mask, and none of its tag is promised. */
static inline int ri_promises_are_apart(const ri_worker_t *worker, uint64_t tag)
{
    const ri_mask_class_t *class = worker->match.latest;

    return (class != NULL) && (class->posted.count == worker->match.num_posted) &&
           (worker->rtr.by_class[ri_promises_class(tag & class->mask)] == 0);
}

#endif
