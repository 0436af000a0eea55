/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The device and port that this process uses: the first active port of UCXRI_IB_DEVICES
 * that fits, the fastest where a name there stands for several, or the fastest that UCX may
 * use. It is opened once per process and shared by its workers, because memory is registered
 * for a protection domain: what one worker has registered the others can use, and a page is
 * pinned once. So the registration cache is the device's, too (memory.h).
 *
 * ibv_fork_init is not called here. UCX calls it in ucp_init for each device it finds,
 * whatever its transports (UCX_IB_FORK_INIT, default try), and so before there is a worker
 * that could ask for this; who turned that off meant all of the process. Since Linux 5.12
 * fork copies pinned pages, and nothing has to be done.
 */
#ifndef RI_IB_DEVICE_H
#define RI_IB_DEVICE_H

#include "device_types.h"

#if HAVE_VERBS

/**
 * Take the device of this process, and open it if nobody has it yet. Any thread.
 *
 * @param device_p  Set to the device.
 *
 * @return UCS_OK: ri_ib_device_put() gives it back. UCS_ERR_UNSUPPORTED: there is none. Why is
 *         logged: as a warning, once, if the user has named a device; as a warning if the only ones
 *         have too short queues, or there can be no registration cache; else at level info or
 *         debug. Nothing is said if UCXRI_IB_DEVICES is empty.
 */
ucs_status_t ri_ib_device_get(ri_ib_device_t **device_p);

/** Give the device back; it is closed with the last one who has it. No registration may be
 * in use. Any thread. */
void ri_ib_device_put(ri_ib_device_t *device);

#endif

#endif
