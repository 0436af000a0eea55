/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * To whom messages were sent, by protocol, for a report as JSON. What is counted are the counters
 * that each conn has anyway: they are taken when it closes, and from the open ones when a report is
 * written. So sending costs nothing more. Memory: 168 bytes for each peer (and once more while it
 * is written).
 */
#ifndef RI_REPORT_PAIRS_H
#define RI_REPORT_PAIRS_H

#include "report_table.h"
#include "../core/notes/counters.h"

typedef struct ri_report_pair {
    uint64_t uid; /* of the peer's worker */
    ri_report_count_t counts[RI_REPORT_PROTOCOLS];
} ri_report_pair_t;

/* Sorted by uid, each uid once, up to `merged`; the rest is in no order. Zero is an empty list. */
typedef struct ri_report_pairs {
    ri_report_pair_t *list;
    size_t merged;
    size_t count;
    size_t room;
} ri_report_pairs_t;

/** Add what a conn to @a uid has sent, if there is anything. Without memory it is left out. */
void ri_report_pairs_add(ri_report_pairs_t *pairs, uint64_t uid,
                         const ri_conn_counters_t *sent);

/** Add all of another list. Without memory the rest is left out. */
void ri_report_pairs_add_all(ri_report_pairs_t *pairs, const ri_report_pairs_t *other);

/** Make one of all that have the same uid: `merged` is `count` then. */
void ri_report_pairs_merge(ri_report_pairs_t *pairs);

/** Free the list, which is empty then. */
void ri_report_pairs_cleanup(ri_report_pairs_t *pairs);

#endif
