/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs whose ring, stream or peer ends.
 */
#include "rtr_state.h"
#include "../../core/recv_req.h"
#include "../../core/module.h"
#include "../../link/planes.h"
#include "rtr_message.h"
#include "rtr_ud.h"
#include "rtr_used.h"
#include "../../order/deliver.h"
#include "../../tag/recv.h"

#include <stdlib.h>

void ri_rtr_close(ri_conn_t *conn)
{
    ri_rtr_grants_t *grants = conn->grants;
    ri_recv_req_t *recv;
    unsigned i;

    if (grants == NULL) {
        return;
    }
    for (i = 0; i < RI_RING_GRANTS; ++i) {
        recv = grants->recv[i];
        if ((recv == NULL) || ri_rtr_take_back(recv)) {
            continue;
        }
        /* The message will tell of it; the grant cannot any more. */
        ri_rtr_settle(recv);
        recv->rtr_kept = ri_rtr_grant_state(recv);
        ri_rtr_set(recv, RI_RTR_KEPT);
        ri_rtr_give_grant_back(recv);
    }
    conn->grants = NULL;
    free(grants);
}

/* @return A receive that a stream's sender writes. */
static ri_recv_req_t *rtr_find_writing(ri_stream_t *stream)
{
    ri_recv_req_t *recv;

    ucs_list_for_each(recv, &stream->worker->rtr_writing, list) {
        if (recv->rtr_stream == stream) {
            return recv;
        }
    }
    return NULL;
}

/* A receive of this tag and mask was promised to a message that will not come. Others that
 * fit were passed on meanwhile: they are for the oldest receives of the class. */
static void rtr_rematch(ri_worker_t *worker, uint64_t tag, uint64_t mask)
{
    ri_match_t *match = &worker->match;
    ri_recv_req_t *recv;
    ucs_status_t status;
    ri_msg_t *msg;

    while (((msg = ri_match_find_unexpected(match, tag, mask, 0)) != NULL) &&
           ((recv = ri_rtr_match(worker, msg->stream, msg->tag)) != NULL)) {
        ri_match_remove_unexpected(match, msg);
        status = ri_recv_start_msg(recv, msg);
        if (status != UCS_INPROGRESS) {
            ri_req_complete_recv(recv, status);
        }
    }
}

void ri_rtr_withdraw(ri_stream_t *stream)
{
    ri_recv_req_t *recv, *tmp;

    ri_rtr_message_withdraw(stream);
    ucs_list_for_each_safe(recv, tmp, &stream->rtrs, list) {
        if (!ri_rtr_take_back(recv)) {
            ri_rtr_settle(recv);
        }
    }
}

void ri_rtr_cancel_again(ri_worker_t *worker, uint64_t tag)
{
    uint64_t serial = 0;
    ri_recv_req_t *recv;

    while ((recv = ri_match_peek_posted(&worker->match, tag, serial)) != NULL) {
        serial = recv->serial + 1;
        if (recv->canceled) {
            recv->canceled = 0;
            ri_tag_cancel(worker, recv);
        }
    }
}

void ri_rtr_abort(ri_stream_t *stream, ucs_status_t status)
{
    ri_worker_t *worker = stream->worker;
    ri_recv_req_t *recv;
    uint64_t tag, mask;

    ri_rtr_message_withdraw(stream);
    ri_rtr_message_settle(stream);
    /* These are posted, and may get another sender's message, unless their own has had its turn. */
    while (!ucs_list_is_empty(&stream->rtrs)) {
        recv = ucs_list_head(&stream->rtrs, ri_recv_req_t, list);
        if (recv->rtr == RI_RTR_NAMED) {
            ri_rtr_used_end(recv, status);
        } else if (!ri_rtr_take_back(recv)) {
            tag  = recv->tag;
            mask = recv->mask;
            ri_rtr_settle(recv);
            ri_rtr_forget(recv);
            rtr_rematch(worker, tag, mask);
            ri_rtr_cancel_again(worker, tag);
        }
    }
    /* Each callback may end any other. */
    while ((recv = rtr_find_writing(stream)) != NULL) {
        ri_rtr_settle(recv);
        if (!ri_rtr_progress_writing(recv, status)) {
            ri_rtr_forget(recv);
            ri_recv_complete(recv, status);
        }
    }
}

/* Whether nothing comes any more of what a stream's sender has used. */
static int rtr_is_over(const ri_stream_t *stream)
{
    return (stream->num_rtrs > 0) && (stream->ring == NULL) && stream->peer->failed &&
           (ri_planes_is_gone(stream->peer) || ri_rtr_message_has(stream) ||
            ri_rtr_ud_has(stream));
}

void ri_rtr_check_gone(ri_stream_t *stream)
{
    if (rtr_is_over(stream)) {
        ++stream->busy; /* callbacks must not free it */
        ri_rtr_abort(stream, UCS_ERR_CONNECTION_RESET);
        --stream->busy;
    }
}

/* @return A stream of a peer that is over, or NULL. */
static ri_stream_t *rtr_find_over(ri_worker_t *worker, uint64_t uid)
{
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        if ((stream->peer->uid == uid) && rtr_is_over(stream)) {
            return stream;
        }
    }
    return NULL;
}

static void rtr_peer_failed(ri_worker_t *worker, uint64_t uid)
{
    ri_stream_t *stream;

    /* Each callback may free any stream. */
    while ((stream = rtr_find_over(worker, uid)) != NULL) {
        ri_rtr_check_gone(stream);
    }
}

const ri_module_t ri_module_rtr = {.name           = "rtr",
                                   .peer_failed    = rtr_peer_failed,
                                   .stream_breaks  = ri_rtr_withdraw,
                                   .stream_ends    = ri_rtr_abort,
                                   .ring_tx_closes = ri_rtr_close,
                                   .ring_rx_closed = ri_rtr_check_gone};
