/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The costs of moving data on this machine, and the thresholds that follow. Measured once per
 * process in about 0.2 ms; the minimum of a few tries counts, so that a process that is
 * interrupted, as at the start of a job with more ranks than cores, finds the same.
 *
 * Processes may come to different costs, and nothing depends on their being equal.
 *
 * Times are in ns, rates in bytes per ns, which is 10^9 bytes per second.
 *
 * The cost that one process cannot measure is that of a cache line that another core has
 * written. It is estimated by a load from memory: both are a trip through the same
 * interconnect to somewhere beyond the core's own caches. Between cores of one socket that
 * is right within a factor of two, between sockets it is too little.
 */
#ifndef RI_COSTS_H
#define RI_COSTS_H

#include "../../../uct/api/plane.h"

/* Costs that were measured, or assumed. */
typedef struct ri_costs {
    double copy_rate;      /* of memcpy within the caches */
    ri_plane_cost_t plane; /* of a read by the data plane of this host */
    double line;       /* time until a cache line is here that another core has written */
    double line_ticks; /* `line` in ticks (ucs/clock.h); 0: not measured */
    double clock_ticks; /* ticks between two reads of the clock in a row; 0: not measured */
    int plane_measured; /* whether `plane` was measured; 0: it is assumed */
    int line_measured;  /* whether `line` was measured; 0: it is assumed */
} ri_costs_t;

/* The costs of this process: measured before @ref ri_config is complete. */
extern ri_costs_t ri_costs;

/* Costs that are assumed where they cannot be measured: usual numbers of servers of the time. */
#define RI_COSTS_COPY_RATE  20.0
#define RI_COSTS_PLANE_CALL 700.0
#define RI_COSTS_PLANE_RATE 15.0
#define RI_COSTS_LINE       130.0

/* The range of costs that are taken for possible. A measured cost outside is brought into it. */
#define RI_COSTS_RATE_MIN 1.0
#define RI_COSTS_RATE_MAX 100.0
#define RI_COSTS_CALL_MIN 100.0
#define RI_COSTS_CALL_MAX 10000.0
#define RI_COSTS_LINE_MIN 50.0
#define RI_COSTS_LINE_MAX 400.0

/** @return What to print behind a rate: " or more" if it is the largest that is taken for possible,
 * or "". */
static inline const char *ri_costs_rate_limit(double rate)
{
    return (rate >= RI_COSTS_RATE_MAX) ? " or more" : "";
}

/** @return What to print behind the cost of a line, if it is the end of what is taken for possible,
 * or "". */
static inline const char *ri_costs_line_limit(double line)
{
    return (line <= RI_COSTS_LINE_MIN) ? " or less" :
           (line >= RI_COSTS_LINE_MAX) ? " or more" :
                                         "";
}

/* Bytes of data that take as long by a mailbox as one line: eight lines are on their way at the
 * same time. */
#define RI_COSTS_MAIL_BYTES 512

/* The least and the largest value of each threshold, all powers of two. Stock sends up to 8 KB
 * eagerly, and there are programs whose sends have to be complete before their receives are
 * posted. */
#define RI_COSTS_EAGER_MIN  (8ul << 10)
#define RI_COSTS_EAGER_MAX  (64ul << 10)
#define RI_COSTS_HYBRID_MIN (16ul << 10)
#define RI_COSTS_HYBRID_MAX (256ul << 10)
#define RI_COSTS_COOP_MIN   (64ul << 10)
#define RI_COSTS_COOP_MAX   (1ul << 20)

/**
 * Measure. What cannot be measured is assumed.
 *
 * @param costs  Filled.
 * @param plane  Whose reads to measure; NULL: none is to be used.
 */
void ri_costs_measure(ri_costs_t *costs, const ri_plane_ops_t *plane);

/** @return Up to which length two copies through the ring beat one by the plane: a power of two
 * from RI_COSTS_EAGER_MIN to RI_COSTS_EAGER_MAX. */
size_t ri_costs_eager_thresh(const ri_costs_t *costs);

/** @return Up to which length two copies through the ring beat one by the plane, where a ring
 * carries longer messages faster than short ones: a power of two from RI_COSTS_EAGER_MIN to
 * RI_COSTS_EAGER_MAX, not below ri_costs_eager_thresh(). */
size_t ri_costs_ring_thresh(const ri_costs_t *costs);

/** @return How many bytes a sender has to write to a ring in a nanosecond so that two copies
 * through it beat the plane at any length, even where both sides copy by the plane (the cooperative
 * copy). */
double ri_costs_quick_rate(const ri_costs_t *costs);

/** @return How many ticks (ucs/clock.h) a nanosecond has; 0: it is not known. */
static inline double ri_costs_ticks(const ri_costs_t *costs)
{
    return costs->line_ticks / costs->line;
}

/** @return How many ticks (ucs/clock.h) a copy of @a length bytes by the plane takes; 0: it is not
 * known how long a tick is. */
double ri_costs_plane_ticks(const ri_costs_t *costs, size_t length);

/** @return How long a copy of @a length bytes by the plane takes, in ns. */
static inline double ri_costs_plane(const ri_costs_t *costs, size_t length)
{
    return costs->plane.call + length / costs->plane.rate;
}

/** @return How long an operation of @a length bytes takes by the mailbox of a process that looks at
 * it, in ns: an estimate. Four lines go from one core to the other, one after the other, and then
 * those of the data, some of them at the same time. */
static inline double ri_costs_mail(const ri_costs_t *costs, size_t length)
{
    return costs->line * (4 + length / (double)RI_COSTS_MAIL_BYTES);
}

/** @return Up to which length a copy beats waiting for the receiver: a power of two from
 * RI_COSTS_HYBRID_MIN to RI_COSTS_HYBRID_MAX. */
size_t ri_costs_hybrid_thresh(const ri_costs_t *costs);

/** @return From which length on two processes that copy beat one: a power of two from
 * RI_COSTS_COOP_MIN to RI_COSTS_COOP_MAX. */
size_t ri_costs_coop_thresh(const ri_costs_t *costs);

/** @return From how many ticks (ucs/clock.h) on, with those of the clock itself, a line that
 * another core has written is far; 0: the cost of a line is not known, or the clock is too slow to
 * tell. */
uint64_t ri_costs_far_ticks(const ri_costs_t *costs);

#endif
