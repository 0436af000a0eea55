/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory that peers cost a process, for those who size a job. It is all that the library
 * allocates for a peer, and stays as long as the two are connected; what messages that are under
 * way take, and UCX's own endpoints, come on top. test/check/peer_memory.test counts what is
 * allocated, and compares: who adds to what a peer has, adds here.
 */
#ifndef RI_PEER_MEMORY_H
#define RI_PEER_MEMORY_H

#include "../core/peer.h"
#include "../../ucs/heap.h"

/** @return Bytes for a peer that both sides have one endpoint to, and that is reached by a plane
 * of @a kind (RI_WIRE_PLANE_*), without that plane's end. */
size_t ri_peer_memory_connected(unsigned kind);

/** @return Bytes more, once long receives were offered (RTR) both ways. */
size_t ri_peer_memory_offers(unsigned kind);

/** @return Bytes that a peer has at this moment, without the ends of planes. */
size_t ri_peer_memory_now(const ri_peer_t *peer);

#endif
