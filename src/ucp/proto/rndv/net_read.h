/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver reads through a network (RDMA): what rndv_get.c does within a call for
 * processes of one host goes on by itself here, and ends in progress. The memory of both sides
 * is registered; the RTS has the keys. (protocol.md section 8)
 *
 * The receive's memory is the network's from the start of the read to its end, see net_transfer.h.
 * If the stream ends meanwhile the receive ends with an error then.
 */
#ifndef RI_NET_READ_H
#define RI_NET_READ_H

#include "../../core/worker.h"
#include "../../order/deliver.h"

/**
 * Receiver: read the data of an RTS or POOL with keys, which fits. If that cannot be done, or fails
 * later, the sender is asked to send it by UCP.
 *
 * @param direct  Into the memory of the receive; else into other memory, to be placed from there.
 *
 * @return As `start` of ri_msg_ops_t. With UCS_INPROGRESS the receive completes in progress.
 */
ucs_status_t ri_net_read_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                              const ri_arrival_t *arrival, int direct);

#endif
