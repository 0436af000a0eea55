/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the rc plane takes of memory for each peer (device/footprint.h says how that is estimated).
 */
#ifndef RI_RC_FOOTPRINT_H
#define RI_RC_FOOTPRINT_H

#include "../device/device.h"

#if HAVE_VERBS

/** @return Bytes for each peer that is reached by a connection: its way, and its queue pair. */
size_t ri_rc_footprint_peer(const ri_ib_device_t *device);

/** @return The part of ri_rc_footprint_peer() that is the device's: the queue pair and its
 *          completions. */
size_t ri_rc_footprint_queues(const ri_ib_device_t *device);

#endif

#endif
