/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages of a stream that are known by their numbers: which have come, or have a receive, and
 * which are too far ahead to be taken.
 */
#ifndef RI_DELIVER_KNOWN_H
#define RI_DELIVER_KNOWN_H

#include "../core/types/stream_types.h"

/** @return Whether the message of that number has come: it was matched, or waits for its turn. USED
 * alone, without the data, does not count. */
int ri_deliver_known_has(const ri_stream_t *stream, uint32_t sn);

/** @return Whether the message of that number has got a receive, or was given up. */
int ri_deliver_known_is_matched(const ri_stream_t *stream, uint32_t sn);

/** @return Whether a message must be left in its ring or channel until those before it have come.
 * The sender then finds no room there, so this is flow control, too. The message that is missing
 * comes by another route. */
int ri_deliver_known_is_far_ahead(const ri_stream_t *stream, uint32_t sn);

#endif
