/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * least[a][b] is the least of (received by b's clock - sent by a's clock): off[b] - off[a] is not
 * below -least[a][b], and not above least[b][a].
 */
#include "ucxri_info_timeline_clock.h"

#include <stdlib.h>
#include <string.h>

#define CLOCK_UNKNOWN INT64_MAX

/* The least time of a message, in ns, where none goes back by which it could be known: more than
 * the steps of printed times, as Perfetto drops an arrow that ends when it begins. */
#define CLOCK_LEAST 20

/* One end of a message, whose other end is not known yet, or both. */
typedef struct timeline_mark {
    uint64_t uid, flow;
    uint64_t time[2]; /* sent, received */
    int32_t clock[2]; /* -1: not known */
    int used;
} timeline_mark_t;

int timeline_clock_add(timeline_clocks_t *clocks, const char *name, int64_t real)
{
    struct timeline_clock *list;
    unsigned i;

    for (i = 0; i < clocks->count; ++i) {
        if (!strcmp(clocks->list[i].name, name)) {
            return i;
        }
    }
    list = realloc(clocks->list, (i + 1) * sizeof(*list));
    if (list == NULL) {
        return -1;
    }
    clocks->list    = list;
    clocks->list[i] = (struct timeline_clock){.name = name, .real = real};
    ++clocks->count;
    return i;
}

/* The place of a message, which may be free: there is always one that is. */
static timeline_mark_t *clock_mark(timeline_mark_t *marks, size_t max, uint64_t uid,
                                   uint64_t flow)
{
    size_t i = ((uid ^ (flow * UINT64_C(0x9e3779b97f4a7c15))) *
                UINT64_C(0x9e3779b97f4a7c15)) >>
               20;

    for (i &= max - 1; marks[i].used; i = (i + 1) & (max - 1)) {
        if ((marks[i].uid == uid) && (marks[i].flow == flow)) {
            break;
        }
    }
    return &marks[i];
}

static int clock_grow(timeline_clocks_t *clocks)
{
    size_t max = (clocks->max_marks == 0) ? 1024 : 2 * clocks->max_marks;
    timeline_mark_t *marks;
    size_t i;

    if (2 * clocks->num_marks < clocks->max_marks) {
        return 1;
    }
    marks = calloc(max, sizeof(*marks));
    if (marks == NULL) {
        return 0;
    }
    for (i = 0; i < clocks->max_marks; ++i) {
        if (clocks->marks[i].used) {
            *clock_mark(marks, max, clocks->marks[i].uid,
                        clocks->marks[i].flow) = clocks->marks[i];
        }
    }
    free(clocks->marks);
    clocks->marks     = marks;
    clocks->max_marks = max;
    return 1;
}

static int clock_end(timeline_clocks_t *clocks, int which, unsigned clock, uint64_t uid,
                     uint64_t flow, uint64_t time)
{
    timeline_mark_t *mark;

    if (!clock_grow(clocks)) {
        return 0;
    }
    mark = clock_mark(clocks->marks, clocks->max_marks, uid, flow);
    if (!mark->used) {
        *mark = (timeline_mark_t){.uid = uid, .flow = flow, .clock = {-1, -1}, .used = 1};
        ++clocks->num_marks;
    }
    mark->clock[which] = clock;
    mark->time[which]  = time;
    return 1;
}

int timeline_clock_sent(timeline_clocks_t *clocks, unsigned clock, uint64_t uid,
                        uint64_t flow, uint64_t time)
{
    return clock_end(clocks, 0, clock, uid, flow, time);
}

int timeline_clock_received(timeline_clocks_t *clocks, unsigned clock, uint64_t uid,
                            uint64_t flow, uint64_t time)
{
    return clock_end(clocks, 1, clock, uid, flow, time);
}

static int64_t *clock_least(const timeline_clocks_t *clocks, unsigned from, unsigned to)
{
    return &clocks->least[(size_t)from * clocks->count + to];
}

static void clock_find_least(timeline_clocks_t *clocks)
{
    size_t i;

    for (i = 0; i < (size_t)clocks->count * clocks->count; ++i) {
        clocks->least[i] = CLOCK_UNKNOWN;
    }
    for (i = 0; i < clocks->max_marks; ++i) {
        const timeline_mark_t *mark = &clocks->marks[i];

        if (mark->used && (mark->clock[0] >= 0) && (mark->clock[1] >= 0)) {
            int64_t took   = (int64_t)(mark->time[1] - mark->time[0]);
            int64_t *least = clock_least(clocks, mark->clock[0], mark->clock[1]);

            *least = (took < *least) ? took : *least;
        }
    }
}

/* How much later the clock @a to is set than the clock @a from. */
static int64_t clock_between(const timeline_clocks_t *clocks, unsigned from, unsigned to)
{
    int64_t there = *clock_least(clocks, from, to);
    int64_t back  = *clock_least(clocks, to, from);
    int64_t real  = clocks->list[to].real - clocks->list[from].real;

    if ((there != CLOCK_UNKNOWN) && (back != CLOCK_UNKNOWN)) {
        return (back - there) / 2;
    }
    if (there != CLOCK_UNKNOWN) {
        return (real < CLOCK_LEAST - there) ? CLOCK_LEAST - there : real;
    }
    if (back != CLOCK_UNKNOWN) {
        return (real > back - CLOCK_LEAST) ? back - CLOCK_LEAST : real;
    }
    return real;
}

/* How well the difference of two clocks is known. */
static int clock_quality(const timeline_clocks_t *clocks, unsigned a, unsigned b)
{
    return (*clock_least(clocks, a, b) != CLOCK_UNKNOWN) +
           (*clock_least(clocks, b, a) != CLOCK_UNKNOWN);
}

/* A clock that is not set right yet. */
typedef struct clock_link {
    int known; /* `from` and `quality` are valid */
    unsigned
            from; /* the clock, among those that are set right, by which this one is known best */
    int quality;
} clock_link_t;

/* The clock @a by is set right: is another one known better by that one? */
static void clock_offer(const timeline_clocks_t *clocks, clock_link_t *links, unsigned by)
{
    unsigned i;

    links[by].known = 1;
    for (i = 0; i < clocks->count; ++i) {
        int quality = clock_quality(clocks, by, i);

        if (!links[i].known && (quality > links[i].quality)) {
            links[i].quality = quality;
            links[i].from    = by;
        }
    }
}

/* One more each time: that which is known best. */
int timeline_clock_align(timeline_clocks_t *clocks)
{
    size_t count        = clocks->count;
    clock_link_t *links = malloc((count + 1) * sizeof(*links));
    unsigned i, round, best;

    clocks->least = malloc((count * count + 1) * sizeof(*clocks->least));
    if ((links == NULL) || (clocks->least == NULL)) {
        free(links);
        return 0;
    }
    clock_find_least(clocks);
    for (i = 0; i < count; ++i) {
        links[i] = (clock_link_t){.quality = -1};
    }
    clock_offer(clocks, links, 0);
    for (round = 1; round < count; ++round) {
        best = 0;
        for (i = 1; i < count; ++i) {
            if (!links[i].known &&
                (links[best].known || (links[i].quality > links[best].quality))) {
                best = i;
            }
        }
        clocks->list[best].offset = clocks->list[links[best].from].offset +
                                    clock_between(clocks, links[best].from, best);
        clock_offer(clocks, links, best);
    }
    free(links);
    return 1;
}

void timeline_clock_cleanup(timeline_clocks_t *clocks)
{
    free(clocks->list);
    free(clocks->marks);
    free(clocks->least);
    memset(clocks, 0, sizeof(*clocks));
}
