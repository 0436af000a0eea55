/* Copyright (c) 2026 The ucxri authors. SPDX-License-Identifier: BSD-3-Clause */

/* What a process does when it is killed; see killed_side.h. */

#ifndef UCXRI_TEST_KILLED_SCENARIOS_H_
#define UCXRI_TEST_KILLED_SCENARIOS_H_

#include "killed_side.h"

namespace ucp_test {

/* Where a scenario takes place. */
enum {
    KILLED_AT_STORES    = 1 << 0, /* shared memory: at each store into the rings */
    KILLED_AT_COPIES    = 1 << 1, /* shared memory: at each direct copy */
    KILLED_OVER_TCP     = 1 << 2, /* at the end only */
    KILLED_NO_CMA       = 1 << 3, /* shared memory without direct copies: at the end */
    KILLED_IN_MODE_PEER = 1 << 4, /* TCP, error handling mode PEER: at each store */
    KILLED_COPY_BY_UCX  = 1 << 5, /* UCX moves data: at the end only */
    KILLED_TOGETHER = 1 << 6, /* at stores and copies, while the survivor progresses */
    KILLED_BY_RDMA  = 1 << 7, /* the plane rc, on a software HCA: at the end only */
    KILLED_ASLEEP   = 1 << 8, /* whoever waits sleeps: at the end only */
    KILLED_AT_MESSAGES =
            1 << 9, /* the planes of the software HCA, at each active message, together */
    KILLED_MEANWHILE = 1 << 10 /* the same planes on a slow link, now and then */
};

using killed_part = void (*)(killed_side &side);

/* The parts follow one another, and the side whose turn it is not is not in the library, but for
 * KILLED_TOGETHER, KILLED_AT_MESSAGES and KILLED_MEANWHILE. */
struct killed_scenario {
    const char *name;
    unsigned where;       /* KILLED_* */
    const char *settings; /* of the library, see killed_side */
    size_t taught; /* the two have exchanged messages of this length before; 0: none */
    killed_part victim; /* first */
    killed_part survivor;
    killed_part window; /* the victim is killed in the middle of this */
    killed_part after;  /* the survivor */
    const char
            *shows; /* a counter of the victim that goes up in the window, as it does what
                           the name says; NULL: none */
    killed_part bystander = nullptr; /* before the survivor goes on */
};

extern const std::vector<killed_scenario> KILLED_SCENARIOS;

} // namespace ucp_test

#endif
