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

#include "../core/request.h"

typedef struct ri_assembly {
    size_t length;       /* of the whole payload; 0: there is none */
    size_t received;     /* of it; never more */
    uint8_t *dest;       /* of the payload: in the receive's memory, or the message's */
    ri_recv_req_t *recv; /* that was matched, or NULL */
    ri_msg_t *msg;       /* NULL: placed directly */
    uint64_t tag;
    uint32_t sn;
} ri_assembly_t;

/** The first part has come; @ref ri_assembly_add takes it. Without memory, the stream is
 * broken. @a length is not 0. */
void ri_assembly_start(ri_stream_t *stream, uint32_t sn, uint64_t tag, size_t length);

/** Take the next part, which is not longer than what is missing. The last one may complete
 * a receive. */
void ri_assembly_add(ri_stream_t *stream, const void *data, size_t length);

/** The rest of a message, if there is one, will not come: the stream is broken, and a
 * receive that was matched ends with @a status, after which the stream may be gone. */
void ri_assembly_abort(ri_stream_t *stream, ucs_status_t status);

#endif
