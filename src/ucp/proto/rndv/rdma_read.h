/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver reads through a network (RDMA): what send_rndv_get.h does within a call for
 * processes of one host goes on by itself here, and ends in progress. The memory of both sides
 * is registered; the RTS has the keys. (protocol.md section 8)
 *
 * The receive's memory is the network's from the start of the read to its end, see rdma.h. If
 * the stream ends meanwhile the receive ends with an error then.
 */
#ifndef RI_RDMA_READ_H
#define RI_RDMA_READ_H

#include "../select.h"
#include "../../core/worker.h"
#include "../../order/deliver.h"

/** Sender: register the data of a send, so that the peer can read it, or this process write
 * it to the peer. @return Whether that works; req->keys is set then. */
int ri_rdma_read_prepare(ri_send_req_t *req);

/** Likewise, with the keys at the start of something larger, of @a size bytes, that is freed with
 * them. */
int ri_rdma_read_prepare_in(ri_send_req_t *req, size_t size);

/** Sender: for `take` of protocols whose data a plane moves, and that register it if the plane needs
 * keys. */
unsigned ri_rdma_read_take(ri_send_req_t *req, const ri_send_terms_t *terms);

/** Sender: write the keys behind the segments of an RTS, which are those of the data. */
void ri_rdma_read_put_keys(const ri_send_req_t *req, ri_wire_rts_t *rts);

/** Sender: the peer does not read the data any more; give its keys back, if it has some. */
void ri_rdma_read_forget(ri_send_req_t *req);

/**
 * Receiver: read the data of an RTS or POOL with keys, which fits. What cannot be read comes by
 * UCP.
 *
 * @param fetch  RI_FETCH_GET or BOUNCE.
 *
 * @return As ri_rndv_recv().
 */
ucs_status_t ri_rdma_read_recv(ri_recv_req_t *recv, ri_stream_t *stream,
                               const ri_arrival_t *arrival, ri_fetch_t fetch);

#endif
