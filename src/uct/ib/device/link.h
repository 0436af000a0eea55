/*
 * Copyright (c) 2026 The ucxri authors.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How packets leave a port: partition, service level and traffic class, and the address vector of
 * the port that they go to.
 */
#ifndef RI_IB_DEVICE_LINK_H
#define RI_IB_DEVICE_LINK_H

#include "device_types.h"

#if HAVE_VERBS

/* The first two queue pairs of a port are for its management. */
#define RI_IB_QP_FIRST 2

/**
 * Set how packets from a port are marked, as UCXRI_IB_PKEY, _SL and _TRAFFIC_CLASS say.
 *
 * @param table_length  Of the port's table of P_Keys.
 * @param address       Its link is known; its marks are set.
 *
 * @return 0 if the port is not in that partition.
 */
int ri_ib_link_set_marks(const ri_ib_device_t *device, unsigned table_length,
                         ri_ib_address_t *address);

/**
 * Make the address vector of a remote port.
 *
 * @param local  The address of this process's port: packets are marked as it says.
 * @param lid    Of the remote port; it counts in InfiniBand only.
 * @param gid    Of the remote port; it counts in RoCE only.
 *
 * @return The address vector.
 */
struct ibv_ah_attr ri_ib_link_vector(const ri_ib_device_t *device,
                                     const ri_ib_address_t *local, uint16_t lid,
                                     const union ibv_gid *gid);

#endif

#endif
