/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Before a way or worker ends, senders are told which of their messages came, so that none is sent
 * twice or taken for lost.
 */
#include "ud_ends.h"
#include "../../core/types/module.h"
#include "../../link/control.h"
#include "../../../uct/ib/ud/ud.h"
#include "../../link/local.h"

#include <sched.h>
#include <string.h>

/* Messages that are told of one by one. Of more, the sender hears when it asks. */
#define ENDS_MAX 256

/* Progress calls in which the plane is looked after, from one look at a close to the next. */
#define ENDS_LINGER 4096

/* Polls until the peers are looked after. */
#define ENDS_CHECK 256

/* The way by which datagrams come from a peer, or NULL. */
static ri_plane_ep_t *ends_way(const ri_peer_t *peer)
{
    ri_plane_ep_t *ep = (peer == NULL) ? NULL : peer->way.ep;

    return ((ep != NULL) && (ep->plane->capabilities & RI_PLANE_MESSAGES)) ? ep : NULL;
}

static int ends_is_unheard(ri_plane_ep_t *ep)
{
    return ep->plane->ops->ud->unheard(ep, NULL, 0) > 0;
}

/* Tell a peer by UCP which messages are here. Its requests may be of any of its conns. */
static void ends_tell(ri_peer_t *peer)
{
    ri_plane_ep_t *ep = ends_way(peer);
    ri_wire_msg_t msg = {.type  = RI_WIRE_TARGET,
                         .flags = RI_WIRE_TARGET_RECEIVED,
                         .way   = peer->way.number};
    uint32_t numbers[ENDS_MAX];
    ri_stream_t *stream;
    ri_ud_target_t target;
    unsigned i, count;

    count = ri_min(ep->plane->ops->ud->unheard(ep, numbers, ENDS_MAX), ENDS_MAX);
    memset(&target, 0, sizeof(target));
    ucs_list_for_each(stream, &peer->streams, peer_list) {
        for (i = 0; i < count; ++i) {
            target.number = numbers[i];
            memcpy(msg.target, &target, sizeof(msg.target));
            msg.id = stream->remote_conn_id;
            ri_control_send_message(peer, &msg);
        }
    }
}

int ri_ud_ends_remind(ri_conn_t *conn)
{
    ri_peer_t *peer   = conn->peer;
    ri_plane_ep_t *ep = ends_way(peer);

    if ((ep == NULL) || (conn->status != UCS_OK) || !ends_is_unheard(ep)) {
        return 0;
    }
    /* The end may have come already. No request ends and nothing is freed by that: ends wait for
     * the worker's progress. But a receive that has got a queue pair may send its TARGET by this
     * very conn, which is looked at after this. */
    ep->plane->ops->progress(ep->plane);
    if (!ends_is_unheard(ep) || ri_local_is_gone(peer)) {
        return 0;
    }
    /* In stock, an endpoint by socket address fails when the other side has closed its own */
    if (!(conn->flags & RI_CONN_BY_SOCKADDR) && ep->plane->ops->ud->remind(ep)) {
        conn->worker->linger = ri_max(conn->worker->linger, ENDS_LINGER);
        return 1;
    }
    ends_tell(peer);
    return 0;
}

void ri_ud_ends_way_fails(ri_peer_t *peer)
{
    ri_plane_ep_t *ep = ends_way(peer);

    if ((ep != NULL) && ends_is_unheard(ep) && !ri_local_is_gone(peer)) {
        ends_tell(peer);
    }
}

/* @return Whether any peer is to be waited for. */
static int ends_any_waits(ri_worker_t *worker, int check)
{
    ri_plane_ep_t *ep;
    ri_peer_t *peer;
    int any = 0;

    ucs_list_for_each(peer, &worker->net.ways, way.link) {
        ep = ends_way(peer);
        if ((ep != NULL) && ends_is_unheard(ep) && ep->plane->ops->ud->remind(ep)) {
            any |= !check || !ri_local_is_gone(peer);
        }
    }
    return any;
}

/* Wait until the senders know what has come, for some tenths of a second at most, and then tell
 * those by UCP of whom it is known that they run. */
static void ends_worker_says(ri_worker_t *worker)
{
    ri_peer_t *peer;
    unsigned i;

    if (worker->net.ud == NULL) {
        return;
    }
    for (i = 0; ends_any_waits(worker, (i % ENDS_CHECK) == 0); ++i) {
        sched_yield();
        worker->net.ud->ops->progress(worker->net.ud);
    }
    /* Whoever is silent may have ended, and a message to a process that has can be fatal in UCX:
     * so only those that are known to run are told. */
    ucs_list_for_each(peer, &worker->net.ways, way.link) {
        if (ri_local_is_known(peer)) {
            ri_ud_ends_way_fails(peer);
        }
    }
}

void ri_ud_ends_handle(ri_conn_t *conn, const ri_wire_msg_t *msg)
{
    ri_plane_ep_t *ep = ends_way(conn->peer);
    ri_ud_target_t target;

    if ((ep == NULL) || (conn->peer->way.number != msg->way)) {
        ++conn->worker->counters.rx_stale;
        return;
    }
    memcpy(&target, msg->target, sizeof(target));
    ep->plane->ops->ud->heard(ep, target.number);
}

const ri_module_t ri_module_ud_ends = {.name        = "ud_ends",
                                       .worker_says = ends_worker_says,
                                       .way_fails   = ri_ud_ends_way_fails};
