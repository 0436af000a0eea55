/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the planes on verbs take of memory, for those who size a job: the part of the estimate that
 * rc and ud have in common. No device tells how large its queues are. So the estimate takes them to
 * be laid out as adapters do it: an entry of a send queue has 32 bytes and 16 for each segment,
 * rounded up to a power of two of at least 64; an entry of a receive queue has 16 bytes for each
 * segment, rounded up to a power of two; a completion has 64. The protocols' share for a peer comes
 * on top (src/ucp/run/peer_memory.h).
 */
#ifndef RI_IB_FOOTPRINT_H
#define RI_IB_FOOTPRINT_H

#include <stddef.h>

/**
 * @param sends     Entries of the send queue.
 * @param send_sge  Segments of each of them.
 * @param recvs     Entries of the receive queue.
 * @param recv_sge  Segments of each of them.
 *
 * @return Bytes of the two queues of a queue pair, and of the completions of their work requests.
 */
size_t ri_ib_footprint_queues(unsigned sends, unsigned send_sge, unsigned recvs,
                              unsigned recv_sge);

/**
 * @param size  Of the structure that a plane has for a way.
 *
 * @return Bytes of one way on the heap, with its place in the plane's table of ids, which doubles
 *         when it is full.
 */
size_t ri_ib_footprint_way(size_t size);

#endif
