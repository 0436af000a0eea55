/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The name of a peer, in lines that people read.
 */
#ifndef RI_PEER_NAME_H
#define RI_PEER_NAME_H

#include "types/types.h"

/* Room for any name, with its end. */
#define RI_PEER_NAME_MAX 48

/** Write the name of a peer to @a name, which has room for RI_PEER_NAME_MAX bytes: its rank, if its
 * worker address has told it, else its uid.
 *
 * @param peer  NULL: it is not known who that is. */
void ri_peer_name_short(const ri_peer_t *peer, char *name);

/** Write the name of a peer to @a name, which has room for RI_PEER_NAME_MAX bytes, as
 * ri_peer_name_short() does, followed by " on this host" if the peer is known to be there.
 *
 * @param peer  NULL: it is not known who that is. */
void ri_peer_name(const ri_worker_t *worker, const ri_peer_t *peer, char *name);

#endif
