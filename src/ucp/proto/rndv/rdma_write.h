/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender writes through a network (RDMA): what send_rndv_put.h does within a call for
 * processes of one host goes on by itself here. RTS and CTS have keys. (protocol.md section 8)
 *
 * The receiver waits for WRITTEN. If that does not come, and be it that the sender says that
 * it cannot write (RNDV_DATA), parts of the data may still be in the network. So the receiver
 * first destroys its own end of the way: then nothing is written any more, and the receive can
 * end. The sender answers CTS by the very way that the RTS was sent by, or not at all: it
 * never writes by a later one into what has been handed back.
 */
#ifndef RI_RDMA_WRITE_H
#define RI_RDMA_WRITE_H

#include "../../core/worker.h"

/** Receiver: let the sender write the memory of a receive, which is contiguous and waits.
 * @return Whether it can; recv->keys is set then. */
int ri_rdma_write_open(ri_recv_req_t *recv, ri_peer_t *peer);

/** Receiver: the key of that memory, for CTS. */
uint32_t ri_rdma_write_key(const ri_recv_req_t *recv);

/** Receiver: the sender has written all, and writes no more. */
void ri_rdma_write_close(ri_recv_req_t *recv);

/** Receiver: likewise, of one that waits, if the sender does not say so: it is made sure. */
void ri_rdma_write_revoke(ri_recv_req_t *recv);

/**
 * Sender: write the data of a send where its receiver says. What comes next is done when that
 * has ended: WRITTEN is sent, or RNDV_DATA.
 *
 * @param recv_id  That the receiver wants to be told.
 *
 * @return UCS_INPROGRESS; an error, with nothing written.
 */
ucs_status_t ri_rdma_write_start(ri_send_req_t *req, uint32_t recv_id, uint64_t address,
                                 uint32_t key);

#endif
