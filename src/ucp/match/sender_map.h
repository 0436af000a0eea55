/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who sends to a receive, and whether it pays to tell it. (protocol-rndv.md section 2)
 *
 * A tag and a mask do not say whose messages fit. What is known is learnt from messages:
 * where some bits of a tag name the sender (the sender mask), one message of a sender is
 * enough for all receives whose masks cover these bits; and a receive of the same tag and
 * mask as an earlier one is taken to get its messages from where that one did. Receives from
 * any source are those whose mask leaves bits of the sender mask open.
 *
 * Both are memories of what was, and may be wrong: then an RTR goes to a sender that has no
 * use for it, and is taken back when the message of the right one comes. So they may also
 * forget: each is a table of fixed size, in which a later entry replaces an earlier one.
 */
#ifndef RI_SENDER_MAP_H
#define RI_SENDER_MAP_H

#include "../core/types.h"

/* Receives of one tag and mask, or one sender. */
typedef struct ri_sender {
    uint64_t tag;
    uint64_t mask;
    uint32_t stream_id; /* 0: not known */
    int32_t credit;     /* below 0: no RTRs */
    int32_t pause; /* messages without an RTR after the last one that was dear and unused */
} ri_sender_t;

typedef struct ri_sender_map {
    uint64_t sender_mask; /* 0: not known */
    ri_sender_t *classes; /* NULL until something is learnt */
    ri_sender_t *senders; /* likewise */
} ri_sender_map_t;

/* @param sender_mask  The bits of a tag that name the sender, or 0. */
void ri_sender_map_init(ri_sender_map_t *map, uint64_t sender_mask);

void ri_sender_map_cleanup(ri_sender_map_t *map);

/** @return The id of the stream that a receive's messages are expected from, or 0. */
uint32_t ri_sender_map_find(const ri_sender_map_t *map, uint64_t tag, uint64_t mask);

/** A message of @a stream_id with @a sender_tag has met a receive. */
void ri_sender_map_learn(ri_sender_map_t *map, uint64_t tag, uint64_t mask,
                         uint64_t sender_tag, uint32_t stream_id);

/** @return Whether receives of this tag and mask should send RTRs. */
int ri_sender_map_is_worth(const ri_sender_map_t *map, uint64_t tag, uint64_t mask);

/** An RTR to @a stream_id for such a receive was used (1), or was not (-1), or would have
 * been had there been one (1). */
void ri_sender_map_credit(ri_sender_map_t *map, uint64_t tag, uint64_t mask,
                          uint32_t stream_id, int change);

/** Likewise of an RTR that cost more than a message. Each one that was not used doubles the number of
 * messages that do without until there is another one. */
void ri_sender_map_credit_dear(ri_sender_map_t *map, uint64_t tag, uint64_t mask,
                               uint32_t stream_id, int used);

#endif
