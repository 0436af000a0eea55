/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A message that arrives in parts, of which later ones may be long in coming: its sender
 * can lose the processor in the middle. It is matched at its first part, if its turn has
 * come and its receive is posted, and is then placed directly; else it is gathered and
 * counts as arrived with its last part. A stream has at most one.
 */
#ifndef RI_ASSEMBLY_H
#define RI_ASSEMBLY_H

#include "../core/types/stream_types.h"

/** The first part of a message has come, whose length in all is @a length, not 0; @ref
 * ri_assembly_add takes the part. No other message of the stream is arriving in parts. The stream
 * is kept by stream->busy. Without memory it is broken, which calls back. */
void ri_assembly_start(ri_stream_t *stream, uint32_t sn, uint64_t tag, size_t length);

/** Take the next part, which is not longer than what is missing; it is copied. With the last one
 * the message is delivered, which may complete its receive. The stream is kept by stream->busy.
 * Calls back. */
void ri_assembly_add(ri_stream_t *stream, const void *data, size_t length);

/** The rest of a message, if there is one, will not come: the stream is broken, and a receive that
 * was matched ends with @a status. Calls back; a stream that is not busy may be gone afterwards. */
void ri_assembly_abort(ri_stream_t *stream, ucs_status_t status);

#endif
