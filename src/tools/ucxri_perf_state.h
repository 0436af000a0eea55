/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the core probe says: the one-way time of a bare cache line between the cores of two
 * processes. A hypervisor moves virtual cores about, and the same program is several times faster
 * on two neighbouring ones. ucxri_perf and the programs of test/bench share this, and
 * contrib/matrix.sh reads PERF_STATE_NEAR_NS from here.
 */
#ifndef UCXRI_PERF_STATE_H
#define UCXRI_PERF_STATE_H

/* Time in ns below which the two cores are near; from there on they are far */
#define PERF_STATE_NEAR_NS 130

/* Two probes that differ by more than this factor were taken in different places */
#define PERF_STATE_TOLERANCE 1.3

typedef enum {
    PERF_STATE_NEAR,
    PERF_STATE_FAR,
    PERF_STATE_UNKNOWN, /* there is no probe, as between hosts */
    PERF_NUM_STATES
} perf_state_t;

/** @return the state that a probe tells; a probe of 0 is none */
static inline perf_state_t perf_state_of(double core_ns)
{
    if (!(core_ns > 0)) {
        return PERF_STATE_UNKNOWN;
    }
    return (core_ns < PERF_STATE_NEAR_NS) ? PERF_STATE_NEAR : PERF_STATE_FAR;
}

/** @return the probe of a measurement from the one before and the one after, 0 if they differ */
static inline double perf_state_join(double before, double after)
{
    double low  = (before < after) ? before : after;
    double high = (before < after) ? after : before;

    return (high <= low * PERF_STATE_TOLERANCE) ? (low + high) / 2 : 0;
}

#endif
