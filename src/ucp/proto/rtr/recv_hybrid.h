/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Receiver-initiated rendezvous through a network, of messages of medium length: copied to the
 * pool (pool.h) and written from there into the receive that an RTR offers. With the copy the send
 * is complete. It is told as all others that use an RTR (recv_rndv_message.h).
 *
 * Without the copy a send would end with the acknowledgement of its write, a latency after the
 * receiver has the data. Where both sides send and receive in turn, the receive that follows
 * would offer itself too late for each answer.
 *
 * A write that fails is made up for by a POOL with the number of the message, which says so. The
 * buffer serves until the write has ended well, or what became of that POOL is known.
 */
#ifndef RI_RECV_HYBRID_H
#define RI_RECV_HYBRID_H

#include "recv_rndv.h"

#endif
