/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the planes on verbs take of memory, for those who size a job. No device tells how large
 * its queues are, so they are reckoned as HCAs lay them out: an entry to send has 32 bytes and 16
 * for each segment, rounded up to a power of two of at least 64; one to receive 16 for each
 * segment, likewise; a completion 64. What the protocols have for a peer comes on top:
 * src/ucp/core/peer_memory.h.
 */
#ifndef RI_IB_FOOTPRINT_H
#define RI_IB_FOOTPRINT_H

#include "device.h"

#if HAVE_VERBS

/** @return Bytes for each peer that is reached by a connection (plane rc). */
size_t ri_ib_footprint_rc_peer(const ri_ib_device_t *device);

/** @return ... of which this is reckoned for the device's queues. */
size_t ri_ib_footprint_rc_queues(const ri_ib_device_t *device);

/** @return Bytes for each peer that is reached by datagrams (plane ud)... */
size_t ri_ib_footprint_ud_peer(void);

/** ... and for each queue pair of the pool, whatever the number of peers. */
size_t ri_ib_footprint_ud_qp(const ri_ib_device_t *device);

#endif

#endif
