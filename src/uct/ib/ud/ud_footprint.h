/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ud plane takes of memory (device/footprint.h says how that is estimated).
 */
#ifndef RI_UD_FOOTPRINT_H
#define RI_UD_FOOTPRINT_H

#include "../device/device.h"

#if HAVE_VERBS

/** @return Bytes for each peer that is reached by datagrams: its way, its port and the lists of
 *          numbers. */
size_t ri_ud_footprint_peer(void);

/** @return Bytes for each queue pair of the pool, whatever the number of peers, on this device
 *          and with the settings of this process; without bounce buffers, which are made only when
 *          a receive needs them. */
size_t ri_ud_footprint_qp(const ri_ib_device_t *device);

#endif

#endif
