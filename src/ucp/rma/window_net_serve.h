/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests of processes of other hosts to this one, for a window of MPI. The lock of the worker
 * (window_net.h) is held by who calls.
 */
#ifndef RI_WINDOW_NET_SERVE_H
#define RI_WINDOW_NET_SERVE_H

#include "window_net.h"
#include "window_net_message.h"

/** Something is asked by a peer: wire input. It is answered now or later. The lock is held. */
void ri_window_net_serve_asked(ri_window_net_peer_t *peer,
                               const ri_window_net_head_t *head, const void *data,
                               size_t length);

/** Try again what could not be done at once. The lock is held. @return How much of it was done. */
unsigned ri_window_net_serve(void);

/** Drop what was not done. The lock is held. */
void ri_window_net_serve_drop(void);

#endif
