/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The structures of a worker for matching: posted receives and unexpected messages (match/match.h),
 * and who sends what (match/sender_map.h).
 */
#ifndef RI_MATCH_TYPES_H
#define RI_MATCH_TYPES_H

#include "msg_types.h"

/* A mask by which receives and messages are indexed. */
typedef struct ri_mask_class {
    uint64_t mask;             /* the bits of a tag that count */
    uint64_t last_use;         /* ri_match_t.serial when it was last asked for */
    unsigned index;            /* own place in ri_match_t.classes */
    ri_tag_index_t posted;     /* posted receives of this mask, by tag */
    ri_tag_index_t unexpected; /* all unexpected messages, by the bits of the mask */
    /* one of a ring of receives that wait until the class can be looked through, see
     * ri_match_find_overlap(); NULL: none */
    ri_recv_req_t *waiters;
} ri_mask_class_t;

/* The posted receives and the unexpected messages of a worker. */
typedef struct ri_match {
    unsigned num_classes;                      /* of `classes` that are in use */
    ri_mask_class_t classes[RI_MATCH_CLASSES]; /* the masks that have an index */
    uint64_t serial;         /* counts receives and probes; orders receives */
    size_t num_posted;       /* posted receives, in all */
    size_t num_listed;       /* posted receives in `listed` */
    ri_mask_class_t *latest; /* of the receive posted last; NULL: none or listed */
    ucs_list_link_t listed;  /* posted receives whose mask has no class, oldest first */
    size_t num_unexpected;   /* length of `unexpected` */
    ucs_list_link_t unexpected; /* all unexpected messages, oldest first */
} ri_match_t;

/* The record of receives of one tag and mask, or of one sender. */
typedef struct ri_sender {
    uint64_t tag;       /* masked */
    uint64_t mask;      /* of the receives, or the sender mask */
    uint32_t stream_id; /* that the latest message came by; 0: the entry is empty */
    int32_t credit;     /* below 0: no RTRs are sent */
    int32_t pause; /* messages of the latest pause, see ri_sender_map_credit_costly() */
} ri_sender_t;

/* Who sends to which receives: two tables of fixed size. */
typedef struct ri_sender_map {
    uint64_t sender_mask; /* bits of a tag that name the sender; 0: not known */
    /* by tag and mask of receives; NULL until something is learnt */
    ri_sender_t *classes;
    ri_sender_t *senders; /* by the bits of sender_mask; NULL until something is learnt */
} ri_sender_map_t;

#endif
