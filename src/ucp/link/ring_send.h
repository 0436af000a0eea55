/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Control messages that are sent through a ring. (ring_life.h)
 */
#ifndef RI_RING_SEND_H
#define RI_RING_SEND_H

#include "../core/types/conn_types.h"
#include "../wire/wire.h"

/** Send CLOSING through the ring, also while messages do not go through it, as CLOSING need not
 * keep an order with anything else. @return 0: there is no ring, or no room in it, and nothing was
 * sent. */
int ri_ring_send_closing(ri_conn_t *conn);

/**
 * Send a small control message through the ring, of a type that may go so. The conn has a peer.
 *
 * @param id       What the record has as its `extra`.
 * @param payload  If @a length is not 0; at most RI_RING_INLINE bytes. It is copied.
 *
 * @return 1: it is sent. 0: it has to go another way, as there is no ring or no room, or the ring
 *         must not be used (RI_CONN_NO_RING).
 */
int ri_ring_send_control(ri_conn_t *conn, ri_wire_type_t type, uint32_t id,
                         uint32_t value, const void *payload, size_t length);

#endif
