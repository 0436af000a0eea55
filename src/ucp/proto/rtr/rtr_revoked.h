/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs through a network that are to be withdrawn: their senders were asked (REVOKE,
 * rtr_withdraw.h), and what depends on the answers waits, cancels as well as messages of others.
 * Here are the answers, and what goes on then.
 */
#ifndef RI_RTR_REVOKED_H
#define RI_RTR_REVOKED_H

#include "../../core/worker.h"

/** For ri_promises_t: ask senders (REVOKE) that have not been asked yet; a way to one that cannot
 * be asked is given up. @return See ri_promises_t.ask_senders. */
int ri_rtr_revoked_ask_senders(ri_worker_t *worker, const ri_stream_t *stream,
                               uint64_t tag);

/** Something has been answered, or need not be any more, about a receive of this tag: go on with
 * what waited for that. Calls back; any stream may be gone afterwards that is not kept by
 * stream->busy. */
void ri_rtr_revoked_decided(ri_worker_t *worker, uint64_t tag);

/** Handler of REVOKED: the answer to REVOKE. The state of the RTR is KEY_USED, as it was used, or
 * the receive has none any more; then what waited goes on. An answer that was not asked for is
 * counted and ignored. Calls back; a stream that is not busy may be gone afterwards. */
void ri_rtr_revoked_handle(ri_stream_t *stream, const ri_wire_msg_t *msg);

#endif
