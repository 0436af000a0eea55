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
 * Both are memories of what was, and may be wrong: then an RTR goes to a sender that does not
 * use it, and is withdrawn when the message of the right one comes. So they may also
 * forget: each is a table of fixed size, in which a later entry replaces an earlier one.
 */
#ifndef RI_SENDER_MAP_H
#define RI_SENDER_MAP_H

#include "../core/types/match_types.h"

/** Set up a map in which nothing is learnt yet. ri_sender_map_cleanup() frees it. @param
 * sender_mask The bits of a tag that name the sender, or 0. */
void ri_sender_map_init(ri_sender_map_t *map, uint64_t sender_mask);

/** Free the memory of a map. Nothing may be asked of it afterwards. */
void ri_sender_map_cleanup(ri_sender_map_t *map);

/** @return The id of the stream that a receive's messages are expected from, which may be gone; 0
 * if nothing is known, or the mask is one for any source. */
uint32_t ri_sender_map_find(const ri_sender_map_t *map, uint64_t tag, uint64_t mask);

/** A message of @a stream_id with @a sender_tag has met a receive of @a tag and @a mask. Without
 * memory nothing is learnt. */
void ri_sender_map_learn(ri_sender_map_t *map, uint64_t tag, uint64_t mask,
                         uint64_t sender_tag, uint32_t stream_id);

/** @return Whether receives of this tag and mask should send RTRs; also if nothing is known of
 * them. */
int ri_sender_map_is_worth(const ri_sender_map_t *map, uint64_t tag, uint64_t mask);

/** An RTR to @a stream_id for a receive of @a tag and @a mask was used (@a change 1), or was not
 * (-1), or would have been had there been one (1). */
void ri_sender_map_credit(ri_sender_map_t *map, uint64_t tag, uint64_t mask,
                          uint32_t stream_id, int change);

/** Note whether an RTR to a sender was used that cost more than a message. A few that were
 * not, in a row, begin a pause, in which no RTR is sent until some messages have
 * done without. Each pause is twice as long as the one before, up to a limit. An RTR that was used
 * ends the pause, and the next one is a short one. */
void ri_sender_map_credit_costly(ri_sender_map_t *map, uint64_t tag, uint64_t mask,
                                 uint32_t stream_id, int used);

#endif
