/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a worker has for matching: posted receives and unexpected messages (match/match.h), and who
 * sends what (match/sender_map.h).
 */
#ifndef RI_MATCH_TYPES_H
#define RI_MATCH_TYPES_H

#include "msg_types.h"

typedef struct ri_mask_class {
    uint64_t mask;
    uint64_t last_use; /* ri_match_t.serial when it was last asked for */
    unsigned index;    /* own place in ri_match_t.classes */
    ri_tag_index_t posted;
    ri_tag_index_t unexpected;
    ri_recv_req_t *waiters; /* as those of a receive, see ri_match_find_overlap() */
} ri_mask_class_t;

typedef struct ri_match {
    unsigned num_classes;
    ri_mask_class_t classes[RI_MATCH_CLASSES];
    uint64_t serial; /* counts receives and probes; orders receives */
    size_t num_posted;
    size_t num_listed;       /* posted receives in the list */
    ri_mask_class_t *latest; /* of the receive posted last; NULL: none or listed */
    ucs_list_link_t listed;
    size_t num_unexpected;
    ucs_list_link_t unexpected; /* all, oldest first */
} ri_match_t;

/* Receives of one tag and mask, or one sender. */
typedef struct ri_sender {
    uint64_t tag;
    uint64_t mask;
    uint32_t stream_id; /* 0: not known */
    int32_t credit;     /* below 0: no RTRs */
    int32_t pause; /* messages of the latest pause, see ri_sender_map_credit_costly() */
} ri_sender_t;

typedef struct ri_sender_map {
    uint64_t sender_mask; /* 0: not known */
    ri_sender_t *classes; /* NULL until something is learnt */
    ri_sender_t *senders; /* NULL until something is learnt */
} ri_sender_map_t;

#endif
