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

static int pairs_compare(const void *a, const void *b)
{
    const ri_report_pair_t *left = a, *right = b;

    return (left->uid > right->uid) - (left->uid < right->uid);
}

void ri_report_pairs_merge(ri_report_pairs_t *pairs)
{
    size_t to = 0;
    size_t i;
    unsigned protocol;

    if (pairs->merged == pairs->count) {
        return;
    }
    qsort(pairs->list, pairs->count, sizeof(*pairs->list), pairs_compare);
    for (i = 1; i < pairs->count; ++i) {
        if (pairs->list[i].uid != pairs->list[to].uid) {
            pairs->list[++to] = pairs->list[i];
            continue;
        }
        for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
            pairs->list[to].counts[protocol].messages +=
                    pairs->list[i].counts[protocol].messages;
            pairs->list[to].counts[protocol].bytes +=
                    pairs->list[i].counts[protocol].bytes;
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
    unsigned protocol;

    ri_report_values_add_sent(values, sent);
    for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
        messages += ri_report_table_protocol_count(values, protocol).messages;
    }
    pair = (messages > 0) ? pairs_get(pairs) : NULL;
    if (pair == NULL) {
        return;
    }
    pair->uid = uid;
    for (protocol = 0; protocol < RI_REPORT_PROTOCOLS; ++protocol) {
        pair->counts[protocol] = ri_report_table_protocol_count(values, protocol);
    }
    pair->counts[RI_REPORT_PROTOCOL_SELF] = (ri_report_count_t){sent->tx_self,
                                                                sent->tx_self_bytes};
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
