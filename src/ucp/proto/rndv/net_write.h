/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender writes through a network (RDMA): what rndv_put.h does within a call for
 * processes of one host goes on by itself here. RTS and CTS have keys. (protocol.md section 8)
 *
 * The receiver waits for WRITTEN. If that does not come, and be it that the sender says that
 * it cannot write (RNDV_DATA), parts of the data may still be in the network. So the receiver
 * first destroys its own end of the way: then nothing is written any more, and the receive can
 * end. The sender answers CTS by the very way that the RTS was sent by, or not at all: it
 * never writes by a later one into what has been handed back.
 */
#ifndef RI_NET_WRITE_H
#define RI_NET_WRITE_H

#include "../../core/worker.h"

/**
 * Sender: write the data of a send where its receiver says. What comes next is done when that has
 * ended: WRITTEN is sent, or RNDV_DATA.
 *
 * @param recv_id  That the receiver wants to be told.
 *
 * @return UCS_INPROGRESS: the request waits for RI_SEND_WAIT_WRITE in place of RI_SEND_WAIT_MATCH,
 *         and its keys are the write's. An error: nothing is written any more, though parts may
 *         have been, and the request is as it was; if the way was still that of the RTS, it is
 *         given up.
 */
ucs_status_t ri_net_write_start(ri_send_req_t *req, uint32_t recv_id, uint64_t address,
                                uint32_t key);

#endif
