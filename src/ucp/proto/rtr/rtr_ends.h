/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RTRs whose ring, stream or peer ends.
 */
#ifndef RI_RTR_ENDS_H
#define RI_RTR_ENDS_H

#include "../../core/worker.h"

/** The ring from a sender has ended, or its peer has failed: if there is no ring, the peer has
 * failed, and its process is gone or its RTRs go through a network, the stream ends, as far as RTRs
 * are concerned. Receives that it writes end with UCS_ERR_CONNECTION_RESET, others go on without an
 * RTR. Calls back; the stream itself stays. */
void ri_rtr_ends_check_gone(ri_stream_t *stream);

#endif
