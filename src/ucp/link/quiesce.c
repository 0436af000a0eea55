/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "quiesce.h"
#include "local.h"
#include "../../ucs/clock.h"
#include "../../ucs/log.h"

#include <sched.h>

double ri_quiesce_timeout        = 10;
double (*ri_quiesce_clock)(void) = ri_clock_now;
int (*ri_quiesce_yield)(void)    = sched_yield;

/* After how many looks, or how long, the peer is looked after. A look takes part of a microsecond,
 * or several milliseconds where others have the processor for their share of time. */
#define QUIESCE_CHECK      1024
#define QUIESCE_CHECK_TIME 0.01

static int quiesce_is_given_up(const ri_peer_t *peer, double now)
{
    return (peer->given_up > 0) && (now - peer->given_up < ri_quiesce_timeout);
}

int ri_quiesce(ri_peer_t *peer, ri_quiesce_func_t is_writing, void *arg)
{
    double start, checked, now;
    unsigned i;

    if (!is_writing(arg)) {
        return 1;
    }
    start = checked = ri_quiesce_clock();
    for (i = 1; is_writing(arg); ++i) {
        ri_quiesce_yield();
        now = ri_quiesce_clock();
        if ((i % QUIESCE_CHECK != 0) && (now - checked < QUIESCE_CHECK_TIME)) {
            continue;
        }
        checked = now;
        /* The writer may go on again, so it is not given up at once. */
        if (quiesce_is_given_up(peer, now) || ri_local_is_gone(peer)) {
            return 0;
        }
        if (now - start > ri_quiesce_timeout) {
            ri_error("a peer that was writing a message does not go on; the memory of "
                     "its receive is given up");
            peer->given_up = now;
            return 0;
        }
    }
    peer->given_up = 0; /* the peer goes on */
    return 1;
}
