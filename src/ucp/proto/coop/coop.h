/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Cooperative copies: a long message between processes of one host is copied by both sides
 * at the same time, the receiver reading and the sender writing, as far as each of them is
 * in the library. Who copies what is decided in a slot of the ring (uct/shm/slot.h), which
 * the RTS names; there are no further messages unless something fails. (protocol.md
 * section 8)
 *
 * Who may touch what, and until when:
 *   - The sender writes only what it has claimed, and only within a call. The receive ends
 *     when all that was claimed is done, never before; so nobody writes its memory then.
 *   - The receiver reads only what it has claimed, and only within a call. The send ends when
 *     all that was claimed is done; so nobody reads its memory after that.
 *   - A side that must end earlier claims what is left, which the other then cannot, and
 *     says why. The receiver also waits for what the sender has claimed, unless that
 *     process is gone.
 *   - The slot belongs to the sender until the RTS is sent, then to the receiver until it
 *     clears `busy`, or answers with FIN or NACK instead.
 */
#ifndef RI_COOP_H
#define RI_COOP_H

#include "../../core/worker.h"

/** Copy one part in all, and see what the other sides have copied: each copy has one look. Calls
 * back; any conn or stream that is not busy may be gone afterwards. @return Number of events. */
unsigned ri_coop_progress(ri_worker_t *worker);

#endif
