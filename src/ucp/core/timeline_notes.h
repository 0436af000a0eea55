/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Events in the life of long messages, for a timeline (timeline.h). Messages of up to
 * UCXRI_EAGER_THRESH bytes, and all without a timeline, cost one look.
 */
#ifndef RI_TIMELINE_NOTES_H
#define RI_TIMELINE_NOTES_H

#include "types/conn_types.h"
#include "types/request.h"
#include "types/stream_types.h"
#include "types/worker_types.h"
#include "../../ucs/settings.h"

/** What @ref ri_timeline_send does for a message that is noted. */
void ri_timeline_notes_send(const ri_send_req_t *req);

/** What @ref ri_timeline_send_by does for a message that is noted. */
void ri_timeline_notes_send_by(const ri_send_req_t *req);

/** What @ref ri_timeline_recv does for a message that is noted. */
void ri_timeline_notes_recv(const ri_recv_req_t *recv, const ri_stream_t *stream,
                            uint32_t sn, uint64_t length);

/** @return Whether a message of @a length bytes is noted by itself. */
static inline int ri_timeline_takes(const ri_worker_t *worker, uint64_t length)
{
    return (length > ri_config.eager_thresh) &&
           ri_unlikely(worker->timeline.entries != NULL);
}

/** A call of the application that may take long, as it copies, begins; progress is no such call. A
 * call that a callback makes within progress counts to the time of progress. */
static inline void ri_timeline_call_begins(ri_worker_t *worker)
{
    if (ri_unlikely(worker->timeline.entries != NULL) && !worker->progressing) {
        ri_timeline_application(&worker->timeline, ri_clock_ticks());
    }
}

/** The call that has begun by @ref ri_timeline_call_begins ends. */
static inline void ri_timeline_call_ends(ri_worker_t *worker)
{
    if (ri_unlikely(worker->timeline.entries != NULL) && !worker->progressing) {
        worker->timeline.last = ri_clock_ticks();
    }
}

/** A send was called; its data is known. */
static inline void ri_timeline_send(const ri_send_req_t *req)
{
    if (ri_timeline_takes(req->super.worker, req->data.length)) {
        ri_timeline_notes_send(req);
    }
}

/** A send has its number and its protocol, and is started now. */
static inline void ri_timeline_send_by(const ri_send_req_t *req)
{
    if (ri_timeline_takes(req->super.worker, req->data.length)) {
        ri_timeline_notes_send_by(req);
    }
}

/** A send is over. */
static inline void ri_timeline_send_end(const ri_send_req_t *req, ucs_status_t status)
{
    ri_worker_t *worker = req->super.worker;

    if (ri_timeline_takes(worker, req->data.length)) {
        ri_timeline_note(&worker->timeline, RI_TIMELINE_SEND_END, req, status, 0, 0, 0);
    }
}

/** A receive has met message @a sn of @a stream. */
static inline void ri_timeline_recv(const ri_recv_req_t *recv, const ri_stream_t *stream,
                                    uint32_t sn, uint64_t length)
{
    if (ri_timeline_takes(recv->super.worker, length)) {
        ri_timeline_notes_recv(recv, stream, sn, length);
    }
}

/** A receive that has met its message is over. */
static inline void ri_timeline_recv_end(const ri_recv_req_t *recv, ucs_status_t status)
{
    ri_worker_t *worker = recv->super.worker;

    if (ri_timeline_takes(worker, recv->info.length)) {
        ri_timeline_note(&worker->timeline, RI_TIMELINE_RECV_END, recv, status,
                         recv->info.length, 0, 0);
    }
}

#endif
