/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of a stream's receives that wait, and which of them end when the stream, its sender, or
 * the worker does.
 */
#include "rndv_recv.h"
#include "../../core/types/module.h"
#include "../../core/recv_req.h"
#include "../../link/local.h"
#include "net_expose.h"
#include "ud_run.h"

/* By who may write a receive: who may do so next. */
static const uint8_t recv_may_become[RI_RECV_WRITTEN_LAST] = {
        [RI_RECV_NOT_WRITTEN] = (1u << RI_RECV_BY_CTS) | (1u << RI_RECV_BY_TARGET),
        [RI_RECV_BY_CTS]      = 0,
        [RI_RECV_BY_TARGET]   = 1u << RI_RECV_NOT_WRITTEN,
};

int ri_rndv_recv_may_become(ri_recv_written_t from, ri_recv_written_t to)
{
    return (recv_may_become[from] >> to) & 1;
}

/* By who may write a receive, whether it has keys, and whether the sender's process is gone:
 * whether the receive ends at once (rndv_recv.h). */
static const uint8_t recv_may_end[RI_RECV_WRITTEN_LAST][2][2] = {
        [RI_RECV_NOT_WRITTEN] = {{1, 1}, {1, 1}},
        [RI_RECV_BY_CTS]      = {{0, 1}, {1, 1}},
        [RI_RECV_BY_TARGET]   = {{1, 1}, {1, 1}},
};

int ri_rndv_recv_may_end(ri_recv_written_t written, int has_keys, int is_gone)
{
    return recv_may_end[written][!!has_keys][!!is_gone];
}

void ri_rndv_recv_wait_as(ri_recv_req_t *recv, ri_stream_t *stream)
{
    recv->rndv.stream  = stream;
    recv->rndv.written = RI_RECV_NOT_WRITTEN; /* at first: it begins to wait */
    recv->keys         = NULL;
    ucs_list_add_tail(&stream->fetching, &recv->list);
}

ucs_status_t ri_rndv_recv_wait(ri_recv_req_t *recv, ri_stream_t *stream)
{
    recv->id = ri_id_alloc(&stream->worker->ids.recvs, recv);
    if (recv->id == 0) {
        return UCS_ERR_NO_MEMORY;
    }
    recv->rndv.req_id = 0; /* of no message by datagrams */
    ri_rndv_recv_wait_as(recv, stream);
    return UCS_OK;
}

void ri_rndv_recv_forget(ri_recv_req_t *recv)
{
    if (recv->keys != NULL) {
        ri_net_expose_cut(recv);
    }
    if (recv->rndv.written == RI_RECV_BY_TARGET) {
        ri_ud_run_leave(recv);
    }
    ucs_list_del(&recv->list);
    ri_id_free(&recv->super.worker->ids.recvs, recv->id);
    recv->rndv.stream = NULL;
}

typedef int (*recv_is_func_t)(const ri_recv_req_t *recv);

/* May the memory of a receive that waits be handed back? */
static int recv_may_abort(const ri_recv_req_t *recv)
{
    int has_keys = (recv->keys != NULL);

    /* whether a process is there is asked only if it matters */
    return ri_rndv_recv_may_end((ri_recv_written_t)recv->rndv.written, has_keys, 0) ||
           (ri_rndv_recv_may_end((ri_recv_written_t)recv->rndv.written, has_keys, 1) &&
            ri_local_is_gone(recv->rndv.stream->peer));
}

/* May the sender write the memory of a receive that waits? */
static int recv_is_written(const ri_recv_req_t *recv)
{
    return recv->rndv.written != RI_RECV_NOT_WRITTEN;
}

static void recv_abort_one(ri_recv_req_t *recv, ucs_status_t status)
{
    ri_rndv_recv_forget(recv);
    ri_recv_complete(recv, status);
}

/* @return The first receive of a stream that waits and is as asked for, or NULL. */
static ri_recv_req_t *recv_find(ri_stream_t *stream, recv_is_func_t is)
{
    ri_recv_req_t *recv;

    ucs_list_for_each(recv, &stream->fetching, list) {
        if (is(recv)) {
            return recv;
        }
    }
    return NULL;
}

/* Each callback may end any other receive. */
static void recv_abort_those(ri_stream_t *stream, recv_is_func_t is, ucs_status_t status)
{
    ri_recv_req_t *recv;

    while ((recv = recv_find(stream, is)) != NULL) {
        recv_abort_one(recv, status);
    }
}

void ri_rndv_recv_abort(ri_stream_t *stream, ucs_status_t status)
{
    recv_abort_those(stream, recv_may_abort, status);
}

void ri_rndv_recv_abort_written(ri_stream_t *stream, ucs_status_t status)
{
    recv_abort_those(stream, recv_is_written, status);
}

void ri_rndv_recv_drop_written(ri_stream_t *stream)
{
    ri_recv_req_t *recv;

    while ((recv = recv_find(stream, recv_is_written)) != NULL) {
        ri_rndv_recv_forget(recv);
    }
}

/* @return A receive by any stream of a peer (0: of any) that may be aborted, or NULL. */
static ri_recv_req_t *recv_find_any(ri_worker_t *worker, uint64_t uid)
{
    ri_recv_req_t *recv = NULL;
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        if ((uid == 0) || (stream->peer->uid == uid)) {
            recv = recv_find(stream, recv_may_abort);
        }
        if (recv != NULL) {
            break;
        }
    }
    return recv;
}

void ri_rndv_recv_abort_all(ri_worker_t *worker, uint64_t uid, ucs_status_t status)
{
    ri_recv_req_t *recv;

    /* Each callback may free any stream. */
    while ((recv = recv_find_any(worker, uid)) != NULL) {
        recv_abort_one(recv, status);
    }
}

static void recv_peer_fails(ri_worker_t *worker, uint64_t uid, ucs_status_t status)
{
    ri_rndv_recv_abort_all(worker, uid, status);
}

static void recv_worker_ends(ri_worker_t *worker)
{
    ri_rndv_recv_abort_all(worker, 0, UCS_ERR_CONNECTION_RESET);
}

static int recv_stream_is_needed(const ri_stream_t *stream, ri_stream_need_t need)
{
    (void)need; /* for all */
    return !ucs_list_is_empty((ucs_list_link_t *)&stream->fetching);
}

const ri_module_t ri_module_rndv_recv = {.name             = "rndv_recv",
                                         .worker_ends      = recv_worker_ends,
                                         .peer_fails       = recv_peer_fails,
                                         .stream_is_needed = recv_stream_is_needed,
                                         .stream_ends      = ri_rndv_recv_abort,
                                         .stream_closed    = ri_rndv_recv_abort_written,
                                         .stream_freed     = ri_rndv_recv_drop_written};
