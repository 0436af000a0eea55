/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of a receive that waits, and that its sender may write through a network (net_write.h):
 * it is registered, and the sender has its key by CTS. Only one of the two functions below ends
 * that; which one it is depends on whether the sender has said that it is done.
 */
#ifndef RI_NET_EXPOSE_H
#define RI_NET_EXPOSE_H

#include "../../core/worker.h"

/** Let the sender write the memory of a receive, which is contiguous and waits: register it.
 * @return Whether the sender can; recv->keys and recv->way are set then, and the way counts as
 * used. If not, nothing has changed. */
int ri_net_expose(ri_recv_req_t *recv, ri_peer_t *peer);

/** @return The key of the memory that ri_net_expose() has registered, for CTS. */
uint32_t ri_net_expose_key(const ri_recv_req_t *recv);

/** The sender has written all, as it says, and writes no more: release the memory. The receive
 * still has its stream. recv->keys is NULL afterwards. */
void ri_net_expose_close(ri_recv_req_t *recv);

/** The sender has not said that it is done: see to it that nothing is written any more, by the end
 * of this side's end of the way, with which all other transfers by it fail, too. The receive still
 * has its stream. recv->keys is NULL afterwards. */
void ri_net_expose_cut(ri_recv_req_t *recv);

#endif
