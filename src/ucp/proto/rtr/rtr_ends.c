/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs whose ring, stream or peer ends.
 */
#include "rtr_ends.h"
#include "../../core/types/module.h"
#include "../../core/recv_req.h"
#include "../../link/local.h"
#include "../../order/deliver.h"
#include "rtr.h"
#include "rtr_withdraw.h"
#include "rtr_meet.h"
#include "rtr_net.h"
#include "rtr_done.h"
#include "rtr_state.h"
#include "rtr_ud.h"
#include "rtr_used.h"
#include "rtr_notified.h"

#include <stdlib.h>

static ucs_status_t ends_worker_made(ri_worker_t *worker)
{
    ucs_list_head_init(&worker->rtr.late_conns);
    ucs_list_head_init(&worker->rtr.queue);
    ucs_list_head_init(&worker->rtr.full);
    ucs_list_head_init(&worker->rtr.writing);
    ucs_list_head_init(&worker->rtr.notified);
    ucs_list_head_init(&worker->rtr.stalled_self);
    return UCS_OK;
}

/* The ring to a peer is about to be closed: end the grants that are in it. */
static void ends_ring_tx_closes(ri_conn_t *conn)
{
    ri_rtr_grants_t *grants = conn->rtr.grants;
    ri_recv_req_t *recv;
    unsigned i;

    if (grants == NULL) {
        return;
    }
    for (i = 0; i < RI_RING_GRANTS; ++i) {
        recv = grants->recv[i];
        if ((recv == NULL) || ri_rtr_withdraw_take(recv)) {
            continue;
        }
        /* The message will tell of it; the grant cannot any more. */
        ri_rtr_withdraw_quiesce(recv);
        recv->rtr.kept = ri_rtr_state_of_grant(recv);
        ri_rtr_done_give_grant_back(recv);
        ri_rtr_state_set(recv, RI_RTR_KEPT);
    }
    conn->rtr.grants = NULL;
    free(grants);
}

/* @return A receive that a stream's sender writes. */
static ri_recv_req_t *ends_find_writing(ri_stream_t *stream)
{
    ri_recv_req_t *recv;

    ucs_list_for_each(recv, &stream->worker->rtr.writing, list) {
        if (recv->rtr.stream == stream) {
            return recv;
        }
    }
    return NULL;
}

/* A receive of this tag and mask was promised to a message that will not come. Others that
 * fit were passed on meanwhile: they are for the oldest receives of the class. */
static void ends_rematch(ri_worker_t *worker, uint64_t tag, uint64_t mask)
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

/* A stream breaks: its sender may use no RTR any more, and has ended what it was doing by those
 * that it has used, when this returns. */
static void ends_stream_breaks(ri_stream_t *stream)
{
    ri_recv_req_t *recv, *tmp;

    ri_rtr_net_withdraw(stream);
    ucs_list_for_each_safe(recv, tmp, &stream->rtr.recvs, list) {
        if (!ri_rtr_withdraw_take(recv)) {
            ri_rtr_withdraw_quiesce(recv);
        }
    }
}

/* A stream ends: what was offered to it is withdrawn, what it writes ends with @a status. */
static void ends_stream_ends(ri_stream_t *stream, ucs_status_t status)
{
    ri_worker_t *worker = stream->worker;
    ri_recv_req_t *recv;
    uint64_t tag, mask;

    ri_rtr_net_withdraw(stream);
    ri_rtr_notified_stream_ends(stream);
    /* These are posted, and may get another sender's message, unless their own has had its turn. */
    while (!ucs_list_is_empty(&stream->rtr.recvs)) {
        recv = ucs_list_head(&stream->rtr.recvs, ri_recv_req_t, list);
        if (recv->rtr.state == RI_RTR_NAMED) {
            ri_rtr_used_end(recv, status);
        } else if (!ri_rtr_withdraw_take(recv)) {
            tag  = recv->tag;
            mask = recv->mask;
            ri_rtr_withdraw_quiesce(recv);
            ri_rtr_done_unused(recv);
            ends_rematch(worker, tag, mask);
            ri_rtr_cancel_again(worker, tag);
        }
    }
    /* Each callback may end any other. */
    while ((recv = ends_find_writing(stream)) != NULL) {
        ri_rtr_withdraw_quiesce(recv);
        if (!ri_rtr_meet_progress(recv, status)) {
            ri_rtr_done_unused(recv);
            ri_recv_complete(recv, status);
        }
    }
}

/* Whether nothing comes any more of what a stream's sender has used. */
static int ends_is_over(const ri_stream_t *stream)
{
    return (stream->rtr.num > 0) && (stream->ring == NULL) && stream->peer->failed &&
           (ri_local_is_gone(stream->peer) || ri_rtr_net_has(stream) ||
            ri_rtr_ud_has(stream));
}

void ri_rtr_ends_check_gone(ri_stream_t *stream)
{
    if (ends_is_over(stream)) {
        ++stream->busy; /* callbacks must not free it */
        ends_stream_ends(stream, UCS_ERR_CONNECTION_RESET);
        --stream->busy;
    }
}

/* @return A stream of a peer that is over, or NULL. */
static ri_stream_t *ends_find_over(ri_worker_t *worker, uint64_t uid)
{
    ri_stream_t *stream;

    ucs_list_for_each(stream, &worker->streams, list) {
        if ((stream->peer->uid == uid) && ends_is_over(stream)) {
            return stream;
        }
    }
    return NULL;
}

static void ends_peer_failed(ri_worker_t *worker, uint64_t uid)
{
    ri_stream_t *stream;

    /* Each callback may free any stream. */
    while ((stream = ends_find_over(worker, uid)) != NULL) {
        ri_rtr_ends_check_gone(stream);
    }
}

static int ends_stream_is_needed(const ri_stream_t *stream, ri_stream_need_t need)
{
    return ((need == RI_STREAM_NEED_PEER) && (stream->rtr.num > 0)) ||
           ((need == RI_STREAM_NEED_ITSELF) && (stream->rtr.num_named > 0));
}

const ri_module_t ri_module_rtr = {.name             = "rtr",
                                   .worker_made      = ends_worker_made,
                                   .peer_failed      = ends_peer_failed,
                                   .stream_is_needed = ends_stream_is_needed,
                                   .stream_breaks    = ends_stream_breaks,
                                   .stream_ends      = ends_stream_ends,
                                   .ring_tx_closes   = ends_ring_tx_closes,
                                   .ring_rx_closed   = ri_rtr_ends_check_gone};
