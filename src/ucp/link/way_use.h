/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The way to a peer through a network, for those who send by it (way.h makes and ends it).
 */
#ifndef RI_WAY_USE_H
#define RI_WAY_USE_H

#include "../core/types/peer_types.h"
#include "../core/types/worker_types.h"

/** @return The way to @a peer through a network, or NULL if none is connected. */
static inline ri_plane_ep_t *ri_way_use_ep(const ri_peer_t *peer)
{
    return (peer->way.state == RI_WAY_CONNECTED) ? peer->way.ep : NULL;
}

/** @return The way to @a peer through a network if it can do all of @a can (RI_PLANE_*), or NULL:
 * those that go by datagrams neither read nor write. @a peer may be NULL. */
static inline ri_plane_ep_t *ri_way_use_ep_that(const ri_peer_t *peer, unsigned can)
{
    ri_plane_ep_t *ep = (peer != NULL) ? ri_way_use_ep(peer) : NULL;

    return ((ep != NULL) && ((ep->plane->capabilities & can) == can)) ? ep : NULL;
}

/** The way to @a peer is used: it is not idle. */
static inline void ri_way_use(ri_worker_t *worker, ri_peer_t *peer)
{
    peer->way.used = 1;
    ucs_list_del(&peer->way.link);
    ucs_list_add_tail(&worker->net.ways, &peer->way.link);
}

/** @return Whether something new may go by the way to @a peer. It counts as used then. */
static inline int ri_way_use_try(ri_worker_t *worker, ri_peer_t *peer)
{
    if ((ri_way_use_ep(peer) == NULL) || peer->way.leaving) {
        return 0;
    }
    ri_way_use(worker, peer);
    return 1;
}

#endif
