/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A stream is found by the id in a message or the hello, is broken or destroyed as the phases of
 * module.h say, and is freed when nothing refers to it any more.
 */
#include "stream.h"
#include "msg.h"
#include "peer.h"
#include "stream_ring.h"
#include "types/worker_types.h"
#include "../../ucs/log.h"
#include "../../ucs/settings.h"

#include <stdlib.h>

ri_stream_t *ri_stream_find(ri_worker_t *worker, uint64_t uid, uint32_t conn_id)
{
    ri_peer_t *peer = ri_map_get(&worker->peers, uid);
    ri_stream_t *stream;

    if (peer == NULL) {
        return NULL;
    }
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        if (stream->remote_conn_id == conn_id) {
            return stream;
        }
    }
    return NULL;
}

ri_stream_t *ri_stream_get(ri_worker_t *worker, const ri_wire_hello_t *hello)
{
    ri_stream_t *stream = ri_stream_find(worker, hello->uid, hello->conn_id);
    ri_peer_t *peer;

    if ((stream != NULL) && (stream->remote_serial == hello->serial)) {
        return stream;
    }
    peer = ri_peer_get(worker, hello->uid);
    if (peer == NULL) {
        return NULL;
    }

    stream = calloc(1, sizeof(*stream));
    if (stream == NULL) {
        goto err_peer;
    }
    stream->id = ri_id_alloc(&worker->ids.streams, stream);
    if (stream->id == 0) {
        free(stream);
        goto err_peer;
    }

    peer->closing          = 0; /* it has another endpoint */
    peer->all_bye          = 0;
    stream->worker         = worker;
    stream->peer           = peer;
    stream->remote_conn_id = hello->conn_id;
    stream->remote_serial  = hello->serial;
    stream->next_sn        = 1;
    stream->am_left        = ri_max(ri_config.ring_after, 1u);
    stream->same_host      = ri_host_may_reach(hello->host, worker->self.host);
    ucs_list_head_init(&stream->early);
    ucs_list_head_init(&stream->probed);
    ucs_list_head_init(&stream->assembling);
    ucs_list_head_init(&stream->fetching);
    ucs_list_head_init(&stream->rtr.recvs);
    ucs_list_add_tail(&worker->streams, &stream->list);
    ucs_list_add_head(&peer->streams, &stream->peer_list);
    ri_trace(&worker->trace, RI_TRACE_STREAM_NEW, hello->uid, stream->id);
    return stream;

err_peer:
    ri_peer_check_unused(worker, peer);
    return NULL;
}

static void stream_discard(ri_worker_t *worker, ucs_list_link_t *msgs)
{
    ri_msg_t *msg, *tmp;

    ucs_list_for_each_safe(msg, tmp, msgs, list) {
        ucs_list_del(&msg->list);
        ri_msg_discard(worker, msg);
    }
}

void ri_stream_destroy(ri_stream_t *stream)
{
    ri_worker_t *worker = stream->worker;

    stream_discard(worker, &stream->early);
    stream_discard(worker, &stream->assembling);
    ++stream->busy; /* callbacks must not free it */
    RI_MODULES_TELL(stream_ends, stream, UCS_ERR_CONNECTION_RESET);
    RI_MODULES_TELL(stream_freed, stream);
    ri_id_free(&worker->ids.streams, stream->id);
    ucs_list_del(&stream->list);
    ucs_list_del(&stream->peer_list);
    ri_peer_check_unused(worker, stream->peer);
    ri_counters_stream_add(&worker->counters.streams, &stream->counters);
    free(stream);
}

void ri_stream_break(ri_stream_t *stream, const char *why)
{
    ri_worker_t *worker = stream->worker;

    if (stream->broken) {
        return;
    }

    ri_trace(&worker->trace, RI_TRACE_STREAM_BREAK, stream->id, stream->next_sn);
    ri_error(
            "a connection from worker 0x%lx ends because of %s: its messages are dropped "
            "from now on",
            stream->peer->uid, why);
    stream->broken    = 1;
    stream->same_host = 0; /* no ring any more */
    ri_stream_ring_end(stream);
    stream_discard(worker, &stream->early);
    stream_discard(worker, &stream->assembling);
    stream->num_early = 0;
    RI_MODULES_TELL(stream_breaks, stream);
    ++stream->busy; /* callbacks must not free it: the caller uses it */
    RI_MODULES_TELL(stream_ends, stream, UCS_ERR_CONNECTION_RESET);
    --stream->busy;
}

int ri_stream_is_needed(const ri_stream_t *stream, ri_stream_need_t need)
{
    int is_needed;

    RI_MODULES_ASK(is_needed, stream_is_needed, stream, need);
    return is_needed;
}

void ri_stream_check_closed_slow(ri_stream_t *stream)
{
    if ((stream->busy == 0) && (stream->ring == NULL)) {
        ++stream->busy; /* callbacks must not free it */
        RI_MODULES_TELL(stream_closed, stream, UCS_ERR_CONNECTION_RESET);
        --stream->busy;
    }
    if ((stream->busy == 0) && (stream->next_sn == stream->closed_sn + 1) &&
        !ri_stream_is_needed(stream, RI_STREAM_NEED_ITSELF)) {
        if ((stream->num_early > 0) || !ucs_list_is_empty(&stream->assembling)) {
            ri_error("a connection from worker 0x%lx ends because its sender could not "
                     "send a message: %zu that followed are dropped",
                     stream->peer->uid, stream->num_early);
        }
        ri_stream_destroy(stream);
    }
}
