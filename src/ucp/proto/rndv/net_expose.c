/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "net_expose.h"
#include "../../link/net_transfer.h"
#include "../../link/way.h"

#include <stdlib.h>

int ri_net_expose(ri_recv_req_t *recv, ri_peer_t *peer)
{
    ri_segment_t segment = {(uintptr_t)recv->data.buffer, recv->info.length};
    ri_plane_ep_t *ep    = ri_way_use_ep_that(peer, RI_PLANE_WRITE);
    ri_keys_t *keys      = (ep != NULL) ? malloc(sizeof(*keys)) : NULL;

    if (keys == NULL) {
        return 0;
    }
    if (ri_keys_register(ep->plane, &segment, 1, keys) != UCS_OK) {
        free(keys);
        return 0;
    }
    ri_way_use(recv->super.worker, peer);
    recv->keys = keys;
    recv->way  = peer->way.number;
    return 1;
}

uint32_t ri_net_expose_key(const ri_recv_req_t *recv)
{
    return recv->keys->memory[0].remote_key;
}

static void expose_release(ri_recv_req_t *recv)
{
    ri_keys_free(recv->keys);
    recv->keys = NULL;
}

void ri_net_expose_close(ri_recv_req_t *recv)
{
    ri_way_worked(recv->rndv.stream->peer, recv->way);
    expose_release(recv);
}

void ri_net_expose_cut(ri_recv_req_t *recv)
{
    ri_peer_t *peer = recv->rndv.stream->peer;

    if (peer->way.number == recv->way) {
        ri_way_fail_and_tell(recv->super.worker, peer);
    }
    expose_release(recv);
}
