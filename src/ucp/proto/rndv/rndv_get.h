/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sender-initiated rendezvous, the receiver reads: when the RTS is matched, it reads the
 * data by a data plane straight into its place and says so (FIN). (protocol.md section 8)
 */
#ifndef RI_RNDV_GET_H
#define RI_RNDV_GET_H

#include "rndv_fetch.h"
#include "../../core/worker.h"
#include "../../order/recv_start.h"

/** Receiver: start the receive of an RTS or POOL, when @a fetch was chosen: RI_FETCH_GET, BOUNCE or
 * AM. Within a host the data is read within the call. What the plane fails to move the sender is
 * asked to send by UCP; if its process is gone, the receive ends with UCS_ERR_CONNECTION_RESET.
 * @return See ri_msg_ops_t.start. */
ucs_status_t ri_rndv_get_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                              const ri_arrival_t *arrival, ri_fetch_t fetch);

#endif
