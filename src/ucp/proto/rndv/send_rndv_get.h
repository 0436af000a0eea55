/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sender-initiated rendezvous, the receiver reads: when the RTS is matched, it reads the
 * data by a data plane straight into its place and says so (FIN). (protocol.md section 8)
 */
#ifndef RI_SEND_RNDV_GET_H
#define RI_SEND_RNDV_GET_H

#include "../select.h"
#include "../../core/worker.h"
#include "../../order/recv_start.h"

/** Receiver: as ri_rndv_recv(), of an RTS or POOL, when @a fetch was chosen: RI_FETCH_GET,
 * BOUNCE or AM. What the plane fails to move comes by UCP. */
ucs_status_t ri_send_rndv_get_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                                   const ri_arrival_t *arrival, ri_fetch_t fetch);

#endif
