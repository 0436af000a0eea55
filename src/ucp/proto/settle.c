/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "settle.h"
#include "planes.h"
#include "../core/log.h"

#include <sched.h>

double ri_settle_timeout = 10;

/* Polls until the peer is looked after. */
#define SETTLE_CHECK 1024

static int settle_is_given_up(const ri_peer_t *peer)
{
    return (peer->given_up > 0) && (ri_time() - peer->given_up < ri_settle_timeout);
}

int ri_settle(ri_peer_t *peer, ri_settle_func_t is_writing, void *arg)
{
    double start;
    unsigned i;

    if (!is_writing(arg)) {
        return 1;
    }
    start = ri_time();
    for (i = 1; is_writing(arg); ++i) {
        sched_yield();
        if (i % SETTLE_CHECK != 0) {
            continue;
        }
        /* It may go on again: so not at once. */
        if (settle_is_given_up(peer) || ri_planes_is_gone(peer)) {
            return 0;
        }
        if (ri_time() - start > ri_settle_timeout) {
            ri_error("a peer that was writing a message does not go on; the memory of "
                     "its receive is given up");
            peer->given_up = ri_time();
            return 0;
        }
    }
    peer->given_up = 0; /* it goes on */
    return 1;
}
