/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A program may open and close any number of conns to few peers. So the list is merged when it is
 * full, and grows only if that makes too little room.
 */
#include "report_pairs.h"
#include "report_values.h"

#include <stdlib.h>
#include <string.h>

const char *ri_report_way_name(unsigned way)
{
    return (way == RI_REPORT_WAYS - 1) ? "self" :
                                         ri_report_names[RI_REPORT_RING + 2 * way];
}

static int pairs_compare(const void *a, const void *b)
{
    const ri_report_pair_t *left = a, *right = b;

    return (left->uid > right->uid) - (left->uid < right->uid);
}

void ri_report_pairs_merge(ri_report_pairs_t *pairs)
{
    size_t to = 0;
    size_t i;
    unsigned j;

    if (pairs->merged == pairs->count) {
        return;
    }
    qsort(pairs->list, pairs->count, sizeof(*pairs->list), pairs_compare);
    for (i = 1; i < pairs->count; ++i) {
        if (pairs->list[i].uid != pairs->list[to].uid) {
            pairs->list[++to] = pairs->list[i];
            continue;
        }
        for (j = 0; j < 2 * RI_REPORT_WAYS; ++j) {
            pairs->list[to].counts[j] += pairs->list[i].counts[j];
        }
    }
    pairs->merged = pairs->count = to + 1;
}

/* @return A place at the end of the list, or NULL: out of memory. */
static ri_report_pair_t *pairs_get(ri_report_pairs_t *pairs)
{
    ri_report_pair_t *list;
    size_t room;

    if (pairs->count == pairs->room) {
        ri_report_pairs_merge(pairs);
    }
    /* Not at the last place: the next one would be merged for again at once */
    if ((pairs->count == pairs->room) ||
        ((pairs->merged == pairs->count) && (pairs->count > pairs->room / 2))) {
        room = (pairs->room == 0) ? 8 : 2 * pairs->room;
        list = realloc(pairs->list, room * sizeof(*list));
        if ((list == NULL) && (pairs->count == pairs->room)) {
            return NULL;
        }
        if (list != NULL) {
            pairs->list = list;
            pairs->room = room;
        }
    }
    return &pairs->list[pairs->count++];
}

void ri_report_pairs_add(ri_report_pairs_t *pairs, uint64_t uid,
                         const ri_conn_counters_t *sent)
{
    uint64_t values[RI_REPORT_VALUES] = {0};
    ri_report_pair_t *pair;
    uint64_t messages = sent->tx_self;
    unsigned i;

    ri_report_add_sent(values, sent);
    for (i = RI_REPORT_RING; i < RI_REPORT_CONTROL; i += 2) {
        messages += values[i];
    }
    pair = (messages > 0) ? pairs_get(pairs) : NULL;
    if (pair == NULL) {
        return;
    }
    pair->uid = uid;
    memcpy(pair->counts, &values[RI_REPORT_RING],
           2 * (RI_REPORT_WAYS - 1) * sizeof(values[0]));
    pair->counts[2 * (RI_REPORT_WAYS - 1)]     = sent->tx_self;
    pair->counts[2 * (RI_REPORT_WAYS - 1) + 1] = sent->tx_self_bytes;
}

void ri_report_pairs_add_all(ri_report_pairs_t *pairs, const ri_report_pairs_t *other)
{
    ri_report_pair_t *pair;
    size_t i;

    for (i = 0; i < other->count; ++i) {
        pair = pairs_get(pairs);
        if (pair == NULL) {
            return;
        }
        *pair = other->list[i];
    }
}

void ri_report_pairs_cleanup(ri_report_pairs_t *pairs)
{
    free(pairs->list);
    *pairs = (ri_report_pairs_t){0};
}
