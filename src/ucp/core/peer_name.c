/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The process of a peer is noted only if it is on this host. (link/local.h)
 */
#include "peer_name.h"
#include "types/peer_types.h"
#include "types/worker_types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ri_peer_name_short(const ri_peer_t *peer, char *name)
{
    if (peer == NULL) {
        snprintf(name, RI_PEER_NAME_MAX, "a peer that is not known yet");
    } else if (peer->rank != 0) {
        snprintf(name, RI_PEER_NAME_MAX, "rank %u", peer->rank - 1u);
    } else {
        snprintf(name, RI_PEER_NAME_MAX, "worker 0x%" PRIx64, peer->uid);
    }
}

void ri_peer_name(const ri_worker_t *worker, const ri_peer_t *peer, char *name)
{
    ri_peer_name_short(peer, name);
    if ((peer != NULL) && (peer->local.process.host != 0) &&
        (peer->local.process.host == worker->self.process.host)) {
        strcat(name, " on this host");
    }
}
