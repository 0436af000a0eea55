/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of the plane to a process of this host, and what is learnt of that process without one.
 */
#include "local.h"

#include <limits.h>
#include <string.h>

/* Disconnect from a process. */
static void local_end(ri_plane_ep_t **ep_p)
{
    ri_plane_ep_t *ep = *ep_p;

    if (ep != NULL) {
        *ep_p = NULL;
        ep->plane->ops->disconnect(ep);
    }
}

int ri_local_connect(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg)
{
    ri_plane_ep_t *ep = NULL;

    if (peer->local.ep != NULL) {
        return 1;
    }
    if ((worker->plane == NULL) ||
        (worker->plane->ops->connect(worker->plane, msg->plane_address,
                                     msg->plane_address_length, &ep) != UCS_OK)) {
        return 0; /* what is known of the peer stays */
    }
    local_end(&peer->local.lost_ep);
    peer->local.ep      = ep;
    peer->gone.is_ended = 0;
    worker->gone.local  = 1;
    return 1;
}

/* Whether a peer can be looked for that says to be @a process, which is wire input. */
static int local_may_look(const ri_worker_t *worker, const ri_host_process_t *process)
{
    return (worker->self.process.host != 0) &&
           (process->host == worker->self.process.host) && (process->pid != 0) &&
           (process->pid <= INT_MAX);
}

void ri_local_learn(ri_conn_t *conn, ri_host_process_t process)
{
    ri_peer_t *peer = conn->peer;

    if ((peer != NULL) && (peer->local.process.host == 0) &&
        local_may_look(conn->worker, &process)) {
        peer->local.process      = process;
        conn->worker->gone.local = 1;
    }
}

/* The process may have ended by now. So the number of a process of another host must not be looked
 * for here. Both addresses of this host begin with that. */
int ri_local_note(ri_worker_t *worker, ri_peer_t *peer, const ri_wire_msg_t *msg)
{
    ri_host_process_t process;
    ri_host_look_t look;

    if (msg->plane_address_length < sizeof(process)) {
        return 0;
    }
    memcpy(&process, msg->plane_address, sizeof(process));
    if (!local_may_look(worker, &process)) {
        return 0;
    }
    look = ri_host_process_look(&process);
    if (look == RI_HOST_UNKNOWN) {
        return 0;
    }
    peer->local.process = process;
    worker->gone.local  = 1;
    return look == RI_HOST_RUNS;
}

int ri_local_is_gone(const ri_peer_t *peer)
{
    ri_plane_ep_t *ep = (peer->local.ep != NULL) ? peer->local.ep : peer->local.lost_ep;

    if (ep != NULL) {
        return ep->plane->ops->check(ep) != UCS_OK;
    }
    return peer->gone.is_ended ||
           ((peer->local.process.host != 0) &&
            (ri_host_process_look(&peer->local.process) == RI_HOST_GONE));
}

int ri_local_is_known(const ri_peer_t *peer)
{
    return (peer->local.ep != NULL) || (peer->local.lost_ep != NULL) ||
           peer->gone.is_ended || (peer->local.process.host != 0);
}

void ri_local_fail(ri_worker_t *worker, ri_peer_t *peer)
{
    if (peer->local.ep == NULL) {
        return;
    }
    ++worker->counters.planes_failed;
    peer->gone.is_ended = ri_local_is_gone(peer);
    if (peer->gone.is_ended) {
        ri_local_disconnect(peer);
    } else { /* the process may end later */
        local_end(&peer->local.lost_ep);
        peer->local.lost_ep = peer->local.ep;
        peer->local.ep      = NULL;
    }
}

void ri_local_disconnect(ri_peer_t *peer)
{
    local_end(&peer->local.lost_ep);
    local_end(&peer->local.ep);
}
