/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * First the measurements, of a copy and of a load from memory, then the thresholds that follow from
 * them by formulas.
 */
#include "costs.h"
#include "../../../ucs/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two blocks that together do not fit the first cache, as messages of interest do not. Each
 * page more would cost as much time as copying ten. */
#define COSTS_BLOCK 32768
#define COSTS_TRIES 16

/* Lines of a chain of loads, each in another page than the one before it, so that no
 * prefetcher runs ahead of it. */
#define COSTS_CHAIN        32
#define COSTS_CHAIN_TRIES  16
#define COSTS_CHAIN_STRIDE (67 * RI_CACHE_LINE)

/* How many lines a core fetches at the same time when it copies: as many as the cache nearest
 * to it can miss at once, which is 10 to 16 on cores of the last ten years. With 11, the 6 bytes
 * per ns come out that the ring was seen to carry. */
#define COSTS_LINES_AT_ONCE 11

/* The rate at which a ring carries longer messages at least, in bytes per ns: as it did where
 * lines took 60 to 500 ns: of near cores the prefetchers run ahead of the copy, and far ones write
 * past their caches. */
#define COSTS_RING_RATE 10.0

/* A ring is quick if it carries at least this number of times what the plane does in the same
 * time. */
#define COSTS_QUICK 1.2

/* A core is far if one of its lines takes at least this number of times as long as one of memory.
 * Each line is then written to memory and fetched from there. Fetches go several at a time, and the
 * writes do not. */
#define COSTS_FAR 2.0

/* A core is also far if one of its lines takes at least this number of ns. If others use the memory
 * while it is measured, a line of memory seems to take several times as long as it does. */
#define COSTS_FAR_MAX 190.0

/* How much an extra copy may cost, in exchanges of the shortest kind. */
#define COSTS_HYBRID_BET 2

/* By how much the time that is saved has to exceed what saving it costs. Claims of chunks,
 * uneven ends, and a second process that is not there in time are not counted as costs. */
#define COSTS_COOP_MARGIN 1.5

ri_costs_t ri_costs;

static double costs_clamp(double value, double min, double max)
{
    return ri_min(ri_max(value, min), max);
}

static double costs_measure_copy(void *to, const void *from)
{
    double best = 1;
    double start;
    int i;

    for (i = 0; i < COSTS_TRIES; ++i) {
        start = ri_clock_now();
        memcpy(to, from, COSTS_BLOCK);
        __asm__ volatile("" : : "r"(to) : "memory"); /* or nothing would be copied */
        best = ri_min(best, ri_clock_now() - start);
    }
    return COSTS_BLOCK / (ri_max(best, 1e-9) * 1e9);
}

#if defined(__x86_64__)
static char *costs_chain_link(char *block, int i)
{
    return block + (i % COSTS_CHAIN) * COSTS_CHAIN_STRIDE % COSTS_BLOCK;
}

static double costs_measure_clock(void)
{
    uint64_t best = UINT64_MAX;
    uint64_t begin, ticks;
    int i;

    for (i = 0; i < COSTS_TRIES; ++i) {
        begin = ri_clock_ticks_in_order();
        ticks = ri_clock_ticks_in_order() - begin;
        best  = ri_min(best, ticks);
    }
    return best;
}

/* @return The time of a load from memory. */
static double costs_measure_line(char *block, ri_costs_t *costs)
{
    double best       = 1;
    double best_ticks = INFINITY;
    uint64_t begin;
    double start;
    char *at;
    int i, k;

    for (i = 0; i < COSTS_CHAIN; ++i) {
        *(char **)costs_chain_link(block, i) = costs_chain_link(block, i + 1);
    }
    for (k = 0; k < COSTS_CHAIN_TRIES; ++k) {
        for (i = 0; i < COSTS_CHAIN; ++i) {
            __asm__ volatile("clflush %0" : "+m"(*costs_chain_link(block, i)));
        }
        __asm__ volatile("mfence" : : : "memory");

        start = ri_clock_now();
        begin = ri_clock_ticks_in_order();
        for (i = 0, at = block; i < COSTS_CHAIN; ++i) {
            at = *(char *volatile *)at;
        }
        best_ticks = ri_min(best_ticks, (double)(ri_clock_ticks_in_order() - begin));
        best       = ri_min(best, ri_clock_now() - start);
    }
    costs->clock_ticks = costs_measure_clock();
    costs->line_ticks  = ri_max(best_ticks - costs->clock_ticks, 0) / COSTS_CHAIN;
    return best * 1e9 / COSTS_CHAIN;
}
#endif

void ri_costs_measure(ri_costs_t *costs, const ri_plane_ops_t *plane)
{
    ri_plane_cost_t plane_cost;
    char *blocks;
#if defined(__x86_64__)
    double line;
#endif

    *costs = (ri_costs_t){.copy_rate = RI_COSTS_COPY_RATE,
                          .plane     = {RI_COSTS_PLANE_CALL, RI_COSTS_PLANE_RATE},
                          .line      = RI_COSTS_LINE};
    blocks = aligned_alloc(RI_CACHE_LINE, 2 * COSTS_BLOCK);
    if (blocks == NULL) {
        return;
    }
    memset(blocks, 1, 2 * COSTS_BLOCK); /* the pages have to be there */

    costs->copy_rate = costs_clamp(costs_measure_copy(blocks + COSTS_BLOCK, blocks),
                                   RI_COSTS_RATE_MIN, RI_COSTS_RATE_MAX);
    if ((plane != NULL) && (plane->measure != NULL) &&
        (plane->measure(blocks + COSTS_BLOCK, blocks, COSTS_BLOCK, &plane_cost) ==
         UCS_OK)) {
        costs->plane.call     = costs_clamp(plane_cost.call, RI_COSTS_CALL_MIN,
                                            RI_COSTS_CALL_MAX);
        costs->plane.rate     = costs_clamp(plane_cost.rate, RI_COSTS_RATE_MIN,
                                            RI_COSTS_RATE_MAX);
        costs->plane_measured = 1;
    }
#if defined(__x86_64__)
    line        = costs_measure_line(blocks, costs);
    costs->line = costs_clamp(line, RI_COSTS_LINE_MIN, RI_COSTS_LINE_MAX);
    costs->line_ticks *= costs->line / line;
    costs->line_measured = 1;
#endif
    free(blocks);
}

/* @return The power of two from @a min to @a max, which are such, that is nearest by ratio. */
static size_t costs_round(double length, size_t min, size_t max)
{
    size_t power = min;

    while ((power < max) && ((double)power * power * 2 < length * length)) {
        power *= 2;
    }
    return power;
}

/*
 * Through the ring, both processes copy at the same time, and each line goes from one core
 * to the other: the lines' way is what takes long. Otherwise the receiver makes a call and
 * copies once, and the sender waits for one message more (FIN): two lines, as that one's
 * line goes there and back.
 */
static size_t costs_eager(const ri_costs_t *costs, double ring_rate)
{
    double per_byte;

    ring_rate = ri_min(ring_rate, costs->copy_rate);
    per_byte  = 1 / ring_rate - 1 / costs->plane.rate; /* what the plane gains */
    if (per_byte <= 0) {
        return RI_COSTS_EAGER_MAX;
    }
    return costs_round((costs->plane.call + 2 * costs->line) / per_byte,
                       RI_COSTS_EAGER_MIN, RI_COSTS_EAGER_MAX);
}

/* @return The rate of a ring, in bytes per ns, if lines come one after the other, as many at the
 * same time as a core can miss. */
static double costs_ring_rate(const ri_costs_t *costs)
{
    return COSTS_LINES_AT_ONCE * RI_CACHE_LINE / costs->line;
}

size_t ri_costs_eager_thresh(const ri_costs_t *costs)
{
    return costs_eager(costs, costs_ring_rate(costs));
}

size_t ri_costs_ring_thresh(const ri_costs_t *costs)
{
    return costs_eager(costs, ri_max(costs_ring_rate(costs), COSTS_RING_RATE));
}

/* Up to 256 KB an agreement of both sides, who copy one half each then, takes about as long as what
 * it saves: 128 KB took 10 us by it, 6 by a ring of twice the plane's rate, 12 by one of the same
 * rate. */
double ri_costs_quick_rate(const ri_costs_t *costs)
{
    return costs->plane_measured ? COSTS_QUICK * costs->plane.rate : COSTS_RING_RATE;
}

double ri_costs_plane_ticks(const ri_costs_t *costs, size_t length)
{
    return ri_costs_plane(costs, length) * ri_costs_ticks(costs);
}

/*
 * The copy is made before it is known how long the receiver stays away. If it is there at
 * once, the copy was for nothing; what it saves otherwise is an exchange (RTS, call and FIN)
 * and the time that the receiver is away for, which nobody knows. So it may cost as much as
 * some of the shortest exchanges: that bounds what is lost, as when skis are rented until
 * the rent has come to their price.
 */
size_t ri_costs_hybrid_thresh(const ri_costs_t *costs)
{
    double exchange = costs->plane.call + 4 * costs->line;

    return costs_round(COSTS_HYBRID_BET * exchange * costs->copy_rate,
                       RI_COSTS_HYBRID_MIN, RI_COSTS_HYBRID_MAX);
}

/* Half of the copy's time is saved. It costs the second side's call, as short messages are
 * halved (uct/shm/slot.h), and two messages' worth of lines for the agreement at the start
 * and at the end. */
size_t ri_costs_coop_thresh(const ri_costs_t *costs)
{
    double extra = costs->plane.call + 4 * costs->line;

    return costs_round(COSTS_COOP_MARGIN * extra * 2 * costs->plane.rate,
                       RI_COSTS_COOP_MIN, RI_COSTS_COOP_MAX);
}

/* Several lines of another core come at a time, as those of memory do. What goes by way of memory
 * has to be written there first, line by line. So that pays only where a line of the other core
 * takes much longer than one of memory. */
uint64_t ri_costs_far_ticks(const ri_costs_t *costs)
{
    if (costs->line_ticks <= costs->clock_ticks) {
        return 0;
    }
    return costs->clock_ticks +
           costs->line_ticks * ri_min(COSTS_FAR, COSTS_FAR_MAX / costs->line);
}
