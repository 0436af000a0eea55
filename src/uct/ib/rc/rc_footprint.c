/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rc_footprint.h"

#if HAVE_VERBS

#include "../device/footprint.h"
#include "rc_base.h"
#include "rc_notify.h"
#include "../../../ucs/settings.h"

size_t ri_rc_footprint_queues(const ri_ib_device_t *device)
{
    return ri_ib_footprint_queues(ri_min(ri_config.ib_tx_queue, device->max_wr),
                                  ri_min(device->max_sge, RI_RC_SGE_MAX),
                                  RI_RC_NOTIFY_RECEIVES, 1);
}

size_t ri_rc_footprint_peer(const ri_ib_device_t *device)
{
    return ri_ib_footprint_way(sizeof(ri_rc_ep_t)) + ri_rc_footprint_queues(device);
}

#endif
