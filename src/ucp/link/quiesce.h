/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting, within a call, for what a peer writes into this process's memory just then. That
 * takes no time but if the peer has lost its processor, or was stopped: then memory is handed
 * back after some time all the same. (protocol-rndv.md section 3.5)
 *
 * A peer was stopped in one call, and so in one write. If others seem to be under way as well,
 * they are not waited for one after the other: all that ends within some time has one time-out.
 */
#ifndef RI_QUIESCE_H
#define RI_QUIESCE_H

#include "../core/peer.h"

/** How long a peer is waited for, and for how long it is not waited for again then; seconds. */
extern double ri_quiesce_timeout;

/** A clock in seconds by which a wait goes, and a call that lets others have the processor. */
extern double (*ri_quiesce_clock)(void);
extern int (*ri_quiesce_yield)(void);

typedef int (*ri_quiesce_func_t)(void *arg);

/** Wait while @a is_writing says that @a peer writes: until it is gone, or for ri_quiesce_timeout
 * in all, and only shortly if it was waited for in vain not long ago. Makes no progress, so
 * nothing calls back. @return Whether it has ended; 0: the peer may still be writing. */
int ri_quiesce(ri_peer_t *peer, ri_quiesce_func_t is_writing, void *arg);

#endif
